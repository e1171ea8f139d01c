"""The first and the judged documents of the lists in a run that Heed wrote, read without parsing its other lines.

Pages show these of every list. :func:`heed.formats.trec_files.read_run` takes 3.5 times as long (IndusTR's six runs,
3.4 million lines: 4.3 s against 1.2 s), and of one topic, which a page asks for, 13 times.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError
from heed.files import read_pieces

COLUMNS = 6


class RankedList(NamedTuple):
    """Part of a ranking of ``length`` documents: parallel lists in the order of ranks, which count from 1."""

    length: int
    docids: list[str]
    ranks: list[int]
    scores: list[float]

    def only(self, depth: int, judged: Set[str]) -> "RankedList":
        """Return the same with the first ``depth`` documents, and of the others those that are ``judged``."""
        rows = zip(self.docids, self.ranks, self.scores, strict=True)
        chosen = [row for row in rows if row[1] <= depth or row[0] in judged]
        return RankedList(self.length, *(list(column) for column in zip(*chosen, strict=True)))


def read_lists(path: Path, depth: int, judged: Mapping[str, Set[str]]) -> dict[str, RankedList]:
    """Return by qid the first ``depth`` documents of a run file, and those that are ``judged`` for the topic.

    The run lists each topic in one go and by rank, as :func:`heed.formats.trec_files.write_run` writes it. Raises
    :class:`DataError` for lines of another form.
    """
    return {qid: _parsed(path, lines, depth, judged.get(qid, set())) for qid, lines in _topics(path)}


def read_list(path: Path, qid: str, depth: int, judged: Set[str]) -> RankedList | None:
    """Return the first ``depth`` and the ``judged`` documents of one topic; None if the run does not have it."""
    lines = next((lines for listed_qid, lines in _topics(path) if listed_qid == qid), None)
    return _parsed(path, lines, depth, judged) if lines else None


def _topics(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each topic's qid and lines."""
    topic, lines = b"", list[bytes]()
    for _, run in read_pieces(path):
        start = 0
        while start < len(run):
            qid = run[start : run.find(b" ", start)]
            last = re.compile(rb"\n(?!%s )" % re.escape(qid)).search(run, start)
            if not qid or not last:
                raise DataError(f"{path}: not a run as it was written; run the collection again")
            if lines and qid != topic:
                yield topic.decode(), b"".join(lines)
                lines = []
            lines.append(run[start : last.end()])
            topic, start = qid, last.end()
    if lines:
        yield topic.decode(), b"".join(lines)


def _parsed(path: Path, lines: bytes, depth: int, judged: Set[str]) -> RankedList:
    fields = lines.split()
    docids, scores = fields[2::COLUMNS], fields[4::COLUMNS]
    if len(fields) % COLUMNS or len(docids) != lines.count(b"\n"):
        raise DataError(f"{path}: lines without {COLUMNS} columns; run the collection again")
    judged_here = {docid.encode() for docid in judged}
    indices = [index for index, docid in enumerate(docids) if index < depth or docid in judged_here]
    shown = [sys.intern(docids[index].decode()) for index in indices]  # many lists have the same documents
    return RankedList(len(docids), shown, [index + 1 for index in indices], [float(scores[index]) for index in indices])
