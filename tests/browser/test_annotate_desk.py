"""In a real Chromium: what an assessor has at hand while judging, for weeks."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from annotating import annotation_files, grade, running
from annotating_browser import CHROMIUM, FLAGS, PATIENCE, Assessor, assessor
from conftest import Heed
from invited import PEOPLE, inviting

from heed.addons.judging.annotate.store import Event, connect, transaction, write_entry

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")

TOPIC = {"qid": "7", "lang": "eng", "query": "ferries", "instructions": {"original": "Sunk ferries.\n" * 12}}
TEXT = "A ferry sank. 🚢 Nobody was hurt.\n\nThe owner paid."


def desk(folder: Path, documents: int = 3) -> list[Path | str]:
    """The arguments of a campaign of one topic, over documents D0, D1, …"""
    records = [{"id": f"D{number}", "title": f"Ferry {number}", "text": TEXT} for number in range(documents)]
    return annotation_files(folder, [TOPIC], records)


def test_guidelines_stand_beside_the_document(chromium: "Browser", tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text(
        "# Grades\nGrade 3: <b>all</b> of it.\n\n- **2**: a part, 2 * 3\n- *1* [NIST](https://nist.gov/1)\n\nدرجهٔ ۱\n",
        newline="\r\n",
    )
    (tmp_path / "later.md").write_text("Grade 3 less often.")
    given = desk(tmp_path)
    with running(*given, "--guidelines", tmp_path / "guide.md") as server, assessor(chromium, server) as ann:
        assert ann.page.is_hidden("#guidelines")
        ann.press("i")
        assert ann.page.locator("#guidelines h2").inner_text() == "Grades"
        assert ann.page.locator("#guidelines [dir]").nth(1).inner_text() == "Grade 3: <b>all</b> of it."
        assert (
            ann.page.locator("#guidelines [dir]").nth(2).inner_text()
            == "• 2: a part, 2 * 3\n• 1 NIST (https://nist.gov/1)"
        )
        assert ann.page.locator("#guidelines b").all_inner_texts() == ["2", "1"]
        beside = "document.querySelector('#guidelines').getBoundingClientRect().left - innerWidth"
        assert ann.page.evaluate(beside) < -200
        assert (
            ann.page.evaluate("document.querySelector('#document').getBoundingClientRect().right - innerWidth") < -200
        )
        ann.press("1", "a")
        assert ann.page.is_visible("#agreement") and ann.page.is_visible("#guidelines")
        ann.page.wait_for_selector("#agreement h1")
        lefts = "each => each.map(one => one.getBoundingClientRect().left)"
        assert len(set(ann.page.locator("#agreement > :is(.back, h1)").evaluate_all(lefts))) == 1
        ann.press("a")
        ann.saved()
        port = server.port
        server.kill()
        with running(given[0], "--guidelines", tmp_path / "later.md", "--port", port):
            ann.look()
            ann.page.wait_for_selector("#guidelines >> text=Grade 3 less often.")
            ann.page.click("#guidelines button")
            assert ann.page.is_hidden("#guidelines")


def titles(person: Assessor) -> list[str]:
    return [square.get_attribute("title") or "" for square in person.page.locator("#strip button").all()]


def judged(folder: Path) -> dict[str, dict]:
    """The exported judgements by docid."""
    lines = map(json.loads, (folder / "judgements.jsonl").read_text().splitlines())
    return {line["docid"]: line for line in lines if line["assessor"] == "Ann"}


def test_a_grade_is_unsure_and_what_is_skipped_comes_back_at_the_end(
    chromium: "Browser", tmp_path: Path, heed: Heed
) -> None:
    given = desk(tmp_path, documents=4)
    with running(*given) as server, assessor(chromium, server) as ann:
        ann.page.set_viewport_size({"width": 390, "height": 844})
        ann.press("?")
        assert ann.page.evaluate("document.querySelector('#help').scrollTop") == 0, "the list begins with its title"
        ann.page.set_viewport_size({"width": 1366, "height": 800})
        assert (
            ann.page.evaluate("(each => each.scrollHeight - each.clientHeight)(document.querySelector('#help'))") == 0
        )
        assert "skip: the document comes back" in ann.text("#keys") and "mark the grade as unsure" in ann.text("#keys")
        ann.press("Escape")
        ann.until("!document.querySelector('dialog[open]')")
        ann.page.wait_for_timeout(200)  # the browser tells the page of it later still
        ann.press("m")
        assert ann.page.get_attribute("#unsure", "aria-pressed") == "true"
        ann.press("2")
        ann.press("s")
        assert ann.shown() == "D2" and ann.squares() == ["2?", "»", "", ""]
        ann.saved()
        ann.page.reload()
        assert ann.shown() == "D2", "not the skipped one"
        ann.press("0", "1")
        assert ann.shown() == "D1", "the others are judged"
        assert titles(ann)[:2] == ["1. D0: relevant, unsure", "2. D1: no grade, skipped"]
        assert ann.text("#overall") == "3 of 4 judged", "what is skipped is not judged"
        ann.press("s")
        assert ann.shown() == "D1", "nothing else is left"
        ann.press("1", "u")
        ann.until("document.querySelectorAll('#strip button')[1].innerText === '»'")  # both are undone
        ann.press("1")
        assert ann.squares() == ["2?", "1", "0", "1"]
        ann.press("m", "u")
        ann.until("document.querySelector('#toast').innerText.includes('D1 has its marks as before')")
        ann.press("s")
        assert "it cannot be skipped" in ann.text("#toast")
        ann.saved()
        server.change("Bob", {"kind": "grade", "qid": "7", "docid": "D0", "condition": "original", "grade": 0})
        ann.press("a")
        ann.page.wait_for_selector(".disagreement .given b[title='relevant, unsure']:has-text('2?')")
        assert "Ann, 1 topic: 4 of 4 judged, 1 unsure" in ann.text("#agreement .progress")
        server.kill()
    assert heed("pipelines.annotate", "pool.jsonl", "--export", "out").returncode == 0
    lines = judged(tmp_path / "out")
    assert {docid for docid, line in lines.items() if line.get("unsure")} == {"D0"}
    assert not any("skipped" in line for line in lines.values())
    assert heed("pipelines.annotate", *given, "--database", "b.db", "--add", "out", "--export", "again").returncode == 0
    assert judged(tmp_path / "again") == lines


MARKED = "[...CSS.highlights.get('passage')].map((range) => range.toString()).join('')"
SELECT = """{
    const [first, last] = document.querySelectorAll('#document .text');
    const words = (block) => [...block.childNodes].map((node) => node.firstChild ?? node);
    const range = document.createRange();
    const begin = words(first).find((node) => node.data.includes('🚢'));
    range.setStart(begin, begin.data.indexOf('🚢'));
    range.setEnd(words(last).find((node) => node.data.includes('owner')), 9);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
}"""


def test_the_passage_that_decided_is_selected_or_found_by_keys(chromium: "Browser", tmp_path: Path, heed: Heed) -> None:
    given = desk(tmp_path)
    with running(*given) as server, assessor(chromium, server) as ann:
        ann.press("p")
        assert ann.page.evaluate(MARKED) == "Ferry 0", "the title comes first"
        ann.press("p", "p")
        assert ann.page.evaluate(MARKED) == "🚢 Nobody was hurt."
        ann.press("P", "l")
        assert ann.page.evaluate(MARKED) == "A ferry sank. 🚢 Nobody was hurt."
        ann.press("l", "l")
        assert "no such sentence" in ann.text("#toast")
        assert ann.page.get_attribute("#passage", "title") == TEXT
        ann.press("u")
        ann.until(f"{MARKED} === ''")  # all of these choices at once
        ann.page.evaluate(SELECT)
        ann.page.click("#passage")
        chosen = TEXT[TEXT.index(" 🚢") + 1 : TEXT.index(" paid")]
        assert ann.page.get_attribute("#passage", "title") == chosen
        ann.press("2")
        ann.press("p", "d", "1", "p", "0")
        ann.saved()
        ann.page.reload()
        assert ann.shown() == "D2"
        ann.page.click("#strip [data-at='0']")
        assert ann.shown() == "D0"
        ann.until(f"{MARKED} === {json.dumps(chosen.replace(chr(10), ''))}")  # it is marked when one returns
        wrong = {"part": "text", "start": 0, "end": 3, "text": "An o"}
        status, answer = server.change(
            "Ann", {"kind": "passage", "qid": "7", "docid": "D0", "condition": "original", "passage": wrong}
        )
        assert status == 400 and "D0: its text is another one where the passage is marked" in answer["error"]
        server.change("Bob", {"kind": "grade", "qid": "7", "docid": "D0", "condition": "original", "grade": 0})
        ann.press("a")
        ann.page.wait_for_selector(".disagreement .given:has-text('“🚢 Nobody was hurt.')")
        ann.until(f"{MARKED.replace('passage', 'passages')} === {json.dumps(chosen.replace(chr(10), ''))}")
        server.kill()
    assert heed("pipelines.annotate", "pool.jsonl", "--export", "out").returncode == 0
    lines = judged(tmp_path / "out")
    start = len("A ferry sank. ")
    passage = {"part": "text", "start": start, "end": start + len(chosen), "text": chosen}
    assert [lines[docid].get("passage") for docid in ("D0", "D1")] == [passage, None]
    assert lines["D2"]["passage"] == {"part": "title", "start": 0, "end": 7, "text": "Ferry 2"}
    assert heed("pipelines.annotate", *given, "--database", "b.db", "--add", "out", "--export", "again").returncode == 0
    assert judged(tmp_path / "again") == lines


def test_time_left_is_by_ones_own_pace_without_pauses(chromium: "Browser", tmp_path: Path) -> None:
    given = desk(tmp_path, documents=12)
    with running(*given) as server:
        server.kill()
    began = datetime(2026, 11, 2, 9, tzinfo=UTC)
    # six gaps: five of 40 s, and the hour of a lunch; Bob's are of 10 s, and too few
    moments = {"Ann": [0, 40, 80, 120, 3720, 3760, 3800], "Bob": [0, 10, 20]}
    with closing(connect(tmp_path / "pool.db")) as db, transaction(db):
        for name, seconds in moments.items():
            for number, second in enumerate(seconds):
                time, after = (began + timedelta(seconds=second)).isoformat(), {"grade": 0, "wording": ""}
                judged = ("grade", "7", "original", f"D{number}")
                write_entry(db, Event(f"{name}{number}", 0, time, name, "batch", *judged, {}, after))
    with running(given[0]) as server, assessor(chromium, server) as ann:
        assert ann.text("#overall") == "7 of 12 judged · 4 min left"  # 5 · 40 s, begun minutes count
        assert ann.page.get_attribute("#overall", "title") == (
            "40 s a document; pauses of more than 10 minutes are not counted"
        )
        ann.press("0")
        assert ann.text("#overall") == "8 of 12 judged · 3 min left"  # 4 · 40 s = 160 s
        ann.saved()
        ann.press("a")
        ann.page.wait_for_selector("#agreement .progress")
        lines = ann.page.locator("#agreement .progress li").all_inner_texts()
        # the grade of today comes weeks after the others
        assert lines == [
            "Ann, 1 topic: 8 of 12 judged, 40 s a document, 2 min 40 s left",
            "Bob, 1 topic: 3 of 12 judged",
        ]


BEFORE = "Under the original narrative: Ann 3 Bob 3"
AFTER = "Ann 2 Bob 0? “ferry sank.” tiny (model) 1"


def test_who_decides_sees_what_the_grades_are_about_and_a_models(chromium: "Browser", tmp_path: Path) -> None:
    given = desk(tmp_path, documents=2)
    qrels = {name: tmp_path / f"{name}.qrels" for name in ("first", "second", "other")}
    qrels["first"].write_text("7 0 D0 3\n7 0 D1 0\n7 0 elsewhere 2\n")
    qrels["second"].write_text("7 0 D0 1\n7 0 D1 -1\n")
    qrels["other"].write_text("7 0 D0 4\n")
    (tmp_path / "second.qrels.json").write_text('{"judge": {}, "condition": "changed"}')
    models = [f"--model-grades=tiny={qrels[name]}" for name in ("first", "second")]
    narrative = f"{'Sunk ferries. ' * 11}Sunk ferries that nobody owns."

    def change(kind: str, value: object, condition: str = "original") -> dict:
        return {"kind": kind, "qid": "7", "docid": "D0", "condition": condition, kind: value}

    with running(*given, *models) as server:
        passage = {"part": "text", "start": 2, "end": 13, "text": "ferry sank."}
        for name, grades in {"Ann": (3, 2), "Bob": (3, 0)}.items():
            assert server.change(name, change("grade", grades[0]))[0] == 200
            if name == "Ann":
                server.change(name, {"kind": "narrative", "qid": "7", "text": narrative, "base": 0})
            assert server.change(name, change("grade", grades[1], "changed"), wording=narrative)[0] == 200
        server.change("Bob", change("unsure", True, "changed"), change("passage", passage, "changed"))
        with assessor(chromium, server, "Chair") as chair:
            chair.press("a")
            chair.page.wait_for_selector(".disagreement[aria-current] .document .text")
            rows = chair.page.locator(".disagreement .row")
            assert rows.nth(0).inner_text().split() == BEFORE.split()
            assert rows.nth(1).inner_text().split()[:9] == AFTER.split()
            assert chair.page.locator(".evidence ins").all_inner_texts() == ["that nobody owns"]
            assert chair.page.locator(".evidence .text mark").first.inner_text() == "ferry"
            assert chair.page.evaluate(MARKED.replace("passage", "passages")) == "ferry sank."
            pairs = [row.split("\t")[:4] for row in chair.text(".pairs > tbody").split("\n") if " · " in row]
            # the three under each condition on D0 alone: nobody else has graded D1
            assert [row[0] for row in pairs] == ["Ann · Bob", "Ann · tiny (model)", "Bob · tiny (model)"] * 2
            assert {row[2] for row in pairs} == {"1"}
        server.kill()
    with running(given[0]) as server, assessor(chromium, server, "Chair") as chair:
        chair.press("a")
        chair.page.wait_for_selector(".disagreement[aria-current] .document .text")
        assert "tiny" not in chair.text("#agreement"), "they are not kept"


def test_a_models_grades_of_another_scale_or_beside_another_json_are_told(tmp_path: Path, heed: Heed) -> None:
    given = desk(tmp_path)
    (tmp_path / "q").write_text("7 0 D0 4\n7 0 D1 9\n")
    (tmp_path / "odd").write_text("7 0 D0 1\n")
    (tmp_path / "odd.json").write_text("[]")
    for model, message in (
        (
            "tiny=q",
            "tiny (model), topic 7, document D1: grade 9, expected 0,1,2,3; try python -m pipelines.judge",
        ),
        ("q", "--model-grades: found 'q', expected NAME=QRELS"),
        (
            "tiny=odd",
            "odd.json: not what python -m pipelines.judge writes beside grades (Expected `object`, got `array`)",
        ),
    ):
        result = heed("pipelines.annotate", *given, "--no-browser", "--model-grades", model)
        assert result.returncode == 1 and message in result.stderr


@contextmanager
def browsing(chromium: "Browser", profile: Path, link: str) -> Iterator["Page"]:
    """A browser of its own that keeps what its pages store in ``profile`` when it is closed."""
    context = chromium.browser_type.launch_persistent_context(
        profile, executable_path=str(CHROMIUM), args=FLAGS, headless=True
    )
    context.set_default_timeout(PATIENCE)
    page = context.pages[0]
    page.goto(link)
    page.wait_for_selector("#document[data-shown]")
    yield page
    context.close()


def graded(database: Path) -> list[tuple]:
    """Assessor, document and grade of each entry of the log."""
    with closing(sqlite3.connect(database)) as db:
        return db.execute("SELECT assessor, docid, json_extract(after, '$.grade') FROM log ORDER BY id").fetchall()


def test_grades_that_wait_survive_a_closed_browser_and_are_sent_once_by_their_person(
    chromium: "Browser", tmp_path: Path
) -> None:
    (tmp_path / "people.tsv").write_text(PEOPLE)
    (tmp_path / "other").mkdir()
    given, other = desk(tmp_path), desk(tmp_path / "other")
    profile, database = tmp_path / "profile", tmp_path / "pool.db"
    with inviting(*given, "--assessors", tmp_path / "people.tsv") as server:
        port, links = server.port, server.links
        with browsing(chromium, profile, links["Ann"]) as page:
            page.keyboard.press("1")
            page.wait_for_selector("#saved[data-state=saved]")
            server.kill()
            for number, key in enumerate("23", 1):
                page.wait_for_selector("#document[data-shown]")
                page.keyboard.press(key)
                page.wait_for_selector(f"#strip [data-at='{number}'][data-shade]")
            page.wait_for_selector("#alarm:has-text('2 changes are not saved yet: kept in this browser')")
    with inviting(*other, "--assessors", tmp_path / "people.tsv", "--port", port) as server:  # at the same address
        with browsing(chromium, profile, server.links["Ann"]) as page:
            page.wait_for_selector("#saved[data-state=saved]")
        assert graded(tmp_path / "other" / "pool.db") == []
        server.kill()
    with inviting(given[0], "--port", port):
        with browsing(chromium, profile, links["Bob"]) as page:
            page.wait_for_selector("#saved[data-state=saved]")
        assert graded(database) == [("Ann", "D0", 1)]
        with browsing(chromium, profile, links["Ann"]) as page:
            page.wait_for_selector("#strip [data-at='2'][data-shade='3']")
            page.wait_for_selector("#saved[data-state=saved]")
        with browsing(chromium, profile, links["Ann"]) as page:
            page.wait_for_selector("#saved[data-state=saved]")
        assert graded(database) == [("Ann", "D0", 1), ("Ann", "D1", 2), ("Ann", "D2", 3)]


YESTERDAY = """Object.keys(localStorage).filter((key) => key.startsWith("heed-") && key.includes("/")).map((key) => {
    const item = JSON.parse(localStorage.getItem(key));
    localStorage.setItem(key, JSON.stringify({ ...item, made: item.made - 86400000 }));
})"""


def test_what_waited_does_not_undo_what_was_done_elsewhere_later_and_the_assessor_is_told(
    chromium: "Browser", tmp_path: Path
) -> None:
    (tmp_path / "people.tsv").write_text(PEOPLE)
    given, profile = desk(tmp_path), tmp_path / "profile"
    with inviting(*given, "--assessors", tmp_path / "people.tsv") as server:
        port, links = server.port, server.links
        with browsing(chromium, profile, links["Ann"]) as page:
            server.kill()
            for number, key in enumerate("123"):
                page.wait_for_selector("#document[data-shown]")
                page.keyboard.press(key)
                page.wait_for_selector(f"#strip [data-at='{number}'][data-shade]")
            page.wait_for_selector("#alarm:has-text('3 changes are not saved yet')")
            page.evaluate(YESTERDAY)
    with inviting(given[0], "--port", port) as server:
        server.links = links
        for docid in ("D0", "D2"):
            assert server.send("Ann", grade("7", docid, 0))[0] == 200
        with browsing(chromium, profile, links["Ann"]) as page:
            page.wait_for_selector("#toast[data-refused]:has-text('D2: grade 3 waited here since')")
            told = page.inner_text("#toast")
            assert told.startswith("Not saved: topic 7, document D0: grade 1 waited here since 20")
            page.wait_for_selector("#saved[data-state=saved]")
            squares = page.locator("#strip button")
            page.wait_for_selector("#strip [data-at='2'][data-shade='0']")
            assert squares.all_inner_texts() == ["0", "2", "0"]
        assert graded(tmp_path / "pool.db") == [("Ann", "D0", 0), ("Ann", "D2", 0), ("Ann", "D1", 2)]


def test_what_waits_under_a_typed_name_is_sent_by_the_link_of_that_name(chromium: "Browser", tmp_path: Path) -> None:
    (tmp_path / "people.tsv").write_text(PEOPLE)
    given = desk(tmp_path)
    with running(*given) as server, assessor(chromium, server, "Ann") as ann:
        port = server.port
        server.kill()
        ann.press("2")
        ann.page.wait_for_selector("#alarm:has-text('1 change is not saved yet')")
        with inviting(given[0], "--assessors", tmp_path / "people.tsv", "--port", port) as known:
            for name, saved in (("Bob", []), ("Ann", [("Ann", "D0", 2)])):
                page = ann.context.new_page()
                page.goto(known.links[name])
                page.wait_for_selector("#document[data-shown]")
                page.wait_for_selector("#saved[data-state=saved]")
                assert graded(tmp_path / "pool.db") == saved
                ann.page.close()


def test_a_page_of_a_proxy_is_no_answer(chromium: "Browser", tmp_path: Path) -> None:
    with running(*desk(tmp_path)) as server, assessor(chromium, server) as ann:
        changes = "**/api/changes"
        ann.page.route(changes, lambda route: route.fulfill(body="<p>Sign in</p>", content_type="text/html"))
        ann.press("2")
        ann.page.wait_for_selector(
            "#alarm:has-text('The server answered 200, not as Heed does. 1 change is not saved')"
        )
        ann.page.unroute(changes)
        ann.saved()
        assert graded(tmp_path / "pool.db") == [("Ann", "D0", 2)]


def test_zoomed_and_narrowed_the_whole_narrative_is_seen(chromium: "Browser", tmp_path: Path) -> None:
    with running(*desk(tmp_path)) as server, assessor(chromium, server) as ann:
        cut = "document.querySelector('#editor').scrollHeight - document.querySelector('#editor').clientHeight"
        for width, height in ((911, 533), (780, 533), (1366, 800), (390, 844)):  # the first is the third at 150 %
            ann.page.set_viewport_size({"width": width, "height": height})
            ann.until(f"{cut} <= 0")
            ann.press("e", "Control+End")
            ann.page.keyboard.type(" Only with injured people." * 4)
            gauge, editor = (ann.page.locator(name).bounding_box() for name in ("#gauge", "#editor"))
            assert gauge and editor and ann.page.evaluate(cut) <= 0
            assert editor["y"] + editor["height"] <= gauge["y"], "what is typed is not below the gauge"
            if width > 759:
                assert editor["y"] + editor["height"] > 0 and gauge["y"] + gauge["height"] <= height, (
                    "both are in sight"
                )
            ann.press("Escape")
            ann.saved()


@pytest.mark.parametrize("refused", ["scripts", "cookies", "storage"])
def test_what_the_page_needs_is_said_without_it(chromium: "Browser", tmp_path: Path, refused: str) -> None:
    with running(*desk(tmp_path)) as server:
        context = chromium.new_context(java_script_enabled=refused != "scripts")
        if refused == "cookies":
            _, _, html = server.request("GET", server.address.partition(str(server.port))[2], Cookie="")
            context.route("**/?token=*", lambda route: route.fulfill(body=html, content_type="text/html"))
        if refused == "storage":  # as browsers that refuse cookies do
            throws = "{ get() { throw new DOMException('The operation is insecure.', 'SecurityError') } }"
            context.add_init_script(f"Object.defineProperty(window, 'localStorage', {throws})")
        page = context.new_page()
        page.goto(server.address)
        page.locator("text=This page needs JavaScript and a cookie of this address.").wait_for(timeout=PATIENCE)
        assert page.is_hidden("#agreement-button")
        context.close()


def test_the_tab_key_leads_past_the_strip_and_focus_comes_back_from_the_agreement(
    chromium: "Browser", tmp_path: Path
) -> None:
    with running(*desk(tmp_path, documents=40)) as server, assessor(chromium, server) as ann:
        ann.page.focus("#tab-changed")
        ann.press("Tab", "Tab")
        assert ann.page.evaluate("document.activeElement.id") == "document", "past one square of forty"
        ann.press("a", "a")
        assert ann.page.evaluate("document.activeElement.id") == "document"
        held = json.dumps({"key": "1", "keyCode": 229, "bubbles": True})  # what an IME's digit arrives as on macOS
        ann.page.wait_for_selector("#document[data-shown]")
        ann.page.evaluate(f"document.querySelector('#document').dispatchEvent(new KeyboardEvent('keydown', {held}))")
        assert ann.squares() == [""] * 40


def test_a_first_topic_without_a_document_is_shown(chromium: "Browser", tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("7 0 D0 0\n")
    with running(*desk(tmp_path), "--qrels", tmp_path / "qrels", "--only-relevant") as server:
        ann = Assessor(chromium, server, "Ann", drawn="#document .empty")
        ann.press("m", "p", "s")
        assert ann.text("#toast") == "No document is in view."
        assert ann.page.is_disabled("#passage") and ann.complaints == []
        ann.context.close()
