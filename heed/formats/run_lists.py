"""The first and the judged documents of the lists in a run file, without parsing the rest of it."""

import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError
from heed.files import read_bytes
from heed.types import Run

COLUMNS = 6
NO_IDS: frozenset[str] = frozenset()


class Names(dict[bytes, str]):
    """Ids as text by their bytes in a file, one object each however often they come."""

    def __missing__(self, raw: bytes) -> str:
        """Decode an id."""
        self[raw] = raw.decode()
        return self[raw]


class Listed(NamedTuple):
    """Part of a ranking of ``length`` documents: parallel lists in the order of ranks, which count from 1."""

    length: int
    docids: list[str]
    ranks: list[int]
    scores: list[float]

    def only(self, depth: int, judged: Set[str]) -> "Listed":
        """Return the same with the first ``depth`` documents, and of the others those that are ``judged``."""
        rows = zip(self.docids, self.ranks, self.scores, strict=True)
        kept = [row for row in rows if row[1] <= depth or row[0] in judged]
        return Listed(self.length, *(list(column) for column in zip(*kept, strict=True)))


def lists_of(run: Run, depth: int, judged: Mapping[str, Set[str]]) -> dict[str, Listed]:
    """Return the first ``depth`` and the judged documents of each topic of a run that is in the order of its file."""
    lists = {}
    for qid, scores in run.items():
        wanted = judged.get(qid, NO_IDS)
        ranks = {docid: rank for rank, docid in enumerate(scores, 1) if rank <= depth or docid in wanted}
        lists[qid] = Listed(len(scores), [*ranks], [*ranks.values()], [scores[docid] for docid in ranks])
    return lists


def read_lists(path: Path, depth: int, judged: Mapping[str, Set[str]], names: Names) -> dict[str, Listed]:
    """Return the same of the file of a run that Heed wrote.

    Such a run lists each topic in one go and by rank. Raises :class:`DataError` for lines of another form.
    """
    lists = {}
    for qid, lines in _topics(path, read_bytes(path)):
        lists[qid] = _listed(path, lines, depth, judged.get(qid, NO_IDS), names)
    return lists


def read_list(path: Path, qid: str, depth: int, judged: Set[str]) -> Listed | None:
    """Return the same of one topic; None if the run does not have it."""
    lines = next((lines for found, lines in _topics(path, read_bytes(path)) if found == qid), None)
    return _listed(path, lines, depth, judged, Names()) if lines else None


def _topics(path: Path, run: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield each topic's qid and lines."""
    start = 0
    while start < len(run):
        qid = run[start : run.find(b" ", start)]
        last = re.compile(rb"\n(?!%s )" % re.escape(qid)).search(run, start)
        if not qid or not last:
            raise DataError(f"{path}: not a run as it was written; run the collection again")
        yield qid.decode(), run[start : last.end()]
        start = last.end()


def _listed(path: Path, lines: bytes, depth: int, judged: Set[str], names: Names) -> Listed:
    fields = lines.split()
    docids, scores = fields[2::COLUMNS], fields[4::COLUMNS]
    if len(fields) % COLUMNS or len(docids) != lines.count(b"\n"):
        raise DataError(f"{path}: lines without {COLUMNS} columns; run the collection again")
    wanted = {docid.encode() for docid in judged}
    places = [place for place, docid in enumerate(docids) if place < depth or docid in wanted]
    shown = [names[docids[place]] for place in places]
    return Listed(len(docids), shown, [place + 1 for place in places], [float(scores[place]) for place in places])
