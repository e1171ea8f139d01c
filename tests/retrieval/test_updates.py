"""Documents added, changed and removed: the index that is made of the earlier one is the index made at once."""

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from anserini import ByLucene
from conftest import write_jsonl

from heed.errors import DataError
from heed.formats import document_store, documents
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import DocumentLine, Documents, Files, Source
from heed.languages import language
from heed.retrieval.bm25 import index
from heed.retrieval.bm25 import postings as bm25_postings
from heed.retrieval.bm25.index import FIELD, TABLE_FIELDS, Bm25Settings, Searcher, build_index
from heed.retrieval.bm25.postings import Postings, open_postings
from heed.retrieval.dense import vectors
from heed.retrieval.dense.vectors import embed
from heed.retrieval.lucene import index_files
from heed.retrieval.lucene.index_files import ADDED, open_reader
from heed.reuse import folder_note
from heed.tables.documents import Tables
from heed.types import Config, Document, Encoder, Matrix

ENGLISH = language("eng")
QUERIES = {"many": "w0 w1", "few": "w5 w9 w7", "one": "w19", "new": "fresh w2", "none": "absent"}

Texts = dict[str, str]


def drawn(count: int) -> Texts:
    """Few words, so that many documents tie, also across the depth; ids with even numbers."""
    chooser = random.Random(7)
    return {f"d{number:04}": _text(chooser) for number in range(0, 2 * count, 2)}


def _text(chooser: random.Random) -> str:
    words = [f"w{min(int(chooser.paretovariate(0.7)) - 1, 60)}" for _ in range(chooser.randrange(1, 7))]
    return " ".join(words)


def source(path: Path, texts: Mapping[str, str]) -> Files:
    return Files([write_jsonl(path, [{"id": docid, "text": text} for docid, text in texts.items()])])


def made(folder: Path, source: Source) -> tuple[DocumentStore, Postings]:
    store = open_store(folder / "documents", source)
    build_index(folder / "bm25", store, ENGLISH, 2)
    return store, open_postings(folder / "bm25", (FIELD, *TABLE_FIELDS))


def content(postings: Postings) -> dict[Any, Any]:
    """Return all that postings say, by the places of documents; check that a term's are in the order of numbers."""
    places, said = np.argsort(postings.numbers), dict[Any, Any](docids=[*postings.docids.decoded()])
    for name, field in postings.fields.items():
        said[name] = field.lengths[postings.numbers].tolist(), field.documents_with, field.occurrences
        for number, term in enumerate(field.terms.decoded()):
            span = slice(field.starts[number], field.starts[number + 1])
            assert (np.diff(field.documents[span]) > 0).all()
            pairs = zip(places[field.documents[span]].tolist(), field.frequencies[span].tolist(), strict=True)
            said[name, term] = sorted(pairs)
    return said


def compare(folder: Path, fresh: Path, source: Source) -> None:
    """Hold an updated index against one of the same documents made at once: store, postings, runs; Lucene's hits."""
    (ours, our_postings), (theirs, their_postings) = made(folder, source), made(fresh, source)
    assert list(ours) == list(theirs) and ours.count == theirs.count and ours.digest == theirs.digest
    assert content(our_postings) == content(their_postings)
    assert open_reader(folder / "bm25").numDocs() == our_postings.size
    searchers = [Searcher(each / "bm25", ENGLISH, Bm25Settings()) for each in (folder, fresh)]
    for depth in (1, 7, 1000):
        mine, other = (searcher.search(QUERIES, depth) for searcher in searchers)
        by_lucene = ByLucene(fresh / "bm25", "eng", Bm25Settings()).search(QUERIES, depth)
        for qid in QUERIES:
            assert list(mine[qid].items()) == list(other[qid].items()) == list(by_lucene[qid].items())
    expanded = [searcher.search_with_feedback(QUERIES, 50, 2, "rm3", ours) for searcher in searchers]
    assert list(expanded[0].items()) == list(expanded[1].items())


def edited(texts: Texts, round_: int) -> Texts:
    """Add documents before, between and behind the others, change some, remove some."""
    chooser, kept = random.Random(round_), dict(texts)
    for docid in chooser.sample(sorted(kept), 12):
        kept[docid] = f"{_text(chooser)} fresh"
    for docid in chooser.sample(sorted(kept), 9):
        del kept[docid]
    between = {f"d{2 * number + 1:04}": _text(chooser) for number in chooser.sample(range(300), 5)}
    added = {f"a{round_}": "w0 w1", f"z{round_}": "w0 w1 fresh", f"e{round_}": "the of", f"n{round_}": " "}
    return dict(chooser.sample(pairs := [*{**kept, **between, **added}.items()], len(pairs)))


def test_an_index_after_updates_is_the_one_made_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bm25_postings, "BLOCK", 50)  # postings at once
    texts = drawn(300)
    made(tmp_path / "ours", source(tmp_path / "docs.jsonl", texts))
    for round_ in range(3):
        texts = edited(texts, round_)
        capsys.readouterr()
        compare(tmp_path / "ours", tmp_path / f"fresh{round_}", source(tmp_path / "docs.jsonl", texts))
        assert f"{tmp_path}/ours/bm25: made of the earlier one and" in capsys.readouterr().err
    # Lucene's files still have removed documents, which are left out where all postings are exported too
    assert open_reader(tmp_path / "ours/bm25").numDeletedDocs() > 0
    shutil.rmtree(tmp_path / "ours/bm25-postings")
    compare(tmp_path / "ours", tmp_path / "fresh2", source(tmp_path / "docs.jsonl", texts))


def test_an_index_is_updated_where_the_file_system_has_no_hard_links(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: str, target: str) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), path, None, target)

    monkeypatch.setattr(index_files.os, "link", fails)
    texts = drawn(60)
    made(tmp_path / "ours", source(tmp_path / "docs.jsonl", texts))
    compare(tmp_path / "ours", tmp_path / "fresh", source(tmp_path / "docs.jsonl", {**texts, "d0002": "fresh"}))
    assert "ours/bm25: made of the earlier one and 1 document" in capsys.readouterr().err


def test_additions_alone_leave_lucenes_files_as_they_are(tmp_path: Path) -> None:
    texts = drawn(200)
    made(tmp_path / "ours", source(tmp_path / "docs.jsonl", texts))
    before = {path.name: path.stat().st_ino for path in (tmp_path / "ours/bm25/lucene").glob("_*")}
    compare(tmp_path / "ours", tmp_path / "fresh", source(tmp_path / "docs.jsonl", {**texts, "d0001": "w0 fresh"}))
    after = {path.name: path.stat().st_ino for path in (tmp_path / "ours/bm25/lucene").glob("_*")}
    assert before.items() < after.items()
    assert [path.name for path in (tmp_path / "ours").iterdir() if path.name.startswith(".")] == []


def test_an_index_that_missed_an_update_of_the_documents_takes_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = drawn(300)
    made(tmp_path / "ours", source(tmp_path / "docs.jsonl", texts))
    texts = edited(texts, 1)
    open_store(tmp_path / "ours/documents", source(tmp_path / "docs.jsonl", texts))
    compare(tmp_path / "ours", tmp_path / "fresh", source(tmp_path / "docs.jsonl", edited(texts, 2)))
    assert "ours/bm25: made of the earlier one and" in capsys.readouterr().err


def test_changes_of_the_last_states_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_store, "MOST_CHANGES", 5)
    texts, counts = drawn(50), []
    for text in ("w1", "w2", "w3", "w4", "w5"):
        open_store(tmp_path / "store", source(tmp_path / "docs.jsonl", {**texts, "d0000": text}))
        counts.append(len(folder_note(tmp_path / "store").facts.get("changes", [])))
    assert counts == [0, 1, 2, 2, 2], "each state with one docid counts as two"
    texts = dict.fromkeys(texts, "fresh") | {"d0098": texts["d0098"]}
    open_store(tmp_path / "store", source(tmp_path / "docs.jsonl", texts))
    assert [len(docids) for _, docids in folder_note(tmp_path / "store").facts["changes"]] == [49], "the last is there"


def test_documents_in_other_files_are_no_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = list(drawn(100).items())
    made(tmp_path / "ours", source(tmp_path / "docs.jsonl", dict(texts)))
    parts = [source(tmp_path / f"{at}.jsonl", dict(texts[at::2])).paths[0] for at in (0, 1)]
    capsys.readouterr()
    compare(tmp_path / "ours", tmp_path / "fresh", Files(parts))
    said = capsys.readouterr().err
    assert "0 documents added, changed or removed" in said and "made of the earlier one and 0 documents" in said


def test_a_file_that_did_not_change_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, read = list(drawn(90).items()), list[str]()
    first, second, third = (source(tmp_path / f"{at}.jsonl", dict(texts[at::3])).paths[0] for at in range(3))
    open_store(tmp_path / "ours", Files([first, second, third]))
    read_documents = documents.read_documents

    def noted(path: Path, encoding: str | None) -> Iterator[DocumentLine]:
        read.append(path.name)
        return read_documents(path, encoding)

    monkeypatch.setattr(documents, "read_documents", noted)
    third = third.rename(tmp_path / "renamed.jsonl")
    second.write_text(second.read_text() + json.dumps({"id": "new", "text": "w0"}) + "\n")
    assert open_store(tmp_path / "ours", Files([third, first, second])).count == 91
    second.write_text(json.dumps({"id": "new", "text": "w0"}) + "\n")
    assert open_store(tmp_path / "ours", Files([third, first, second])).count == 61
    assert read == ["1.jsonl", "1.jsonl"]
    shutil.copyfile(first, tmp_path / "copy.jsonl")
    with pytest.raises(DataError, match=r"0.jsonl, line 1: document d0000 was already at .*copy.jsonl, line 1"):
        open_store(tmp_path / "ours", Files([third, tmp_path / "copy.jsonl", first, second]))


def test_tables_and_documents_in_memory_are_updated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [{"id": f"t{at}", "text": f"Rivers w{at % 5}\n| name | w1 |\n|---|---|\n| w2 | {at} |"} for at in range(40)]
    made(tmp_path / "tables", Tables([write_jsonl(tmp_path / "t.jsonl", cells)], "raw"))
    cells[3] = {"id": "t3", "text": "| fresh | w0 |\n|---|---|\n| w7 | w9 |"}
    compare(tmp_path / "tables", tmp_path / "fresh", Tables([write_jsonl(tmp_path / "t.jsonl", cells[:-1])], "raw"))
    documents = [Document(docid, "", text) for docid, text in drawn(50).items()]
    made(tmp_path / "memory", Documents(documents))
    changed = [*documents[1:], Document("new", "", "w0 fresh")]
    compare(tmp_path / "memory", tmp_path / "fresh-memory", Documents(changed))
    said = capsys.readouterr().err
    assert "tables/bm25: made of the earlier one and 2" in said and "memory/bm25: made of the earlier one and 2" in said


@pytest.mark.parametrize("texts", [{"d0000": "w1"}, {f"x{number}": "w1" for number in range(300)}])
def test_an_index_is_made_at_once_where_most_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], texts: Texts
) -> None:
    made(tmp_path / "ours", source(tmp_path / "docs.jsonl", drawn(60)))
    compare(tmp_path / "ours", tmp_path / "fresh", source(tmp_path / "docs.jsonl", texts))
    assert "made of the earlier one" not in capsys.readouterr().err


def test_a_docid_that_comes_twice_is_told_with_both_places(tmp_path: Path) -> None:
    texts = drawn(50)
    documents = source(tmp_path / "docs.jsonl", texts)
    open_store(tmp_path / "store", documents)
    for text in ("another", texts["d0004"]):
        more = write_jsonl(tmp_path / "more.jsonl", [{"id": "d0004", "text": text}])
        with pytest.raises(DataError, match=r"more.jsonl, line 1: document d0004 was already at .*docs.jsonl, line 3"):
            open_store(tmp_path / "store", Files([tmp_path / "docs.jsonl", more]))
    assert list(open_store(tmp_path / "store", documents)) == [Document(docid, "", texts[docid]) for docid in texts]


def test_a_store_of_another_reading_or_without_hashes_is_built_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"id": "a", "text": "| w1 | w2 |\n|---|---|\n| w3 | w4 |"}, {"id": "b", "text": "w1"}]
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    open_store(tmp_path / "store", Tables([path], "raw"))
    other = Tables([path], "markdown")
    assert list(open_store(tmp_path / "store", other)) == list(open_store(tmp_path / "fresh", other))
    assert "added, changed or removed" not in capsys.readouterr().err


class StoppedError(Exception):
    """In place of a kill."""


def stopped_update(folder: Path, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the update of an index when the changed documents are indexed and replace none yet."""

    def stop(*_: Any) -> None:
        raise StoppedError

    with monkeypatch.context() as patched:
        patched.setattr(index, "replace_documents", stop)
        with pytest.raises(StoppedError):
            made(folder, source)


def test_a_stopped_update_leaves_the_earlier_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = drawn(200)
    made(tmp_path / "ours", source(tmp_path / "docs.jsonl", texts))
    before = Searcher(tmp_path / "ours/bm25", ENGLISH, Bm25Settings()).search(QUERIES, 50)
    stopped_update(tmp_path / "ours", source(tmp_path / "docs.jsonl", edited(texts, 3)), monkeypatch)
    assert (tmp_path / "ours/.bm25.part" / ADDED).exists()
    assert Searcher(tmp_path / "ours/bm25", ENGLISH, Bm25Settings()).search(QUERIES, 50) == before
    made(tmp_path / "ours", source(tmp_path / "docs.jsonl", texts))
    assert not (tmp_path / "ours/.bm25.part").exists(), "it is not wanted any more"
    changed = source(tmp_path / "docs.jsonl", edited(texts, 3))
    compare(tmp_path / "ours", tmp_path / "fresh", changed)


def test_an_update_that_was_stopped_is_not_gone_on_with_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = drawn(200)
    made(tmp_path / "ours", source(tmp_path / "docs.jsonl", texts))
    changed = source(tmp_path / "docs.jsonl", edited(texts, 3))
    stopped_update(tmp_path / "ours", changed, monkeypatch)
    shutil.rmtree(tmp_path / "ours/bm25")
    compare(tmp_path / "ours", tmp_path / "fresh", changed)


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[4].split(os.pathsep)
from heed.formats.document_store import open_store
from heed.formats.documents import Files
from heed.languages import language
from heed.retrieval.bm25 import index
from heed.retrieval.lucene import index_files

index_files.PART, index_files.SHARE = 0.0, 0.0  # a commit after each document
rows = index._rows
def killed(documents, fields):
    for number, row in enumerate(rows(documents, fields)):
        if number == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        yield row
index._rows = killed
folder = Path(sys.argv[1])
store = open_store(folder / "documents", Files([Path(sys.argv[2])]))
index.build_index(folder / "bm25", store, language("eng"), 2)
"""


def test_a_killed_index_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = source(tmp_path / "docs.jsonl", drawn(60))
    for place in (21, 43):
        arguments = [str(tmp_path / "ours"), str(documents.paths[0]), str(place), os.pathsep.join(sys.path)]
        done = subprocess.run([sys.executable, "-c", KILLED, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert not (tmp_path / "ours/bm25").exists()
    handed_over: list[Sequence[str]] = []
    add = index_files._add_documents

    def counted(writer: Any, rows: Iterator[Sequence[str]], *settings: Any) -> int:
        def each() -> Iterator[Sequence[str]]:
            for row in rows:
                handed_over.append(row)
                yield row

        return add(writer, each(), *settings)

    monkeypatch.setattr(index_files, "_add_documents", counted)
    store = open_store(tmp_path / "ours/documents", documents)
    build_index(tmp_path / "ours/bm25", store, ENGLISH, 2)
    assert 60 - 43 <= len(handed_over) <= 60 - 43 + 1, "no more than what was not committed"
    monkeypatch.undo()
    compare(tmp_path / "ours", tmp_path / "fresh", documents)


def test_what_is_left_of_other_documents_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_files, "PART", 0.0)
    monkeypatch.setattr(index_files, "SHARE", 0.0)

    def stop(documents: Any, fields: Any) -> Iterator[list[str]]:
        for number, document in enumerate(documents):
            if number == 15:
                raise StoppedError
            yield [document.docid, document.text]

    with monkeypatch.context() as patched:
        patched.setattr(index, "_rows", stop)
        with pytest.raises(StoppedError):
            made(tmp_path / "ours", source(tmp_path / "docs.jsonl", drawn(30)))
    other = {docid: f"{text} fresh" for docid, text in drawn(28).items()}
    compare(tmp_path / "ours", tmp_path / "fresh", source(tmp_path / "docs.jsonl", other))


def test_postings_without_documents_take_some_and_lose_all(tmp_path: Path) -> None:
    """A field that only new documents have, and one that only removed documents had."""
    made(tmp_path / "ours", source(tmp_path / "docs.jsonl", {f"d{at}": "the" for at in range(20)}))
    texts = {f"d{at}": "the" for at in range(20)}
    compare(tmp_path / "ours", tmp_path / "fresh", source(tmp_path / "docs.jsonl", {**texts, "d3x": "w0 fresh"}))
    compare(tmp_path / "ours", tmp_path / "fresh2", source(tmp_path / "docs.jsonl", {**texts, "d2": "of"}))
    assert np.load(tmp_path / "ours/documents/lines.npy").shape == (20, 2)


class Packed(Encoder):
    """As many rows as a text has words, the first with 1 in column 0; then the lengths of text and word."""

    name = "packed"

    def __init__(self, wide: bool) -> None:
        self.read: list[str] = []
        self.config: Config = {"wide": wide}
        self._wide = wide

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        self.read += [document.docid for document in documents]
        rows = [
            [1.0 if number == 0 else 0.0, len(document.text), len(word)]
            for document in documents
            for number, word in enumerate(document.text.split() or [""] if self._wide else [document.text])
        ]
        return np.array(rows, dtype=np.float32)


@pytest.mark.parametrize("wide", [False, True])
def test_vectors_of_changed_documents_alone_are_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wide: bool
) -> None:
    monkeypatch.setattr(vectors, "SHARD", 64)
    texts = drawn(300)
    changed = edited(texts, 1)

    def embedded(folder: Path, of: Texts, encoder: Packed) -> dict[str, bytes]:
        store = open_store(tmp_path / folder.name / "documents", source(tmp_path / "docs.jsonl", of))
        embed(tmp_path / folder.name / "vectors", store, encoder)
        return {path.name: path.read_bytes() for path in (tmp_path / folder.name / "vectors").iterdir()}

    first = embedded(tmp_path / "ours", texts, Packed(wide))
    before = [each for each in texts if texts[each] != changed.get(each)]
    write = vectors.write_matrix
    with monkeypatch.context() as patched:
        shards: list[Path] = []

        def stop(path: Path, matrix: Matrix) -> None:
            if len(shards) == 2:
                raise StoppedError
            shards.append(path)
            write(path, matrix)

        patched.setattr(vectors, "write_matrix", stop)
        for _ in range(2):
            shards.clear()
            with pytest.raises(StoppedError):
                embedded(tmp_path / "ours", changed, Packed(wide))
    assert embedded(tmp_path / "ours", texts, reverted := Packed(wide)) == first and reverted.read == []
    with monkeypatch.context() as patched:
        shards.clear()
        patched.setattr(vectors, "write_matrix", stop)
        with pytest.raises(StoppedError):
            embedded(tmp_path / "ours", changed, Packed(wide))
    rest = Packed(wide)
    assert embedded(tmp_path / "ours", changed, rest) == embedded(tmp_path / "fresh", changed, Packed(wide))
    assert 0 < len(rest.read) < len({*before} | (changed.keys() - texts.keys()))
    assert [path.name for path in (tmp_path / "ours").iterdir() if path.name.startswith(".")] == []
