"""Corrected copies of runs: problems with one possible solution are fixed and listed; others are refused."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError
from heed.files import write_packed
from heed.formats.trec_files import parse_score
from heed.ranking import ranked, swapped_in_single
from heed.submission.expected import Rules
from heed.submission.run_checks import RANK, check_lines, is_header
from heed.submission.run_lines import run_lines
from heed.submission.run_report import ERROR, CheckedRun, Report

FIXED = {"bom": "byte-order mark removed", "crlf": "Windows line ends made LF", "newline": "last newline added"}


class Entry(NamedTuple):
    """A document's score and rank as in its line."""

    score: float
    score_text: str
    rank: str


def fix_run(path: Path, target: Path, rules: Rules) -> tuple[CheckedRun, list[str]]:
    """Write ``path`` as a valid run to ``target``; return the checked copy and the changes.

    Topics in the order of their first lines, documents by score and then docid, both descending
    (as trec_eval orders them), ranks from 1, at most ``rules.depth`` a topic, ``rules.tag`` as
    the tag if given; both files gzipped by suffix. Scores are kept as written, except in topics whose order is
    lost in single precision: there they become whole numbers in the same order. Raises :class:`DataError` naming
    every line without a certain correction, and every remaining problem; then nothing is written.
    """
    if target.exists() and target.samefile(path):
        raise DataError(f"{target}: this is the run itself; name another place for the corrected copy")
    fix = _Fix(path, rules)
    for number, text in run_lines(path, fix.report):
        fix.read_line(number, text)
    fix.refuse()
    lines = fix.lines()
    report = Report(target, rules.limit)
    checked = check_lines(enumerate(lines, 1), report, replace(rules, tag=""))
    if report.count(ERROR):
        left = f"{target}: not written; these problems remain after fixing {path}"
        raise DataError("\n".join([*report.messages(ERROR), left]))
    write_packed(target, "".join(f"{line}\n" for line in lines).encode())
    return checked, fix.changes()


class _Fix:
    """A run's entries, and the changes to them."""

    def __init__(self, path: Path, rules: Rules) -> None:
        self.report = Report(path, rules.limit)
        self._tag, self._retag, self._depth = rules.tag, bool(rules.tag), rules.depth
        self._topics: dict[str, dict[str, Entry]] = {}
        self._changes: Counter[str] = Counter()
        self._last = ""

    def read_line(self, number: int, text: str | None) -> None:
        if text is None:
            return
        fields = text.split()
        if not fields:
            self._changes["blank lines removed"] += 1
        elif fields[0].startswith("#"):
            self._changes["comments removed"] += 1
        elif is_header(number, fields):
            self._changes["header removed"] += 1
        elif len(fields) != 6:
            self.report.error(number, "fields", f"found {len(fields)} fields, expected 6; write the line again")
        else:
            self._changes["lines with single spaces between the fields"] += text != " ".join(fields)
            self._entry(number, fields)

    def _entry(self, number: int, fields: list[str]) -> None:
        qid, q0, docid, rank, text, tag = fields
        self._new_tag(number, tag)
        self._changes["lines with Q0 in column 2"] += q0 != "Q0"
        self._changes["times a topic's lines were put together"] += qid in self._topics and qid != self._last
        self._last = qid
        score = parse_score(text) if text.isascii() else None
        if score is None:
            self.report.error(number, "score", f"found score {text!r}, expected a finite number; score it again")
            return
        documents = self._topics.setdefault(qid, {})
        if docid not in documents:
            documents[docid] = Entry(score, text, rank)
        elif documents[docid].score == score:
            self._changes["repeated lines with the same score left out"] += 1
        else:
            scores = f"with score {text} after {documents[docid].score_text}"
            problem = f"found document {docid} again in topic {qid}, {scores}"
            self.report.error(number, "duplicate", f"{problem}, expected one score; remove the wrong line")

    def _new_tag(self, number: int, tag: str) -> None:
        if self._retag:
            self._changes[f"lines with the tag {self._tag}"] += tag != self._tag
            return
        self._tag = self._tag or tag
        if tag != self._tag:
            self.report.error(number, "tag", f"found tag {tag!r}, expected {self._tag!r} as above; choose with --tag")

    def refuse(self) -> None:
        """Raise a :class:`DataError` for problems without a certain correction."""
        path = self.report.path
        entries = [documents.values() for documents in self._topics.values()]
        differing = [of_topic for of_topic in entries if len({entry.score for entry in of_topic}) > 1]
        if differing and all(map(_rising, differing)):
            problem = (
                "found ranks that are the reverse of the scores in every topic, expected scores that fall with rank"
            )
            remedy = "if the scores are distances, negate them; if the ranks are wrong, number them anew"
            self.report.error(0, "reversed", f"{problem}; one of both is wrong: {remedy}")
        if self.report.kinds(ERROR).keys() - FIXED.keys():
            remedy = "; correct these lines first" if any(problem.line for problem in self.report.problems()) else ""
            raise DataError("\n".join([*self.report.messages(ERROR), f"{path}: not fixed{remedy}"]))
        if not self._topics:
            raise DataError(f"{path}: holds no run lines; expected topic Q0 docid rank score tag")

    def lines(self) -> list[str]:
        """Return the fixed lines, without their ends."""
        lines = []
        for qid, documents in self._topics.items():
            order = ranked({docid: entry.score for docid, entry in documents.items()})
            self._changes["topics sorted by score, then docid"] += order != [*documents]
            too_deep = f"documents below the first {self._depth} of their topics left out"
            self._changes[too_deep] += len(order[self._depth :])
            best = order[: self._depth]
            scores = [documents[docid].score_text for docid in best]
            if any(
                swapped_in_single(docid, documents[docid].score, lower, documents[lower].score)
                for docid, lower in pairwise(best)
            ):
                scores = [str(score) for score in range(len(best), 0, -1)]
                self._changes["topics with whole numbers as scores, which single precision tells apart"] += 1
            for rank, (docid, score) in enumerate(zip(best, scores, strict=True), 1):
                self._changes["ranks rewritten"] += documents[docid].rank != str(rank)
                lines.append(f"{qid} Q0 {docid} {rank} {score} {self._tag}")
        return lines

    def changes(self) -> list[str]:
        """Return the changes, one kind an item."""
        kinds = {kind for _, kind in self.report.counts}
        of_bytes = [change for kind, change in FIXED.items() if kind in kinds]
        return of_bytes + [f"{times} {change}" for change, times in self._changes.items() if times]


def _rising(documents: Iterable[Entry]) -> bool:
    """Whether no score is below the one before, by rank where all ranks are whole numbers, else as listed."""
    entries = [*documents]
    if all(RANK.fullmatch(entry.rank) for entry in entries):
        entries.sort(key=lambda entry: int(entry.rank))
    return all(first.score <= second.score for first, second in pairwise(entries))
