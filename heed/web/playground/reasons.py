"""Why a document has its score by ``polarity``, as the playground shows it."""

from typing import TypedDict

from heed.web.playground.loaded_systems import LiveSystems, Question


class Contribution(TypedDict):
    """What a term adds to a score, as in :mod:`heed.reranking.polarity.explain`; below 0 it speaks against."""

    part: str
    term: str
    words: list[str]
    clauses: list[str]
    value: float


class Reason(TypedDict):
    """A document's score, and what it is made of, largest first."""

    score: float
    contributions: list[Contribution]


def reason(live: LiveSystems, system: str, question: Question, docid: str) -> Reason:
    """Return why ``docid`` has its score by ``system`` for ``question``.

    Raises :class:`HeedError` for a system that gives no reasons, and a document that it did not rank.
    """
    explanation = live.explained(system, question, docid)
    return Reason(
        score=explanation.score,
        contributions=[
            Contribution(
                part=one.part, term=one.term, words=[*one.words], clauses=[*one.clauses], value=round(one.value, 5)
            )
            for one in explanation.contributions
        ],
    )
