"""What a run's check remembers of a topic: its documents, and the rank and score of the line before."""

from collections.abc import Collection

from heed.ranking import swapped_in_single

UNKNOWN = -1


class TopicState:
    """A topic's ranks, scores and documents so far; ``candidates`` are the documents it may hold, None for any."""

    def __init__(self, candidates: Collection[str] | None = None) -> None:
        self.candidates = candidates
        self.first_lines: dict[str, int] = {}  # docid -> the first line that lists it
        self.too_deep = 0  # line of the first document too many, 0 for none
        self.expected_rank = self.last_rank = UNKNOWN  # by counting lines, and the rank of the line before
        self.score: float | None = None
        self.docid = ""
        self.varies = False  # two of the scores differ
        self.reversed = True  # the scores run against the ranks, so far
        self.swapped: tuple[int, str] | None = None  # line and scores of the first two that single precision ties
        self._tied = False

    def compare(self, score: float, rank_step: int) -> None:
        """Remember how ``score`` and rank follow those of the line before; ``rank_step`` is the ranks' difference.

        Where that is 0, as in a run without ranks, the lines are taken to be in the order of the ranks.
        """
        if self.score is not None:
            self.varies = self.varies or score != self.score
            falls_back = score >= self.score if rank_step >= 0 else score <= self.score
            self.reversed = self.reversed and falls_back

    def begin(self, first: int) -> None:
        """Set the rank of the topic's first document: 0 or 1."""
        if self.expected_rank == UNKNOWN:
            self.expected_rank, self.last_rank = first, first - 1

    def skip_rank(self) -> None:
        """Treat a rank that is no number as the expected one."""
        self.expected_rank, self.last_rank = self.expected_rank + 1, self.last_rank + 1

    def accepts_rank(self, rank: int, repeated: bool) -> bool:
        """Whether ``rank`` follows the one before, or fits by counting lines: one wrong rank is one problem.

        A ``repeated`` document may have the rank of its other line, or any.
        """
        fits = rank in (self.expected_rank, self.last_rank + 1)
        if fits or not repeated:
            self.expected_rank, self.last_rank = self.expected_rank + 1, rank
        return fits or repeated

    def breaks_tie_order(self, score: float, docid: str) -> bool:
        """Whether ``docid`` ties with the document before and trec_eval would put it first; only once a topic."""
        breaks = score == self.score and docid > self.docid and not self._tied
        self._tied = self._tied or breaks
        return breaks

    def breaks_single_order(self, score: float, docid: str) -> bool:
        """Whether ``docid`` and the document before change places in single precision; only once a topic."""
        return not (self.swapped or self.score is None) and swapped_in_single(self.docid, self.score, docid, score)
