"""From the labels of several assessors to one grade for each document."""

from collections.abc import Iterable

from heed.errors import SHOWN, HeedError, fail
from heed.exchange.judgement_labels import Judgement
from heed.io.pools import Pool
from heed.io.trec_files import parse_score
from heed.progress import log
from heed.types import Qrels

Key = tuple[str, str]  # qid, docid
Votes = dict[int, dict[str, str]]  # grade -> assessor -> place; empty for a document that is not judged


def parse_grades(given: Iterable[str]) -> dict[str, int]:
    """The grades by label of ``LABEL=GRADE,…``; :class:`HeedError` for other text and for a label with two grades."""
    grades: dict[str, int] = {}
    for part in (part for text in given for part in text.split(",")):
        label, _, number = part.rpartition("=")
        grade = parse_score(number)
        if not label.strip() or grade is None or not grade.is_integer():
            raise HeedError(f"--grades {part!r}: expected LABEL=GRADE with a whole number, as relevant=1")
        if grades.setdefault(label.strip(), int(grade)) != grade:
            raise HeedError(f"--grades {part!r}: {label.strip()} has another grade before; keep one")
    return grades


def graded(judgements: Iterable[Judgement], grades: dict[str, int], pool: Pool | None) -> dict[Key, Votes]:
    """The votes for every document of ``judgements`` and of ``pool``, sorted by topic and document.

    With ``grades`` a label is one of theirs. Without, it is a whole number, and a negative one
    means not judged, as trec_eval takes it. Raises :class:`HeedError` naming every other label,
    and every document outside a given pool.
    """
    votes: dict[Key, Votes] = {(qid, docid): {} for qid, docids in (pool or {}).items() for docid in docids}
    problems = []
    for one in judgements:
        key = one.qid, one.docid
        if pool is not None and key not in votes:
            problems.append(
                f"{one.place}: document {one.docid} of topic {one.qid} is not in the pool; was an id changed?"
            )
            continue
        found = votes.setdefault(key, {})
        if not one.label:
            continue
        grade = _grade(one.label, grades)
        if grade is None:
            expected = ", ".join(grades) or "a whole number; name the grades of words with --grades LABEL=GRADE"
            problems.append(f"{one.place}: label {one.label!r}, expected {expected}")
        elif grades or grade >= 0:
            found.setdefault(grade, {}).setdefault(one.assessor, one.place)
    fail(problems)
    return dict(sorted(votes.items()))


def _grade(label: str, grades: dict[str, int]) -> int | None:
    if grades:
        return grades.get(label)
    number = parse_score(label)
    return int(number) if number is not None and number.is_integer() else None


def resolved(votes: dict[Key, Votes], rule: str) -> Qrels:
    """One grade for each document that has votes; where they differ, by ``rule``, which is told.

    ``majority`` takes the grade of most assessors, of a tie the highest (every tie is named, since
    the votes do not decide it); ``highest`` the highest grade; ``error`` raises :class:`HeedError`
    naming the documents.
    """
    qrels: Qrels = {}
    differ: list[str] = []
    ties: list[str] = []
    for (qid, docid), found in votes.items():
        if not found:
            continue
        most = max(map(len, found.values()))
        leaders = [grade for grade, assessors in found.items() if rule == "highest" or len(assessors) == most]
        qrels.setdefault(qid, {})[docid] = max(leaders)
        if len(found) > 1:
            tied = rule == "majority" and len(leaders) > 1
            (ties if tied else differ).append(f"topic {qid}, document {docid}: {_told(found)}")
    if rule == "error" and differ:
        fail(f"{line}; correct one, or choose a rule with --resolve" for line in differ)
    if differ or ties:
        log.info(f"{len(differ) + len(ties)} documents are judged differently; taken is the grade by {rule}")
        for line in differ[:SHOWN]:
            log.info(f"  {line}")
        if len(differ) > SHOWN:
            log.info(f"  … and {len(differ) - SHOWN} more")
        for line in ties:
            log.info(f"  tie, the highest is taken: {line}")
    return qrels


def _told(found: Votes) -> str:
    return "; ".join(
        f"{grade} by {', '.join(_who(assessor, place) for assessor, place in sorted(by.items()))}"
        for grade, by in sorted(found.items())
    )


def _who(assessor: str, place: str) -> str:
    return place if place.startswith(assessor) else f"{assessor} ({place})"
