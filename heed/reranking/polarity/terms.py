"""The index terms of a topic: those of its query, those that its instruction asks for, those it excludes."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from heed.languages import script_language
from heed.reranking.polarity.clauses import pieces
from heed.reranking.polarity.cues import cues

Weights = dict[str, float]  # by index term
Analyser = Callable[[Sequence[str]], list[list[str]]]  # from texts to the terms of each, as the index holds them


class TopicTerms(NamedTuple):
    """Index terms with their weights."""

    query: Weights
    asked: Weights
    excluded: Weights


def topic_terms(analyser: Analyser, query: str, instruction: str, lang: str = "eng") -> TopicTerms:
    """Return the terms of a topic; words about the task itself ("document", "relevant") are left out.

    A query's term counts as often as it is repeated, as in BM25. A term is asked for where more sentences of the
    instruction ask for it than exclude it, and excluded the other way round. Terms of the query are on neither side:
    all candidates are about them.
    """
    found = pieces(instruction, lang)
    task = "\n".join(sorted(cues(script_language(instruction, lang)).task))
    query_terms, task_terms, *of_pieces = analyser([query, task, *(piece.text for piece in found)])
    ignored = {*query_terms, *task_terms}
    sides = {
        (piece.sentence, piece.sign, term)
        for piece, terms in zip(found, of_pieces, strict=True)
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
