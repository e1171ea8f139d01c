"""The weighted index terms of each part of a score: the query's, those asked for, those excluded, and ``like``."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt
from typing import NamedTuple

from heed.instructions.clauses import pieces
from heed.instructions.cues import cues_of
from heed.languages import script_language

CHARACTERS = 2_000  # of a document that are read for ``like``

Weights = dict[str, float]  # by index term
Analyser = Callable[[Sequence[str]], list[list[str]]]  # from texts to the terms of each, as the index holds them


class TopicTerms(NamedTuple):
    """Index terms with their weights."""

    query: Weights
    asked_for: Weights
    excluded: Weights


def topic_terms(analyser: Analyser, query: str, instruction: str, lang: str = "eng") -> TopicTerms:
    """Return the terms of a topic; words about the task itself ("document", "relevant") are left out.

    A query's term counts as often as it is repeated, as in BM25. A term is asked for where more sentences of the
    instruction ask for it than exclude it, and excluded the other way round. Terms of the query are on neither side:
    all candidates are about them.
    """
    parts = pieces(instruction, lang)
    task = "\n".join(sorted(cues_of(script_language(" ".join(piece.text for piece in parts), lang)).task))
    query_terms, task_terms, *of_pieces = analyser([query, task, *(piece.text for piece in parts)])
    ignored = {*query_terms, *task_terms}
    sides = {
        (piece.sentence, piece.sign, term)
        for piece, terms in zip(parts, of_pieces, strict=True)
        for term in terms
        if term not in ignored
    }
    balance: Counter[str] = Counter()
    for _, sign, term in sides:
        balance[term] += sign
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
