"""The index that Heed writes beside the one that Anserini's own ``SimpleIndexer`` writes of the same documents."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from anserini import anserini_index
from conftest import ROOT, SAMPLED

from heed.errors import HeedError
from heed.languages import language
from heed.retrieval.lucene import index_files
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.index_files import BATCH, write_index, write_norms, write_postings
from heed.retrieval.lucene.jvm import java, java_errors

FIELDS = ("contents", "caption", "header")


class Index(NamedTuple):
    """What an index holds of a field, by docid."""

    frequencies: dict[str, dict[str, int]]
    norms: dict[str, int]


def opened(folder: Path) -> Any:
    directory = java("org.apache.lucene.store.FSDirectory").open(java("java.nio.file.Paths").get(str(folder)))
    return java("org.apache.lucene.index.DirectoryReader").open(directory)


def read(folder: Path, place: Path, field: str) -> Index:
    reader = opened(folder)
    place.mkdir()
    docids = {document: docid for docid, found in _postings(place, reader, "id").items() for document in found}
    assert sorted(docids) == list(range(reader.maxDoc()))
    found: dict[str, dict[str, int]] = {docid: {} for docid in docids.values()}
    for term, documents in _postings(place, reader, field).items():
        for document, frequency in documents.items():
            found[docids[document]][term] = frequency
    write_norms(place / "norms", reader, field, reader.maxDoc())
    norms = {docids[at]: int(norm) for at, norm in enumerate(np.fromfile(place / "norms", dtype=np.uint8))}
    return Index(found, norms)


def _postings(place: Path, reader: Any, field: str) -> dict[str, dict[int, int]]:
    if not write_postings(place, field, reader, field)[0]:
        return {}
    sizes = np.fromfile(place / f"{field}.sizes", dtype="<i4").reshape(-1, 2).tolist()
    pairs = iter(np.fromfile(place / f"{field}.pairs", dtype="<i4").reshape(-1, 2).tolist())
    texts, found, at = (place / f"{field}.texts").read_bytes(), {}, 0
    for length, documents in sizes:
        found[texts[at : at + length].decode()] = dict(next(pairs) for _ in range(documents))
        at += length
    assert list(pairs) == [] and at == len(texts)
    return found


@pytest.mark.parametrize("code", SAMPLED)
def test_the_index_is_anserinis(tmp_path: Path, code: str) -> None:
    records = (ROOT / "documents" / "neuclir-sample" / f"{code}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [
        [
            one["id"],
            f"{one['title']}\n{one['text']}",
            one["title"] if at % 3 else "",
            one["text"][:20] if at % 2 else "",
        ]
        for at, one in enumerate(map(json.loads, records))
    ]
    rows.append(["é中😀", "\x01 the \x00 \U0001f600 und 中文。" + "long " * 5000, " ", "x"])
    # a field without text is not in a document's JSON
    named = (dict(zip(("id", *FIELDS), row, strict=True)) for row in rows)
    given = ({name: text for name, text in record.items() if text} for record in named)
    theirs = anserini_index(tmp_path / "theirs", given, code, "-fields", *FIELDS[1:])
    count = write_index(tmp_path / "ours", rows, FIELDS, Analysis(language(code)).analyzer, 2)
    assert count == len(rows)
    for field in FIELDS:
        ours = read(tmp_path / "ours", tmp_path / f"ours-{field}", field)
        assert ours == read(theirs, tmp_path / f"theirs-{field}", field)


@pytest.mark.parametrize("threads", [1, 3])
def test_every_document_is_indexed_once_whatever_the_threads(tmp_path: Path, threads: int) -> None:
    count = 2 * BATCH + 17
    rows = ([f"d{number}", f"word{number % 10} word{number}"] for number in range(count))
    english = Analysis(language("eng")).analyzer
    assert write_index(tmp_path / "index", rows, FIELDS[:1], english, threads) == count
    found = read(tmp_path / "index", tmp_path / "raw", "contents").frequencies
    assert found.keys() == {f"d{number}" for number in range(count)}
    assert found["d2005"] == {"word5": 1, "word2005": 1}
    assert found["d7"] == {"word7": 2}


def test_documents_handed_over_a_few_at_once_are_all_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 30
    monkeypatch.setattr(index_files, "CHARACTERS_AT_ONCE", 100)
    rows = ([f"d{number:02}", "words " * (1 if number < 15 else 20)] for number in range(count))
    english = Analysis(language("eng")).analyzer
    assert write_index(tmp_path / "index", rows, FIELDS[:1], english, 2) == count
    found = read(tmp_path / "index", tmp_path / "raw", "contents").frequencies
    assert found == {f"d{number:02}": {"word": 1 if number < 15 else 20} for number in range(count)}


def test_a_failure_leaves_the_index_unlocked_and_is_told(tmp_path: Path) -> None:
    english = Analysis(language("eng")).analyzer
    too_long = [["x" * 40_000, "words"]]  # Lucene's terms end at 32,766 bytes, an id is one term
    with pytest.raises(HeedError, match="indexing: Java says .*immense term"), java_errors("indexing"):
        write_index(tmp_path / "index", too_long, FIELDS[:1], english, 2)
    assert write_index(tmp_path / "index", [["a", "words"]], FIELDS[:1], english, 2) == 1
