"""What the explorer shows of a results folder: rankings, grades, values, reasons; and what a file of it carries."""

import base64
import gzip
import json
import random
import shutil
from pathlib import Path

import pytest
from conftest import ROOT
from explored_results import evaluated, tables
from markupsafe import Markup

from heed import Collection, Compute, Document, Documents, Experiment, Judging, Pair, Topic, language, load
from heed.addons.explorer.embedded import MAIN, embedded, packed, style
from heed.addons.explorer.explored import READINGS, Explored
from heed.addons.explorer.views import document_view, folder_view, narrative_of, topic_view
from heed.errors import DataError
from heed.formats.document_store import title_of
from heed.instructions.reader import Reader, reader_at
from heed.measures.summary import cells
from heed.report.html import Part, script
from heed.report.page import figures, page
from heed.report.results import ManifestSettings, read_tree
from heed.reuse import recipe_version
from heed.types import Span

FERRIES = "Find ships. Leave out ferries."
NONE = "No document that is relevant under original is ruled out under changed"
NOT_RULED_OUT = f"{NONE}: p-MRR has nothing that should fall."


def ships(root: Path, **more: dict[str, int]) -> Path:
    """Three topics: 1 has a document that should fall, 2 none, 3 no judgements but ``more`` under the changed one."""
    documents = [Document(f"d{number}", f"Title {number}", f"Text {number}") for number in range(1, 5)]
    instructions = {"original": "Find ships.", "changed": f"\U0001f6a2 {FERRIES}"}
    topics = [Topic(qid, "eng", f"ships {qid}", instructions) for qid in "123"]
    qrels = {
        "original": {"1": {"d1": 2, "d2": 1}, "2": {"d1": 1}, "3": {"d1": 1}},
        "changed": {"1": {"d1": 0, "d2": 1}, "2": {"d1": 1, "d3": 0}, **more},
    }
    judging = Judging(qrels, ("nDCG@5",), (Pair("original", "changed", ("p-MRR",)),))
    collection = Collection("ships", "eng", language("eng"), Documents(documents), topics, judging)
    return evaluated(collection, root)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the ships; to be read only."""
    return ships(tmp_path_factory.mktemp("ships"))


@pytest.fixture
def explored(folder: Path) -> Explored:
    return Explored(*read_tree(folder))


@pytest.fixture
def moved(folder: Path, tmp_path: Path) -> Path:
    """The same results in another place, without the documents."""
    return Path(shutil.copytree(folder, tmp_path / "elsewhere" / "moved"))


def test_a_topic_has_lists_grades_values_and_what_is_read_in_its_narratives(explored: Explored) -> None:
    view = topic_view(explored, "1")
    # stays: d1 (grade 2) before d2 under both; obeys: d2 alone is relevant under changed
    assert view["docids"] == ["d1", "d2"] and view["titles"] == ["Title 1", "Title 2"]
    assert view["grades"] == {"original": [2, 1], "changed": [0, 1]}
    places = {
        (name, condition): one["documents"] for name, of in view["rankings"].items() for condition, one in of.items()
    }
    assert places == {
        ("stays", "original"): [0, 1],
        ("stays", "changed"): [0, 1],
        ("obeys", "original"): [0, 1],
        ("obeys", "changed"): [1, 0],
    }
    # p-MRR of d1: rank 1 → 1 is 0; 1 → 2 is 1 − 1/2
    assert view["values"]["stays"]["original>changed"]["p-MRR"] == 0.0
    assert view["values"]["obeys"]["original>changed"]["p-MRR"] == 0.5
    # d2 stays relevant: rank 2 → 1 is 1/2 − 1
    assert view["values"]["obeys"]["original>changed"]["p-MRR kept"] == -0.5
    assert view["values"]["obeys"]["original>changed"]["selectivity"] == 1.0
    narrative = view["narratives"]["changed"]
    # the ship is one character, though two units in JavaScript
    assert ("ferries.", "excluded") in [(narrative["text"][start:end], kind) for start, end, kind in narrative["spans"]]
    assert narrative["corrected"] == [] and view["absent"] == []
    with pytest.raises(DataError, match="no topic 'x'; expected one of its 3 topics"):
        topic_view(explored, "x")


def test_a_page_says_which_runs_were_made_by_another_reader_than_it_shows(tmp_path: Path) -> None:
    tiny, news = str(ROOT / "tests" / "data" / "tiny_reader"), load("neuclir-sample", lang="eng")
    places = {"indexes": tmp_path / "indexes", "out": tmp_path / "runs"}
    with Experiment(news, **places, conditions=["original"], compute=Compute("cpu", reader=tiny)) as experiment:
        bm25 = experiment.retrieve("bm25")
        experiment.evaluate([bm25, experiment.rerank("polarity", [bm25])])
    [results] = read_tree(experiment.folder)
    [said] = Explored(results).notes
    assert said.endswith("reads them; the runs of polarity were made by another.")
    assert Explored(results, tiny).notes == []


def test_a_page_reads_no_instruction_that_the_last_one_has_read(moved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, texts, as_given = moved / READINGS, list[str](), Reader.as_given
    monkeypatch.setattr(Reader, "as_given", lambda reader, text: texts.append(text) or as_given(reader, text))
    before = path.read_bytes()  # of the page that measuring wrote
    pages = [embedded(read_tree(moved))]
    assert texts == [] and path.read_bytes() == before
    spans = json.loads(before)["spans"]
    version = f'"readings": {recipe_version("readings")}'.encode()
    assert version in before
    for damaged in (
        b"{",
        before.replace(b'"excluded"', b'"asked"'),
        before.replace(b'"path"', b'"other"'),
        before.replace(version, b'"readings": 0'),
    ):
        path.write_bytes(damaged)
        pages.append(embedded(read_tree(moved)))
        assert texts == [*spans] and path.read_bytes() == before
        texts.clear()
    assert pages == [pages[0]] * 5


def test_a_narrative_is_shown_as_a_person_has_read_it_and_lines_as_they_are_given() -> None:
    text = "Find ships.\nLeave   out\n\u200bferries of\nall kinds."
    reader = reader_at()
    shown = narrative_of(text, reader.as_given(text))
    assert [text[start:end] for start, end, kind in shown["spans"] if kind == "excluded"] == ["ferries of\nall kinds."]
    kinds = [(text[start:end], kind) for start, end, kind in shown["spans"]]
    start = text.index("of\nall")
    corrections = (Span(start, start + 2, "neutral"), Span(start + 3, start + 6, "asked"))
    shown = narrative_of(text, reader.as_given(text), corrections)
    assert [*map(tuple, shown["corrected"])] == [span[:3] for span in corrections]
    assert [(text[start:end], kind) for start, end, kind in shown["spans"]] == [
        *kinds[:-1],
        ("ferries ", "excluded"),
        ("of", "neutral"),
        ("\n", "excluded"),
        ("all", "asked"),
        (" kinds.", "excluded"),
    ]
    whole = (Span(0, len(text), "asked"),)
    assert narrative_of(text, reader.as_given(text), whole)["spans"] == [whole[0][:3]]


def test_a_topic_without_a_value_says_why(explored: Explored) -> None:
    reasons = {qid: [(one["condition"], one["reason"]) for one in topic_view(explored, qid)["absent"]] for qid in "23"}
    still = (
        "No document that is relevant under original is ruled out under changed: p-MRR has nothing that should fall."
    )
    assert reasons["2"] == [("original>changed", still)]
    assert reasons["3"] == [
        ("changed", "Not judged under changed: it is in no mean of that condition."),
        ("original>changed", "Not judged under changed: the two are not compared."),
    ]


def test_a_topic_whose_relevant_documents_are_all_ruled_out_has_p_mrr_alone(tmp_path: Path) -> None:
    view = topic_view(Explored(*read_tree(ships(tmp_path, **{"3": {"d1": 0}}))), "3")
    assert view["values"]["obeys"]["original>changed"].keys() == {"p-MRR", "p-MRR in neither", "p-MRR in one only"}
    reason = "No document is relevant under both original and changed: selectivity has nothing that should stay."
    assert {"condition": "original>changed", "reason": reason} in view["absent"]


def test_a_topic_says_how_many_documents_nobody_judged_under_the_new_condition(tmp_path: Path) -> None:
    # d1 has -1, as pooled and not judged, and then no line beside a 0
    for grades in ({"d1": -1}, {"d4": 0}):
        view = topic_view(Explored(*read_tree(ships(tmp_path, **{"3": grades}))), "3")
        reasons = [one["reason"] for one in view["absent"] if one["condition"] == "original>changed"]
        assert reasons == [
            NOT_RULED_OUT,
            "1 document is relevant under original and not judged under changed: neither ruled out nor kept.",
        ]


def test_a_followtable_topic_takes_the_list_and_grades_of_its_query(tmp_path: Path) -> None:
    explored = Explored(*read_tree(tables(tmp_path)))
    [instructed, alone] = [topic_view(explored, qid) for qid in ("5_0", "5")]
    of = {
        condition: [instructed["docids"][place] for place in one["documents"]]
        for condition, one in instructed["rankings"]["stays"].items()
    }
    assert of["query"] == of["original"] != []
    assert [alone["docids"][place] for place in alone["rankings"]["stays"]["query"]["documents"]] == of["query"]
    assert instructed["values"]["stays"]["query"] == alone["values"]["stays"]["query"]
    assert alone["absent"] == [] and alone["narratives"] == {}
    table = document_view(explored, "t003")["table"]
    assert table and table["header"][0][:2] == ["Grade", "Composition (% by mass)"]


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (Document("d", "Title", "text"), "Title"),
        (Document("d", "", "text", "Caption"), "Caption"),
        (Document("d", "", "| a | b |\n| --- | --- |\n| 1 | 2 |", header="a b"), "a b 1 2"),
        (Document("d", "", "<table><tr><th>a</th><td>1</td></tr></table>", cells="1"), "a 1"),
        (Document("d", "", "政府宣布新的计划。"), "政府宣布新的计划。"),
        (Document("d", "", ""), ""),
        (Document("d", "", "Ship 1 | sails" + " on a lake." * 9), f"Ship 1 sails{' on a lake.' * 6} o…"),
    ],
)
def test_what_a_document_is_listed_by(document: Document, name: str) -> None:
    assert title_of(document) == name


def test_counts_are_not_times_100_in_table_report_and_explorer(tmp_path: Path) -> None:
    folder = ships(tmp_path)
    for name in ("summary.json", "per_topic.json"):
        (folder / name).write_text((folder / name).read_text().replace('"nDCG@5"', '"NumRet"'))
    [results] = read_tree(folder)
    factors = folder_view(Explored(results))["factors"]
    assert factors == {name: 1 if name == "NumRet" else 100 for name in factors} and len(factors) > 3
    assert {
        column["measure"]: column["factor"] for column in figures(results, ManifestSettings([], {}), {})["columns"]
    } == factors
    counts = [row for row in results.rows if row["measure"] == "NumRet"]
    assert [f"{row['value']:.1f}" for row in counts] == [line[2] for line in cells(counts)[1:]]
    assert ">1.0<" in page([results], folder)


def unpack(block: str) -> object:
    return json.loads(gzip.decompress(base64.b64decode(block)))


def test_a_packed_folder_is_the_views_and_the_same_every_time(explored: Explored) -> None:
    data, size, *left_out = packed(explored, 100_000)
    assert left_out == [0, 0, 0] and size == sum(map(len, (data["index"], *data["topics"], *data["documents"])))
    assert packed(explored, 100_000).data == data
    index = unpack(data["index"])
    assert isinstance(index, dict)
    assert {key: index[key] for key in folder_view(explored)} == json.loads(json.dumps(folder_view(explored)))
    [topics] = map(unpack, data["topics"])
    view = topic_view(explored, "1")
    narratives, absent, numbers, grades, rows = topics[0]  # type: ignore[index]
    assert [index["docids"][number] for number in numbers] == view["docids"] and grades == view["grades"]
    assert narratives == json.loads(json.dumps(view["narratives"])) and absent == view["absent"]
    # grade 1 + 1/3 and 0 + 1/2, with five digits
    assert rows[0][1] == [2, [1, 0], [], [1.3333, 0.5]]
    [documents] = map(unpack, data["documents"])
    assert documents[index["docids"].index("d1")] == ["Text 1", 0]  # type: ignore[index]


def test_what_no_longer_fits_is_left_out_with_a_sentence(tmp_path: Path) -> None:
    results = read_tree(tables(tmp_path))
    explored = Explored(*results)
    whole = packed(explored, 10**6)
    limit = whole.size * 2 // 3
    part = packed(explored, limit)
    assert whole.documents_left_out == part.topics_left_out == 0 < part.documents_left_out and part.size <= limit
    sentence = f"{part.documents_left_out} documents were left out. heed explore RUNS_DIR shows everything."
    own = len(style()) + len(script(MAIN))
    assert sentence in str(embedded(results, limit=own + limit).html) and "left out" not in str(embedded(results).html)


def test_long_documents_have_their_beginnings_where_not_all_fit(tmp_path: Path) -> None:
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghij", k=6)) for _ in range(3000)]
    text = {f"d{number}": " ".join(draw.choices(words, k=3000)) for number in range(1, 30)}
    text["d30"] = "| a | b |\n| --- | --- |\n" + "".join(f"| {word} | 1 |\n" for word in words)
    documents = [Document(docid, "Title", body, header="a b" if docid == "d30" else "") for docid, body in text.items()]
    grades = {
        condition: {"1": dict.fromkeys(text, 1) | {"d2": new}} for condition, new in (("original", 1), ("changed", 0))
    }
    topics = [Topic("1", "eng", "ships", {"original": "Ships.", "changed": "Ships alone."})]
    judging = Judging(grades, ("nDCG@5",), (Pair("original", "changed", ("p-MRR",)),))
    folder = evaluated(Collection("long", "eng", language("eng"), Documents(documents), topics, judging), tmp_path)
    explored = Explored(*read_tree(folder))
    whole = packed(explored, 10**6)
    part = packed(explored, whole.size // 5)
    assert (whole.documents_left_out, whole.documents_cut) == (0, 0) and part.size <= whole.size // 5
    assert (part.topics_left_out, part.documents_left_out, part.documents_cut) == (0, 0, 30)
    index = unpack(part.data["index"])
    packed_documents = [document for block in part.data["documents"] for document in unpack(block)]  # type: ignore[attr-defined]
    of = dict(zip(index["docids"], packed_documents, strict=True))  # type: ignore[index]
    lengths = {len(document[0]) for docid, document in of.items() if docid != "d30"}
    assert len(lengths) == 1 and 2_000 < lengths.pop() < 5_000  # a fifth of 21,000 bytes, less what topics need
    assert all(text[docid].startswith(document[0]) and document[2:] == [1, 1] for docid, document in of.items())
    assert of["d30"][0].endswith("| 1 |")  # whole rows
    notes = str(embedded(read_tree(folder), limit=len(style()) + len(script(MAIN)) + whole.size // 5).html)
    assert "of 30 long documents only the beginning is here. heed explore RUNS_DIR shows everything." in notes


def test_a_report_is_written_when_documents_or_topics_are_gone(moved: Path) -> None:
    explored = Explored(*read_tree(moved))
    [note] = explored.notes
    assert note.startswith("The documents are no longer in") and "run the command that made them once more" in note
    assert topic_view(explored, "1")["titles"] == ["", ""]
    with pytest.raises(DataError, match="no document 'd1'; The documents are no longer in"):
        document_view(explored, "d1")
    (moved / "topics.json").unlink()
    [note] = Explored(*read_tree(moved)).notes
    assert note.startswith("Topics and judgements are not noted in this folder: run the command that made them")
    assert "explorer-data" not in page(read_tree(moved), moved)
    (moved / "topics.json").write_text('{"language": 1}')
    with pytest.raises(DataError, match=r"topics.json: Expected `str`, got `int` - at `\$.language`; run"):
        Explored(*read_tree(moved))


def test_other_documents_in_the_same_place_are_not_shown(tmp_path: Path) -> None:
    explored = Explored(*read_tree(ships(tmp_path)))
    noted = explored.path / "topics.json"
    assert explored.notes == []
    noted.write_text(noted.read_text().replace('"documents": "', '"documents": "0'))
    assert "The documents are no longer in" in Explored(explored.results).notes[0]


def test_results_without_runs_have_no_topics_in_their_report(moved: Path) -> None:
    for run in moved.glob("*.run"):
        run.unlink()
    assert embedded(read_tree(moved)) == Part(Markup(), "", "")
    assert "explorer-data" not in page(read_tree(moved), moved)


def test_all_modules_of_the_page_are_in_the_script_once() -> None:
    text = script(MAIN)
    assert text.count("const addons_explorer_page_topic_js = ") == 1
    assert text.count("const report_page_shared_words_js = ") == 1
    assert "import {" not in text and "export " not in text and "innerHTML" not in text
