"""The site of three collections in a real Chromium, opened as files: sorted tables, links to topics, axe."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accessibility import AXE, NARROW, WIDE, axe_core
from annotating_browser import CHROMIUM
from explored_results import sample, tables
from report_folders import hostile_results
from watched_page import watched

from heed.addons.explorer.static_site import write_site
from heed.report.results import read_folders

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of Persian news, tables and hostile results, moved after it was written."""
    root = tmp_path_factory.mktemp("site")
    folders = [sample(root, "fas"), tables(root), hostile_results(root / "bad <b>&%")]
    write_site(read_folders(folders), root / "made", "Ours")
    return (root / "made").rename(root / "moved & here")


def no_serious_faults(page: "Page", options: str) -> None:
    page.evaluate(axe_core())
    assert page.evaluate(AXE % options) == []


def test_the_first_page_sorts_its_tables_and_leads_to_topics_and_back(chromium: "Browser", site: Path) -> None:
    address = (site / "index.html").as_uri()
    with watched(chromium, address, site.as_uri()) as page:
        names = page.locator('[aria-label="Systems of neuclir-sample fas"] tbody .name')
        assert names.all_inner_texts() == ["obeys", "stays"]  # by selectivity, as its head says
        page.get_by_role("button", name="system").nth(1).click()
        page.get_by_role("button", name="system").nth(1).click()
        assert names.all_inner_texts() == ["stays", "obeys"]
        page.locator('[aria-label="Systems of neuclir-sample fas"] tbody tr:first-child a').first.click()
        page.wait_for_selector("#explorer:not([hidden]) .ranking a")
        assert "neuclir-sample-fas.html#/./topic" in page.url and "system=stays" in page.url
        assert page.locator('#explorer .topic [dir="rtl"], #explorer .topic [lang="fa"]').count() > 0
        page.click("#explorer >> text=Overview")
        page.click("text=← Ours")
        page.wait_for_url(address)


def test_the_first_page_fits_both_windows_and_axe_finds_nothing_serious(chromium: "Browser", site: Path) -> None:
    with watched(chromium, (site / "index.html").as_uri(), site.as_uri(), bypass_csp=True) as page:
        for scheme, options in WIDE.items():
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            no_serious_faults(page, options)
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        no_serious_faults(page, NARROW["light"])
        scrolled = page.locator('[aria-label="Systems of tables-sample eng"]')
        scrolled.evaluate("each => (each.scrollLeft = 999)")
        assert scrolled.evaluate("each => each.scrollLeft") > 0
        box, name = scrolled.bounding_box(), scrolled.locator("td.name").first.bounding_box()
        assert box and name and name["x"] == pytest.approx(box["x"], abs=1)  # the name stays in sight


def test_the_pages_share_one_file_of_vega_and_say_where_it_is_missing(chromium: "Browser", site: Path) -> None:
    alone = site.with_name("alone.html")
    alone.write_bytes((site / "neuclir-sample-fas.html").read_bytes())
    assert (site / "vega.js").stat().st_size > 700_000
    assert all(len(path.read_bytes()) < 700_000 for path in site.glob("*.html"))
    missing = "The charts need vega.js, which belongs beside this page."
    for path in (site / "neuclir-sample-fas.html", site / "tables-sample-eng.html"):
        with watched(chromium, path.as_uri(), site.as_uri()) as page:
            page.locator("figure").first.scroll_into_view_if_needed()
            page.wait_for_selector("figure svg")
            assert missing not in page.inner_text("#overview")
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(alone.as_uri())
        assert missing in page.inner_text("#overview")


def test_without_script_every_figure_is_there(chromium: "Browser", site: Path) -> None:
    with chromium.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto((site / "index.html").as_uri())
        assert page.locator("table").count() == 4 and page.locator("td a").count() > 10
        assert page.locator("main b, main img, main script").count() == 0
