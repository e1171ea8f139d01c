"""What ``decompose`` gains, and how its weights were chosen: ``python -m benchmarks.decompose MODEL FOLDER…``.

MODEL is a bi-encoder by path or hub id, each folder a FollowTable subset in one of its layouts. For
plain concatenation of query and instruction, ``polarity``, ``decompose`` and ``polarity+decompose``
with each choice of weights it prints nDCG@10 on the instructed queries and IRS (×100) of each subset;
what is taken is marked. Pools and base ranking are those of ``python -m pipelines.tables --retriever
bm25``: the base of a system is the same system without instructions.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from heed.compute import Compute
from heed.datasets.followtable import JOIN, read_followtable
from heed.formats.document_store import Corpus, open_store
from heed.formats.topic_ids import renamed
from heed.languages import language
from heed.measures import irs, mean, no_longer_relevant, standard
from heed.models.encoders import SentenceEncoder
from heed.models.registry.entries import Registry
from heed.ranking import pooled as pool
from heed.reranking import fusion
from heed.reranking.fusion import Fusion
from heed.reranking.polarity import Polarity
from heed.reranking.similarity import TABLE_WEIGHTS, Decompose, Weights
from heed.retrieval.bm25.index import Bm25, Bm25Settings
from heed.tables.documents import Tables
from heed.types import Document, Encoder, Query, Reranker, Topic, under

DEPTH = 1000
CHOICES = [Weights(*pair) for pair in ((1, 0), (1, 1), (2, 1), (2, 2), (3, 3), (5, 4), (5, 5), (5, 6), (8, 8))]
FUSED = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)


def main(source: str, folders: list[Path]) -> None:
    """Measure every system on every subset, a line each."""
    with tempfile.TemporaryDirectory() as place:
        subsets = {folder.name: _Subset(source, folder, Path(place) / folder.name) for folder in folders}
        print(f"{'':<34}{'  '.join(f'{name}: nDCG@10, IRS' for name in subsets)}")
        _print("concatenation", [one.figures(one.concatenation) for one in subsets.values()])
        _print("polarity", [one.figures(one.polarity) for one in subsets.values()])
        for weights in CHOICES:
            mark = " *" if weights == TABLE_WEIGHTS else ""
            systems = [Decompose(one.encoder, weights) for one in subsets.values()]
            name = f"alpha {weights.alpha:g} beta {weights.beta:g}"
            pairs = list(zip(subsets.values(), systems, strict=True))
            _print(f"decompose {name}{mark}", [one.figures(system) for one, system in pairs])
            for weight in FUSED if mark else (fusion.WEIGHT,):
                both = mark if weight == fusion.WEIGHT else ""
                fused = [one.figures(Fusion(one.polarity, system, weight)) for one, system in pairs]
                _print(f"  polarity + {weight:g} decompose{both}", fused)


def _print(name: str, figures: list[tuple[float, float]]) -> None:
    shown = (f"{100 * ndcg:.1f}, {100 * value:.2f}".ljust(24) for ndcg, value in figures)
    print(f"{name:<34}{'  '.join(shown)}".rstrip(), flush=True)


class _Subset:
    """A subset with its pools, and the systems that all choices of weights share."""

    def __init__(self, source: str, folder: Path, place: Path) -> None:
        read, english = read_followtable(folder), language("eng")
        store = open_store(place / "store", Tables(read.tables, "raw", titles=False))
        self._documents = {document.docid: document for document in store}
        self.topics, self._qrels = under(read.topics, "original"), read.qrels["original"]
        bm25 = Bm25("bm25", Corpus(place, store, english), Bm25Settings(), Compute(threads=2))
        bases = {one.qid: one.base for one in self.topics}
        plain = bm25.search([topic.under("query", JOIN) for topic in under(read.topics, "query")], DEPTH)
        instructed = bm25.search([topic.under("original", JOIN) for topic in self.topics], DEPTH)
        self._pools = pool([plain, *({bases[qid]: scores} for qid, scores in instructed.items())], DEPTH, DEPTH)
        self._unwanted = no_longer_relevant(renamed(read.qrels["query"], bases), self._qrels)
        self.encoder = Kept(SentenceEncoder(Registry().resolve(source, ()), Compute("auto")))
        self.polarity = Once(bm25)
        self.concatenation = _Concatenation(self.encoder)

    def figures(self, system: Reranker) -> tuple[float, float]:
        """Return nDCG@10 and IRS of ``system``."""
        base, run = (
            {topic.qid: self._scores(system, topic, condition) for topic in self.topics}
            for condition in ("query", "original")
        )
        values = irs(base, run, self._qrels, self._unwanted, len(self._documents))
        return mean(standard(run, self._qrels, ["nDCG@10"])["nDCG@10"]), mean(values)

    def _scores(self, system: Reranker, topic: Topic, condition: str) -> dict[str, float]:
        docids = self._pools[topic.base]
        query = topic.under("original", JOIN)
        if condition == "query":  # the same query without its instruction: the topic itself has none without
            query = Query(topic.base, topic.query, topic.query, "", topic.lang)
        documents = [self._documents[docid] for docid in docids]
        return dict(zip(docids, system.score(query, documents), strict=True))


class Kept(Encoder):
    """An encoder whose vectors are kept for all rerankers."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.config, self._encoder, self.cosine = encoder.name, encoder.config, encoder, encoder.cosine
        self._documents: dict[str, np.ndarray] = {}
        self._queries: dict[tuple[str, str], np.ndarray] = {}

    def encode_documents(self, documents: Sequence[Document]) -> np.ndarray:
        """Return the vectors of documents."""
        new = {one.docid: one for one in documents if one.docid not in self._documents}
        vectors = self._encoder.encode_documents(list(new.values())) if new else ()
        self._documents.update(zip(new, vectors, strict=True))
        return np.stack([self._documents[one.docid] for one in documents])

    def encode_queries(self, queries: Sequence[Query]) -> np.ndarray:
        """Return the vectors of queries."""
        keys = [(query.query, query.instruction) for query in queries]
        new = {key: query for key, query in zip(keys, queries, strict=True) if key not in self._queries}
        vectors = self._encoder.encode_queries(list(new.values())) if new else ()
        self._queries.update(zip(new, vectors, strict=True))
        return np.stack([self._queries[key] for key in keys])


class Once(Polarity):
    """``polarity`` whose scores are kept."""

    def __init__(self, bm25: Bm25) -> None:
        super().__init__(bm25)
        self._scores: dict[tuple[str, str], Sequence[float]] = {}

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return the score of each document of the topic's one pool."""
        key = (query.qid, query.condition)
        if key not in self._scores:
            self._scores[key] = super().score(query, documents)
        return self._scores[key]


class _Concatenation:
    """The same encoder on query and instruction as one text."""

    name = "concatenation"

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        [vector] = self._encoder.encode_queries([query])
        scores: list[float] = (self._encoder.encode_documents(documents) @ vector).tolist()
        return scores


if __name__ == "__main__":
    main(sys.argv[1], [Path(argument) for argument in sys.argv[2:]])
