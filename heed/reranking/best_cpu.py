"""``best-cpu``: ``polarity`` with learned weights, and with what a topic's best documents have that its worst lack.

Of the documents that are most on the topic, by the query and by what is like the best, the third that fits the
instruction best and the third that fits it worst are compared: the terms that are heavier in one of them are evidence
for and against every document. They are 60, but beyond the first 30 those far less on the topic than the best one are
left out. Without an instruction the order is that of ``polarity``.

The weights are data (``best_cpu.json``), learned by ``python -m benchmarks.train_best_cpu``.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from heed.ranking import ranked, top
from heed.reranking.likeness import TERMS, Vector
from heed.reranking.polarity import WHOLE, Part, Polarity, settings_of
from heed.retrieval.bm25 import Bm25
from heed.retrieval.bm25_index import FIELD
from heed.types import Document, Query

VERSION = 3  # raise when scores change
NAME = "best-cpu"
FIELDS = {"query": "header", "asked": "header", "excluded": "caption"}  # of tables: parts that they have once more
FEWEST, MOST = 30, 60  # documents that are compared
SHARE = 0.4  # of the best one's query and like, that those beyond the fewest have
DATA = Path(__file__).with_name("best_cpu.json")

Weights = Mapping[str, float]  # by part


@cache
def learned_weights() -> Weights:
    """Return the weights that come with Heed."""
    weights: Weights = json.loads(DATA.read_text(encoding="utf-8"))["weights"]
    return weights


class BestCpu(Polarity):
    """The reranker over one BM25 index, as a :class:`heed.types.Reranker`."""

    name = NAME

    def __init__(self, bm25: Bm25, weights: Weights | None = None) -> None:
        """Take analyser and statistics from the index of ``bm25``; ``weights`` default to the learned ones."""
        super().__init__(bm25, settings_of(bm25)._replace(unlike=0.0))
        self._weights = weights or learned_weights()
        self.config = {**self.config, NAME: [VERSION, FEWEST, MOST, SHARE, dict(self._weights)]}

    def _maker(self) -> Callable[[Bm25], Polarity]:
        return partial(BestCpu, weights=self._weights)

    def parts(self, query: Query, documents: Sequence[Document]) -> list[Part]:
        """Return the parts of the evidence for and against documents: of a query alone, one part."""
        first = super().parts(query, documents)
        if len(first) == 1:
            return first
        best, worst = self._contrast(first, documents)
        parts = [*first, self._part("best", 1.0, best, WHOLE), self._part("worst", -1.0, worst, WHOLE)]
        if self._bm25.corpus.documents.tabular:
            parts += self._of_fields(first)
        weighted = [part._replace(weight=self._weights.get(part.name, part.weight)) for part in parts]
        return [part for part in weighted if part.weight or part.name == "query"]

    def _of_fields(self, parts: Sequence[Part]) -> Iterator[Part]:
        """Yield what a table's header, or caption, alone says of some parts."""
        for part in parts:
            field = FIELDS.get(part.name)
            if field and self._weights[f"{part.name} {field}"]:
                terms = {term: weight for (name, term), weight in part.terms.items() if name == FIELD}
                yield self._part(f"{part.name} {field}", part.weight, terms, {field: 1.0})

    def _contrast(self, parts: Sequence[Part], documents: Sequence[Document]) -> tuple[Vector, Vector]:
        """Return the terms that are heavier in the best third of the documents on the topic, and in the worst."""
        docids = self._subset.docids
        place_of = {docid: place for place, docid in enumerate(docids)}
        shares = {part.name: part.shares for part in parts}
        topical = shares["query"] + shares["like"]
        least = SHARE * topical.max(initial=0.0)
        most = top(dict(zip(docids, topical.tolist(), strict=True)), MOST)
        on_topic = [docid for place, (docid, value) in enumerate(most.items()) if place < FEWEST or value >= least]
        scores = self.demoted(parts)
        by_score = ranked({docid: float(scores[place_of[docid]]) for docid in on_topic})
        third = len(by_score) // 3
        ends = [*by_score[:third], *by_score[len(by_score) - third :]]
        vectors = self._vectors_of(ends, place_of, documents)
        return contrast(vectors[:third], vectors[third:])


def contrast(best: Iterable[Vector], worst: Iterable[Vector], size: int = TERMS) -> tuple[Vector, Vector]:
    """Return the ``size`` terms by which the sum of ``best`` exceeds that of ``worst`` most, and the other way round.

    Each with how much it does so; equal ones by their letters.
    """
    sums: defaultdict[str, float] = defaultdict(float)
    for sign, vectors in ((1, best), (-1, worst)):
        for one in vectors:
            for term, weight in one.items():
                sums[term] += sign * weight
    return _heaviest(sums, 1, size), _heaviest(sums, -1, size)


def _heaviest(sums: Mapping[str, float], sign: int, size: int) -> Vector:
    heaviest = sorted(((-sign * weight, term) for term, weight in sums.items() if sign * weight > 0))[:size]
    return {term: -weight for weight, term in sorted(heaviest, key=lambda item: item[1])}
