"""``python -m pipelines.report``: tables that equal the summaries, and a self-contained page."""

import base64
import csv
import hashlib
import html
import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conftest import Heed

from benchmarks.report import write_results as write_many
from heed.errors import DataError
from heed.measures.summary import format_value, layout, table
from heed.report.charts.plots import plots
from heed.report.charts.rendering import render
from heed.report.page import page
from heed.report.results import read_tree
from heed.report.tables import tables

COMMAND = "pipelines.report"
HOSTILE = "<script>alert(1)</script>"
NASTY = f'{HOSTILE}"\'&\\_^~%#{{}}$x$ --> | ` href="http://evil" سامانه'
SYSTEMS = ("bm25", "lsa", "polarity")


@pytest.fixture(scope="module")
def sample(sample_runs: Callable[[str], Path]) -> Path:
    """The sample's Persian results, made by the command."""
    return sample_runs("fas").parent


@pytest.fixture(scope="module")
def sample_page(sample: Path) -> str:
    return page(read_tree(sample), sample)


def row(system: str, condition: str, measure: str, value: float, n: int = 2) -> dict[str, Any]:
    return {"system": system, "condition": condition, "measure": measure, "value": value, "n": n}


def write_results(
    folder: Path, rows: Any, collection: str = "made", subset: str = "zho", per_topic: Any = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(json.dumps({"collection": collection, "subset": subset, "rows": rows}))
    if per_topic is not None:
        (folder / "per_topic.json").write_text(json.dumps(per_topic))
    return folder


def hostile_results(folder: Path) -> Path:
    """One folder in which every text is hostile, with all plots of a folder."""
    rows = [row(NASTY, "original", "nDCG@20", 0.5), row(NASTY, f"a>{HOSTILE}", "p-MRR", -0.25)]
    details = [rows[1] | {"per_topic": {HOSTILE: -0.5, "$2$": 0.0}}]
    shifts = [
        {"system": NASTY, "qid": HOSTILE, "docid": HOSTILE, "group": group, "base": 1, "new": 7}
        for group in ("compliant", "violating")
    ]
    return write_results(folder, rows, HOSTILE, NASTY, {"rows": details, "shifts": shifts})


def three_topics(system: str, measure: str) -> tuple[dict[str, Any], dict[str, Any]]:
    one = row(system, "query>original", measure, 0.1, 3)
    return one, one | {"per_topic": {"1": 0.4, "2": -0.1, "10": 0.0}}


class Cells(HTMLParser):
    """Table cells with ``data-source``, all tags with their attributes, and the ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[tuple[str, str, str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.plain_numbers: list[str] = []
        self._inside: dict[str, str | None] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "td":
            self._inside = dict(attrs)

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            return
        if "data-source" in self._inside:
            self.cells.append((self._inside["data-source"] or "", self._inside["title"] or "", data))
        elif re.fullmatch(r"-?[\d.]+", data):
            self.plain_numbers.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._inside = None


def assert_self_contained(text: str) -> None:
    """One style and one script, which the policy names by their digests, and nothing that a browser would fetch."""
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1])  # type: ignore[index]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for kind in ("style", "script"):
        [code] = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
        text = text.replace(code, "")
    scripts = 0
    for tag, attributes in Cells(text).tags:
        if (tag, attributes.get("rel"), attributes.get("href")) == ("link", "icon", "data:,"):
            continue  # else a browser asks for /favicon.ico
        assert tag not in ("link", "iframe", "object", "base", "form")
        scripts += tag == "script" and attributes.get("type") != "application/json"
        for name, value in attributes.items():
            assert not name.startswith("on") and name != "style", (tag, name)
            if name in ("src", "href", "xlink:href", "srcset", "action"):
                assert (value or "").startswith("#"), (tag, name, value)
    assert scripts == 1
    assert not re.search(r"url\((?!#)|@import", re.sub(r">[^<]*<", "><", text))


# ---- tables


def test_text_is_the_table_that_the_collection_command_prints(sample: Path, heed: Heed) -> None:
    result = heed(COMMAND, sample)
    rows = json.loads((sample / "fas/summary.json").read_text())["rows"]
    assert result.returncode == 0 and result.stderr == ""
    assert result.stdout == table(rows, "neuclir-sample fas: values ×100") + "\n"


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


# ---- the page


def test_every_number_of_the_page_leads_to_its_row(sample: Path, sample_page: str) -> None:
    rows = json.loads((sample / "fas/summary.json").read_text())["rows"]
    read = Cells(sample_page)
    seen = set()
    for source, title, text in read.cells:
        place = re.fullmatch(r"(fas)/summary\.json#rows\[(\d+)\](\.n)?", source)
        assert place and title.startswith(source)
        one = rows[int(place[2])]
        assert text == (str(one["n"]) if place[3] else format_value(one["measure"], one["value"]))
        if not place[3]:
            assert float(title.rsplit(": ", 1)[1]) == one["value"]
            seen.add(int(place[2]))
    assert seen == set(range(len(rows)))
    assert read.plain_numbers == []


def test_the_page_holds_the_plots_and_is_self_contained(sample_page: str) -> None:
    assert_self_contained(sample_page)
    names = re.findall(r'data-plot="([^"]+)"', sample_page)
    shifts = [f"fas.shift.{system}" for system in SYSTEMS]
    topics = [f"fas.topics.p-MRR.{system}.original-changed" for system in SYSTEMS]
    assert names == ["fas.plane", "fas.plane.p-MRR", *shifts, *topics]
    assert sample_page.count("<svg ") == len(names)
    ids = re.findall(r'\sid="([^"]+)"', sample_page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="|url\()#([^"/)][^")]*)', sample_page)) <= set(ids)


def test_the_bars_show_the_mean_of_the_summary_and_its_interval(sample: Path, sample_page: str) -> None:
    from heed.measures.significance import interval

    for one in json.loads((sample / "fas/per_topic.json").read_text())["rows"]:
        if one["measure"] == "p-MRR":
            low, high = interval(list(one["per_topic"].values()))
            mean, low, high = (format_value("p-MRR", value) for value in (one["value"], low, high))
            assert f">mean {mean}, 95% interval [{low}, {high}]</text>" in sample_page


def test_the_same_input_gives_the_same_bytes(sample: Path, heed: Heed, tmp_path: Path) -> None:
    for name in ("one", "two"):
        options = ("--html", f"{name}.html", "--plots", name, "--plot-format", "pdf", "--out", f"{name}.txt")
        assert heed(COMMAND, sample, *options).returncode == 0
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) == 8
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_page_is_in_the_runs_folder_by_default(heed: Heed, tmp_path: Path) -> None:
    folder = write_results(tmp_path / "runs/made/zho", [row("a", "original", "AP", 0.5)])
    result = heed(COMMAND, "runs", "--html")
    assert result.returncode == 0, result.stderr
    assert re.search(r"runs/report.html: 0\.0[1-9] MB, open it in a browser", result.stderr)
    assert "no rank shifts and no bars by topic; run again for them: made/zho" in result.stderr
    text = (tmp_path / "runs/report.html").read_text(encoding="utf-8")
    assert 'data-source="made/zho/summary.json#rows[0]"' in text and "No per_topic.json here" in text
    assert heed(COMMAND, folder, "--html", "--quiet").stderr == ""
    assert 'data-source="./summary.json#rows[0]"' in (folder / "report.html").read_text(encoding="utf-8")


def test_the_best_of_each_column_is_bold_the_lowest_where_less_is_better(tmp_path: Path) -> None:
    figures = {"AP": (0.5, 0.25), "NFR": (0.75, 0.125), "Judged@20": (0.9, 0.8)}
    rows = [
        row(system, "a>b", name, value)
        for name, pair in figures.items()
        for system, value in zip("xy", pair, strict=True)
    ]
    rows += [row("x", "alone", "AP", 0.3), row("z", "a>b", "AP", 0.9, n=1)]
    text = page(read_tree(write_results(tmp_path, rows)), tmp_path)  # type: ignore[arg-type]
    assert re.findall(r"<strong>([\d.]+)</strong>", text) == ["50.0", "12.5"]


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    text = page(read_tree(hostile_results(tmp_path / HOSTILE.replace("/", ""))), tmp_path)
    assert_self_contained(text)
    assert HOSTILE not in text
    assert text.count("&lt;script&gt;") > 10
    assert {one["dir"] for tag, one in Cells(text).tags if tag == "td" and "dir" in one} == {"auto"}


def test_plots_are_files_of_either_format(heed: Heed, tmp_path: Path) -> None:
    hostile_results(tmp_path / "runs")
    for form, start in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        result = heed(COMMAND, "runs", "--plots", f"to/{form}", "--plot-format", form)
        assert result.returncode == 0, result.stderr
        files = sorted((tmp_path / "to" / form).iterdir())
        assert len(files) == 3 and all(path.suffix == f".{form}" for path in files)
        assert all(path.read_bytes().startswith(start) for path in files)


def test_of_many_documents_the_chart_shows_some_from_end_to_end_and_says_so(tmp_path: Path) -> None:
    one, detail = three_topics("a", "p-MRR")
    shifts = [
        {"system": "a", "qid": "1", "docid": str(at), "group": "violating", "base": at + 1, "new": 5000 - at}
        for at in range(5000)
    ]
    found = read_tree(write_results(tmp_path, [one], per_topic={"rows": [detail], "shifts": shifts}))
    text = page(found, tmp_path)
    assert "600 of 5,000 documents, evenly by distance moved" in text and "violating (5,000)" in text
    links = re.findall(r'href="#/./document/(\d+)\?topic=1&amp;system=a"', text)
    assert len(links) == len(set(links)) == 600 and {"0", "4999"} < set(links)


def test_of_many_systems_the_best_have_charts_and_all_are_in_the_table(tmp_path: Path) -> None:
    found = read_tree(write_many(tmp_path, systems=12, topics=3))
    marks = {one["system"]: one["value"] for one in found[0].rows if one["measure"] == "p-MRR"}
    best = sorted(marks, key=lambda system: marks[system], reverse=True)[:8]
    text = page(found, tmp_path)
    assert set(re.findall(r'data-plot="shift\.([^"]+)"', text)) == set(best)
    assert "The charts are of the 8 systems with the best p-MRR of original&gt;changed" in text
    assert len({source for source, _, _ in Cells(text).cells if not source.endswith(".n")}) == len(found[0].rows)
    assert {plot.name for plot in plots(found, most=12) if plot.kind == "shift"} == {f"shift.{one}" for one in marks}


def test_irs_has_bars_beside_p_mrr(tmp_path: Path) -> None:
    pairs = [three_topics(system, measure) for system in ("a", "b") for measure in ("p-MRR", "IRS")]
    given = {"rows": [detail for _, detail in pairs], "shifts": []}
    found = read_tree(write_results(tmp_path, [one for one, _ in pairs], per_topic=given))
    names = [f"topics.{measure}.{system}.query-original" for measure in ("p-MRR", "IRS") for system in ("a", "b")]
    assert [plot.name for plot in plots(found)] == names


def test_infosearch_has_a_radar_from_three_dimensions_on(tmp_path: Path) -> None:
    counts = []
    for subset in ("audience", "keyword", "format"):
        rows = [row("a", "query>original", "WISE", 0.3), row("b", "query>original", "WISE", -0.2)]
        write_results(tmp_path / subset, rows, "infosearch", subset)
        counts.append(len(plots(read_tree(tmp_path))))
    assert counts == [0, 0, 1]
    [plot] = plots(read_tree(tmp_path))
    assert plot.kind == "radar"
    drawn = render(plot.spec(), "svg").decode()
    for label in ("audience", "keyword", "format", "a", "b", "WISE query&gt;original by dimension, ×100"):
        assert f">{label}</text>" in drawn
    assert "InfoSearch by dimension" in page(read_tree(tmp_path), tmp_path)


@pytest.mark.parametrize("by", ["condition", "subset"])
def test_followtable_has_bars_by_constraint_type(tmp_path: Path, by: str) -> None:
    types = ("C1", "C2", "S1", "S3")
    if by == "condition":
        rows = [row(system, one, "IRS", 0.2) for system in ("a", "b") for one in types]
        write_results(tmp_path / "WTR", rows, "followtable", "WTR")
    else:
        for one in types:
            write_results(tmp_path / one, [row(s, "query>original", "IRS", 0.2) for s in "ab"], "followtable", one)
    [plot] = plots(read_tree(tmp_path))
    assert plot.kind == "constraints"
    drawn = render(plot.spec(), "svg").decode()
    assert all(f">{one}</text>" in drawn for one in (*types, "a", "b", "constraint type"))
    assert ">S2</text>" not in drawn


def test_bars_by_constraint_type_are_of_one_folder(tmp_path: Path) -> None:
    for subset, value in (("IndusTR", 0.5), ("WTR", 0.1)):
        rows = [row("a", one, "IRS", value) for one in ("C1", "S1")]
        write_results(tmp_path / subset, rows, "followtable", subset)
    drawn = {plot.folder: render(plot.spec(), "svg").decode() for plot in plots(read_tree(tmp_path))}
    assert drawn.keys() == {"IndusTR", "WTR"} and drawn["IndusTR"] != drawn["WTR"]
    assert all(f"followtable {subset}: IRS by constraint type" in text for subset, text in drawn.items())


def test_a_folder_where_nothing_was_measured_is_logged_and_left_out(heed: Heed, tmp_path: Path) -> None:
    write_results(tmp_path / "runs/a", [row("a", "x", "AP", 0.5)])
    write_results(tmp_path / "runs/b", [])
    result = heed(COMMAND, "runs")
    assert result.returncode == 0 and "50.0" in result.stdout
    assert "runs/b/summary.json: no rows, nothing was measured; left out" in result.stderr


# ---- what can be wrong


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "not JSON in UTF-8"),
        ("[1]", "found [1], expected an object with collection, subset, rows"),
        ('{"collection": "a", "subset": "b"}', "no rows, expected a list"),
        ('{"collection": 1, "subset": "b", "rows": []}', "collection is 1, expected text of one line"),
        ('{"collection": "a", "subset": "b", "rows": []}', "no rows, nothing was measured"),
        ('{"collection": "a", "subset": "b", "rows": [3]}', "rows[0]: found 3, expected an object with system"),
        ([row("a", "x", "AP", "y")], 'rows[0]: value is "y", expected a number'),  # type: ignore[arg-type]
        ([row("a", "x", "AP", float("nan"))], "rows[0]: value is NaN, expected a number"),
        ([row("a", "x", "AP", 1), row("a", "x", "AP", 0)], "rows[0] and rows[1] are both a x AP; expected one"),
        ([row("a", "x", "AP", 1, -1)], "rows[0]: n is -1, expected a whole number from 0"),
        ([row("a\n\x1b[31m", "x", "AP", 1)], 'system is "a\\n\\u001b[31m", expected a name in one line'),
        ([{"system": "a"}], "rows[0]: no condition, expected a name in one line"),
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
        ({"rows": [row("a", "x", "AP", 1) | {"per_topic": [1]}], "shifts": []}, "per_topic is [1], expected numbers"),
        ({"rows": [row("a", "x", "AP", 0.5) | {"per_topic": {"1": 1}}], "shifts": []}, "not a row of summary.json"),
        (
            {
                "rows": [],
                "shifts": [{"system": "a", "qid": "1", "docid": "d", "group": "other", "base": 0, "new": 1.5}],
            },
            "shifts[0]: base is 0, expected a rank from 1",
        ),
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
