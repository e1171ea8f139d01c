"""In a real Chromium: whole campaigns of two assessors, with decisions, an edit and a second round, and their qrels."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accessibility import AXE, WIDE, axe_core
from annotating import grade, running
from annotating_browser import CHROMIUM, Assessor, assessor
from conftest import Heed, write_jsonl

from heed.formats.trec_files import read_qrels

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")

DOCIDS = [f"D{number}" for number in range(6)]
ANN, BOB, DECIDED = "111000", "100100", {"D1": 1, "D2": 0, "D3": 1}
# Ann and Bob differ on D1, D2 and D3
ORIGINAL = {"D0": 1, "D1": 1, "D2": 0, "D3": 1, "D4": 0, "D5": 0}
# read again are D0, D1 and D3; the edit makes D1 non-relevant, the others that were not keep their 0
CHANGED = {**ORIGINAL, "D1": 0}


def campaign(folder: Path, docids: int = 6) -> tuple[Path, list[object]]:
    """A pool of one topic with a description, and the options of the first start."""
    topic = "<top>\n<num> Number: 301\n<title> ferry accidents\n<desc> Description:\nWhich ferries sank?\n"
    (folder / "topics.txt").write_text(f"{topic}<narr> Narrative:\nSinkings of ferries.\n</top>\n")
    records = [{"id": f"D{number}", "title": f"Ferry {number}", "text": "A ferry sank."} for number in range(12)]
    write_jsonl(folder / "docs.jsonl", records)
    write_jsonl(folder / "pool.jsonl", [{"qid": "301", "docids": DOCIDS[:docids]}])
    options = ("--topics", folder / "topics.txt", "--docs", folder / "docs.jsonl", "--grades", "0,1")
    return folder / "pool.jsonl", [*options]


def exported(folder: Path) -> dict[str, dict[str, int]]:
    return {name: read_qrels(folder / f"{name}.qrels")["301"] for name in ("original", "changed")}


def again(person: Assessor) -> list[str]:
    squares = person.page.locator("#strip [data-again=yes]").all()
    return [DOCIDS[int(square.get_attribute("data-at") or 0)] for square in squares]


def edit(person: Assessor, text: str = " Only with injured people.") -> None:
    person.press("e", "Control+End")
    person.page.keyboard.insert_text(text)
    person.press("Escape")
    person.saved()


def decide(chair: Assessor) -> None:
    """Decide every disagreement by keys, with its narrative and text on the page."""
    chair.press("a")
    chair.until("document.querySelector('#agreement').innerText.includes('0 not relevant · 1 ')")
    for docid, value in DECIDED.items():
        chair.page.wait_for_selector(f".disagreement[aria-current]:has-text('{docid}')")
        chair.page.wait_for_selector(".disagreement[aria-current] .document .text")
        evidence = chair.text(".disagreement[aria-current] .evidence")
        assert "Which ferries sank?" in evidence and "Sinkings of ferries." in evidence and "A ferry sank." in evidence
        chair.page.keyboard.press(str(value))
    chair.saved()
    assert "3, 0 to be decided" in chair.text("#agreement h2")


def test_a_decision_says_what_is_read_again_and_both_qrels_are_the_truth(
    chromium: "Browser", tmp_path: Path, heed: Heed
) -> None:
    pool, options = campaign(tmp_path)
    with (
        running(pool, *options) as server,
        assessor(chromium, server, "Ann") as ann,
        assessor(chromium, server, "Bob") as bob,
    ):
        assert ann.text("#description") == "Which ferries sank?"
        ann.press(*ANN)
        bob.press(*BOB)
        ann.saved()
        bob.saved()
        bob.until("document.querySelector('#notice').innerText.includes('3 grades differ and are to be decided')")
        with assessor(chromium, server, "Chair") as chair:
            decide(chair)
        assert "The narrative is not edited yet." in bob.text("#gauge")
        edit(bob)
        bob.until("document.querySelectorAll('#strip [data-again=yes]').length === 3")
        assert again(bob) == ["D0", "D1", "D3"], "D1 by decision, though he had it as not relevant"
        early = heed("pipelines.annotate", "pool.jsonl", "--export", "early").stdout
        assert "1 topic with a changed narrative, not judged under it, left out of changed.qrels: 301" in early
        bob.press("1", "0")
        bob.saved()
        left_out = heed("pipelines.annotate", "pool.jsonl", "--export", "early").stdout
        assert "1 relevant document without a grade under the changed narrative: D3; judge them" in left_out
        bob.press("1")
        bob.until("document.querySelector('#notice').innerText.includes('Every topic is finished')")
        gauge = bob.text("#gauge")
        assert "1 of 3 out: 33%" in gauge and "The mark is at half: in FollowIR about half" in gauge
    result = heed("pipelines.annotate", "pool.jsonl", "--export", "out")
    assert result.returncode == 0 and "left out" not in result.stdout, result.stdout
    assert exported(tmp_path / "out") == {"original": ORIGINAL, "changed": CHANGED}
    [topic] = map(json.loads, (tmp_path / "out" / "topics.jsonl").read_text().splitlines())
    assert topic["description"] == "Which ferries sank?" and topic["query"] == "ferry accidents"
    judgements = map(json.loads, (tmp_path / "out" / "judgements.jsonl").read_text().splitlines())
    decided = {line["docid"]: line["decided_by"] for line in judgements if line["assessor"] == "adjudicated"}
    assert decided == dict.fromkeys(DECIDED, "Chair")
    agreement = json.loads((tmp_path / "out" / "agreement.json").read_text())
    assert [item["decided_by"] for item in agreement["disagreements"]] == ["Chair"] * 3


def test_a_second_round_of_which_half_is_not_judged(chromium: "Browser", tmp_path: Path, heed: Heed) -> None:
    pool, options = campaign(tmp_path)
    deeper = [*DOCIDS, "D6", "D7", "D8", "D9"]
    write_jsonl(tmp_path / "deeper.jsonl", [{"qid": "301", "docids": deeper}])
    with running(pool, *options) as server:
        for name, grades in (("Ann", ANN), ("Bob", BOB)):
            values = zip(DOCIDS, map(int, grades), strict=True)
            server.change(name, *(grade("301", docid, value) for docid, value in values))
        with assessor(chromium, server, "Chair") as chair:
            decide(chair)
        server.kill()
    more = ("--docs", tmp_path / "docs.jsonl")
    with running(tmp_path / "deeper.jsonl", "--database", tmp_path / "pool.db", *more) as server:
        with assessor(chromium, server, "Bob") as bob:
            assert bob.shown() == "D6"
            bob.press("1", "0")  # D8 and D9 are not judged
            edit(bob)
            bob.press("N")
            bob.until("document.querySelectorAll('#strip [data-again=yes]').length === 4")
            bob.press("n")
            for docid in ("D0", "D1", "D3", "D6"):
                bob.page.click(f"#strip [title*='{docid}:']")
                bob.press("0" if docid == "D1" else "1")
            bob.saved()
        server.kill()
    export = ("pipelines.annotate", "deeper.jsonl", "--database", "pool.db", "--export")
    result = heed(*export, "out")
    assert "2 of 10 pooled documents are not judged (topic 301: 2), left out; -1 or 0" in result.stdout
    truth = {"original": {**ORIGINAL, "D6": 1, "D7": 0}, "changed": {**CHANGED, "D6": 1, "D7": 0}}
    assert exported(tmp_path / "out") == truth
    assert heed(*export, "zero", "--unjudged", "0").returncode == 0
    assert exported(tmp_path / "zero") == {name: {**grades, "D8": 0, "D9": 0} for name, grades in truth.items()}
    assert heed(*export, "unknown", "--unjudged", "-1").returncode == 0
    assert exported(tmp_path / "unknown") == {name: {**grades, "D8": -1, "D9": -1} for name, grades in truth.items()}
    refused = heed(*export, "none", "--unjudged", "error")
    assert (
        refused.returncode == 1
        and "2 of 10 pooled documents are not judged (topic 301: 2); judge them" in refused.stderr
    )
    assert not (tmp_path / "none").exists()


def test_without_an_edit_judging_stays_on_the_original(chromium: "Browser", tmp_path: Path) -> None:
    pool, options = campaign(tmp_path, docids=3)
    with running(pool, *options) as server, assessor(chromium, server, "Ann") as ann:
        ann.press(*"110")
        ann.saved()
        ann.until("document.querySelector('#notice').innerText.includes('Every topic is finished')")
        ann.page.goto(server.address)
        ann.page.wait_for_selector("#document .facts")
        assert ann.page.get_attribute("#tab-original", "aria-selected") == "true"
        assert ann.text("#overall") == "3 of 3 judged"
        ann.press("c", "1")
        assert ann.squares() == ["", "", ""] and "edit it first" in ann.text("#toast")
        assert ann.page.is_disabled("#grades [data-grade='1']")
        status, answer = server.change("Ann", grade("301", "D0", 1, "changed"), wording="Sinkings  of ferries.")
        assert status == 400 and "topic 301: its narrative is not edited" in answer["error"]
        ann.press("o")
        names = [square.get_attribute("aria-label") for square in ann.page.locator("#strip button").all()]
        assert names == ["1. D0: relevant", "2. D1: relevant", "3. D2: not relevant"]
        assert ann.page.get_attribute("#topics button", "aria-label") == (
            "301: ferry accidents, 3 of 3 judged, 0 of 0 read again"
        )


def test_the_agreement_page_is_accessible(chromium: "Browser", tmp_path: Path) -> None:
    axe = axe_core()
    if not axe:
        pytest.skip("axe-core is not installed")
    pool, options = campaign(tmp_path)
    with running(pool, *options) as server:
        for name, grades in (("Ann", ANN), ("Bob", BOB)):
            values = zip(DOCIDS, map(int, grades), strict=True)
            server.change(name, *(grade("301", docid, value) for docid, value in values))
        chair = Assessor(chromium, server, "Chair", bypass_csp=True)
        chair.press("a")
        chair.page.wait_for_selector(".disagreement[aria-current] .document .text")
        chair.page.evaluate(axe)
        for theme, rules in WIDE.items():
            chair.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            assert chair.page.evaluate(AXE % rules) == []
        for width, height in ((1366, 800), (390, 844)):
            chair.page.set_viewport_size({"width": width, "height": height})
            assert chair.page.evaluate("document.documentElement.scrollWidth") <= width
        chair.context.close()
