"""How far an exclusion may push a document down: below those that fit as well, not below those that do not fit."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

PLACES = 20  # that a document may fall at least, however small the pool


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


def caught(scores: "Doubles", topical: "Doubles", fall: float) -> "Doubles":
    """Return the scores of a pool, raised where a document is too far below its place by ``topical`` alone.

    It gets a score between those of the two documents ``fall``, a share of the pool, below that place, but at least
    :data:`PLACES`; of documents with the same ``topical`` the place is the last one's. So words of an exclusion that
    are there in passing cost a document on the topic at most about that many places.
    """
    import numpy as np

    count = len(scores)
    place = count - np.searchsorted(np.sort(topical), topical, side="left")
    lowest = place + max(PLACES, math.ceil(fall * count))
    best_first = np.sort(scores)[::-1]
    at = np.minimum(lowest, count) - 1
    least = (best_first[at] + best_first[np.maximum(at - 1, 0)]) / 2
    return np.where(lowest <= count, np.maximum(scores, least), scores)
