"""Tables on their way into the document store, and BM25 over their fields."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl

from heed.compute import Compute
from heed.errors import HeedError
from heed.formats.document_store import Corpus, DocumentStore, open_store
from heed.languages import language
from heed.retrieval.bm25.index import FIELDS, Bm25, Bm25Settings, build_index
from heed.retrieval.lucene import jvm
from heed.tables.documents import Tables
from heed.tables.markup import FORMS, parse_table, serialise
from heed.types import Document, Query

MARKDOWN = "# Depth of rivers\n\n| River | Depth (m) |\n| --- | --- |\n| Orrin | 4 |\n| Wendle | 2 |"
HTML = "<table><caption>Lakes</caption><tr><th>Lake</th><th>Depth</th></tr><tr><td>Tarn</td><td>9</td></tr></table>"


def store(tmp_path: Path, form: str = "raw") -> dict[str, Document]:
    """The documents of ``tmp_path/tables``, by docid."""
    return {one.docid: one for one in open_store(tmp_path / "store", Tables([tmp_path / "tables"], form))}


def write(tmp_path: Path, name: str, content: str) -> Path:
    path = tmp_path / "tables" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def test_records_of_markdown_and_html_keep_their_text_and_get_fields(tmp_path: Path) -> None:
    # FollowTable's own form: the title is the caption once more
    records = [
        {"_id": "1", "title": "Depth of rivers", "text": MARKDOWN, "metadata": {}},
        {"_id": "2", "title": "Lakes", "text": HTML},
    ]
    write_jsonl(tmp_path / "tables" / "corpus.jsonl", records)
    assert store(tmp_path) == {
        "1": Document("1", "", MARKDOWN, "Depth of rivers", "River Depth (m)", "Orrin 4\nWendle 2"),
        "2": Document("2", "", HTML, "Lakes", "Lake Depth", "Tarn 9"),
    }


def test_a_file_may_be_one_table_and_its_name_the_docid_beside_records(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "tables" / "some.jsonl", [{"id": "a", "text": MARKDOWN}])
    write(tmp_path, "12.txt", MARKDOWN)
    write(tmp_path, "sub/2.1.html", HTML)
    write(tmp_path, "river-depths.csv", "River,Depth\nOrrin,4\n")
    write(tmp_path, "tab.tsv", "\ufeffRiver\tDepth\nOrrin\t4\n")
    write(tmp_path, "notes.pdf", "not a table")
    found = store(tmp_path)
    assert found["12"] == Document("12", "", MARKDOWN, "Depth of rivers", "River Depth (m)", "Orrin 4\nWendle 2")
    assert found["2.1"] == Document("2.1", "", HTML, "Lakes", "Lake Depth", "Tarn 9")
    assert found["river-depths"].caption == "river-depths" and found["river-depths"].cells == "Orrin 4"
    assert found["river-depths"].text == "river-depths\nRiver,Depth\nOrrin,4"
    assert found["tab"][2:] == ("tab\nRiver\tDepth\nOrrin\t4", "tab", "River Depth", "Orrin 4")
    assert found.keys() == {"a", "12", "2.1", "river-depths", "tab"}


def test_a_file_in_columns_is_read_by_its_suffix(tmp_path: Path) -> None:
    write(tmp_path, "song.csv", 'Year,Song\n1999,"\\"Men\\", live"\n')
    write(tmp_path, "quote.tsv", 'Year\tSong, live\n1999\t"Men, live\n2000\tFerry\\nland, x\n')
    write(tmp_path, "column.csv", "River\nOrrin\n")
    write(tmp_path, "pipe.tsv", "Sign\tName\n|\tpipe\n")
    found = {docid: (table.header, table.cells) for docid, table in store(tmp_path).items()}
    assert found == {
        "song": ("Year Song", '1999 "Men", live'),
        "quote": ("Year Song, live", '1999 "Men, live\n2000 Ferry land, x'),
        "column": ("River", "Orrin"),
        "pipe": ("Sign Name", "| pipe"),
    }


def test_ragged_rows_and_texts_without_a_table_are_counted_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "a.csv", "River,Depth\nOrrin\nWendle,2,3\nTarn,9\n")
    write(tmp_path, "b.md", "|a|b|\n|-|-|\n|1|2|3|\n")
    write(tmp_path, "c.csv", "")
    write_jsonl(tmp_path / "tables" / "t.jsonl", [{"id": "d", "text": "River or lake"}, {"id": "e", "text": MARKDOWN}])
    source = Tables([tmp_path / "tables"], "raw")
    assert len(list(source.lines())) == len(list(source.lines())) == 5
    ragged = Tables([write(tmp_path, "r.csv", "a,b\n1,2,3\n")], "raw")
    assert len(list(ragged.lines())) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"warning: {source}: no table found in 2 texts, read as captions; 3 rows in 2 tables longer or shorter than "
        "the first: a, b, c, d",
        f"warning: {ragged}: 1 row in 1 table longer or shorter than the first: r",
    ]


def test_a_title_goes_above_the_text_only_where_the_text_does_not_carry_it(tmp_path: Path) -> None:
    bare = "| River |\n| --- |\n| Orrin |"
    records = [
        {"id": "own", "title": "Depth of Rivers", "text": MARKDOWN},
        {"id": "other", "title": "Another title", "text": MARKDOWN},
        {
            "id": "row",
            "title": "River | Depth (m)",
            "text": "# \n\n| River | Depth (m) |\n| --- | --- |\n| Orrin | 4 |",
        },
        {"id": "prose", "title": "Rivers", "text": f"See below.\n\n{bare}"},
        {"id": "bare", "title": "Rivers", "text": bare},
        {"id": "html", "title": "Rivers", "text": "<table><tr><th>River</th></tr><tr><td>Orrin</td></tr></table>"},
        {"id": "none", "text": bare},
    ]
    write_jsonl(tmp_path / "tables" / "t.jsonl", records)
    found = store(tmp_path)
    assert found["own"].text == MARKDOWN and found["own"].caption == "Depth of rivers"
    assert found["other"].text == f"Another title\n{MARKDOWN}"
    assert found["other"].caption == "Another title Depth of rivers"
    assert found["row"].text == records[2]["text"]  # its header row counts once
    assert found["prose"].text == f"Rivers\nSee below.\n\n{bare}"
    assert found["bare"].text == f"Rivers\n{bare}" and found["bare"].caption == "Rivers"
    assert found["html"].text.startswith("Rivers\n<table>") and found["html"].caption == "Rivers"
    assert found["none"].text == bare and found["none"].caption == ""
    assert {one.title for one in found.values()} == {""}  # else it would be indexed twice


@pytest.mark.parametrize("form", FORMS)
def test_every_form_reaches_the_store_and_the_fields_stay_the_same(tmp_path: Path, form: str) -> None:
    text = "| River |  Depth |\n|--|--|\n| Orrin |  4 |\n| Wendle | |"
    write_jsonl(tmp_path / "tables" / "t.jsonl", [{"id": "a", "title": "Rivers", "text": text}])
    written = f"Rivers\n{text}" if form == "raw" else serialise(parse_table(text, "Rivers"), form)
    assert store(tmp_path, form) == {"a": Document("a", "", written, "Rivers", "River Depth", "Orrin 4\nWendle")}


def test_another_form_is_another_recipe_and_a_new_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "a.txt", MARKDOWN)
    assert store(tmp_path)["a"].text == MARKDOWN
    assert store(tmp_path, "header")["a"].text == "Depth of rivers\nRiver | Depth (m)"
    assert 'form was "raw" and is now "header"' in capsys.readouterr().err
    assert store(tmp_path, "header")["a"].text.startswith("Depth of rivers\n")
    assert "used again" in capsys.readouterr().err


def test_the_recipe_follows_a_files_content_and_name_but_not_its_folder(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", MARKDOWN)
    first = Tables([path], "raw").recipe
    moved = write(tmp_path, "elsewhere/a.txt", MARKDOWN)
    assert Tables([moved], "raw").recipe == first
    others = [Tables([write(tmp_path, name, MARKDOWN)], "raw").recipe for name in ("b.txt", "a.csv")]
    others += [Tables(paths, "raw").recipe for paths in ([path, moved], [write(tmp_path, "c/a.txt", HTML)])]
    assert len({str(recipe) for recipe in (first, *others)}) == 5


def test_two_tables_with_one_id_are_an_error_that_names_both(tmp_path: Path) -> None:
    first, second = write(tmp_path, "a.txt", MARKDOWN), write(tmp_path, "sub/a.html", HTML)
    with pytest.raises(HeedError, match=r"document a was already at .*, line 1; keep one of them") as caught:
        store(tmp_path)
    assert str(first) in str(caught.value) and str(second) in str(caught.value)
    assert not (tmp_path / "store").exists()


def test_names_with_white_space_and_bytes_that_are_not_utf_8_are_errors_with_the_file(tmp_path: Path) -> None:
    spaced = write(tmp_path, "my table.csv", "a,b\n1,2\n")
    latin = write(tmp_path, "b.csv", "")
    latin.write_bytes("Größe,b\n1,2\n".encode("latin-1"))
    write_jsonl(tmp_path / "tables" / "t.jsonl", [{"id": "a"}])
    with pytest.raises(HeedError) as caught:
        store(tmp_path)
    assert str(caught.value).splitlines() == [
        f"{latin}, line 1: not UTF-8 (invalid start byte); convert it, or give encoding=NAME",
        f"{spaced}, line 1: the file's name is the docid and holds white space; rename the file",
        f"{tmp_path / 'tables/t.jsonl'}, line 1: "
        "found id, expected a text in text, contents, body, content, doc, passage, segment, abstract; "
        "rename the field",
    ]


def test_a_table_too_large_for_any_memory_is_an_error_with_its_line(tmp_path: Path) -> None:
    row = "<tr>" + '<td colspan="1000">x</td>' * 9 + "</tr>"
    bomb = "<table>" + "<tr>" + "<td>x</td>" * 9_000 + "</tr>" + row * 1_200 + "</table>"
    path = write_jsonl(tmp_path / "tables" / "t.jsonl", [{"id": "a", "text": HTML}, {"id": "b", "text": bomb}])
    with pytest.raises(HeedError) as caught:
        store(tmp_path)
    assert str(caught.value).startswith(f"{path}, line 2: ") and "cells" in str(caught.value)


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_paths_without_tables_are_errors(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(HeedError, match=rf"{name}: no .*\.jsonl.*\.txt.*\.csv"):
        Tables([tmp_path / name], "raw")


def test_the_log_names_three_paths_and_counts_the_others(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path, f"{number}.txt", MARKDOWN)
    shown = ", ".join(str(tmp_path / "tables" / f"{number}.txt") for number in range(3))
    assert str(Tables([tmp_path / "tables"], "raw")) == f"{shown} and 2 more files"


# "depth" is the header of one table and a cell of another; the river's table has no other "depth"
FIELDED = {
    "river": ("Rivers", "depth", "Orrin"),
    "diary": ("Diary", "entry", "depth"),
    "hill": ("Hills", "name", "Ben"),
}


@pytest.fixture(scope="module")
def fielded(tmp_path_factory: pytest.TempPathFactory) -> tuple[DocumentStore, Path]:
    folder = tmp_path_factory.mktemp("fielded")
    records = [
        {"id": docid, "text": f"# {caption}\n\n| {header} |\n| --- |\n| {cell} |"}
        for docid, (caption, header, cell) in FIELDED.items()
    ]
    docs = write_jsonl(folder / "t.jsonl", records)
    made = open_store(folder / "store", Tables([docs], "raw"))
    build_index(folder / "bm25", made, language("eng"), threads=1)
    return made, folder


def by_fields(fielded: tuple[DocumentStore, Path], query: str, *weights: float) -> dict[str, float]:
    made, folder = fielded
    settings = Bm25Settings(0.9, 0.4, *weights)
    return Bm25(FIELDS, Corpus(folder, made, language("eng")), settings, Compute()).search(
        [Query("1", query, query)], 10
    )["1"]


def anserini_fields(folder: Path, query: str, weights: Mapping[str, float]) -> list[tuple[str, float]]:
    """Anserini's own search over fields, scores as its run files have them."""
    searcher = jvm.java("io.anserini.search.SimpleSearcher")(str(folder / "bm25" / "lucene"))
    searcher.set_bm25(0.9, 0.4)
    fields, number = jvm.java("java.util.HashMap")(), jvm.java("java.lang.Float")
    for name, weight in weights.items():
        fields.put(name, number(weight))
    return [(hit.docid, float(f"{hit.score:f}")) for hit in searcher.search_fields(query, fields, 10)]


@pytest.mark.golden(
    program="pyserini 1.6.0, pyserini 2.4.0 (Anserini)",
    compared="scores over the fields of tables",
    systems=("lexical", "bm25"),
)
@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (0.3, 2.0, 1.7)])
@pytest.mark.parametrize("query", ["depth", "Rivers and hills by depth", "name of the entry", "Ben"])
def test_scores_over_fields_are_anserinis(
    fielded: tuple[DocumentStore, Path], query: str, weights: tuple[float, float, float]
) -> None:
    theirs = anserini_fields(fielded[1], query, dict(zip(("caption", "header", "cells"), weights, strict=True)))
    assert theirs and list(by_fields(fielded, query, *weights).items()) == theirs


def test_a_word_of_the_text_that_is_in_no_field_finds_nothing(tmp_path: Path, heed: Heed) -> None:
    # the words of a form's own syntax are in the text only
    write(tmp_path, "a.txt", MARKDOWN)
    (tmp_path / "t.tsv").write_text("1\ttable\n2\tDepth\n")
    systems = ("--retriever", "bm25", "--retriever", "bm25+fields", "--reranker", "none", "--serialise", "html")
    result = heed("pipelines.tables", "--docs", "tables", "--topics", "t.tsv", *systems)
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "runs/tables/eng-html"
    found = {name: (folder / f"{name}.query.run").read_text().splitlines() for name in ("bm25", "bm25+fields")}
    assert {name: [line.split()[0] for line in lines] for name, lines in found.items()} == {
        "bm25": ["1", "2"],
        "bm25+fields": ["2"],
    }


def test_fields_of_documents_that_are_no_tables_are_an_error(heed: Heed) -> None:
    result = heed("pipelines.neuclir", "--lang", "zho", "--retriever", "bm25+fields", "--quiet")
    assert (result.returncode, result.stderr) == (
        1,
        "error: bm25+fields: these documents are no tables with caption, header and cells; use bm25\n",
    )


@pytest.mark.parametrize("weights", [(0.0, 0.0, 0.0), (1.0, -1.0, 0.0)])
def test_field_weights_that_mean_nothing_are_errors(tmp_path: Path, heed: Heed, weights: tuple[float, ...]) -> None:
    result = heed("pipelines.tables", "--retriever", "bm25+fields", "--field-weights", *weights, "--quiet")
    assert (result.returncode, result.stdout) == (1, "")
    assert "--field-weights: found" in result.stderr


def test_published_texts_are_taken_alone(tmp_path: Path) -> None:
    record = {"id": "t", "title": "Rivers", "text": "| River |\n| --- |\n| Orrin |"}
    source = Tables([write_jsonl(tmp_path / "t.jsonl", [record])], "raw", titles=False)
    [document] = open_store(tmp_path / "store", source)
    assert (document.text, document.caption) == (record["text"], "Rivers")
