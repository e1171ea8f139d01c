import gzip
import hashlib
import json
import random
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from conftest import write_jsonl

from heed.errors import DataError, HeedError
from heed.formats.document_store import DocumentStore, open_store, read_docids
from heed.formats.documents import DocumentLine, Documents, Files, corpus_files
from heed.tables.documents import Tables
from heed.types import Document


def store_of(tmp_path: Path, records: Sequence[object]) -> DocumentStore:
    return open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))


@pytest.mark.parametrize(
    ("record", "document"),
    [
        ({"id": "u-1", "cc_file": "w", "time": None, "title": "T", "text": "x", "url": "h"}, ("u-1", "T", "x")),
        ({"id": "u-1", "lang": "zho", "text": "x", "date": ""}, ("u-1", "", "x")),
        ({"_id": "7", "title": "", "text": "x", "metadata": {}}, ("7", "", "x")),
        ({"id": "007", "contents": "x"}, ("007", "", "x")),
        ({"docid": "NA", "title": None, "body": "x"}, ("NA", "", "x")),
        ({"id": 12, "text": ""}, ("12", "", "")),
        ({"id": "1", "text": " ", "contents": "x"}, ("1", "", "x")),
        ({"id": "1", "contents": "", "body": None, "content": "x"}, ("1", "", "x")),
        ({"id": "1", "contents": [], "body": "x"}, ("1", "", "x")),
        ({"id": "", "docno": "FT911-1", "text": "x"}, ("FT911-1", "", "x")),
        ({"pid": "msmarco_passage_00_0", "passage": "x", "docid": "D1"}, ("msmarco_passage_00_0", "", "x")),
        ({"docid": "doc_00_0#0_0", "url": "u", "title": "T", "headings": "H", "segment": "x", "start_char": 0},
         ("doc_00_0#0_0", "T", "x")),
    ],
)  # fmt: skip
def test_every_published_schema_is_read(tmp_path: Path, record: object, document: tuple[str, str, str]) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", [record])
    assert [line.document for line in Files([path]).lines()] == [Document(*document)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.json", '[{"id": "1", "contents": "x"},\n {"id": "2", "title": "T", "contents": "y"}]'),
        ("d.jsonl", '\ufeff\n[\n{"id": "1", "contents": "x"}, {"id": "2", "title": "T", "contents": "y"}\n]'),
        ("d.jl", '{"id": "1", "text": "x"}\n{"id": "2", "title": "T", "text": "y"}\n'),
        ("d.tsv", "docid\ttext\ttitle\n1\tx\t\n\n2\ty\tT\n"),
    ],
)
@pytest.mark.parametrize("gzipped", [False, True])
def test_arrays_and_columns_are_read(tmp_path: Path, name: str, content: str, gzipped: bool) -> None:
    path = tmp_path / (f"{name}.gz" if gzipped else name)
    path.write_bytes(gzip.compress(content.encode()) if gzipped else content.encode())
    expected = [Document("1", "", "x"), Document("2", "T", "y")]
    assert [line.document for line in Files([path]).lines()] == expected
    assert list(read_docids(path)) == ["1", "2"]


def test_one_object_a_file_and_lines_without_a_title_are_read(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('{\n "id": "1",\n "contents": "x"\n}\n')  # as Anserini's JsonCollection
    (tmp_path / "c.tsv").write_text('2\tsays "y\n3\t\n')  # as MS MARCO's collection.tsv
    documents = [line.document for line in Files([tmp_path / "1.json", tmp_path / "c.tsv"]).lines()]
    assert documents == [Document("1", "", "x"), Document("2", "", 'says "y'), Document("3", "", "")]


@pytest.mark.parametrize(
    ("name", "content", "problems"),
    [
        ("d.jsonl", '{"number": 1, "text": "x"}\n' * 3 + '{"id": "1", "main": "x"}\n{"number": 2, "text": "y"}\n',
         ["line 1: found number, text, expected an id in id, _id, docid, doc_id, docno, pid; "
          "rename the field; the same in line 2, line 3, line 5",
          "line 4: found id, main, expected a text in text, contents, body, content, doc, passage, segment, abstract; "
          "rename the field"]),
        ("d.tsv", "1\tu\tT\tx\n" * 2,
         ["line 1: found 4 columns, expected an id in id, _id, docid, doc_id, docno, pid; "
          "rename the field; the same in line 2"]),
        ("d.json", '[{"id": "1"', ["line 1: not JSON (Expecting ',' delimiter, column 12); "
                                   "expected one JSON object a line"]),
        ("d.json", '[[1], {"id": "1", "text": [1]}]',
         ["line 1: found list, expected a JSON object",
          "line 2: found id, text, expected a text in text, contents, body, content, doc, passage, segment, abstract; "
          "rename the field"]),
    ],
)  # fmt: skip
def test_what_no_known_key_holds_is_said_once_with_the_keys(
    tmp_path: Path, name: str, content: str, problems: list[str]
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError) as error:
        open_store(tmp_path / "store", Files([path]))
    assert str(error.value).splitlines() == [f"{path}, {problem}" for problem in problems]


def test_title_and_text_are_joined_as_anserini_joins_them() -> None:
    assert Document("1", "T", "x").contents() == "T\nx"
    assert Document("1", "", "x").contents() == "x"


def test_every_bad_line_is_told_with_its_file_and_number(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    lines = ['{"id": "a", "text": "x"}', "{", '{"id": "b"}', '{"text": "x"}', "[1]", '{"id": "c d", "text": "x"}']
    lines += ['{"id": "e", "text": "\\ud800"}', '{"id": "f", "title": 3, "text": "x"}', ""]
    path.write_text("\n".join(lines))
    with pytest.raises(HeedError) as caught:
        open_store(tmp_path / "store", Files([path]))
    told = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in told] == [f"{path}, line {number}" for number in range(2, 9)]
    assert "found id" in told[1]
    assert not (tmp_path / "store").exists()


def test_documents_given_in_python_are_those_of_a_file(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", [{"id": "b", "text": "x"}, {"id": "a", "title": "T", "text": "y"}])
    given = [Document("b", "", "x"), Document("a", "T", "y")]
    store = open_store(tmp_path / "given", Documents(given))
    assert list(store) == list(open_store(tmp_path / "file", Files([path])))
    assert Documents(given[::-1]).recipe == Documents(given).recipe != Documents(given[:1]).recipe
    table = Document("t", "", "x", "caption", "header", "cells")
    assert list(open_store(tmp_path / "table", Documents([table]))) == [table]
    assert str(Documents(given)) == "2 documents in memory"


def test_every_bad_document_given_in_python_is_named() -> None:
    given = [Document("a b", "", "x"), Document("c", "", "x"), Document("d", "", None)]  # type: ignore[arg-type]
    with pytest.raises(HeedError) as caught:
        Documents(given)
    assert str(caught.value).splitlines() == [
        "documents in memory, number 1: id is 'a b', expected a word, no blanks, in id, _id, docid, doc_id, docno, pid",
        "documents in memory, number 3: text is null, expected a text in text, contents, body, content, doc, "
        "passage, segment, abstract; give it a text, or leave it out",
    ]
    with pytest.raises(HeedError, match="half of a surrogate pair"):
        _ = Documents([Document("a", "", "\ud800")]).recipe


def test_documents_that_come_twice_are_told_with_both_places(tmp_path: Path) -> None:
    one = write_jsonl(tmp_path / "one.jsonl", [{"id": "a", "text": "x"}, {"id": "b", "text": "x"}])
    two = write_jsonl(tmp_path / "two.jsonl", [{"id": "b", "text": "x"}, {"id": "b", "text": "y"}])
    with pytest.raises(HeedError) as caught:
        open_store(tmp_path / "store", Files([one, two]))
    assert str(caught.value).splitlines() == [
        f"{two}, line 1: document b was already at {one}, line 2; keep one of them; the same in line 2",
    ]


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text("\n")
    with pytest.raises(HeedError, match="no document in it"):
        open_store(tmp_path / "store", Files([tmp_path / "docs.jsonl"]))


def test_the_order_of_the_input_never_matters(tmp_path: Path) -> None:
    records = [{"id": f"d{number}", "text": str(number)} for number in range(50)]
    shuffled = list(records)
    random.Random(1).shuffle(shuffled)
    first = list(store_of(tmp_path / "1", records))
    assert list(store_of(tmp_path / "2", shuffled)) == first
    assert [one.docid for one in first] == sorted(record["id"] for record in records)


def test_random_access_keeps_the_asked_order_and_misses_are_told(tmp_path: Path) -> None:
    store = store_of(tmp_path, [{"id": f"d{number}", "text": str(number)} for number in range(1200)])
    asked = [f"d{number}" for number in range(1199, -1, -1)]
    assert [one.docid for one in store.get(asked)] == asked
    assert store.missing(["d5", "x", "d6", "y"]) == ["x", "y"]
    assert store.missing(["x", *asked, "y", "x"]) == ["x", "y", "x"]
    with pytest.raises(HeedError, match="document x: not in the collection"):
        store.get(["d1", "x"])


def test_gzip_folders_and_parquet_are_found_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow
    import pyarrow.parquet

    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(json.dumps({"id": "b", "text": "x"}).encode()))
    pyarrow.parquet.write_table(pyarrow.table({"_id": ["c"], "title": ["T"], "text": ["y"]}), folder / "c.parquet")
    (folder / "ignored.txt").write_text("not a corpus file")
    (folder / "made.json").write_text("{}")
    (folder / ".git").mkdir()
    (folder / ".git" / "x.jsonl").write_text("1")
    files = corpus_files([folder])
    assert [path.name for path in files] == ["b.jsonl.gz", "c.parquet"]
    assert [line.document for line in Files(files).lines()] == [Document("b", "", "x"), Document("c", "T", "y")]
    assert f"{folder}: 2 files are not read as documents: ignored.txt, made.json" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "part/a.jl"])
def test_a_folder_of_json_lines_under_other_names_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    content = b'{"id": "1", "text": "x"}\n'
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    (tmp_path / "topics.tsv").write_text("1\tquery\n")
    assert corpus_files([tmp_path]) == [path]
    assert [line.document[:3] for line in Tables([path], "raw").lines() if line.document] == [("1", "", "x")]
    assert list(read_docids(tmp_path)) == ["1"]


def test_missing_paths_and_folders_without_files_say_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(HeedError, match="documents are .jsonl, .parquet, .json, .* files or folders"):
        corpus_files([tmp_path / "absent.jsonl"])
    (tmp_path / "q.tsv").write_text("1\tx\n")
    with pytest.raises(HeedError, match=r"no .jsonl, .parquet, .* file in this folder, .* \(found q.tsv\)"):
        corpus_files([tmp_path])


def test_a_corpus_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}])

    class Growing(Files):
        def lines(self) -> Iterator[DocumentLine]:
            for line in super().lines():
                write_jsonl(path, [{"id": "c", "text": "z"}])  # another program writes it anew
                yield line

    with pytest.raises(HeedError, match=r"docs\.jsonl: changed while it was read"):
        open_store(tmp_path / "store", Growing([path]))
    assert not (tmp_path / "store").exists()


def test_bad_lines_are_told_up_to_twenty_and_that_there_are_more(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text("".join(f'{{"id": "{number} x"}}\n' for number in range(30)))
    with pytest.raises(HeedError) as error:
        open_store(tmp_path / "store", Files([tmp_path / "docs.jsonl"]))
    lines = str(error.value).splitlines()
    assert len(lines) == 20 and lines[-1] == "… and more; reading stopped here"


def alike(count: int) -> list[dict[str, str]]:
    """Records of 600 bytes with sentences in common, in random order: enough of them for a dictionary."""
    chance = random.Random(3)
    sentences = [" ".join(f"word{chance.randrange(900)}" for _ in range(8)) for _ in range(300)]
    texts = [". ".join(chance.choices(sentences, k=10)) for _ in range(count)]
    records = [{"id": f"d{number}", "title": f"T{number}", "text": text} for number, text in enumerate(texts)]
    chance.shuffle(records)
    return records


def test_a_dictionary_makes_the_store_small_and_the_same_in_any_order(tmp_path: Path) -> None:
    records = alike(3000)
    places = [tmp_path / "1", tmp_path / "2"]
    stores = [store_of(place, given) for place, given in zip(places, (records, records[::-1]), strict=True)]
    first, second = ((place / "store" / "documents.sqlite").read_bytes() for place in places)
    assert first == second
    alone = sum(len(zlib.compress(one["text"].encode())) for one in records)  # zlib has no dictionary
    assert len(first) < 0.85 * alone
    expected = sorted(records, key=lambda one: one["id"])
    assert list(stores[0]) == [Document(one["id"], one["title"], one["text"]) for one in expected]


def test_threads_read_the_same_store(tmp_path: Path) -> None:
    store = store_of(tmp_path, alike(1000))
    expected = {document.docid: document for document in store}
    docids = sorted(expected)
    parts = [random.Random(seed).sample(docids, 3) for seed in range(2000)]  # short: many read at the same moment
    with ThreadPoolExecutor(8) as threads:
        for part, documents in zip(parts, threads.map(store.get, parts), strict=True):
            assert documents == [expected[docid] for docid in part]


@pytest.mark.parametrize(
    ("name", "tables"), [("hc4/cc-news-zho-1000.jsonl.gz", False), ("followtable/WTR/corpus.jsonl.gz", True)]
)
def test_real_collections_take_half_of_their_size(shared: Path, tmp_path: Path, name: str, tables: bool) -> None:
    path = shared / name
    open_store(tmp_path / "store", Tables([path], "raw", titles=False) if tables else Files([path]))
    with gzip.open(path) as stream:
        size = sum(map(len, stream))
    assert (tmp_path / "store" / "documents.sqlite").stat().st_size <= 0.55 * size


def test_a_damaged_store_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    store_of(tmp_path, alike(1000))
    path = tmp_path / "store" / "documents.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE documents SET body = substr(body, 1, 60) WHERE docid = 'd7'")
        db.commit()
    store = DocumentStore(path.parent, "")
    assert store.get(["d6"])
    with pytest.raises(DataError, match=r"documents\.sqlite: damaged \(document d7: .*remove its folder and run"):
        list(store)
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(DataError, match=r"documents\.sqlite: damaged \(database disk image is malformed\)"):
        DocumentStore(path.parent, "").get(["d6"])


def test_a_store_of_an_earlier_form_is_named_and_built_again(tmp_path: Path) -> None:
    records = [{"id": "a", "text": "x"}]
    expected = list(store_of(tmp_path, records))
    path, note = tmp_path / "store" / "documents.sqlite", tmp_path / "store" / "made.json"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 3")
    with pytest.raises(DataError, match=r"documents\.sqlite: made by another version of Heed; run the command"):
        DocumentStore(path.parent, "")
    made = json.loads(note.read_text())
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}
    note.write_text(json.dumps({"recipe": made["recipe"] | {"store": 3}, "files": files}))
    assert list(store_of(tmp_path, records)) == expected


def test_the_store_counts_and_cuts_without_reading(tmp_path: Path) -> None:
    records = [{"id": f"d{number:03}", "text": str(number)} for number in range(100)][::-1]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    assert store.count == 100
    assert [one.docid for one in store.within(97, 120)] == ["d097", "d098", "d099"]
    assert [one.text for one in store.within(0, 2)] == ["0", "1"]
    assert list(store.within(5, 5)) == []
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == [
        "documents.sqlite",
        "lines.npy",
        "made.json",
    ]
