"""The tests of one run, line by line: what NIST's scripts test, and what they leave to the evaluation.

Each fault is told once, at the line where it shows: after a damaged line the next one is taken as it is.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from heed.io.trec_files import parse_score
from heed.validation.collection_ids import Members
from heed.validation.run_lines import run_lines
from heed.validation.run_report import ERROR, WARNING, Report
from heed.validation.run_rules import Checked, Rules
from heed.validation.run_tag import RunName, parse_name, tag_problems
from heed.validation.run_topic import TopicLines

FORM = "topic Q0 docid rank score tag"
RANK = re.compile(r"0|[1-9][0-9]{0,17}")


def check_run(path: Path, rules: Rules) -> Checked:
    """Test the file ``path``, gunzipped by suffix; everything that is wrong with it is in the report."""
    report = Report(path, rules.limit)
    return check_lines(run_lines(path, report), report, rules)


def check_lines(lines: Iterable[tuple[int, str | None]], report: Report, rules: Rules) -> Checked:
    """Test numbered lines; a text of None is a line that ``report`` knows to be damaged."""
    run = _RunCheck(report, rules)
    number = 0
    for number, text in lines:
        run.line(number, text)
    run.end()
    topics = {qid: topic.count for qid, topic in run.topics.items()}
    return Checked(report.path, report, number, run.tag, topics, dict(sorted(run.languages.items())))


class _RunCheck:
    def __init__(self, report: Report, rules: Rules) -> None:
        self.topics: dict[str, TopicLines] = {}
        self.languages: Counter[str] = Counter()
        self.tag = ""
        self._report, self._rules = report, rules
        self._name = RunName("", "", "", "")
        self._docid = rules.docid or rules.track.docid
        self._is_docid = re.compile(self._docid.pattern).fullmatch
        self._qid, self._topic = "", TopicLines()
        self._first: int | None = None  # rank of the first document of all topics: 0 or 1
        self._lost = False  # the line before was damaged, and with it the rank before
        self._split: set[str] = set()

    def line(self, number: int, text: str | None) -> None:
        fields = text.split() if text is not None else []
        if len(fields) != 6 or fields[0][0] == "#":
            self._no_fields(number, text, fields)
            return
        qid, q0, docid, rank, score, tag = fields
        if qid != self._qid:
            self._enter(number, qid)
        if tag != self.tag:
            self._new_tag(number, tag)
        if q0 != "Q0":
            self._report.error(number, "q0", f"found {q0!r} in column 2, expected 'Q0'; write Q0 (--fix)")
        again = self._again(number, docid)
        self._in_order(number, rank, again)
        self._by_score(number, score, docid)
        self._lost = False

    def _no_fields(self, number: int, text: str | None, fields: list[str]) -> None:
        if text is None:
            self._lost = True
        elif not fields:
            self._report.error(number, "blank", f"found a blank line, expected {FORM}; delete it (--fix)")
        elif fields[0].startswith("#"):
            told = "NIST's scripts and ir_measures do not pass over comments"
            self._report.error(number, "comment", f"found a comment, expected {FORM}; delete it (--fix): {told}")
        else:
            self._lost = True
            told = f"found {len(fields)} fields ({text[:60]!r}), expected 6: {FORM}"
            self._report.error(number, "fields", f"{told}; write the line again")

    def _enter(self, number: int, qid: str) -> None:
        topic = self.topics.get(qid)
        if self._qid not in self._split:
            self._topic.pack()
        if topic is None:
            topic = self.topics[qid] = TopicLines((self._rules.candidates or {}).get(qid))
            self._known(number, qid)
        else:
            told = f"found topic {qid} again after topic {self._qid}, expected a topic's lines together"
            self._report.error(number, "contiguity", f"{told}; sort by topic (--fix)")
            topic.unpack()
            self._split.add(qid)
        self._qid, self._topic = qid, topic

    def _known(self, number: int, qid: str) -> None:
        rules, shape = self._rules, self._rules.track.topic
        if rules.topics is not None and qid not in rules.topics:
            told = f"found topic {qid!r}, which is none of the {len(rules.topics)} topics of --topics"
            self._report.error(number, "topic", f"{told}; take the track's ids, or leave it out")
        elif rules.topics is None and not re.fullmatch(shape.pattern, qid):
            told = f"found topic {qid!r}, expected {shape.told}"
            self._report.error(number, "topic", f"{told}; take the track's ids, or name the topics with --topics")
        elif rules.candidates is not None and qid not in rules.candidates:
            told = f"found topic {qid}, expected one of the topics of --reranking"
            self._report.error(number, "reranking", f"{told}; leave it out, or give the right list")

    def _new_tag(self, number: int, tag: str) -> None:
        rules = self._rules
        if self.tag:
            self._report.error(number, "tag", f"found tag {tag!r}, expected {self.tag!r} as above; use one tag")
            return
        self.tag = tag
        if rules.tag and tag != rules.tag:
            told = f"found tag {tag!r}, expected {rules.tag!r}, which --tag names"
            self._report.error(number, "tag", f"{told}; rename the run (--fix writes the new tag)")
            return
        spoken = frozenset[str]().union(*(rules.topics or {}).values())
        for severity, message in tag_problems(tag, rules.track, rules.team, spoken):
            self._report.add(severity, number, "name", message)
        if rules.track.sources:
            self._name = parse_name(tag, rules.team)
        if self._name.over and not rules.docid:
            self._docid = self._name.over.docid
            self._is_docid = re.compile(self._docid.pattern).fullmatch

    def _in_order(self, number: int, text: str, again: bool) -> None:
        topic, rank = self._topic, int(text) if RANK.fullmatch(text) else None
        if self._first is None and rank is not None:
            self._first = min(rank, 1)
        topic.begin(1 if self._first is None else self._first)
        if rank is None:
            told = f"found rank {text!r}, expected a whole number without sign, point or leading zeros"
            self._report.error(number, "rank", f"{told}; number the documents from 1 (--fix)")
            topic.skip_rank()
            return
        if self._lost:
            topic.place = rank
        due = topic.last + 1
        if not topic.take_rank(rank, again):
            told = f"found rank {rank} in topic {self._qid}, expected {due}"
            self._report.error(number, "rank-order", f"{told}; number the documents from 1 without gaps (--fix)")

    def _by_score(self, number: int, text: str, docid: str) -> None:
        topic = self._topic
        score = parse_score(text) if text.isascii() else None
        if score is None:
            told = f"found score {text!r}, expected a finite number, as 12.5 or 1e-3"
            self._report.error(number, "score", f"{told}; score the document again")
            return
        if topic.score is not None and score > topic.score:
            told = f"found score {text} after {topic.score!r} in topic {self._qid}, expected at most that"
            self._report.error(number, "score-order", f"{told}; sort by score (--fix)")
        elif topic.ties_upward(score, docid):
            told = f"found {topic.docid} before {docid} with the same score in topic {self._qid}"
            rule = "trec_eval puts equal scores in the order of docids, descending, whatever the file's order"
            self._report.warning(number, "tie-order", f"{told}; {rule} (so does --fix)")
        topic.score, topic.docid = score, docid

    def _again(self, number: int, docid: str) -> bool:
        """Test a document; whether it was listed before in this topic."""
        topic = self._topic
        first = topic.first_line(docid, number)
        if first != number:
            told = f"found document {docid} again in topic {self._qid}, first at line {first}"
            self._report.error(number, "duplicate", f"{told}; keep one (--fix, where the scores are the same)")
            return True
        topic.count += 1
        if topic.count == self._rules.depth + 1:
            topic.over = number
        if topic.candidates is not None and docid not in topic.candidates:
            told = f"found document {docid}, which is not among the {len(topic.candidates)} to rerank for topic"
            self._report.error(number, "reranking", f"{told} {self._qid}; leave it out")
        if self._rules.members is not None:
            self._member(number, docid, self._rules.members)
        elif not self._is_docid(docid):
            told = f"found document {docid!r}, expected {self._docid.told}"
            self._report.error(number, "docid", f"{told}; write the collection's own ids")
        return False

    def _member(self, number: int, docid: str, members: Members) -> None:
        language, over = members.language(docid), self._name.over
        if language is None:
            told = f"found document {docid}, which is none of the collection's {len(members)}"
            self._report.error(number, "collection", f"{told}; check which collection was searched")
            return
        self.languages[language] += 1
        if language and over and language not in over.languages:
            told = f"found document {docid} in {language}, expected {' or '.join(over.languages)}"
            self._report.error(number, "language", f"{told} by the run's name; check what was searched")

    def end(self) -> None:
        """What can be told only at the end."""
        if not self.tag and not self._report.counts:
            self._report.error(0, "empty", f"found no line, expected {FORM}; write the run again")
        if self.tag:
            self._too_deep()
            self._missing()
            self._file_name()
            self._by_name()

    def _too_deep(self) -> None:
        cut, depth = self._rules.track.cut, self._rules.depth
        severity, then = (WARNING, "cuts the list") if cut else (ERROR, "refuses the run")
        for qid, topic in self.topics.items():
            if topic.over:
                told = f"found {topic.count} documents in topic {qid}, expected at most {depth}"
                self._report.add(severity, topic.over, "depth", f"{told}: the track {then}; cut it yourself (--fix)")

    def _missing(self) -> None:
        for qid in self._rules.topics or ():
            if qid not in self.topics:
                told = f"found no document for topic {qid}, expected at least one"
                self._report.error(0, "missing", f"{told}; search it too, or list any one document")

    def _file_name(self) -> None:
        severity, name = self._rules.file_name, self._report.path.name
        if severity and name.removesuffix(".gz") != self.tag:
            told = f"found file name {name}, expected the tag, {self.tag} or {self.tag}.gz"
            self._report.add(severity, 0, "file-name", f"{told}; rename the file (--fix and --submission do)")

    def _by_name(self) -> None:
        found, letters = self.languages.keys() - {""}, self._name.letters
        if self._name.source == "mlir" and len(found) == 1:
            told = f"found documents in {', '.join(found)} alone, expected a list over three languages"
            self._report.warning(0, "language", f"{told}; check what was searched")
        if "2" in letters and self._rules.candidates is None:
            told = "found letter 2 in the tag, a reranking run, expected --reranking LIST to test it as one"
            self._report.warning(0, "reranking", f"{told}; give the official list")
        if letters and "2" not in letters and self._rules.candidates is not None:
            told = f"found letters {letters} in the tag, expected 2 among them, as --reranking is given"
            self._report.warning(0, "reranking", f"{told}; add it if this is a reranking run")
