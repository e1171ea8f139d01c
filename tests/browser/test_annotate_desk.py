"""In a real Chromium: what an assessor has at hand while judging, for weeks."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from annotating import annotation_files, running
from annotating_browser import CHROMIUM, assessor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")

TOPIC = {"qid": "7", "lang": "eng", "query": "ferries", "instructions": {"original": "Sunk ferries.\n" * 12}}
TEXT = "A ferry sank. 🚢 Nobody was hurt.\n\nThe owner paid."


def desk(folder: Path, documents: int = 3) -> list[Path | str]:
    """The arguments of a campaign of one topic, over documents D0, D1, …"""
    records = [{"id": f"D{number}", "title": f"Ferry {number}", "text": TEXT} for number in range(documents)]
    return annotation_files(folder, [TOPIC], records)


def test_guidelines_stand_beside_the_document(chromium: "Browser", tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("# Grades\nGrade 3: <b>all</b> of it.\n\nدرجهٔ ۱\n")
    (tmp_path / "later.md").write_text("Grade 3 less often.")
    given = desk(tmp_path)
    with running(*given, "--guidelines", tmp_path / "guide.md") as server, assessor(chromium, server) as ann:
        assert ann.page.is_hidden("#guidelines")
        ann.press("i")
        assert ann.page.locator("#guidelines h2").inner_text() == "Grades"
        assert ann.page.locator("#guidelines [dir]").nth(1).inner_text() == "Grade 3: <b>all</b> of it."
        beside = "document.querySelector('#guidelines').getBoundingClientRect().left - innerWidth"
        assert ann.page.evaluate(beside) < -200
        assert (
            ann.page.evaluate("document.querySelector('#document').getBoundingClientRect().right - innerWidth") < -200
        )
        ann.press("1", "a")
        assert ann.page.is_visible("#agreement") and ann.page.is_visible("#guidelines")
        ann.press("a")
        ann.saved()
        port = server.port
        server.kill()
        with running(given[0], "--guidelines", tmp_path / "later.md", "--port", port):
            ann.look()
            ann.page.wait_for_selector("#guidelines >> text=Grade 3 less often.")
            ann.page.click("#guidelines button")
            assert ann.page.is_hidden("#guidelines")
