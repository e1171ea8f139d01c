"""Judging in a real Chromium: by keyboard, killed and started again, by two at once; nothing is lost."""

import json
import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from annotating import running, sample_pool
from annotating_browser import CHROMIUM, ELSEWHERE, assessor
from conftest import Heed

from heed.formats.trec_files import read_qrels

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")


def rows(database: Path) -> dict[tuple[str, str, str], int | None]:
    """Grades by topic, condition and document, as another process reads them."""
    db = sqlite3.connect(database)
    results = db.execute("SELECT qid, condition, docid, grade FROM judgements WHERE assessor = 'Ann'").fetchall()
    db.close()
    return {row[:3]: row[3] for row in results if row[3] is not None}


@pytest.mark.disturbance
def test_twenty_documents_are_judged_edited_undone_killed_and_exported(
    chromium: "Browser", tmp_path: Path, heed: Heed
) -> None:
    pool, database = tmp_path / "pool.jsonl", tmp_path / "pool.db"
    pooled = sample_pool(pool)
    with running(pool, "--lang", "zho") as server, assessor(chromium, server) as ann:
        clicked: dict[tuple[str, str, str], int] = {}

        def judge(condition: str, *keys: str) -> None:
            for key in keys:
                assert ann.page.get_attribute(f"#tab-{condition}", "aria-selected") == "true"
                clicked[ann.text("#qid"), condition, ann.shown()] = int(key)
                ann.press(key)

        judge("original", *"302110230120")  # the whole first topic, whatever its documents are
        assert ann.squares() == [*"302110230120"]
        ann.press("n")  # the next topic
        ann.page.wait_for_selector("#topics [data-qid='02'][aria-current]")
        judge("original", *"30211")
        ann.press("u", "u")  # the last two
        ann.until("[...document.querySelectorAll('#strip button')].filter(square => square.innerText).length === 3")
        for docid in pooled["02"][3:5]:
            del clicked["02", "original", docid]
        assert ann.shown() == pooled["02"][3]
        judge("original", "0")
        ann.press("c", "g", "e", "Control+End")  # all documents, not only those that an edit concerns
        ann.page.keyboard.insert_text("只要居民自己的抗议。")
        ann.press("Escape", *"kkkk")
        ann.saved()
        judge("changed", *"100")
        ann.saved()
        assert rows(database) == clicked
        assert len(clicked) == 19
        narrative = ann.page.input_value("#editor")
        assert narrative.endswith("只要居民自己的抗议。")

        ann.until(f"location.hash.includes('doc={ann.shown()}')")  # it is written a moment after the document is drawn
        ann.page.reload()  # the cookie has the token, the tab knows who judges, the address where
        ann.page.wait_for_selector("#document .facts")
        assert "token" not in ann.page.url
        assert ann.page.input_value("#editor") == narrative
        assert [grade for grade in ann.squares() if grade] == ["1", "0", "0"]
        ann.shown()

        server.kill()  # in the middle: two keys are pressed that nobody answers
        judge("changed", "2", "0")
        ann.page.wait_for_selector("#alarm:not([hidden])")
        assert "The server does not answer." in ann.text("#alarm")
        assert "2 changes are not saved yet" in ann.text("#alarm")
        assert ann.text("#saved") == "Not saved: 2"
        assert rows(database) != clicked
        with running(pool) as again:
            assert again.address == server.address
            ann.saved()
            assert ann.page.is_hidden("#alarm")
            assert rows(database) == clicked
            judge("changed", "1")
            ann.saved()
            again.kill()
        assert rows(database) == clicked
        assert len(clicked) == 22
        for url in ann.asked:
            assert url.startswith(f"http://127.0.0.1:{server.port}/"), url
        assert len(ann.asked) > 40
        assert [
            text for text in ann.complaints if "ERR_CONNECTION_REFUSED" not in text and "ERR_EMPTY" not in text
        ] == []

    result = heed("pipelines.annotate", pool, "--export", "out")
    assert result.returncode == 0, result.stderr
    exported = {
        (qid, condition, docid): value
        for condition in ("original", "changed")
        for qid, grades in read_qrels(tmp_path / "out" / f"{condition}.qrels").items()
        for docid, value in grades.items()
    }
    assert exported == clicked
    topics = {
        topic["qid"]: topic for topic in map(json.loads, (tmp_path / "out/topics.jsonl").read_text().splitlines())
    }
    assert topics["02"]["instructions"]["changed"] == narrative


def test_a_reload_while_the_server_is_gone_loses_nothing(chromium: "Browser", tmp_path: Path) -> None:
    pool, database = tmp_path / "pool.jsonl", tmp_path / "pool.db"
    sample_pool(pool, topics=1)
    with running(pool, "--lang", "zho") as server, assessor(chromium, server) as ann:
        ann.shown()
        ann.page.wait_for_load_state("networkidle")  # the next documents are read ahead
        server.kill()
        ann.press("3", "1", "e", "Control+End")
        for text in ("甲。", "乙。"):  # two edits, the second on top of the first, neither answered
            ann.page.keyboard.insert_text(text)
            ann.page.wait_for_timeout(600)
        ann.press("Escape")
        ann.page.wait_for_selector("#alarm:not([hidden])")
        ann.page.on("dialog", lambda dialog: dialog.accept())  # are you sure?
        ann.page.evaluate("setTimeout(() => location.reload())")
        ann.page.wait_for_event("framenavigated")
        with running(pool):
            ann.page.goto(server.address)
            ann.page.wait_for_selector("#document .facts")
            ann.saved()
            assert [*rows(database).values()] == [3, 1]
            assert ann.page.is_hidden("#conflict")
            db = sqlite3.connect(database)
            [(text,)] = db.execute("SELECT text FROM narratives")
            db.close()
            assert text.endswith("甲。乙。")
            assert ann.page.input_value("#editor") == text


def test_undo_takes_back_grades_notes_and_edits_of_before_a_reload(chromium: "Browser", tmp_path: Path) -> None:
    sample_pool(tmp_path / "pool.jsonl", topics=1)
    with running(tmp_path / "pool.jsonl", "--lang", "zho") as server, assessor(chromium, server) as ann:
        before = ann.page.input_value("#editor")
        first = ann.shown()
        ann.press("2", "k", "/")
        ann.page.keyboard.insert_text("a note")
        ann.press("Enter", "e")
        ann.page.keyboard.insert_text("甲")
        ann.page.wait_for_timeout(700)  # saved in two pieces, undone in one
        ann.page.keyboard.insert_text("乙")
        ann.press("Escape")
        ann.saved()
        ann.page.reload()
        ann.page.wait_for_selector("#document .facts")
        assert ann.page.input_value("#editor") != before
        assert ann.page.input_value("#note") == "a note" or ann.shown() != first
        ann.press("u")
        ann.until(f"document.querySelector('#editor').value === {json.dumps(before)}")
        ann.press("u")
        ann.until("document.querySelector('#toast').innerText.includes('its note')")
        ann.press("o")
        assert ann.page.input_value("#note") == ""
        ann.press("u")
        ann.until("[...document.querySelectorAll('#strip button')].every(square => !square.innerText)")
        assert ann.shown() == first
        ann.press("u")
        ann.until("document.querySelector('#toast').innerText === 'Nothing is left to undo.'")


def test_two_assessors_and_two_tabs_at_once(chromium: "Browser", tmp_path: Path) -> None:
    sample_pool(tmp_path / "pool.jsonl", topics=2)
    with (
        running(tmp_path / "pool.jsonl", "--lang", "zho") as server,
        assessor(chromium, server, "Ann") as ann,
        assessor(chromium, server, "Bela") as bela,
    ):
        ann.press(*"3300")
        bela.press(*"3000")
        ann.saved()
        bela.saved()
        assert bela.squares()[:5] == ["3", "0", "0", "0", ""]
        ann.press("e", "Control+End")
        ann.page.keyboard.insert_text("甲。")
        ann.press("Escape")
        ann.saved()
        bela.press("e", "Control+End")
        bela.page.keyboard.insert_text("乙。")
        bela.press("Escape")
        bela.page.wait_for_selector("#conflict:not([hidden])")  # nothing of either text is lost
        assert bela.page.input_value("#editor").endswith("乙。")
        assert bela.text("#conflict blockquote").endswith("甲。")
        bela.page.reload()
        bela.page.wait_for_selector("#conflict:not([hidden])")
        assert bela.page.input_value("#editor").endswith("乙。")
        bela.page.click("text=Keep mine")
        bela.saved()
        assert bela.page.is_hidden("#conflict")
        ann.look()
        ann.until("document.querySelector('#editor').value.endsWith('乙。')")

        second = ann.context.new_page()  # the same assessor in another tab
        second.goto(server.address)
        second.wait_for_selector("#ask[open]")
        second.keyboard.insert_text("Ann")
        second.keyboard.press("Enter")
        second.wait_for_selector("#document .facts")
        assert second.locator("#strip button").all_inner_texts()[:5] == ["3", "3", "0", "0", ""]
        second.wait_for_selector("#document[data-shown]")
        second.keyboard.press("1")
        second.wait_for_selector("#strip [data-at='4'][data-shade='1']")
        ann.until("document.querySelectorAll('#strip button')[4].innerText === '1'", patience=1000)
        ann.page.click("#strip [data-at='4']")  # another grade for the same document: the last one counts, in both
        ann.shown()
        ann.press("2")
        second.wait_for_selector("#strip [data-at='4'][data-shade='2']", timeout=1000)
        ann.press("/")
        ann.page.keyboard.insert_text("for both tabs")
        ann.press("Enter")
        second.wait_for_selector("#strip [data-at='4'][data-note]", timeout=1000)
        second.keyboard.press("u")  # the assessor's last change, whichever tab it was made in
        ann.until(
            '!document.querySelector(\'#strip [data-at="4"][data-note=true], #strip [data-at="4"][data-note=""]\')'
        )
        second.wait_for_selector("#strip [data-at='4'][data-shade='2']")

        ann.press("a")
        ann.page.wait_for_selector(".disagreement")
        # 3 of 4 equal; by chance 2/4·1/4 + 2/4·3/4 = 1/2; κ = (3/4 − 1/2) / (1/2) = 0.5
        assert ann.page.locator(".pairs td.number").all_inner_texts()[:4] == ["4", "75%", "0.500", "0.500"]
        assert ann.page.locator(".disagreement").count() == 1


def test_the_page_works_under_an_allowed_name(chromium: "Browser", tmp_path: Path) -> None:
    """As through a port forward; over http browsers offer a page less under a name that is not this machine's."""
    sample_pool(tmp_path / "pool.jsonl", topics=1)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    name = f"{ELSEWHERE}:{port}"
    with running(tmp_path / "pool.jsonl", "--lang", "zho", "--port", port, "--allow-host", name) as server:
        address = f"http://{name}/?token={server.token}"
        with assessor(chromium, server, "Ann", address) as ann:
            ann.press("3", "0")
            ann.saved()
            assert ann.squares()[:3] == ["3", "0", ""]
            assert [*rows(tmp_path / "pool.db").values()] == [3, 0]
            assert [text for text in ann.complaints if "Cross-Origin-Opener-Policy" not in text] == []


def test_what_is_typed_while_a_topic_is_read_is_kept(chromium: "Browser", tmp_path: Path) -> None:
    sample_pool(tmp_path / "pool.jsonl", topics=2)
    with running(tmp_path / "pool.jsonl", "--lang", "zho") as server, assessor(chromium, server) as ann:
        held: list[Route] = []

        def hold(route: "Route") -> None:
            held.append(route)

        ann.press("c")
        ann.page.route("**/api/topic?*", hold, times=1)
        ann.press("3")  # once it is saved, the page reads the topic anew
        ann.page.wait_for_event("request", lambda request: "/api/topic" in request.url)
        ann.press("e", "Control+End")
        ann.page.keyboard.insert_text("甲。")
        held.pop(0).continue_()
        ann.page.wait_for_timeout(100)
        assert ann.page.input_value("#editor").endswith("甲。")
        ann.press("Escape")
        ann.saved()

        ann.page.wait_for_timeout(200)  # what is read anew after that is read
        ann.page.route("**/api/topic?*", hold, times=1)
        ann.press("]")
        ann.page.wait_for_timeout(100)
        ann.press("e", "Control+End")
        ann.page.keyboard.insert_text("乙。")
        held.pop(0).continue_()
        ann.page.wait_for_selector("#topics [data-qid='02'][aria-current]")
        ann.saved()
        assert "乙" not in ann.page.input_value("#editor")
        ann.press("[")
        ann.page.wait_for_selector("#topics [data-qid='01'][aria-current]")
        assert ann.page.input_value("#editor").endswith("甲。乙。")
        ann.saved()
