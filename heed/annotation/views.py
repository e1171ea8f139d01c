"""What the page is told: plain data made of the task and the database, nothing of other assessors but on agreement."""

from collections import Counter
from typing import Any

from heed.annotation.agreement import disagreements, pairs
from heed.annotation.documents import Shown, drawn
from heed.annotation.store import Judgement, Store, wording_of
from heed.annotation.task import Task
from heed.languages import language

RIGHT_TO_LEFT = {"fas"}
MOST_SHOWN = 500  # disagreements on the page; the export has them all

Data = dict[str, Any]


def task_data(task: Task, store: Store, assessor: str) -> Data:
    """What holds for the whole page; ``assessor`` is the name given to the command, or empty."""
    return {
        "name": store.kept()["name"],
        "pool": f"{store.path.resolve().parent.name}/{store.path.stem}",
        "scale": [one._asdict() for one in task.scale],
        "judged": list(task.judged_under()),
        "onlyRelevant": task.only_relevant,
        "assessor": assessor,
        "assessors": store.assessors(),
        "documents": language_data(task.lang),
        "topics": [
            {
                "qid": qid,
                "query": task.topics[qid].query,
                "language": language_data(task.topics[qid].lang),
                "documents": len(task.shown(qid)),
            }
            for qid in task.pool
        ],
    }


def language_data(code: str) -> Data:
    """A language as HTML names it, and its direction."""
    return {"code": code, "tag": language(code).short, "dir": "rtl" if code in RIGHT_TO_LEFT else "ltr"}


def progress_data(task: Task, store: Store, assessor: str) -> Data:
    """How many shown documents are graded, by topic and condition; what tells that something changed elsewhere."""
    shown = {qid: set(task.shown(qid)) for qid in task.pool}
    narratives = store.narratives()
    wordings = {qid: wording_of(text) for qid, (text, _) in narratives.items()}
    counted: Counter[tuple[str, str]] = Counter()
    for one in store.judgements(assessor):
        if one.grade is not None and one.docid in shown[one.qid]:
            counted[one.qid, one.condition] += 1
            counted[one.qid, "stale"] += _is_stale(one, wordings)
    return {
        "last": store.last(assessor),
        "topics": {
            qid: {
                "original": counted[qid, "original"],
                "changed": counted[qid, "changed"],
                "stale": counted[qid, "stale"],
                "version": narratives[qid][1],
            }
            for qid in task.pool
        },
    }


def _is_stale(one: Judgement, wordings: dict[str, str]) -> bool:
    """Whether a judgement was made under another wording of the changed narrative than the one in force."""
    return one.condition == "changed" and one.grade is not None and one.wording != wordings[one.qid]


def topic_data(task: Task, store: Store, assessor: str, qid: str) -> Data:
    """A topic's narratives, and its documents in the pool's order with what this assessor said of them."""
    text, version = store.narratives()[qid]
    wordings = {qid: wording_of(text)}
    said: dict[str, Data] = {}
    for one in store.judgements(assessor, qid):
        stale = _is_stale(one, wordings)
        said.setdefault(one.docid, {})[one.condition] = {"grade": one.grade, "note": one.note, "stale": stale}
    given = task.given.get(qid, {})
    return {
        "qid": qid,
        "original": task.original(qid),
        "changed": text,
        "version": version,
        "documents": [{"docid": one, "given": given.get(one), **said.get(one, {})} for one in task.shown(qid)],
    }


def document_data(shown: Shown) -> Data:
    """A document; ``table`` is None unless it is to be drawn as one."""
    table = drawn(shown.text) if shown.tabular else None
    return {**shown._asdict(), "table": table._asdict() if table else None}


def agreement_data(task: Task, store: Store, assessor: str) -> Data:
    """κ of each two assessors, and where assessors differ: of documents that ``assessor`` graded, all without any."""
    judgements = store.judgements()
    own = {
        (one.qid, one.condition, one.docid) for one in judgements if one.assessor == assessor and one.grade is not None
    }
    notes: dict[tuple[str, str, str], dict[str, str]] = {}
    for one in judgements:
        if one.note:
            notes.setdefault((one.qid, one.condition, one.docid), {})[one.assessor] = one.note
    places = ((one, (one["qid"], one["condition"], one["docid"])) for one in disagreements(judgements))
    differing = [(one, notes.get(place, {})) for one, place in places if not own or place in own]
    titles = store.titles([one["docid"] for one, _ in differing[:MOST_SHOWN]])
    return {
        "pairs": [
            {**pair, "agreement": pair["agreement"]._asdict()}
            for pair in pairs(judgements, [one.grade for one in task.scale])
        ],
        "count": len(differing),
        "open": sum(one["decision"] is None for one, _ in differing),
        "disagreements": [
            {**one, "notes": noted, "title": titles.get(one["docid"], "")} for one, noted in differing[:MOST_SHOWN]
        ],
    }
