"""Exports of a pool: each form as its tool reads it, and what is refused."""

import csv
import gzip
import json
import re
import sys
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from typing import Any

import pytest
from annotation_pool import DOCUMENTS, POOL, RESULTS, TOPICS, material, store
from hypothesis import given
from hypothesis import strategies as st

from heed.addons.judging.exchange import exports
from heed.addons.judging.exchange.exports import AT_ONCE, FORMATS, GUARDED, ExportedPool, export, guarded
from heed.addons.judging.exchange.judgements import unguarded
from heed.errors import HeedError
from heed.formats.data_sets import read_pairs
from heed.formats.document_store import DocumentStore
from heed.formats.run_formats import read_any_run
from heed.formats.trec_files import read_qrels, write_run
from heed.types import Document, Topic
from pipelines.pool import main as pool_main

FILES = {
    "trec-pool": "pool.txt",
    "qrels-template": "template.qrels",
    "jsonl": "pool.jsonl",
    "csv": "pool.csv",
    "xlsx": "pool.xlsx",
    "label-studio": "tasks.json",
    "doccano": "doccano.jsonl",
    "rank_llm": "requests.jsonl",
    "mteb": "mteb",
}
TEXTS = {str(one["id"]): (str(one["title"]), str(one["text"])) for one in DOCUMENTS}


def tasks(condition: str = "changed") -> list[dict[str, Any]]:
    """What is to be judged, written out from the pool by hand; line breaks of an instruction are blanks."""
    return [
        {
            "qid": qid,
            "docid": docid,
            "condition": condition,
            "query": TOPICS[qid].query,
            "instruction": TOPICS[qid].instructions.get(condition, "").replace("\n", " "),
            "title": TEXTS[docid][0],
            "text": TEXTS[docid][1],
        }
        for qid, docids in POOL.items()
        for docid in docids
    ]


def exported(tmp_path: Path, form: str, condition: str = "changed") -> Path:
    path = tmp_path / FILES[form]
    export(form, path, material(tmp_path, condition))
    return path


def json_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


def everything(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return {one.relative_to(path.parent).as_posix(): one.read_bytes() for one in files}


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_pool_gives_the_same_bytes(tmp_path: Path, form: str) -> None:
    for run in ("a", "b"):
        export(form, tmp_path / run / FILES[form], material(tmp_path))
    assert everything(tmp_path / "a" / FILES[form]) == everything(tmp_path / "b" / FILES[form])


def test_a_workbook_does_not_tell_when_it_was_made(tmp_path: Path) -> None:
    workbook = zipfile.ZipFile(exported(tmp_path, "xlsx"))
    assert {info.date_time for info in workbook.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert workbook.read("docProps/core.xml").count(b">1980-01-01T00:00:00Z<") == 2


def test_trec_pool_lines_keep_the_order_of_the_pool_and_need_no_texts(tmp_path: Path) -> None:
    export("trec-pool", tmp_path / "p.txt.gz", ExportedPool(POOL, {}, "query", None))
    assert gzip.decompress((tmp_path / "p.txt.gz").read_bytes()).decode() == (
        "12 zho-1\n12 fas-1\n12 =1+1\n12 007\n0x a/b:c\n0x zho-1\n0x 2020-01-01\n"
    )


def test_the_template_marks_every_document_as_pooled_and_not_judged(tmp_path: Path) -> None:
    export("qrels-template", tmp_path / "t", ExportedPool(POOL, {}, "query", None))
    assert read_qrels(tmp_path / "t") == {qid: dict.fromkeys(docids, -1) for qid, docids in POOL.items()}
    import pytrec_eval  # trec_eval 9's own code: a run of nothing else has judged nothing and found nothing

    measured = pytrec_eval.RelevanceEvaluator(read_qrels(tmp_path / "t"), {"num_rel", "num_rel_ret"})
    assert measured.evaluate({"12": {"zho-1": 1.0}})["12"] == {"num_rel": 0.0, "num_rel_ret": 0.0}


@pytest.mark.parametrize("condition", ["query", "original", "changed"])
def test_json_lines_hold_every_text(tmp_path: Path, condition: str) -> None:
    assert json_lines(exported(tmp_path, "jsonl", condition)) == [{**task, "grade": None} for task in tasks(condition)]


def test_csv_cells_are_no_formulas_and_give_the_texts_back(tmp_path: Path) -> None:
    path = exported(tmp_path, "csv")
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert not [cell for row in rows for cell in row.values() if cell.startswith(tuple("=+-@\t\r"))]
    assert [{name: unguarded(cell) for name, cell in row.items()} for row in rows] == [
        {**task, "grade": ""} for task in tasks()
    ]


@given(st.text(st.sampled_from("'=+-@\t\r\n＝ab中"), max_size=5))
def test_a_guarded_cell_is_no_formula_and_is_given_back(cell: str) -> None:
    assert not guarded(cell).startswith(tuple(one for one in GUARDED if one != "'"))
    assert unguarded(guarded(cell)) == cell


def test_a_workbook_holds_texts_only(tmp_path: Path) -> None:
    from openpyxl import load_workbook

    path = exported(tmp_path, "xlsx")
    sheet = load_workbook(path).active
    header, *rows = [list(row) for row in sheet.iter_rows()]
    names = [cell.value for cell in header]
    filled = [cell for row in rows for cell in row if cell.value is not None]
    assert {(cell.data_type, cell.number_format) for cell in filled} == {("s", "@")}
    assert [{name: cell.value or "" for name, cell in zip(names, row, strict=True)} for row in rows] == [
        {**task, "grade": ""} for task in tasks()
    ]
    sheet_xml = zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml")
    assert b"<f>" not in sheet_xml
    assert b"inlineStr" in sheet_xml


def test_a_text_that_a_cell_cannot_hold_is_cut_with_a_mark_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from openpyxl import load_workbook

    # 32,767 UTF-16 units a cell: a letter beyond U+FFFF takes two of them
    texts = {"bmp": "中" * 32_768, "astral": "𝄞" * 16_384, "longest": "a" * 32_767, "control": "a\x0bb\x00c\ufffe"}
    documents = store(tmp_path, [{"id": docid, "text": text} for docid, text in texts.items()])
    topic = Topic("1", "eng", "q", {})
    export("xlsx", tmp_path / "p.xlsx", ExportedPool({"1": list(texts)}, {"1": topic}, "query", documents))
    sheet = load_workbook(tmp_path / "p.xlsx").active
    assert {row[1]: row[7] for row in sheet.iter_rows(min_row=2, values_only=True)} == {
        "bmp": "中" * 32_762 + "[cut]",
        "astral": "𝄞" * 16_378 + "[cut]",
        "longest": texts["longest"],
        "control": "a␋b␀c\ufffd",
    }
    assert "p.xlsx: 2 documents are cut at Excel's 32,767 characters: bmp, astral; csv and" in capsys.readouterr().err


def test_a_workbook_that_excel_cannot_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = ExportedPool({"x\x01": ["007"]}, {"x\x01": Topic("x\x01", "eng", "q", {})}, "query", store(tmp_path))
    with pytest.raises(HeedError, match=r"'x\\x01', '007': an id with a control character"):
        export("xlsx", tmp_path / "p.xlsx", odd)
    monkeypatch.setattr(exports, "ROWS", 7)
    with pytest.raises(HeedError, match="7 documents, and an Excel sheet holds 6; write csv"):
        exported(tmp_path, "xlsx")
    assert not (tmp_path / "p.xlsx").exists()


@pytest.mark.parametrize("condition", ["query", "changed"])
def test_label_studio_tasks_fit_their_configuration(tmp_path: Path, condition: str) -> None:
    """Label Studio's own rules, from label_studio/tasks/validation.py of 1.23.2 and labelstud.io/tags.

    Every ``$variable`` is a key of ``data`` with a text, every ``toName`` the name of an object tag.
    """
    path = exported(tmp_path, "label-studio", condition)
    given = json.loads(path.read_text("utf-8"))
    assert given == [{"data": task} for task in tasks(condition)]
    view = ET.parse(path.with_suffix(".xml")).getroot()  # noqa: S314 (our own file)
    assert view.tag == "View"
    wanted = {value[1:] for tag in view.iter() for value in tag.attrib.values() if value.startswith("$")}
    assert wanted == {"query", "title", "text"} | ({"instruction"} if condition == "changed" else set())
    assert all(isinstance(task["data"][name], str) for task in given for name in wanted)
    (choices,) = view.iter("Choices")
    shown = {tag.get("name"): tag for tag in view.iter("Text")}
    assert choices.attrib["toName"] in shown
    assert all(tag.get("valueType") == "text" for tag in shown.values())  # url: it would be fetched
    grades = [(choice.get("alias"), choice.get("hotkey")) for choice in choices]
    assert grades == [("0", "0"), ("1", "1"), ("2", "2"), ("3", "3")]
    (style,) = view.iter("Style")
    assert "unicode-bidi: plaintext" in (style.text or "")


def test_label_studio_has_imported_the_export(tmp_path: Path) -> None:
    # label_studio.json is what Label Studio 1.23.2 gave back after it had imported this export
    returned = json.loads((RESULTS / "label_studio.json").read_text("utf-8"))
    given = json.loads(exported(tmp_path, "label-studio").read_text("utf-8"))
    assert [task["data"] for task in returned] == [task["data"] for task in given]


def test_doccano_lines_have_a_text_an_empty_label_and_texts_as_meta(tmp_path: Path) -> None:
    """doccano's own rules: backend/data_import/pipeline (readers, makers, data) and label_types of 1.8.4."""
    path = exported(tmp_path, "doccano")
    lines = json_lines(path)
    reserved = {"filename", "upload_name", "example_uuid", "#line_number", "id", "Comments"}
    for line, task in zip(lines, tasks(), strict=True):
        assert line["label"] == []
        assert line["text"]  # "The empty text is not allowed."
        assert not reserved & line.keys()
        assert {name: line[name] for name in line.keys() - {"text", "label"}} == {
            name: task[name] for name in task.keys() - {"text"}
        }
    assert [line["text"] for line in lines][2:5] == [
        "@SUM(A1)\n+1\tand\r\n-2\u2028'x' 𝄞",
        "(this document is empty)",
        "'quoted\n'=2",
    ]
    labels = json.loads(path.with_suffix(".labels.json").read_text())
    assert [(label["text"], label["suffix_key"]) for label in labels] == [
        (str(grade), str(grade)) for grade in range(4)
    ]
    assert all(re.fullmatch("#[0-9a-f]{6}", label["background_color"]) for label in labels)


def test_doccano_has_imported_the_export(tmp_path: Path) -> None:
    # doccano.jsonl is what doccano 1.8.4 gave back after it had imported this export
    returned = json_lines(RESULTS / "doccano.jsonl")
    given = json_lines(exported(tmp_path, "doccano"))
    assert [{name: line[name] for name in line.keys() - {"label"}} for line in given] == [
        {name: line[name] for name in line.keys() - {"id", "label", "Comments"}} for line in returned
    ]


def test_rank_llm_requests_hold_query_instruction_and_the_order_of_the_pool(tmp_path: Path) -> None:
    """The fields and types of rank_llm/data.py 0.25.7; its reader takes no whole number for a score."""
    path = exported(tmp_path, "rank_llm")
    requests = json_lines(path)
    assert [request["query"] for request in requests] == [
        {"text": "economic growth <b> Only China's.", "qid": "12"},
        {"text": "=经济 改过的说明", "qid": "0x"},
    ]
    for request in requests:
        candidates = request["candidates"]
        assert all(type(one["score"]) is float for one in candidates)
        assert [one["docid"] for one in candidates] == POOL[request["query"]["qid"]]
        assert [(one["doc"]["title"], one["doc"]["text"]) for one in candidates] == [
            TEXTS[one["docid"]] for one in candidates
        ]
    assert read_any_run(path) == {
        "12": {"zho-1": 4.0, "fas-1": 3.0, "=1+1": 2.0, "007": 1.0},
        "0x": {"a/b:c": 3.0, "zho-1": 2.0, "2020-01-01": 1.0},
    }


def test_a_missing_package_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(Path("a.run"), {"1": {"d": 1.0}}, "a")
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as where it is not installed
    assert pool_main(["a.run", "--out", "p.jsonl", "--export", "trec-pool=l", "--export", "mteb=m"]) == 1
    assert "export as mteb: the Python package pyarrow is not installed" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.run"]


def test_an_mteb_folder_is_read_by_heed(tmp_path: Path) -> None:
    pair = read_pairs(exported(tmp_path, "mteb"), str, "eng")
    assert {topic.qid: topic.instructions for topic in pair.topics} == {
        qid: topic.instructions for qid, topic in TOPICS.items()
    }
    assert pair.candidates == POOL
    unjudged = {qid: dict.fromkeys(docids, -1) for qid, docids in POOL.items()}
    assert pair.qrels == {"original": unjudged, "changed": unjudged}
    export("mteb", tmp_path / "alone", material(tmp_path, "original"))
    assert read_pairs(tmp_path / "alone", str, "eng").qrels == {"original": unjudged, "changed": {}}


@pytest.mark.golden(program="mteb 2.26.24", compared="a folder that Heed exported, as mteb reads it", systems=())
def test_an_mteb_folder_is_read_by_mteb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets
    from mteb.abstasks.retrieval_dataset_loaders import RetrievalDatasetLoader  # of mteb 2.26.24

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    for condition, endings in {"original": ["-og"], "changed": ["-og", "-changed"], "query": [""]}.items():
        # the same place again and again: what the datasets library has kept must not come back
        export("mteb", tmp_path / condition / "pool", material(tmp_path, condition))
        (tmp_path / condition / "pool").rename(tmp_path / "pool")
        read = RetrievalDatasetLoader(str(tmp_path / "pool"), revision="1").load()
        (tmp_path / "pool").rename(tmp_path / condition / "pool")
        asked = {qid + ending: docids for qid, docids in POOL.items() for ending in endings}
        assert read["top_ranked"] == asked
        assert read["relevant_docs"] == {qid: dict.fromkeys(docids, -1) for qid, docids in asked.items()}
        corpus = {row["id"]: (row["title"], row["text"]) for row in read["corpus"]}
        assert corpus == TEXTS
        told = {row["id"]: row.get("instruction") for row in read["queries"]}
        if condition == "query":
            assert told == {"12": None, "0x": None}
        else:
            assert told["12-og"] == "All of it.\nتنها رشد"
            assert told.get("0x-changed") == ("改过的说明" if condition == "changed" else None)


def test_a_topic_without_an_original_instruction_has_the_changed_one_alone(tmp_path: Path) -> None:
    topics = TOPICS | {"0x": TOPICS["0x"]._replace(instructions={"changed": "c"})}
    export("mteb", tmp_path / "m", ExportedPool(POOL, topics, "changed", store(tmp_path)))
    assert [topic.instructions for topic in read_pairs(tmp_path / "m", str, "eng").topics][1] == {"changed": "c"}


def refused(form: str, path: Path, given: ExportedPool) -> list[str]:
    with pytest.raises(HeedError) as caught:
        export(form, path, given)
    return str(caught.value).splitlines()


def test_what_cannot_be_exported_is_told_all_at_once(tmp_path: Path) -> None:
    whole = material(tmp_path)
    out, (first, *others) = tmp_path / "p.jsonl", POOL
    rest = ", ".join(f"topic {qid}" for qid in others)
    assert refused("jsonl", out, whole._replace(topics={})) == [
        f"topic {first}: in the pool and not among the topics; give topics=PATH, the file it is from; "
        f"the same in {rest}"
    ]
    assert refused("jsonl", out, whole._replace(condition="reversed")) == [
        f"topic {first}: has no reversed instruction (it has: original, changed); choose another condition; "
        f"the same in {rest}"
    ]
    assert refused("jsonl", out, whole._replace(pool={"12": ["no", "nix", "007"]})) == [
        "document no: in the pool and not in the collection; give the documents it is from; the same in document nix"
    ]
    assert refused("jsonl", out, whole._replace(documents=None)) == [
        "this form shows the documents' texts; give docs=PATH"
    ]
    assert refused("jsonl", out, whole._replace(pool={})) == ["the pool holds no document; there is nothing to export"]
    odd = whole._replace(pool={"1 2": ["a b", "ok"], "": ["b\nc"]})
    assert [line.split(" in the pool")[0] for line in refused("trec-pool", out, odd)] == [
        "'1 2'",
        "''",
        "'a b'",
        "'b\\nc'",
    ]
    assert not out.exists()


@pytest.mark.parametrize(
    ("form", "name", "said"),
    [
        ("excel", "p.xlsx", "export as 'excel': expected one of trec-pool, qrels-template"),
        ("xlsx", "p.xls", "xlsx is recognised by its suffix; name a file that ends in .xlsx"),
        ("label-studio", "p.jsonl", "ends in .json"),
        ("doccano", "p.jsonl.gz", "ends in .jsonl"),
        ("rank_llm", "p.txt", "ends in .jsonl"),
    ],
)
def test_a_form_or_a_suffix_that_its_tool_does_not_know_is_refused(
    tmp_path: Path, form: str, name: str, said: str
) -> None:
    assert said in refused(form, tmp_path / name, material(tmp_path))[0]


@pytest.mark.parametrize("condition", ["reversed", "keywords"])
def test_conditions_that_mteb_does_not_have_are_refused(tmp_path: Path, condition: str) -> None:
    topics = {qid: topic._replace(instructions={condition: "x"}) for qid, topic in TOPICS.items()}
    given = material(tmp_path, condition)._replace(topics=topics)
    assert refused("mteb", tmp_path / "m", given) == [
        f"condition {condition}: not in MTEB's layout; export query, original, changed"
    ]


def test_an_export_takes_the_place_of_one_that_is_as_it_was_left_and_of_nothing_else(tmp_path: Path) -> None:
    given, mine = material(tmp_path), tmp_path / "mine"
    for _ in range(2):  # the second as by a command that was killed and is started again
        export("mteb", mine, given)
    [touched, *_] = sorted(mine.rglob("*.parquet"))
    touched.write_bytes(touched.read_bytes() + b"x")
    before = everything(mine)
    assert "is there already and not empty" in refused("mteb", mine, given)[0]
    assert everything(mine) == before


def test_topics_without_a_document_are_left_out_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export("trec-pool", tmp_path / "p", ExportedPool({"1": [], "2": ["a"]}, {}, "query", None))
    assert (tmp_path / "p").read_text() == "2 a\n"
    assert "1 topic of the pool without documents, left out: 1" in capsys.readouterr().err


class Counting:
    """A store that counts the documents of each request."""

    def __init__(self, documents: DocumentStore) -> None:
        self.documents, self.missing = documents, documents.missing
        self.counts: list[int] = []

    def get(self, docids: list[str]) -> list[Document]:
        self.counts.append(len(docids))
        return self.documents.get(docids)


@pytest.mark.parametrize("form", [form for form in FILES if form not in ("trec-pool", "qrels-template")])
def test_few_documents_are_in_memory_at_once(tmp_path: Path, form: str) -> None:
    docids = [f"d{number}" for number in range(2 * AT_ONCE + 1)]
    documents: Any = Counting(store(tmp_path, [{"id": docid, "text": "t"} for docid in docids]))
    topics = {"1": Topic("1", "eng", "q", {})}
    export(form, tmp_path / FILES[form], ExportedPool({"1": docids}, topics, "query", documents))
    assert set(documents.counts) == {AT_ONCE, 1}
