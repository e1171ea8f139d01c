"""Does a system follow the instruction? A verdict by each measure of a pair of conditions, and by its ranking."""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from heed.measures.pairwise import P_MRR, SELECTIVITY
from heed.measures.power import is_compared_with_zero
from heed.measures.significance import ALPHA, Interval, interval
from heed.measures.summary import AgainstQuery, Detail

# Measures of following an instruction, each with those that stand beside it: the first that results have decides.
FOLLOWING = {"IRS": (P_MRR, "NFR"), "WISE": (P_MRR, "SICR"), SELECTIVITY: (P_MRR,), P_MRR: ()}
FEWEST = 5  # topics that decide anything
Kind = Literal["follows", "against", "unclear", "ignores"]


class Verdict(NamedTuple):
    """A measure's mean over topics with its interval, and what they say of the system.

    It follows the instruction where the interval is above 0, and goes against it where that is below 0; it ignores it
    where nothing moved in any topic.
    """

    value: float
    interval: Interval
    kind: Kind


def verdicts(details: Sequence[Detail], pair: str, measures: Collection[str]) -> dict[str, dict[str, Verdict]]:
    """Return by system the verdict of each of ``measures`` on a ``pair`` of conditions, such as ``original>changed``.

    Measures whose 0 is not "no effect" have none, nor has what is over fewer than five topics.
    """
    by_system: dict[str, dict[str, Verdict]] = {}
    for measure in filter(is_compared_with_zero, measures):
        for each in details:
            if (each["condition"], each["measure"]) == (pair, measure) and len(each["per_topic"]) >= FEWEST:
                between = interval([*each["per_topic"].values()])
                by_system.setdefault(each["system"], {})[measure] = Verdict(each["value"], between, _kind(between))
    return by_system


def _kind(between: Interval) -> Kind:
    if between.low == between.high == 0:
        return "ignores"
    return "follows" if between.low > 0 else "against" if between.high < 0 else "unclear"


def worse_than_query(against: Sequence[AgainstQuery], conditions: Collection[str]) -> dict[str, str]:
    """Return by system the first of ``conditions`` whose instruction makes its ranking worse than the query alone."""
    rows = [each for each in against if each["condition"] in conditions and each["p"] < ALPHA]
    return {each["system"]: each["condition"] for each in reversed(rows)}


def instruction(condition: str, pair: str) -> str:
    """Return an instruction as a sentence names it: the only one where ``pair`` compares it with none."""
    only = condition == "original" and not pair.startswith("original>")
    return "the instruction" if only else f"the {condition} instruction"
