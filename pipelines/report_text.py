"""The tables of a report: rows of a summary laid out, then written as text, Markdown, LaTeX or CSV."""

import csv
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pipelines.standard import STANDARD
from pipelines.summary import aligned

if TYPE_CHECKING:
    from pipelines.report import Results
    from pipelines.summary import Row

ABSENT = "-"
LABELS = 2  # columns before the figures: system and condition
MARKDOWN = str.maketrans({one: f"\\{one}" for one in "\\`*_[]<|~&$#"})
LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
    }
    | {one: f"\\{one}" for one in "&%$#_{}"}
)


class Line(NamedTuple):
    """One line of a table: ``cells`` holds the place in the summary of each measure's row, if there is one."""

    system: str
    condition: str
    cells: list[int | None]
    n: int


class Grid(NamedTuple):
    """A summary laid out: a line for each system, condition and number of topics, a column for each measure."""

    measures: list[str]
    lines: list[Line]


def layout(rows: "Sequence[Row]") -> Grid:
    """Lay out ``rows`` as :func:`pipelines.summary.table` does; rows over other numbers of topics stay apart."""
    present = dict.fromkeys(row["measure"] for row in rows)
    usual = [*STANDARD, "p-MRR"]
    measures = [name for name in usual if name in present] + [name for name in present if name not in usual]
    cells: dict[tuple[str, str, int], dict[str, int]] = {}
    for at, row in enumerate(rows):
        cells.setdefault((row["system"], row["condition"], row["n"]), {})[row["measure"]] = at
    order = {system: place for place, system in enumerate(dict.fromkeys(row["system"] for row in rows))}
    ordered = sorted(cells.items(), key=lambda cell: order[cell[0][0]])
    return Grid(measures, [Line(s, c, [found.get(name) for name in measures], n) for (s, c, n), found in ordered])


def shown(value: float) -> str:
    """A value as the tables print it: ×100, one decimal, no negative zero."""
    return f"{100 * value:z.1f}"


def tables(found: "Sequence[Results]", form: str) -> str:
    """The tables of all folders in one ``form``; CSV is a single one with the values in full."""
    if form == "csv":
        return _csv(found)
    write = {"text": _text, "markdown": _markdown, "latex": _latex}[form]
    return "\n".join(write(results) for results in found)


def _strings(results: "Results") -> list[list[str]]:
    """Header and lines of one folder's table."""
    grid = layout(results.rows)
    lines = [["system", "condition", *grid.measures, "n"]]
    for line in grid.lines:
        values = [ABSENT if at is None else shown(results.rows[at]["value"]) for at in line.cells]
        lines.append([line.system, line.condition, *values, str(line.n)])
    return lines


def _heading(results: "Results") -> str:
    own = f"./{results.collection}/{results.subset}".endswith(f"/{results.folder}")  # a path that says nothing new
    where = "" if own or results.folder == "." else f" ({results.folder})"
    return f"{results.title}{where}: values ×100"


def _text(results: "Results") -> str:
    return f"{_heading(results)}\n{aligned(_strings(results), left=LABELS)}\n"


def _markdown(results: "Results") -> str:
    header, *lines = [[cell.translate(MARKDOWN) for cell in line] for line in _strings(results)]
    rule = ["---" if at < LABELS else "---:" for at in range(len(header))]
    body = "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *lines))
    return f"**{_heading(results).translate(MARKDOWN)}**\n\n{body}\n"


def _latex(results: "Results") -> str:
    header, *lines = [[latex(cell, at) for at, cell in enumerate(line)] for line in _strings(results)]
    body = [f"{' & '.join(line)} \\\\" for line in lines]
    parts = [
        r"% needs \usepackage{booktabs} and \usepackage[T1]{fontenc}",
        r"\begin{table}",
        r"\centering",
        f"\\caption{{{latex(_heading(results))}}}",
        f"\\begin{{tabular}}{{{'l' * LABELS}{'r' * (len(header) - LABELS)}}}",
        r"\toprule",
        f"{' & '.join(header)} \\\\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(parts) + "\n"


def latex(text: str, column: int = 0) -> str:
    """``text`` with LaTeX's special characters escaped, and a minus sign before a negative figure."""
    if column >= LABELS and text.startswith("-") and text != ABSENT:
        return f"$-${text[1:]}"
    escaped = text.translate(LATEX).replace("×", r"$\times$")
    return re.sub("-(?=-)", "-{}", escaped)  # no dash out of two hyphens


def _csv(found: "Sequence[Results]") -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["collection", "subset", "system", "condition", "measure", "value", "n", "source"])
    for results in found:
        for at, row in enumerate(results.rows):
            figures = [row["system"], row["condition"], row["measure"], repr(row["value"]), row["n"]]
            writer.writerow([results.collection, results.subset, *figures, results.source(at)])
    return stream.getvalue()
