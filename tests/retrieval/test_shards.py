"""An index in shards beside the one index of the same documents, as Lucene itself searches it: the same runs."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from anserini import ByLucene
from conftest import Heed, write_jsonl
from documents_at_hand import Given, drawn_documents
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Files
from heed.languages import language
from heed.retrieval.bm25 import matrix
from heed.retrieval.bm25.index import FIELD, TABLE_FIELDS, Bm25Settings, Searcher, Subset, build_index
from heed.retrieval.bm25.matrix import PostingsMatrix
from heed.retrieval.bm25.postings import ShardPostings
from heed.retrieval.lucene.index_files import shard_folders, shard_ranges
from heed.types import Document

ENGLISH = language("eng")
SHARDS = (1, 2, 3, 7)


def store_of(folder: Path, *documents: Document) -> DocumentStore:
    return open_store(folder / "documents", Given(documents))


@pytest.fixture(scope="module", params=[(1, 10), (7, 80), (67, 160)])
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same documents in one index and in several shards."""
    folder = tmp_path_factory.mktemp("drawn")
    store = store_of(folder, *drawn_documents(5, *request.param))
    for shards in SHARDS:
        build_index(folder / "bm25", store, ENGLISH, 2, shards=shards)
    return folder / "bm25"


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_runs_are_those_of_one_index_and_of_lucene(drawn: Path, data: st.DataObject) -> None:
    word = st.sampled_from([*(f"w{number}" for number in range(70)), "w0", "w1", "w2", "the", "never"])
    weight = st.sampled_from([1.0, 0.3, 2.0]) | st.floats(0.0625, 20, width=32)
    queries = {str(at): " ".join(data.draw(st.lists(word, max_size=20))) for at in range(2)}
    weights = Bm25Settings(data.draw(st.floats(0, 5, width=16)), data.draw(st.floats(0, 1, width=16)))
    fields = data.draw(st.none() | st.dictionaries(st.sampled_from(TABLE_FIELDS), weight, min_size=1))
    depth, shards = data.draw(st.integers(1, 250)), data.draw(st.sampled_from(SHARDS))
    expected = ByLucene(drawn, "eng", weights).search(queries, depth, fields)
    found = Searcher(drawn, ENGLISH, weights, shards).search(queries, depth, 2, fields)
    assert {qid: list(hits.items()) for qid, hits in found.items()} == {
        qid: list(hits.items()) for qid, hits in expected.items()
    }


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_scores_of_chosen_documents_are_those_of_one_index(drawn: Path, data: st.DataObject) -> None:
    one = ByLucene(drawn, "eng", Bm25Settings())
    known = list(one.search({"q": "w0"}, 1000)["q"])
    docids = data.draw(st.lists(st.sampled_from([*known, "none", "unheard of"]), unique=True, max_size=40))
    term = st.tuples(st.sampled_from([FIELD, *TABLE_FIELDS, "nofield"]), st.sampled_from(["w0", "w1", "w5", "never"]))
    weighted = data.draw(st.dictionaries(term, st.floats(0.125, 8, width=32), max_size=8))
    expected = one.score(weighted, docids)
    shards = data.draw(st.sampled_from(SHARDS))
    assert Searcher(drawn, ENGLISH, Bm25Settings(), shards).score(weighted, Subset(docids)) == expected


@pytest.mark.parametrize("method", ["rm3", "rocchio"])
def test_feedback_reads_all_shards(tmp_path: Path, method: str) -> None:
    store = store_of(tmp_path, *drawn_documents(6, 25, 80))
    folder, queries = tmp_path / "bm25", {"q": "w3 w9", "r": "w1 w20 w21"}
    runs = []
    for shards in (1, 3):
        build_index(folder, store, ENGLISH, 2, vectors=True, shards=shards)
        searcher = Searcher(folder, ENGLISH, Bm25Settings(), shards=shards)
        runs.append(
            {qid: list(hits.items()) for qid, hits in searcher.lucene.with_feedback(queries, 50, method).items()}
        )
    assert runs[0] == runs[1] and len(runs[0]["q"]) > 20


@pytest.mark.parametrize("count", [1, 2])
def test_shards_of_one_document_and_of_none(tmp_path: Path, count: int) -> None:
    texts = ("apple pear pear", "pear", "plum")
    store = store_of(tmp_path, *(Document(f"d{at}", "", text) for at, text in enumerate(texts[:count])))
    for shards in (1, 5):
        build_index(tmp_path / "bm25", store, ENGLISH, 1, shards=shards)
    one, several = (Searcher(tmp_path / "bm25", ENGLISH, Bm25Settings(), shards) for shards in (1, 5))
    assert several.search({"q": "pear", "r": "kiwi"}, 9) == one.search({"q": "pear", "r": "kiwi"}, 9)
    assert len(several.search({"q": "pear"}, 9)["q"]) == count


@pytest.mark.parametrize("shards", [1, 2])
def test_no_document_has_words_in_any_shard(tmp_path: Path, shards: int) -> None:
    store = store_of(tmp_path, Document("a", "", "the"), Document("b", "", " "))
    build_index(tmp_path / "bm25", store, ENGLISH, 1, shards=shards)
    assert Searcher(tmp_path / "bm25", ENGLISH, Bm25Settings(), shards).search({"q": "the words"}, 9) == {"q": {}}


class Stopped(DocumentStore):
    """A store whose reading is stopped at the third shard."""

    shards = 0

    def within(self, start: int, end: int) -> Iterator[Document]:
        self.shards += 1
        if self.shards == 3:
            raise KeyboardInterrupt
        return super().within(start, end)


def test_a_build_that_is_stopped_costs_one_shard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = store_of(tmp_path, *drawn_documents(1, 25, 30))
    with pytest.raises(KeyboardInterrupt):
        build_index(tmp_path / "bm25", Stopped(tmp_path / "documents", store.digest), ENGLISH, 1, shards=4)
    capsys.readouterr()
    build_index(tmp_path / "bm25", store, ENGLISH, 1, shards=4)
    log = capsys.readouterr().err
    assert [f"shards/{at}: used again" in log for at in range(4)] == [True, True, False, False]


def test_a_shard_whose_file_is_altered_is_built_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, queries = store_of(tmp_path, *drawn_documents(2, 25, 60)), {"q": "w0 w3"}
    folder = build_index(tmp_path / "bm25", store, ENGLISH, 1, shards=3)
    first = Searcher(folder, ENGLISH, Bm25Settings(), shards=3).search(queries, 50)
    shard = shard_folders(folder, 3)[1]
    altered = next(path for path in sorted((shard / "lucene").iterdir()) if path.stat().st_size > 200)
    altered.write_bytes(altered.read_bytes()[:-100])
    matrix = shard.with_name(f"{shard.name}-postings") / "contents.documents.npy"
    matrix.write_bytes(matrix.read_bytes()[:-4])
    capsys.readouterr()
    build_index(folder, store, ENGLISH, 1, shards=3)
    assert Searcher(folder, ENGLISH, Bm25Settings(), shards=3).search(queries, 50) == first
    told = capsys.readouterr().err.splitlines()
    rebuilt = [line for line in told if "rebuilding, not as it was left" in line]
    assert [line.split(":")[0] for line in rebuilt] == [str(shard), f"{shard}-postings"]
    assert sum("used again" in line for line in told) == 4


def test_another_number_of_shards_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    store = store_of(tmp_path, *drawn_documents(3, 25, 20))
    for shards in (2, 12, 1):
        build_index(tmp_path / "bm25", store, ENGLISH, 1, shards=shards)
    names = ["bm25", "bm25-12-shards", "bm25-2-shards", "documents"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert [path.name for path in shard_folders(tmp_path / "bm25", 12)][:3] == ["00", "01", "02"]
    assert all(path.is_dir() for shards in (1, 2, 12) for path in shard_folders(tmp_path / "bm25", shards))


@given(count=st.integers(0, 10**8), shards=st.integers(1, 400))
def test_ranges_are_contiguous_and_even(count: int, shards: int) -> None:
    found = shard_ranges(count, shards)
    assert [start for start, _ in found] == [0, *(end for _, end in found[:-1])]
    assert (len(found), found[-1][1]) == (shards, count)
    assert max(end - start for start, end in found) - min(end - start for start, end in found) <= 1


@pytest.mark.parametrize("shards", [1, 3])
def test_what_a_large_matrix_does_for_its_memory_changes_nothing(
    drawn: Path, monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    queries = {str(number): f"w{number} w0 w1 w{number % 3}" for number in range(12)}
    first = Searcher(drawn, ENGLISH, Bm25Settings(), shards)
    expected, pool = first.search(queries, 60), list(first.search({"q": "w2"}, 1000)["q"])[::3]
    scores = first.score({(FIELD, "w1"): 1.0}, Subset(pool))
    monkeypatch.setattr(matrix, "DOCIDS_IN_MEMORY", 0)
    monkeypatch.setattr(matrix, "MAX_MAPPED", 0)
    monkeypatch.setattr(matrix, "MAX_SATURATIONS", 0)
    monkeypatch.setattr(matrix, "BLOCK", 3)
    bounded = Searcher(drawn, ENGLISH, Bm25Settings(), shards)
    assert bounded.search(queries, 60, threads=2) == expected
    assert bounded.score({(FIELD, "w1"): 1.0}, Subset(pool)) == scores


@pytest.mark.parametrize("known", [0, 10**6])
def test_documents_are_numbered_through_all_shards(drawn: Path, monkeypatch: pytest.MonkeyPatch, known: int) -> None:
    monkeypatch.setattr(matrix, "DOCIDS_IN_MEMORY", known)
    joined = PostingsMatrix([ShardPostings(one.with_name(f"{one.name}-postings")) for one in _with_matrix(drawn)])
    docids = joined.docids_of(np.arange(joined.size))
    assert docids == sorted(docids)
    assert joined.numbers_of(docids).tolist() == list(range(joined.size)) and joined.size > 50
    assert joined.numbers_of(["", "unheard of", "\U0010ffff"]).tolist() == [-1, -1, -1]


def _with_matrix(drawn: Path) -> list[Path]:
    Searcher(drawn, ENGLISH, Bm25Settings(), 3).load()
    return shard_folders(drawn, 3)


def test_the_store_counts_and_cuts_without_reading(tmp_path: Path) -> None:
    records = [{"id": f"d{number:03}", "text": str(number)} for number in range(100)][::-1]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    assert store.count == 100
    assert [one.docid for one in store.within(97, 120)] == ["d097", "d098", "d099"]
    assert [one.text for one in store.within(0, 2)] == ["0", "1"]
    assert list(store.within(5, 5)) == []
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == ["documents.sqlite", "made.json"]


def test_a_command_gives_the_same_runs_from_shards(tmp_path: Path, heed: Heed) -> None:
    found = []
    for shards in (1, 3):
        place = (tmp_path / f"out{shards}", "--indexes", tmp_path / f"indexes{shards}")
        made = heed("pipelines.trec", "--retriever", "bm25", "--shards", shards, "--out", *place)
        assert made.returncode == 0, made.stderr
        runs = sorted(place[0].rglob("*.run"))
        found.append({run.name: run.read_bytes() for run in runs})
    assert found[0] and found[0] == found[1]
    assert len([*(tmp_path / "indexes3").rglob("bm25-3-shards/*/made.json")]) > 3
