"""The page of a report in a real Chromium, opened as a file: tables, charts, two systems; with and without script."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from annotating_browser import CHROMIUM
from test_report import NASTY, hostile_results, write_results

from heed.reporting.folders import read_tree
from heed.reporting.page import page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")


@pytest.fixture(scope="module")
def report(sample_runs: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of three folders: the sample's Persian results, others with the same systems, and hostile ones."""
    runs = tmp_path_factory.mktemp("report") / "runs"
    shutil.copytree(sample_runs("fas"), runs / "fas")
    rows = json.loads((runs / "fas/summary.json").read_text())["rows"]
    write_results(runs / "rus", rows, "neuclir-sample", "rus")
    hostile_results(runs / "bad <b>&%")
    path = runs / "report.html"
    path.write_text(page(read_tree(runs), runs), encoding="utf-8")
    return path


@pytest.fixture
def opened(chromium: "Browser", report: Path) -> "Iterator[Page]":
    """The page in a window of its own; whatever it complains of or asks for fails the test."""
    with chromium.new_context(viewport={"width": 1366, "height": 768}) as context:
        context.set_default_timeout(5_000)
        seen: list[str] = []
        context.on("request", lambda request: seen.append(request.url))
        tab = context.new_page()
        tab.on("console", lambda message: seen.append(message.text))
        tab.on("pageerror", lambda error: seen.append(str(error)))
        tab.goto(report.as_uri())
        yield tab
        assert [line for line in seen if not line.startswith(report.as_uri())] == []


def texts(tab: "Page", selector: str) -> list[str]:
    return [text.strip() for text in tab.locator(selector).all_inner_texts()]


FAS = 'section[data-folder="fas"]'


def test_a_table_is_sorted_by_any_column_and_filtered_by_words(opened: "Page") -> None:
    column = f"{FAS} .sortable tbody td:nth-child(3)"
    before = texts(opened, column)
    opened.click(f"{FAS} .sortable th:nth-child(3) button")
    figures = [text for text in before if text != "-"]
    absent = ["-"] * (len(before) - len(figures))
    assert len(set(figures)) > 2
    assert texts(opened, column) == sorted(figures, key=float, reverse=True) + absent
    assert opened.get_attribute(f"{FAS} .sortable th:nth-child(3)", "aria-sort") == "descending"
    opened.keyboard.press("Enter")  # the button has the focus
    assert texts(opened, column) == sorted(figures, key=float) + absent

    opened.keyboard.press("/")
    opened.keyboard.insert_text("LSA orig")
    rows = [text.split("\t")[:2] for text in texts(opened, f"{FAS} .sortable tbody tr:not([hidden])")]
    assert [[cell.replace("\n", "") for cell in cells] for cells in rows] == [
        ["lsa", "original"],
        ["lsa", "original>changed"],
    ]
    opened.fill("#columns-filter", "mrr ndcg")
    heads = texts(opened, f"{FAS} .sortable th:not([hidden])")
    assert heads == ["system", "condition", "nDCG@20", "p-MRR", "p-MRR in neither", "n"]


def test_the_page_runs_no_text_of_the_results(opened: "Page", report: Path) -> None:
    opened.goto(f"{report.as_uri()}#/{'bad <b>&%'.replace('%', '%25')}")
    assert opened.locator("script").count() == 2
    assert NASTY in opened.inner_text('section[data-folder="bad <b>&%"] table')
    assert opened.locator("#overview b, #overview img").count() == 0
    opened.goto(f"{report.as_uri()}#/%E0%A4%A/topic")  # no place at all: the overview
    assert opened.is_visible("#overview")


def test_without_script_tables_and_charts_are_there(chromium: "Browser", report: Path) -> None:
    with chromium.new_context(java_script_enabled=False) as context:
        tab = context.new_page()
        tab.goto(report.as_uri())
        assert tab.locator("#overview .sortable").count() == 3
        assert tab.locator("figure svg a").first.is_visible()
        assert not tab.is_visible("#filters") and not tab.is_visible(".two >> nth=0")
