"""The page of a report: every figure leads to its row, charts, nothing fetched, hostile names are text."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Heed
from report_folders import HOSTILE, charts_of, hostile_results, marks_of, row, three_topics, write_results

from benchmarks.report import write_results as write_many
from heed.measures.significance import interval, smallest_difference
from heed.measures.summary import format_value
from heed.report.charts import render
from heed.report.page import page
from heed.report.plots import plots
from heed.report.results import read_tree

COMMAND = "pipelines.report"
SYSTEMS = ("bm25", "lsa", "polarity")


@pytest.fixture(scope="module")
def sample(sample_runs: Callable[[str], Path]) -> Path:
    """The sample's Persian results, made by the command."""
    return sample_runs("fas").parent


@pytest.fixture(scope="module")
def sample_page(sample: Path) -> str:
    return page(read_tree(sample), sample)


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
        if "data-source" in self._inside and not re.match(r"\s*(\[|$)", data):  # an interval is none
            text = data.strip().replace("−", "-")
            self.cells.append((self._inside["data-source"] or "", self._inside["title"] or "", text))
        elif re.fullmatch(r"-?[\d.]+", data):
            self.plain_numbers.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._inside = None


def assert_self_contained(text: str) -> None:
    """One style and two scripts, which the policy names by their digests, and nothing that a browser would fetch."""
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1])  # type: ignore[index]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy and "'self'" not in policy
    for kind in ("style", "script"):
        codes = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        named = {base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes}
        assert set(re.findall(r"sha256-([^']+)'", re.search(rf"{kind}-src ([^;]+);", policy)[1])) == named  # type: ignore[index]
        for code in codes:
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
    assert scripts == 2
    assert not re.search(r"url\((?!#)|@import", re.sub(r">[^<]*<", "><", text))


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
    deciding, behind = (
        [f"fas.topics.{measure}.{system}.original-changed" for system in SYSTEMS]
        for measure in ("selectivity", "p-MRR")
    )
    assert names == ["fas.plane", *shifts, *deciding, "fas.plane.p-MRR", *behind]
    specs = charts_of(sample_page)
    assert set(specs) == set(names)
    assert [name for name in names if "title" not in specs[name]] == ["fas.plane"]  # the heading says it


def test_the_bars_show_the_mean_of_the_summary_and_its_interval(sample: Path, sample_page: str) -> None:
    specs = charts_of(sample_page)
    details = json.loads((sample / "fas/per_topic.json").read_text())["rows"]
    for one in (each for each in details if each["measure"] == "selectivity"):
        low, high = interval(list(one["per_topic"].values()))
        mean, low, high = (
            format_value("selectivity", value).replace("-", "\N{MINUS SIGN}") for value in (one["value"], low, high)
        )
        spec = specs[f"fas.topics.selectivity.{one['system']}.original-changed"]
        assert spec["title"]["subtitle"] == f"mean {mean}, 95% interval [{low}, {high}]"
        qid, value = next(iter(sorted(one["per_topic"].items())))
        *bar, figure = marks_of(spec)[0]["says"].split("\n")
        assert bar == [f"system: {one['system']}", f"topic: {qid}"]
        assert figure == f"selectivity of original>changed, ×100: {100 * value:z.1f}".replace("-", "\N{MINUS SIGN}")


def test_vega_is_the_file_whose_digest_and_licences_are_beside_it() -> None:
    vendor = ROOT / "heed/report/page/vendor"
    text = (vendor / "vega.js").read_text("ascii")
    readme = (vendor / "README.md").read_text("utf-8")
    assert f"SHA-256: {hashlib.sha256(text.encode()).hexdigest()}\n" in readme
    assert "</script" not in text and "<!--" not in text and len(text) < 900_000
    locked = json.loads((ROOT / "locks/vega/package.json").read_text())
    packages = json.loads((ROOT / "locks/vega/package-lock.json").read_text())["packages"]
    assert all(package.get("integrity") for path, package in packages.items() if path)
    for name, version in (locked["dependencies"] | locked["devDependencies"]).items():
        assert f"{name} {version}" in readme and packages[f"node_modules/{name}"]["version"] == version
    licences = (vendor / "LICENSES.txt").read_text("utf-8")
    assert all(f"{name} {version}" in licences for name, version in locked["dependencies"].items())


def test_the_plane_is_of_the_deciding_measure_of_two_systems_or_more_on_axes_that_magnify_nothing(
    tmp_path: Path,
) -> None:
    def rows(system: str) -> list[dict[str, Any]]:
        of_original = row(system, "original", "nDCG@10", 0.164)
        return [of_original, *(row(system, "query>original", name, 0.032) for name in ("p-MRR", "selectivity", "IRS"))]

    assert plots(read_tree(write_results(tmp_path / "one", rows("a")))) == []  # type: ignore[arg-type]
    [plane] = plots(read_tree(write_results(tmp_path / "two", rows("a") + rows("b"))))
    assert plane.title == "made zho: nDCG@10 against IRS" and "change" not in plane.note and "Grey" not in plane.note
    x, y = (plane.spec["layer"][-1]["encoding"][axis] for axis in "xy")
    assert (x["title"], x["scale"]["domain"]) == ("nDCG@10 of original, ×100 (axis from 15, not 0)", [15, 25])
    assert (y["title"], y["scale"]["domain"]) == ("IRS of query>original, ×100", [0, 10])


def test_the_same_input_gives_the_same_bytes(sample: Path, heed: Heed, tmp_path: Path) -> None:
    for name in ("one", "two"):
        options = ("--html", f"{name}.html", "--plots", name, "--plot-format", "pdf", "--out", f"{name}.txt")
        assert heed(COMMAND, sample, *options).returncode == 0
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) == 11
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_page_is_in_the_runs_folder_by_default(heed: Heed, tmp_path: Path) -> None:
    folder = write_results(tmp_path / "runs/made/zho", [row("a", "original", "AP", 0.5)])
    result = heed(COMMAND, "runs", "--html")
    assert result.returncode == 0, result.stderr
    assert re.search(r"runs/report.html: 0\.0[1-9] MB, open it in a browser", result.stderr)  # without Vega
    text = (tmp_path / "runs/report.html").read_text(encoding="utf-8")
    assert 'data-source="made/zho/summary.json#rows[0]"' in text and "No per_topic.json here" in text
    assert heed(COMMAND, folder, "--html", "--quiet").stderr == ""
    assert 'data-source="./summary.json#rows[0]"' in (folder / "report.html").read_text(encoding="utf-8")


def compared(
    pair: str, measures: tuple[str, ...], topics: dict[str, list[float]]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows and values by topic: each system has the same values of all measures, and nDCG@10 0.5 of each condition."""
    base, new = pair.split(">")
    rows, details = [], []
    for system, values in topics.items():
        count = len(values)
        rows += [row(system, condition, "nDCG@10", 0.5, count) for condition in (base, new, "reversed")]
        for measure in measures:
            rows.append(row(system, pair, measure, sum(values) / count, count))
            details.append(rows[-1] | {"per_topic": dict(zip(map(str, range(count)), values, strict=True))})
    return rows, {"rows": details, "shifts": []}


def words(text: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text)))


def sentence(text: str) -> str:
    return words(re.search(r'<p class="answer">(.*?)</p>', text, re.DOTALL)[1])  # type: ignore[index]


@pytest.mark.parametrize(
    ("pair", "measures"),
    [
        ("original>changed", ("selectivity", "p-MRR")),
        ("original>changed", ("p-MRR",)),
        ("query>original", ("IRS", "p-MRR", "NFR")),
        ("query>original", ("WISE", "p-MRR", "SICR")),
    ],
)
def test_the_intervals_of_the_measures_say_who_follows(tmp_path: Path, pair: str, measures: tuple[str, ...]) -> None:
    topics = {
        "sinks": [-0.2] * 8,
        "wavers": [0.5, -0.5] * 4,
        "ignores": [0.0] * 8,
        "heeds": [0.25] * 8,
        "obeys": [0.75, 0.25] * 4,
        "starved": [0.9] * 4,  # four topics decide nothing
    }
    rows, per_topic = compared(pair, measures, topics)
    text = page(read_tree(write_results(tmp_path, rows, per_topic=per_topic)), tmp_path)
    what = "the changed instruction" if pair.startswith("original") else "the instruction"
    deciding = [measure for measure in measures if measure not in ("NFR", "SICR")]  # whose 0 is no effect

    def figures(*values: str) -> str:
        return "; ".join(f"{measure} {' and '.join(values)}" for measure in deciding)

    assert sentence(text) == (
        f"obeys and heeds follow {what} ({figures('+50.0', '+25.0')}); sinks goes against it ({figures('−20.0')}); "
        f"ignores ignores it ({figures('0.0')}); wavers does not clearly follow it."
    )
    data = screen_data(text)
    shown = [data["columns"][column]["measure"] for column, _ in data["following"]]
    assert sorted(shown) == sorted(deciding)
    assert ("a system that sinks all documents has a high p-MRR, too" in words(text)) == (measures == ("p-MRR",))
    # those that vary are obeys, ±.25, and wavers, ±.5 around their means: of 8 topics √(8 ÷ 7) times as much
    least, most = (format_value(measures[0], smallest_difference(8, sqrt(8 / 7) * step)) for step in (0.25, 0.5))
    clear = f"With 8 topics a result is clear where a system's {measures[0]} is {least} to {most} points or more from 0"
    assert f"{clear}, or two systems differ by " in words(text)


def of_measures(folder: Path, systems: dict[str, dict[str, list[float]]], against: Any = (), as_seen: Any = ()) -> str:
    """Return the sentence about systems whose measures have these values by topic."""
    rows: list[dict[str, Any]] = []
    details = []
    for system, by_measure in systems.items():
        rows.append(row(system, "changed", "nDCG@20", 0.5, 8))
        for measure, values in by_measure.items():
            rows.append(row(system, "original>changed", measure, sum(values) / len(values), len(values)))
            details.append(rows[-1] | {"per_topic": dict(zip(map(str, range(8)), values, strict=True))})
    given = {"rows": details, "shifts": [], "against_query": against, "as_seen": as_seen}
    return sentence(page(read_tree(write_results(folder, rows, per_topic=given)), folder))


UP, DOWN, UNCLEAR = [0.75, 0.25] * 4, [-0.75, -0.25] * 4, [0.5, -0.5] * 4


def test_measures_that_differ_are_named_each_with_its_interval(tmp_path: Path) -> None:
    low, high = (f"{100 * bound:+.1f}".replace("-", "−") for bound in interval(UNCLEAR))
    up, down = ([f"{100 * bound:+.1f}".replace("-", "−") for bound in interval(each)] for each in (UP, DOWN))
    assert of_measures(tmp_path / "1", {"a": {"selectivity": UNCLEAR, "p-MRR": UP}}) == (
        f"a follows the changed instruction by p-MRR +50.0 [{', '.join(up)}], "
        f"but not clearly by selectivity 0.0 [{low}, {high}]."
    )
    systems = {"a": {"selectivity": DOWN, "p-MRR": UP}, "b": {"selectivity": UNCLEAR, "p-MRR": UNCLEAR}}
    assert of_measures(tmp_path / "2", systems) == (
        f"a follows the changed instruction by p-MRR +50.0 [{', '.join(up)}], "
        f"but goes against it by selectivity −50.0 [{', '.join(down)}]; b does not clearly follow it."
    )


def test_following_is_said_apart_of_lists_of_each_depth(tmp_path: Path) -> None:
    entries = {"bm25": NONE | {"depth": 1000}, "cut": NONE | {"depth": 10}, "same": POOL | {"depth": 10}}
    of_measures(tmp_path, {"bm25": {"p-MRR": UNCLEAR}, "cut": {"p-MRR": UP}, "same": {"p-MRR": UP}})
    path = tmp_path / "summary.json"
    summary = json.loads(path.read_bytes()) | {"systems": [{"system": name, **of} for name, of in entries.items()]}
    path.write_text(json.dumps(summary), encoding="utf-8")
    text = page(read_tree(tmp_path), tmp_path)
    assert sentence(text).startswith(
        "In lists of 1000 documents, bm25 does not clearly follow the changed instruction: "
    )
    assert sentence(text).endswith(
        " In lists of 10 documents, cut and same follow the changed instruction (p-MRR +50.0 and +50.0). "
        "The depth of the lists alone can make a difference."
    )
    assert screen_data(text)["words"] == [
        "",
        "lists of 10 documents",
        "rescored the top 10 of bm25 by topic: 300 documents",
    ]
    assert screen_data(text)["headlines"][0][0].endswith(" No nDCG@20 of shorter lists: cut 10 and same 10 documents.")


def test_a_verdict_by_documents_that_nobody_saw_is_none(tmp_path: Path) -> None:
    seen = {"system": "a", "condition": "original>changed", "measure": "p-MRR", "unseen": 7, "documents": 8}
    as_seen = [seen | {"per_topic": dict(zip(map(str, range(8)), UNCLEAR, strict=True))}]
    low, high = (f"{100 * bound:+.1f}".replace("-", "−") for bound in interval(UNCLEAR))
    up = ", ".join(f"{100 * bound:+.1f}" for bound in interval(UP))
    why = "since 7 of 8 ruled-out documents are in neither list, where length alone moves them"
    said = of_measures(tmp_path / "1", {"a": {"p-MRR": UP}}, as_seen=as_seen)
    assert said == f"a does not clearly follow the changed instruction (p-MRR +50.0), {why}."
    said = of_measures(tmp_path / "2", {"a": {"selectivity": UNCLEAR, "p-MRR": UP}}, as_seen=as_seen)
    assert said == (
        f"a does not clearly follow the changed instruction by p-MRR +50.0 [{up}], {why}, "
        f"nor by selectivity 0.0 [{low}, {high}]."
    )
    said = of_measures(tmp_path / "3", {"a": {"selectivity": UP, "p-MRR": UP}}, as_seen=as_seen)
    assert said == (
        f"a follows the changed instruction by selectivity +50.0 [{up}], "
        f"but does not clearly follow it by p-MRR +50.0 [{up}], {why}."
    )
    holds = [seen | {"per_topic": dict(zip(map(str, range(8)), UP, strict=True))}]
    said = of_measures(tmp_path / "4", {"a": {"p-MRR": UP}}, as_seen=holds)
    assert said == "a follows the changed instruction (p-MRR +50.0)."


def test_where_no_system_follows_the_sentence_says_what_would_show(tmp_path: Path) -> None:
    # ±.5 around 0: of 8 topics √(8 ÷ 7) times as much
    least = f"with 8 topics only a selectivity of {100 * smallest_difference(8, sqrt(8 / 7) / 2):.0f} points or more"
    unclear = {"selectivity": UNCLEAR, "p-MRR": UNCLEAR}
    said = of_measures(tmp_path / "1", {"a": unclear, "b": unclear})
    assert said == f"No system clearly follows the changed instruction: {least} would show."
    said = of_measures(tmp_path / "2", {"a": unclear})
    assert said == f"a does not clearly follow the changed instruction: {least} would show."


def test_who_ranks_worse_with_the_instruction_is_not_said_to_follow_it(tmp_path: Path) -> None:
    following = {"selectivity": UP, "p-MRR": UP}
    against = [
        {
            "system": system,
            "condition": condition,
            "measure": "nDCG@20",
            "query": 0.5,
            "instructed": 0.25,
            "p": p,
            "n": 8,
        }
        for system, condition, p in (
            ("worse", "changed", 0.049),
            ("alike", "changed", 0.05),
            ("alike", "keywords", 0.001),  # not compared here
            ("before", "original", 0.001),
        )
    ]
    said = of_measures(tmp_path / "1", dict.fromkeys(("worse", "alike", "before", "unknown"), following), against)
    figures = "(both judged for the instruction: nDCG@20 25.0, by the query alone 50.0; selectivity +50.0; p-MRR +50.0)"
    assert said == (
        "alike and unknown follow the changed instruction (selectivity +50.0 and +50.0; p-MRR +50.0 and +50.0); "
        f"worse ranks worse with the changed instruction than with the query alone {figures}; "
        f"before ranks worse with the original instruction than with the query alone {figures}."
    )
    said = of_measures(tmp_path / "2", {"before": following, "sinks": {"p-MRR": DOWN}}, against)
    assert said.endswith(
        "; sinks goes against the changed instruction (p-MRR −50.0)."
    )  # "it" would be the original one


def test_a_system_without_the_comparison_is_not_in_the_sentence(tmp_path: Path) -> None:
    rows, per_topic = compared("original>changed", ("p-MRR",), {"obeys": [0.5] * 5, "sinks": [-0.2] * 5})
    rows.append(row("lone", "original", "nDCG@10", 0.7))
    text = page(read_tree(write_results(tmp_path, rows, per_topic=per_topic)), tmp_path)
    assert sentence(text) == "obeys follows the changed instruction (p-MRR +50.0); sinks goes against it (p-MRR −20.0)."
    assert "topics can show" not in text  # nothing varies


def test_of_many_systems_the_answer_names_three_and_counts_the_others(tmp_path: Path) -> None:
    rows, per_topic = compared(
        "original>changed", ("p-MRR",), {f"s{index}": [0.1 * index] * 5 for index in range(1, 8)}
    )
    text = page(read_tree(write_results(tmp_path, rows, per_topic=per_topic)), tmp_path)
    figures = "p-MRR +70.0, +60.0, +50.0 and 4 more"
    assert sentence(text) == f"s7, s6, s5 and 4 more follow the changed instruction ({figures})."


def test_without_a_sentence_on_the_instruction_nothing_is_explained(tmp_path: Path) -> None:
    rows = [row("a", "original", "nDCG@10", 0.7), row("a", "original>changed", "p-MRR", 0.2)]
    assert 'class="why"' not in page(read_tree(write_results(tmp_path, rows)), tmp_path)


NONE = {"first_stages": None, "depth": None, "pool": None, "documents": None}
POOL = {"first_stages": ["bm25"], "depth": 100, "pool": "1", "documents": 300}


def headline(folder: Path, systems: dict[str, list[float]], entries: dict[str, Any]) -> str:
    """Return the headline of the page about systems whose nDCG@20 under ``original`` has these values by topic."""
    rows = [
        row(name, "original", "nDCG@20", sum(values) / len(values), len(values)) for name, values in systems.items()
    ]
    details = [one | {"per_topic": dict(enumerate(systems[one["system"]]))} for one in rows]
    write_results(folder, rows, per_topic={"rows": details, "shifts": []})
    summary = json.loads((folder / "summary.json").read_text())
    summary["systems"] = [{"system": name} | entry for name, entry in entries.items()]
    (folder / "summary.json").write_text(json.dumps(summary))
    found = re.search(r'<h2 class="headline">(.*?)</h2>', page(read_tree(folder), folder))
    return html.unescape(found[1]).replace("\u00a0", " ")  # type: ignore[index]


def test_the_headline_says_which_system_is_best_and_whether_that_is_sure(tmp_path: Path) -> None:
    bm25 = [0.25] * 8
    # all of 8 topics better by .25: of 2^8 sign flips 2 have so high a sum, .0078
    two = {"bm25": bm25, "mine": [0.5] * 8}
    assert headline(tmp_path / "1", two, {"bm25": NONE, "mine": POOL}) == (
        "mine ranks best under the instruction: nDCG@20 50.0, +25.0 against bm25, significant (p 0.008)."
    )
    # one of 8 better by .5: either sign, p is 1
    two = {"bm25": bm25, "mine": [0.75, *bm25[1:]]}
    assert headline(tmp_path / "2", two, {"bm25": NONE, "mine": POOL}) == (
        "mine ranks best under the instruction: nDCG@20 31.2, +6.2 against bm25, not significant (p 1.00)."
    )
    two = {"bm25": bm25, "mine": [0.125] * 8}
    assert headline(tmp_path / "3", two, {"bm25": NONE, "mine": POOL}) == (
        "bm25, the baseline, ranks best under the instruction: nDCG@20 25.0; "
        "mine is next: −12.5, significant (p 0.008)."
    )
    assert headline(tmp_path / "4", {"bm25": bm25, "mine": bm25}, {"bm25": NONE, "mine": POOL}) == (
        "bm25 and mine rank best under the instruction: nDCG@20 25.0."
    )
    assert headline(tmp_path / "5", {"bm25": bm25}, {"bm25": NONE}) == "bm25 under the instruction: nDCG@20 25.0."
    # two rerankers of other pools: no first stage is measured
    two = {"one": bm25, "other": [0.125] * 8}
    assert headline(tmp_path / "6", two, {"one": POOL, "other": POOL | {"pool": "2"}}) == (
        "one, the baseline, ranks best under the instruction: nDCG@20 25.0; "
        "other is next: −12.5, not tested: other pools, or lists of another depth."
    )


def screen_data(text: str) -> dict[str, Any]:
    """Return what the page's script knows of the first screen of its one folder."""
    [data] = json.loads(re.search(r'id="figures">(.*?)</script>', text)[1])  # type: ignore[index]
    return {"columns": data["columns"], **data["first"]}


def test_what_rerankers_rescored_is_said_where_their_pools_differ(tmp_path: Path) -> None:
    for pool, words in (("1", ["", ""]), ("2", ["rescored the top 100 of bm25 by topic: 300 documents"] * 2)):
        systems = {"bm25": [0.25] * 8, "one": [0.5] * 8, "other": [0.25] * 8}
        headline(tmp_path, systems, {"bm25": NONE, "one": POOL, "other": POOL | {"pool": pool}})
        data = screen_data(page(read_tree(tmp_path), tmp_path))
        assert data["words"] == ["", *words]
        # Holm's p: with the baseline one the other is tested in the same pool alone
        [column] = data["columns"]
        assert (column["against"]["1"][2][4] is None) == (pool == "2") and column["against"]["0"][2][4] is not None


def test_a_chosen_measure_has_its_values_in_the_rows(tmp_path: Path) -> None:
    rows, per_topic = compared("query>original", ("IRS", "p-MRR", "NFR"), {"a": [0.5] * 5, "b": [0.25] * 5})
    data = screen_data(page(read_tree(write_results(tmp_path, rows, per_topic=per_topic)), tmp_path))
    columns = [(column["condition"], column["measure"]) for column in data["columns"]]
    following = [index for index, _ in data["following"]]
    for choice in data["choices"]:
        shown = [index for index, _ in choice["dots"]]
        assert choice["column"] in (following if columns[choice["column"]][1] in ("IRS", "p-MRR") else shown)


def test_every_system_can_be_the_baseline_up_to_twenty(tmp_path: Path) -> None:
    for number in (20, 21):
        systems = {f"s{index:02}": [0.25, 0.5] * 4 for index in range(number)}
        headline(tmp_path, systems, dict.fromkeys(systems, NONE))
        data = screen_data(page(read_tree(tmp_path), tmp_path))
        assert len(data["baselines"]) == len(data["headlines"][0]) == (number if number == 20 else 1)


def test_a_table_has_a_scroll_of_its_own_from_sixty_lines_on(tmp_path: Path) -> None:
    for systems, tall in ((60, 0), (61, 1)):
        rows = [row(f"s{index}", "original", "AP", 0.5) for index in range(systems)]
        assert page(read_tree(write_results(tmp_path, rows)), tmp_path).count('class="scroll tall"') == tall


def test_a_chart_whose_axis_leaves_out_0_is_no_higher_for_it(tmp_path: Path) -> None:
    heights = []
    for value in (-0.5, 0.5):
        rows = [row(name, "original", "nDCG@20", 0.5) for name in "ab"]
        rows += [row(name, "original>changed", "p-MRR", abs(value) + 0.01 * at) for at, name in enumerate("ab")]
        rows[-1]["value"] = value
        [plot] = plots(read_tree(write_results(tmp_path, rows)))
        heights.append(int(re.search(r'height="(\d+)', render(plot.spec, "svg").decode())[1]))  # type: ignore[index]
    assert max(heights) < 450


def test_rank_1_is_at_the_top_of_the_shifts(tmp_path: Path) -> None:
    one, detail = three_topics("a", "p-MRR")
    shifts = [
        {"system": "a", "qid": "1", "docid": docid, "group": "violating", "base": 10, "new": new}
        for docid, new in (("lifted", 1), ("pushed", 90))
    ]
    found = read_tree(write_results(tmp_path, [one], per_topic={"rows": [detail], "shifts": shifts}))
    [spec] = [plot.spec for plot in plots(found) if plot.kind == "shift"]
    drawn = render(spec, "svg").decode()
    heights = [
        float(re.search(rf"{name}[^>]*?translate\([\d.]+,([\d.]+)\)", drawn)[1])  # type: ignore[index]
        for name in ("ruled out: lifted", "ruled out: pushed")
    ]
    assert heights[0] < 60 < 200 < heights[1]


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    text = page(read_tree(hostile_results(tmp_path / HOSTILE.replace("/", ""))), tmp_path)
    assert_self_contained(text)
    assert HOSTILE not in text
    assert text.count("&lt;script&gt;") > 5
    assert HOSTILE in marks_of(charts_of(text)[next(iter(charts_of(text)))])[0]["says"]
    assert {one["dir"] for tag, one in Cells(text).tags if tag == "td" and "dir" in one} == {"auto"}


def test_plots_are_files_of_either_format(heed: Heed, tmp_path: Path) -> None:
    hostile_results(tmp_path / "runs")
    for form, start in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        result = heed(COMMAND, "runs", "--plots", f"to/{form}", "--plot-format", form)
        assert result.returncode == 0, result.stderr
        files = sorted((tmp_path / "to" / form).iterdir())
        assert len(files) == 2 and all(path.suffix == f".{form}" for path in files)
        assert all(path.read_bytes().startswith(start) for path in files)


def test_of_many_systems_the_best_have_charts_and_all_are_in_the_table(tmp_path: Path) -> None:
    found = read_tree(write_many(tmp_path, systems=12, topics=3))
    marks = {one["system"]: one["value"] for one in found[0].rows if one["measure"] == "p-MRR"}
    best = sorted(marks, key=lambda system: marks[system], reverse=True)[:8]
    text = page(found, tmp_path)
    assert set(re.findall(r'data-plot="shift\.([^"]+)"', text)) == set(best)
    assert "The charts are of the 8 systems with the best p-MRR of original&gt;changed" in text
    assert len({source for source, _, _ in Cells(text).cells if not source.endswith(".n")}) == len(found[0].rows)
    assert {plot.name for plot in plots(found, most=12) if plot.kind == "shift"} == {f"shift.{one}" for one in marks}


def test_bars_by_topic_are_of_the_deciding_measure(tmp_path: Path) -> None:
    pairs = [three_topics(system, measure) for system in ("a", "b") for measure in ("p-MRR", "IRS")]
    given = {"rows": [detail for _, detail in pairs], "shifts": []}
    found = read_tree(write_results(tmp_path, [one for one, _ in pairs], per_topic=given))
    assert [plot.name for plot in plots(found)] == [f"topics.IRS.{system}.query-original" for system in ("a", "b")]
    assert {plot.note.partition(";")[0] for plot in plots(found)} == {"Blue bars: the system followed the instruction"}


def test_infosearch_has_bars_by_dimension_from_two_dimensions_on(tmp_path: Path) -> None:
    counts = []
    for subset in ("audience", "keyword"):
        rows = [row("a", "query>original", "WISE", 0.3), row("b", "query>original", "WISE", -0.2)]
        write_results(tmp_path / subset, rows, "infosearch", subset)
        counts.append(len(plots(read_tree(tmp_path))))
    assert counts == [0, 1]
    [plot] = plots(read_tree(tmp_path))
    assert plot.kind == "dimensions"
    drawn = render(plot.spec, "svg").decode()
    for label in ("audience", "keyword", "dimension", "a", "b", "WISE query&gt;original by dimension"):
        assert f">{label}</text>" in drawn
    assert "InfoSearch by dimension" in page(read_tree(tmp_path), tmp_path)


def test_followtable_has_bars_by_constraint_type_of_each_folder(tmp_path: Path) -> None:
    types = ("C1", "C2", "S1", "S3")
    for subset, value in (("IndusTR", 0.5), ("WTR", 0.1)):
        rows = [row(system, one, "IRS", value) for system in ("a", "b") for one in types]
        write_results(tmp_path / subset, rows, "followtable", subset)
    drawn = {plot.folder: render(plot.spec, "svg").decode() for plot in plots(read_tree(tmp_path))}
    assert drawn.keys() == {"IndusTR", "WTR"} and drawn["IndusTR"] != drawn["WTR"]
    for subset, text in drawn.items():
        assert f"followtable {subset}: IRS by constraint type" in text and ">S2</text>" not in text
        assert all(f">{one}</text>" in text for one in (*types, "a", "b", "constraint type"))


def test_a_folder_where_nothing_was_measured_is_logged_and_left_out(heed: Heed, tmp_path: Path) -> None:
    write_results(tmp_path / "runs/a", [row("a", "x", "AP", 0.5)])
    write_results(tmp_path / "runs/b", [])
    result = heed(COMMAND, "runs")
    assert result.returncode == 0 and "50.0" in result.stdout
    assert "runs/b/summary.json: no rows, nothing was measured; left out" in result.stderr


def test_the_headline_of_whole_lists_names_their_depths(tmp_path: Path) -> None:
    entries = {"bm25": NONE | {"depth": 1000}, "lsa": NONE | {"depth": 20}, "mine": POOL | {"depth": 1000}}
    systems = {"bm25": [0.25] * 8, "lsa": [0.5] * 8, "mine": [0.75] * 8}
    assert "depth" not in headline(tmp_path, systems, entries)
    for path in (tmp_path / "summary.json", tmp_path / "per_topic.json"):
        path.write_text(path.read_text(encoding="utf-8").replace("nDCG@20", "AP"), encoding="utf-8")
    [[text, *_]] = screen_data(page(read_tree(tmp_path), tmp_path))["headlines"]
    assert text.endswith(" Their lists differ in depth: bm25 1000, lsa 20 and mine 1000 documents.")


def test_the_command_sets_the_baseline_of_the_page(tmp_path: Path, heed: Heed) -> None:
    folder = tmp_path / "runs"
    systems = {"bm25": [0.25] * 8, "lsa": [0.5] * 8, "mine": [0.75] * 8}
    said = headline(folder, systems, {"bm25": NONE, "lsa": NONE, "mine": POOL})
    assert "+25.0 against lsa" in said  # the best first stage, chosen after the fact
    assert heed(COMMAND, "runs", "--html", "page.html", "--baseline", "bm25", "--quiet").returncode == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "+50.0 against bm25" in text and "after the fact" not in screen_data(text)["chosen"]
    assert heed(COMMAND, "runs", "--html", "again.html", "--quiet").returncode == 0
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == text  # what was named stays
    result = heed(COMMAND, "runs", "--html", "page.html", "--baseline", "bm52")
    assert result.returncode == 1 and "--baseline: found 'bm52', expected one of bm25, lsa, mine" in result.stderr
    assert "--baseline: not used here" in heed(COMMAND, "runs", "--baseline", "bm25").stderr
