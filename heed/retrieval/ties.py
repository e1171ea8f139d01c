"""Scores as Anserini's run files hold them: ties told apart, so that a file's scores give its order."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PLACES = 6  # after the point in Anserini's run files (%f): beyond them its ties are ties again


def told_apart(scores: "NDArray[np.float32]") -> "NDArray[np.float64]":
    """Scores, best first, as Anserini's ``ScoreTiesAdjusterReranker`` and its ``%f`` leave them.

    Each is rounded to 1e-4; one that is not lower than the one before it by more than 1e-4 is lowered by 1e-6
    for each such score in a row. All in single precision: above 16 or so, 1e-6 can be lost.
    """
    import numpy as np

    rounded = (np.floor(scores.astype(np.float64) * 1e4 + 0.5) / 1e4).astype(np.float32)
    at = np.arange(len(scores), dtype=np.int32)
    lowered = rounded
    while True:
        # whether one is a tie depends on how far the one before it was lowered: again until nothing changes
        first = np.zeros(len(scores), dtype=np.int32)
        first[1:] = np.where(lowered[:-1] - rounded[1:] > np.float32(1e-4), at[1:], 0)
        in_a_row = at - np.maximum.accumulate(first)
        further = rounded - np.float32(1e-6) * in_a_row.astype(np.float32)
        if np.array_equal(further, lowered):
            found: NDArray[np.float64] = lowered.astype(np.float64).round(PLACES)
            return found
        lowered = further
