"""Corrected copies of runs: problems with one possible solution are fixed and listed; others are refused."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from heed.addons.submission.expected import Rules
from heed.addons.submission.run_checks import check_lines, columns, is_header, swapped_in_single
from heed.addons.submission.run_report import ERROR, WARNING, CheckedRun, Report, run_lines
from heed.errors import DataError, fail
from heed.files import packed, write_bytes
from heed.progress import number_of
from heed.ranking import ranked

NEEDS_GUESS = {"character", "empty", "encoding", "fields", "reversed", "same-tag", "score", "unreadable"}
FIXED = {  # the change, by the kind of problem that it solves: what is counted, if anything, and what became of it
    "bom": ("", "byte-order mark removed"),
    "crlf": ("", "Windows line ends made LF"),
    "newline": ("", "last newline added"),
    "blank": ("blank line", "removed"),
    "comment": ("comment", "removed"),
    "header": ("header", "removed"),
    "comma": ("decimal comma", "made points"),
    "q0": ("line", "with Q0 in column 2"),
    "contiguity": ("time", "a topic's lines were put together"),
    "duplicate": ("repeated line", "with the same score left out"),
}
SORTED = ("topic", "sorted by score, then docid")
Changes = Counter[tuple[str, str]]  # how often, by what is counted and what became of it


class ScoredLine(NamedTuple):
    """A document's score and rank as in its line."""

    score: str
    rank: str


Topics = dict[str, dict[str, ScoredLine]]  # qid -> docid -> entry, in the order of the lines


def fix_run(run: CheckedRun, target: Path, rules: Rules) -> list[str]:
    """Write a valid copy of the checked ``run`` to ``target``; return the changes.

    Topics in the order of their first lines, documents by score and then docid, both descending
    (as trec_eval orders them), ranks from 1, at most ``rules.depth`` a topic, ``rules.tag`` as
    the tag if given; both files gzipped by suffix. Scores are kept as written, except in topics whose order is
    lost in single precision: there they become whole numbers in the same order. Raises :class:`DataError` naming
    every line without a certain correction, and every remaining problem; then nothing is written.
    """
    if target.exists() and target.samefile(run.path):
        raise DataError(f"{target}: this is the run itself; name another place for the corrected copy")
    if run.report.kinds(ERROR).keys() & (NEEDS_GUESS if rules.tag else NEEDS_GUESS | {"tag"}):
        remedy = "; correct these lines first" if run.lines else ""
        raise DataError("\n".join([*run.report.messages(ERROR), f"{run.path}: not fixed{remedy}"]))
    changes = Changes()
    lines = _fixed_lines(_read(run.path, rules.tag, changes), rules.tag or run.tag, rules.depth, changes)
    report = Report(target, rules.limit)
    check_lines(enumerate(lines, 1), report, replace(rules, tag=""))
    if report.count(ERROR):
        left = f"{target}: not written; these problems remain after fixing {run.path}"
        raise DataError("\n".join([*report.messages(ERROR), left]))
    if changes[SORTED] and "no-ranking" in run.report.kinds(WARNING):
        lost = "its ranks are the only order, which a copy, sorted by score, then docid, would lose"
        raise DataError(f"{run.path}: not fixed; {lost}; write the scores that ranked them first")
    content = packed(target, "".join(f"{line}\n" for line in lines).encode())
    if target.exists() and target.read_bytes() != content:
        raise DataError(f"{target}: is there with other lines, and is not overwritten; give a new place, fix=PATH")
    write_bytes(target, content)
    solved = {kind: times for (_, kind), times in run.report.counts.items()}
    done = [(solved[kind], *change) for kind, change in FIXED.items() if kind in solved]
    done += [(times, *change) for change, times in changes.items() if times]
    return [f"{number_of(times, noun)} {change}" if noun else change for times, noun, change in done]


def _read(path: Path, new_tag: str, changes: Changes) -> Topics:
    """Return the entries of a run whose lines are sound; :class:`DataError` where a document has two scores."""
    topics: Topics = {}
    problems = []
    for number, text in run_lines(path, Report(path, 0)):
        fields = columns(text)
        if len(fields) != 6 or fields[0].startswith("#") or is_header(number, fields):
            continue
        qid, _, docid, rank, score, tag = fields
        score = score.replace(",", ".")
        changes["line", "with single spaces between the fields"] += text != " ".join(fields)
        changes["line", f"with the tag {new_tag}"] += tag != (new_tag or tag)
        first = topics.setdefault(qid, {}).setdefault(docid, ScoredLine(score, rank))
        if float(first.score) != float(score):
            problem = f"found document {docid} again in topic {qid}, with score {score} after {first.score}"
            problems.append(f"{path}, line {number}: {problem}, expected one score; remove the wrong line")
    fail([*problems, f"{path}: not fixed; correct these lines first"] if problems else [])
    return topics


def _fixed_lines(topics: Topics, tag: str, depth: int, changes: Changes) -> list[str]:
    """Return the lines of the copy, without their ends."""
    lines = []
    for qid, documents in topics.items():
        scores = {docid: float(entry.score) for docid, entry in documents.items()}
        order = ranked(scores)
        changes[SORTED] += order != [*documents]
        changes["document", f"below the first {depth} of their topics left out"] += len(order[depth:])
        best = order[:depth]
        written = [documents[docid].score for docid in best]
        if any(swapped_in_single(first, scores[first], second, scores[second]) for first, second in pairwise(best)):
            written = [str(score) for score in range(len(best), 0, -1)]
            changes["topic", "with whole numbers as scores, which single precision tells apart"] += 1
        for rank, (docid, score) in enumerate(zip(best, written, strict=True), 1):
            changes["rank", "rewritten"] += documents[docid].rank != str(rank)
            lines.append(f"{qid} Q0 {docid} {rank} {score} {tag}")
    return lines
