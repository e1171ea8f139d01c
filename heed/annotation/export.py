"""Judgements as files that the collection commands take: qrels of both conditions, topics, and how assessors agree."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from heed.annotation.agreement import disagreements, pairs, settled
from heed.annotation.events import check_name
from heed.annotation.store import ADJUDICATED, Judgement, Store, wording_of
from heed.annotation.task import CONDITIONS, Task
from heed.errors import HeedError
from heed.io.files import write_bytes, write_json
from heed.io.trec_files import write_qrels
from heed.progress import brief
from heed.types import Qrels


class Settled(NamedTuple):
    """The grades that stand, by condition; ``undecided`` documents have none, ``incomplete`` topics no changed ones."""

    original: Qrels
    changed: Qrels
    undecided: int
    incomplete: dict[str, int]


def export(task: Task, store: Store, folder: Path, assessor: str | None) -> list[str]:
    """Write ``original.qrels``, ``changed.qrels``, ``topics.jsonl``, ``judgements.jsonl`` and ``agreement.json``.

    Of one assessor the grades are taken as they are. Of several together a document has the adjudicated grade, else
    the one that more than half of those who graded it gave; without either it is left out. The given judgements stand
    where nobody judged anew. ``changed.qrels`` holds the topics whose changed narrative differs from the original
    and whose relevant documents are all judged under it: a relevant document without a changed grade would count as
    one that the edit has ruled out. With ``only_relevant`` the other documents keep their given grades, since an
    edit only narrows (FollowIR, mFollowIR). Gives back lines that tell what was written and what was not.

    Raises :class:`HeedError` for an assessor without judgements, and where there is nothing to write.
    """
    judgements = store.judgements()
    chosen = _chosen(judgements, assessor)
    narratives = {qid: text for qid, (text, _) in store.narratives().items()}
    found = settle(task, chosen, narratives)
    if not any(found.original.values()) and not found.changed:
        raise HeedError(f"{store.path}: no document is judged; there is nothing to export")
    lines = _write(task, found, narratives, folder)
    _write_records(folder / "judgements.jsonl", task, store, narratives)
    agreed = [{**one, "agreement": one["agreement"]._asdict()} for one in pairs(judgements, _grades(task))]
    differing = disagreements(judgements)
    write_json(folder / "agreement.json", {"scale": _grades(task), "pairs": agreed, "disagreements": differing})
    return [*lines, *_gaps(task, found, chosen, narratives), *_told_agreement(agreed)]


def _grades(task: Task) -> list[int]:
    return [one.grade for one in task.scale]


def _chosen(judgements: list[Judgement], assessor: str | None) -> list[Judgement]:
    """The judgements that are exported: one assessor's, or everybody's."""
    graded = [one for one in judgements if one.grade is not None]
    if assessor is None:
        return graded
    name = check_name(assessor)
    own = [one for one in graded if one.assessor == name]
    if not own:
        known = ", ".join(sorted({one.assessor for one in graded} - {ADJUDICATED})) or "nobody"
        raise HeedError(f"--assessor {name}: has judged nothing; who has: {known}")
    return own


def settle(task: Task, judgements: list[Judgement], narratives: Mapping[str, str]) -> Settled:
    """One grade a document and condition; :func:`export` says by which rule."""
    said: dict[tuple[str, str], dict[str, dict[str, int]]] = {}
    for one in judgements:
        if one.grade is not None:
            said.setdefault((one.qid, one.condition), {}).setdefault(one.docid, {})[one.assessor] = one.grade
    undecided = 0
    grades: dict[str, Qrels] = {condition: {} for condition in CONDITIONS}
    for qid in task.pool:
        for condition in CONDITIONS:
            decided = {docid: settled(told) for docid, told in said.get((qid, condition), {}).items()}
            undecided += sum(grade is None for grade in decided.values())
            grades[condition][qid] = {docid: grade for docid, grade in decided.items() if grade is not None}
    original = {qid: _in_order(task, qid, {**task.given.get(qid, {}), **grades["original"][qid]}) for qid in task.pool}
    changed, incomplete = {}, {}
    for qid in task.pool:
        if not is_changed(task, qid, narratives):
            continue
        kept = {docid: grade for docid, grade in original[qid].items() if task.only_relevant and grade <= 0}
        found = {**kept, **grades["changed"][qid]}
        lacking = sum(grade > 0 and docid not in found for docid, grade in original[qid].items())
        if lacking and grades["changed"][qid]:
            incomplete[qid] = lacking
        elif found and not lacking:
            changed[qid] = _in_order(task, qid, found)
    return Settled({qid: one for qid, one in original.items() if one}, changed, undecided, incomplete)


def is_changed(task: Task, qid: str, narratives: Mapping[str, str]) -> bool:
    """Whether the narrative in force differs from the original in more than white space."""
    return bool(narratives[qid].strip()) and wording_of(narratives[qid]) != wording_of(task.original(qid))


def _in_order(task: Task, qid: str, grades: Mapping[str, int]) -> dict[str, int]:
    """Grades in the pool's order, those of documents outside of it behind by docid."""
    pooled = [docid for docid in task.pool[qid] if docid in grades]
    return {docid: grades[docid] for docid in [*pooled, *sorted(grades.keys() - set(pooled))]}


def _write(task: Task, found: Settled, narratives: Mapping[str, str], folder: Path) -> list[str]:
    lines = []
    for condition, qrels in (("original", found.original), ("changed", found.changed)):
        path = folder / f"{condition}.qrels"
        if qrels:
            write_qrels(path, qrels)
            lines.append(f"{path}: {sum(map(len, qrels.values()))} judgements, {len(qrels)} topics")
        else:
            path.unlink(missing_ok=True)  # what an earlier export left is no longer so
            lines.append(f"{path}: not written, no topic is judged as {condition}")
    records = "".join(_line(_topic(task, qid, narratives)) for qid in task.topics)
    write_bytes(folder / "topics.jsonl", records.encode())
    changed = sum(is_changed(task, qid, narratives) for qid in task.pool)
    return [*lines, f"{folder / 'topics.jsonl'}: {len(task.topics)} topics, {changed} with a changed narrative"]


def _topic(task: Task, qid: str, narratives: Mapping[str, str]) -> dict[str, Any]:
    topic = task.topics[qid]
    instructions = dict(topic.instructions)
    if qid in narratives:
        instructions.pop("changed", None)
        if is_changed(task, qid, narratives):
            instructions["changed"] = narratives[qid].strip()
    record: dict[str, Any] = {"qid": qid, "lang": topic.lang, "query": topic.query}
    if instructions:
        record["instructions"] = instructions
    return {**record, "type": topic.type} if topic.type else record


def _write_records(path: Path, task: Task, store: Store, narratives: Mapping[str, str]) -> None:
    """Every judgement with its note and time (UTC); ``reworded`` where the narrative was edited after it."""
    times = store.times()
    lines = []
    for one in sorted(store.judgements(), key=lambda one: one[:4]):
        told: dict[str, Any] = {"qid": one.qid, "docid": one.docid, "condition": one.condition}
        told |= {"assessor": one.assessor, "grade": one.grade, "note": one.note, "at": times[one[0:4]]}
        lines.append(_line({**told, "reworded": _is_reworded(one, narratives)}))
    write_bytes(path, "".join(lines).encode())


def _is_reworded(one: Judgement, narratives: Mapping[str, str]) -> bool:
    return one.condition == "changed" and one.grade is not None and one.wording != wording_of(narratives[one.qid])


def _line(record: object) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _gaps(task: Task, found: Settled, chosen: list[Judgement], narratives: Mapping[str, str]) -> list[str]:
    """What keeps the export from being whole, and what to do about it."""
    lines = []
    for qid, lacking in found.incomplete.items():
        lines.append(
            f"topic {qid}: left out of changed.qrels, {lacking} relevant documents have no grade under the changed "
            "narrative; judge them"
        )
    same = sorted(
        {one.qid for one in chosen if one.condition == "changed" and not is_changed(task, one.qid, narratives)}
    )
    if same:
        lines.append(f"{len(same)} topics judged as changed have the original narrative still, left out: {brief(same)}")
    reworded = sum(_is_reworded(one, narratives) for one in chosen)
    if reworded:
        lines.append(f"{reworded} judgements were made before the narrative's last edit; N on the page goes to them")
    if found.undecided:
        lines.append(f"{found.undecided} judgements left out: assessors differ; decide them on the agreement page")
    return lines


def _told_agreement(agreed: list[dict[str, Any]]) -> list[str]:
    lines = []
    for one in agreed:
        told, who = one["agreement"], f"{one['first']} and {one['second']}, {one['condition']}"
        values = ", ".join(f"{name} {_shown(told[key])}" for name, key in (("κ", "kappa"), ("linear κ", "weighted")))
        lines.append(f"{who}: {told['n']} documents, {values}")
    return lines


def _shown(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3f}"
