"""Progress of an annotation: what each assessor has judged and has to read again, and what the export would lack."""

from collections.abc import Sequence
from typing import TypedDict

from heed.addons.judging.annotate.assessors import ADJUDICATED
from heed.addons.judging.annotate.grades import FinalGrades, Narratives, grades_by_document, is_changed, was_relevant
from heed.addons.judging.annotate.store import Judgement, wording_of
from heed.addons.judging.annotate.task import Task
from heed.progress import brief, number_of


class TopicProgress(TypedDict):
    """Documents of a topic: graded under the original narrative, to be read again, and read again.

    Before the narrative is ``edited`` none is, unless only the given judgements are judged again.
    """

    edited: bool
    original: int
    again: int
    read: int


def progress_by_topic(
    task: Task, judgements: Sequence[Judgement], narratives: Narratives, assessor: str
) -> dict[str, TopicProgress]:
    """Return an assessor's progress in each of his topics; ``judgements`` are everybody's.

    Read again are documents that were relevant before the narrative was edited, and those graded after an edit.
    """
    grades = grades_by_document(judgements)
    changed = {
        (judgement.qid, judgement.docid): judgement
        for judgement in judgements
        if (judgement.assessor, judgement.condition) == (assessor, "changed") and judgement.grade is not None
    }
    by_topic = {}
    for qid in task.topics_of(assessor):
        docids, wording = task.to_judge(qid), wording_of(narratives[qid])
        original = sum(assessor in grades.get((qid, "original", docid), ()) for docid in docids)
        is_edited = task.only_relevant or is_changed(task, qid, narratives[qid])
        by_topic[qid] = TopicProgress(edited=is_edited, original=original, again=0, read=0)
        if is_edited:
            graded = {docid: changed[qid, docid] for docid in docids if (qid, docid) in changed}
            relevant = {docid for docid in docids if was_relevant(task, grades, qid, docid, assessor)}
            by_topic[qid]["again"] = len({*graded, *relevant})
            by_topic[qid]["read"] = sum(not judgement.is_stale(wording) for judgement in graded.values())
    return by_topic


def is_open(task: Task, qid: str, progress: TopicProgress) -> bool:
    """Whether documents of a topic are left to judge or to read again."""
    judges = "original" in task.conditions()
    return progress["read"] < progress["again"] or (judges and progress["original"] < len(task.to_judge(qid)))


def progress_lines(task: Task, judgements: Sequence[Judgement], narratives: Narratives) -> list[str]:
    """Return a line of progress of each who is assigned topics, or else of each who has judged, by name."""
    names = {name for assigned in task.assigned.values() for name in assigned}
    names = names or {judgement.assessor for judgement in judgements} - {ADJUDICATED}
    lines = []
    for name in sorted(names):
        topics = progress_by_topic(task, judgements, narratives, name)
        progress = [*topics.values()]
        original, again, read = (sum(topic[key] for topic in progress) for key in ("original", "again", "read"))
        documents = sum(len(task.to_judge(qid)) for qid in topics)
        counts = [] if task.only_relevant else [f"{original} of {documents} judged"]
        counts += [f"{read} of {again} read again"] if again else []
        lines.append(f"{name}, {number_of(len(topics), 'topic')}: {', '.join(counts)}")
    return lines


def missing_for_export(task: Task, final: FinalGrades) -> str:
    """Return as a sentence what the export would leave out or warn of; empty where it has every pooled document."""
    unjudged = sum(map(len, final.unjudged(task).values()))
    reasons = {
        f"{unjudged} documents are not judged by anybody": unjudged,
        f"{len(final.waiting)} documents are not judged by all to whom their topic is assigned": final.waiting,
        f"{len(final.undecided)} grades differ and are to be decided on the agreement page": final.undecided,
        f"topics {brief([*final.incomplete])} lack grades under the changed narrative": final.incomplete,
    }
    parts = "; ".join(reason for reason, count in reasons.items() if count)
    return f"{parts[0].upper()}{parts[1:]}." if parts else ""
