"""The explorer in a real Chromium, from its server: by keyboard alone, hostile texts, with annotate, accessible."""

import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from accessibility import AXE, NARROW, WIDE, axe_core
from annotating import running, sample_pool
from annotating_browser import CHROMIUM
from explored_results import own_copy
from serving import Running, serving
from watched_page import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")

HOSTILE = "<img src=x onerror=document.title='owned'>"
# before colours are tested: without the report, which is hidden here, and with the first of the lines that differ in
# nothing but their texts; to look at each takes seconds
ONE_OF_EACH = """() => {
    document.querySelector("#overview").replaceChildren();
    const look = (one) => [one.tagName, one.className, one.dir, one.lang, ...[...one.attributes]
        .filter(({ name }) => /^(data|aria)-/.test(name) && !["data-docid", "aria-label"].includes(name))
        .map(({ name, value }) => name + value)];
    const known = new Set();
    for (const line of document.querySelectorAll("#explorer li")) {
        const looks = [...line.querySelectorAll("*")].map(look);
        for (let one = line; one; one = one.parentElement) looks.push(look(one));
        const all = JSON.stringify(looks);
        if (known.has(all)) line.remove();
        known.add(all);
    }
}"""


@pytest.fixture(scope="module")
def runs(sample_runs: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's Persian results with indexes of their own; the first topic is hostile."""
    folder = own_copy(sample_runs("fas"), tmp_path_factory.mktemp("explore"))
    note = json.loads((folder / "topics.json").read_text())
    note["topics"][0]["query"] += HOSTILE
    note["topics"][0]["instructions"]["original"] += HOSTILE
    (folder / "topics.json").write_text(json.dumps(note))
    return folder


@pytest.fixture(scope="module")
def annotation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    pool = tmp_path_factory.mktemp("annotation") / "pool.jsonl"
    sample_pool(pool)
    with running(pool, "--lang", "fas") as server:
        yield server


@pytest.fixture(scope="module")
def server(runs: Path, annotation: Running) -> Iterator[Running]:
    with serving("explore", runs, "--annotate", annotation.address, kind=Running) as process:
        yield process


@pytest.fixture
def tab(chromium: "Browser", server: Running, request: pytest.FixtureRequest) -> "Iterator[Page]":
    """A window with the explorer; what it complains of, or asks for elsewhere, fails the test."""
    bypass = bool(axe_core()) and "accessible" in request.node.name  # axe-core is put into the page
    with watched(chromium, server.address, f"http://127.0.0.1:{server.port}/", 768, 20_000, bypass) as page:
        yield page
        assert page.title() != "owned"


def show(tab: "Page", place: str) -> None:
    tab.evaluate("place => { location.hash = place }", place)


def answered(tab: "Page") -> None:
    tab.wait_for_selector('.tabs [role="status"]:has-text("answered in")')


def test_from_a_topic_to_a_changed_instruction_by_keyboard(tab: "Page") -> None:
    show(tab, "#/./topic/01")
    tab.wait_for_selector(".ranking a")
    assert HOSTILE in tab.inner_text("h1.query"), "hostile text is text"
    tab.keyboard.press("j")
    tab.wait_for_selector(".document[data-docid] .facts")
    tab.keyboard.press("p")
    answered(tab)
    assert re.fullmatch("the same ranking", tab.inner_text('[aria-label="polarity"] h2 .soft'))
    field = tab.locator(".asked textarea").nth(1)
    while not field.evaluate("field => field === document.activeElement"):
        tab.keyboard.press("Tab")
    tab.keyboard.press("Control+End")
    tab.keyboard.insert_text(f" اخبار سیاسی را کنار بگذارید. {HOSTILE}")
    tab.wait_for_selector('[aria-label="polarity"] h2 .soft:not(:text-is("the same ranking"))')
    assert tab.locator('.reads ins:has-text("سیاسی")').count() == 1
    assert tab.locator('.reads button[aria-pressed="true"]').inner_text().startswith("before → after: +")
    tab.keyboard.press("Escape")  # leaves the field
    tab.keyboard.press("Escape")  # goes back to the topic
    tab.wait_for_selector(".topic h1.query")
    assert tab.evaluate("location.hash").startswith("#/./topic/01")


def test_the_playground_is_in_its_address_and_can_be_copied_as_a_topic(tab: "Page", server: Running) -> None:
    assert tab.url == f"http://127.0.0.1:{server.port}/", "no token"
    show(tab, "#/./playground/02?condition=changed")
    answered(tab)
    topic = server.get("/api/topic?folder=.&id=02")
    assert tab.input_value(".asked label:nth-child(2) textarea") == topic["narratives"]["changed"]["text"]
    instruction = 'Leave out "ferries" & lakes.\n50% #1'
    tab.fill(".asked label:nth-child(2) textarea", instruction)
    tab.wait_for_url(re.compile("instruction=Leave"))
    answered(tab)
    changed = tab.inner_text('[aria-label="polarity, after"] ol')
    tab.reload()
    answered(tab)
    assert tab.input_value(".asked label:nth-child(2) textarea") == instruction
    assert tab.inner_text('[aria-label="polarity, after"] ol') == changed
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.click("button:text-is('Copy as a topics line')")
    tab.wait_for_selector("#toast:has-text('Copied')")
    line = json.loads(tab.evaluate("navigator.clipboard.readText()"))
    assert line["instructions"] == {"original": topic["narratives"]["original"]["text"], "changed": instruction}
    assert (line["qid"], line["lang"], line["query"]) == ("02", "fa", topic["query"])
    tab.fill(".asked label:nth-child(2) textarea", "")  # an empty instruction is not the topic's own
    tab.wait_for_url(re.compile("instruction=$"))
    tab.reload()
    answered(tab)
    assert tab.input_value(".asked label:nth-child(2) textarea") == ""
    tab.click("button:text-is('As it was')")
    tab.wait_for_url(re.compile("condition=changed$"))
    tab.fill(".asked label:nth-child(2) textarea", instruction)
    show(tab, "#/./topic/02")  # before the systems are asked
    tab.wait_for_selector(".ranking a")
    tab.wait_for_timeout(400)
    assert "instruction" not in tab.url


def test_a_reading_is_corrected_by_keys_and_copied_with_the_topic(tab: "Page") -> None:
    text = f"Find ships 🚢 and harbours.\nLeave out ferries and trains. {HOSTILE}"
    show(tab, "#/./playground/02?condition=changed")
    answered(tab)
    tab.fill(".asked label:nth-child(2) textarea", text)
    excluded = ".asked .under mark[data-kind=excluded]"
    tab.wait_for_selector(f'{excluded}:has-text("ferries and trains")', state="attached")
    assert tab.text_content(".asked label:nth-child(2) .under") == f"{text}\n", "below the same text"
    field = tab.locator(".asked label:nth-child(2) textarea")

    def press(word: str, key: str) -> None:
        """Press a key with a part of a word selected, one after a character of two units."""
        field.evaluate("(field, at) => field.setSelectionRange(at + 1, at + 3)", len(text[: text.index(word)]) + 1)
        field.press(key)
        tab.wait_for_timeout(200)
        answered(tab)

    press("trains", "Alt+a")
    tab.wait_for_selector('.asked .under mark[data-kind=asked][data-new]:text-is("trains")', state="attached")
    press("harbours", "Alt+x")
    tab.wait_for_selector(f'{excluded}[data-new]:text-is("harbours")', state="attached")
    press("ferries", "Alt+n")
    press("ferries", "Alt+r")
    field.evaluate("(field) => field.setSelectionRange(0, 0)")
    tab.keyboard.insert_text("Please: ")  # what is corrected stays so
    text = f"Please: {text}"
    tab.wait_for_url(re.compile("instruction=Please.*reading="))
    answered(tab)
    tab.reload()
    answered(tab)
    tab.wait_for_selector(f'{excluded}[data-new]:text-is("harbours")', state="attached")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.click("button:text-is('Copy as a topics line')")
    tab.wait_for_selector("#toast:has-text('Copied')")
    line = json.loads(tab.evaluate("navigator.clipboard.readText()"))
    assert line["instructions"]["changed"] == text and [*line["readings"]] == ["changed"]
    spans = [(text[start:end], kind) for start, end, kind in line["readings"]["changed"]]
    assert ("trains", "asked") in spans and ("harbours", "excluded") in spans
    assert any("ferries" in part and kind == "excluded" for part, kind in spans)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(line["readings"]["changed"]))
    tab.click("button:text-is('As it was')")
    tab.wait_for_url(re.compile("condition=changed$"))
    assert tab.locator("mark[data-new]:visible").count() == 0


def test_rows_before_and_after_stand_side_by_side_and_polarity_is_seen_first(tab: "Page") -> None:
    show(tab, "#/./playground/02?condition=changed")
    answered(tab)
    tops = "rows => rows.map((row) => row.getBoundingClientRect().top)"
    sides = [tab.locator(f'[aria-label="polarity, {side}"] ol > li') for side in ("before", "after")]
    before, after = (side.evaluate_all(tops) for side in sides)
    assert before == after and len(before) == 10 and max(before[:3]) < 768 - 24
    tab.locator('[aria-label="polarity, after"] summary').first.click()
    tab.locator('[aria-label="polarity, after"] .reason li').first.wait_for()
    opened = [side.evaluate_all(tops) for side in sides]
    assert opened[0] == opened[1] and opened[0][1] > before[1]


def test_the_playground_says_why_a_document_is_where_it_is(tab: "Page", server: Running) -> None:
    show(tab, "#/./playground/02?condition=changed")
    answered(tab)
    place = tab.locator('[aria-label="polarity, after"] li').first
    place.locator("summary").click()
    place.locator(".reason ul li").first.wait_for()
    docid = place.locator("a").get_attribute("data-docid")
    topic = server.get("/api/topic?folder=.&id=02")
    question = {"folder": ".", "system": "polarity", "topic": "02", "condition": "changed", "docid": docid}
    question |= {"query": topic["query"], "instruction": topic["narratives"]["changed"]["text"]}
    told = json.loads(server.request("POST", "/api/why", question)[2])
    assert f"score {told['score']:.3f}: +" in place.locator(".reason").inner_text()
    text = " ".join(place.locator(".reason").inner_text().split())
    for one in told["contributions"]:
        if one["part"] in ("asked", "excluded"):
            sign = "+" if one["value"] > 0 else "−"
            assert f"{', '.join(one['words'])} {sign}{abs(one['value']):.3f}" in text and one["clauses"][0] in text
    assert tab.locator('[aria-label="bm25, after"] summary').count() == 0


def test_a_search_by_keyboard_finds_topics_and_documents_as_text(tab: "Page") -> None:
    show(tab, "#/./topic/02")
    tab.wait_for_selector(".ranking a")
    tab.keyboard.press("/")
    tab.keyboard.insert_text(HOSTILE)
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".found a")
    assert HOSTILE in tab.inner_text(".further")
    assert tab.locator(".found a").first.inner_text().endswith("01")
    show(tab, f"#/./search?q={quote('n005')}")
    tab.wait_for_selector('.found a:has-text("n005")')
    show(tab, "#/./document/n005?topic=02")  # neither judged there nor among the first
    tab.wait_for_selector('.standing td:has-text("below 20")')
    assert "not in list" not in tab.inner_text(".standing")


def test_a_document_is_opened_in_annotate(tab: "Page", annotation: Running) -> None:
    pooled = next(iter(annotation.get("/api/topic?qid=02&assessor=Ann")["documents"][3:]))["docid"]
    show(tab, f"#/./document/{pooled}?topic=02&condition=changed")
    tab.wait_for_selector(".document[data-docid] .facts")
    with tab.context.expect_page() as opening:
        tab.keyboard.press("o")
    judging = opening.value
    judging.wait_for_selector("#ask[open]")
    judging.keyboard.insert_text("Ann")
    judging.keyboard.press("Enter")
    judging.wait_for_selector("#document .facts")
    assert judging.get_attribute("#document", "data-docid") == pooled
    assert judging.get_attribute("#tab-changed", "aria-selected") == "true"
    judging.goto(f"{annotation.address}#topic=02&doc=absent&tab=original")
    judging.wait_for_selector('#toast:has-text("Document absent is not in this pool for topic 02.")')


def test_a_report_says_that_the_playground_and_judging_need_the_server(chromium: "Browser", runs: Path) -> None:
    with chromium.new_context() as context:
        tab = context.new_page()
        tab.goto(f"{(runs / 'report.html').as_uri()}#/./topic/02")
        for key in ("o", "p"):
            tab.wait_for_selector(".ranking a")
            tab.keyboard.press(key)
            tab.wait_for_selector(f'#toast:has-text("Type in a terminal: heed explore {runs}")')
            tab.reload()


def test_every_view_reflows_and_is_accessible(tab: "Page") -> None:
    axe = axe_core()
    if axe:
        tab.evaluate(axe)
    problems = []
    for place in ("topic/02", "document/n005?topic=02", "playground/02", "search?q=n005"):
        show(tab, f"#/./{place}")
        answered(tab) if place.startswith("playground") else tab.wait_for_selector("#explorer h1:visible")
        for width, height in ((390, 844), (1366, 768)):
            tab.set_viewport_size({"width": width, "height": height})
            wide = tab.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                problems.append(f"{place} at {width} pixels: {wide} wide")
            if width > 390:
                tab.evaluate(ONE_OF_EACH)
            for theme, rules in (WIDE if width > 390 else NARROW).items() if axe else ():
                tab.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
                problems += [f"{place} at {width} pixels, {theme}: {each}" for each in tab.evaluate(AXE % rules)]
    assert problems == []
    if not axe:
        pytest.skip("reflow holds; accessibility is not tested without axe-playwright-python")
