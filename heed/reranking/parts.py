"""The index terms of a topic: those of its query, those that its instruction asks for, those it excludes."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from heed.languages import script_language
from heed.reranking.clauses import pieces
from heed.reranking.cues import cues

Weights = dict[str, float]  # by index term
Terms = Callable[[Sequence[str]], list[list[str]]]  # of each text, as the index holds them


class Parts(NamedTuple):
    """Index terms with their weights."""

    query: Weights
    asked: Weights
    excluded: Weights


def parts_of(terms_of_each: Terms, query: str, instruction: str, lang: str = "eng") -> Parts:
    """Return the terms of a topic; words about the task itself ("document", "relevant") are left out.

    A query's term counts as often as it is repeated, as in BM25. Each sentence of the instruction that asks for a term
    counts 1, each that excludes it −1: what is asked for as often as excluded counts on neither side. Terms of the
    query are on neither side either: all candidates are about them.
    """
    sides = _sides(instruction, lang)
    task = "\n".join(sorted(cues(script_language(instruction, lang)).task))
    query_terms, task_terms, *side_terms = terms_of_each([query, task, *(text for _, text in sides)])
    wanted, left_out = Counter(query_terms), {*query_terms, *task_terms}
    counts: Counter[str] = Counter()
    for (sign, _), terms in zip(sides, side_terms, strict=True):
        for term in set(terms) - left_out:
            counts[term] += sign
    return Parts(
        _sorted(wanted.items()),
        _sorted((term, count) for term, count in counts.items() if count > 0),
        _sorted((term, -count) for term, count in counts.items() if count < 0),
    )


def _sides(instruction: str, lang: str) -> list[tuple[int, str]]:
    """Return each sentence's asked and excluded text, with the sign."""
    texts: dict[tuple[int, int], str] = {}
    for piece in pieces(instruction, lang):
        key = piece.sentence, piece.sign
        texts[key] = f"{texts.get(key, '')} {piece.text}".strip()
    return [(sign, text) for (_, sign), text in texts.items()]


def _sorted(weights: Iterable[tuple[str, float]]) -> Weights:
    # Lucene sums in the order of the clauses, and the last bit must not depend on a set's order
    return {term: float(weight) for term, weight in sorted(weights)}
