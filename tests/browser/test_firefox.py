"""Report and annotation in a Firefox, where there is one: the same views, nothing requested, no hostile text run."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from annotating import running, sample_pool
from explored_results import PAYLOADS, hostile, sample
from firefox import NOT_INSTALLED, Firefox, firefox
from window import ENTER

from heed.report.page import write_page
from heed.report.results import read_tree

pytestmark = pytest.mark.skipif(bool(NOT_INSTALLED), reason=NOT_INSTALLED)


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    root = tmp_path_factory.mktemp("firefox")
    (root / "profile").mkdir()
    sample(root, "fas")
    hostile(root)
    write_page(read_tree(root / "runs"), root / "runs", root / "report.html")
    with firefox(root / "profile") as browser:
        browser.open((root / "report.html").as_uri())
        yield browser


def go(window: Firefox, place: str) -> None:
    window.evaluate(f"(() => {{ location.hash = {place!r}; return 1; }})()")
    window.wait("!document.querySelector('#explorer').hidden && !!document.querySelector('.topic .ranking a')")


def test_a_document_opens_beside_the_ranking_by_key_and_narratives_are_compared(window: Firefox) -> None:
    go(window, "#/neuclir-sample%2Ffas/topic/01")
    assert window.evaluate("document.querySelector('.difference').dir") == "rtl"
    assert window.evaluate("document.querySelectorAll('.difference del, .difference ins').length") > 0
    window.press("j")
    first = window.wait("document.querySelector('#explorer[data-reading] .document[data-docid]')?.dataset.docid ?? ''")
    assert window.evaluate("document.querySelector('.columns .ranking a').dataset.docid") == first
    assert window.evaluate("document.querySelectorAll('.document mark').length") > 0
    for width, height in ((1366, 800), (390, 844)):
        window.resize(width, height)
        assert window.evaluate("document.documentElement.scrollWidth") <= width
    assert window.complaints == []


def test_hostile_texts_are_texts(window: Firefox) -> None:
    window.resize(1366, 800)
    go(window, f"#/bad%2Feng/topic/{quote(f'q{PAYLOADS[1]}', safe='')}")
    assert window.wait("document.querySelector('#explorer').textContent.includes('<script>')")
    assert window.evaluate("typeof window.ran") == "undefined" and window.complaints == []


def test_what_is_typed_after_a_search_of_the_browser_is_not_written_into_the_narrative(tmp_path: Path) -> None:
    sample_pool(tmp_path / "pool.jsonl", topics=1)
    (tmp_path / "profile").mkdir()
    with running(tmp_path / "pool.jsonl", "--lang", "zho") as server, firefox(tmp_path / "profile") as page:
        page.open(server.address)
        page.wait("!!document.querySelector('#ask[open]')")
        page.press("A")
        page.press(ENTER)
        page.wait("document.querySelector('#document').dataset.shown ?? ''")
        narrative = page.evaluate("document.querySelector('#editor').value")
        # as Ctrl+F, a word of it and Esc leave it; without a window there is no Ctrl+F
        page.evaluate("document.querySelector('#editor').focus() ?? 1")
        page.press("2")
        page.wait("document.querySelector('#strip button').textContent === '2'")
        assert page.evaluate("document.querySelector('#editor').value") == narrative
        page.wait("document.querySelector('#document').dataset.shown ?? ''")
        page.press("p")
        page.wait("document.querySelector('#passage').title === [...CSS.highlights.get('passage')].join('')")
        page.press("e")
        page.press("2")
        assert sorted(page.evaluate("document.querySelector('#editor').value")) == sorted(f"{narrative}2")
