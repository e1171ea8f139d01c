"""How polarity's weights were chosen: ``python -m benchmarks.polarity_weights FOLDER…``.

Each folder is a FollowTable subset in one of its layouts. For every choice of fields, then for every
α and β of the grid, it prints nDCG@10 on the instructed queries and IRS (×100) of each subset. Pools
and base ranking are those of ``python -m pipelines.tables --retriever bm25 --reranker polarity``.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from heed.datasets.tables import JOIN, read_followtable
from heed.io.document_store import open_store
from heed.io.pairs import renamed
from heed.languages import language
from heed.measures import irs, mean, no_longer_relevant, standard
from heed.pooling.fusion import pool
from heed.reranking import polarity
from heed.reranking.polarity import TABLE, TEXT, Fields
from heed.retrieval.bm25_index import FIELD, Bm25Settings, Searcher, Subset, build_index
from heed.tables.documents import Tables
from heed.types import Topic, under

FIELDS = {
    "whole text": TEXT,
    "query in caption": TEXT._replace(query=TABLE.query),
    "asked in caption": TABLE._replace(asked={FIELD: 1.0, "caption": 1.0}, schema={}),
    "asked in header": TABLE._replace(schema={}),
    "schema in header": TABLE,
    "schema weight 1": TABLE._replace(schema={"header": 1.0}),
    "schema weight 3": TABLE._replace(schema={"header": 3.0}),
    "excluded in header": TABLE._replace(excluded=TABLE.asked),
}
ALPHAS, BETAS = (0.75, 1.0, 1.5), (1.5, 2.0, 3.0)


def main(folders: list[Path]) -> None:
    """Try every choice of fields, then every pair of weights with the one that was taken."""
    with tempfile.TemporaryDirectory() as place:
        subsets = {folder.name: _Tables(folder, Path(place) / folder.name) for folder in folders}
        print(f"{'':<26}{'  '.join(f'{name}: nDCG@10, IRS' for name in subsets)}")
        for name, fields in FIELDS.items():
            scored = [subset.scored(fields) for subset in subsets.values()]
            _print(name, [one.figures(polarity.ALPHA, polarity.BETA) for one in scored])
            if fields is TABLE:
                taken = scored
        for alpha in ALPHAS:
            for beta in BETAS:
                _print(f"alpha {alpha:<5} beta {beta}", [one.figures(alpha, beta) for one in taken])


def _print(name: str, figures: list[tuple[float, float]]) -> None:
    print(
        f"{name:<26}{'  '.join(f'{100 * ndcg:.1f}, {100 * value:.1f}'.ljust(18) for ndcg, value in figures)}",
        flush=True,
    )


class _Tables:
    """A subset of FollowTable with its index and pools."""

    def __init__(self, folder: Path, place: Path) -> None:
        read, english = read_followtable(folder), language("eng")
        self.topics, self.qrels = under(read.topics, "original"), read.qrels["original"]
        store = open_store(place / "store", Tables(read.tables, "raw", titles=False))
        self.searcher = Searcher(build_index(place / "bm25", store, english, 2), english, Bm25Settings())
        self.size = store.count
        plain = self.searcher.search({topic.qid: topic.query for topic in under(read.topics, "query")}, 1000, 2)
        texts = {topic.qid: topic.under("original", JOIN).text for topic in self.topics}
        instructed = self.searcher.search(texts, 1000, 2)
        bases = {topic.qid: topic.base for topic in self.topics}
        self.pools = pool([plain, *({bases[qid]: scores} for qid, scores in instructed.items())], 1000, 1000)
        self.unwanted = no_longer_relevant(renamed(read.qrels["query"], bases), self.qrels)

    def scored(self, fields: Fields) -> "_Scored":
        parts = {topic.qid: self._parts(topic, fields) for topic in self.topics}
        return _Scored(self, parts)

    def _parts(self, topic: Topic, fields: Fields) -> np.ndarray:
        docids = self.pools[topic.base]
        pooled = Subset(docids)
        parts = polarity.parts_of(self.searcher, topic.query, topic.instructions["original"], fields)
        scored = [polarity._normalised(self.searcher.score(terms, pooled)) for terms in parts]
        return np.array([[part[docid] for docid in docids] for part in scored])


class _Scored:
    """The three parts of every pooled table's score, shape ``(3, tables)`` by topic."""

    def __init__(self, subset: _Tables, parts: dict[str, np.ndarray]) -> None:
        self._subset, self._parts = subset, parts
        self._base = {one.qid: self._run(one, np.array([1.0, 0.0, 0.0])) for one in subset.topics}

    def figures(self, alpha: float, beta: float) -> tuple[float, float]:
        mine, weights = self._subset, np.array([1.0, alpha, -beta])
        run = {one.qid: self._run(one, weights) for one in mine.topics}
        values = irs(self._base, run, mine.qrels, mine.unwanted, mine.size)
        return mean(standard(run, mine.qrels, ["nDCG@10"])["nDCG@10"]), mean(values)

    def _run(self, topic: Topic, weights: np.ndarray) -> dict[str, float]:
        return dict(zip(self._subset.pools[topic.base], (weights @ self._parts[topic.qid]).tolist(), strict=True))


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
