"""``polarity``: BM25 of what the query and the instruction ask for, less BM25 of what the instruction excludes.

A document's score is ``query + a · asked − x · excluded + l · like``. Each part is BM25 of some terms with the whole
collection's statistics, divided by the fifth highest score of the pool, so that parts of few and of many terms can be
compared. ``like`` are the terms of the documents that the other three parts put first. In a table the caption counts
once more beside the whole text, for the terms asked for the header too.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.errors import UsageError
from heed.formats.document_store import Corpus, chosen, docids_of
from heed.instructions.reader import InstructionPart, Reader, reader_at
from heed.ranking import ranked
from heed.retrieval.bm25.index import FIELD, Bm25, Subset, Term
from heed.reuse import recipe_version
from heed.types import Config, Document, Query, Reranker

Doubles = NDArray[np.float64]
Weights = dict[str, float]  # by index term
Analyser = Callable[[Sequence[str]], list[list[str]]]  # from texts to the terms of each, as the index holds them

CHARACTERS = 2_000  # of a document that are read for ``like``
SIGNS = {"asked": 1, "excluded": -1, "neutral": 0}
SCALE = 5  # the rank of the score that a part is divided by: the highest alone would rest on one document


class Weighting(NamedTuple):
    """Weights of the parts beside the query's 1, and how many documents and terms ``like`` is made of.

    The numbers are chosen on whole topics left out: ``python -m benchmarks.polarity``.
    """

    asked_for: float
    excluded: float
    like: float
    examples: int
    terms: int


TEXT_SETTINGS = Weighting(asked_for=0.6, excluded=0.6, like=1.0, examples=10, terms=20)
TABLE_SETTINGS = Weighting(asked_for=1.2, excluded=2.0, like=1.0, examples=15, terms=30)
WHOLE = {FIELD: 1.0}
WITH_CAPTION = {FIELD: 1.0, "caption": 1.0}
TEXT_FIELDS = {"query": WHOLE, "asked": WHOLE, "excluded": WHOLE}  # where a part's terms are searched, with weights
TABLE_FIELDS = {"query": WITH_CAPTION, "asked": {**WITH_CAPTION, "header": 1.0}, "excluded": WITH_CAPTION}


class ScorePart(NamedTuple):
    """One part of the score: its ``weight``, below 0 against a document, and what it adds for each document.

    ``scale`` is what BM25 of the terms is divided by, ``values`` is weight · BM25 / scale, shape ``(documents,)``.
    """

    name: str
    weight: float
    terms: dict[Term, float]
    scale: float
    values: Doubles


class Polarity(Reranker):
    """The reranker over one BM25 index, as a :class:`heed.types.Reranker`."""

    name = "polarity"

    def __init__(self, bm25: Bm25, settings: Weighting | None = None, reader: Reader | None = None) -> None:
        """Take analyser and statistics from the index of ``bm25``, opened at the first score."""
        tables = bm25.corpus.documents.tabular
        self._bm25, self._chosen, self.reader = bm25, settings, reader or reader_at()
        self._settings = settings or (TABLE_SETTINGS if tables else TEXT_SETTINGS)
        self._fields = TABLE_FIELDS if tables else TEXT_FIELDS
        self._subset = Subset([])  # the last pool: the conditions of one query share theirs
        self._vectors: dict[str, Weights] = {}  # of documents of that pool
        self.config: Config = {
            "polarity": [recipe_version("polarity"), SCALE, CHARACTERS, *self._settings],
            "fields": self._fields,
            "reader": self.reader.config,
            "bm25": bm25.config,
        }

    def over(self, corpus: Callable[[], Corpus]) -> "Polarity":
        """Return the same reranker with the statistics of other documents."""
        return Polarity(self._bm25.over(corpus()), self._chosen, self.reader)

    def load(self) -> None:
        """Open the index."""
        self._bm25.load()

    def close(self) -> None:
        """Forget the index."""
        self._bm25.close()

    @property
    def index_name(self) -> str:
        """The name of the folder of the index that it reads."""
        return self._bm25.index_name

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Log how many instructions exclude something."""
        self.reader.log_exclusions(self.name, queries)

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return the score of each document; without an instruction the order is BM25's of the query."""
        scores: list[float] = _total(self.parts(query, documents)).tolist()
        return scores

    def parts(self, query: Query, documents: Sequence[Document]) -> list[ScorePart]:
        """Return the parts of the score, those that the topic has."""
        docids = docids_of(documents)
        if self._subset.docids != docids:
            self._subset, self._vectors = Subset(docids), {}
        terms = topic_terms(self._bm25.searcher.terms_of_each, query.query, self.reader.parts(query))
        weights = {"query": 1.0, "asked": self._settings.asked_for, "excluded": -self._settings.excluded}
        parts = [
            self._part(name, weight, part_terms, self._fields[name])
            for (name, weight), part_terms in zip(weights.items(), terms, strict=True)
            if part_terms or name == "query"
        ]
        if len(parts) > 1 and documents:
            parts.append(self._part("like", self._settings.like, self._best_terms(_total(parts), documents), WHOLE))
        return parts

    def term_values(self, part: ScorePart, docid: str) -> dict[Term, float]:
        """Return the value that each of a part's terms adds to a document's score; their sum is the part's value."""
        document, searcher, share = Subset([docid]), self._bm25.searcher, part.weight / part.scale
        return {term: share * searcher.score({term: weight}, document)[docid] for term, weight in part.terms.items()}

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` as the index holds them."""
        return self._bm25.searcher.terms(text)

    def _part(self, name: str, weight: float, terms: Mapping[str, float], fields: Mapping[str, float]) -> ScorePart:
        weighted = {(field, term): boost * terms[term] for field, boost in fields.items() for term in terms}
        scores = np.array(self._bm25.searcher.scores(weighted, self._subset), np.float64)
        highest = np.sort(scores)[-SCALE:]  # of a pool of fewer documents, or matches, the best one counts
        scale = float(highest[0] if len(highest) == SCALE and highest[0] else highest.max(initial=0.0)) or 1.0
        return ScorePart(name, weight, weighted, scale, weight * (scores / scale))

    def _best_terms(self, scores: Doubles, documents: Sequence[Document]) -> Weights:
        """Return the heaviest terms of the documents with the highest scores, each weighted by its score."""
        docids, count = self._subset.docids, min(self._settings.examples, len(scores))
        lowest = np.partition(scores, -count)[-count]
        positions = {docids[position]: position for position in np.flatnonzero(scores >= lowest).tolist()}
        best = list(ranked({docid: float(scores[position]) for docid, position in positions.items()}))[:count]
        self._read([docid for docid in best if docid not in self._vectors], positions, documents)
        weighted = [(max(0.0, float(scores[positions[docid]])), self._vectors[docid]) for docid in best]
        return centroid(weighted, self._settings.terms)

    def _read(self, docids: Sequence[str], positions: Mapping[str, int], documents: Sequence[Document]) -> None:
        """Make the vectors of documents of this pool; ``positions`` are theirs in it."""
        searcher = self._bm25.searcher
        read = chosen(documents, [positions[docid] for docid in docids])
        bags = searcher.terms_of_each(document.contents()[:CHARACTERS] for document in read)
        idf = searcher.idf({term for bag in bags for term in bag})
        self._vectors.update((docid, document_vector(bag, idf)) for docid, bag in zip(docids, bags, strict=True))


def _total(parts: Sequence[ScorePart]) -> Doubles:
    return sum((part.values for part in parts[1:]), parts[0].values)


class TopicTerms(NamedTuple):
    """Index terms with their weights."""

    query: Weights
    asked_for: Weights
    excluded: Weights


def topic_terms(analyser: Analyser, query: str, parts: Sequence[InstructionPart]) -> TopicTerms:
    """Return the terms of a query and of the ``parts`` of its instruction; neutral parts have none.

    A query's term counts as often as it is repeated, as in BM25. A term is asked for where more parts of the
    instruction ask for it than exclude it, and excluded the other way round. Terms of the query are on neither side:
    all candidates are about them.
    """
    query_terms, *of_parts = analyser([query, *(part.text for part in parts)])
    balance: Counter[str] = Counter()
    for part, terms in zip(parts, of_parts, strict=True):
        for term in {*terms}.difference(query_terms):
            balance[term] += SIGNS[part.kind]
    return TopicTerms(
        _sorted(Counter(query_terms).items()),
        _sorted((term, 1) for term, count in balance.items() if count > 0),
        _sorted((term, 1) for term, count in balance.items() if count < 0),
    )


def _sorted(weights: Iterable[tuple[str, float]]) -> Weights:
    # Lucene sums in the order of the clauses, and the last bit must not depend on a set's order
    return {term: float(weight) for term, weight in sorted(weights)}


def document_vector(terms: Sequence[str], idf: Mapping[str, float]) -> Weights:
    """Return a document's terms weighted by ``idf · f / (f + 1)``, ``f`` being their frequency, at length 1."""
    weights = {term: idf[term] * count / (count + 1) for term, count in Counter(terms).items()}
    length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {term: weight / length for term, weight in weights.items()}


def centroid(vectors: Iterable[tuple[float, Weights]], size: int) -> Weights:
    """Return the ``size`` heaviest terms of the weighted sum of vectors, Rocchio's centroid (1971).

    Equally heavy ones are chosen by their letters.
    """
    sums: defaultdict[str, float] = defaultdict(float)
    for weight, vector in vectors:
        for term, value in vector.items():
            sums[term] += weight * value
    heaviest = sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:size]
    return dict(sorted(heaviest))


class Contribution(NamedTuple):
    """What one index term adds to a document's score; below 0 it speaks against the document.

    ``part`` is ``query``, ``asked``, ``excluded`` or ``like`` (terms of the documents that fit best). ``words`` and
    ``clauses`` say where in the query or on the part's side of the instruction the term is; both are empty for
    ``like``.
    """

    part: str
    term: str
    words: tuple[str, ...]
    clauses: tuple[str, ...]
    value: float


class Explanation(NamedTuple):
    """A document's score, and the contributions that add up to it, largest first."""

    docid: str
    score: float
    contributions: tuple[Contribution, ...]


def explain(polarity: Polarity, query: Query, documents: Sequence[Document], docid: str) -> Explanation:
    """Return why ``docid`` has its score among ``documents``, which decide the scale of every part.

    Terms that the document does not have are left out. Raises :class:`UsageError` for a document that is not there.
    """
    docids = docids_of(documents)
    if docid not in docids:
        raise UsageError(f"explain: document {docid} is not among the {len(docids)} documents of topic {query.qid}")
    parts, position = polarity.parts(query, documents), docids.index(docid)
    texts: dict[str, list[str]] = {"query": [query.query], **{kind: [] for kind in SIGNS}, "like": []}
    for kind, text in polarity.reader.parts(query):
        texts[kind].append(text)
    contributions = []
    for part in parts:
        by_term: defaultdict[str, float] = defaultdict(float)
        for (_, term), value in polarity.term_values(part, docid).items():
            by_term[term] += value  # over the fields
        contributions += [
            Contribution(part.name, term, *_words_and_clauses(polarity, term, texts[part.name]), value)
            for term, value in by_term.items()
            if value
        ]
    contributions.sort(key=lambda added: (-abs(added.value), added.part, added.term))
    return Explanation(docid, sum(float(part.values[position]) for part in parts), tuple(contributions))


def _words_and_clauses(polarity: Polarity, term: str, texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of ``texts`` that the index holds as ``term``, and the texts with it."""
    having = [text for text in texts if term in polarity.terms(text)]
    words = {word: None for text in having for word in text.split() if term in polarity.terms(word)}
    return tuple(word.strip(".,;:!?") for word in words), tuple(having)
