"""Results folders that cannot be read: every problem is reported, with its file and row."""

from pathlib import Path

import pytest
from conftest import Heed
from report_folders import row, write_results

from heed.errors import DataError
from heed.report.results import read_tree

COMMAND = "pipelines.report"


SHIFT = {"system": "a", "qid": "1", "docid": "d", "group": "other", "base": 1, "new": 1}


@pytest.mark.parametrize(
    ("content", "per_topic", "said"),
    [
        ("", None, "summary.json: Input data was truncated"),
        ('{"collection": "a", "subset": "b"}', None, "summary.json: Object missing required field `rows`"),
        ('{"collection": 1, "subset": "b", "rows": []}', None, "Expected `str`, got `int` - at `$.collection`"),
        ([row("a", "x", "AP", float("nan"))], None, "summary.json: JSON is malformed"),
        ([row("a", "x", "AP", 10**10)], None, "<= 1000000000.0 - at `$.rows[0].value`"),
        ([row("a", "x", "AP", 1, -1)], None, "Expected `int` >= 0 - at `$.rows[0].n`"),
        ([row("a\n\x1b[31m", "x", "AP", 1)], None, "at `$.rows[0].system`"),
        ([row("", "x", "AP", 1)], None, "at `$.rows[0].system`"),
        ("[" * 100_000, None, "summary.json: "),
        ('{"other": ' + "[" * 100_000, None, "summary.json: maximum recursion depth exceeded"),
        ([], {"rows": []}, "per_topic.json: Object missing required field `shifts`"),
        ([], {"shifts": []}, "per_topic.json: Object missing required field `rows`"),
        (
            [],
            {"rows": [row("a", "x", "AP", 1)], "shifts": []},
            "per_topic.json: Object missing required field `per_topic`",
        ),
        (
            [],
            {"rows": [row("a", "x", "AP", 1) | {"per_topic": {"1\n": 1}}], "shifts": []},
            "at `key` in `$.rows[0].per_topic`",
        ),
        ([], {"rows": [], "shifts": [SHIFT]}, "Invalid enum value 'other' - at `$.shifts[0].group`"),
        ([], {"rows": [], "shifts": [SHIFT | {"group": "violating", "base": 0}]}, "at `$.shifts[0].base`"),
    ],
)
def test_a_malformed_file_of_figures_is_an_error(tmp_path: Path, content: object, per_topic: object, said: str) -> None:
    write_results(tmp_path / "a", content, per_topic=per_topic)
    if isinstance(content, str):
        (tmp_path / "a/summary.json").write_text(content)
    with pytest.raises(DataError) as error:
        read_tree(tmp_path)
    assert said in str(error.value) and str(error.value).startswith(f"{tmp_path}/a/")
    assert str(error.value).endswith("; run the collection again")


def test_all_problems_are_reported_at_once_with_status_1(heed: Heed, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_results(tmp_path / "runs" / name, [])
    result = heed(COMMAND, "runs", "--html", "--out", "t.txt")
    assert (result.returncode, result.stdout) == (1, "")
    assert [line.split(":")[1] for line in result.stderr.splitlines()] == [
        " runs/a/summary.json",
        " runs/b/summary.json",
    ]
    assert not (tmp_path / "t.txt").exists() and not (tmp_path / "runs/report.html").exists()


def test_a_folder_without_results_is_an_error(heed: Heed, tmp_path: Path) -> None:
    (tmp_path / "runs/.part").mkdir(parents=True)
    (tmp_path / "runs/.part/summary.json").write_text("half")
    for folder, said in (("absent", "absent: no such folder"), ("runs", "runs: no summary.json in it or below it")):
        result = heed(COMMAND, folder)
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.startswith(f"error: {said}") and len(result.stderr.splitlines()) == 1
    assert heed(COMMAND, "runs", "--format", "pdf").returncode == 2
    (tmp_path / "runs/bm25.original.run").write_text("")
    assert "such as runs/neuclir-sample/zho; its runs can be given to " in heed(COMMAND, "runs").stderr


def test_a_folder_behind_html_is_not_taken_for_its_file(tmp_path: Path, heed: Heed) -> None:
    (tmp_path / "runs").mkdir()
    result = heed("pipelines.report", "--html", "runs")
    assert result.returncode == 2
    assert "--html: runs is a folder, expected a file; write RUNS_DIR before --html" in result.stderr
