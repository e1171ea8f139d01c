"""Export judgements as files that the collection commands read: qrels of both conditions, topics, and agreement."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from heed.addons.judging.agreement import Agreement, same_grades
from heed.addons.judging.annotate.grades import (
    FinalGrades,
    Narratives,
    PairAgreement,
    current,
    disagreements,
    final_grades,
    in_pool_order,
    is_changed,
    pair_agreements,
    progress_lines,
)
from heed.addons.judging.annotate.store import Judgement, Store
from heed.addons.judging.annotate.task import ADJUDICATED, Task, check_name
from heed.errors import DataError, UsageError
from heed.files import write_bytes, write_json
from heed.formats.topics import KEYS
from heed.formats.trec_files import write_qrels
from heed.progress import brief, number_of
from heed.types import Qrels


def export(
    task: Task, store: Store, folder: Path, assessor: str | None = None, unjudged: str = "leave", resolve: str = ""
) -> list[str]:
    """Write ``original.qrels``, ``changed.qrels``, ``topics.jsonl``, ``judgements.jsonl`` and ``agreement.json``.

    Of one assessor the grades are exported as they are. Of several together
    :func:`.grades.final_grades` says which grade a document has, with ``resolve`` as rule, and of which topics the
    changed grades are written. Pooled documents that nobody has graded are left out, an error, or written with the
    grade -1 (unknown) or 0 in topics that have grades: ``unjudged`` is leave, error, -1 or 0.
    Returns lines that say what was written and what was not.

    Raises :class:`UsageError` for an assessor without judgements, and :class:`DataError` if nothing is judged.
    """
    judgements = store.judgements()
    chosen = _chosen(judgements, assessor)
    narratives = {qid: text for qid, (text, _) in store.narratives().items()}
    final = final_grades(replace(task, assigned={}) if assessor else task, chosen, narratives, resolve)
    if not chosen and not final.original:
        raise DataError(f"{store.path}: no document is judged; there is nothing to export")
    gaps = [*_unjudged_lines(task, final, unjudged), *_gaps(task, final, chosen, narratives)]
    lines = _write(task, _filled(task, final, int(unjudged)) if unjudged in ("-1", "0") else final, narratives, folder)
    _write_judgements(folder / "judgements.jsonl", store, narratives)
    pairs = pair_agreements(judgements, task.grades())
    same = same_grades(((pair["first"], pair["second"]), Agreement(**pair["agreement"])) for pair in pairs)
    differing = disagreements(current(judgements, narratives), store.deciders())
    for item in differing:
        if (key := (item["qid"], item["condition"], item["docid"])) in final.by_rule:
            item["by_rule"] = final.by_rule[key]
    ruled = {"rule": resolve or None, "decided_by_rule": len(final.by_rule), "same_grades": same}
    write_json(folder / "agreement.json", {"scale": task.grades(), **ruled, "pairs": pairs, "disagreements": differing})
    progress = progress_lines(task, judgements, narratives) if task.assigned else []
    return [*lines, *gaps, *progress, *map(_agreement_line, pairs)]


def _unjudged_lines(task: Task, final: FinalGrades, unjudged: str) -> list[str]:
    """Return a line about pooled documents without a grade; :class:`DataError` with it if they are an error."""
    if unjudged == "error" and final.waiting:
        raise DataError(f"{len(final.waiting)} documents are not judged by all to whom their topic is assigned")
    without = final.unjudged(task)
    if not without:
        return []
    by_topic = ", ".join(f"{qid}: {len(docids)}" for qid, docids in without.items())
    count, pooled = sum(map(len, without.values())), sum(map(len, task.pool.values()))
    line = f"{count} of {pooled} pooled documents are not judged (topic {by_topic})"
    if unjudged == "error":
        raise DataError(f"unjudged: {line}; judge them, or choose leave, -1 or 0")
    if unjudged == "leave":
        return [f"{line}, left out; -1 or 0 in place of leave gives them a grade"]
    outside = [qid for qid in without if qid not in final.original and qid not in final.changed]
    return [f"{line}: {unjudged}{f'; topics without any grade are left out: {brief(outside)}' if outside else ''}"]


def _filled(task: Task, final: FinalGrades, grade: int) -> FinalGrades:
    """Return the grades with ``grade`` for pooled documents that nobody has graded, in topics that have grades."""
    without = final.unjudged(task)

    def fill(qrels: Qrels) -> Qrels:
        return {
            qid: in_pool_order(task, qid, dict.fromkeys(without.get(qid, ()), grade) | grades)
            for qid, grades in qrels.items()
        }

    return final._replace(original=fill(final.original), changed=fill(final.changed))


def _chosen(judgements: Sequence[Judgement], assessor: str | None) -> list[Judgement]:
    """Return the graded judgements to export: one assessor's, or everybody's."""
    graded = [judgement for judgement in judgements if judgement.grade is not None]
    if assessor is None:
        return graded
    name = check_name(assessor)
    judged = [judgement for judgement in graded if judgement.assessor == name]
    if not judged:
        known = ", ".join(sorted({judgement.assessor for judgement in graded} - {ADJUDICATED})) or "nobody"
        raise UsageError(f"assessor: {name} has judged nothing; who has: {known}")
    return judged


def _write(task: Task, final: FinalGrades, narratives: Narratives, folder: Path) -> list[str]:
    lines = []
    for condition, qrels in (("original", final.original), ("changed", final.changed)):
        path = folder / f"{condition}.qrels"
        if qrels:
            write_qrels(path, qrels)
            count = number_of(sum(map(len, qrels.values())), "judgement")
            lines.append(f"{path}: {count}, {number_of(len(qrels), 'topic')}")
        else:
            path.unlink(missing_ok=True)  # an earlier export's is outdated
            lines.append(f"{path}: not written, no topic is judged as {condition}")
    records = "".join(_line(_topic(task, qid, narratives)) for qid in task.topics)
    write_bytes(folder / "topics.jsonl", records.encode())
    changed = sum(is_changed(task, qid, narratives[qid]) for qid in task.pool)
    topics = number_of(len(task.topics), "topic")
    return [*lines, f"{folder / 'topics.jsonl'}: {topics}, {changed} with a changed narrative"]


def _topic(task: Task, qid: str, narratives: Narratives) -> dict[str, Any]:
    topic = task.topics[qid]
    instructions = dict(topic.instructions)
    if qid in narratives:
        instructions.pop("changed", None)
        if is_changed(task, qid, narratives[qid]):
            instructions["changed"] = narratives[qid].strip()
    record = topic._replace(instructions=instructions)._asdict()
    return {key: record[key] for key in KEYS if record[key]}


def _write_judgements(path: Path, store: Store, narratives: Narratives) -> None:
    """Write every judgement with its note and time (UTC); ``reworded`` if the narrative was edited after it.

    An adjudicated one has in ``decided_by`` who decided, where that is known.
    """
    times, deciders = store.times(), store.deciders()
    judgements, lines = store.judgements(), []
    counting = {*current(judgements, narratives)}
    for judgement in sorted(judgements, key=lambda judgement: judgement[:4]):
        record: dict[str, Any] = {"qid": judgement.qid, "docid": judgement.docid, "condition": judgement.condition}
        record |= {"assessor": judgement.assessor, "grade": judgement.grade, "note": judgement.note}
        record |= {"at": times[judgement[0:4]], "reworded": judgement not in counting}
        if judgement.assessor == ADJUDICATED and judgement[1:4] in deciders:
            record["decided_by"] = deciders[judgement[1:4]]
        lines.append(_line(record))
    write_bytes(path, "".join(lines).encode())


def _line(record: object) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _gaps(task: Task, final: FinalGrades, chosen: Sequence[Judgement], narratives: Narratives) -> list[str]:
    """Return lines about documents and topics that are left out, and how they get in."""
    lines = []
    for qid, docids in final.incomplete.items():
        lines.append(
            f"topic {qid}: left out of changed.qrels, {len(docids)} relevant documents have no grade under the changed "
            f"narrative: {', '.join(docids)}; judge them, or decide where assessors differ"
        )
    judged = {judgement.qid for judgement in chosen if judgement.condition == "changed"}
    unread = [qid for qid in final.original if qid not in judged and is_changed(task, qid, narratives[qid])]
    if unread and not task.only_relevant:
        lines.append(
            f"{number_of(len(unread), 'topic')} with a changed narrative, not judged under it, left out of "
            f"changed.qrels: {', '.join(unread)}"
        )
    same = sorted(qid for qid in judged if not is_changed(task, qid, narratives[qid]))
    if same:
        count = number_of(len(same), "topic")
        lines.append(f"{count} judged as changed, though the narrative is the original one, left out: {brief(same)}")
    older = sorted({judgement[1:4:2] for judgement in {*chosen} - {*current(chosen, narratives)}})
    if older:
        names = ", ".join(" ".join(key) for key in older)
        count = number_of(len(older), "judgement")
        lines.append(
            f"{count} made before the narrative's last edit, left out (topic, document; N leads there): {names}"
        )
    for keys, reason in (
        (final.waiting, "not all to whom the topic is assigned have judged; it is not in changed.qrels"),
        (final.undecided, "assessors differ; decide on the agreement page, or choose a rule"),
    ):
        count, names = number_of(len(keys), "judgement"), brief([" ".join(key) for key in sorted(keys)])
        lines += [f"{count} left out: {reason} (topic, condition, document): {names}"] if keys else []
    return lines


def _agreement_line(pair: PairAgreement) -> str:
    result = Agreement(**pair["agreement"])
    return f"{pair['first']} and {pair['second']}, {pair['condition']}: {result.n} documents, {result.line()}"
