"""In a real Chromium: grades of what was seen alone, reading again after an edit, and where one is led."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from annotating import annotation_files, running, sample_pool
from annotating_browser import CHROMIUM, WEBKITS_LIMIT, Assessor, assessor
from conftest import Heed

from heed.formats.trec_files import read_qrels

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")


TYPE = """async keys => {
    for (const key of keys) {
        const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true });
        document.activeElement.dispatchEvent(event);
        await new Promise(resolve => setTimeout(resolve, 30));
    }
}"""


def type_fast(ann: Assessor, keys: str) -> None:
    """Press keys 30 ms apart, as one that bounces does, and faster than Playwright surely can."""
    ann.page.evaluate(TYPE, keys)


def test_a_grade_counts_only_for_a_document_that_was_on_screen(chromium: "Browser", tmp_path: Path) -> None:
    sample_pool(tmp_path / "pool.jsonl", topics=1)
    with running(tmp_path / "pool.jsonl", "--lang", "zho") as server, assessor(chromium, server, settling=True) as ann:
        ann.until("document.querySelector('#document').dataset.shown")
        type_fast(ann, "33")
        assert ann.squares()[:3] == ["3", "", ""]
        assert ann.text("#toast") == "Document 2 is not graded: it has only just appeared."
        assert ann.page.get_attribute("#toast", "role") == "status"
        ann.press("1", "0")  # as soon as they count
        assert ann.squares()[:4] == ["3", "1", "0", ""]

        server.kill()
        ann.press(*"jjjjj")  # further than documents are read ahead
        ann.page.wait_for_selector("#document .empty >> text=cannot be shown")
        ann.page.keyboard.press("0")
        ann.page.wait_for_timeout(300)
        ann.page.click("#grades [data-grade='0']")
        assert ann.squares()[3:] == [""] * 9
        assert ann.text("#toast") == "Document 9 is not graded: it is not on the page."
        assert ann.page.get_attribute("#toast", "data-refused") == ""
        with running(tmp_path / "pool.jsonl"):
            ann.look()
            ann.press("2")
            assert ann.squares()[8] == "2"
            ann.saved()


def test_a_document_out_of_sight_is_scrolled_to_before_it_is_graded(chromium: "Browser", tmp_path: Path) -> None:
    sample_pool(tmp_path / "pool.jsonl", topics=1)
    with running(tmp_path / "pool.jsonl", "--lang", "fas") as server, assessor(chromium, server) as ann:
        ann.page.set_viewport_size({"width": 320, "height": 640})
        ann.page.wait_for_timeout(400)
        ann.page.keyboard.press("3")
        assert ann.text("#toast") == "Document 1 is not graded: it was out of sight."
        ann.press("3", "1")
        assert ann.squares()[:3] == ["3", "1", ""]
        top = ann.page.evaluate("document.querySelector('#document').getBoundingClientRect().top")
        assert 0 <= top < 250, "the next document is in sight"


def many_documents(folder: Path, count: int, topics: int = 1) -> list[Path | str]:
    """A pool of ``count`` short documents for each topic, of which the first narrative is edited."""
    documents = [{"id": f"d{i:03}", "title": f"Title {i}", "text": "A text."} for i in range(count)]
    narratives = {"original": "All of it.", "changed": "Not the second half."}
    wanted = [{"qid": f"q{i}", "lang": "eng", "query": "a text", "instructions": narratives} for i in range(topics)]
    return annotation_files(folder, wanted, documents)


def test_grade_and_note_are_of_the_document_on_the_page_where_the_address_cannot_be_written(
    chromium: "Browser", tmp_path: Path
) -> None:
    with running(*many_documents(tmp_path, 120)) as server, assessor(chromium, server) as ann:
        ann.page.add_init_script(WEBKITS_LIMIT)
        ann.page.reload()
        ann.shown()
        for _ in range(106):
            ann.page.keyboard.down("j")  # held
        ann.page.keyboard.up("j")
        assert ann.shown() == "d106"
        ann.until("location.hash.includes('doc=d106')")
        ann.press("/")
        ann.page.keyboard.insert_text("of 106")
        ann.press("Enter", "2")
        ann.saved()
        assert ann.squares()[106] == "2" and ann.shown() == "d107"
        ann.until("location.hash.includes('doc=d107')")  # written late: the last of many addresses
        ann.press("k")
        ann.until("location.hash.includes('doc=d106')")
        ann.page.reload()
        assert ann.shown() == "d106" and ann.page.input_value("#note") == "of 106"
        for _ in range(51):
            ann.press("a", "a")  # each is an entry of the history
        assert ann.page.is_visible("#workbench") and ann.shown() == "d106"
        assert [text for text in ann.complaints if "terms" not in text] == []


def test_a_note_is_refused_until_its_document_is_on_the_page_and_needs_no_focus(
    chromium: "Browser", tmp_path: Path
) -> None:
    waiting: list[Route] = []
    with running(*many_documents(tmp_path, 12)) as server, assessor(chromium, server) as ann:
        ann.page.route("**/api/document?docid=d005", lambda route: waiting.append(route))
        ann.press(*"jjjjj", "/")
        ann.page.keyboard.type("of the last")
        assert ann.text("#toast") == "The note of document 6 is not saved: the document is not on the page."
        assert ann.page.input_value("#note") == ""
        for route in waiting:
            route.continue_()
        assert ann.shown() == "d005"
        ann.press("Escape")
        for note in ("now", "now it is"):  # as voice control and extensions do, and windows that have not got the focus
            ann.page.evaluate(
                "note => { const field = document.querySelector('#note'); field.value = note;"
                " field.dispatchEvent(new Event('input')); }",
                note,
            )
            ann.page.wait_for_timeout(500)  # it is saved between
        ann.saved()
        assert not ann.text("#toast").startswith("Not saved")
        topic = server.get("/api/topic?assessor=Ann&qid=q0")
        notes = {each["docid"]: each["original"]["note"] for each in topic["documents"] if "original" in each}
        assert notes == {"d005": "now it is"}
        ann.press("u")  # both are undone together
        ann.until("document.querySelector('#note').value === ''")


def test_a_grade_is_under_the_narrative_on_the_page_while_the_next_topic_is_read(
    chromium: "Browser", tmp_path: Path
) -> None:
    waiting: list[Route] = []
    with running(*many_documents(tmp_path, 2, topics=2)) as server, assessor(chromium, server) as ann:
        ann.press(*"33", "c", "g", *"00", "o")
        ann.saved()
        ann.page.route("**/api/topic?*", lambda route: waiting.append(route))
        ann.press("N")  # the other topic is to be read again: nothing of it is on the page yet
        ann.until("document.querySelector('#tab-original').ariaSelected === 'true'")
        ann.press("1")
        assert ann.squares()[:2] == ["1", "3"]
        for route in waiting:
            route.continue_()
        ann.page.unroute("**/api/topic?*")
        ann.saved()
        docid = ann.shown()
        entry = {each["docid"]: each for each in server.get("/api/topic?assessor=Ann&qid=q0")["documents"]}
        assert [entry[docid][name]["grade"] for name in ("original", "changed")] == [1, 0]


def test_keys_in_the_editor_are_commands_until_it_is_opened(chromium: "Browser", tmp_path: Path) -> None:
    with running(*many_documents(tmp_path, 3)) as server, assessor(chromium, server) as ann:
        narrative = ann.page.input_value("#editor")
        ann.page.focus("#editor")  # as a search of the browser leaves it
        ann.press("2")
        assert ann.squares() == ["2", "", ""] and ann.page.input_value("#editor") == narrative
        for opened in ("e", "click", "label"):
            if opened == "e":
                ann.press("e")
            else:
                ann.page.click({"click": "#editor", "label": "label[for=editor]"}[opened])
            ann.press("Control+End")
            ann.page.evaluate("document.activeElement.dispatchEvent(new Event('blur'))")  # to another window, and back
            ann.page.keyboard.type("2")
            narrative += "2"
            assert ann.page.input_value("#editor") == narrative
            ann.press("Escape")
            ann.page.focus("#editor")
            assert ann.page.evaluate("document.activeElement.readOnly")
        assert ann.squares() == ["2", "", ""]


def judge_first_topic(ann: Assessor, grades: str) -> None:
    ann.press(*grades)
    assert ann.squares() == [*grades]


def test_after_an_edit_one_is_led_to_the_relevant_documents_alone(
    chromium: "Browser", tmp_path: Path, heed: Heed
) -> None:
    pooled = sample_pool(tmp_path / "pool.jsonl", topics=2)
    with (
        running(tmp_path / "pool.jsonl", "--lang", "zho", "--grades", "0,1,3") as server,
        assessor(chromium, server) as ann,
    ):
        ann.page.set_viewport_size({"width": 1366, "height": 800})
        judge_first_topic(ann, "301000000103")
        assert ann.text("#notice span") == "All 12 judged."
        assert "Next topic: 02" in ann.text("#notice")
        ann.press("e", "Control+End")
        ann.page.keyboard.insert_text("只要居民自己的抗议。")
        ann.press("Escape")
        ann.page.wait_for_selector("#tab-changed[aria-selected=true]")  # without another key
        marked = ann.page.locator("#strip [data-again=yes]")
        assert [square.get_attribute("data-at") for square in marked.all()] == ["0", "2", "9", "11"]
        assert ann.shown() == pooled["01"][11], "the document in view is one of them"
        assert ann.text("#notice span") == ann.text("#toast").split(" under")[0] == "4 of 4 to be read again"
        assert ann.text("#overall").startswith("0 of 4 read again")
        box = ann.page.locator("#difference").bounding_box()
        gauge = ann.page.locator("#gauge").bounding_box()
        assert box and gauge and box["y"] > 0 and box["y"] + box["height"] < gauge["y"] < 800
        visited = []
        for _ in range(4):
            ann.press("n")
            visited.append(ann.shown())
        assert visited == [pooled["01"][at] for at in (0, 2, 9, 11)]
        ann.press("n", *"0130")
        assert ann.text("#notice span") == "All 4 read again."
        assert ann.text("#overall") == "4 of 4 read again"
        assert ann.squares() == ["0", "", "1", "", "", "", "", "", "", "3", "", "0"]
        ann.saved()

        ann.press("e")  # a second edit: what was read again is to be read once more
        ann.page.keyboard.insert_text("甲。")
        ann.press("Escape")
        assert ann.text("#notice span") == "4 of 4 to be read again"
        ann.press("g")  # all documents
        assert ann.text("#notice span") == "12 of 12 to be judged"
        ann.press("g")
        ann.saved()
        ann.page.reload()
        ann.page.wait_for_selector("#document .facts")
        assert ann.text("#overall").startswith("0 of 4 read again")
        ann.page.click("text=Keep 4 older")
        ann.saved()
        assert server.get("/api/progress?assessor=Ann")["topics"]["01"] | {"version": 0} == {
            "edited": True,
            "original": 12,
            "again": 4,
            "read": 4,
            "version": 0,
        }
    assert heed("pipelines.annotate", "pool.jsonl", "--export", "out").returncode == 0
    changed = read_qrels(tmp_path / "out" / "changed.qrels")["01"]
    # an edit only narrows: the eight that were not relevant keep their 0
    assert [changed[docid] for docid in pooled["01"]] == [0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0]


def test_fast_steps_to_topics_add_up_and_begin_at_their_top(chromium: "Browser", tmp_path: Path) -> None:
    documents = [{"id": docid, "title": docid, "text": "A text.\n" * 40} for docid in "abcdef"]
    topics = [
        {"qid": f"q{i}", "lang": "eng", "query": f"query {i}", "instructions": {"original": "All of it. " * 200}}
        for i in range(8)
    ]
    with running(*annotation_files(tmp_path, topics, documents)) as server, assessor(chromium, server) as ann:
        ann.page.evaluate("document.querySelector('#narratives').scrollTop = 400")
        type_fast(ann, "]]]]]")
        ann.page.wait_for_selector("#topics [data-qid='q5'][aria-current]")
        assert ann.page.evaluate("document.querySelector('#narratives').scrollTop") == 0
        type_fast(ann, "[[")
        ann.page.wait_for_selector("#topics [data-qid='q3'][aria-current]")


def test_back_leads_from_a_disagreement_to_the_agreement_page(chromium: "Browser", tmp_path: Path) -> None:
    pooled = sample_pool(tmp_path / "pool.jsonl", topics=1)
    with running(tmp_path / "pool.jsonl", "--lang", "zho") as server, assessor(chromium, server) as ann:
        ann.press("3", "0")
        ann.saved()
        for docid in pooled["01"][:2]:
            server.change("Bea", {"kind": "grade", "qid": "01", "docid": docid, "condition": "original", "grade": 1})
        ann.press("a")
        ann.page.click(".disagreement a >> nth=1")
        assert ann.shown() == pooled["01"][1]
        ann.page.go_back()
        ann.page.wait_for_selector(".disagreement")
        assert ann.page.is_hidden("#workbench")
        ann.until("document.activeElement.matches('.disagreement a')")  # the one that was opened
        ann.page.go_back()
        ann.page.wait_for_selector("#workbench:not([hidden])")
        assert ann.page.is_hidden("#agreement")


def test_two_edits_at_once_are_told_at_the_top(chromium: "Browser", tmp_path: Path) -> None:
    sample_pool(tmp_path / "pool.jsonl", topics=2)
    with running(tmp_path / "pool.jsonl", "--lang", "zho") as server, assessor(chromium, server) as ann:
        ann.page.set_viewport_size({"width": 1366, "height": 800})
        topic = server.get("/api/topic?qid=01&assessor=Bea")
        held: list[Route] = []

        def hold(route: "Route") -> None:
            held.append(route)

        ann.page.route("**/api/changes", hold, times=1)
        ann.press("e", "Control+End")
        ann.page.keyboard.insert_text("甲。")
        ann.press("Escape")
        edit = {"kind": "narrative", "qid": "01", "text": topic["original"], "base": topic["version"]}
        assert server.change("Bea", edit)[0] == 200
        ann.until("document.querySelector('#saved').dataset.state === 'saving'")
        held.pop().continue_()
        ann.until("document.querySelector('#saved').innerText === 'Not saved: edit of 01'")
        box = ann.page.locator("#conflict button >> nth=1").bounding_box()
        assert box and 0 < box["y"] < 700
        ann.press("]")  # from another topic it is still told
        ann.page.wait_for_selector("#topics [data-qid='02'][aria-current]")
        assert ann.text("#saved") == "Not saved: edit of 01"
        ann.press("[")
        ann.page.click("text=Take theirs")
        ann.saved()
        assert ann.page.input_value("#editor") == topic["original"]
