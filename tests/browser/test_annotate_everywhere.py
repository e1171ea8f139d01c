"""In Chromium, Firefox and WebKitGTK: judge, note, edit, undo, decide, lose the server and go on."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import firefox
import pytest
import webkit
from annotating import Running, grade, running
from annotating_browser import CHROMIUM
from conftest import Heed
from test_annotate_campaign import ANN, BOB, CHANGED, DECIDED, DOCIDS, ORIGINAL, campaign, exported
from window import ENTER, ESCAPE, Chromium, Window

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ABSENT = {
    "Chromium": "" if CHROMIUM.exists() else "no Chromium",
    "Firefox": firefox.NOT_INSTALLED,
    "WebKitGTK": "" if webkit.DRIVER and webkit.SCREEN and webkit.BROWSER else "no WebKitGTK",
}
pytestmark = [
    pytest.mark.disturbance,
    pytest.mark.parametrize(
        "browser",
        [pytest.param(name, marks=pytest.mark.skipif(bool(why), reason=why)) for name, why in ABSENT.items()],
    ),
]


@contextmanager
def opened(browser: str, profile: Path, request: pytest.FixtureRequest) -> Iterator[Window]:
    profile.mkdir()
    if browser == "Chromium":
        chromium: Browser = request.getfixturevalue("chromium")
        context = chromium.new_context()
        yield Chromium(context.new_page())
        context.close()
    else:
        with {"Firefox": firefox.firefox, "WebKitGTK": webkit.webkit}[browser](profile) as window:
            yield window


def enter(window: Window, server: Running, name: str) -> None:
    window.open(server.address)
    window.wait("document.activeElement.closest('#ask[open]') !== null")
    window.type(name)
    window.press(ENTER)
    shown(window)


def shown(window: Window) -> str:
    """The document on the page, once it counts as seen."""
    docid: str = window.wait(
        "(({shown, docid}) => shown && document.querySelector('#strip [aria-current]').title.includes(` ${docid}:`) "
        "&& docid)(document.querySelector('#document').dataset)"
    )
    return docid


def judge(window: Window, grades: str) -> None:
    for key in grades:
        shown(window)
        window.press(key)


def saved(window: Window) -> None:
    window.wait("document.querySelector('#saved').dataset.state === 'saved'")


def squares(window: Window, marks: str) -> None:
    window.wait(f"[...document.querySelectorAll('#strip button')].map((each) => each.innerText).join('') === '{marks}'")


def edit(window: Window, text: str) -> None:
    window.press("e")
    window.wait("document.activeElement.id === 'editor'")
    window.type(text)
    window.press(ESCAPE)
    saved(window)


def test_a_campaign_is_judged_to_its_end(
    browser: str, tmp_path: Path, request: pytest.FixtureRequest, heed: Heed
) -> None:
    pool, options = campaign(tmp_path)
    with opened(browser, tmp_path / "profile", request) as window:
        with running(pool, *options) as server:
            server.change("Bob", *(grade("301", docid, int(key)) for docid, key in zip(DOCIDS, BOB, strict=True)))
            enter(window, server, "Ann")
            judge(window, ANN[:4])
            squares(window, ANN[:4])
            window.press("u")
            squares(window, ANN[:3])
            saved(window)
            server.kill()
            judge(window, ANN[3])
            window.wait("document.querySelector('#alarm').innerText.includes('1 change is not saved yet')")
        with running(pool):
            saved(window)
            judge(window, ANN[4:])
            window.press("/")
            window.wait("document.activeElement.id === 'note'")
            window.type("last of all")
            window.press(ENTER)
            saved(window)
            window.press("a")
            for docid, value in DECIDED.items():
                current = "document.querySelector('.disagreement[aria-current]')"
                window.wait(f"{current}?.innerText.includes('{docid}') && !!{current}.querySelector('.document .text')")
                window.press(str(value))
            saved(window)
            window.press("a")
            shown(window)
            narrative = window.evaluate("document.querySelector('#editor').value")
            edit(window, "A mistake.")
            window.press("u")
            window.wait(f"document.querySelector('#editor').value === {narrative!r}")
            edit(window, "Injured people only.")
            window.press("n")
            again = []
            for _ in range(sum(ORIGINAL.values())):
                again.append(shown(window))
                window.press(str(CHANGED[again[-1]]))
            saved(window)
            assert {docid for docid, value in ORIGINAL.items() if value} == {*again}
    assert heed("pipelines.annotate", "pool.jsonl", "--export", "out").returncode == 0
    assert exported(tmp_path / "out") == {"original": ORIGINAL, "changed": CHANGED}
    lines = map(json.loads, (tmp_path / "out" / "judgements.jsonl").read_text().splitlines())
    assert [(line["assessor"], line["docid"]) for line in lines if line["note"] == "last of all"] == [("Ann", "D5")]
