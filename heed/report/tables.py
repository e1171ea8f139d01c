"""A report as tables: text, Markdown, LaTeX, CSV."""

import csv
import io
import re
from collections.abc import Sequence

from heed.measures.summary import LABELS, aligned, cells, printed, table
from heed.report.results import ResultsFolder

MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<|~&$#"})
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
    | {character: f"\\{character}" for character in "&%$#_{}"}
)


def tables(folders: Sequence[ResultsFolder], form: str) -> str:
    """Return the tables of all folders as ``text``, ``markdown``, ``latex`` or ``csv``.

    CSV is a single table with the values in full; text has the measures that the commands print. KeyError for another
    ``form``.
    """
    if form == "csv":
        return _csv(folders)
    if form == "text":
        return "\n".join(f"{table(printed(results.rows), _heading(results))}\n" for results in folders)
    return "\n".join(formatted(form, _heading(results), cells(results.rows)) for results in folders)


def formatted(form: str, heading: str, rows: Sequence[Sequence[str]], labels: int = LABELS) -> str:
    """Return ``rows``, the header first, as a table in ``text``, ``markdown`` or ``latex`` under a heading.

    The first ``labels`` columns are words, the others figures. KeyError for another ``form``.
    """
    write = {"text": _text, "markdown": _markdown, "latex": _latex}[form]
    return write(heading, rows, labels)


def _heading(results: ResultsFolder) -> str:
    # a folder named as collection and subset says nothing new
    named_alike = f"./{results.collection}/{results.subset}".endswith(f"/{results.folder}")
    folder = "" if named_alike or results.folder == "." else f" ({results.folder})"
    return f"{results.title}{folder}: values ×100"


def _text(heading: str, rows: Sequence[Sequence[str]], labels: int) -> str:
    return f"{heading}\n{aligned(rows, labels)}\n"


def _markdown(heading: str, rows: Sequence[Sequence[str]], labels: int) -> str:
    header, *lines = [[cell.translate(MARKDOWN) for cell in line] for line in rows]
    rule = ["---" if column < labels else "---:" for column in range(len(header))]
    body = "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *lines))
    return f"**{heading.translate(MARKDOWN)}**\n\n{body}\n"


def _latex(heading: str, rows: Sequence[Sequence[str]], labels: int) -> str:
    header, *lines = [[latex(cell, column) for column, cell in enumerate(line)] for line in rows]
    body = [f"{' & '.join(line)} \\\\" for line in lines]
    parts = [
        r"% needs \usepackage{booktabs} and \usepackage[T1]{fontenc}",
        r"\begin{table}",
        r"\centering",
        f"\\caption{{{latex(heading)}}}",
        f"\\begin{{tabular}}{{{'l' * labels}{'r' * (len(header) - labels)}}}",
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
    """Return ``text`` with LaTeX's special characters escaped, and minus signs before the numbers of a figure."""
    escaped = text.translate(LATEX).replace("×", r"$\times$")
    if column >= LABELS:
        return re.sub(r"(?<!\w)-(?=\d)", "$-$", escaped)
    return re.sub("-(?=-)", "-{}", escaped)  # no dash out of two hyphens


def _csv(folders: Sequence[ResultsFolder]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["collection", "subset", "system", "condition", "measure", "value", "n", "source"])
    for results in folders:
        for index, row in enumerate(results.rows):
            figures = [row["system"], row["condition"], row["measure"], repr(row["value"]), row["n"]]
            writer.writerow([results.collection, results.subset, *figures, results.source(index)])
    return stream.getvalue()
