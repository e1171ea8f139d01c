"""One topic of a run while its lines come: ranks, scores and documents against those before."""

from array import array
from collections.abc import Collection

UNKNOWN = -1


class TopicLines:
    """What is known of a topic; ``candidates`` are the documents that it may hold, None for any."""

    def __init__(self, candidates: Collection[str] | None = None) -> None:
        self.candidates = candidates
        self.count = 0  # documents, each once
        self.over = 0  # line of the first document too many, 0 for none
        self.place = self.last = UNKNOWN  # the rank due by counting lines, and the last one found
        self.score: float | None = None
        self.docid = ""
        self._tied = False
        self._seen: dict[int, int] = {}  # hash of a docid -> its line
        self._hashes, self._lines = array("q"), array("Q")

    def pack(self) -> None:
        """Keep what was seen in 16 bytes a line: runs can have millions."""
        self._hashes, self._lines = array("q", self._seen), array("Q", self._seen.values())
        self._seen = {}

    def unpack(self) -> None:
        """Look again at what was packed."""
        if self._hashes:
            self._seen = dict(zip(self._hashes, self._lines, strict=True))
            self._hashes, self._lines = array("q"), array("Q")

    def first_line(self, docid: str, number: int) -> int:
        """The line where ``docid`` was first seen: ``number`` itself if it is new."""
        return self._seen.setdefault(hash(docid), number)

    def begin(self, first: int) -> None:
        """The rank of the topic's first document: 0 or 1."""
        if self.place == UNKNOWN:
            self.place, self.last = first, first - 1

    def skip_rank(self) -> None:
        """A rank that is no number stands for the one that was due."""
        self.place, self.last = self.place + 1, self.last + 1

    def take_rank(self, rank: int, again: bool) -> bool:
        """Whether ``rank`` follows the one before, or fits by counting lines: one wrong rank is one problem.

        A document listed ``again`` may repeat a rank or have one of its own.
        """
        fits = rank in (self.place, self.last + 1)
        if fits or not again:
            self.place, self.last = self.place + 1, rank
        return fits or again

    def ties_upward(self, score: float, docid: str) -> bool:
        """Whether ``docid`` ties with the document before and trec_eval would put it first; told once a topic."""
        upward = score == self.score and docid > self.docid and not self._tied
        self._tied = self._tied or upward
        return upward
