"""BM25 from the matrix of postings beside BM25 by Lucene itself, which reads the same index: equal to the last bit."""

import gzip
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from anserini import ByLucene
from conftest import ROOT, SAMPLED
from documents_at_hand import Given, drawn_documents
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.datasets.followtable import JOIN, read_followtable
from heed.errors import HeedError
from heed.formats.document_store import open_store
from heed.formats.documents import Files, Source
from heed.languages import LANGUAGES, language
from heed.retrieval.bm25 import postings
from heed.retrieval.bm25.index import FIELD, TABLE_FIELDS, Bm25Settings, Searcher, Subset, build_index
from heed.retrieval.lucene.analysis import MARK, Analysis
from heed.retrieval.lucene.jvm import BM25, POSTINGS, java
from heed.tables.documents import Tables
from heed.types import Document, under

SETTINGS = [(0.9, 0.4), (1.2, 0.75), (0.0, 0.5), (2.5, 1.0), (0.7, 0.0)]
# the letters, marks and signs where analysers differ, with the words between which Heed puts its own mark
LETTERS = "abcİßé中国東カ한สاكیی\u200c\u200d\u0301\ufe0f\u20e3\u202f\xa0א״ςΣıґकिক্త్\"'’_.,:;-–/#*@1٣४😀👍🏽\n\t \x00\x1c"


class Pair(NamedTuple):
    """The same index, searched both ways."""

    folder: Path
    lang: str

    def searchers(self, weights: Bm25Settings) -> tuple[Searcher, ByLucene]:
        return Searcher(self.folder, language(self.lang), weights), ByLucene(self.folder, self.lang, weights)


def indexed(folder: Path, source: Source, lang: str = "eng", threads: int = 2) -> Pair:
    store = open_store(folder / "store", source)
    return Pair(build_index(folder / "bm25", store, language(lang), threads), lang)


def same(
    pair: Pair, queries: dict[str, str], weights: Bm25Settings, depth: int, fields: dict[str, float] | None = None
) -> int:
    """Compare both ways, order and scores; return how many documents were found."""
    searcher, by_lucene = pair.searchers(weights)
    matrix, lucene = searcher.search(queries, depth, 2, fields), by_lucene.search(queries, depth, fields)
    for qid, text in queries.items():
        assert list(matrix[qid].items()) == list(lucene[qid].items()), text
    return sum(map(len, lucene.values()))


@pytest.fixture(scope="module", params=SAMPLED)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Pair, dict[str, str]]:
    """The sample with every second document twice, and its topics short and long."""
    folder, name = tmp_path_factory.mktemp(request.param), f"neuclir-sample/{request.param}.jsonl"
    records = [json.loads(line) for line in (ROOT / "documents" / name).read_text(encoding="utf-8").splitlines()]
    twins = [one | {"id": ("{}x", "a{}")[at % 2].format(one["id"])} for at, one in enumerate(records[::2])]
    (folder / "docs.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records + twins))
    topics = [json.loads(line) for line in (ROOT / "topics" / name).read_text(encoding="utf-8").splitlines()]
    short = {topic["qid"]: topic["query"] for topic in topics}
    long = {f"{topic['qid']}-told": f"{topic['query']} {topic['instructions']['original']}" for topic in topics}
    return indexed(folder, Files([folder / "docs.jsonl"]), request.param), short | long


@pytest.mark.parametrize(("k1", "b"), SETTINGS)
@pytest.mark.parametrize("depth", [1, 7, 1000])
def test_runs_are_lucenes_in_every_language(
    sample: tuple[Pair, dict[str, str]], k1: float, b: float, depth: int
) -> None:
    pair, queries = sample
    assert same(pair, queries, Bm25Settings(k1, b), depth) >= len(queries) * min(depth, 7)


@pytest.mark.parametrize("words", ["", "  \n", "?! — …", "zzzz qqqq", "a " * 300])
def test_runs_are_lucenes_for_queries_out_of_the_way(sample: tuple[Pair, dict[str, str]], words: str) -> None:
    pair, queries = sample
    query = next(iter(queries.values()))
    same(
        pair, {"alone": words, "with": f"{words} {query}", "again": f"{query} {words} {query} " * 3}, Bm25Settings(), 20
    )


@pytest.fixture(scope="module", params=[(7, 80), (67, 160)])
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return indexed(tmp_path_factory.mktemp("drawn"), Given(tuple(drawn_documents(5, *request.param))))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_runs_over_fields_are_lucenes(drawn: Pair, data: st.DataObject) -> None:
    weight = st.sampled_from([1.0, 0.3, 2.0, 0.1]) | st.floats(0.0625, 20, width=32)
    fields = data.draw(st.dictionaries(st.sampled_from(TABLE_FIELDS), weight, min_size=1))
    queries = {"q": " ".join(data.draw(st.lists(st.sampled_from(["w0", "w1", "w2", "w3", "w9"]), max_size=9)))}
    same(drawn, queries, Bm25Settings(), data.draw(st.sampled_from([1, 10, 500])), fields=fields)


def test_runs_and_scores_are_lucenes_on_real_tables(tmp_path: Path, shared: Path) -> None:
    read = read_followtable(shared / "followtable" / "IndusTR")
    with gzip.open(read.tables[0], "rt") as lines:
        (tmp_path / "tables.jsonl").write_text("".join(itertools.islice(lines, 2000)))
    pair = indexed(tmp_path, Tables([tmp_path / "tables.jsonl"], "raw", titles=False))
    queries = {one.qid: one.under("original", JOIN).text for one in under(read.topics, "original")[::40]}
    assert same(pair, queries, Bm25Settings(), 1000) == 1000 * len(queries)
    some = dict(list(queries.items())[:8])
    same(pair, some, Bm25Settings(1.2, 0.75), 1000, fields={"caption": 1.0, "header": 0.5, "cells": 1.0})
    matrix, lucene = pair.searchers(Bm25Settings())
    docids = list(matrix.search(some, 1000)[next(iter(some))])
    terms = {(field, term): 1.5 for text in some.values() for term in matrix.terms(text) for field in (FIELD, "header")}
    assert matrix.score(terms, Subset(docids)) == lucene.score(terms, docids)


@pytest.mark.parametrize(
    ("k1", "b", "told"),
    [
        (-0.1, 0.4, "k1: found -0.1, expected a number from 0 to 1000"),
        (1e9, 0.4, "k1: found 1000000000.0"),
        (0.9, 1.5, "b: found 1.5, expected a number from 0 to 1"),
        (float("nan"), float("nan"), "b: found nan"),
    ],
)
def test_what_bm25_does_not_take_is_an_error(drawn: Pair, k1: float, b: float, told: str) -> None:
    with pytest.raises(HeedError, match=told):
        Searcher(drawn.folder, language("eng"), Bm25Settings(k1, b))


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_scores_of_chosen_documents_are_lucenes(drawn: Pair, data: st.DataObject) -> None:
    matrix, lucene = drawn.searchers(Bm25Settings())
    known = list(lucene.search({"q": "w0"}, 1000)["q"])
    docids = data.draw(st.lists(st.sampled_from([*known, "none", "unheard of"]), unique=True, max_size=40))
    term = st.tuples(st.sampled_from([FIELD, *TABLE_FIELDS, "nofield"]), st.sampled_from(["w0", "w1", "w5", "never"]))
    weighted = data.draw(st.dictionaries(term, st.floats(0.125, 8, width=32), max_size=8))
    assert matrix.score(weighted, Subset(docids)) == lucene.score(weighted, docids)


def test_no_document_has_words(tmp_path: Path) -> None:
    pair = indexed(tmp_path, Given((Document("a", "", "the"), Document("b", "", " "))))
    assert pair.searchers(Bm25Settings())[0].search({"q": "the words"}, 9) == {"q": {}}
    assert postings.open_postings(pair.folder, (FIELD, *TABLE_FIELDS)).numbers_of(["a", "z"]).tolist() == [0, -1]


def test_how_many_queries_and_docids_are_held_at_once_changes_nothing(
    drawn: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = {str(number): f"w{number} w0 w1 w{number % 3}" for number in range(12)}
    first = drawn.searchers(Bm25Settings())[0]
    expected, pool = first.search(queries, 60), list(first.search({"q": "w2"}, 1000)["q"])[::3]
    scores = first.score({(FIELD, "w1"): 1.0}, Subset(pool))
    monkeypatch.setattr(postings, "DOCIDS_IN_MEMORY", 0)
    monkeypatch.setattr(postings, "QUERIES_AT_ONCE", 5)
    bounded = drawn.searchers(Bm25Settings())[0]
    assert bounded.search(queries, 60, threads=2) == expected
    assert bounded.score({(FIELD, "w1"): 1.0}, Subset(pool)) == scores


@pytest.mark.parametrize("known", [0, 10**6])
def test_documents_have_places_in_the_order_of_their_ids(
    drawn: Pair, monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    monkeypatch.setattr(postings, "DOCIDS_IN_MEMORY", known)
    opened = postings.open_postings(drawn.folder, (FIELD, *TABLE_FIELDS))
    docids = opened.docids_of(np.arange(opened.size))
    assert docids == sorted(docids) and opened.size > 50
    assert opened.numbers_of(docids).tolist() == opened.numbers.tolist()
    assert sorted(opened.numbers) == list(range(opened.size))
    assert opened.numbers_of(["", "unheard of", "\U0010ffff"]).tolist() == [-1, -1, -1]


def test_the_matrix_is_used_again_and_made_anew_with_its_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = indexed(tmp_path, Given((Document("a", "", "apple pear"), Document("b", "", "pear"))))
    first = pair.searchers(Bm25Settings())[0].search({"q": "apple"}, 9)
    assert "bm25-postings: building" in capsys.readouterr().err
    assert pair.searchers(Bm25Settings())[0].search({"q": "apple"}, 9) == first
    assert "bm25-postings: used again" in capsys.readouterr().err
    pair = indexed(tmp_path, Given((Document("c", "", "apple"), Document("b", "", "pear"))))
    assert list(pair.searchers(Bm25Settings())[0].search({"q": "apple"}, 9)["q"]) == ["c"]
    assert "bm25-postings: rebuilding, the documents have changed" in capsys.readouterr().err


class Arrays(NamedTuple):
    """A field's postings as Java maps them."""

    prefix: Path

    def bm25(self, k1: float) -> Any:
        fields = java("java.util.ArrayList")()
        fields.add(java(POSTINGS)(str(self.prefix), k1, 0.0, 1.0))
        return java(BM25)(str(self.prefix.with_name("numbers.npy")), fields)

    def search(
        self, query: list[tuple[int, int, float]], depth: int, k1: float = 0.0
    ) -> list[tuple[int, float, float]]:
        """Return place, score and score in runs of the best; a term is its first posting, how many, its weight."""
        numbers = [float(number) for term in query for number in (0, *term)]
        bm25 = self.bm25(k1)
        found, apart = (bm25.search(numbers, [len(numbers)], [each], depth, 1) for each in (False, True))
        assert [array.tostring() for array in found] == [array.tostring() for array in apart], "of one field"
        columns = zip(found, (">i4", ">f4", ">f8"), strict=True)
        return list(zip(*(np.frombuffer(array.tostring(), of).tolist() for array, of in columns), strict=True))


def arrays(folder: Path, frequencies: list[int], places: Sequence[int], width: str = "u1") -> Arrays:
    """Write a posting for each document, with its frequency; ``places`` are those of their docids."""
    np.save(folder / "x.documents.npy", np.arange(len(frequencies), dtype=np.int32))
    np.save(folder / "x.frequencies.npy", np.array(frequencies, width))
    np.save(folder / "x.lengths.npy", np.ones(len(frequencies), np.uint8))
    np.save(folder / "numbers.npy", np.argsort(places).astype(np.int32))
    return Arrays(folder / "x")


@settings(max_examples=30, deadline=None)
@given(above=st.integers(1, 30), size=st.integers(1, 40_000), depth=st.integers(1, 300), seed=st.integers(0, 1000))
def test_the_best_are_found_wherever_they_stand(
    tmp_path_factory: pytest.TempPathFactory, above: int, size: int, depth: int, seed: int
) -> None:
    # with a k1 of 1 and a b of 0 the score of a term of weight 1 and frequency f is 1 - 1 / (1 + f)
    places = np.random.default_rng(seed).permutation(size).tolist()
    frequencies = [1 + place % above for place in places]
    written = arrays(tmp_path_factory.mktemp("best"), frequencies, places)
    found = written.search([(0, size, 1.0)], depth, k1=1.0)
    expected = sorted((-np.float32(1) + np.float32(1) / np.float32(2 + n % above), n) for n in range(size))[:depth]
    assert [(-score, place) for place, score, _ in found] == expected
    numbers = [places.index(place) for place, _, _ in found]
    scores = list(written.bm25(1.0).scores([0.0, 0.0, float(size), 1.0], [*numbers, -1]))
    assert scores == [*(score for _, score, _ in found), 0]


@pytest.mark.parametrize(("width", "frequency"), [("u1", 255), ("<u2", 300), ("<u4", 70_000)])
def test_frequencies_of_every_width_are_read(tmp_path: Path, width: str, frequency: int) -> None:
    found = arrays(tmp_path, [frequency, 1], [1, 0], width).search([(0, 2, 1.0)], 9, k1=1.0)
    assert [place for place, _, _ in found] == [1, 0]
    assert found[0][1] == np.float32(1) - np.float32(1) / np.float32(1 + frequency)


def test_postings_beyond_what_a_buffer_can_map_are_read(tmp_path: Path) -> None:
    """Sparse files of more than 2 GiB; a term's postings lie on both sides of the end of the first buffer."""
    edge, count = 2**28, 2**29 + 5
    for name, dtype in (("documents", "<i4"), ("frequencies", "u1")):
        array = np.lib.format.open_memmap(tmp_path / f"x.{name}.npy", "w+", np.dtype(dtype), (count,))
        array[edge - 3 : edge + 3] = [0, 1, 2, 3, 4, 5] if name == "documents" else [6, 5, 4, 3, 2, 1]
        array[-1] = 1
        del array
    assert (tmp_path / "x.documents.npy").stat().st_size > 2**31
    np.save(tmp_path / "x.lengths.npy", np.ones(6, np.uint8))
    np.save(tmp_path / "numbers.npy", np.arange(6, dtype=np.int32))
    found = Arrays(tmp_path / "x").search([(edge - 3, 6, 1.0), (count - 1, 1, 1.0)], 9, k1=1.0)
    # f / (1 + f) of the frequencies 6 to 1, and document 1, whose frequency is 5, has one half more
    expected = {place: (6 - place) / (7 - place) for place in range(6)}
    expected[1] += 0.5
    assert {place: score for place, score, _ in found} == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("lang", [code for code, known in LANGUAGES.items() if not known.whole])
@settings(max_examples=60, deadline=None)
@given(text=st.text(st.sampled_from(LETTERS), max_size=60), long=st.integers(0, 300))
def test_words_apart_have_the_terms_of_the_whole_text(lang: str, text: str, long: int) -> None:
    for given_text in (text, f"{'x中'[long % 2] * long}{text} {MARK} {text}{MARK}"):
        analysis = Analysis(language(lang))
        whole = java("io.anserini.analysis.AnalyzerUtils").analyze(analysis.analyzer, given_text)
        assert analysis.terms(given_text) == list(whole)


def one_by_one(scores: list[float]) -> list[float]:
    """Anserini's ScoreTiesAdjusterReranker as its class file says, in Java's types, then ``%f``."""
    found = np.array(scores, dtype=np.float32)
    ties = np.float32(0)
    for at in range(len(found)):
        found[at] = np.float32(np.floor(float(found[at]) * 1e4 + 0.5) / 1e4)
        if at == 0 or found[at - 1] - found[at] > np.float32(1e-4):
            ties = np.float32(0)
        else:
            ties += np.float32(1)
            found[at] -= np.float32(1e-6) * ties
    return [float(f"{score:f}") for score in found]


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.sampled_from([0.0, 1e-6, 4e-5, 1e-4, 1.5e-4, 2e-4, 3e-4, 0.01, 1.0]), max_size=400),
    last=st.sampled_from([0.0001, 0.37, 15.9, 131.2, 9000.0]),
)
def test_ties_are_broken_as_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, steps: list[float], last: float
) -> None:
    # with a k1 of 0 a term's score is its weight, and here each document has a term of its own
    scores = np.cumsum([last, *steps], dtype=np.float32)[::-1].tolist()
    found = arrays(tmp_path_factory.mktemp("ties"), [1] * len(scores), range(len(scores)))
    query = [(place, 1, score) for place, score in enumerate(scores)]
    assert [in_run for _, _, in_run in found.search(query, 1000)] == one_by_one(scores)
