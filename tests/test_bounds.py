"""Counts, years, units and lengths that an instruction asks for, and what documents have of them."""

from math import inf
from pathlib import Path

import pytest
from conftest import write_jsonl

from heed.io.document_store import DocumentStore, StoredDocuments, open_store
from heed.io.documents import Files
from heed.languages import language
from heed.reranking.bounds import bounds, plain, units_in
from heed.reranking.bounds_kept import Found, broken, had
from heed.reranking.explain import explain
from heed.reranking.polarity import Polarity
from heed.retrieval.bm25 import Bm25, Lucene
from heed.retrieval.bm25_index import Bm25Settings
from heed.retrieval.corpus import Corpus
from heed.tables.documents import Tables
from heed.types import Document, Topic

TABLE = Document(
    "1",
    "",
    "| Lake | Area (km²) | Since |\n| --- | --- | --- |\n| Mere | 14 | 1999 |\n| Tarn | 2 | 2014 |",
    "Lakes",
    "Lake Area (km²) Since",
    "Mere 14 1999\nTarn 2 2014",
)


@pytest.mark.parametrize(
    ("instruction", "kind", "sign", "low", "high"),
    [
        ("Tables with at least six rows.", "rows", 1, 6, inf),
        ("It lists five or more big lakes.", "rows", 1, 5, inf),
        ("Lakes, minimum eight of them.", "rows", 1, 8, inf),
        ("It lists ten singles or more.", "rows", 1, 10, inf),
        ("More than 4 records.", "rows", 1, 5, inf),
        ("Tables with fewer than three lakes are not relevant.", "rows", -1, 0, 2),
        ("Narrow: three columns at most.", "columns", 1, 0, 3),
        ("No more than 4 columns, please.", "columns", 1, 0, 4),
        ("Leave out tables with more than seven columns.", "columns", -1, 8, inf),
        ("Opened in 2010 or later.", "years", 1, 2010, inf),
        ("Only those opened after 2010.", "years", 1, 2011, inf),
        ("Data up to 1989, please.", "years", 1, 0, 1989),
        ("Data before 1990 are not relevant.", "years", -1, 0, 1989),
        ("The period 1991–2020.", "years", 1, 1991, 2020),
    ],
)
def test_bounds_of_tables_are_read(instruction: str, kind: str, sign: int, low: float, high: float) -> None:
    [found] = bounds(instruction, "eng", tables=True)
    assert found[:2] == (kind, sign) and (found.low, found.high) == (low, high)


@pytest.mark.parametrize(
    "instruction",
    [
        "At least one column is about depth.",
        "At least 500 people a lake.",  # a value, no number of rows
        "At least ten years of data.",
        "No more than ten lakes.",  # the table may list other things too
        "Tables with at least three lakes are not relevant.",
        "Not only lakes.",
        "More than 1,000 people a lake.",
        "At least 20% forest, or at least 10 % meadow.",
        "At least 2.5 kilometres long.",
        "At least 5-year averages.",
        "Up to 1500 metres above the sea.",
        "Leave out lakes made in the 1970s or the '80s.",  # no seconds
    ],
)
def test_other_numbers_are_no_bounds(instruction: str) -> None:
    assert bounds(instruction, "eng", tables=True) == ()


def test_units_are_found_by_name_and_by_sign() -> None:
    asked, *excluded = bounds("Areas in square kilometres or km². Nothing in miles or per cent.", "eng", tables=True)
    assert (asked.sign, asked.units) == (1, ("square kilometres",))
    assert [(bound.sign, bound.units) for bound in excluded] == [(-1, ("miles",)), (-1, ("per cent",))]
    assert units_in(plain("Area in mi, 14% and 20 °C; 3 KM²; Emily, mill")) == (
        "square kilometres",
        "miles",
        "Celsius",
        "per cent",
    )


@pytest.mark.parametrize("instruction", ["Fewer than 1,501 words.", "1,500 words or fewer.", "At most 1500 words."])
def test_numbers_may_have_commas(instruction: str) -> None:
    [found] = bounds(instruction, "eng", tables=False)
    assert (found.kind, found.low, found.high) == ("words", 0, 1500)


def test_of_a_text_only_its_length_is_looked_at() -> None:
    [found] = bounds("Fewer than 300 words, at least six rows, after 2010, in kilometres.", "eng", tables=False)
    assert found[:2] == ("words", 1) and found.high == 299
    assert broken(found, [found], had(Document("1", "", "word " * 300), [found])) == 1
    assert broken(found, [found], had(Document("1", "", "word " * 299), [found])) == 0


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("At least two rows.", 0),
        ("At least three rows.", 1),
        ("Three columns at most.", 0),
        ("Two columns at most.", 1),
        ("After 2010.", 0.5),  # 1999 is not
        ("After 1990.", 0),
        ("Areas in square kilometres.", 0),
        ("Areas in hectares.", 1),
        ("Areas in hectares or km².", 0),
        ("A numeric table.", 2 / 6),  # "Mere" and "Tarn" of six words
    ],
)
def test_what_a_table_has_is_compared_with_what_is_asked_for(instruction: str, expected: float) -> None:
    found = bounds(instruction, "eng", tables=True)
    assert [broken(found[0], found, had(TABLE, found))] == pytest.approx([expected])


def test_an_excluded_unit_may_be_there_beside_one_that_is_asked_for() -> None:
    both = TABLE._replace(text="Area in km² and hectares")
    found = bounds("Areas in square kilometres. Nothing in hectares.", "eng", tables=True)
    alone = bounds("Nothing in hectares.", "eng", tables=True)
    assert [broken(bound, found, had(both, found)) for bound in found] == [0, 0]
    assert [broken(bound, alone, had(both, alone)) for bound in alone] == [1]


def test_a_table_that_does_not_keep_a_bound_is_lower_and_the_explanation_says_so(tmp_path: Path) -> None:
    header = "| Lake | Depth |\n| --- | --- |\n"
    texts = {f"{rows}": header + "| Mere | 14 |\n" * rows for rows in (2, 4)}
    records = [{"id": docid, "text": text, "title": "Lakes"} for docid, text in texts.items()]
    store = open_store(tmp_path / "store", Tables([write_jsonl(tmp_path / "docs.jsonl", records)], "raw"))
    polarity = Polarity(Bm25("bm25", Corpus(tmp_path, store, language("eng")), Bm25Settings(), Lucene()))
    topic = Topic("1", "eng", "lakes", {"original": "At least four rows.", "changed": "Fewer than four rows."})
    documents = store.get(["2", "4"])
    scores = {name: polarity.score(topic.under(name), documents) for name in ("original", "changed")}
    assert scores["original"][0] < scores["original"][1] and scores["changed"][0] > scores["changed"][1]
    [found] = [
        one for one in explain(polarity, topic.under("original"), documents, "2").contributions if one.part == "bounds"
    ]
    assert (found.term, found.value < 0) == ("at least four rows", True)


def test_what_documents_have_is_kept_by_bound_and_for_the_documents_of_one_collection(tmp_path: Path) -> None:
    texts = ["Ten metres since 1999.", "2 km, 2014", "a < b", "no number"]

    def stored(name: str, texts: list[str]) -> DocumentStore:
        records = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
        return open_store(tmp_path / name, Files([write_jsonl(tmp_path / f"{name}.jsonl", records)]))

    store = stored("one", texts)
    found, years, metres = Found(), *(bounds(text, "eng", True) for text in ("After 1990.", "In metres."))
    for one, pool in ((store, ["0", "1"]), (store, ["3", "1", "0"]), (stored("other", texts[::-1]), ["0", "3"])):
        documents = StoredDocuments(one, pool)
        for asked in (years, metres):
            assert found.of(documents, asked) == [had(document, asked) for document in documents]
    other = Document("0", "", "Five metres since 2020.")
    assert found.of([other], years) == [had(other, years)] != [had(store.get(["0"])[0], years)]
