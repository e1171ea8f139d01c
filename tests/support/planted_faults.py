"""Runs with one fault each, and the one problem that each must give."""

import gzip
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from heed.addons.submission.expected import CollectionIds, Rules
from heed.addons.submission.run_report import CheckedRun
from heed.addons.submission.tracks import TRACKS

TAG = "zho-TEAM3-AEND_x"
QIDS = ("200", "201", "202")
SCORES = ("9.5", "7.25", "7.25", "1e-3")


def uuid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-00000000abcd"


def clean(qids: tuple[str, ...] = QIDS, tag: str = TAG, docid: Callable[[int], str] = uuid) -> list[str]:
    """Four documents a topic; the second and third tie in trec_eval's order, docid descending."""
    return [
        f"{qid} Q0 {docid(99 - 10 * place - rank)} {rank} {score} {tag}\n"
        for place, qid in enumerate(qids)
        for rank, score in enumerate(SCORES, 1)
    ]


def put(line: int, column: int, text: str) -> Callable[[list[str]], list[str]]:
    """The run with another field at ``line`` (from 1) and ``column`` (from 1)."""

    def edit(lines: list[str]) -> list[str]:
        fields = lines[line - 1].split()
        fields[column - 1] = text
        return [*lines[: line - 1], f"{' '.join(fields)}\n", *lines[line:]]

    return edit


def everywhere(column: int, text: str) -> Callable[[list[str]], list[str]]:
    def edit(lines: list[str]) -> list[str]:
        for line in range(1, len(lines) + 1):
            lines = put(line, column, text)(lines)
        return lines

    return edit


def insert(line: int, text: str) -> Callable[[list[str]], list[str]]:
    return lambda lines: [*lines[: line - 1], text, *lines[line - 1 :]]


def swap(one: int, other: int, column: int) -> Callable[[list[str]], list[str]]:
    def edit(lines: list[str]) -> list[str]:
        first, second = lines[one - 1].split()[column - 1], lines[other - 1].split()[column - 1]
        return put(other, column, first)(put(one, column, second)(lines))

    return edit


def deeper(topic: int, documents: int) -> Callable[[list[str]], list[str]]:
    """The topic with so many documents, the further ones below its last."""

    def edit(lines: list[str]) -> list[str]:
        qid, tag = QIDS[topic], lines[0].split()[5]
        more = [f"{qid} Q0 {uuid(10_000 + n)} {n} {-n} {tag}\n" for n in range(len(SCORES) + 1, documents + 1)]
        end = len(SCORES) * (topic + 1)
        return [*lines[:end], *more, *lines[end:]]

    return edit


def from_0(lines: list[str]) -> list[str]:
    return [re.sub(r" (\d)( \S+ \S+\n)$", lambda found: f" {int(found[1]) - 1}{found[2]}", line) for line in lines]


def close_scores(lines: list[str]) -> list[str]:
    """Topics 201 and 202 with scores that are different doubles and one float, against the docids' order.

    Those of topic 200 are too, but docids order its documents as the scores do.
    """
    for at, score in enumerate(("1.0", "0.9999999999", "0.9999999998", "0.9999999997")):
        for first in (1, 5, 9):
            lines = put(first + at, 5, score)(lines)
    return swap(10, 11, 3)(swap(9, 12, 3)(swap(6, 7, 3)(swap(5, 8, 3)(lines))))


def raw(change: Callable[[bytes], bytes]) -> Callable[[list[str]], bytes]:
    return lambda lines: change("".join(lines).encode())


def abstracts(lines: list[str], prefix: str) -> list[str]:
    """The run with other docids, in the same order."""
    for number in range(1, len(lines) + 1):
        lines = put(number, 3, f"{prefix}{9999 - number}")(lines)
    return lines


def collection(*languages: str, foreign: str = "") -> CollectionIds:
    """The clean run's documents, those of each topic in one language, but ``foreign`` in Russian."""
    found = CollectionIds()
    for place, language in enumerate(languages):
        docids = {uuid(99 - 10 * place - rank) for rank in range(1, 5)}
        found.add(docids - {foreign}, language)
    found.add({foreign} - {""}, "rus")
    return found


def same_lists(lines: list[str]) -> list[str]:
    """Topics 200 and 202 with the same documents."""
    for number in (1, 2, 3, 4):
        lines = put(8 + number, 3, lines[number - 1].split()[2])(lines)
    return lines


def ranks_reversed(lines: list[str]) -> list[str]:
    """Ranks from 4 to 1, beside scores that fall."""
    for number in range(1, len(lines) + 1):
        lines = put(number, 4, str(5 - int(lines[number - 1].split()[3])))(lines)
    return lines


def distances(lines: list[str]) -> list[str]:
    """Scores that rise with the rank."""
    return [re.sub(r" \S+( \S+\n)$", rf" {number // 2}.5\1", line) for number, line in enumerate(lines)]


def all_tied(lines: list[str]) -> list[str]:
    """Topic 201 with one score, and its documents the other way round."""
    for line in (5, 6, 7, 8):
        lines = put(line, 5, "1")(lines)
    return swap(6, 7, 3)(swap(5, 8, 3)(lines))


def damaged(content: bytes) -> bytes:
    """Gzipped, with a wrong block type in the deflate stream (RFC 1951: 11 is reserved)."""
    packed = bytearray(gzip.compress(content))
    packed[10] |= 0b110
    return bytes(packed)


def split(lines: list[str]) -> list[str]:
    """Topic 200 in two places."""
    return [*lines[:2], *lines[4:8], *lines[2:4], *lines[8:]]


RERANKED = {qid: {uuid(99 - 10 * place - rank) for rank in (1, 2, 3, 4)} for place, qid in enumerate(QIDS)}
MARCO = "msmarco_doc_00_"
RULES = Rules(TRACKS["neuclir-2023"], 1000, team="TEAM3", topics=QIDS, file_name="warning")
OF_2022 = replace(RULES, track=TRACKS["neuclir-2022"])
OF_2024 = replace(RULES, track=TRACKS["neuclir-2024"])
OF_MLIR = replace(RULES, track=TRACKS["mlir"])
OF_TREC = replace(RULES, track=TRACKS["trec"])
OF_DL = replace(RULES, track=TRACKS["dl-2022"], depth=100)
DEPTH_3 = replace(OF_TREC, depth=3, topics=None)
NO_TOPICS = replace(RULES, topics=None)
NAMED, ANY_NAME = replace(RULES, file_name="error"), replace(RULES, file_name="")
OTHER_TAG = replace(RULES, tag="zho-TEAM3-b")
COLLECTION = replace(RULES, collection=collection("", "", ""))
ONE_RUSSIAN = replace(RULES, collection=collection("zho", "zho", "zho", foreign=uuid(78)))
ALL_RUSSIAN = replace(RULES, collection=collection("rus", "rus", "rus"))
RERANK = replace(RULES, candidates=RERANKED)
RERANK_TWO = replace(RULES, candidates={qid: RERANKED[qid] for qid in QIDS[:2]})


class Fault(NamedTuple):
    """A run with one fault, and the one problem that it must give."""

    name: str
    plant: Callable[[list[str]], list[str] | bytes]
    line: int
    kind: str
    said: str
    severity: str = "error"
    rules: Rules = RULES
    file: str = ""
    tag: str = TAG

    def write(self, folder: Path) -> Path:
        """The run with the fault, under its tag unless that is a part of it."""
        planted = self.plant(clean(tag=self.tag))
        path = folder / (self.file or self.tag)
        path.write_bytes(planted if isinstance(planted, bytes) else "".join(planted).encode())
        return path


FAULTS = [
    Fault("five fields", put(6, 3, ""), 6, "fields", "found 5 fields"),
    Fault("seven fields", put(6, 3, "a b"), 6, "fields", "rank score tag; write the line again"),
    Fault("words after the tag", put(6, 6, f"{TAG} run"), 6, "tag", "use one tag (fixable with a new tag)"),
    Fault("a run in JSON", insert(1, '{"1": {"d1": 2.0}}\n'), 1, "fields", "a run in JSON is read by other commands"),
    Fault("a first line of one field", insert(1, "x\n"), 1, "fields", "found 1 field ("),
    Fault("a header", insert(1, "topic Q0 docid rank score tag\n"), 1, "header", "found a header ('topic Q0"),
    Fault("a blank line", insert(3, " \n"), 3, "blank", "found a blank line"),
    Fault("a comment", insert(1, "# ir_metadata.start\n"), 1, "comment", "found a comment"),
    Fault("a comment of six words", insert(3, "# a b c d e\n"), 3, "comment", "found a comment"),
    Fault("a byte-order mark", raw(lambda run: b"\xef\xbb\xbf" + run), 1, "bom", "byte-order mark"),
    Fault("Windows line ends", raw(lambda run: run.replace(b"\n", b"\r\n")), 1, "crlf", "on 12 lines", "warning"),
    Fault("UTF-16", raw(lambda run: run.decode().encode("utf-16")), 0, "encoding", "found UTF-16 text"),
    Fault("gzip without .gz", raw(gzip.compress), 0, "encoding", "gzip data in a file without .gz"),
    Fault(
        "Latin-1", raw(lambda run: run.replace(b"Q0", b"Q\xe9", 1)), 1, "encoding", "byte 0xE9 at column 6, which is"
    ),
    Fault("a NUL", put(5, 3, f"{uuid(7)}\0"), 5, "character", "(U+0000)"),
    Fault("a no-break space", put(5, 3, f"{uuid(7)}\xa0"), 5, "character", "NO-BREAK SPACE (U+00A0)"),
    Fault("a character nobody sees", put(5, 3, f"{uuid(7)}\u200b"), 5, "character", "ZERO WIDTH SPACE"),
    Fault("an old Mac's line end", raw(lambda run: run.replace(b"\n", b"\r", 1)), 1, "character", "(U+000D)"),
    Fault("no newline at the end", raw(lambda run: run[:-1]), 0, "newline", "found no newline", "warning"),
    Fault("an empty file", raw(lambda run: b""), 0, "empty", "found no line"),
    Fault("a cut gzip stream", raw(lambda run: gzip.compress(run)[:-12]), 0, "unreadable", "", file=f"{TAG}.gz"),
    Fault("a damaged gzip stream", raw(damaged), 0, "unreadable", "while decompressing", file=f"{TAG}.gz"),
    Fault("no gzip at all", raw(lambda run: run), 0, "unreadable", "Not a gzipped file", file=f"{TAG}.gz"),
    Fault("no line end for long", raw(lambda run: b"x" * (3 << 20)), 0, "unreadable", "no line end in 1048576 bytes"),
    Fault("a second tag", put(7, 6, "other"), 7, "tag", f"found tag 'other', expected '{TAG}'"),
    Fault("another tag than asked for", list, 1, "tag", "the tag that was asked for", rules=OTHER_TAG),
    Fault("a tag with a plus", list, 1, "name", "found tag 'zho-TEAM3-a+b'", tag="zho-TEAM3-a+b"),
    Fault("a tag that is a path", list, 1, "name", "found tag '../x'", tag="../x", file="x", rules=ANY_NAME),
    Fault("a tag of 151 characters", list, 1, "name", "1 to 150 letters", tag=f"zho-TEAM3-{'x' * 141}"),
    Fault("other tracks: 26 characters", list, 1, "name", "take 25 at most", "warning", tag="x" * 26, rules=OF_TREC),
    Fault("2023: 48 characters", list, 1, "name", "48 characters, expected 47", "warning", tag=f"zho-TEAM3-{'x' * 38}"),
    Fault("2024: 48 characters", list, 1, "name", "limit is not known", "warning", tag="x" * 48, rules=OF_2024),
    Fault("an unknown collection", list, 1, "name", "expected it to begin with one of zho-", tag="chi-TEAM3-x"),
    Fault("a name without a third part", list, 1, "name", "expected zho-TEAM-NAME", tag="zho-TEAM3"),
    Fault("another team", list, 1, "name", "found team 'TEAM4'", tag="zho-TEAM4-AEND_x"),
    Fault("automatic and manual", list, 1, "name", "A is automatic, M manual", tag="zho-TEAM3-AMEND_x"),
    Fault("monolingual in another language", list, 1, "name", "expected queries in zho", tag="zho-TEAM3-1EN_x"),
    Fault("a letter twice", list, 1, "name", "one twice", "warning", tag="zho-TEAM3-ANNE_x"),
    Fault("a name of the multilingual task", list, 1, "name", "one of mlir-", rules=OF_MLIR),
    Fault("2022: another team", list, 1, "name", "begin with the team's name", tag="x", rules=OF_2022),
    Fault("2022: 26 characters", list, 1, "name", "1 to 25 letters", tag="TEAM3" + "x" * 21, rules=OF_2022),
    Fault("another file name", list, 0, "file-name", f"found file name {TAG}.run", "warning", file=f"{TAG}.run"),
    Fault("the same, told to be wrong", list, 0, "file-name", "x", rules=NAMED, file="x"),
    Fault("q0", put(4, 2, "q0"), 4, "q0", "found 'q0' in column 2"),
    Fault("a score in the rank's place", put(4, 4, "4.0"), 4, "rank", "found rank '4.0'"),
    Fault("a rank with zeros", put(4, 4, "04"), 4, "rank", "found rank '04'"),
    Fault("a rank below zero", put(5, 4, "-1"), 5, "rank", "found rank '-1'"),
    Fault("a rank with a plus", put(1, 4, "+1"), 1, "rank", "found rank '+1'"),
    Fault("ranks in other digits", put(1, 4, "१"), 1, "rank", "found rank"),
    Fault("a rank of 5000 digits", put(4, 4, "9" * 5000), 4, "rank", "found rank '999"),
    Fault("a wrong rank", put(2, 4, "7"), 2, "rank-order", "found rank 7 in topic 200, expected 2"),
    Fault("a rank that is missing", lambda run: put(4, 4, "5")(put(3, 4, "4")(run)), 3, "rank-order", "expected 3"),
    Fault("ranks from 0", from_0, 1, "rank-from-0", "found ranks from 0, expected from 1", "warning"),
    Fault("a topic that begins at 2", put(5, 4, "2"), 5, "rank-order", "found rank 2 in topic 201, expected 1"),
    Fault("a rank that comes twice", put(6, 4, "1"), 6, "rank-order", "found rank 1 in topic 201, expected 2"),
    Fault("ranks from 0 after ranks from 1", put(5, 4, "0"), 5, "rank-order", "found rank 0"),
    Fault("a score that is a word", put(3, 5, "high"), 3, "score", "found score 'high'"),
    Fault(
        "a decimal comma", put(1, 5, "9,5"), 1, "comma", "expected a point in place of the comma; write 9.5 (fixable)"
    ),
    Fault("not a number", put(3, 5, "nan"), 3, "score", "found score 'nan'"),
    Fault("infinity", put(1, 5, "1e999"), 1, "score", "found score '1e999'"),
    Fault("a number as Python has it", put(1, 5, "1_0"), 1, "score", "found score '1_0'"),
    Fault("other digits", put(1, 5, "९"), 1, "score", "found score '९'"),
    Fault("a score that rises", put(6, 5, "9.75"), 6, "score-order", "found score 9.75 after 9.5 in topic 201"),
    Fault("a score that fell too far", put(6, 5, "-3"), 7, "score-order", "found score 7.25 after -3.0"),
    Fault("ties in another order", swap(2, 3, 3), 3, "tie-order", "trec_eval puts equal scores", "warning"),
    Fault("a topic of ties in another order", all_tied, 6, "tie-order", "in topic 201", "warning"),
    Fault("one list for two topics", same_lists, 0, "same-list", "for 2 topics (200, 202), expected one", "warning"),
    Fault(
        "a topic with far fewer documents than the others",
        lambda run: deeper(0, 50)(deeper(1, 50)(run)),
        0,
        "few-documents",
        "in 1 of 3 topics (202: 4), expected about 50",
        "warning",
    ),
    Fault(
        "scores that are all the same",
        lambda run: swap(5, 6, 3)(everywhere(5, "0")(run)),
        0,
        "no-ranking",
        "every score of a topic is the same, as 0.0 in topic 200: there is no ranking",
        "warning",
    ),
    Fault("ranks against the scores", ranks_reversed, 0, "reversed", "ranks that are the reverse of the scores"),
    Fault("scores that rise with the rank", distances, 0, "reversed", "one of both is wrong"),
    Fault(
        "Deep Learning 2022: 3 topics",
        lambda run: abstracts(run, MARCO),
        0,
        "topic-count",
        "found 3 topics, expected 500",
        "warning",
        rules=replace(OF_DL, topics=None),
    ),
    Fault(
        "scores beyond single precision",
        close_scores,
        6,
        "single-precision",
        "in 2 of 3 topics (201, 202) that tie in single precision, the first 1.0 and 0.9999999999; write whole",
        "warning",
    ),
    Fault("a topic in two places", split, 7, "contiguity", "topic 200 again"),
    Fault("a document twice", put(4, 3, uuid(98)), 4, "duplicate", f"{uuid(98)} again in topic 200, first at line 1"),
    Fault(
        "a document twice, with any rank",
        insert(2, f"200 Q0 {uuid(98)} 99 8 {TAG}\n"),
        2,
        "duplicate",
        "first at line 1",
    ),
    Fault("an unknown topic", insert(13, f"9 Q0 {uuid(1)} 1 1 {TAG}\n"), 13, "topic", "'9', which is none of the 3"),
    Fault(
        "a topic that is no number",
        raw(lambda run: run.replace(b"200 Q", b"q1 Q")),
        1,
        "topic",
        "expected a number",
        rules=NO_TOPICS,
    ),
    Fault("a topic left out", lambda run: run[:8], 0, "missing", "found no document for topic 202"),
    Fault("2023: 1001 documents", deeper(1, 1001), 1005, "depth", "1001 documents in topic 201", "warning"),
    Fault("2022: 1001 documents", deeper(0, 1003), 1001, "depth", "1003 documents", rules=OF_2022, tag="TEAM3-x"),
    Fault("2024: 1001", deeper(1, 1001), 1005, "depth", "may cut the list or refuse", "warning", rules=OF_2024),
    Fault("a depth of one's own", lambda run: run[:4], 4, "depth", "found 4", rules=DEPTH_3),
    Fault("an id that is no UUID", put(2, 3, "doc2"), 2, "docid", "found document 'doc2', expected NeuCLIR's 36"),
    Fault("an id in capitals", put(2, 3, uuid(97).upper()), 2, "docid", "expected NeuCLIR's 36"),
    Fault(
        "a news id among abstracts",
        lambda run: put(4, 3, uuid(1))(abstracts(run, "csl-")),
        4,
        "docid",
        "expected CSL's",
        tag="tech-TEAM3-x",
    ),
    Fault("a document of no collection", put(4, 3, uuid(7)), 4, "collection", "12; check what", rules=COLLECTION),
    Fault("a passage", put(4, 3, f"{uuid(95)}#0"), 4, "collection", f"document, {uuid(95)}, once", rules=COLLECTION),
    Fault("a document in another language", list, 9, "language", "in rus, expected zho", rules=ONE_RUSSIAN),
    Fault(
        "a multilingual run of one language",
        list,
        0,
        "language",
        "documents in rus alone",
        "warning",
        tag="mlir-TEAM3-x",
        rules=ALL_RUSSIAN,
    ),
    Fault(
        "a document not to be reranked",
        put(4, 3, uuid(7)),
        4,
        "reranking",
        "not among the 4 to rerank",
        rules=RERANK,
        tag="zho-TEAM3-2A_x",
    ),
    Fault("a topic not to be reranked", list, 9, "reranking", "topic 202", rules=RERANK_TWO, tag="zho-TEAM3-2A_x"),
]


def problems(checked: CheckedRun) -> list[tuple[int, str, str]]:
    return [(one.line, one.kind, one.severity) for one in checked.report.problems()]
