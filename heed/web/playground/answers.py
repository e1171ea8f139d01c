"""What the playground shows: a system's ranking before and after a change of query or instruction, and why."""

import time
from collections.abc import Mapping, Sequence
from typing import TypedDict

from heed.ranking import ranked
from heed.report.topics.view_types import Narrative, Ranking
from heed.report.topics.views import narrative_of, title_of
from heed.web.playground.loaded_systems import LiveSystems, Question
from heed.web.playground.words import Words, matched

SHOWN = 50  # documents of a ranking, and all judged ones


class Side(TypedDict):
    """A question and its answer: ``ranking`` as in a topic's view; ``words`` of each of the answer's ``docids``."""

    query: str
    narrative: Narrative | None
    ranking: Ranking
    words: list[Words]


class Answer(TypedDict):
    """A system's answer to a topic as it is (``before``) and as it was changed (``after``).

    ``titles`` and ``grades`` (None: unjudged) are parallel to ``docids``; ``seconds`` is how long both took. A system
    that ``explains`` can be asked why a document has its score.
    """

    system: str
    explains: bool
    docids: list[str]
    titles: list[str]
    grades: list[int | None]
    before: Side
    after: Side
    seconds: float


def answer(live: LiveSystems, system: str, question: Question, shown: int = SHOWN) -> Answer:
    """Return how ``system`` answers ``question``, beside its answer to the topic as it is.

    Raises :class:`DataError` for an unknown topic or system and a condition that the topic does not have.
    """
    started = time.perf_counter()
    explored = live.explored
    topic = live.topic(question)
    known = explored.topics[question.qid]
    unchanged = question._replace(query=known.query, instruction=known.instructions.get(question.condition, ""))
    scores = {asked: live.scores(system, asked) for asked in (unchanged, question)}
    grades = explored.grades(topic, question.condition) or {}
    lists = {asked: ranked(each) for asked, each in scores.items()}
    docids = [*dict.fromkeys([*lists[question][:shown], *lists[unchanged][:shown], *sorted(grades)])]
    documents = live.documents.find(docids)

    def side(asked: Question) -> Side:
        query = live.query(asked)
        narrative = narrative_of(query.instruction, query.lang) if query.instruction else None
        return Side(
            query=query.query,
            narrative=narrative,
            ranking=_ranking(lists[asked], scores[asked], docids),
            words=matched(live.searcher, query, docids),
        )

    return Answer(
        system=system,
        explains=live.explains(system),
        docids=docids,
        titles=[title_of(documents[docid]) if docid in documents else "" for docid in docids],
        grades=[grades.get(docid) for docid in docids],
        before=side(unchanged),
        after=side(question),
        seconds=round(time.perf_counter() - started, 4),
    )


def _ranking(listed: Sequence[str], scores: Mapping[str, float], docids: Sequence[str]) -> Ranking:
    """Return the ranks of those of ``docids`` that a list holds."""
    rank_of = {docid: rank for rank, docid in enumerate(listed, 1)}
    found = sorted((rank_of[docid], place) for place, docid in enumerate(docids) if docid in rank_of)
    return Ranking(
        length=len(listed),
        documents=[place for _, place in found],
        ranks=[rank for rank, _ in found],
        scores=[scores[docids[place]] for _, place in found],
    )
