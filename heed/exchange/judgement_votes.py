"""Grades from the labels of several assessors: one for each document."""

from collections.abc import Iterable

from heed.errors import SHOWN, UsageError, fail
from heed.exchange.judgements import Judgement
from heed.io.pools import Pool
from heed.io.trec_files import parse_score
from heed.progress import log
from heed.types import Qrels

Key = tuple[str, str]  # qid, docid
Votes = dict[int, dict[str, str]]  # grade -> assessor -> place; empty for a document that is not judged


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


def count_votes(judgements: Iterable[Judgement], grades: dict[str, int], pool: Pool | None) -> dict[Key, Votes]:
    """Return the votes for every document of ``judgements`` and of ``pool``, sorted by topic and document.

    With ``grades`` a label is one of theirs. Without, it is a whole number, and a negative one
    means not judged, as in trec_eval. Raises :class:`DataError` naming every other label,
    and every document outside a given pool.
    """
    votes: dict[Key, Votes] = {(qid, docid): {} for qid, docids in (pool or {}).items() for docid in docids}
    problems = []
    for judgement in judgements:
        place, qid, docid, label, assessor, _ = judgement
        if pool is not None and (qid, docid) not in votes:
            problems.append(f"{place}: document {docid} of topic {qid} is not in the pool; was an id changed?")
            continue
        by_grade = votes.setdefault((qid, docid), {})
        if not label:
            continue
        grade = _grade(label, grades)
        if grade is None:
            expected = ", ".join(grades) or "a whole number; give the grades of words with --grades LABEL=GRADE"
            problems.append(f"{place}: label {label!r}, expected {expected}")
        elif grades or grade >= 0:
            by_grade.setdefault(grade, {}).setdefault(assessor, place)
    fail(problems)
    return dict(sorted(votes.items()))


def _grade(label: str, grades: dict[str, int]) -> int | None:
    if grades:
        return grades.get(label)
    number = parse_score(label)
    return int(number) if number is not None and number.is_integer() else None


def resolve(votes: dict[Key, Votes], rule: str) -> Qrels:
    """Return one grade for each document that has votes; where they differ, by ``rule``, which is logged.

    ``majority`` takes the grade of most assessors, of a tie the highest (every tie is logged, since
    the votes do not decide it); ``highest`` the highest grade; ``error`` raises :class:`DataError`
    naming the documents.
    """
    qrels: Qrels = {}
    differ: list[str] = []
    ties: list[str] = []
    for (qid, docid), by_grade in votes.items():
        if not by_grade:
            continue
        most = max(map(len, by_grade.values()))
        leaders = [grade for grade, assessors in by_grade.items() if rule == "highest" or len(assessors) == most]
        qrels.setdefault(qid, {})[docid] = max(leaders)
        if len(by_grade) > 1:
            tied = rule == "majority" and len(leaders) > 1
            (ties if tied else differ).append(f"topic {qid}, document {docid}: {_describe(by_grade)}")
    if rule == "error":
        fail(f"{line}; correct one, or choose a rule with --resolve" for line in differ)
    if differ or ties:
        log.info(f"{len(differ) + len(ties)} documents are judged differently; the grade by {rule} is taken")
        for line in differ[:SHOWN]:
            log.info(f"  {line}")
        if len(differ) > SHOWN:
            log.info(f"  … and {len(differ) - SHOWN} more")
        for line in ties:
            log.info(f"  tie, the highest is taken: {line}")
    return qrels


def _describe(votes: Votes) -> str:
    return "; ".join(
        f"{grade} by {', '.join(_assessor(assessor, place) for assessor, place in sorted(assessors.items()))}"
        for grade, assessors in sorted(votes.items())
    )


def _assessor(assessor: str, place: str) -> str:
    return place if place.startswith(assessor) else f"{assessor} ({place})"
