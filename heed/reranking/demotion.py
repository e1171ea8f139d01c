"""How far an exclusion may push a document down: below those that fit as well, not below those that do not fit."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heed.ranking import top

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]


def demoted(wanted: "Doubles", unwanted: "Doubles", floor: float) -> "Doubles":
    """Return the evidence for documents less that against them, but above 0 where there is any for one.

    It is subtracted in full, ``d = wanted − unwanted``, down to ``c = floor · wanted``; below, the result is
    ``c² / (2c − d)``, which goes on with the same slope and nears 0. So of two documents that fit equally well the one
    with more that is excluded is lower, and none falls below one that does not fit at all.
    """
    import numpy as np

    rest, limit = wanted - unwanted, floor * wanted
    below = np.minimum(rest, limit)
    span = 2 * limit - below
    return np.where(rest >= limit, rest, limit * limit / np.where(span > 0, span, 1.0))


def first_kept(scores: "Doubles", wanted: "Doubles", docids: Sequence[str], count: int) -> "Doubles":
    """Return the scores of a pool, raised so that the ``count`` documents with the most wanted stay above all others.

    So what is excluded takes no document out of the first ``count``, but can put it at their end. Among them, and
    among the others, the order is that of ``scores``; which they are is decided by the one ordering rule. Only those
    not above the best of the others get another score: between its score and that of the next one of theirs.
    """
    import numpy as np

    if not 0 < count < len(docids):
        return scores
    first = top(dict(zip(docids, wanted.tolist(), strict=True)), count).keys()
    if top(dict(zip(docids, scores.tolist(), strict=True)), count).keys() == first:
        return scores
    kept = np.array([docid in first for docid in docids])
    limit = float(scores[~kept].max())
    upper = scores[kept & (scores > limit)].min(initial=limit + 1)
    raised = limit + (upper - limit) * (1 + scores / (limit or 1.0)) / 3
    return np.where(kept & (scores <= limit), raised, scores)
