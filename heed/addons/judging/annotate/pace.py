"""How fast assessors judge, by the times of their first grades."""

from itertools import groupby, pairwise
from math import ceil
from statistics import fmean

from heed.addons.judging.annotate.store import Store
from heed.progress import number_of

LONGEST_PAUSE = 600  # seconds between two grades; who takes longer has done something else
FEWEST = 5  # documents from which a mean says anything


def seconds_a_document(store: Store, assessor: str = "") -> dict[str, float]:
    """Return the mean seconds from one document's first grade to the next one's, by name or of one ``assessor``.

    Longer pauses than ``LONGEST_PAUSE`` are not counted, nor grades that came at once, as those of a file.
    """
    pace = {}
    for name, rows in groupby(store.first_grades(assessor), key=lambda row: row[0]):
        gaps = [later - earlier for (_, earlier), (_, later) in pairwise(rows)]
        counted = [gap for gap in gaps if 0 < gap <= LONGEST_PAUSE]
        if len(counted) >= FEWEST:
            pace[name] = fmean(counted)
    return pace


def duration(seconds: float) -> str:
    """Return a duration for people, in hours or, below one, in minutes."""
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else number_of(ceil(seconds / 60), "minute")
