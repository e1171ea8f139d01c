"""The checks of a run, line by line and as a whole: those of NIST's scripts, and more that would show only in measures.

Each fault is reported once, at the line where it shows: after a damaged line the next one is accepted as it is.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from ctypes import c_float
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from heed.addons.submission.expected import CollectionIds, Rules
from heed.addons.submission.run_report import ERROR, WARNING, CheckedRun, Report, run_lines
from heed.addons.submission.tracks import TRACKS, RunName, Track, parse_name, tag_problems
from heed.formats import topic_ids
from heed.formats.trec_files import parse_score, without_words
from heed.progress import brief, number_of
from heed.ranking import in_order

FORM = "topic Q0 docid rank score tag"
RANK = re.compile(r"0|[1-9][0-9]{0,17}")
COLUMN_NAME = re.compile(r"(?!nan$|inf$|infinity$)[a-z]\w*", re.IGNORECASE)
THOUSANDS = re.compile(r"-?[1-9][0-9]{0,2},[0-9]{3}")  # a comma that may part them, or be a decimal one
FEW = 10  # a topic with less than one in so many of the median topic's documents has far fewer than the others
DEPTH = {  # severity of a list that is too deep, and what the track does with it
    "cut": (WARNING, "cuts the list"),
    "refused": (ERROR, "refuses the run"),
    "unknown": (WARNING, "may cut the list or refuse the run"),
}


@dataclass
class TopicState:
    """A topic's ranks, scores and documents so far; ``candidates`` are the documents it may hold, None for any."""

    candidates: Collection[str] | None = None
    first_lines: dict[str, int] = field(default_factory=dict)  # docid -> the first line that lists it
    too_deep: int = 0  # line of the first document too many, 0 for none
    expected_rank: int | None = None  # by counting lines
    last_rank: int = 0  # of the line before
    score: float | None = None
    docid: str = ""
    varies: bool = False  # two of the scores differ
    reversed: bool = True  # the scores run against the ranks, so far
    tied: bool = False  # trec_eval puts two documents of one score in another order
    swapped: tuple[int, str] | None = None  # line and scores of the first two that single precision ties


def is_header(number: int, fields: Sequence[str]) -> bool:
    """Whether the first line names the columns: words stand where rank and score should be."""
    return number == 1 and len(fields) == 6 and all(map(COLUMN_NAME.fullmatch, fields[3:5]))


def columns(text: str | None) -> list[str]:
    """Return the fields of a line; words after its tag are a part of the tag."""
    fields = text.split() if text else []
    known = without_words(fields)
    return [*fields[:5], " ".join(fields[5:])] if len(known) == 6 and known[0][0] != "#" else fields


def check_tags(runs: Sequence[CheckedRun], track: Track) -> None:
    """Add to the reports of ``runs`` each tag that another one has too; whoever submits nothing is warned of it."""
    by_tag: dict[str, list[CheckedRun]] = {}
    for run in runs:
        by_tag.setdefault(run.tag, []).append(run)
    severity = WARNING if track is TRACKS["trec"] else ERROR
    for run in runs:
        others = brief([str(other.path) for other in by_tag[run.tag] if run.tag and other is not run])
        if others:
            problem = f"found tag {run.tag!r} in {others} too, expected one run by each tag"
            run.report.add(severity, 0, "same-tag", f"{problem}, as NIST takes it once; rename one")


def check_run(path: Path, rules: Rules) -> CheckedRun:
    """Check the file ``path``, gunzipped by suffix; all its problems are in the report."""
    report = Report(path, rules.limit)
    return check_lines(run_lines(path, report), report, rules)


def check_lines(lines: Iterable[tuple[int, str | None]], report: Report, rules: Rules) -> CheckedRun:
    """Check numbered lines; a text of None is a damaged line, whose problem is in ``report`` already."""
    run = _RunCheck(report, rules)
    number = 0
    for number, text in lines:
        run.check_line(number, text)
    topics = {qid: len(topic.first_lines) for qid, topic in run.topics.items()}
    checked = CheckedRun(report.path, report, number, run.tag, topics, dict(sorted(run.languages.items())))
    if run.tag:
        check_whole_run(checked, run.topics, run.name, rules)
    elif report.counts[ERROR, "fields"] > 1:
        report.once("fields", f"so in {report.counts[ERROR, 'fields']} of {number} lines: is this a run?")
    elif not report.counts:
        report.error(0, "empty", f"found no line, expected {FORM}; write the run again")
    return checked


class _RunCheck:
    def __init__(self, report: Report, rules: Rules) -> None:
        self.topics: dict[str, TopicState] = {}
        self.languages: Counter[str] = Counter()
        self.tag, self.name = "", RunName("", "", "", "")
        self._report, self._rules = report, rules
        self._docid = rules.track.docid
        self._is_docid = re.compile(self._docid.pattern).fullmatch
        self._qid, self._topic = "", TopicState()
        self._first: int | None = None  # rank of the first document of all topics: 0 or 1
        self._rank_step = 0  # from the rank of the line before to this one
        self._damaged = False  # the line before was damaged, and its rank is unknown

    def check_line(self, number: int, text: str | None) -> None:
        fields = columns(text)
        if is_header(number, fields):
            problem = f"found a header ({' '.join(fields)[:60]!r}), expected the first document"
            self._report.error(number, "header", f"{problem}; delete the line (fixable)")
            return
        if len(fields) != 6 or fields[0][0] == "#":
            self._wrong_fields(number, text, fields)
            return
        qid, q0, docid, rank, score, tag = fields
        if qid != self._qid:
            self._next_topic(number, qid)
        if tag != self.tag:
            self._next_tag(number, tag)
        if q0 != "Q0":
            self._report.error(number, "q0", f"found {q0!r} in column 2, expected 'Q0'; write Q0 (fixable)")
        repeated = self._check_document(number, docid)
        self._check_rank(number, rank, repeated)
        self._check_score(number, score, docid)
        self._damaged = False

    def _wrong_fields(self, number: int, text: str | None, fields: list[str]) -> None:
        if text is None:
            self._damaged = True
        elif not fields:
            self._report.error(number, "blank", f"found a blank line, expected {FORM}; delete it (fixable)")
        elif fields[0].startswith("#"):
            why = "trec_eval 10 and Heed skip comments, NIST's scripts and ir_measures do not"
            self._report.error(number, "comment", f"found a comment, expected {FORM}; delete it (fixable): {why}")
        else:
            self._damaged = True
            problem = f"found {number_of(len(fields), 'field')} ({text[:60]!r}), expected 6: {FORM}"
            remedy = (
                f"put spaces in place of commas: tr , ' ' < {self._report.path} > NEW.run"
                if "," in text and len(fields) == 1
                else "write the line again"
            )
            if len(fields) == 5 and fields[1] != "Q0":
                remedy = "is Q0 missing behind the topic?"
            elif text.startswith(("{", "[")):
                remedy = "a run in JSON is read by other commands; write it as lines of six columns"
            self._report.error(number, "fields", f"{problem}; {remedy}")

    def _next_topic(self, number: int, qid: str) -> None:
        topic = self.topics.get(qid)
        if topic is None:
            topic = self.topics[qid] = TopicState((self._rules.candidates or {}).get(qid))
            self._check_topic(number, qid)
        else:
            problem = f"found topic {qid} again after topic {self._qid}, expected a topic's lines together"
            self._report.error(number, "contiguity", f"{problem}; sort by topic (fixable)")
        self._qid, self._topic = qid, topic

    def _check_topic(self, number: int, qid: str) -> None:
        rules, shape = self._rules, self._rules.track.topic
        if rules.topics is not None and qid not in rules.topics:
            same = "".join(
                f"; {known} has the same number"
                for known in rules.topics
                if topic_ids.number(known) == topic_ids.number(qid)
            )
            problem = f"found topic {qid!r}, which is none of the {len(rules.topics)} given topics{same}"
            self._report.error(number, "topic", f"{problem}; use the track's ids, or leave it out")
        elif rules.topics is None and not re.fullmatch(shape.pattern, qid):
            problem = f"found topic {qid!r}, expected {shape.description}"
            self._report.error(number, "topic", f"{problem}; use the track's ids, or give topics=PATH")
        elif rules.candidates is not None and qid not in rules.candidates:
            problem = f"found topic {qid}, expected one of the topics to rerank"
            self._report.error(number, "reranking", f"{problem}; leave it out, or give the right list")

    def _next_tag(self, number: int, tag: str) -> None:
        rules = self._rules
        if self.tag:
            self._report.error(
                number,
                "tag",
                f"found tag {tag!r}, expected {self.tag!r} as above; use one tag (fixable with a new tag)",
            )
            return
        self.tag = tag
        if rules.tag and tag != rules.tag:
            problem = f"found tag {tag!r}, expected {rules.tag!r}, the tag that was asked for"
            self._report.error(number, "tag", f"{problem}; rename the run (fixable)")
            return
        for severity, message in tag_problems(tag, rules.track, rules.team):
            self._report.add(severity, number, "name", message)
        if rules.track.sources:
            self.name = parse_name(tag, rules.team)
        if self.name.documents:
            self._docid = self.name.documents.docid
            self._is_docid = re.compile(self._docid.pattern).fullmatch

    def _check_rank(self, number: int, text: str, repeated: bool) -> None:
        topic, rank = self._topic, int(text) if RANK.fullmatch(text) else None
        if self._first is None and rank is not None:
            self._first = min(rank, 1)
            if rank == 0:
                problem = "found ranks from 0, expected from 1"
                why = "trec_eval does not read ranks, other programs may"
                self._report.warning(number, "rank-from-0", f"{problem}; number from 1 (fixable): {why}")
        if topic.expected_rank is None:
            topic.expected_rank = 1 if self._first is None else self._first
            topic.last_rank = topic.expected_rank - 1
        self._rank_step = 0 if rank is None else rank - topic.last_rank
        if rank is None:
            problem = f"found rank {text!r}, expected a whole number without sign, point or leading zeros"
            self._report.error(number, "rank", f"{problem}; number the documents from 1 (fixable)")
            topic.expected_rank, topic.last_rank = topic.expected_rank + 1, topic.last_rank + 1
            return
        # one wrong rank is one problem; a repeated document may have the rank of its other line, or any
        fits = self._damaged or rank in (topic.expected_rank, topic.last_rank + 1)
        if not (fits or repeated):
            problem = f"found rank {rank} in topic {self._qid}, expected {topic.last_rank + 1}"
            self._report.error(number, "rank-order", f"{problem}; number the documents from 1 without gaps (fixable)")
        if fits or not repeated:
            topic.expected_rank, topic.last_rank = (rank if self._damaged else topic.expected_rank) + 1, rank

    def _check_score(self, number: int, text: str, docid: str) -> None:
        topic = self._topic
        point = text.replace(",", ".")
        score = parse_score(point) if text.isascii() else None
        if score is None or THOUSANDS.fullmatch(text):
            problem = f"found score {text!r}, expected a finite number, as 12.5 or 1e-3"
            remedy = "score the document again" if score is None else f"write {point}, or without the comma"
            self._report.error(number, "score", f"{problem}; {remedy}")
            return
        if point != text:
            problem = f"found score {text!r}, expected a point in place of the comma"
            self._report.error(number, "comma", f"{problem}; write {point} (fixable)")
        if topic.score is not None:
            topic.varies = topic.varies or score != topic.score
            # without ranks the lines are taken to be in their order
            falls_back = score >= topic.score if self._rank_step >= 0 else score <= topic.score
            topic.reversed = topic.reversed and falls_back
        if topic.score is not None and score > topic.score:
            problem = f"found score {text} after {topic.score!r} in topic {self._qid}, expected at most that"
            self._report.error(number, "score-order", f"{problem}; sort by score (fixable)")
        elif score == topic.score and docid > topic.docid and not topic.tied:
            topic.tied = True
            problem = f"found {topic.docid} before {docid} with the same score in topic {self._qid}"
            rule = "trec_eval puts equal scores in the order of docids, descending, whatever the file's order"
            self._report.warning(number, "tie-order", f"{problem}; {rule} (so does a corrected copy)")
        elif (
            topic.score is not None and not topic.swapped and swapped_in_single(topic.docid, topic.score, docid, score)
        ):
            topic.swapped = (number, f"{topic.score!r} and {score!r}")
        topic.score, topic.docid = score, docid

    def _check_document(self, number: int, docid: str) -> bool:
        """Check a document; return whether it was listed before in this topic."""
        topic = self._topic
        first = topic.first_lines.setdefault(docid, number)
        if first != number:
            problem = f"found document {docid} again in topic {self._qid}, first at line {first}"
            self._report.error(number, "duplicate", f"{problem}; keep one (fixable where the scores are the same)")
            return True
        if len(topic.first_lines) == self._rules.depth + 1:
            topic.too_deep = number
        if topic.candidates is not None and docid not in topic.candidates:
            problem = f"found document {docid}, which is not among the {len(topic.candidates)} to rerank for topic"
            self._report.error(number, "reranking", f"{problem} {self._qid}; leave it out")
        if self._rules.collection is not None:
            self._check_collection(number, docid, self._rules.collection)
        elif not self._is_docid(docid):
            problem = f"found document {docid!r}, expected {self._docid.description}"
            self._report.error(number, "docid", f"{problem}; write the collection's own ids")
        return False

    def _check_collection(self, number: int, docid: str, collection: CollectionIds) -> None:
        language, documents = collection.language(docid), self.name.documents
        if language is None:
            problem = f"found document {docid}, which is none of the collection's {len(collection)}"
            whole, mark, _ = docid.partition("#")
            is_passage = mark and collection.language(whole) is not None
            advice = f"for a passage write its document, {whole}, once" if is_passage else "check what was searched"
            if known := [each for each in (docid.lower(), docid.upper()) if collection.language(each) is not None]:
                advice = f"write it as the collection does, {known[0]}"
            self._report.error(number, "collection", f"{problem}; {advice}")
            return
        self.languages[language] += 1
        if language and documents and language not in documents.languages:
            problem = f"found document {docid} in {language}, expected {' or '.join(documents.languages)}"
            self._report.error(number, "language", f"{problem} by the run's name; check what was searched")


States = Mapping[str, TopicState]


def check_whole_run(run: CheckedRun, topics: States, name: RunName, rules: Rules) -> None:
    """Add the problems of a run that was read to its end; ``name`` are the parts of its tag."""
    _check_depth(run.report, topics, rules)
    _check_lists(run.report, topics)
    _check_order(run.report, topics)
    _check_single_precision(run.report, topics)
    _check_topics(run.report, topics, rules)
    _check_file_name(run, rules.file_name)
    _check_languages(run, name)


def _check_depth(report: Report, topics: States, rules: Rules) -> None:
    severity, action = DEPTH[rules.track.deeper]
    why = f": the track {action}"
    if rules.depth != rules.track.depth:
        severity, why = ERROR, ", the depth that was asked for"
    for qid, topic in topics.items():
        if topic.too_deep:
            problem = f"found {len(topic.first_lines)} documents in topic {qid}, expected at most {rules.depth}"
            report.add(severity, topic.too_deep, "depth", f"{problem}{why}; cut it (fixable)")


def _check_lists(report: Report, topics: States) -> None:
    """Check for lists that come several times, and for topics with far fewer documents than the others."""
    same: dict[tuple[str, ...], list[str]] = {}
    for qid, topic in topics.items():
        if len(topic.first_lines) > 1:  # NIST advises to list any one document for a topic without results
            same.setdefault(tuple(topic.first_lines), []).append(qid)
    for qids in same.values():
        # 4_0, 4_1 … are one query under several instructions, and one list where only the query is searched
        if len({qid.partition("_")[0] for qid in qids}) > 1:
            problem = f"found the same list for {len(qids)} topics ({brief(qids)}), expected one for each"
            report.warning(0, "same-list", f"{problem}; check that each topic's own query was searched")
    counts = {qid: len(topic.first_lines) for qid, topic in topics.items()}
    usual = median(counts.values())
    few = [f"{qid}: {count}" for qid, count in counts.items() if count * FEW < usual]
    if few:
        problem = f"found far fewer documents in {len(few)} of {len(topics)} topics ({brief(few)})"
        advice = "check whether the search of these was cut off"
        report.warning(0, "few-documents", f"{problem}, expected about {usual:g} as in the others; {advice}")


def _check_order(report: Report, topics: States) -> None:
    """Check for scores that are the same, or against the ranks, in every topic; it is said once, instead of by line."""
    lists = {qid: topic for qid, topic in topics.items() if len(topic.first_lines) > 1 and topic.score is not None}
    varying = [topic for topic in lists.values() if topic.varies]
    if lists and not varying:
        report.drop("tie-order")
        qid, topic = next(iter(lists.items()))
        problem = f"found that every score of a topic is the same, as {topic.score!r} in topic {qid}"
        why = "there is no ranking, and trec_eval puts such documents in the order of docids"
        report.warning(0, "no-ranking", f"{problem}: {why}; write the scores that ranked them")
    elif lists and all(topic.reversed for topic in varying):
        report.drop("rank-order")
        report.drop("score-order")
        problem = "found ranks that are the reverse of the scores in every topic, expected scores that fall with rank"
        remedy = "if the scores are distances, negate them; if the ranks are wrong, number them anew"
        report.error(0, "reversed", f"{problem}; one of both is wrong: {remedy}")


def _check_single_precision(report: Report, topics: States) -> None:
    swaps = {qid: topic.swapped for qid, topic in topics.items() if topic.swapped}
    if not swaps:
        return
    number, scores = next(iter(swaps.values()))
    listed = f"{len(swaps)} of {len(topics)} topics ({brief([*swaps])})"
    problem = f"found scores in {listed} that tie in single precision, the first {scores}"
    why = "pytrec_eval, and trec_eval before version 10, order such documents by docid and give other values"
    report.warning(number, "single-precision", f"{problem}; write whole numbers, best first (fixable): {why}")


def _check_topics(report: Report, topics: States, rules: Rules) -> None:
    expected = rules.track.topics
    if rules.topics is None and expected and len(topics) != expected:
        problem = f"found {len(topics)} topics, expected {expected}"
        report.warning(0, "topic-count", f"{problem}; a file of topics would name those that are missing")
    for qid in in_order(rules.topics or ()):
        if qid not in topics:
            problem = f"found no document for topic {qid}, expected at least one"
            report.error(
                0, "missing", f"{problem}; search this topic; if nothing is found, list one document, whichever"
            )


def _check_file_name(run: CheckedRun, severity: str) -> None:
    file_name = run.path.name
    if severity and file_name.removesuffix(".gz") != run.tag:
        problem = f"found file name {file_name}, expected the tag, {run.tag} or {run.tag}.gz"
        run.report.add(severity, 0, "file-name", f"{problem}; rename the file (a corrected copy and a package have it)")


def _check_languages(run: CheckedRun, name: RunName) -> None:
    languages = run.languages.keys() - {""}
    if name.source == "mlir" and len(languages) == 1:
        problem = f"found documents in {', '.join(languages)} alone, expected a list over three languages"
        run.report.warning(0, "language", f"{problem}; check what was searched")


def swapped_in_single(docid: str, score: float, lower_docid: str, lower_score: float) -> bool:
    """Whether two neighbours of a list change places for tools that read scores in single precision.

    pytrec_eval and trec_eval before version 10 do: scores that differ only beyond it tie there, and docids decide.
    """
    return lower_score < score and lower_docid > docid and c_float(score).value == c_float(lower_score).value
