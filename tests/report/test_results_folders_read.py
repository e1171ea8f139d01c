"""Results folders that cannot be read: every problem is reported, with its file and row."""

from pathlib import Path

import pytest
from conftest import Heed
from report_folders import row, write_results

from heed.errors import DataError
from heed.report.results import read_tree

COMMAND = "pipelines.report"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "not JSON in UTF-8"),
        ("[1]", "found [1], expected an object with collection, subset, rows"),
        ('{"collection": "a", "subset": "b"}', "no rows, expected a list"),
        ('{"collection": 1, "subset": "b", "rows": []}', "collection is 1, expected text of one line"),
        ('{"collection": "a", "subset": "b", "rows": [3]}', "rows[0]: found 3, expected an object with system"),
        ([row("a", "x", "AP", float("nan"))], "rows[0]: value is NaN, expected a number"),
        ([row("a", "x", "AP", 1), row("a", "x", "AP", 0)], "rows[0] and rows[1] are both a x AP; expected one"),
        ([row("a", "x", "AP", 1, -1)], "rows[0]: n is -1, expected a whole number from 0"),
        ([row("a\n\x1b[31m", "x", "AP", 1)], 'system is "a\\n\\u001b[31m", expected a name in one line'),
    ],
)
def test_a_malformed_summary_is_an_error(tmp_path: Path, content: object, said: str) -> None:
    write_results(tmp_path / "a", content)
    if isinstance(content, str):
        (tmp_path / "a/summary.json").write_text(content)
    with pytest.raises(DataError) as error:
        read_tree(tmp_path)
    assert said in str(error.value) and f"{tmp_path}/a/summary.json" in str(error.value)


@pytest.mark.parametrize(
    ("per_topic", "said"),
    [
        ({"rows": []}, "no shifts, expected a list"),
        ({"rows": [row("a", "x", "AP", 1)], "shifts": []}, "rows[0]: no per_topic, expected numbers by qid"),
        ({"rows": [row("a", "x", "AP", 0.5) | {"per_topic": {"1": 1}}], "shifts": []}, "not a row of summary.json"),
    ],
)
def test_malformed_values_by_topic_are_an_error(tmp_path: Path, per_topic: object, said: str) -> None:
    write_results(tmp_path, [row("a", "x", "AP", 1)], per_topic=per_topic)
    with pytest.raises(DataError) as error:
        read_tree(tmp_path)
    assert said in str(error.value) and "per_topic.json" in str(error.value)


def test_all_problems_of_all_rows_are_reported(tmp_path: Path) -> None:
    details = [row("a", "x", "AP", 1) | {"per_topic": {"1": "y"}}, row("a", "x", "AP", 1) | {"per_topic": {"1\n": 1}}]
    shift = {"system": "a", "qid": 1, "docid": "d", "group": "other", "base": 0, "new": 1.5}
    write_results(
        tmp_path,
        [row("", "x", "AP", 10**10) | {"n": True}, row("a", "x", "AP", 1), {"measure": " "}],  # type: ignore[arg-type]
        per_topic={"rows": details, "shifts": [[], shift]},
    )
    with pytest.raises(DataError) as error:
        read_tree(tmp_path)
    assert str(error.value).replace(f"{tmp_path}/", "").splitlines() == [
        'summary.json: rows[0]: system is "", expected a name in one line',
        "summary.json: rows[0]: value is 10000000000, expected a number",
        "summary.json: rows[0]: n is true, expected a whole number from 0",
        "summary.json: rows[2]: no system, expected a name in one line",
        "summary.json: rows[2]: no condition, expected a name in one line",
        'summary.json: rows[2]: measure is " ", expected a name in one line',
        "summary.json: rows[2]: no value, expected a number",
        "summary.json: rows[2]: no n, expected a whole number from 0",
        'per_topic.json: rows[0]: per_topic is {"1": "y"}, expected numbers by qid',
        r'per_topic.json: rows[1]: per_topic is {"1\n": 1}, expected numbers by qid',
        "per_topic.json: shifts[0]: found [], expected an object with system, qid, docid, group, base, new",
        "per_topic.json: shifts[1]: qid is 1, expected text of one line",
        'per_topic.json: shifts[1]: group is "other", expected compliant or violating',
        "per_topic.json: shifts[1]: base is 0, expected a rank from 1",
        "per_topic.json: shifts[1]: new is 1.5, expected a rank from 1",
    ]


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


def test_a_folder_behind_html_is_not_taken_for_its_file(tmp_path: Path, heed: Heed) -> None:
    (tmp_path / "runs").mkdir()
    result = heed("pipelines.report", "--html", "runs")
    assert result.returncode == 2
    assert "argument --html: runs is a folder, expected a file; write RUNS_DIR before --html" in result.stderr
