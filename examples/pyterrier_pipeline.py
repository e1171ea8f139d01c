"""A pipeline of PyTerrier as a system of Heed: BM25 of query and instruction, then a scorer of its own.

    python examples/pyterrier_pipeline.py

Needs PyTerrier (pip install pyterrier). Any transformer may stand in the pipeline. One that uses Terrier's Java, as
pt.terrier.Retriever does, needs `pyterrier.start_java()` at the start of the script.
"""

from typing import Any

import pyterrier as pt

import heed
from heed.addons.bridges import pyterrier


def count(row: Any) -> float:
    """Return how many words of query and instruction the text has."""
    return float(len(set(row["query"].split()) & set(row["text"].split())))


def main() -> None:
    """Print nDCG, p-MRR and selectivity of BM25 and of the pipeline."""
    with heed.Experiment(heed.load("neuclir-sample", lang="eng")) as experiment:
        texts = {document.docid: document.contents() for document in experiment.documents}
        first = pyterrier.retriever(experiment.retriever("bm25"), depth=50)
        pipeline = first >> pt.apply.text(lambda row: texts[row["docno"]]) >> pt.apply.doc_score(count)
        bm25 = experiment.retrieve("bm25")
        piped = experiment.retrieve(pyterrier.system(pipeline, "bm25-then-count"))
        print(experiment.evaluate([bm25, piped]))


if __name__ == "__main__":
    main()
