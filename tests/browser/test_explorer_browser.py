"""Topics and documents of a report in a real Chromium, opened as a file: texts, keys, languages, hostile texts."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from accessibility import AXE, WIDE, axe_core
from annotating_browser import CHROMIUM, WEBKITS_LIMIT
from conftest import ROOT
from explored_results import PAYLOADS, by_grade, evaluated, half_judged, hostile, sample, tables, untitled
from watched_page import watched

from heed import load
from heed.formats.trec_files import read_qrels
from heed.ranking import ranked
from heed.report.page import write_page
from heed.report.results import read_tree
from heed.tables.markup import parse_markdown

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")

FAS, ZHO, AUDIENCE = "neuclir-sample%2Ffas", "neuclir-sample%2Fzho", "infosearch-sample%2Faudience"
EXPLORER = "#explorer:not([hidden])"
TALL = 900


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One page over Persian and Chinese news, tables, texts that attack it, and documents without titles."""
    root = tmp_path_factory.mktemp("explored")
    for lang in ("fas", "zho"):
        sample(root, lang)
    tables(root)
    hostile(root)
    untitled(root)
    half_judged(root)
    evaluated(load("infosearch-sample/audience"), root)
    path = root / "report.html"
    write_page(read_tree(root / "runs"), root / "runs", path)
    return path


@pytest.fixture
def tab(chromium: "Browser", report: Path) -> "Iterator[Page]":
    """A window with the report; a request, a message of the console or an error fails the test."""
    with watched(chromium, report.as_uri(), report.as_uri(), TALL) as page:
        yield page


def go(tab: "Page", place: str) -> None:
    """Follow a link within the page, and wait until the place is drawn."""
    tab.evaluate(f"location.hash = {json.dumps(place)}")
    tab.wait_for_selector(f"{EXPLORER} .ranking a, {EXPLORER} .topic .empty")


def shown(tab: "Page") -> str:
    """The docid in view, once its document is drawn."""
    tab.wait_for_selector(f"{EXPLORER}[data-reading] .document .facts")
    return tab.locator(".document").get_attribute("data-docid")


def texts(tab: "Page", selector: str) -> list[str]:
    return [text.strip() for text in tab.locator(selector).all_inner_texts()]


def test_a_click_on_a_ranked_document_opens_its_text_beside_the_ranking(tab: "Page") -> None:
    go(tab, f"#/{FAS}/topic/01")
    assert not tab.locator("#overview").is_visible()
    second = tab.locator(".columns section >> nth=0 >> .ranking a >> nth=1")
    docid = second.get_attribute("data-docid")
    second.click()
    assert shown(tab) == docid
    record = next(
        json.loads(line)
        for line in (ROOT / "documents/neuclir-sample/fas.jsonl").read_text("utf-8").splitlines()
        if json.loads(line)["id"] == docid
    )
    paragraphs = [line.strip() for line in record["text"].split("\n") if line.strip()]
    assert texts(tab, ".document .text") == paragraphs and texts(tab, ".document .title") == [record["title"]]
    assert tab.locator(".document .text >> nth=0").evaluate("e => [e.dir, e.lang]") == ["rtl", "fa"]
    assert tab.locator(".columns").is_visible()
    place = f"#/{FAS}/document/{docid}?topic=01&system=obeys&condition=original"
    assert tab.evaluate("location.hash") == place
    tab.go_back()
    tab.wait_for_selector(f"{EXPLORER}:not([data-reading])")
    tab.go_back()
    tab.wait_for_selector("#overview:not([hidden])")


def test_what_should_have_fallen_is_listed_and_those_that_did_not_come_first(tab: "Page") -> None:
    # topic 01 of the sample: four documents are relevant under original alone (qrels/neuclir-sample)
    go(tab, f"#/{FAS}/topic/01?system=stays")
    assert texts(tab, ".fallen h2 span") == ["relevant under original, not under changed: 4 of 4 did not fall"]
    assert {text.split(" ")[0] for text in texts(tab, ".fallen .shift")} == {"="}
    go(tab, f"#/{FAS}/topic/01?system=obeys")
    tab.wait_for_selector(".fallen .shift[data-outcome=right]")
    grades = [read_qrels(ROOT / f"qrels/neuclir-sample/{name}.qrels")["01"] for name in ("original", "changed")]
    before, after = (ranked(by_grade({"01": of_condition})["01"]) for of_condition in grades)
    moved = {docid for docid, grade in grades[0].items() if grade > 0 and grades[1][docid] <= 0}
    wrong = {docid for docid in moved if after.index(docid) <= before.index(docid)}
    assert 0 < len(wrong) < len(moved) == 4
    count = f"relevant under original, not under changed: {len(wrong)} of 4 did not fall"
    assert texts(tab, ".fallen h2 span") == [count]
    listed = tab.evaluate("[...document.querySelectorAll('.fallen a')].map((a) => a.dataset.docid)")
    assert set(listed[: len(wrong)]) == wrong and set(listed) == moved
    cut = """[...document.querySelectorAll('.fallen :is(.name, .id)')].filter((cell) => {
        cell.textContent = "clueweb22-en0012-34-56789-".repeat(9);
        return cell.scrollWidth > cell.clientWidth;
    }).length"""
    assert tab.evaluate(cut) == 0, "ids are whole"


OUTCOMES = """selector => Object.fromEntries([...document.querySelectorAll(`${selector} .shift`)].map(mark =>
    [mark.closest("a").dataset.docid, [mark.dataset.outcome ?? "", mark.innerText.slice(-1)]]))"""


def test_a_move_is_right_or_wrong_by_the_grades_wherever_it_is_shown(tab: "Page") -> None:
    go(tab, f"#/{FAS}/topic/01?system=obeys")
    of_list, of_columns = (tab.evaluate(OUTCOMES, f"{part} a") for part in (".fallen", ".columns"))
    assert {tuple(outcome) for outcome in of_list.values()} == {("right", "✓"), ("wrong", "✗")}
    assert {docid: of_columns[docid] for docid in of_list} == of_list
    # obeys: d1 before d2 under original; d2, d3 before d1 under changed
    go(tab, "#/untitled%2Feng/document/d1?topic=1&system=obeys")
    tab.wait_for_selector(".document[data-docid=d1] .standing")
    # a list by grades, then by docids: d1 d2 d3, and d2 d3 d1; d2 rises, and its grades ask for nothing
    assert tab.evaluate(OUTCOMES, ".columns section:last-child a") == {
        "d2": ["", "1"],
        "d3": ["right", "✓"],
        "d1": ["right", "✓"],
    }
    # stays: d1 d2 d3 under both; what should fall and stays is wrong, what should rise may have no place above it
    assert texts(tab, ".standing td:last-child") == ["fell 2 ✓", "stayed ✗"]
    title = tab.get_attribute(".columns section:last-child a[data-docid=d1] .shift", "title")
    assert title == "fell: 1 → 3; it should fall, right"


def test_what_nobody_judged_is_neither_ruled_out_nor_to_rise(tab: "Page") -> None:
    go(tab, "#/half-judged%2Feng/topic/1?system=obeys")
    assert texts(tab, ".fallen h2 span") == ["relevant under original, not under changed: 0 of 1 did not fall"]
    outcomes = tab.evaluate(OUTCOMES, ".columns section:last-child a")
    assert {docid: outcome for docid, (outcome, _) in outcomes.items()} == {"d4": "", "d1": "right", "d2": ""}
    title = tab.get_attribute(".columns section:last-child a[data-docid=d2] .grade:last-child", "title")
    assert title == "changed: not judged"


def test_a_document_without_a_title_is_listed_by_its_first_words_and_scores_have_four_digits(tab: "Page") -> None:
    go(tab, "#/untitled%2Feng/document/d1?topic=1&system=obeys")
    assert shown(tab) == "d1"
    assert texts(tab, ".columns section:first-child .name")[0].startswith("Ship 1 sails on a lake. Water. Water.")
    assert texts(tab, ".document .title") == ["d1"] and texts(tab, ".document .text")[0] == "Ship 1 | sails"
    # grade 2 + 1/2, 1 + 1/3 and 0 + 1/4; a file has five digits
    scores = tab.locator(".columns section:first-child .score")
    assert scores.all_inner_texts() == ["2.5", "1.333", "0.25"]
    assert scores.nth(1).get_attribute("title") == "score 1.3333"


def test_a_persian_and_a_chinese_narrative_are_compared_by_words(tab: "Page") -> None:
    for folder, language, direction in ((FAS, "fa", "rtl"), (ZHO, "zh", "ltr")):
        lang = folder[-3:]
        go(tab, f"#/{folder}/topic/01")
        tab.wait_for_selector(f".difference[lang={language}]")
        difference = tab.locator(".difference")
        assert difference.get_attribute("dir") == direction
        topic = json.loads((ROOT / f"topics/neuclir-sample/{lang}.jsonl").read_text("utf-8").splitlines()[0])
        both = "e => (kind) => [...e.childNodes].filter((n) => n.nodeName !== kind).map((n) => n.textContent).join('')"
        for removed, condition in (("DEL", "changed"), ("INS", "original")):
            text = difference.evaluate(f"e => ({both})(e)('{removed}')")
            assert text.strip() == topic["instructions"][condition].strip()
        assert tab.locator(".difference ins").count() >= 1
        words = int(texts(tab, ".tabs button >> nth=0")[0].split("+")[1].split()[0])
        assert words == difference.evaluate(
            "e => [...e.querySelectorAll('ins')].flatMap((i) => [...new Intl.Segmenter(e.lang, { granularity: 'word' })"
            ".segment(i.textContent)]).filter((s) => s.isWordLike).length"
        )


def test_what_polarity_reads_is_marked_in_narrative_and_document(tab: "Page") -> None:
    go(tab, f"#/{FAS}/topic/01")
    assert texts(tab, ".tabs .key:visible")[0] == "added removed"
    tab.click(".tabs button:text-is('changed')")
    assert texts(tab, ".tabs .key:visible")[0] == "as polarity reads it: asked excluded neutral"
    excluded = texts(tab, ".panel:not([data-off]) mark[data-kind=excluded]")
    assert len(excluded) >= 1 and len(texts(tab, ".panel:not([data-off]) mark[data-kind=asked]")) >= 1
    tab.click(".ranking a >> nth=0")
    shown(tab)
    kinds = set(tab.evaluate("[...document.querySelectorAll('.document mark')].map((m) => m.dataset.kind)"))
    assert {"query", "asked"} <= kinds


def test_all_is_reached_by_keys_alone(tab: "Page") -> None:
    go(tab, f"#/{FAS}/topic/01?order=topics")
    press = tab.keyboard.press
    order = tab.evaluate("[...document.querySelectorAll('.columns section:first-child a')].map((a) => a.dataset.docid)")
    press("j")
    assert shown(tab) == order[0]
    press("ArrowRight")
    tab.wait_for_selector(f".document[data-docid='{order[1]}']")
    press("k")
    tab.wait_for_selector(f".document[data-docid='{order[0]}']")
    assert tab.evaluate("document.activeElement.dataset.docid") == order[0]
    press("c")
    tab.wait_for_function("location.hash.includes('condition=changed')")
    press("s")
    tab.wait_for_function("location.hash.includes('system=stays')")
    assert shown(tab) == order[0], "the document stays open"
    press("]")
    tab.wait_for_function("location.hash.includes('/topic/02?')")
    press("/")
    tab.keyboard.insert_text("11")
    assert texts(tab, ".topics a .id") == ["11"]
    press("Escape")
    assert tab.evaluate("document.activeElement === document.body")
    press("?")
    tab.wait_for_selector("dialog[open]")
    press("Escape")
    tab.wait_for_selector("dialog:not([open])", state="attached")
    press("j")
    shown(tab)
    press("Escape")
    tab.wait_for_selector(f"{EXPLORER}:not([data-reading])")
    press("Escape")
    tab.wait_for_selector("#overview:not([hidden])")


def test_a_topic_is_drawn_whatever_becomes_of_its_address(tab: "Page") -> None:
    tab.add_init_script(WEBKITS_LIMIT)
    tab.reload()
    go(tab, f"#/{FAS}/topic/01?system=obeys")
    order = tab.evaluate("[...document.querySelectorAll('.columns section:first-child a')].map((a) => a.dataset.docid)")
    tab.keyboard.press("j")
    for key in "jk" * 55:
        tab.keyboard.press(key)
        tab.wait_for_timeout(5)  # most are drawn before the next
    tab.wait_for_selector(f".document[data-docid='{order[0]}']")
    assert len(order) > 2, "a key that came before the last was drawn would move from another document"
    assert texts(tab, ".topic .query") != [], "the topic is there, not an error"
    tab.fill(".topics input", "1")
    tab.wait_for_url(re.compile("find=1"))


def test_the_overview_has_its_own_title_and_a_link_to_no_folder_says_so(tab: "Page") -> None:
    title = tab.title()
    go(tab, f"#/{FAS}/topic/01")
    assert tab.title().startswith("01: ")
    tab.evaluate("location.hash = ''")
    tab.wait_for_selector("#explorer", state="hidden")
    assert tab.title() == title
    go(tab, "#/nowhere/topic/01")
    assert "No folder nowhere is in this report; it has" in tab.inner_text(f"{EXPLORER} .topic")


def test_topics_are_listed_the_worst_first_with_their_values_and_the_first_is_opened(tab: "Page", report: Path) -> None:
    tab.click(f"#overview a.topics[href*='{FAS}/topic?']")
    tab.wait_for_selector(f"{EXPLORER} .ranking a")
    go(tab, f"#/{FAS}/topic?system=obeys")
    values = [float(text) for text in texts(tab, ".topics .figure")]
    assert len(values) == 12 and values == sorted(values) and values[0] < values[-1]
    first = texts(tab, ".topics .id")[0]
    assert tab.evaluate("location.hash").startswith(f"#/{FAS}/topic/{first}?")
    rows = json.loads((report.parent / "runs/neuclir-sample/fas/per_topic.json").read_text())["rows"]
    [p_mrr] = [row["per_topic"] for row in rows if (row["system"], row["measure"]) == ("obeys", "p-MRR")]
    assert f"{100 * p_mrr[first]:.1f}" == f"{100 * min(p_mrr.values()):.1f}" == f"{values[0]:.1f}"
    assert texts(tab, ".figures")[0].startswith(f"obeys, original → changed: p-MRR {values[0]:.1f}")


def test_the_worst_of_a_measure_whose_lowest_value_is_the_best_is_the_highest(tab: "Page") -> None:
    go(tab, f"#/{AUDIENCE}/topic?system=obeys&order=query mean gold rank")
    values = [float(text) for text in texts(tab, ".topics .figure")]
    assert values == sorted(values, reverse=True) and values[0] > values[-1]
    assert "selectivity" in texts(tab, ".figures")[0] and "in neither" not in texts(tab, ".figures")[0]


def test_no_order_of_topics_is_cut_in_the_list(tab: "Page") -> None:
    for folder in (FAS, AUDIENCE):
        go(tab, f"#/{folder}/topic?system=obeys")
        cut = tab.locator(".topics select").evaluate("""select => {
            const pen = document.createElement("canvas").getContext("2d");
            pen.font = getComputedStyle(select).font;
            const arrow = 30;  // pixels, with the padding
            return [...select.options].map(one => one.text)
                .filter(text => pen.measureText(text).width > select.clientWidth - arrow);
        }""")
        assert cut == []


def test_filter_order_and_narrative_are_in_the_address(tab: "Page") -> None:
    go(tab, f"#/{FAS}/topic/01?system=obeys")
    tab.select_option(".topics select", label="worst selectivity")
    tab.click(".tabs button:text-is('changed')")
    tab.fill(".topics input", "1")
    tab.click(".topics a[href*='/topic/11?']")
    tab.wait_for_function("location.hash.includes('/topic/11?')")
    state = """() => [[...document.querySelectorAll(".topics .id, .topics .figure")].map(e => e.textContent).join(),
        document.querySelector(".topic [aria-pressed=true]").textContent,
        document.querySelector(".topics select").value]"""
    before = tab.evaluate(state)
    assert before[1:] == ["changed", "original>changed selectivity"] and "02" not in before[0]
    tab.reload()
    tab.wait_for_selector(f"{EXPLORER} .ranking a")
    assert tab.evaluate(state) == before
    tab.fill(".topics input", "")
    tab.wait_for_url(lambda url: "find=" not in url)


def test_a_followtable_topic_stands_beside_its_query_and_tables_are_drawn(tab: "Page") -> None:
    go(tab, "#/tables-sample%2Feng/topic/5_0")
    assert texts(tab, ".columns h3") != [] and texts(tab, ".family a")[0] == "5 (query alone)"
    assert [text.split()[0] for text in texts(tab, ".columns h3")] == ["query", "original"]
    go(tab, "#/tables-sample%2Feng/document/t003?topic=5_0")
    assert shown(tab) == "t003"
    head = tab.locator(".document thead >> nth=0 >> th[colspan]")
    spans = [(cell.inner_text(), cell.get_attribute("colspan")) for cell in head.all()]
    assert spans == [("Composition (% by mass)", "4"), ("Test bar 12 mm", "2")]
    assert texts(tab, ".document tbody >> nth=0 >> tr >> nth=0 >> td")[:2] == ["W-34", "2.8-3.2"]


MARKDOWN = [
    "# A caption\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 |  |",
    "| a \\| b | c |\n|:-|-:|\n| x  y | \\\\ |\nafter",
    "a | b\n--- | ---\n1 | 2 | 3",
    "| a<br>b | \\<br> |\n| - | - |\n|| |",
    "before\n\n| `a|b` | c |\n| - | - |\n| 1 | 2 |\n\n| d | e |\n| - | - |\n| f | g |",
    "| a | b |\n| 1 | 2 |",
]


def test_the_page_reads_pipe_tables_as_the_library_does(tab: "Page") -> None:
    source = (ROOT / "heed/addons/explorer/page/grid.js").read_text()
    plain = source.replace("export ", "")
    for text in MARKDOWN:
        table = tab.evaluate(f"(() => {{ {plain}\nreturn markdownTable({json.dumps(text)}); }})()")
        assert table == {name: getattr(parse_markdown(text), name) for name in ("caption", "header", "body")}, text


def test_no_text_of_results_runs_or_asks_for_anything(tab: "Page") -> None:
    qid = quote(f"q{PAYLOADS[1]}", safe="")
    go(tab, f"#/bad%2Feng/topic/{qid}")
    assert texts(tab, ".topic h1") == [" ".join(PAYLOADS)]
    tab.keyboard.press("s")
    tab.wait_for_function("location.hash.includes('system=stays')")
    tab.keyboard.press("S")
    tab.wait_for_function("location.hash.includes('system=%22')")
    seen = set()
    for _ in PAYLOADS:
        tab.keyboard.press("j")
        tab.wait_for_timeout(20)
        seen.add(shown(tab))
    tab.wait_for_function(
        "document.querySelector('.document').dataset.docid === "
        "document.querySelector('.columns section li:last-child a').dataset.docid"
    )
    assert seen | {shown(tab)} == {f"d{number}{one}" for number, one in enumerate(PAYLOADS)}
    for number in (0, 5):  # HTML and Markdown
        docid = f"d{number}{PAYLOADS[number]}"
        go(tab, f"#/bad%2Feng/document/{quote(docid, safe='')}?topic={qid}")
        tab.wait_for_function(f"document.querySelector('.document').dataset.docid === {json.dumps(docid)}")
        assert tab.locator(".document table tbody td").count() >= 2
    assert tab.evaluate("window.ran") is None
    made = "#explorer :is(script, img, svg, iframe, math, details, textarea, style, a[href^='javascript'])"
    assert tab.locator(made).count() == 0


VIEWS = (  # place, size, themes in which it is accessible by which rules
    (f"#/{FAS}/document/n003?topic=01", (1366, 800), WIDE),
    (f"#/{FAS}/document/n003?topic=01", (390, 844), {}),
    (f"#/{FAS}/document/n003?topic=01", (683, 400), {}),
    ("#/tables-sample%2Feng/document/t003?topic=5_0", (1366, 800), {"light": WIDE["light"]}),
    ("#/tables-sample%2Feng/document/t003?topic=5_0", (390, 844), {}),
    (f"#/{FAS}/topic/01", (390, 844), {"light": WIDE["light"]}),
)


def test_every_view_reflows_and_is_accessible(chromium: "Browser", report: Path) -> None:
    axe, of_explorer = axe_core(), AXE.replace("axe.run(", "axe.run('#explorer', ")
    problems = []
    with chromium.new_context(bypass_csp=True) as context:
        page = context.new_page()
        page.goto(report.as_uri())
        if axe:
            page.evaluate(axe)
        for place, (width, height), themes in VIEWS:
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate(f"location.hash = {json.dumps(place)}")
            page.wait_for_selector(f"{EXPLORER} .columns", state="attached")
            wide = page.evaluate("document.documentElement.scrollWidth")
            problems += [f"{place} at {width} pixels: {wide} wide"] if wide > width else []
            for theme, rules in themes.items() if axe else ():
                page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
                problems += [f"{place} at {width}, {theme}: {found}" for found in page.evaluate(of_explorer % rules)]
    assert problems == []
    if not axe:
        pytest.skip("reflow holds; accessibility is not tested without axe-playwright-python")
