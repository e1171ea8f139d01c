"""How polarity's α and β were chosen: ``python -m benchmarks.polarity_weights FOLDER…``.

Each folder is a FollowTable subset in BEIR form (corpus.jsonl.gz, queries.jsonl, qrels/). For every
α and β of the grid it prints, of each subset, nDCG@10 on the instructed queries and IRS (×100).
"""

import gzip
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from pipelines import polarity
from pipelines.bm25 import Among, Searcher, Weights, build
from pipelines.docstore import open_docstore
from pipelines.documents import Files
from pipelines.languages import language
from pipelines.measures import irs, mean, standard
from pipelines.pool import pool
from pipelines.trec_files import Run, read_qrels

ALPHAS, BETAS = (0.6, 0.8, 1.0, 1.25), (1.0, 1.5, 2.0, 3.0)


def main(folders: list[Path]) -> None:
    """Score all pools once, then try every pair of weights."""
    subsets = {folder.name: _Subset(folder) for folder in folders}
    print("alpha  beta  " + "  ".join(f"{name}: nDCG@10, IRS" for name in subsets))
    for alpha in ALPHAS:
        for beta in BETAS:
            figures = [subset.figures(alpha, beta) for subset in subsets.values()]
            print(f"{alpha:<7}{beta:<6}" + "  ".join(f"{100 * ndcg:.1f}, {100 * value:.1f}" for ndcg, value in figures))


class _Subset:
    """The three parts of every pooled document's score, and what to measure them by."""

    def __init__(self, folder: Path) -> None:
        records = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
        topics = {one["_id"]: one["metadata"] for one in records}
        self._qrels = read_qrels(folder / "qrels" / "test.tsv")
        whole = read_qrels(folder / "qrels" / "for_only_query_test.tsv")
        self._unwanted = {qid: set(whole[qid.split("_")[0]]) - set(self._qrels[qid]) for qid in topics}
        with tempfile.TemporaryDirectory() as place:
            self._pools, self._parts, self._size = _scored(folder, Path(place), topics)
        self._base = {qid: dict(zip(self._pools[qid], self._parts[qid][0], strict=True)) for qid in topics}

    def figures(self, alpha: float, beta: float) -> tuple[float, float]:
        weights = np.array([1, alpha, -beta])
        run = {qid: dict(zip(docids, weights @ self._parts[qid], strict=True)) for qid, docids in self._pools.items()}
        values = irs(self._base, run, self._qrels, self._unwanted, self._size)
        return mean(standard(run, self._qrels, ["nDCG@10"])["nDCG@10"]), mean(values)


def _scored(folder: Path, place: Path, topics: dict[str, dict[str, str]]) -> tuple:
    """Pools by topic, arrays of shape ``(3, documents)`` by topic, and the size of the corpus."""
    with gzip.open(folder / "corpus.jsonl.gz", "rt") as corpus, (place / "docs.jsonl").open("w") as texts:
        for line in corpus:  # the texts carry their titles already
            table = json.loads(line)
            texts.write(json.dumps({"id": table["_id"], "text": table["text"]}) + "\n")
    english = language("eng")
    store = open_docstore(place / "store", Files([place / "docs.jsonl"]))
    searcher = Searcher(build(place / "bm25", store, english, 2), english, Weights())
    alone = searcher.search({qid: one["origin_query"] for qid, one in topics.items()}, 1000, 2)
    told = {qid: f"{one['instruction']} [SEP] {one['origin_query']}" for qid, one in topics.items()}
    pools = pool([alone, searcher.search(told, 1000, 2)], 1000, 1000)
    return pools, {qid: _parts(searcher, topics[qid], docids) for qid, docids in pools.items()}, store.count


def _parts(searcher: Searcher, topic: dict[str, str], docids: list[str]) -> np.ndarray:
    among = Among(docids)
    parts = polarity.parts(searcher, topic["origin_query"], topic["instruction"])
    scored: list[Run] = [polarity._of_best(searcher.score(terms, among)) for terms in parts]
    return np.array([[part[docid] for docid in docids] for part in scored])


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
