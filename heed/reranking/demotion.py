"""How far an exclusion may push a document down: below those that fit as well, not below those that do not fit."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]


def demoted(wanted: "Doubles", unwanted: "Doubles", floor: float, keep: float) -> "Doubles":
    """Return the evidence for documents less that against them, but above 0 where there is any for one.

    A share of ``keep`` of the evidence for a document stays, whatever is against it. From the rest that against it is
    subtracted: ``d = wanted − unwanted`` down to ``c = floor · wanted``; below, ``c² / (2c − d)``, which goes on with
    the same slope and nears 0. So a document with an excluded word never falls below one with less than ``keep`` of
    its evidence, and of two that fit equally well the one with more that is excluded is lower.
    """
    import numpy as np

    rest, limit = wanted - unwanted, floor * wanted
    below = np.minimum(rest, limit)
    span = 2 * limit - below
    return keep * wanted + (1 - keep) * np.where(rest >= limit, rest, limit * limit / np.where(span > 0, span, 1.0))
