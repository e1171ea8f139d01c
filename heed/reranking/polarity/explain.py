"""Why a document has its score by ``polarity``: word by word, with the sign and the clauses of the instruction."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from heed.errors import UsageError
from heed.formats.document_store import docids_of
from heed.instructions.clauses import pieces
from heed.reranking.polarity.reranker import Polarity
from heed.types import Document, Query


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
    texts: dict[str, list[str]] = {"query": [query.query], "asked": [], "excluded": [], "like": []}
    for piece in pieces(query.instruction, query.lang):
        texts["asked" if piece.sign > 0 else "excluded"].append(piece.text)
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
