"""The JSON that the page receives; judgements of other assessors are only in that of the agreement page."""

from collections import Counter
from typing import Any

from heed.annotation.agreement import disagreements, pair_agreements
from heed.annotation.documents import PooledDocument, as_table
from heed.annotation.store import Judgement, Store, wording_of
from heed.annotation.task import Task
from heed.languages import language

RIGHT_TO_LEFT = {"fas"}
MOST_SHOWN = 500  # disagreements on the page; the export has them all

Data = dict[str, Any]


def task_data(task: Task, store: Store, assessor: str) -> Data:
    """Return the task for the whole page; ``assessor`` is the name given to the command, or empty."""
    return {
        "name": store.properties()["name"],
        "pool": f"{store.path.resolve().parent.name}/{store.path.stem}",
        "scale": [grade._asdict() for grade in task.scale],
        "judged": list(task.conditions()),
        "onlyRelevant": task.only_relevant,
        "assessor": assessor,
        "assessors": store.assessors(),
        "documents": language_data(task.lang),
        "topics": [
            {
                "qid": qid,
                "query": task.topics[qid].query,
                "language": language_data(task.topics[qid].lang),
                "documents": len(task.to_judge(qid)),
            }
            for qid in task.pool
        ],
    }


def language_data(code: str) -> Data:
    """Return a language's tag in HTML, and its direction."""
    return {"code": code, "tag": language(code).short, "dir": "rtl" if code in RIGHT_TO_LEFT else "ltr"}


def progress_data(task: Task, store: Store, assessor: str) -> Data:
    """Return how many documents are graded by topic and condition, and the number of the last change."""
    to_judge = {qid: set(task.to_judge(qid)) for qid in task.pool}
    narratives = store.narratives()
    wordings = {qid: wording_of(text) for qid, (text, _) in narratives.items()}
    counts: Counter[tuple[str, str]] = Counter()
    for judgement in store.judgements(assessor):
        if judgement.grade is not None and judgement.docid in to_judge[judgement.qid]:
            counts[judgement.qid, judgement.condition] += 1
            counts[judgement.qid, "stale"] += _is_stale(judgement, wordings)
    return {
        "last": store.last(assessor),
        "topics": {
            qid: {
                "original": counts[qid, "original"],
                "changed": counts[qid, "changed"],
                "stale": counts[qid, "stale"],
                "version": narratives[qid][1],
            }
            for qid in task.pool
        },
    }


def _is_stale(judgement: Judgement, wordings: dict[str, str]) -> bool:
    """Whether a judgement was made under another wording of the changed narrative than the current one."""
    graded = judgement.condition == "changed" and judgement.grade is not None
    return graded and judgement.wording != wordings[judgement.qid]


def topic_data(task: Task, store: Store, assessor: str, qid: str) -> Data:
    """Return a topic's narratives, and its documents in the pool's order with this assessor's judgements."""
    text, version = store.narratives()[qid]
    wordings = {qid: wording_of(text)}
    judgements: dict[str, Data] = {}
    for judgement in store.judgements(assessor, qid):
        stale = _is_stale(judgement, wordings)
        by_condition = judgements.setdefault(judgement.docid, {})
        by_condition[judgement.condition] = {"grade": judgement.grade, "note": judgement.note, "stale": stale}
    given = task.given.get(qid, {})
    return {
        "qid": qid,
        "original": task.original(qid),
        "changed": text,
        "version": version,
        "documents": [
            {"docid": docid, "given": given.get(docid), **judgements.get(docid, {})} for docid in task.to_judge(qid)
        ],
    }


def document_data(document: PooledDocument) -> Data:
    """Return a document; ``table`` is None unless it is displayed as one."""
    table = as_table(document.text) if document.tabular else None
    return {**document._asdict(), "table": table._asdict() if table else None}


def agreement_data(task: Task, store: Store, assessor: str) -> Data:
    """Return κ of every two assessors, and the disagreements about documents that ``assessor`` has graded.

    An assessor without any grade, such as an organiser, gets all disagreements.
    """
    judgements = store.judgements()
    own = {
        (judgement.qid, judgement.condition, judgement.docid)
        for judgement in judgements
        if judgement.assessor == assessor and judgement.grade is not None
    }
    notes: dict[tuple[str, str, str], dict[str, str]] = {}
    for judgement in judgements:
        if judgement.note:
            key = judgement.qid, judgement.condition, judgement.docid
            notes.setdefault(key, {})[judgement.assessor] = judgement.note
    keyed = {(item["qid"], item["condition"], item["docid"]): item for item in disagreements(judgements)}
    differing = {key: item for key, item in keyed.items() if not own or key in own}
    shown = [*differing.items()][:MOST_SHOWN]
    titles = store.titles([item["docid"] for _, item in shown])
    return {
        "pairs": [
            {**pair, "agreement": pair["agreement"]._asdict()} for pair in pair_agreements(judgements, task.grades())
        ],
        "count": len(differing),
        "open": sum(item["decision"] is None for item in differing.values()),
        "disagreements": [
            {**item, "notes": notes.get(key, {}), "title": titles.get(item["docid"], "")} for key, item in shown
        ],
    }
