"""A cross-encoder of your own in torch, measured on the embedded sample or on mFollowIR, both in Chinese.

MODEL is a folder or a hub id of a sequence classifier with one label, such as BAAI/bge-reranker-v2-m3:

    python examples/cross_encoder.py MODEL                    # the embedded sample
    python examples/cross_encoder.py MODEL mfollowir          # mFollowIR, from the hub
    python examples/cross_encoder.py MODEL mfollowir FOLDER   # or from a local copy of its data

A model whose input is this pair needs no class: experiment.rerank("MODEL", [bm25]) does the same. Needs `make models`.
"""

import sys
from collections.abc import Sequence

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import heed


class MyCrossEncoder:
    """Scores pairs of a query, which holds the instruction, and a document; a long document is cut, never the query."""

    name = "my-cross-encoder"

    def __init__(self, model: str) -> None:
        """Load tokenizer and weights."""
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.model = AutoModelForSequenceClassification.from_pretrained(model).eval()

    @torch.inference_mode()
    def score(self, query: heed.Query, documents: Sequence[heed.Document]) -> list[float]:
        """Return a score for each document; higher is better."""
        scores: list[float] = []
        for start in range(0, len(documents), 16):
            texts = [document.contents() for document in documents[start : start + 16]]
            queries = [query.text] * len(texts)
            pairs = self.tokenizer(queries, texts, padding=True, truncation="only_second", return_tensors="pt")
            scores += self.model(**pairs).logits[:, 0].tolist()
        return scores


def main(model: str, collection: str = "neuclir-sample", data: str | None = None) -> None:
    """Print nDCG, p-MRR and selectivity of BM25 and of the model over its first 20 documents a topic."""
    with heed.Experiment(heed.load(collection, lang="zho", data=data)) as experiment:
        bm25 = experiment.retrieve("bm25")
        mine = experiment.rerank(MyCrossEncoder(model), [bm25], depth=20)
        print(experiment.evaluate([bm25, mine]))
    print(f"why: open {experiment.folder}/report.html")


if __name__ == "__main__":
    main(*sys.argv[1:])
