"""Judgements in the result files of annotation tools; one grade for each document from several assessors."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

from heed.addons.judging.agreement import Agreement, agreement
from heed.addons.judging.exchange.json_files import json_records, parse_item
from heed.addons.judging.exchange.records import Label, Record, column_records, parse_fields, parse_qrels
from heed.addons.judging.exchange.table_files import csv_records, xlsx_records
from heed.errors import SHOWN, DataError, UsageError, fail
from heed.files import unpacked_name
from heed.formats.pools import Pool
from heed.formats.trec_files import parse_score
from heed.progress import counted, log
from heed.types import Qrels

Reader = Callable[[Path, str | None], Iterator[Record]]  # of a file, and the encoding of one that is not UTF-8
Parser = Callable[[Record], list[Label]]

# by suffix; files with another one are qrels, and the JSON forms are told by their fields
READERS: dict[str, tuple[Reader, Parser]] = {
    ".json": (json_records, parse_item),
    ".jsonl": (json_records, parse_item),
    ".csv": (csv_records, parse_fields),
    ".tsv": (csv_records, parse_fields),
    ".xlsx": (xlsx_records, parse_fields),
}

NUMBER = re.compile(r"(\d+)(\.0)?")  # of an assessor; pandas writes 1.0 for 1 beside empty cells

Key = tuple[str, str]  # qid, docid
Votes = dict[int, dict[str, str]]  # grade -> assessor -> source; empty for a document that is not judged
RULES = ("error", "majority", "highest")  # of resolve, where assessors differ


def read_judgements(
    files: Sequence[Path], condition: str = "", together: Collection[str] = (), encoding: str = ""
) -> list[Label]:
    """Read every judgement of ``files``, those without a label too.

    ``encoding`` is that of files that are not UTF-8. With a ``condition``, what was judged under another one is left
    out. Raises :class:`DataError` naming every bad record, and for several conditions, unless all are of those read
    ``together``.
    """
    readers = [READERS.get(suffix(path), (column_records, parse_qrels)) for path in files]
    judgements: list[Label] = []
    problems: list[str] = []
    for path, (read, parse) in zip(files, readers, strict=True):
        for record in read(path, encoding):
            try:
                judgements += parse(record)
            except DataError as error:
                problems.append(str(error))
    fail(problems)
    if condition:
        judgements = [judgement for judgement in judgements if judgement.condition in ("", condition)]
    conditions = {judgement.condition: judgement.source for judgement in judgements if judgement.condition}
    if len(conditions) > 1 and not conditions.keys() <= {*together}:
        sources = ", ".join(f"{name} ({source})" for name, source in sorted(conditions.items()))
        raise DataError(f"judgements under several conditions: {sources}; choose one (--condition)")
    return _of_persons(judgements)


def _of_persons(labels: Sequence[Label]) -> list[Label]:
    """Return each annotation once, in its latest state, by whom it is; log what was left out, counted by reason.

    Numbers of assessors are told apart by project, where that is known, else by file; so are those without a name.
    """
    latest: dict[tuple[str, str | int], dict[str, dict[str, Label]]] = {}  # by time and text, of each annotation
    for index, (label, origin) in enumerate(zip(labels, _origins(labels), strict=True)):
        number = NUMBER.fullmatch(label.assessor)
        name = f"{number[1]} of {origin}" if number else label.assessor or origin
        states = latest.setdefault((origin, label.annotation or index), {})
        states.setdefault(label.time, {}).setdefault(label.text, label._replace(assessor=name))
    last = [label for states in latest.values() for label in states[max(states)].values()]
    reasons = [label.left_out for label in last if label.left_out] + ["exported again"] * (len(labels) - len(last))
    if reasons:
        log.info(f"left out: {', '.join(f'{count} {reason}' for reason, count in Counter(reasons).items())}")
    return last


def _origins(labels: Sequence[Label]) -> list[str]:
    """Return the project or the file that each label is from; files with an annotation in common are of one project.

    Every installation of Label Studio has a project 1: where annotations of one number differ, it is several.
    """
    numbered: dict[tuple[str, str], set[str]] = defaultdict(set)
    for label in labels:
        numbered[label.project, label.annotation.partition(" ")[0]].add(label.annotation)
    several = {project for (project, _), annotations in numbered.items() if len(annotations) > 1} | {""}
    origins = [label.file if label.project in several else f"project {label.project}" for label in labels]
    names = {origin: origin for origin in origins}
    known: dict[str, str] = {}
    for label, origin in zip(labels, origins, strict=True):
        two = {names[origin], names[known.setdefault(label.annotation or origin, origin)]}
        if len(two) > 1:
            names = {other: min(two) if name in two else name for other, name in names.items()}
    return [names[origin] for origin in origins]


def suffix(path: Path) -> str:
    """Return the suffix that says what a result file is, without ``.gz``."""
    return Path(unpacked_name(path)).suffix


def parse_grades(texts: Iterable[str]) -> dict[str, int]:
    """Return the grades of ``LABEL=GRADE,…`` by label; :class:`UsageError` for other text or a second grade."""
    grades: dict[str, int] = {}
    for part in (part for text in texts for part in text.split(",")):
        label, _, number = part.rpartition("=")
        grade = parse_score(number)
        if not label.strip() or grade is None or not grade.is_integer():
            raise UsageError(f"--grades {part!r}: expected LABEL=GRADE with a whole number, as relevant=1")
        if grades.setdefault(label.strip(), int(grade)) != grade:
            raise UsageError(f"--grades {part!r}: {label.strip()} has another grade before; keep one")
    return grades


def count_votes(judgements: Iterable[Label], grades: dict[str, int], pool: Pool | None) -> dict[Key, Votes]:
    """Return the votes for every document of ``judgements`` and of ``pool``, sorted by topic and document.

    With ``grades`` a label is one of theirs. Without, it is a whole number, and a negative one
    means not judged, as in trec_eval. Raises :class:`DataError` naming every other label,
    and every document outside a given pool.
    """
    votes: dict[Key, Votes] = {(qid, docid): {} for qid, docids in (pool or {}).items() for docid in docids}
    problems = []
    for judgement in judgements:
        source, qid, docid, label, assessor, *_ = judgement
        if pool is not None and (qid, docid) not in votes:
            problems.append(f"{source}: document {docid} of topic {qid} is not in the pool; was an id changed?")
            continue
        by_grade = votes.setdefault((qid, docid), {})
        if not label:
            continue
        grade = _grade(label, grades)
        if grade is None:
            expected = ", ".join(grades) or "a whole number; give the grades of words with --grades LABEL=GRADE"
            problems.append(f"{source}: label {label!r}, expected {expected}")
        elif grades or grade >= 0:
            by_grade.setdefault(grade, {}).setdefault(assessor, source)
    fail(problems)
    return dict(sorted(votes.items()))


def _grade(label: str, grades: dict[str, int]) -> int | None:
    if grades:
        return grades.get(label)
    number = parse_score(label)
    return int(number) if number is not None and number.is_integer() else None


def agreements(votes: dict[Key, Votes], scale: Iterable[int] = ()) -> dict[tuple[str, str], Agreement]:
    """Return the agreement of each two assessors over the documents that both judged, with one grade each.

    The grades are those of ``scale``, and all that were given.
    """
    grades = sorted({*scale, *(grade for by_grade in votes.values() for grade in by_grade)})
    pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for by_grade in votes.values():
        several = [(assessor, grade) for grade, assessors in by_grade.items() for assessor in assessors]
        by_assessor = dict(several)
        if len(by_assessor) == len(several):
            for first, second in combinations(sorted(by_assessor), 2):
                pairs.setdefault((first, second), []).append((by_assessor[first], by_assessor[second]))
    return {names: agreement(of_both, grades) for names, of_both in sorted(pairs.items())}


def resolve(votes: dict[Key, Votes], rule: str) -> Qrels:
    """Return one grade for each document that has votes; where they differ, by ``rule``, which is logged.

    ``majority`` takes the grade of most assessors, of a tie the highest; ``highest`` the highest grade; ``error``
    raises :class:`DataError` naming the documents.
    """
    qrels: Qrels = {}
    differ: list[str] = []
    ties = 0
    for (qid, docid), by_grade in votes.items():
        if not by_grade:
            continue
        most = max(map(len, by_grade.values()))
        leaders = [grade for grade, assessors in by_grade.items() if rule == "highest" or len(assessors) == most]
        qrels.setdefault(qid, {})[docid] = max(leaders)
        if len(by_grade) > 1:
            differ.append(f"topic {qid}, document {docid}: {_describe(by_grade)}")
            ties += rule == "majority" and len(leaders) > 1
    if rule == "error":
        fail(f"{line}; correct one, or choose a rule with --resolve" for line in differ)
    if differ:
        of_ties = f"; {counted(ties, 'tie')} decided for the highest" if ties else ""
        log.info(f"{counted(len(differ), 'document')} judged differently; the grade by {rule} is taken{of_ties}")
        for line in differ[:SHOWN]:
            log.info(f"  {line}")
        if len(differ) > SHOWN:
            log.info(f"  … and {len(differ) - SHOWN} more")
    return qrels


def _describe(votes: Votes) -> str:
    parts = []
    for grade, sources in sorted(votes.items()):
        names = (
            source if source.startswith(name) else f"{name} ({source})" for name, source in sorted(sources.items())
        )
        parts.append(f"{grade} by {', '.join(names)}")
    return "; ".join(parts)
