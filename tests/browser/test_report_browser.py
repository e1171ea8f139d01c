"""The page of a report in a real Chromium, opened as a file: tables, charts, two systems; with and without script."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import pytest
from annotating_browser import CHROMIUM
from conftest import ROOT
from report_folders import HOSTILE, NASTY, hostile_results, row, write_results
from watched_page import watched

from heed.measures.baseline import against_baseline, p_text
from heed.report.page import page
from heed.report.results import read_tree

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")


@pytest.fixture(scope="module")
def report(sample_runs: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of three folders: the sample's Persian results, others with the same systems, and hostile ones."""
    runs = tmp_path_factory.mktemp("report") / "runs"
    shutil.copytree(sample_runs("fas"), runs / "fas")
    summary = json.loads((runs / "fas/summary.json").read_text())
    pools = {"bm25": None, "lsa": None, "polarity": "a digest"}
    summary["systems"] = [{"system": name, "pool": pool} for name, pool in pools.items()]
    (runs / "fas/summary.json").write_text(json.dumps(summary))
    note = json.loads((runs / "fas/topics.json").read_text())
    store = (sample_runs("fas") / note["store"]).resolve()
    (runs / "fas/topics.json").write_text(json.dumps(note | {"store": str(store)}))
    rows = json.loads((runs / "fas/summary.json").read_text())["rows"]
    write_results(runs / "rus", rows, "neuclir-sample", "rus")
    hostile_results(runs / "bad <b>&%")
    path = runs / "report.html"
    path.write_text(page(read_tree(runs), runs), encoding="utf-8")
    return path


@pytest.fixture
def opened(chromium: "Browser", report: Path) -> "Iterator[Page]":
    """The page in a window of its own; whatever it complains of or asks for fails the test."""
    with watched(chromium, report.as_uri(), report.as_uri()) as page:
        yield page


def texts(tab: "Page", selector: str) -> list[str]:
    return [text.strip() for text in tab.locator(selector).all_inner_texts()]


FAS = 'section[data-folder="fas"]'


@pytest.mark.parametrize(("width", "height"), [(1366, 800), (390, 844)])
def test_the_first_screen_answers_with_one_row_a_system(
    chromium: "Browser", report: Path, width: int, height: int
) -> None:
    single = report.with_name("fas.html")
    single.write_text(page(read_tree(report.parent / "fas"), report.parent / "fas"), encoding="utf-8")
    with watched(chromium, single.as_uri(), single.as_uri()) as opened:
        opened.set_viewport_size({"width": width, "height": height})
        assert opened.inner_text(".headline").startswith("polarity ranks best under the original instruction: nDCG@20")
        assert "the changed instruction" in opened.inner_text(".answer")
        levels = opened.locator("#overview :is(h1, h2, h3, h4)").evaluate_all("each => each.map(one => one.tagName)")
        assert levels[:2] == ["H1", "H2"] and set(levels[2:]) == {"H3"}
        assert not opened.is_visible(".all table") and not opened.is_visible("#filters")
        assert "can show" not in opened.inner_text("#overview")
        summary = json.loads((report.parent / "fas/summary.json").read_text())["rows"]
        values = {(one["system"], one["condition"], one["measure"]): f"{100 * one['value']:z.1f}" for one in summary}
        rows = opened.locator(".screen [role=row]:not(.heads)")
        systems = sorted(
            {one["system"] for one in summary}, key=lambda name: -float(values[name, "original", "nDCG@20"])
        )
        assert [text.split("\n")[0] for text in rows.all_inner_texts()] == systems
        for place, system in enumerate(systems):
            figures = rows.nth(place).locator(".figures").all_inner_texts()
            shown = [values[system, condition, "nDCG@20"] for condition in ("original", "changed")]
            shown += [values[system, "original>changed", name] for name in ("selectivity", "p-MRR")]
            said = "\n".join(figures).replace("+", "").replace("−", "-").split("\n")
            assert said[:4] == shown and (len(said) == 6) == (system != "bm25")
            for cell in rows.nth(place).locator("b:visible, small:visible, svg:visible").all():
                box = cell.bounding_box()
                assert box and box["x"] >= 0 and box["x"] + box["width"] <= width
        assert "p " in rows.first.inner_text()
        chosen = (
            "bm25 is the baseline, the first stage with the best nDCG@20 under original; it was chosen after the fact"
        )
        assert chosen in opened.inner_text(".foot")
        measure = opened.locator(".foot select").nth(1).bounding_box()
        assert measure and measure["width"] < 150
        foot = opened.locator(".foot").bounding_box()
        assert foot and (width < 1366 or foot["y"] + foot["height"] < height)
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        opened.keyboard.press("/")
        assert opened.is_visible(".all table") and opened.evaluate("document.activeElement.id") == "rows-filter"


def test_a_table_is_sorted_by_any_column_and_filtered_by_words(opened: "Page") -> None:
    opened.click(f"{FAS} summary >> text=All measures")
    column = f"{FAS} .all tbody td:nth-child(3)"
    before = texts(opened, column)
    opened.click(f"{FAS} .all th:nth-child(3) button")
    figures = [text for text in before if text != "-"]
    absent = ["-"] * (len(before) - len(figures))
    assert len(set(figures)) > 2
    assert texts(opened, column) == sorted(figures, key=float, reverse=True) + absent
    assert opened.get_attribute(f"{FAS} .all th:nth-child(3)", "aria-sort") == "descending"
    opened.keyboard.press("Enter")  # the button has the focus
    assert texts(opened, column) == sorted(figures, key=float) + absent

    opened.keyboard.press("/")
    opened.keyboard.insert_text("LSA orig")
    rows = [text.split("\t")[:2] for text in texts(opened, f"{FAS} .all tbody tr:not([hidden])")]
    assert [[cell.replace("\n", "") for cell in cells] for cells in rows] == [
        ["lsa", "original"],
        ["lsa", "original>changed"],
    ]
    opened.fill("#columns-filter", "mrr ndcg")
    heads = texts(opened, f"{FAS} .all th:not([hidden])")
    of_p_mrr = ["p-MRR", "p-MRR kept", "p-MRR in neither", "p-MRR in one only"]
    assert heads == ["system", "condition", "nDCG@20", *of_p_mrr, "n"]
    assert (
        opened.locator(f"{FAS} .screen [role=row].row:not(.heads):visible").count() == 3
    )  # all systems, with all their columns


def test_the_page_runs_no_text_of_the_results(opened: "Page", report: Path) -> None:
    opened.goto(f"{report.as_uri()}#/{'bad <b>&%'.replace('%', '%25')}")
    assert opened.locator("script").count() == 5
    assert NASTY in opened.inner_text('section[data-folder="bad <b>&%"] .screen')
    assert opened.locator("#overview .title b, #overview table b, #overview img").count() == 0
    shift = opened.locator('section[data-folder="bad <b>&%"] figure').first
    shift.scroll_into_view_if_needed()
    shift.locator("a").first.focus()
    assert opened.inner_text("#tip").split("\n")[:2] == [f"system: {NASTY}", f"topic: {HOSTILE}"]
    assert NASTY[:20] + "…" + NASTY[len(NASTY) - 19 :] in shift.locator("text").all_text_contents()
    pair = "/".join(quote(part, safe="") for part in ("bad <b>&%", "systems", NASTY, NASTY))
    opened.goto(f"{report.as_uri()}#/{pair}")
    assert NASTY in opened.inner_text("#pair table >> nth=0") and HOSTILE in opened.inner_text(
        '#pair [aria-label="Topics"]'
    )
    assert opened.locator("#pair script, #pair b").count() == 0
    opened.goto(f"{report.as_uri()}#/%E0%A4%A/topic")  # a % that encodes nothing
    assert "No folder %E0%A4%A is in this report" in opened.inner_text("#explorer .topic")


def test_without_script_tables_are_there(chromium: "Browser", report: Path) -> None:
    with chromium.new_context(java_script_enabled=False) as context:
        tab = context.new_page()
        tab.goto(report.as_uri())
        assert tab.locator("#overview .all table").count() == 3 and tab.is_visible(".headline >> nth=0")
        tab.click(".why summary >> nth=0")
        assert tab.is_visible(".why div >> nth=0")
        tab.click("summary >> text=All measures >> nth=0")
        assert tab.is_visible(".all table >> nth=0")
        assert "The charts need JavaScript; their figures are in the tables." in tab.inner_text("#overview")
        assert not tab.is_visible("#filters") and not tab.is_visible(".two >> nth=0")


def cells(tab: "Page", table: str) -> list[list[str]]:
    return [
        [cell.strip().replace("−", "-") for cell in row.locator("td").all_inner_texts()]
        for row in tab.locator(f'#pair [aria-label="{table}"] tbody tr').all()
    ]


def test_two_systems_stand_side_by_side_with_the_corrected_test_of_their_difference(
    opened: "Page", report: Path
) -> None:
    opened.click(f"{FAS} .two")
    assert opened.url.endswith("#/fas/systems/bm25/polarity") and not opened.is_visible("#overview")
    assert opened.inner_text("#pair > h2") == "polarity against bm25"
    folder = read_tree(report.parent / "fas")[0]
    found = against_baseline(folder.details, folder.systems, "bm25").rows
    rows = {(row["measure"], row["condition"]): row for row in found if row["system"] == "polarity"}
    shown = {tuple(cell.split("\n")): rest for cell, *rest in cells(opened, "Measures")}
    assert shown.keys() == rows.keys() and len(shown) > 5
    for name, (first, second, difference, p, *counts) in shown.items():
        row = rows[name]  # type: ignore[index]
        assert float(second) - float(first) == pytest.approx(float(difference), abs=0.11)
        if row["p_holm"] is None:
            assert (p, counts) == ("-", ["-"] * 3)
        else:
            assert p == p_text(row["p_holm"])
            assert counts == [str(row["better"]), str(row["worse"]), str(row["n"])]
            assert float(difference) == pytest.approx(100 * (row["difference"] or 0), abs=0.051)
    opened.set_viewport_size({"width": 390, "height": 844})
    box = opened.locator('#pair [aria-label="Measures"] td:nth-child(5)').first.bounding_box()
    assert box and box["x"] + box["width"] <= 390
    head = opened.locator('#pair [aria-label="Measures"] th:nth-child(6)').bounding_box()
    assert head and head["width"] > 40, "the word better is in one line"
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390


def test_baseline_and_measure_are_chosen_without_a_request(opened: "Page", report: Path) -> None:
    """The window is watched: a request would fail the test."""
    folder = read_tree(report.parent / "fas")[0]
    selects = opened.locator(f"{FAS} .foot select")
    selects.nth(0).select_option(label="polarity")
    selects.nth(1).select_option(label="p-MRR")
    rows = {
        row["system"]: row
        for row in against_baseline(folder.details, folder.systems, "polarity").rows
        if row["measure"] == "p-MRR"
    }
    for system in ("bm25", "lsa"):
        cell = opened.locator(f"{FAS} [role=row]", has_text=system).locator("[role=cell]").last
        p = rows[system]["p_holm"]
        assert p is not None
        counts = f"{rows[system]['better']} better, {rows[system]['worse']} worse"
        difference = f"{100 * (rows[system]['difference'] or 0):+.1f}".replace("-", "−")
        assert [text for text in cell.inner_text().split("\n") if text] == [difference, f"p {p_text(p)}", counts]
    assert opened.inner_text(f"{FAS} .row.baseline").startswith("polarity")
    best = max(rows.values(), key=lambda row: row["value"])["system"]
    assert opened.inner_text(f"{FAS} .headline").startswith(best)
    assert "p by Wilcoxon's signed ranks, Holm over 2 systems" in opened.inner_text(f"{FAS} .foot")
    opened.click(f"{FAS} [role=row]:has-text('lsa') >> nth=0", position={"x": 500, "y": 20})
    opened.wait_for_url("**#/fas/topic/*?system=lsa*")


def test_settings_are_a_part_of_the_results(opened: "Page") -> None:
    opened.click(f"{FAS} .settings-tab")
    opened.wait_for_selector(f"{FAS} .settings")
    assert not opened.is_visible(f"{FAS} .screen") and "run-version" in opened.inner_text(f"{FAS} .settings")
    opened.click(f"{FAS} .overview-tab")
    opened.wait_for_selector(f"{FAS} .screen")


def test_topics_parts_and_folders_where_two_systems_differ_are_listed_by_difference(
    opened: "Page", report: Path
) -> None:
    opened.goto(f"{report.as_uri()}#/fas/systems/bm25/polarity")
    chosen = opened.locator("#measure").evaluate("each => each.selectedOptions[0].text")
    assert chosen == "selectivity, original>changed"
    listed = cells(opened, "Topics")
    differences = [abs(float(line[3])) for line in listed]
    assert differences == sorted(differences, reverse=True) and differences[0] > differences[-1]
    assert (
        opened.get_attribute('#pair [aria-label="Topics"] a >> nth=0', "href")
        == f"#/fas/topic/{listed[0][0]}?system=polarity"
    )
    [[folder, *_]] = cells(opened, "In other folders: languages, dimensions, collections")
    assert folder == "neuclir-sample rus"
    settings = {name: values for name, *values in cells(opened, "Settings")}
    assert settings["system"] == ["bm25", ""]
    opened.select_option("#measure", label="nDCG@20, original")
    assert cells(opened, "Topics") != listed
    opened.set_viewport_size({"width": 390, "height": 844})
    table = opened.locator('#pair [aria-label="Topics"]')
    assert table.evaluate("each => each.scrollWidth") == table.evaluate("each => each.clientWidth"), "all bars in sight"
    opened.keyboard.press("Escape")
    opened.wait_for_selector("#overview", state="visible")
    assert opened.url.endswith("#/fas")


def drawn(tab: "Page", plot: str) -> "Locator":
    """The SVG element of a chart, scrolled to: a chart is drawn when it comes near the window."""
    figure = tab.locator(f'[data-plot="{plot}"]')
    figure.scroll_into_view_if_needed()
    figure.locator("svg a").first.wait_for()
    return figure.locator("svg")


def test_charts_are_drawn_when_they_come_near_in_the_colours_of_the_page(opened: "Page") -> None:
    last = opened.locator('section[data-folder="fas"] figure').nth(6)
    assert last.locator("svg").count() == 0
    height = opened.evaluate("document.body.scrollHeight")
    bar = drawn(opened, last.get_attribute("data-plot") or "").locator('a path[fill="#0072B2"]').first
    assert abs(opened.evaluate("document.body.scrollHeight") - height) < 200  # their place was kept
    assert bar.evaluate("each => getComputedStyle(each).fill") == "rgb(0, 114, 178)"
    opened.emulate_media(color_scheme="dark")
    assert bar.evaluate("each => getComputedStyle(each).fill") == "rgb(74, 168, 224)"
    plane = drawn(opened, "fas.plane")
    plane.locator("a").nth(1).hover()
    system, effectiveness, following = opened.inner_text("#tip").split("\n")
    assert system == "system: lsa"
    figure = r"−?\d+\.\d \[−?\d+\.\d, −?\d+\.\d\]"
    assert re.fullmatch(f"nDCG@20 of original, ×100: {figure}", effectiveness)
    assert re.fullmatch(f"selectivity of original>changed, ×100: {figure}", following)
    plane.locator("a").nth(1).click()
    opened.wait_for_url("**#/fas/systems/lsa/*")


def test_all_charts_are_on_paper(chromium: "Browser", report: Path) -> None:
    with watched(chromium, report.as_uri(), report.as_uri()) as page:
        page.locator("figure[style]").first.wait_for(state="attached")  # its specification is unpacked
        page.pdf()
        assert (
            page.locator("details:not([open]) figure svg").count() == page.locator("details:not([open]) figure").count()
        )
        assert page.locator("figure svg").count() == page.locator("figure").count() > 6
        page.emulate_media(media="print")
        assert page.locator("details:not([open]) figure").count()
        assert page.evaluate("[...document.querySelectorAll('figure')].every((each) => each.checkVisibility())")


def test_marks_of_charts_are_links_for_the_pointer_and_for_keys(opened: "Page") -> None:
    chart = drawn(opened, "fas.topics.selectivity.bm25.original-changed")
    marks = chart.locator("a")
    names = [mark.get_attribute("href").split("/topic/")[1].split("?")[0] for mark in marks.all()]
    assert len(names) > 2 and names == sorted(names)
    assert [mark.get_attribute("tabindex") for mark in marks.all()] == ["0"] + ["-1"] * (len(names) - 1)
    marks.first.focus()
    opened.keyboard.press("ArrowRight")
    system, topic, value = opened.inner_text("#tip").split("\n")
    assert (system, topic) == ("system: bm25", f"topic: {names[1]}")
    assert re.fullmatch(r"selectivity of original>changed, ×100: −?\d+\.\d", value)
    opened.keyboard.press("Enter")
    opened.wait_for_url(f"**#/fas/topic/{names[1]}?system=bm25")
    opened.wait_for_selector("#explorer main")
    assert not opened.is_visible("#overview")
    opened.go_back()
    opened.wait_for_selector("#overview")
    assert opened.evaluate("document.activeElement.getAttribute('href')") == marks.nth(1).get_attribute("href")


def test_a_dot_leads_to_its_document(opened: "Page") -> None:
    documents = {
        each["id"]: each["text"]
        for each in map(json.loads, (ROOT / "documents/neuclir-sample/fas.jsonl").read_text().splitlines())
    }
    dot = drawn(opened, "fas.shift.polarity").locator("a").first
    dot.click(force=True)  # another dot may lie on it
    opened.wait_for_url("**#/fas/document/*?topic=*&system=polarity")
    docid = opened.url.split("/document/")[1].split("?")[0]
    opened.wait_for_selector("#explorer article h1, #explorer article p")
    shown = opened.inner_text("#explorer .document")
    assert documents[docid][:60] in shown


@pytest.mark.parametrize(
    ("place", "scheme", "width"),
    [("", "light", 1366), ("", "dark", 390), ("#/fas/systems/bm25/polarity", "dark", 1366)],
)
def test_axe_finds_nothing_serious(
    opened: "Page", report: Path, place: str, scheme: "Literal['light', 'dark']", width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    opened.emulate_media(color_scheme=scheme)
    opened.set_viewport_size({"width": width, "height": 844})
    opened.goto(f"{report.as_uri()}{place}")
    if not place:
        for figure in opened.locator("[data-plot]:visible").all():  # charts are drawn once they come near
            figure.scroll_into_view_if_needed()
            figure.locator("svg").wait_for()
    found = [each for each in Axe().run(opened).response["violations"] if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []


def test_of_two_systems_printed_alike_neither_is_bold(chromium: "Browser", tmp_path: Path) -> None:
    rows = [row("x", "a>b", "AP", 0.89049), row("y", "a>b", "AP", 0.89001)]
    path = tmp_path / "report.html"
    path.write_text(page(read_tree(write_results(tmp_path / "runs", rows)), tmp_path / "runs"), encoding="utf-8")
    with watched(chromium, path.as_uri(), path.as_uri()) as opened:
        opened.goto(f"{path.as_uri()}#/./systems/x/y")
        assert cells(opened, "Measures") == [["AP\na>b", "89.0", "89.0", "0.0", "-", "-", "-", "-"]]
        assert opened.locator("#pair strong").count() == 0


def test_of_one_system_there_is_no_baseline_and_every_measure_is_drawn(chromium: "Browser", tmp_path: Path) -> None:
    rows = [row("x", "original", "nDCG@10", 0.5, 8), row("x", "changed", "nDCG@10", 0.4, 8)]
    rows += [row("x", "original>changed", name, 0.125, 8) for name in ("selectivity", "p-MRR")]
    details = [each | {"per_topic": {str(qid): each["value"] for qid in range(8)}} for each in rows]
    folder = write_results(tmp_path / "runs", rows, per_topic={"rows": details, "shifts": []})
    path = tmp_path / "report.html"
    path.write_text(page(read_tree(folder), folder), encoding="utf-8")
    with watched(chromium, path.as_uri(), path.as_uri()) as opened:
        assert "baseline" not in opened.inner_text("section")
        plots = opened.locator(".screen [role=row] .plot")
        widths = [plot.bounding_box()["width"] for plot in plots.all()]  # type: ignore[index]
        assert len(widths) == 3 and min(widths) > 60


def test_published_systems_are_grey_rows_that_are_shown_where_few_or_on_request(
    chromium: "Browser", tmp_path: Path
) -> None:
    rows = [row("ours", "query", "nDCG@10", 0.5), row("ours", "original", "nDCG@10", 0.8)]
    rows += [row("ours", "query>original", "IRS", 0.2), row("ours", "query>original", "p-MRR", 0.3)]
    path = tmp_path / "report.html"
    folder = write_results(tmp_path / "runs", rows, "followtable", "WTR")
    path.write_text(page(read_tree(folder), folder), encoding="utf-8")
    with watched(chromium, path.as_uri(), path.as_uri()) as opened:
        assert opened.locator(".row.theirs").count() == 0
        opened.check(".foot input")
        assert opened.locator(".row.theirs").count() == 15
        # FollowTable, Table 4, WTR: by nDCG@10 under the instruction Promptriever is next to ours
        shown = [text.split() for text in opened.locator(".row:not(.heads):not(.axes)").all_inner_texts()[:2]]
        assert shown[0][0] == "ours" and shown[1] == [
            *("Promptriever", "(7B)", "published", "82.3", "76.4", "+23.7", "+10.6")
        ]
