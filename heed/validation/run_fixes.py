"""Corrected copies of runs: what can be mended without a guess is, and told; the rest is refused."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from heed.errors import HeedError
from heed.io.files import write_packed
from heed.io.trec_files import parse_score
from heed.ranking import ranked
from heed.validation.run_checks import RANK, check_lines
from heed.validation.run_lines import run_lines
from heed.validation.run_report import ERROR, Report
from heed.validation.run_rules import Checked, Rules

MENDED = {"bom": "byte-order mark removed", "crlf": "Windows line ends made LF", "newline": "last newline added"}


class Entry(NamedTuple):
    """A document of a run as its line has it."""

    score: float
    score_text: str
    rank: str


def fix_run(path: Path, target: Path, rules: Rules) -> tuple[Checked, list[str]]:
    """Write ``path`` as a valid run to ``target``; gives back the copy's test and what was done.

    Topics in the order of their first lines, documents by score and then docid, both descending
    (as trec_eval orders them), ranks from 1, at most ``rules.depth`` a topic, ``rules.tag`` as
    the tag where it is told; both files gzipped by suffix. Scores stay as they are written. Raises :class:`HeedError`
    naming every line that cannot be mended without a guess, and every problem that is left; then
    nothing is written.
    """
    if target.exists() and target.samefile(path):
        raise HeedError(f"{target}: this is the run itself; name another place for the corrected copy")
    run = _Mending(path, rules)
    for number, text in run_lines(path, run.report):
        run.line(number, text)
    run.refuse()
    lines = run.lines()
    report = Report(target, rules.limit)
    checked = check_lines(enumerate(lines, 1), report, replace(rules, tag=""))
    if report.count(ERROR):
        raise HeedError("\n".join([*report.told(ERROR), f"{target}: not written; this is left after mending {path}"]))
    content = "".join(f"{line}\n" for line in lines).encode()
    write_packed(target, content)
    return checked, run.done()


class _Mending:
    """A run as it is, and what is done to it."""

    def __init__(self, path: Path, rules: Rules) -> None:
        self.report = Report(path, rules.limit)
        self._tag, self._retag, self._depth = rules.tag, bool(rules.tag), rules.depth
        self._topics: dict[str, dict[str, Entry]] = {}
        self._done: Counter[str] = Counter()
        self._last = ""

    def line(self, number: int, text: str | None) -> None:
        if text is None:
            return
        fields = text.split()
        if not fields:
            self._done["blank lines removed"] += 1
        elif fields[0].startswith("#"):
            self._done["comments removed"] += 1
        elif len(fields) != 6:
            self.report.error(number, "fields", f"found {len(fields)} fields, expected 6; write the line again")
        else:
            self._done["lines with single spaces between the fields"] += text != " ".join(fields)
            self._entry(number, fields)

    def _entry(self, number: int, fields: list[str]) -> None:
        qid, q0, docid, rank, text, tag = fields
        self._new_tag(number, tag)
        self._done["lines with Q0 in column 2"] += q0 != "Q0"
        self._done["times a topic's lines were put together"] += qid in self._topics and qid != self._last
        self._last = qid
        score = parse_score(text) if text.isascii() else None
        if score is None:
            self.report.error(number, "score", f"found score {text!r}, expected a finite number; score it again")
            return
        documents = self._topics.setdefault(qid, {})
        if docid not in documents:
            documents[docid] = Entry(score, text, rank)
        elif documents[docid].score == score:
            self._done["repeated lines with the same score left out"] += 1
        else:
            found = (
                f"found document {docid} again in topic {qid}, with score {text} after {documents[docid].score_text}"
            )
            self.report.error(number, "duplicate", f"{found}, expected one score; remove the wrong line")

    def _new_tag(self, number: int, tag: str) -> None:
        if self._retag:
            self._done[f"lines with the tag {self._tag}"] += tag != self._tag
            return
        self._tag = self._tag or tag
        if tag != self._tag:
            self.report.error(number, "tag", f"found tag {tag!r}, expected {self._tag!r} as above; choose with --tag")

    def refuse(self) -> None:
        """Raise a :class:`HeedError` for what cannot be mended without a guess."""
        path = self.report.path
        differing = [one.values() for one in self._topics.values() if len({entry.score for entry in one.values()}) > 1]
        if differing and all(map(_rising, differing)):
            told = "found scores that rise with the rank in every topic, expected falling ones"
            self.report.error(0, "score-order", f"{told}; if they are distances, negate them")
        if self.report.kinds(ERROR).keys() - MENDED.keys():
            raise HeedError("\n".join([*self.report.told(ERROR), f"{path}: not mended; mend these lines by hand"]))
        if not self._topics:
            raise HeedError(f"{path}: holds no run lines; expected topic Q0 docid rank score tag")

    def lines(self) -> list[str]:
        """The mended lines, without their ends."""
        written = []
        for qid, documents in self._topics.items():
            order = ranked({docid: entry.score for docid, entry in documents.items()})
            self._done["topics sorted by score, then docid"] += order != [*documents]
            self._done[f"documents below the first {self._depth} of their topics left out"] += len(order[self._depth :])
            for rank, docid in enumerate(order[: self._depth], 1):
                entry = documents[docid]
                self._done["ranks written anew"] += entry.rank != str(rank)
                written.append(f"{qid} Q0 {docid} {rank} {entry.score_text} {self._tag}")
        return written

    def done(self) -> list[str]:
        """What was done, one thing a line."""
        ends = [told for kind, told in MENDED.items() if kind in {one for _, one in self.report.counts}]
        return ends + [f"{times} {what}" for what, times in self._done.items() if times]


def _rising(documents: Iterable[Entry]) -> bool:
    """Whether no score is below the one before, by rank where all are whole numbers, else as listed."""
    entries = [*documents]
    if all(RANK.fullmatch(entry.rank) for entry in entries):
        entries.sort(key=lambda entry: int(entry.rank))
    return all(one.score <= other.score for one, other in pairwise(entries))
