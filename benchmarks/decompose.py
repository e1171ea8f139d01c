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

from heed.datasets.followtable import JOIN, read_followtable
from heed.io.document_store import DocumentStore, open_store
from heed.io.pairs import renamed
from heed.languages import language
from heed.measures import irs, mean, no_longer_relevant, standard
from heed.models.encoders import SentenceEncoder
from heed.models.registry import named
from heed.pooling.fusion import pool
from heed.reranking import decompose, fusion
from heed.reranking.decompose import Decompose, Weights
from heed.reranking.fusion import Fusion
from heed.reranking.polarity import Polarity
from heed.reranking.rescoring import Reranker
from heed.retrieval.bm25 import Weights as Bm25Weights
from heed.retrieval.retrievers import Bm25, Shelf
from heed.retrieval.vectors import Encoder
from heed.tables.documents import Tables
from heed.types import Document, Topic, under

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
            mark = " *" if weights == decompose.WEIGHTS else ""
            systems = [Decompose(one.encoder, one.shelf.store, weights) for one in subsets.values()]
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
        self.shelf = Shelf(place, store, english, JOIN, Bm25Weights(), "exact", "auto", 2)
        self.topics, self._qrels = under(read.topics, "original"), read.qrels["original"]
        bm25 = Bm25("bm25", self.shelf)
        bases = {one.qid: one.base for one in self.topics}
        alone = bm25.search(under(read.topics, "query"), "query", DEPTH)
        told = bm25.search(self.topics, "original", DEPTH)
        self._pools = pool([alone, *({bases[qid]: found} for qid, found in told.items())], DEPTH, DEPTH)
        self._unwanted = no_longer_relevant(renamed(read.qrels["query"], bases), self._qrels)
        self.encoder = _Kept(SentenceEncoder(named(source, ()), "auto"))
        self.polarity = _Once(Polarity(bm25))
        self.concatenation = _Concatenation(self.encoder, store)

    def figures(self, system: Reranker) -> tuple[float, float]:
        """nDCG@10 and IRS of ``system``."""
        base, run = (
            {one.qid: self._scores(system, one, name) for one in self.topics} for name in ("query", "original")
        )
        values = irs(base, run, self._qrels, self._unwanted, self.shelf.store.count)
        return mean(standard(run, self._qrels, ["nDCG@10"])["nDCG@10"]), mean(values)

    def _scores(self, system: Reranker, topic: Topic, condition: str) -> dict[str, float]:
        docids = self._pools[topic.base]
        return dict(zip(docids, system.score(topic, condition, docids), strict=True))


class _Kept:
    """An encoder whose vectors are kept, whoever asks for them."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.recipe, self._encoder = encoder.name, encoder.recipe, encoder
        self._documents: dict[str, np.ndarray] = {}
        self._queries: dict[tuple[str, str], np.ndarray] = {}

    def documents(self, documents: Sequence[Document]) -> np.ndarray:
        new = {one.docid: one for one in documents if one.docid not in self._documents}
        self._documents.update(zip(new, self._encoder.documents(list(new.values())), strict=True) if new else ())
        return np.stack([self._documents[one.docid] for one in documents])

    def queries(self, topics: Sequence[tuple[str, str]]) -> np.ndarray:
        new = [one for one in topics if one not in self._queries]
        self._queries.update(zip(new, self._encoder.queries(new), strict=True) if new else ())
        return np.stack([self._queries[one] for one in topics])


class _Once:
    """A reranker whose scores are kept."""

    def __init__(self, system: Reranker) -> None:
        self.name, self.recipe, self._system = system.name, system.recipe, system
        self.prepare = system.prepare
        self._scores: dict[tuple[str, str], Sequence[float]] = {}

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        key = (topic.base if condition == "query" else topic.qid, condition)
        if key not in self._scores:
            self._scores[key] = self._system.score(topic, condition, docids)
        return self._scores[key]


class _Concatenation:
    """The same encoder on query and instruction as one text."""

    name = "concatenation"

    def __init__(self, encoder: Encoder, store: DocumentStore) -> None:
        self.recipe, self._encoder, self._store = encoder.recipe, encoder, store

    def prepare(self) -> None:
        pass

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        [query] = self._encoder.queries([(topic.query, topic.instructions[condition] if condition != "query" else "")])
        scores: list[float] = (self._encoder.documents(self._store.get(docids)) @ query).tolist()
        return scores


if __name__ == "__main__":
    main(sys.argv[1], [Path(argument) for argument in sys.argv[2:]])
