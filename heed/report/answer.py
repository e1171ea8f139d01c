"""The answer of a results folder: which systems follow a change of instruction, a row for each, with 95% intervals."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from heed.measures.pairwise import P_MRR, SELECTIVITY
from heed.measures.power import POWER, power_of
from heed.measures.significance import ALPHA, Interval, interval
from heed.measures.summary import Detail, format_value
from heed.report.charts.part_charts import TYPES
from heed.report.results import Results

# Two measures of a pair of conditions, and which of both decide where they are there: the first that a folder has.
MEASURES = ((("IRS", "NFR"), "IRS"), (("WISE", "SICR"), "WISE"), ((P_MRR, SELECTIVITY), SELECTIVITY), ((P_MRR,), P_MRR))
SCALES = {  # in printed units
    P_MRR: "−100 … 100; 0 = the change is ignored",
    SELECTIVITY: "−200 … 200; 0 = what is ruled out falls no further than what stays relevant",
    "IRS": "−100 … 100; above 0 = relevant tables rise, excluded ones fall",
    "NFR": "0 … 100, lower is better; excluded tables that rise",
    "WISE": "−100 … 100; 0 = the instruction is ignored",
    "SICR": "0 … 100; relevant documents that rise with the instruction and fall with its reverse",
}
FEWEST = 5  # topics that decide anything
VERDICTS = ("following", "against", "ignoring", "unclear")


class Answer(NamedTuple):
    """A table of one row a system, the best first and last those not compared, of conditions and measures, ``columns``.

    ``indices`` are those of the folder's rows, by system, condition and measure; ``intervals`` by the same. By that
    of the ``deciding`` measure, systems with their printed values are ``verdicts``, of the kinds ``VERDICTS``.
    ``shown`` is a sentence that says what difference of it so many topics can show; it may be empty.
    """

    pair: str
    deciding: str
    columns: list[tuple[str, str]]
    systems: list[str]
    indices: dict[tuple[str, str, str], int]
    intervals: dict[tuple[str, str, str], Interval]
    verdicts: dict[str, list[tuple[str, str]]]
    shown: str


def answer(results: Results, further: Sequence[str] = ()) -> Answer | None:
    """Return the answer of a folder; None where no measure compares two conditions.

    It has columns of ``further`` measures of the same two conditions.
    """
    had = [(row["condition"], row["measure"]) for row in results.rows if row["condition"] not in TYPES]
    chosen = ((names, column) for names, decides in MEASURES for column in had if column[1] == decides)
    measures, (pair, deciding) = next(chosen, ((), ("", "")))
    if not measures:
        return None
    measures = tuple(dict.fromkeys((*measures, *further)))
    main = next((name for condition, name in had if condition == pair.rpartition(">")[2]), "")
    columns = [(condition, main) for condition in (*pair.split(">"), "reversed")] + [(pair, name) for name in measures]
    indices = {(row["system"], row["condition"], row["measure"]): index for index, row in enumerate(results.rows)}
    values = {
        row["system"]: row["value"] for row in results.rows if (row["condition"], row["measure"]) == (pair, deciding)
    }
    details = [each for each in results.details if each["condition"] == pair and each["measure"] in measures]
    intervals = {
        (each["system"], pair, each["measure"]): interval(list(each["per_topic"].values()))
        for each in details
        if len(each["per_topic"]) >= FEWEST
    }
    verdicts: dict[str, list[tuple[str, str]]] = {kind: [] for kind in VERDICTS}
    systems = dict.fromkeys(row["system"] for row in results.rows)
    ordered = sorted(systems, key=lambda system: values.get(system, float("-inf")), reverse=True)
    for system in ordered:
        if between := intervals.get((system, pair, deciding)):
            verdicts[_verdict(between)].append((system, f"{100 * values[system]:+z.1f}"))
    shown = [column for column in columns if column in had]
    what_topics_show = _shown_by_topics(deciding, [each for each in details if each["measure"] == deciding])
    return Answer(pair, deciding, shown, ordered, indices, intervals, verdicts, what_topics_show)


def _verdict(between: Interval) -> str:
    """Return the verdict on a system: it ignores the change where nothing moved in any topic."""
    if between.low == between.high == 0:
        return "ignoring"
    return "following" if between.low > 0 else "against" if between.high < 0 else "unclear"


def _shown_by_topics(measure: str, details: Sequence[Detail]) -> str:
    """Return a sentence with the least differences from 0 and between two systems that the topics can show."""
    values = [each["per_topic"] for each in details if len(each["per_topic"]) >= FEWEST]
    powers = [power for power in map(power_of, values) if power]
    if not powers:
        return ""
    topics = _range(f"{power['n']}" for power in powers)
    from_zero = _range(format_value(measure, power["difference"]) for power in powers)
    between = power_of(*values) if len(values) > 1 else None
    of_two = f", and of {format_value(measure, between['difference'])} points between two systems" if between else ""
    return (
        f"{topics} topics can show a difference of {from_zero} points of {measure} from 0{of_two} "
        f"(power {POWER}, two-sided t-test at {ALPHA:.0%})."
    )


def _range(numbers: Iterable[str]) -> str:
    least, *_, most = sorted([*numbers] * 2, key=float)
    return least if least == most else f"{least} to {most}"
