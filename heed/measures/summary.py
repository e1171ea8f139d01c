"""The results of a collection: rows of measures, as JSON and as the printed table."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, NotRequired, TypedDict

from msgspec import Meta

from heed.measures.pairwise import GOLD_RANK, KEPT, P_MRR, SELECTIVITY
from heed.measures.per_topic import Measure
from heed.measures.registry import find

ABSENT = "-"
CUTOFF = re.compile(r"@(\d+)")
AS_IT_IS = re.compile(rf"({GOLD_RANK}|Num(Q|Rel|Ret|RelRet))\b")  # measures not printed ×100
NO_MERIT = re.compile(r"Judged|Num(Q|Rel|Ret|RelRet)\b")
LABELS = 2  # columns before the figures: system and condition
IN_NEITHER = " in neither"  # after a measure: the share of its documents that are in none of the lists
IN_ONE = " in one only"  # the share of those that are in one of the two lists
ON_REQUEST = (KEPT, f"{P_MRR}{IN_NEITHER}", f"{P_MRR}{IN_ONE}")  # in all files, printed where they are asked for
WIDTH = 100  # characters of a printed line; columns beyond come below
COLUMNS = ("nDCG", "Judged", "AP", "R", "Robustness", GOLD_RANK, P_MRR, KEPT, SELECTIVITY)  # others after these

# What a results file may hold. A number beyond 1e9 is a mistake, and so are NaN and infinity; control characters and
# halves of surrogate pairs reach no report.
CONTROL = r"\x00-\x1f\x7f-\x9f\ud800-\udfff"
Label = Annotated[str, Meta(pattern=rf"^[^{CONTROL}]*\Z")]
Name = Annotated[str, Meta(pattern=rf"^[^{CONTROL}]*[^\s{CONTROL}][^{CONTROL}]*\Z")]
Number = Annotated[float, Meta(ge=-1e9, le=1e9)]
Count = Annotated[int, Meta(ge=0, le=10**9)]
Rank = Annotated[int, Meta(ge=1, le=10**9)]
Group = Literal["compliant", "violating"]


class Row(TypedDict):
    """One figure: ``value`` on the measure's own scale, the mean over ``n`` topics."""

    system: Name
    condition: Name
    measure: Name
    value: Number
    n: Count


class Detail(Row):
    """The same with the value of each topic, by qid."""

    per_topic: dict[Label, Number]


class Shift(TypedDict):
    """The ranks of a judged document under the base condition and under the new one."""

    system: Name
    qid: Label
    docid: Label
    group: Group
    base: Rank
    new: Rank


class AsSeen(TypedDict):
    """A measure's values by topic where documents in none of the lists count as not moved: ``unseen`` of its all."""

    system: Name
    condition: Name
    measure: Name
    per_topic: dict[Label, Number]
    unseen: Count
    documents: Count


class AgainstQuery(TypedDict):
    """A system's ranking under an instruction beside that of the query alone.

    ``query`` and ``instructed`` are means of ``measure`` over the same ``n`` topics, both by the judgements of
    ``condition``; ``p`` is the one-sided p-value that the ranking is worse with the instruction.
    """

    system: Name
    condition: Name
    measure: Name
    query: Number
    instructed: Number
    p: Number
    n: Count


class SystemEntry(TypedDict):
    """A system of the results: what it rescored, and how many replies of a model were no answers.

    ``first_stages`` are the systems whose runs were pooled, ``pool`` the digest of that pool and ``documents`` its
    number of documents over all topics; None of a first stage, absent where not known. ``depth`` is that of the pool,
    of a first stage the most documents that a list has; None where not known.
    """

    system: Name
    first_stages: NotRequired[list[Name] | None]
    depth: NotRequired[Count | None]
    pool: NotRequired[Label | None]
    documents: NotRequired[Count | None]
    unanswered: NotRequired[Count]


class GridLine(NamedTuple):
    """One line of a table; ``rows`` maps a measure to the index of its row in the summary."""

    system: str
    condition: str
    n: int
    rows: dict[str, int]


class Grid(NamedTuple):
    """A table: a line for each system, condition and number of topics, a column for each measure."""

    measures: list[str]
    lines: list[GridLine]


def rows_of(details: Sequence[Detail]) -> list[Row]:
    """Return the rows of ``summary.json``: ``details`` without the topics."""
    return [
        Row(system=row["system"], condition=row["condition"], measure=row["measure"], value=row["value"], n=row["n"])
        for row in details
    ]


def average(subsets: Sequence[Sequence[Row]]) -> list[Row]:
    """Return the unweighted mean over subsets of every figure that all of them have; ``n`` is the sum of theirs."""
    tables = [{(row["system"], row["condition"], row["measure"]): row for row in rows} for rows in subsets]
    averages = []
    for key in tables[0]:
        if not all(key in table for table in tables):
            continue
        rows = [table[key] for table in tables]
        value, n = math.fsum(row["value"] for row in rows) / len(rows), sum(row["n"] for row in rows)
        system, condition, measure = key
        averages.append(Row(system=system, condition=condition, measure=measure, value=value, n=n))
    return averages


def layout(rows: Sequence[Row]) -> Grid:
    """Return ``rows`` as a table: systems as they come, measures by family, a line for each number of topics."""
    measures = sorted(dict.fromkeys(row["measure"] for row in rows), key=_column)
    systems = list(dict.fromkeys(row["system"] for row in rows))
    lines: dict[tuple[str, str, int], GridLine] = {}
    for index, row in enumerate(rows):
        key = row["system"], row["condition"], row["n"]
        lines.setdefault(key, GridLine(*key, {})).rows[row["measure"]] = index
    return Grid(measures, sorted(lines.values(), key=lambda line: systems.index(line.system)))


def _column(measure: str) -> int:
    name = measure.partition("@")[0]
    return COLUMNS.index(name) if name in COLUMNS else len(COLUMNS)


def lower_is_better(measure: str, directions: Mapping[str, bool] | None = None) -> bool:
    """Return whether the lowest value of ``measure`` is the best; ``directions`` says it of the user's own measures."""
    if directions and measure in directions:
        return directions[measure]
    declared = find(measure)
    return is_share(measure) or (declared is not None and declared.lower_is_better)


def own_directions(measures: Sequence[str | Measure]) -> dict[str, bool]:
    """Return for each of the user's own measures whether lower is better, as ``summary.json`` says it."""
    return {each.name: each.lower_is_better for each in measures if isinstance(each, Measure) and each.is_own}


def is_share(measure: str) -> bool:
    """Return whether ``measure`` is a share of documents whose move is not seen, which is no merit of a system."""
    return measure.endswith((IN_NEITHER, IN_ONE))


def is_merit(measure: str) -> bool:
    """Return whether ``measure`` is a merit of a system: not a share of documents judged or seen, and not a count."""
    return not (is_share(measure) or NO_MERIT.match(measure))


def printed(rows: Sequence[Row], requested: Sequence[str] = (), depth: float = math.inf) -> list[Row]:
    """Return the rows of a printed table: those ``requested`` by measure, and of the others all but some.

    Left out are the measures of ``ON_REQUEST``, shares of documents whose move is not seen (many of them are a
    warning), and measures that look deeper than the ``depth`` of the runs.
    """

    def is_usual(measure: str) -> bool:
        return not (measure in ON_REQUEST or is_share(measure)) and cutoff_of(measure) <= depth

    return [row for row in rows if row["measure"] in requested or is_usual(row["measure"])]


def list_depths(entries: Iterable[SystemEntry]) -> dict[str, int]:
    """Return the most documents in a list of each system, where known: of rerankers no more than of first stages."""
    depths = {each["system"]: (each.get("depth") or 0, bool(each.get("first_stages"))) for each in entries}
    deepest = max((depth for depth, of_pool in depths.values() if not of_pool), default=0)
    lists = {name: min(depth, deepest or depth) if of_pool else depth for name, (depth, of_pool) in depths.items()}
    return {name: depth for name, depth in lists.items() if depth}


def ends_before(system: str, measure: str, depths: Mapping[str, int]) -> bool:
    """Return whether the lists of a system end before ``measure`` does, and those of another are longer.

    Its value would be of shorter lists than the other's: R@100 of 20 documents is R@20. ``depths`` are those of
    :func:`list_depths`; lists of a depth that is not known end nowhere.
    """
    return depths.get(system, math.inf) < min(max(depths.values(), default=0), cutoff_of(measure))


def cutoff_of(measure: str) -> int:
    """Return the rank at which a measure stops, as in its name; 0 for none, which reads whole lists."""
    cutoff = CUTOFF.search(measure)
    return int(cutoff[1]) if cutoff else 0


def cells(rows: Sequence[Row]) -> list[list[str]]:
    """Return header and lines of the table of ``rows`` as text; ``-`` where there is no figure."""
    grid = layout(rows)
    values = [format_value(row["measure"], row["value"]) for row in rows]
    lines, above = [["system", "condition", *grid.measures, "n"]], ["", ""]
    for line in grid.lines:
        figures = [values[line.rows[measure]] if measure in line.rows else ABSENT for measure in grid.measures]
        # below itself a system under a condition is there by measures of another number of topics
        labels = [line.system, line.condition]
        lines.append([*(["", ""] if labels == above else labels), *figures, str(line.n)])
        above = labels
    return lines


def format_value(measure: str, value: float) -> str:
    """Return a value as the tables print it: ×100 or as it is (:func:`factor`), one decimal, no negative zero."""
    return f"{factor(measure) * value:z.1f}"


def factor(measure: str) -> int:
    """Return the factor of printed values: 100, and 1 for a mean rank and for ir_measures' counts."""
    return 1 if AS_IT_IS.match(measure) else 100


def table(rows: Sequence[Row], title: str) -> str:
    """Return the table of ``rows`` as text under a title, one line for each system and condition."""
    return f"{title}\n{aligned(cells(rows), LABELS, last=1)}"


def aligned(rows: Sequence[Sequence[str]], left: int, last: int = 0, width: float = WIDTH) -> str:
    """Return rows, the header first, as columns of text: the first ``left`` to the left, the others to the right.

    Columns beyond ``width`` come below, between the first ``left`` and the ``last`` ones again; those that are empty
    below their header are left out.
    """
    columns = []
    for number, cells in enumerate(zip(*rows, strict=True)):
        if number >= left and len(rows) > 1 and not any(cells[1:]):
            continue
        longest = max(map(len, cells))
        columns.append([cell.ljust(longest) if number < left else cell.rjust(longest) for cell in cells])
    end = len(columns) - last
    blocks: list[list[list[str]]] = [[]]
    for column in columns[left:end]:
        line = [*columns[:left], *blocks[-1], column, *columns[end:]]
        if blocks[-1] and len("  ".join(cells[0] for cells in line)) > width:
            blocks.append([])
        blocks[-1].append(column)
    whole = ([*columns[:left], *block, *columns[end:]] for block in blocks)
    return "\n\n".join("\n".join("  ".join(line).rstrip() for line in zip(*block, strict=True)) for block in whole)
