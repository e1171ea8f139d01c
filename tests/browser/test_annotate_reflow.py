"""In a real Chromium: every view without scrolling sideways down to 320 pixels, tables with their headers in sight."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accessibility import AXE, NARROW, WIDE, axe_core
from annotating import Running, grade, running, sample_pool
from annotating_browser import CHROMIUM, Assessor
from conftest import write_jsonl

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")

WORDS = {
    "fas": "سوانح کشتی‌های مسافربری در دریا و بندر",
    "zho": "客运渡轮事故例如沉没倾覆碰撞搁浅或船上起火",
}
LAPTOP, ZOOMED, PHONE = (1366, 800), (683, 400), (320, 640)  # CSS pixels; the second is the first at 200 %
# colours are the same at every width, and all but colours in both themes
RULES = {1366: WIDE, 683: {}, 320: NARROW}
VIEWS = ("judging", "table", "edit", "again", "topics", "help", "agreement", "conflict", "empty", "alarm", "ask")


def table(words: str, rows: int, columns: int = 14) -> str:
    """Two header rows with spans over rows that are wider than a document's column."""
    names = "".join(f"<th rowspan=2>{words[:9]} {number}</th>" for number in range(columns - 3))
    below = "".join(f"<th>{words[:6]} {number}</th>" for number in range(2))
    head = f"<tr><th rowspan=2>{words[:9]}</th><th colspan=2>{words[:14]}</th>{names}</tr><tr>{below}</tr>"
    row = "".join(f"<td>{words[:12] if column % 2 else column}</td>" for column in range(columns))
    return f"<table><caption>{words}</caption><thead>{head}</thead><tbody>{f'<tr>{row}</tr>' * rows}</tbody></table>"


@pytest.fixture(scope="module", params=WORDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Topics of long words in a language, the second without a document to judge again."""
    lang, words = request.param, WORDS[request.param]
    folder = tmp_path_factory.mktemp("reflow")
    prose = f"{words} " * 6 + "https://example.org/" + "x" * 200
    records = [
        {"id": "prose", "title": words, "text": prose},
        {"id": "table", "title": "", "text": table(words, rows=3)},  # axe-core looks at each cell, in eight views
        {"id": "tall", "title": "", "text": table(words, rows=24)},
    ]
    topics = [
        {"qid": qid, "lang": lang, "query": words, "instructions": {"original": f"{words} " * 8, "changed": words}}
        for qid in ("q1", "q2")
    ]
    docids = [record["id"] for record in records]
    write_jsonl(folder / "topics.jsonl", topics)
    write_jsonl(folder / "docs.jsonl", records)
    write_jsonl(folder / "pool.jsonl", [{"qid": "q1", "docids": docids}, {"qid": "q2", "docids": docids[:1]}])
    (folder / "qrels").write_text("".join(f"q1 0 {docid} 1\n" for docid in docids) + "q2 0 prose 0\n")
    given = ("--topics", folder / "topics.jsonl", "--docs", folder / "docs.jsonl", "--lang", lang)
    with running(folder / "pool.jsonl", *given, "--qrels", folder / "qrels", "--only-relevant") as process:
        yield process


def show(ann: Assessor, view: str, server: Running) -> None:
    """Bring a view onto the page; each goes on from the one before, in the order of VIEWS."""
    page = ann.page
    if view == "table":
        ann.press("1")
        page.wait_for_selector("#document .table")
    elif view == "edit":
        ann.press("e", "Control+End")
        page.keyboard.insert_text("another text")
    elif view == "again":
        ann.press("Escape")
        page.wait_for_selector("#notice button >> text=older")
        ann.saved()
    elif view == "topics":
        ann.press("t")
    elif view == "help":
        ann.press("t", "?")
    elif view == "agreement":
        narrative = server.get("/api/topic?qid=q1&assessor=Ann")["changed"]  # older grades are nobody's to decide
        for name, value in (("Bea", 0), ("Cem", 1)):
            server.change(name, grade("q1", "prose", value, "changed"), wording=narrative)
        ann.press("Escape")
        ann.until("!document.querySelector('dialog[open]')")  # the browser closes it after the key's own event
        page.wait_for_timeout(200)  # and tells the page of it later still: until then keys are the dialog's
        ann.press("a")
        page.wait_for_selector(".disagreement")
    elif view == "conflict":
        version = server.get("/api/topic?qid=q1&assessor=Ann")["version"]
        ann.press("a", "e")
        page.keyboard.insert_text("mine ")
        server.change("Bea", {"kind": "narrative", "qid": "q1", "text": "theirs", "base": version})
        ann.press("Escape")
        page.wait_for_selector("#conflict:not([hidden])")
    elif view == "empty":
        ann.press("]")
        page.wait_for_selector("#document .empty")
    elif view == "alarm":
        page.route("**/api/progress?*", lambda route: route.abort())
        ann.look()
        page.wait_for_selector("#alarm:not([hidden])")
    elif view == "ask":
        page.click("#who")


def test_every_view_reflows_and_is_accessible(chromium: "Browser", server: Running) -> None:
    ann = Assessor(chromium, server, "Ann", bypass_csp=True)  # axe-core is put into the page
    ann.page.wait_for_selector("#document[data-shown]")
    is_first = ann.page.get_attribute("#query", "dir") == "rtl"  # colours and roles are the same in every language
    axe = axe_core() if is_first else ""
    if axe:
        ann.page.evaluate(axe)
    problems = []
    for view in VIEWS:
        show(ann, view, server)
        for width, height in (LAPTOP, ZOOMED, PHONE):
            ann.page.set_viewport_size({"width": width, "height": height})
            wide = ann.page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                problems.append(f"{view} at {width} pixels: {wide} wide")
            for theme, rules in RULES[width].items() if axe else ():
                ann.page.emulate_media(color_scheme=theme)
                found = ann.page.evaluate(AXE % rules)
                problems += [f"{view} at {width} pixels, {theme}: {each}" for each in found]
        ann.page.set_viewport_size({"width": LAPTOP[0], "height": LAPTOP[1]})
    ann.context.close()
    assert problems == []
    if is_first and not axe:
        pytest.skip("reflow holds; accessibility is not tested without axe-playwright-python")


def test_a_tables_header_rows_stay_in_sight(chromium: "Browser", server: Running) -> None:
    ann = Assessor(chromium, server, "Table")
    ann.press("1", "1")
    assert ann.shown() == "tall"
    region = ann.page.wait_for_selector("#document .table")
    for width, height in (LAPTOP, ZOOMED, PHONE):
        ann.page.set_viewport_size({"width": width, "height": height})
        ann.page.evaluate("document.querySelector('#reading').scrollIntoView()")
        ann.page.evaluate("document.querySelector('#document .table').scrollTop = 200")
        place = region.bounding_box()
        heads = [cell.bounding_box() for cell in ann.page.locator("thead tr:last-child th").all()]
        assert place and place["width"] <= width and place["height"] < height
        assert all(head and place["y"] <= head["y"] < place["y"] + place["height"] / 2 for head in heads)
    assert ann.page.evaluate("document.activeElement === document.querySelector('#document .table')"), "its keys scroll"
    assert ann.page.get_attribute("#document .table", "aria-label").startswith("Table: ")
    spans = ann.page.locator("thead th").evaluate_all("cells => cells.map(cell => [cell.rowSpan, cell.colSpan])")
    assert spans == [[2, 1], [1, 2], *[[2, 1]] * 11, [1, 1], [1, 1]]
    assert ann.page.evaluate("[...document.querySelectorAll('#document td')].every(cell => cell.dir === 'auto')")
    ann.press("ArrowLeft", "k")  # an arrow scrolls a wide table, a letter goes on
    assert ann.shown() == "table"
    ann.context.close()


def test_the_head_has_two_rows_whatever_is_called_how(chromium: "Browser", tmp_path: Path) -> None:
    pool = tmp_path / "neuclir-2024-persian-depth-100-second-round.jsonl"
    sample_pool(pool)
    with running(pool, "--lang", "fas") as server:
        page = Assessor(chromium, server, "Katharina Schmidt").page
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        assert page.evaluate("document.querySelector('#top').offsetHeight") < 90, "a row has 35 pixels"
        page.context.close()


def test_a_csv_file_is_shown_as_a_table(chromium: "Browser", tmp_path: Path) -> None:
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "first.csv").write_text('Year,City,"<b onclick=x>"\n2001,Rome,"a, <i>b"\n2002,Oslo,c\n')
    write_jsonl(tmp_path / "topics.jsonl", [{"qid": "q", "lang": "eng", "query": "cities"}])
    write_jsonl(tmp_path / "pool.jsonl", [{"qid": "q", "docids": ["first"]}])
    given = ("--topics", tmp_path / "topics.jsonl", "--docs", tmp_path / "csv", "--lang", "eng")
    with running(tmp_path / "pool.jsonl", *given) as server:
        ann = Assessor(chromium, server, "Ann")
        assert ann.text("#document caption") == "first"
        assert ann.page.locator("#document th").all_inner_texts() == ["Year", "City", "<b onclick=x>"]
        assert ann.page.locator("#document td").all_inner_texts() == ["2001", "Rome", "a, <i>b", "2002", "Oslo", "c"]
        ann.press("r")
        ann.page.wait_for_selector("#document pre")
        assert ann.text("#document pre").startswith("first\nYear,City,")
        ann.context.close()
