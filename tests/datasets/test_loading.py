import json
from pathlib import Path

import pytest
from conftest import ROOT, write_jsonl

from heed.datasets.collection import Collection
from heed.datasets.loading import load, load_files
from heed.errors import DataError, UsageError
from heed.formats.document_store import open_store
from heed.formats.documents import Documents
from heed.languages import language
from heed.measures.evaluate import Judging
from heed.types import Document, Topic
from pipelines import trec

SAMPLE = "neuclir-sample"
QRELS = {name: ROOT / "qrels" / SAMPLE / f"{name}.qrels" for name in ("original", "changed")}


def shown(collection: Collection) -> tuple[object, ...]:
    """What decides the collection's runs and figures."""
    place = (collection.name, collection.subset, collection.index, collection.language)
    return (*place, collection.source.recipe, collection.topics, collection.judging, collection.join)


@pytest.mark.parametrize("lang", ["zho", "fas", "rus"])
def test_of_the_sample_the_queries_may_be_english(lang: str) -> None:
    native, english = load(SAMPLE, lang=lang), load(SAMPLE, lang=lang, query_lang="eng")
    assert (native.name, native.subset, native.index, native.topics[0].lang) == (SAMPLE, lang, lang, lang)
    assert (english.subset, english.index, english.topics[0].lang) == (f"eng-{lang}", lang, "eng")
    assert english.source.recipe == native.source.recipe and english.judging == native.judging


def test_every_sample_has_a_name() -> None:
    english = load(SAMPLE, lang="eng")
    assert (english.name, english.subset, len(english.topics)) == (SAMPLE, "eng", 12)
    rows = load("tables-sample", form="rows")
    assert (rows.name, rows.subset, len(rows.topics), len(rows.judging.traps)) == ("tables-sample", "eng-rows", 32, 22)
    keyword = load("infosearch-sample", dimension="keyword")
    assert (keyword.name, keyword.subset) == ("infosearch-sample", "keyword")
    assert set(keyword.judging.qrels) == {"query", "original", "reversed"}


def test_followtable_is_read_from_a_folder(shared: Path) -> None:
    wtr = load("followtable", data=shared / "followtable" / "WTR")
    assert (wtr.name, wtr.subset) == ("followtable", "WTR")
    assert {topic.qid for topic in wtr.topics} >= set(wtr.judging.qrels["original"])


SENTENCES = {
    entry["lang"]: " ".join(entry["sentences"])
    for entry in map(json.loads, (ROOT / "tests" / "data" / "languages" / "sentences.jsonl").read_text().splitlines())
}
SAME_LETTERS = [{"zho"}, {"jpn"}, {"kor"}, {"ara", "fas"}, {"rus", "ukr"}, {"ben"}, {"ell"}, {"hin"}, {"tel"}, {"tha"}]


@pytest.mark.parametrize("lang", SENTENCES)
def test_documents_in_letters_that_their_language_lacks_are_a_warning(tmp_path: Path, lang: str) -> None:
    docs = write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": SENTENCES[lang]}])
    topics = write_jsonl(tmp_path / "topics.jsonl", [{"qid": "1", "query": "x"}])
    group = next((group for group in SAME_LETTERS if lang in group), {"eng", lang})
    for other in ("eng", "zho", "jpn", "ara", "fas", "ukr", lang):
        [*warnings] = load_files(docs, topics, lang=other).warnings
        likely = f"like {language(lang).name}" if "eng" not in group else "to be in Latin letters"
        advice = "" if "eng" in group else f"; give their language, {lang}"
        expected = f"documents look {likely} and are analysed as {language(other).name}{advice}"
        assert warnings == ([] if other in group else [expected])


def test_letters_of_no_known_language_are_named_and_few_tell_nothing(tmp_path: Path) -> None:
    topics = write_jsonl(tmp_path / "topics.jsonl", [{"qid": "1", "query": "x"}])
    docs = write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": "שלום עולם " * 20}])
    assert load_files(docs, topics).warnings == ["documents look to be in Hebrew letters and are analysed as English"]
    assert load_files(write_jsonl(docs, [{"id": "a", "text": "שלום"}]), topics).warnings == []


def test_a_warning_of_a_data_set_with_an_entry_is_given_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_jsonl(tmp_path / "copy/corpus.jsonl", [{"_id": "a", "text": SENTENCES["rus"]}])
    write_jsonl(tmp_path / "copy/queries.jsonl", [{"_id": "1", "text": "storm"}])
    (tmp_path / "mine.json").write_text('{"mine": {"holds": "news", "hub": "owner/mine"}}')
    mine = load("mine", catalogue=tmp_path / "mine.json", data=tmp_path / "copy")
    [warning] = mine.warnings
    assert warning == "documents look like Russian and are analysed as English; give their language, rus"
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [warning]


def test_queries_in_letters_that_their_language_lacks_are_a_warning(tmp_path: Path) -> None:
    docs = write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": SENTENCES["rus"]}])
    topics = write_jsonl(tmp_path / "topics.jsonl", [{"qid": "1", "query": SENTENCES["zho"]}])
    said = "queries look to be in Chinese and are read as Russian: are the topics the right ones?"
    assert load_files(docs, topics, lang="rus").warnings == [said]


def test_files_of_the_users_own_are_a_collection(tmp_path: Path) -> None:
    docs = write_jsonl(tmp_path / "mine.jsonl", [{"id": "a", "text": "x"}])
    topics = write_jsonl(tmp_path / "topics.jsonl", [{"qid": "1", "query": "x"}])
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    mine = load_files(docs, topics, tmp_path / "qrels", lang="zho", name="news")
    assert (mine.name, mine.subset, mine.judging.qrels) == ("news", "zho", {"original": {"1": {"a": 1}}})
    assert load_files([str(docs)], topics).name == "mine"
    sample = load_files(
        ROOT / "documents" / SAMPLE / "zho.jsonl",
        ROOT / "topics" / SAMPLE / "zho.jsonl",
        QRELS["original"],
        changed_qrels=QRELS["changed"],
        lang="zho",
        name=SAMPLE,
    )
    assert shown(sample) == shown(load(SAMPLE, lang="zho"))


def test_a_collection_needs_no_files(tmp_path: Path) -> None:
    collection = Collection(
        name="mine",
        subset="eng",
        language=language("eng"),
        source=Documents([Document("a", "", "tea"), Document("b", "", "coffee")]),
        topics=[Topic("1", "eng", "tea", {"original": "not coffee"})],
        judging=Judging({"original": {"1": {"a": 1}}}),
    )
    assert collection.index == "eng"
    assert open_store(tmp_path, collection.source).count == 2


def test_a_layout_of_ones_own_is_a_module_and_an_entry_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "riddles.txt").write_text("What has keys but no lock? = A piano\nWhat falls unbroken? = Night\n")
    entry = {"holds": "riddles", "layout": "riddles_layout:RIDDLES"}
    entries = {
        "riddles": entry,
        "lost": {**entry, "layout": "riddles_layout:PUNS"},
        "not": {**entry, "layout": "os:sep"},
    }
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(entries))
    riddles = load("riddles", catalogue=mine, data=tmp_path / "riddles.txt")
    assert [topic.query for topic in riddles.topics] == ["What has keys but no lock?", "What falls unbroken?"]
    assert riddles.judging.qrels == {"query": {"0": {"a0": 1}, "1": {"a1": 1}}}
    with pytest.raises(UsageError, match="lang: not used by riddles; it takes data, most_words"):
        load("riddles", catalogue=mine, lang="deu")
    with pytest.raises(UsageError, match="riddles_layout:PUNS: riddles_layout has no PUNS; it has "):
        load("lost", catalogue=mine)
    with pytest.raises(DataError, match=r"not: os:sep is a str, expected a heed.datasets.collection.Layout"):
        load("not", catalogue=mine)
    with pytest.raises(UsageError, match="riddles: no collection of this name"):  # nothing is left behind
        load("riddles")


def test_heed_trec_has_the_parameters_of_the_layout_of_its_dataset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "riddles.txt").write_text("What has keys but no lock? = A piano\nWhat falls unbroken? = Night\n")
    (tmp_path / "mine.json").write_text('{"riddles": {"holds": "riddles", "layout": "riddles_layout:RIDDLES"}}')
    named = ["--dataset", "riddles", "--catalogue", str(tmp_path / "mine.json")]
    with pytest.raises(SystemExit, match="0"):
        trec.main([*named, "--help-all"])
    assert "--most-words N        words of the longest riddle" in capsys.readouterr().out
    folders = [f"--indexes={tmp_path / 'indexes'}", f"--out={tmp_path / 'runs'}"]
    systems = ["--retriever", "lsa", "--reranker", "none", "--threads", "1"]
    done = trec.main([*named, *folders, *systems, "--data", str(tmp_path / "riddles.txt"), "--most-words", "3"])
    assert done == 0, capsys.readouterr().err
    [run] = tmp_path.glob("runs/riddles/*/lsa.query.run")
    assert {line.split()[0] for line in run.read_text().splitlines()} == {"0"}  # one of two: the riddle of three words
    with pytest.raises(SystemExit, match="2"):
        trec.main(["--dataset", "neuclir-sample", "--most-words", "3"])
    (tmp_path / "odd.json").write_text('{"riddles": {"holds": "riddles", "layout": "riddles_layout:DEEP"}}')
    assert trec.main([*named[:3], str(tmp_path / "odd.json")]) == 1
    assert "its layout is an option already, argument --depth: conflicting" in capsys.readouterr().err
    assert trec.main([*named[:2], "--catalogue", str(tmp_path / "none.json")]) == 1  # told as before
    assert "none.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("neuclir-sampel", {}, "no collection of this name; did you mean neuclir-sample"),
        ("vaswan", {}, "did you mean vaswani"),
        ("followir", {}, "several collections; expected one of followir/"),
        (SAMPLE, {}, "lang: found '', expected zho, fas or rus"),
        (SAMPLE, {"lang": "cn"}, "lang: found 'cn', expected zho, fas or rus"),
        ("hc4", {"lang": "chinese"}, "lang: found 'chinese', expected zho, fas or rus; did you mean zho?"),
        (SAMPLE, {"lang": "mlir"}, "documents in several languages, one collection each; load them by their languages"),
        (SAMPLE, {"lang": "zho", "years": [2022]}, "years: not used here; it chooses NeuCLIR's own topics"),
        ("hc4", {"lang": "en"}, "found 'en', expected zho, fas or rus; English documents are searched by heed trec"),
        (SAMPLE, {"lang": "zho", "query_lang": "english"}, "query_lang: found 'english', expected one of native, eng"),
        (
            SAMPLE,
            {"lang": "eng", "years": [2022]},
            "years: not used by neuclir-sample in English; it takes lang, fields",
        ),
        (SAMPLE, {"lang": "eng", "query_lang": "eng"}, "query_lang: not used by neuclir-sample in English; it takes"),
        (SAMPLE, {"lang": "zho", "fields": "body"}, "fields: found 'body', expected one of title, description, both"),
        (SAMPLE, {"lang": "zho", "subset": "x", "data": "x"}, "data, subset: not used by neuclir-sample"),
        ("followtable", {}, "needs either subset or data"),
        ("tables-sample", {"form": "xml"}, "form: found 'xml', expected one of raw, markdown"),
        ("infosearch-sample", {"dimension": "audience", "lang": "zho"}, "lang: not used by infosearch-sample/audience"),
        ("infosearch-sample", {"dimension": "tone"}, "tone: no subset of infosearch-sample; expected one of audience"),
        ("mfollowir", {"lang": "zho", "query_lang": "eng"}, "query_lang: not used by mfollowir; it takes lang, data"),
    ],
)
def test_wrong_names_and_arguments_are_errors(name: str, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        load(name, **arguments)  # type: ignore[arg-type]


def test_missing_data_say_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="no documents of neuclir1; on a machine with a network"):
        load("neuclir1", lang="zho")
    with pytest.raises(DataError, match="heed fetch followtable says how"):
        load("followtable", subset="WTR")
    with pytest.raises(DataError, match="(?s)jianqunZ/Clarity-v1 at .*: cannot be fetched from .*run 'hf download"):
        load("infosearch", dimension="keyword")
