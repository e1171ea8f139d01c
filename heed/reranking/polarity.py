"""``polarity``: a lexical reranker that reads the instruction, with no model.

The evidence for a document is BM25 of the query's terms, of the terms that the instruction asks for, and of the terms
of the documents that fit best by these, 15 texts or ten tables. The evidence against it is BM25 of the terms that the
instruction excludes, and of those of as many documents that have most of them, and the counts, years and units asked
for that it does not have (:mod:`heed.reranking.bounds`). Each part of BM25 is divided by the topic's best, and
:mod:`heed.reranking.demotion` says how the second is taken from the first. Statistics are the whole collection's.

In a table the caption counts once more beside the whole text, for the terms asked for the header too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from heed.io.document_store import chosen, docids_of, is_of
from heed.io.files import digest_json
from heed.ranking import ranked
from heed.reranking.bounds import Bound, bounds
from heed.reranking.bounds_kept import Found, broken
from heed.reranking.cues import cues_digest, warn_without_cues
from heed.reranking.demotion import demoted, first_kept
from heed.reranking.likeness import CHARACTERS, TERMS, Vector, centroid, vector
from heed.reranking.parts import parts_of
from heed.reranking.rescore import Pair
from heed.reranking.second_process import MANY, SecondProcess, TopicScorer, score_by_copy
from heed.retrieval.bm25 import Bm25
from heed.retrieval.bm25_index import FIELD, Subset, Term
from heed.retrieval.corpus import Corpus
from heed.types import Config, Document, Query

if TYPE_CHECKING:
    from heed.reranking.demotion import Doubles

VERSION = 9  # raise when scores change
KNOWN = 200_000  # terms whose idf is kept


class Settings(NamedTuple):
    """Weights of the parts beside the query's 1, of how many documents the last two are made, and demotion's numbers.

    The defaults are those of texts, where an excluded word may be there in passing: what is excluded takes none out of
    the ``first`` documents by what is wanted.
    """

    asked: float = 1.0
    excluded: float = 3.5
    bounds: float = 1.0
    like: float = 3.0
    unlike: float = 1.75
    examples: int = 15
    floor: float = 0.2
    first: int = 100


class Fields(NamedTuple):
    """The fields of the index in which a part's terms are searched, with weights."""

    query: dict[str, float]
    asked: dict[str, float]
    excluded: dict[str, float]


TEXT_SETTINGS = Settings()
TABLE_SETTINGS = Settings(excluded=2.0, like=1.5, unlike=1.5, examples=10, first=0)


def settings_of(bm25: Bm25) -> Settings:
    """Return the settings for the documents of an index: those of tables, or of texts."""
    return TABLE_SETTINGS if bm25.corpus.documents.tabular else TEXT_SETTINGS


WHOLE = {FIELD: 1.0}
TEXT = Fields(WHOLE, WHOLE, WHOLE)
TABLE = Fields(
    query={FIELD: 1.0, "caption": 1.0},
    asked={FIELD: 1.0, "caption": 1.0, "header": 1.0},
    excluded={FIELD: 1.0, "caption": 1.0},
)


class Part(NamedTuple):
    """One part of the evidence: its ``weight``, below 0 against a document, its terms, and each document's share.

    ``shares`` has BM25 of the terms divided by ``best``, that of the topic's best document, in the documents' order;
    of the part ``bounds``, which has no terms, how many bounds a document does not keep.
    """

    name: str
    weight: float
    terms: dict[Term, float]
    best: float
    shares: "Doubles"


def evidence(parts: Sequence[Part]) -> "dict[str, Doubles]":
    """Return what each part adds to the evidence for each document, below 0 against it.

    Excluded words and bounds count as far as the document is on the topic, by the query and by what is like the best
    documents.
    """
    import numpy as np

    values = {part.name: part.weight * part.shares for part in parts}
    on_topic = np.minimum(1.0, values["query"] + values.get("like", 0.0))
    return values | {name: values[name] * on_topic for name in ("excluded", "bounds") if name in values}


def sides(parts: Sequence[Part]) -> "tuple[Doubles, Doubles]":
    """Return the evidence for each document, and that against it."""
    import numpy as np

    values = np.stack(list(evidence(parts).values()))
    return np.maximum(values, 0.0).sum(axis=0), np.maximum(-values, 0.0).sum(axis=0)


class Polarity:
    """The reranker over one BM25 index, as a :class:`heed.types.Reranker`."""

    name = "polarity"

    def __init__(self, bm25: Bm25, settings: Settings | None = None) -> None:
        """Take analyser and statistics from the index of ``bm25``, opened at the first score."""
        self._bm25, self._chosen, self._tables = bm25, settings, bm25.corpus.documents.tabular
        self._fields = TABLE if self._tables else TEXT
        bm25.reads_fields = True
        self._settings = settings or settings_of(bm25)
        self._subset = Subset([])  # the last pool: the conditions of one query share theirs
        self._vectors: dict[str, Vector] = {}  # of documents of that pool
        self._idf: dict[str, float] = {}
        self._found = Found()
        self.config: Config = {
            "polarity": [VERSION, *self._settings, TERMS, CHARACTERS],
            "fields": self._fields._asdict(),
            "cues": cues_digest(bm25.corpus.language.code),
            "bm25": bm25.config,
        }

    def over(self, corpus: Corpus) -> "Polarity":
        """Return the same reranker with the statistics of other documents."""
        return self._maker()(self._bm25.over(corpus))

    def _maker(self) -> "Callable[[Bm25], Polarity]":
        """Return what makes the same reranker over another index."""
        return partial(Polarity, settings=self._chosen)

    @property
    def at_once(self) -> int:
        """How many queries are scored at once."""
        return self._bm25.copies.at_once if self._bm25.copies else 1

    def score_many(self, pairs: Iterable[Pair]) -> Iterator[Sequence[float]]:
        """Yield the scores of each query's documents, in their order.

        By workers where the user asked for them, else, of a small index, by a second process too where that pays.
        """
        copies = self._bm25.copies
        if copies is None:
            return self._score_here(pairs)
        how = self._maker(), digest_json(self.config)
        return copies.results(score_by_copy, ((*how, query, documents) for query, documents in pairs))

    def _score_here(self, pairs: Iterable[Pair]) -> Iterator[Sequence[float]]:
        """Yield the same on this machine; texts that are not read from the index's store stay in this process."""
        rest, read = iter(pairs), list[Pair]()
        for query, documents in rest:
            read.append((query, documents))
            if not is_of(self._bm25.corpus.documents, documents):
                break  # given as texts, such as passages: those of all topics may not fit into memory
        else:
            many = sum(len(docids_of(documents)) for _, documents in read) >= MANY
            if many and self._second:
                return self._second.scores(self.score, read)
        return (self.score(query, documents) for query, documents in chain(read, rest))

    @cached_property
    def _second(self) -> SecondProcess | None:
        opening = self._bm25.beside()
        place = self._bm25.corpus.documents.place
        return SecondProcess(TopicScorer(opening, place, self._maker())) if opening else None

    def load(self) -> None:
        """Open the index."""
        self._bm25.load()

    def close(self) -> None:
        """Forget the index, and end the process that shared the work."""
        second = self.__dict__.pop("_second", None)
        if second:
            second.stop()
        self._bm25.close()

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return the score of each document; under ``query`` its normalised BM25."""
        scores: list[float] = self.combined(self.parts(query, documents), docids_of(documents)).tolist()
        return scores

    def combined(self, parts: Sequence[Part], docids: Sequence[str]) -> "Doubles":
        """Return the score of each document by the parts of the evidence."""
        wanted, unwanted = sides(parts)
        scores = demoted(wanted, unwanted, self._settings.floor)
        return first_kept(scores, wanted, docids, self._settings.first)

    def demoted(self, parts: Sequence[Part]) -> "Doubles":
        """Return the evidence for each document less that against it, whether it is among the first or not."""
        return demoted(*sides(parts), self._settings.floor)

    def parts(self, query: Query, documents: Sequence[Document]) -> list[Part]:
        """Return the parts of the evidence for and against documents, those that the topic has."""
        if query.instruction:
            warn_without_cues(query.lang)
        docids = docids_of(documents)
        if self._subset.docids != docids:
            self._subset, self._vectors = Subset(docids), {}
        weights, fields = self._settings, self._fields
        terms = parts_of(self._bm25.searcher.terms_of_each, query.query, query.instruction, query.lang)
        parts = [self._part("query", 1.0, terms.query, fields.query)]
        if terms.asked:
            parts.append(self._part("asked", weights.asked, terms.asked, fields.asked))
        if terms.excluded:
            parts.append(self._part("excluded", -weights.excluded, terms.excluded, fields.excluded))
        parts += self._bounds(query, documents)
        return [*parts, *self._likeness(parts, documents)]

    def broken_bounds(self, query: Query, documents: Sequence[Document]) -> Iterator[dict[Bound, float]]:
        """Yield for each document the bounds of the instruction that it does not keep, and how far; all or none."""
        found = bounds(query.instruction, query.lang, self._tables)
        for has in self._found.of(documents, found) if found and self._settings.bounds else ():
            yield {bound: broken(bound, found, has) for bound in found}

    def _bounds(self, query: Query, documents: Sequence[Document]) -> Iterator[Part]:
        import numpy as np

        sums = np.array([sum(values.values()) for values in self.broken_bounds(query, documents)])
        if sums.any():
            yield Part("bounds", -self._settings.bounds, {}, 1.0, sums)

    def _likeness(self, parts: Sequence[Part], documents: Sequence[Document]) -> Iterator[Part]:
        """Yield the parts by the documents that fit an instruction best, and those that it excludes most clearly."""
        import numpy as np

        by_name = {part.name: part for part in parts}
        if len(parts) > 1 and self._settings.like:
            like = self._centroid(self.demoted(parts), documents)
            yield self._part("like", self._settings.like, like, WHOLE)
        if "excluded" in by_name and self._settings.unlike:
            scores = sum((-part.weight if part.name == "asked" else abs(part.weight)) * part.shares for part in parts)
            scores = np.where(by_name["excluded"].shares > 0, scores, -np.inf)
            yield self._part("unlike", -self._settings.unlike, self._centroid(scores, documents), WHOLE)

    def _centroid(self, scores: "Doubles", documents: Sequence[Document]) -> Mapping[str, float]:
        """Return the terms of the documents with the highest scores; those with −∞ have no part in it."""
        import numpy as np

        docids, count = self._subset.docids, min(self._settings.examples, len(scores))
        lowest = np.partition(scores, len(scores) - count)[len(scores) - count] if count else 0.0
        near = np.flatnonzero((scores >= lowest) & (scores > -np.inf)).tolist()
        place_of = {docids[place]: place for place in near}
        best = ranked({docid: float(scores[place]) for docid, place in place_of.items()})[:count]
        return centroid(self._vectors_of(best, place_of, documents))

    def _vectors_of(
        self, docids: Sequence[str], place_of: Mapping[str, int], documents: Sequence[Document]
    ) -> list[Vector]:
        """Return the vectors of some documents of this pool, each read once; ``place_of`` is their place in it."""
        new = [docid for docid in docids if docid not in self._vectors]
        read = chosen(documents, [place_of[docid] for docid in new])
        bags = self._bm25.searcher.terms_of_each(document.contents()[:CHARACTERS] for document in read)
        idf = self._idf_of({term: None for bag in bags for term in bag})
        self._vectors.update((docid, vector(bag, idf)) for docid, bag in zip(new, bags, strict=True))
        return [self._vectors[docid] for docid in docids]

    def _idf_of(self, terms: Iterable[str]) -> Mapping[str, float]:
        if len(self._idf) > KNOWN:
            self._idf.clear()
        self._idf.update(self._bm25.searcher.idf([term for term in terms if term not in self._idf]))
        return self._idf

    def term_values(self, part: Part, docid: str) -> dict[Term, float]:
        """Return BM25 of each of a part's terms in a document, with their weights; they add up to share · best."""
        one, searcher = Subset([docid]), self._bm25.searcher
        return {term: searcher.score({term: weight}, one)[docid] for term, weight in part.terms.items()}

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` as the index holds them."""
        return self._bm25.searcher.terms(text)

    def _part(self, name: str, weight: float, terms: Mapping[str, float], fields: Mapping[str, float]) -> Part:
        import numpy as np

        weighted = {(field, term): boost * terms[term] for field, boost in fields.items() for term in terms}
        values = np.array(self._bm25.searcher.scores(weighted, self._subset), np.float64)
        best = float(values.max(initial=0.0)) or 1.0
        return Part(name, weight, weighted, best, values / best)
