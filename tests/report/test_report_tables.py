"""``python -m pipelines.report``: tables that equal the summaries, as text, Markdown, LaTeX and CSV."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Heed
from report_folders import NASTY, hostile_results, row, write_results

from heed.measures.summary import format_value, layout, printed, table
from heed.report.results import read_tree
from heed.report.tables import tables

COMMAND = "pipelines.report"


@pytest.fixture(scope="module")
def sample(sample_runs: Callable[[str], Path]) -> Path:
    """The sample's Persian results, made by the command."""
    return sample_runs("fas").parent


def test_text_is_the_table_that_the_collection_command_prints(sample: Path, heed: Heed) -> None:
    result = heed(COMMAND, sample)
    rows = json.loads((sample / "fas/summary.json").read_text())["rows"]
    assert result.returncode == 0 and result.stderr == ""
    assert result.stdout == table(printed(rows), "neuclir-sample fas: values ×100") + "\n"
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_csv_holds_the_values_in_full(sample: Path, heed: Heed, tmp_path: Path) -> None:
    result = heed(COMMAND, sample / "fas", "--format", "csv", "--out", "t/all.csv", "--quiet")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    read = list(csv.DictReader(io.StringIO((tmp_path / "t/all.csv").read_text(encoding="utf-8"))))
    rows = json.loads((sample / "fas/summary.json").read_text())["rows"]
    assert [float(one["value"]) for one in read] == [one["value"] for one in rows]
    assert [int(one["n"]) for one in read] == [one["n"] for one in rows]
    assert [one["source"] for one in read] == [f"./summary.json#rows[{at}]" for at in range(len(rows))]
    for key in ("system", "condition", "measure"):
        assert [one[key] for one in read] == [one[key] for one in rows]


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_markdown_and_latex_hold_the_values_of_the_summary(sample: Path, heed: Heed, form: str) -> None:
    result = heed(COMMAND, sample, "--format", form)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    if form == "markdown":
        cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
        header, _, *body = cells
    else:
        cells = [line.removesuffix(r" \\").split(" & ") for line in lines if line.endswith(r" \\")]
        header, *body = [[cell.replace("$-$", "-").replace(r"\textgreater{}", ">") for cell in line] for line in cells]
        assert [one for one in lines if "rule" in one] == [r"\toprule", r"\midrule", r"\bottomrule"]
    found = {(line[0], line[1], name): text for line in body for name, text in zip(header[2:], line[2:], strict=True)}
    rows = json.loads((sample / "fas/summary.json").read_text())["rows"]
    for one in rows:
        assert found[one["system"], one["condition"], one["measure"]] == format_value(one["measure"], one["value"])
        assert found[one["system"], one["condition"], "n"] == str(one["n"])
    assert sum(text != "-" for (_, _, name), text in found.items() if name != "n") == len(rows)


def test_rows_over_other_topics_stay_apart_and_other_measures_follow(tmp_path: Path) -> None:
    rows = [row("a", "x", "IRS", 0.1, 3), row("a", "x", "AP", 0.2, 3), row("a", "x", "nDCG@20", -0.0001, 2)]
    grid = layout(rows)  # type: ignore[arg-type]
    assert grid.measures == ["nDCG@20", "AP", "IRS"]
    assert [(line.rows, line.n) for line in grid.lines] == [({"IRS": 0, "AP": 1}, 3), ({"nDCG@20": 2}, 2)]
    assert "-0.0" not in tables(read_tree(write_results(tmp_path, rows)), "text")


def test_special_characters_are_escaped_in_latex_and_markdown(tmp_path: Path) -> None:
    found = read_tree(hostile_results(tmp_path))
    text = tables(found, "latex")
    bare = re.sub(r"\\[&%$#_{}\\]|\\text\w+\{\}", "", text)
    [line] = [line for line in bare.splitlines() if "50.0" in line]
    assert line.count("&") == 4 and not re.search(r"[%#_^~<>|\"]", line)
    assert bare.count("{") == bare.count("}")
    text = tables(found, "markdown")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert not re.search(r"(?<!\\)[<$`]", text)
    assert next(csv.DictReader(io.StringIO(tables(found, "csv"))))["system"] == NASTY
