"""How far an exclusion may push a document down: below those that fit as well, not below those that do not fit."""

FLOOR = 0.2  # of the evidence for a document: down to this share of it the evidence against is subtracted in full


def demoted(wanted: float, unwanted: float, floor: float = FLOOR) -> float:
    """Return the evidence for a document less that against it, but above 0 where there is any for it.

    ``wanted − unwanted`` down to ``c = floor · wanted``; below, ``c² / (2c − (wanted − unwanted))``, which goes on with
    the same slope and nears 0. So a document with an excluded word never falls below one that has nothing asked for,
    and of two that fit equally well the one with more that is excluded is lower.
    """
    rest, limit = wanted - unwanted, floor * wanted
    return rest if rest >= limit else limit * limit / (2 * limit - rest)
