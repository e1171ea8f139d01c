"""Compare the systems of a collection with one of them, the baseline, and say which of them follow the instruction."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, cast

from heed.errors import UsageError, did_you_mean
from heed.measures.pairwise import P_MRR, SELECTIVITY
from heed.measures.per_topic import PerTopic, difference
from heed.measures.registry import find
from heed.measures.significance import (
    ALPHA,
    METHOD,
    NEAR,
    Interval,
    holm,
    interval,
    intervals,
    is_compared_with_zero,
    least_p,
    p_values,
)
from heed.measures.summary import (
    ABSENT,
    ON_REQUEST,
    AgainstQuery,
    AsSeen,
    Detail,
    Row,
    SystemEntry,
    aligned,
    cutoff_of,
    ends_before,
    factor,
    format_value,
    is_merit,
    list_depths,
    lower_is_better,
    rows_of,
)
from heed.notebook import data_frame, html_table
from heed.progress import brief, number_of
from heed.types import CONDITIONS

if TYPE_CHECKING:
    import pandas as pd


# Measures of following an instruction, each with those that stand beside it: the first that results have decides.
FOLLOWING = {"IRS": (P_MRR, "NFR"), "WISE": (P_MRR, "SICR"), SELECTIVITY: (P_MRR,), P_MRR: ()}
FEWEST = 5  # topics that decide anything
Kind = Literal["follows", "against", "unclear", "unseen", "ignores"]
TESTS = {"fisher": "Fisher's randomization", "wilcoxon": "Wilcoxon's signed ranks", "t": "the paired t-test"}
DECIDING = list(FOLLOWING)  # of a pair of conditions: the first that there is
LEAST = 0.001  # p-values below it are printed so
LABELS = 3  # columns of text: system, condition, measure


class Verdict(NamedTuple):
    """A measure's mean over topics with its interval, and what they say of the system.

    It follows the instruction where the interval is above 0, and goes against it where that is below 0; it ignores it
    where nothing moved in any topic. If it would not without documents that are in none of its lists, ``reason`` says
    so and it is ``unseen``.
    """

    value: float
    interval: Interval
    kind: Kind
    reason: str = ""


def verdicts(
    details: Sequence[Detail], as_seen: Sequence[AsSeen], pair: str, measures: Collection[str]
) -> dict[str, dict[str, Verdict]]:
    """Return by system the verdict of each of ``measures`` on a ``pair`` of conditions, such as ``original>changed``.

    Measures whose 0 is not "no effect" have none, nor has what is over fewer than five topics. ``as_seen`` are values
    with documents in none of the lists counted as not moved.
    """
    seen = {(each["system"], each["condition"], each["measure"]): each for each in as_seen}
    by_system: dict[str, dict[str, Verdict]] = {}
    for measure in filter(is_compared_with_zero, measures):
        for each in details:
            if (each["condition"], each["measure"]) == (pair, measure) and len(each["per_topic"]) >= FEWEST:
                between = interval([*each["per_topic"].values()])
                of_seen = seen.get((each["system"], pair, measure))
                verdict = _verdict(each["value"], between, of_seen)
                by_system.setdefault(each["system"], {})[measure] = verdict
    return by_system


def _verdict(value: float, between: Interval, of_seen: AsSeen | None) -> Verdict:
    """Return a verdict that holds ``of_seen`` documents too, which are None where all are seen."""
    kind = _kind(between)
    if not of_seen or kind in ("unclear", _kind(interval([*of_seen["per_topic"].values()]))):
        return Verdict(value, between, kind)
    documents = {P_MRR: "ruled-out documents", SELECTIVITY: "judged documents"}
    about = documents.get(of_seen["measure"], "relevant documents")
    where = "neither list" if of_seen["measure"] in documents else "none of the lists"
    count = f"{of_seen['unseen']} of {of_seen['documents']} {about}"
    return Verdict(value, between, "unseen", f"{count} are in {where}, where length alone moves them")


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


class BaselineRow(TypedDict):
    """A system's figure beside the baseline's, as a comparison's JSON has it; None for what does not apply.

    ``value``, ``low`` and ``high`` are of all its topics, the rest is over the ``n`` topics that both have.
    ``interval`` says how both intervals are made, ``test`` is ``fisher``, ``wilcoxon`` or ``t``. ``same_pool`` is
    whether two rerankers are known to have rescored one pool; False too of a measure of whole lists, where those of
    another depth are no pool of the other's. Without a ``value`` the measure looks deeper than the system's lists.
    """

    system: str
    condition: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    p: float | None
    p_holm: float | None
    n: int
    better: int | None
    equal: int | None
    worse: int | None
    same_pool: bool | None
    test: str | None
    interval: str | None


Sampled = tuple[BaselineRow, list[float]]  # a row with its differences to the baseline, by topic


class AgainstBaseline(NamedTuple):
    """The systems against ``baseline``; ``chosen`` is whether it was chosen by its figures, after the fact.

    ``print`` and a notebook show ``columns``, conditions with their measures, of which the sentences are; ``rows`` has
    all.
    """

    baseline: str
    chosen: bool
    rows: list[BaselineRow]
    sentences: list[str]
    warnings: list[str]
    columns: list[tuple[str, str]]

    @property
    def title(self) -> str:
        """What the table holds."""
        return f"against {self.baseline}, values ×100; +/=/-: topics better, equal, worse"

    @property
    def notes(self) -> list[str]:
        """The tests and the intervals of the table, then the sentences."""
        tests = " or ".join(name for test, name in TESTS.items() if any(row["test"] == test for row in self.rows))
        how = f"p: two-sided, by {tests}, corrected by Holm over systems"
        return [*([how] if tests else []), f"[ ]: {METHOD}", *self.sentences]

    def __str__(self) -> str:
        """Return table, notes and warnings as text."""
        return "\n".join([self.title, aligned(self.cells(), LABELS), *self.notes, *self.warnings])

    def _repr_html_(self) -> str:
        lines = self.cells()
        return html_table(self.title, lines, range(LABELS, len(lines[0])), [*self.notes, *self.warnings])

    def to_pandas(self) -> "pd.DataFrame":
        """Return a frame of all rows; :class:`UsageError` where pandas is not installed."""
        return data_frame(self.rows, [*BaselineRow.__annotations__])

    def cells(self) -> list[list[str]]:
        """Return header and lines of the table."""
        lines = [["system", "condition", "measure", "value", "difference", "p (Holm)", "+/=/-"]]
        for row in (row for column in self.columns for row in self.rows if _column(row) == column):
            counts = [str(row[side]) for side in ("better", "equal", "worse") if row[side] is not None]
            p_value = "" if row["p_holm"] is None else p_text(row["p_holm"])
            value = "" if row["value"] is None else format_value(row["measure"], row["value"])
            figures = [value, _difference_text(row), p_value, "/".join(counts)]
            lines.append([row["system"], row["condition"], row["measure"], *(figure or ABSENT for figure in figures)])
        return lines


def against_baseline(
    details: Sequence[Detail],
    systems: Sequence[SystemEntry],
    baseline: str = "",
    *,
    test: str = "",
    across_pools: bool = False,
    directions: Mapping[str, bool] = {},
    measures: Collection[str] = (),
) -> AgainstBaseline:
    """Return every system's figures against those of the ``baseline``, tested over the topics that both have.

    Without one it is the first stage with the best nDCG under ``original``, or else under ``query``. A ``test`` of
    ``""`` is Fisher's randomization (Smucker, Allan and Carterette, CIKM 2007), for pairwise measures Wilcoxon's
    signed ranks, as in mFollowIR; ``"t"`` is the paired t-test. p-values are corrected by Holm (1979) over the systems
    that are tested by a measure under a condition. Shares of documents and counts, which are no merit of a system, have
    values alone. A reranker is tested against any first stage, and against another reranker of the same pool; measures
    of whole lists only between lists of one depth, and against the first stage that was rescored; others if
    ``across_pools``. A system whose entry in ``systems`` lacks the ``pool`` may have rescored any. ``directions`` says
    of the user's own measures whether lower is better. Table and sentences are of ``measures``, by default of an nDCG
    of each condition and of all measures of pairs. Raises :class:`UsageError` for an unknown baseline or test, and
    without details.
    """
    if test not in ("", "t"):
        usual = "none for Fisher's randomization and, of pairs, Wilcoxon's test"
        raise UsageError(f"test: found {test!r}, expected t for the paired t-test, or {usual}")
    names = list(dict.fromkeys(detail["system"] for detail in details))
    if not names:
        raise UsageError("baseline: no values by topic to compare; give judgements, and run the command again")
    entries = {name: SystemEntry(system=name) for name in names} | {entry["system"]: entry for entry in systems}
    depths = list_depths(entries.values())
    details = [each for each in details if not ends_before(each["system"], each["measure"], depths)]
    chosen, sentences = not baseline, list[str]()
    if chosen:
        baseline, reason = _best_first_stage(details, entries)
        sentences.append(reason)
    elif baseline not in names:
        meant = did_you_mean(baseline, names, before="; ")
        raise UsageError(f"baseline: found {baseline!r}, expected one of {', '.join(names)}{meant}")
    same = [_same_lists(each["measure"], entries[each["system"]], entries[baseline], depths) for each in details]
    empty = dict.fromkeys(BaselineRow.__annotations__)
    rows = [
        cast(BaselineRow, empty | row | {"same_pool": each}) for row, each in zip(rows_of(details), same, strict=True)
    ]
    values = ((row, detail["per_topic"]) for row, detail in zip(rows, details, strict=True) if is_merit(row["measure"]))
    merits = [(row, per_topic) for row, per_topic in values if per_topic]
    _add_intervals(merits)
    base = {_column(row): per_topic for row, per_topic in merits if row["system"] == baseline}
    pairs = [
        (row, [*difference(per_topic, base.get(_column(row), {})).values()])
        for row, per_topic in merits
        if row["system"] != baseline
    ]
    compared = [(row, sample) for row, sample in pairs if sample]
    _add_differences(compared, directions)
    allowed = [(row, sample) for row, sample in compared if across_pools or row["same_pool"] is not False]
    tested = _add_p_values(allowed, test)
    columns, main = _shown(rows, measures), _main_measures(rows)
    with_p = [row for row, _ in compared if row["p_holm"] is not None and row["condition"] in main]
    said = [row for column in columns for row in with_p if _column(row) == column]
    sentences += [
        _sentence(row, baseline, tested[_column(row)], directions) + _depths(row, depths, baseline) for row in said
    ]
    sentences += [_rescored(entry) for entry in systems if entry.get("first_stages")]
    beyond = _beyond_lists(rows, depths)
    lacking = dict.fromkeys((row["system"], row["measure"]) for row in beyond if _column(row) in columns)
    sentences += [f"{name} has no {measure}: its lists end at {depths[name]} documents" for name, measure in lacking]
    untested = [row for row, _ in compared if row["same_pool"] is False and not across_pools]
    warnings = [*_untested(untested, entries, depths, baseline), *_warnings(pairs, base, baseline)]
    least = min((tested[_column(row)] * least_p(row["n"]) for row in said if row["test"] != "t"), default=0.0)
    if least >= ALPHA:
        warnings.append(f"so few topics can show no difference of so many systems: p is {p_text(least)} at least")
    return AgainstBaseline(baseline, chosen, rows + beyond, sentences, warnings, columns)


def _beyond_lists(rows: Sequence[BaselineRow], depths: Mapping[str, int]) -> list[BaselineRow]:
    """Return rows without figures of the measures in ``rows`` that look deeper than a system's lists."""
    had, empty = {(row["system"], *_column(row)) for row in rows}, dict.fromkeys(BaselineRow.__annotations__)
    return [
        cast(BaselineRow, empty | {"system": name, "condition": condition, "measure": measure, "n": 0})
        for condition, measure in dict.fromkeys(map(_column, rows))
        for name in depths
        if ends_before(name, measure, depths) and (name, condition, measure) not in had
    ]


def _add_intervals(merits: Sequence[tuple[BaselineRow, PerTopic]]) -> None:
    """Add to each row the interval of its mean over topics."""
    ordered = [[per_topic[qid] for qid in sorted(per_topic)] for _, per_topic in merits]  # drawn from by position
    for (row, _), (low, high) in zip(merits, intervals(ordered), strict=True):
        row.update({"low": low, "high": high, "interval": METHOD})


def _add_differences(compared: Sequence[Sampled], directions: Mapping[str, bool]) -> None:
    """Add to each row its difference to the baseline, and how many topics are better, equal and worse."""
    for (row, sample), (low, high) in zip(compared, intervals([sample for _, sample in compared]), strict=True):
        sign = -1 if lower_is_better(row["measure"], directions) else 1
        better, worse = (sum(side * sign * each > NEAR for each in sample) for side in (1, -1))
        row.update({"difference": math.fsum(sample) / len(sample), "difference_low": low, "difference_high": high})
        row.update({"n": len(sample), "better": better, "equal": len(sample) - better - worse, "worse": worse})


def _add_p_values(compared: Sequence[Sampled], test: str) -> dict[tuple[str, str], int]:
    """Add to each row its p-value and Holm's; return how many systems are tested by condition and measure.

    ``test`` is that of all measures; where it is empty each has its own.
    """
    for row, _ in compared:
        declared = find(row["measure"])
        row["test"] = test or (declared.test if declared else "fisher")
    columns: dict[tuple[str, str], list[BaselineRow]] = {}
    for kind in TESTS:
        tested = [(row, sample) for row, sample in compared if row["test"] == kind]
        for (row, _), p_value in zip(tested, p_values(kind, [sample for _, sample in tested]), strict=True):
            if not math.isnan(p_value):
                row["p"] = p_value
                columns.setdefault(_column(row), []).append(row)
    for rows in columns.values():
        corrected = holm({row["system"]: row["p"] or 0.0 for row in rows})
        for row in rows:
            row["p_holm"] = corrected[row["system"]]
    return {column: len(rows) for column, rows in columns.items()}


def _column(row: Row | BaselineRow) -> tuple[str, str]:
    return row["condition"], row["measure"]


def _is_first_stage(entry: SystemEntry) -> bool:
    """Return whether a system is known to have rescored nothing."""
    return "pool" in entry and not (entry["pool"] or entry.get("first_stages"))


def _same_pool(first: SystemEntry, second: SystemEntry) -> bool | None:
    """Return whether two rerankers are known to have rescored one pool; None where one is a first stage of any."""
    if first is second:
        return None
    orders = (first, second), (second, first)
    if any(_is_first_stage(base) or base["system"] in (new.get("first_stages") or ()) for base, new in orders):
        return None
    return bool(first.get("pool")) and first.get("pool") == second.get("pool")


def _same_lists(measure: str, system: SystemEntry, baseline: SystemEntry, depths: Mapping[str, int]) -> bool | None:
    """Return the same of a measure, False too where it reads whole lists and one is of another depth than the other.

    Not of a reranker and its first stage, whose list it shortens.
    """
    of_both = {depths[entry["system"]] for entry in (system, baseline) if entry["system"] in depths}
    is_own = any(base["system"] in (new.get("first_stages") or ()) for base, new in permutations((system, baseline)))
    return False if len(of_both) > 1 and not cutoff_of(measure) and not is_own else _same_pool(system, baseline)


def _best_first_stage(details: Sequence[Detail], entries: Mapping[str, SystemEntry]) -> tuple[str, str]:
    """Return the first stage with the best headline figure, and a sentence that says why it is the baseline.

    Where no system is known to be a first stage, it is any.
    """
    main = _main_measures(details)
    condition = next((name for name in ("original", "query") if name in main), next(iter(main), ""))
    column = [each for each in details if _column(each) == (condition, main.get(condition))] or details
    first_stages = [each for each in column if _is_first_stage(entries[each["system"]])]
    best = max(first_stages or column, key=lambda each: each["value"])
    where = f"{best['measure']}{_under(best['condition'])}"
    why = f"with the best {where}; it was chosen after the fact: name a baseline to choose another"
    return best["system"], f"{best['system']} is the baseline, the {'first stage' if first_stages else 'system'} {why}"


def _untested(
    rows: Sequence[BaselineRow], entries: Mapping[str, SystemEntry], depths: Mapping[str, int], baseline: str
) -> Iterator[str]:
    """Yield why ``rows`` are not tested."""
    against, request = f"not tested against {baseline}", "across_pools=True tests all the same"
    other = {row["system"] for row in rows if _same_pool(entries[row["system"]], entries[baseline]) is False}
    if of_pools := [*dict.fromkeys(row["system"] for row in rows if row["system"] in other)]:
        yield f"{brief(of_pools)}: {against}, since they rescored another pool, or one that is not known; {request}"
    of_depths = [row for row in rows if row["system"] not in other]
    if measures := [*dict.fromkeys(row["measure"] for row in of_depths if row["measure"] not in ON_REQUEST)]:
        known = [f"{name} {depths[name]}" for name in dict.fromkeys([baseline, *(row["system"] for row in of_depths)])]
        yield f"{brief(measures)}: {against} where lists are of another depth ({brief(known)}); {request}"


def _warnings(
    pairs: Sequence[tuple[BaselineRow, Sequence[float]]],
    base: Mapping[tuple[str, str], PerTopic],
    baseline: str,
) -> Iterator[str]:
    """Yield what is not compared, and what is over fewer topics than a system has."""
    had = {condition for condition, _ in base}
    if lacking := [*dict.fromkeys(row["condition"] for row, _ in pairs if row["condition"] not in had)]:
        yield f"{baseline} has no figures under {brief(lacking)}: nothing is compared there"
    fewer = [
        f"{row['system']}, {row['measure']}{_under(row['condition'])} ({len(sample)} of {most})"
        for row, sample in pairs
        if sample and len(sample) < (most := max(row["n"], len(base[_column(row)])))
    ]
    if fewer:
        yield f"differences are over the topics that both systems have, here not all: {brief(fewer)}"


def _shown(rows: Sequence[BaselineRow], measures: Collection[str]) -> list[tuple[str, str]]:
    """Return the conditions with ``measures``, or with those that a table has by default."""
    main = _main_measures(rows)

    def is_shown(condition: str, measure: str) -> bool:
        if measures:
            return measure in measures
        of_pair = ">" in condition and is_merit(measure) and measure not in ON_REQUEST
        return of_pair or main.get(condition) == measure

    return [column for column in dict.fromkeys(map(_column, rows)) if is_shown(*column)]


def _main_measures(rows: Sequence[Row | BaselineRow]) -> dict[str, str]:
    """Return the main measure of each condition and pair: an nDCG, one that decides, else the first."""
    by_condition: dict[str, list[str]] = {}
    for row in rows:
        if is_merit(row["measure"]) and (row["condition"] in ("", *CONDITIONS) or ">" in row["condition"]):
            by_condition.setdefault(row["condition"], []).append(row["measure"])
    return {condition: min(names, key=_preference) for condition, names in by_condition.items()}


def _preference(measure: str) -> int:
    return 0 if measure.startswith("nDCG") else DECIDING.index(measure) if measure in DECIDING else len(DECIDING)


def _sentence(row: BaselineRow, baseline: str, tested: int, directions: Mapping[str, bool]) -> str:
    """Return a sentence that says whether a system is better than the baseline; ``tested`` counts Holm's systems."""
    p_value, condition = row["p_holm"] or 0.0, row["condition"]
    side = "better" if ((row["difference"] or 0.0) > 0) != lower_is_better(row["measure"], directions) else "worse"
    verdict = f"{'does' if '>' in condition else 'ranks'} {side} than"
    if p_value >= ALPHA:
        verdict = "does not differ significantly from"
    figures = f"{row['measure']} {_difference_text(row)}, p {p_text(p_value)}"
    holms = f" (Holm over {tested} systems)" if tested > 1 else ""
    equal = f", {row['equal']} equal" if row["equal"] else ""
    counts = f"{number_of(row['better'] or 0, 'topic')} better{equal}, {row['worse']} worse"
    doubt = f"; p and interval disagree: {interval}" if (interval := disagreement(row)) else ""
    return f"{row['system']} {verdict} {baseline}{_under(condition)}: {figures}{holms}, {counts}{doubt}"


def _depths(row: BaselineRow, depths: Mapping[str, int], baseline: str) -> str:
    """Return words for the depths of two systems' lists where these differ and a measure reads the whole of them."""
    system, other = (depths.get(name) for name in (row["system"], baseline))
    if cutoff_of(row["measure"]) or not (system and other) or system == other:
        return ""
    return f"; of lists of {system} and {other} documents"


def _rescored(entry: SystemEntry) -> str:
    """Return a sentence that says what a reranker rescored."""
    depth = f" to depth {entry['depth']}" if entry.get("depth") else ""
    return f"{entry['system']} rescored {', '.join(entry.get('first_stages') or ())}{depth}"


def disagreement(row: BaselineRow) -> str:
    """Return words for the interval of a tested difference where its p-value says otherwise, else an empty text."""
    excludes = not (row["difference_low"] or 0.0) <= 0 <= (row["difference_high"] or 0.0)
    said = f"the interval {'excludes' if excludes else 'includes'} 0"
    return said if excludes != ((row["p_holm"] or 0.0) < ALPHA) else ""


def _under(condition: str) -> str:
    """Return the words for a condition, or for a pair of conditions."""
    return f" {'over' if '>' in condition else 'under'} {condition}" if condition else ""


def p_text(p_value: float) -> str:
    """Return a p-value with two digits, and three where it is small."""
    return f"<{LEAST}" if p_value < LEAST else f"{p_value:.3f}" if p_value < 0.1 else f"{p_value:.2f}"


def _difference_text(row: BaselineRow) -> str:
    """Return a difference with its interval as the tables print them; empty where there is none."""
    figures = row["difference"], row["difference_low"], row["difference_high"]
    if None in figures:
        return ""
    difference, low, high = (f"{factor(row['measure']) * (figure or 0):z.1f}" for figure in figures)
    return f"{'' if difference.startswith('-') else '+'}{difference} [{low}, {high}]"
