"""The grades of several assessors: one final grade a document, agreement, disagreements, progress, and their export.

An export's files are those that the collection commands read: qrels of both conditions and topics; and agreement.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, NotRequired, TypedDict

from heed.addons.judging.agreement import Agreement, agreement, pairs, same_grades
from heed.addons.judging.annotate.store import EARLIER, SKIPPED, Judgement, Store, wording_of
from heed.addons.judging.annotate.task import ADJUDICATED, CONDITIONS, Task, check_name
from heed.addons.judging.exchange.judgements import Key, Votes, resolve
from heed.errors import DataError, UsageError
from heed.files import write_bytes, write_json
from heed.formats.topics import record_of
from heed.formats.trec_files import write_qrels
from heed.progress import brief, duration, number_of
from heed.types import Qrels

DocumentKey = tuple[str, str, str]  # topic, condition and docid
GradesByDocument = Mapping[DocumentKey, Mapping[str, int]]  # of each document, by assessor
Narratives = Mapping[str, str]  # qid -> the current changed narrative


class FinalGrades(NamedTuple):
    """The exported grades of both conditions.

    ``undecided`` are the documents on which assessors differ, ``waiting`` those that not all to whom their topic is
    assigned have judged, ``by_rule`` the grades that a rule decided; ``incomplete`` the relevant documents, by topic,
    that have no changed grade and for which their topic is left out of ``changed``.
    """

    original: Qrels
    changed: Qrels
    undecided: set[DocumentKey]
    waiting: set[DocumentKey]
    by_rule: dict[DocumentKey, int]
    incomplete: dict[str, list[str]]

    def unjudged(self, task: Task) -> dict[str, list[str]]:
        """Return the pooled documents that nobody has graded, by topic, without topics that have none."""
        graded = {(qid, docid) for qid, condition, docid in self.undecided | self.waiting if condition == "original"}
        without = {
            qid: [docid for docid in docids if docid not in self.original.get(qid, {}) and (qid, docid) not in graded]
            for qid, docids in task.pool.items()
        }
        return {qid: docids for qid, docids in without.items() if docids}


class PairAgreement(TypedDict):
    """Two assessors under one condition: the fields of :class:`~heed.addons.judging.agreement.Agreement`.

    ``reworded`` documents, graded under different narratives, are not counted.
    """

    first: str
    second: str
    condition: str
    reworded: int
    agreement: dict[str, Any]


class Disagreement(TypedDict):
    """A document with different grades; ``decision`` is the adjudicated grade, None if there is none yet.

    ``decided_by`` is absent where it is not known, ``by_rule`` where no rule has decided the grade of an export.
    """

    qid: str
    condition: str
    docid: str
    grades: dict[str, int]
    decision: int | None
    decided_by: NotRequired[str]
    by_rule: NotRequired[int]


def current(judgements: Sequence[Judgement], narratives: Narratives) -> list[Judgement]:
    """Return the judgements that count: all but those older than the narrative's last edit, or than a correction."""
    wordings = {qid: wording_of(text) for qid, text in narratives.items()}
    return [judgement for judgement in judgements if not judgement.is_stale(wordings[judgement.qid])]


def grades_by_document(judgements: Sequence[Judgement]) -> dict[DocumentKey, dict[str, int]]:
    """Return each document's grades by assessor, without judgements that are only notes."""
    grades: dict[DocumentKey, dict[str, int]] = {}
    for judgement in judgements:
        if judgement.grade is not None:
            grades.setdefault(judgement[1:4], {})[judgement.assessor] = judgement.grade
    return grades


def majority_grade(grades: Mapping[str, int]) -> int | None:
    """Return a document's adjudicated grade, else that of more than half; None where nothing decides.

    ``grades`` are by assessor, such as those of :func:`grades_by_document`.
    """
    if ADJUDICATED in grades or not grades:
        return grades.get(ADJUDICATED)
    if len(grades) == 1:  # nearly always: the page asks for all documents every few seconds
        return next(iter(grades.values()))
    grade, votes = Counter(grades.values()).most_common(1)[0]
    return grade if 2 * votes > len(grades) else None


def grade_before_edit(task: Task, qid: str, grades: Mapping[str, int], assessor: str) -> int | None:
    """Return the original grade by which ``assessor`` reads a document again after an edit; None without any.

    It is the decision or the majority's, else his own. Before a decision he learns nothing about what he has not graded
    himself, and nothing at all of topics that are assigned.
    """
    first = grades.get(assessor)
    is_known = ADJUDICATED in grades or (first is not None and qid not in task.assigned)
    final = majority_grade(grades) if is_known else None
    return first if final is None else final


def original_grades(task: Task, votes: GradesByDocument, qid: str, docid: str) -> dict[str, int]:
    """Return a document's grades before an edit, by name: the decision, else the assessors', else the given one."""
    by_assessor = votes.get((qid, "original", docid), {})
    if ADJUDICATED in by_assessor:
        return {ADJUDICATED: by_assessor[ADJUDICATED]}
    earlier = task.qrels.get(qid, {})
    return {**by_assessor} or ({"given": earlier[docid]} if docid in earlier else {})


def was_relevant(task: Task, votes: GradesByDocument, qid: str, docid: str, assessor: str) -> bool:
    """Whether a document was relevant before an edit, as far as ``assessor`` may know, who then reads it again."""
    grade = grade_before_edit(task, qid, votes.get((qid, "original", docid), {}), assessor)
    return (task.qrels.get(qid, {}).get(docid, 0) if grade is None else grade) > 0


def final_grades(task: Task, judgements: Sequence[Judgement], narratives: Narratives, rule: str = "") -> FinalGrades:
    """Return one grade a document and condition: the adjudicated one, else the one that all gave.

    A ``rule`` of :func:`heed.addons.judging.exchange.judgements.resolve` decides where assessors differ; without one
    nothing does. Where nobody has judged, a document keeps its given grade under ``original``. The topics under
    ``changed`` are those whose changed narrative differs from the original, that wait for nobody to whom they are
    assigned, and whose relevant documents are all judged under it as it is now: a relevant document without a changed
    grade would count as one that the edit has made non-relevant. Documents that were not relevant and are not judged
    under it keep their grades, since an edit only narrows (FollowIR, mFollowIR). Changed grades that are older than it
    count for nothing but what was relevant before it, those of :func:`overruled` assessors for nothing. What is open
    under ``original`` has no changed grade.
    """
    judgements = [judgement for judgement in judgements if judgement.qid in task.pool]
    counting = current(judgements, narratives)
    votes = grades_by_document(counting)
    first = _decided(task, votes, {key for key in votes if key[1] == "original"}, rule)
    original = {qid: {**task.qrels.get(qid, {})} for qid in task.pool}
    for (qid, _, docid), grade in first.grades.items():
        original[qid].pop(docid, None)
        if grade is not None:
            original[qid][docid] = grade
    original = {qid: in_pool_order(task, qid, grades) for qid, grades in original.items()}
    void, is_open = overruled(votes, original), {key[::2] for key in first.waiting | first.undecided}
    again = grades_by_document(
        [each for each in counting if each.condition == "changed" and (each.qid, each.docid, each.assessor) not in void]
    )
    second = _decided(task, votes | again, {key for key in again if key[::2] not in is_open}, rule)
    stale = {
        judgement
        for judgement in {*judgements} - {*counting}
        if judgement.condition == "changed" and (judgement.qid, judgement.docid, judgement.assessor) not in void
    }
    begun = {qid for qid, _, _ in again} | {judgement.qid for judgement in stale}
    waiting, undecided = first.waiting | second.waiting, first.undecided | second.undecided
    unfinished, changed, incomplete = {qid for qid, _, _ in waiting}, {}, {}
    for qid in task.pool:
        if not is_changed(task, qid, narratives[qid]) or not (qid in begun or task.only_relevant):
            continue
        judged = {key[2]: grade for key, grade in second.grades.items() if key[0] == qid and grade is not None}
        older = {judgement.docid: judgement.grade for judgement in stale if judgement.qid == qid and judgement.grade}
        before = in_pool_order(task, qid, original[qid] | older)
        unchanged = {
            docid: grade for docid, grade in before.items() if grade <= 0 and (qid, "changed", docid) not in undecided
        }
        missing = [docid for docid, grade in before.items() if grade > 0 and docid not in judged]
        if missing and qid in begun:
            incomplete[qid] = missing
        elif not missing and (unchanged or judged) and qid not in unfinished:
            changed[qid] = in_pool_order(task, qid, {**unchanged, **judged})
    return FinalGrades(
        original={qid: by_docid for qid, by_docid in original.items() if by_docid},
        changed=changed,
        undecided=undecided,
        waiting=waiting,
        by_rule=first.by_rule | second.by_rule,
        incomplete=incomplete,
    )


def overruled(votes: GradesByDocument, original: Qrels) -> set[tuple[str, str, str]]:
    """Return topic, document and assessor where he calls relevant what by the final ``original`` grade is not.

    He has read it again under the changed narrative for nothing.
    """
    return {
        (qid, docid, name)
        for (qid, condition, docid), by_name in votes.items()
        if condition == "original" and original.get(qid, {}).get(docid, 1) <= 0
        for name, grade in by_name.items()
        if grade > 0
    }


class _Decided(NamedTuple):
    """Grades of documents, None where it is open; which of these wait or differ, and which a rule has decided."""

    grades: dict[DocumentKey, int | None]
    waiting: set[DocumentKey]
    undecided: set[DocumentKey]
    by_rule: dict[DocumentKey, int]


def _decided(task: Task, votes: GradesByDocument, keys: Set[DocumentKey], rule: str) -> _Decided:
    """Return the grades of the documents ``keys``, all of one condition, that have ``votes``."""
    waiting = {key for key in keys if _waits(task, votes, key)}
    differing = {
        key: votes[key] for key in keys - waiting if len({*votes[key].values()}) > 1 and ADJUDICATED not in votes[key]
    }
    by_rule = _resolve(differing, rule) if rule else {}
    undecided = differing.keys() - by_rule.keys()
    grades = {key: majority_grade(votes[key]) for key in keys} | by_rule | dict.fromkeys(waiting | undecided)
    return _Decided(grades, waiting, undecided, by_rule)


def _waits(task: Task, votes: GradesByDocument, key: DocumentKey) -> bool:
    """Whether somebody to whom the topic is assigned has not judged a document, or not read it again."""
    qid, condition, docid = key
    names = task.assigned.get(qid, []) if condition in task.conditions() and ADJUDICATED not in votes[key] else []
    if condition == "changed":
        names = [name for name in names if was_relevant(task, votes, qid, docid, name)]
    return not votes[key].keys() >= {*names}


def _resolve(differing: GradesByDocument, rule: str) -> dict[DocumentKey, int]:
    """Return one grade of each document, by ``rule`` of :func:`~heed.addons.judging.exchange.judgements.resolve`."""
    votes: dict[Key, Votes] = {}
    for (qid, condition, docid), grades in sorted(differing.items()):
        by_grade = votes.setdefault((qid, f"{docid}, {condition}"), {})
        for assessor, grade in grades.items():
            by_grade.setdefault(grade, {})[assessor] = assessor
    resolved = resolve(votes, rule)
    return {(qid, condition, docid): resolved[qid][f"{docid}, {condition}"] for qid, condition, docid in differing}


def is_changed(task: Task, qid: str, narrative: str) -> bool:
    """Whether a changed ``narrative`` differs from the topic's original in more than white space."""
    return bool(narrative.strip()) and narrative.split() != task.original(qid).split()


def in_pool_order(task: Task, qid: str, grades: Mapping[str, int]) -> dict[str, int]:
    """Return grades in the pool's order, those of documents outside of it last, by docid."""
    pooled = [docid for docid in task.pool[qid] if docid in grades]
    return {docid: grades[docid] for docid in [*pooled, *sorted(grades.keys() - set(pooled))]}


def pair_agreements(judgements: Sequence[Judgement], scale: Sequence[int]) -> list[PairAgreement]:
    """Return the agreement of every two assessors with a document in common, by condition and name."""
    agreements = []
    for condition in CONDITIONS:
        documents: dict[DocumentKey, dict[str, tuple[int, str]]] = {}  # grade and the wording that it is for
        for judgement in judgements:
            if judgement.condition == condition and judgement.grade is not None and judgement.assessor != ADJUDICATED:
                by_assessor = documents.setdefault(judgement[1:4], {})
                # under the original narrative a page's and a file's grades have other digests of no edit
                is_dated = condition == "changed" or judgement.wording == EARLIER
                by_assessor[judgement.assessor] = judgement.grade, judgement.wording if is_dated else ""
        for (first, second), common in pairs(documents.values()).items():
            same = [(grade, other) for (grade, wording), (other, other_wording) in common if wording == other_wording]
            count, result = len(common) - len(same), agreement(same, scale)._asdict()
            pair = PairAgreement(first=first, second=second, condition=condition, reworded=count, agreement=result)
            agreements.append(pair)
    return agreements


def disagreements(judgements: Sequence[Judgement], deciders: Mapping[DocumentKey, str]) -> list[Disagreement]:
    """Return the documents with different grades, by topic, condition (original first) and docid.

    Under the changed narrative those of :func:`overruled` assessors do not count. ``deciders`` are the names of those
    who decided, as the store has them.
    """
    grades = grades_by_document(judgements)
    decisions: Qrels = {}
    for (qid, condition, docid), by_name in grades.items():
        if condition == "original" and ADJUDICATED in by_name:
            decisions.setdefault(qid, {})[docid] = by_name[ADJUDICATED]
    void = overruled(grades, decisions)
    differing = []
    for qid, condition, docid in sorted(grades, key=lambda key: (key[0], key[1] != "original", key[2])):
        by_assessor = {
            name: grade
            for name, grade in grades[qid, condition, docid].items()
            if condition == "original" or (qid, docid, name) not in void
        }
        decision = by_assessor.pop(ADJUDICATED, None)
        if len(set(by_assessor.values())) > 1:
            item = Disagreement(qid=qid, condition=condition, docid=docid, grades=by_assessor, decision=decision)
            if decision is not None and (qid, condition, docid) in deciders:
                item["decided_by"] = deciders[qid, condition, docid]
            differing.append(item)
    return differing


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
    grades = grades_by_document(current(judgements, narratives))
    graded_by = {
        judgement[1:4]: judgement
        for judgement in judgements
        if judgement.assessor == assessor and judgement.grade is not None
    }
    by_topic = {}
    for qid in task.topics_of(assessor):
        docids, wording = task.to_judge(qid), wording_of(narratives[qid])
        grades_under = {
            condition: {docid: graded_by[key] for docid in docids if (key := (qid, condition, docid)) in graded_by}
            for condition in CONDITIONS
        }
        original = sum(not judgement.is_stale(wording) for judgement in grades_under["original"].values())
        is_edited = task.only_relevant or is_changed(task, qid, narratives[qid])
        by_topic[qid] = TopicProgress(edited=is_edited, original=original, again=0, read=0)
        if is_edited:
            graded = grades_under["changed"]
            relevant = {docid for docid in docids if was_relevant(task, grades, qid, docid, assessor)}
            by_topic[qid]["again"] = len({*graded, *relevant})
            by_topic[qid]["read"] = sum(not judgement.is_stale(wording) for judgement in graded.values())
    return by_topic


def is_open(task: Task, qid: str, progress: TopicProgress) -> bool:
    """Whether documents of a topic are left to judge or to read again."""
    judges = "original" in task.conditions()
    return progress["read"] < progress["again"] or (judges and progress["original"] < len(task.to_judge(qid)))


LONGEST_PAUSE = 600  # seconds between two grades; who takes longer has done something else
FEWEST = 5  # documents from which a mean says anything


def seconds_a_document(store: Store, assessor: str = "") -> dict[str, float]:
    """Return the mean seconds from one document's first grade to the next one's, by name or of one ``assessor``.

    Longer pauses than ``LONGEST_PAUSE`` are not counted, nor grades that came at once, as those of a file, and the
    pauses around them.
    """
    pace = {}
    for name, rows in groupby(store.first_grades(assessor), key=lambda row: row[0]):
        times = [time for _, time in rows]
        at_once = {time for time, count in Counter(times).items() if count > 1}
        gaps = [later - earlier for earlier, later in pairwise(times) if at_once.isdisjoint((earlier, later))]
        counted = [gap for gap in gaps if 0 < gap <= LONGEST_PAUSE]
        if len(counted) >= FEWEST:
            pace[name] = fmean(counted)
    return pace


def progress_lines(task: Task, store: Store, judgements: Sequence[Judgement], narratives: Narratives) -> list[str]:
    """Return a line of progress of each who is assigned topics, or else of each who has judged, by name."""
    marks, pace = store.marks(), seconds_a_document(store)
    graded = (judgement for judgement in judgements if judgement.grade is not None)
    unsure = Counter(judgement.assessor for judgement in graded if "unsure" in marks.get(judgement[:4], {}))
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
        counts += [f"{unsure[name]} unsure"] if unsure[name] else []
        if name in pace:
            left = again - read + (0 if task.only_relevant else documents - original)
            counts += [f"{pace[name]:.0f} s a document", *([f"{duration(left * pace[name])} left"] if left else [])]
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


FILES = ("original.qrels", "changed.qrels", "topics.jsonl", "judgements.jsonl", "agreement.json", "guidelines.md")


def check_export(folder: Path) -> None:
    """Raise :class:`DataError` where the export to ``folder`` would overwrite files that are of no earlier one."""
    present = [name for name in FILES if (folder / name).exists()]
    if present and "agreement.json" not in present:
        raise DataError(f"{folder}: has {brief(present)}, of no earlier export; name another folder")


def export(
    task: Task,
    store: Store,
    folder: Path,
    assessor: str | None = None,
    unjudged: str = "leave",
    resolve: str = "",
    without: Collection[str] = (),
) -> list[str]:
    """Write ``original.qrels``, ``changed.qrels``, ``topics.jsonl``, ``judgements.jsonl`` and ``agreement.json``.

    The assessors' guidelines, if there are any, are ``guidelines.md`` beside them. Of one assessor the grades are
    exported as they are. Of several together
    :func:`.grades.final_grades` says which grade a document has, with ``resolve`` as rule, and of which topics the
    changed grades are written. Pooled documents that nobody has graded are left out, an error, or written with the
    grade -1 (unknown) or 0 in topics that have grades: ``unjudged`` is leave, error, -1 or 0. Nothing of the assessors
    ``without`` is in any file.
    Returns lines that say what was written and what was not.

    Raises :class:`UsageError` for an assessor without judgements, and :class:`DataError` if nothing is judged, and as
    :func:`check_export` does.
    """
    check_export(folder)
    judgements = store.judgements()
    for name in without:
        _chosen(judgements, name)  # raises for a name without judgements
    judgements = [each for each in judgements if each.assessor not in without and each.qid in task.pool]
    names = {qid: [name for name in names if name not in without] for qid, names in task.assigned.items()}
    task, chosen = replace(task, assigned=names), _chosen(judgements, assessor)
    narratives = {qid: text for qid, (text, _) in store.narratives().items()}
    final = final_grades(replace(task, assigned={}) if assessor else task, chosen, narratives, resolve)
    if not chosen and not final.original:
        raise DataError(f"{store.path}: no document is judged; there is nothing to export")
    gaps = [*_unjudged_lines(task, final, unjudged), *_gaps(task, final, chosen, narratives)]
    pairs = pair_agreements(judgements, task.grades())
    same = same_grades(((pair["first"], pair["second"]), Agreement(**pair["agreement"])) for pair in pairs)
    differing = disagreements(current(judgements, narratives), store.deciders())
    for item in differing:
        if (key := (item["qid"], item["condition"], item["docid"])) in final.by_rule:
            item["by_rule"] = final.by_rule[key]
    labels = {str(grade): label for grade, label in task.scale}
    ruled = {"labels": labels, "rule": resolve or None, "decided_by_rule": len(final.by_rule), "same_grades": same}
    # the first file, by which check_export knows an export, also after a kill
    write_json(folder / "agreement.json", {"scale": task.grades(), **ruled, "pairs": pairs, "disagreements": differing})
    lines = _write(task, _filled(task, final, int(unjudged)) if unjudged in ("-1", "0") else final, narratives, folder)
    _write_judgements(folder / "judgements.jsonl", store, judgements, narratives)
    if guidelines := store.properties().get("guidelines"):
        write_bytes(folder / "guidelines.md", guidelines.encode())
    progress = progress_lines(task, store, judgements, narratives) if task.assigned else []
    return [*lines, *gaps, *progress, *map(agreement_line, pairs)]


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
        raise UsageError(f"{name} has judged nothing; who has: {known}")
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
    records = "".join(json_line(_topic(task, qid, narratives)) for qid in task.topics)
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
    return record_of(topic.instructed(instructions))


def _write_judgements(path: Path, store: Store, judgements: Sequence[Judgement], narratives: Narratives) -> None:
    """Write every judgement with its note and time (UTC); ``reworded`` if the narrative was edited after it.

    It has ``unsure`` and the ``passage`` that decided where its assessor has marked them, and an adjudicated one has in
    ``decided_by`` who decided, where that is known.
    """
    times, deciders, marks = store.times(), store.deciders(), store.marks()
    lines = []
    counting = {*current(judgements, narratives)}
    for judgement in sorted(judgements, key=lambda judgement: judgement[:4]):
        record: dict[str, Any] = {"qid": judgement.qid, "docid": judgement.docid, "condition": judgement.condition}
        record |= {"assessor": judgement.assessor, "grade": judgement.grade, "note": judgement.note}
        record |= {"at": times[judgement[0:4]], "reworded": judgement not in counting}
        if judgement.assessor == ADJUDICATED and judgement[1:4] in deciders:
            record["decided_by"] = deciders[judgement[1:4]]
        record |= {kind: value for kind, value in marks.get(judgement[:4], {}).items() if kind != SKIPPED}
        lines.append(json_line(record))
    write_bytes(path, "".join(lines).encode())


def json_line(record: object) -> str:
    """Return a line of JSON."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def _gaps(task: Task, final: FinalGrades, chosen: Sequence[Judgement], narratives: Narratives) -> list[str]:
    """Return lines about documents and topics that are left out, and how they get in."""
    lines = [
        f"topic {qid}: left out of changed.qrels, {number_of(len(docids), 'relevant document')} without a grade "
        f"under the changed narrative: {brief(docids)}; judge them, or decide where assessors differ"
        for qid, docids in final.incomplete.items()
    ]
    judged = {judgement.qid for judgement in chosen if judgement.condition == "changed"}
    unread = [qid for qid in final.original if qid not in judged and is_changed(task, qid, narratives[qid])]
    if unread and not task.only_relevant:
        lines.append(
            f"{number_of(len(unread), 'topic')} with a changed narrative, not judged under it, left out of "
            f"changed.qrels: {brief(unread)}"
        )
    same = sorted(qid for qid in judged if not is_changed(task, qid, narratives[qid]))
    if same:
        count = number_of(len(same), "topic")
        lines.append(f"{count} judged as changed, though the narrative is the original one, left out: {brief(same)}")
    older = sorted({judgement[1:4:2] for judgement in {*chosen} - {*current(chosen, narratives)}})
    if older:
        by_topic = ", ".join(f"{qid}: {count}" for qid, count in Counter(qid for qid, _ in older).items())
        count = number_of(len(older), "judgement")
        lines.append(f"{count} made before the narrative's last edit or a correction, left out (topic {by_topic})")
    votes = grades_by_document(current(chosen, narratives))
    void = {
        (qid, docid)
        for qid, docid, name in overruled(votes, final.original)
        if votes.get((qid, "changed", docid), {}).get(name, 0) > 0
    }
    for keys, noun, reason in (
        (void, "document", "judged as relevant under the changed narrative by who is overruled: it is not, originally"),
        (
            final.waiting,
            "judgement",
            "left out, and the topic from changed.qrels, until all who are assigned to it have judged",
        ),
        (final.undecided, "judgement", "left out: assessors differ; decide on the agreement page, or choose a rule"),
    ):
        columns = "topic, document" if noun == "document" else "topic, condition, document"
        names = brief([" ".join(key) for key in sorted(keys)])
        lines += [f"{number_of(len(keys), noun)} {reason} ({columns}): {names}"] if keys else []
    return lines


def agreement_line(pair: PairAgreement) -> str:
    """Return the agreement of two assessors for people."""
    result = Agreement(**pair["agreement"])
    return (
        f"{pair['first']} and {pair['second']}, {pair['condition']}: {number_of(result.n, 'document')}, {result.line()}"
    )
