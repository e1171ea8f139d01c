"""Why a document has its score by ``polarity``: word by word, with the sign and the clauses of the instruction."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from heed.errors import UsageError
from heed.io.document_store import docids_of
from heed.reranking.clauses import Piece, pieces
from heed.reranking.polarity import Part, Polarity, evidence
from heed.types import Document, Query


class Contribution(NamedTuple):
    """What one index term adds to the evidence for a document; below 0 it speaks against the document.

    ``part`` is ``query``, ``asked``, ``excluded``, ``like`` (terms of the documents that fit best), ``unlike`` (of
    those with most that is excluded) or ``bounds``, where ``term`` is how the instruction says the bound that the
    document does not keep; ``best-cpu`` has ``best`` and ``worst`` in place of ``unlike``, and fields of tables after a
    space. ``words`` and ``clauses`` say where in the query or on the part's side of the instruction the term is; both
    are empty for ``like``, ``unlike``, ``bounds``, ``best`` and ``worst``.
    """

    part: str
    term: str
    words: tuple[str, ...]
    clauses: tuple[str, ...]
    value: float


class Explanation(NamedTuple):
    """A document's score, and the contributions to the evidence for and against it, largest first.

    The score is :func:`heed.reranking.demotion.demoted` of the sums of those above and below 0, or in texts, where
    ``raised``, the one above it by which :func:`heed.reranking.demotion.first_kept` keeps it among the first documents.
    """

    docid: str
    score: float
    raised: bool
    contributions: tuple[Contribution, ...]


def explain(polarity: Polarity, query: Query, documents: Sequence[Document], docid: str) -> Explanation:
    """Return why ``docid`` has its score among ``documents``, whose best ones every part is divided by.

    Terms that the document does not have are left out. Raises :class:`UsageError` for a document that is not there.
    """
    docids = docids_of(documents)
    if docid not in docids:
        raise UsageError(f"explain: document {docid} is not among the {len(docids)} documents of topic {query.qid}")
    parts, place = polarity.parts(query, documents), docids.index(docid)
    values = evidence(parts)
    sides = {
        "query": [Piece(query.query, 1, 0)],
        "asked": [piece for piece in pieces(query.instruction, query.lang) if piece.sign > 0],
        "excluded": [piece for piece in pieces(query.instruction, query.lang) if piece.sign < 0],
    }
    found = [
        Contribution(part.name, term, *_places(polarity, term, sides.get(part.name.partition(" ")[0], ())), value)
        for part in parts
        if part.name != "bounds"
        for term, value in _by_term(polarity, part, docid, float(values[part.name][place])).items()
    ]
    if "bounds" in values:
        [broken] = polarity.broken_bounds(query, [documents[place]])
        each = float(values["bounds"][place]) / (sum(broken.values()) or 1.0)
        found += [Contribution("bounds", bound.text, (), (), each * far) for bound, far in broken.items() if far]
    found.sort(key=lambda one: (-abs(one.value), one.part, one.term))
    score, own = (float(scores[place]) for scores in (polarity.combined(parts, docids), polarity.demoted(parts)))
    return Explanation(docid, score, score > own, tuple(found))


def _by_term(polarity: Polarity, part: Part, docid: str, value: float) -> dict[str, float]:
    """Return the part's value divided among its terms, by their BM25 in all fields."""
    shares: defaultdict[str, float] = defaultdict(float)
    for (_, term), score in polarity.term_values(part, docid).items():
        shares[term] += score
    total = sum(shares.values())
    return {term: value * score / total for term, score in shares.items() if score}


def _places(polarity: Polarity, term: str, texts: Sequence[Piece]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of ``texts`` that the index holds as ``term``, and the texts with it."""
    having = [piece.text for piece in texts if term in polarity.terms(piece.text)]
    words = {word: None for text in having for word in text.split() if term in polarity.terms(word)}
    return tuple(word.strip(".,;:!?") for word in words), tuple(having)
