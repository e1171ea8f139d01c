"""``python -m pipelines.judgements``: the results of annotation tools back as qrels."""

import csv
import gzip
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from annotation_pool import POOL, RESULTS, material, store
from conftest import Heed, write_jsonl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heed.addons.judging.exchange.exports import ExportedPool, export
from heed.addons.judging.exchange.judgements import count_votes, parse_grades, read_labels, resolve
from heed.addons.judging.pools.build import read_judged
from heed.errors import HeedError
from heed.formats.trec_files import read_qrels, write_pool
from heed.measures.registry import standard
from heed.progress import gathering
from heed.types import Qrels, Topic
from pipelines.judgements import main

COMMAND = "pipelines.judgements"

# what was judged in the two tools, as tests/data/annotation_tools/README.md has it
ANN = {"12": {"zho-1": 3, "fas-1": 0, "=1+1": 1, "007": 0}}
LABEL_STUDIO = ANN | {"0x": {"zho-1": 2}}
BEN = {"12": {"fas-1": 2, "=1+1": 1}, "0x": {"zho-1": 2}}

GRADES = {"12": {"zho-1": 3, "fas-1": 0, "007": 2}, "0x": {"a/b:c": 1, "2020-01-01": 0}}  # given in round trips


def qrels_of(*files: Path, rule: str = "error", **grades: int) -> Qrels:
    return resolve(count_votes(read_labels(files), grades, None), rule)


@pytest.mark.parametrize("name", ["label_studio.json", "label_studio.min.json", "label_studio.csv"])
def test_results_of_label_studio_are_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(HeedError, match="topic 12, document fas-1: 0 by 1 .*; 2 by 2 .*choose a rule"):
        qrels_of(RESULTS / name)
    highest = {qid: dict(grades) for qid, grades in LABEL_STUDIO.items()}
    highest["12"]["fas-1"] = 2  # ann says 0, ben 2
    assert qrels_of(RESULTS / name, rule="highest") == highest
    assert qrels_of(RESULTS / name, rule="majority") == highest
    assert "the grade by majority is taken; 1 tie is decided for the highest" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["doccano.jsonl"], ANN),
        (["doccano.csv"], ANN),
        (["doccano.ann.jsonl"], ANN),
        (["doccano.ben.jsonl"], BEN),
        (["doccano.ben.jsonl", "doccano.jsonl"], {"0x": {"zho-1": 2}, "12": ANN["12"] | {"fas-1": 2}}),
    ],
)
def test_results_of_doccano_are_read(names: list[str], expected: Qrels) -> None:
    assert qrels_of(*(RESULTS / name for name in names), rule="highest") == expected


def test_the_order_of_the_files_does_not_matter() -> None:
    files = [RESULTS / "doccano.ann.jsonl", RESULTS / "doccano.ben.jsonl", RESULTS / "doccano.csv"]
    there, back = (qrels_of(*order, rule="majority") for order in (files, files[::-1]))
    assert list(there.items()) == list(back.items())
    assert [list(grades) for grades in there.values()] == [list(grades) for grades in back.values()]


# How each tool fills in what was exported ------------------------------------------------------------


def fill_lines(path: Path, grades: Qrels, key: str, value: Callable[[int], Any]) -> Path:
    lines = [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]
    for line in lines:
        if line["docid"] in grades[line["qid"]]:
            line[key] = value(grades[line["qid"]][line["docid"]])
    return write_jsonl(path, lines)


def fill_csv(path: Path, grades: Qrels) -> Path:
    """As a spreadsheet that keeps the cells: it knows nothing of our quotes."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.reader(stream))
    for row in rows[1:]:
        row[rows[0].index("grade")] = str(grades[row[0]].get(row[1].removeprefix("'"), ""))
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=";").writerows(rows)
    return path


def fill_xlsx(path: Path, grades: Qrels) -> Path:
    from openpyxl import load_workbook

    book = load_workbook(path)
    for row in book.active.iter_rows(min_row=2):
        row[5].value = grades[row[0].value].get(row[1].value)
    book.save(path)
    return path


def fill_label_studio(path: Path, grades: Qrels) -> Path:
    tasks = json.loads(path.read_text("utf-8"))
    for task in tasks:
        grade = grades[task["data"]["qid"]].get(task["data"]["docid"])
        value = {"choices": [str(grade)]}
        result = [{"from_name": "grade", "to_name": "text", "type": "choices", "value": value}]
        task["annotations"] = [] if grade is None else [{"result": result, "completed_by": 1, "was_cancelled": False}]
    path.write_text(json.dumps(tasks))
    return path


def fill_columns(path: Path, grades: Qrels) -> Path:
    lines = [line.split() for line in path.read_text("utf-8").splitlines()]
    filled = (f"{qid} 0 {docid} {grades[qid].get(docid, -1)}\n" for qid, _, docid, _ in lines)
    path.write_text("".join(filled), "utf-8")
    return path


ROUND_TRIPS: dict[str, tuple[str, Callable[[Path, Qrels], Path]]] = {
    "jsonl": ("p.jsonl", lambda path, grades: fill_lines(path, grades, "grade", int)),
    "doccano": ("d.jsonl", lambda path, grades: fill_lines(path, grades, "label", lambda grade: [str(grade)])),
    "csv": ("p.csv", fill_csv),
    "xlsx": ("p.xlsx", fill_xlsx),
    "label-studio": ("l.json", fill_label_studio),
    "qrels-template": ("t.qrels", fill_columns),
}


@pytest.mark.parametrize("form", ROUND_TRIPS)
def test_exported_filled_in_and_read_back(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, fill = ROUND_TRIPS[form]
    export(form, tmp_path / name, material(tmp_path))
    assert main([str(fill(tmp_path / name, GRADES)), "--out", str(tmp_path / "q")]) == 0
    assert read_qrels(tmp_path / "q") == GRADES
    told = capsys.readouterr().err
    assert "5 judgements of 2 topics" in told
    assert "2 documents are not judged and left out (topic, document): 0x zho-1, 12 =1+1" in told


def test_qrels_whose_second_column_tells_assessors_apart_are_refused(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 ann a 1\n1 ben a 2\n")
    with pytest.raises(
        HeedError, match=r"q: topic 1 has several values in column 2, expected 0 \(topic 0 docid grade\)"
    ):
        qrels_of(tmp_path / "q")


CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc"])  # documents with such ids are refused
WORDS = st.text(CHARACTERS, min_size=1, max_size=6).filter(lambda word: word.split() == [word])


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    grades=st.dictionaries(WORDS, st.integers(0, 9), min_size=1, max_size=4),
    qid=WORDS.filter(lambda word: not word.startswith("#")),  # begins a comment in qrels
)
def test_any_id_comes_back(tmp_path_factory: pytest.TempPathFactory, grades: dict[str, int], qid: str) -> None:
    folder = tmp_path_factory.mktemp("ids")
    documents = store(folder, [{"id": docid, "text": docid} for docid in grades])
    whole = ExportedPool({qid: [*grades]}, {qid: Topic(qid, "eng", "q", {})}, "query", documents)
    for form in ("jsonl", "doccano", "label-studio", "qrels-template"):
        name, fill = ROUND_TRIPS[form]
        export(form, folder / name, whole)
        filled = fill(folder / name, {qid: grades})
        assert qrels_of(filled) == {qid: grades}, form


def rows(*grades: tuple[str, Any, str]) -> list[dict[str, Any]]:
    return [{"qid": "1", "docid": docid, "grade": grade, "assessor": who} for docid, grade, who in grades]


# Who is a person --------------------------------------------------------------------------------------

Made = dict[str, Any]  # an annotation: number, user, document, grade, and a second of creation and of the last change


def made(number: int, user: Any, docid: str, grade: str, created: int = 0, updated: int = 0) -> Made:
    times = {name: f"2026-11-26T10:00:{at:02}.5Z" for name, at in (("created_at", created), ("updated_at", updated))}
    return {"annotation_id": number, "annotator": user, "docid": docid, "grade": grade, **times}


def label_studio(path: Path, *several: Made, project: int | None = None) -> Path:
    """Write annotations of topic 1, by the suffix: JSON, JSON_MIN (.min.json), CSV or TSV of Label Studio, or XLSX."""
    flat = [{"qid": "1", "id": number, **annotation} for number, annotation in enumerate(several)]
    path.parent.mkdir(exist_ok=True)
    if path.name.endswith(".xlsx"):
        from openpyxl import Workbook

        book = Workbook()
        for row in ([*flat[0]], *([*line.values()] for line in flat)):
            book.active.append(row)
        book.save(path)
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="") as stream:
            table = csv.DictWriter(stream, [*flat[0]], delimiter="," if path.suffix == ".csv" else "\t")
            table.writeheader()
            table.writerows(flat)
    elif path.suffix == ".jsonl":
        write_jsonl(path, flat)
    elif path.name.endswith(".min.json"):
        path.write_text(json.dumps(flat))
    else:
        tasks = [
            {
                "data": {"qid": "1", "docid": one["docid"]},
                "annotations": [
                    {name: one[name] for name in ("created_at", "updated_at")}
                    | {"id": one["annotation_id"], "completed_by": one["annotator"], "result": [choice(one["grade"])]}
                ],
            }
            | ({"project": project} if project else {})
            for one in several
        ]
        path.write_text(json.dumps(tasks))
    return path


def persons(*files: Path) -> dict[str, dict[str, str]]:
    """Return grades by document, of each assessor."""
    read: dict[str, dict[str, str]] = {}
    for label in read_labels(files):
        read.setdefault(label.assessor, {})[label.docid] = label.text
    return read


@pytest.mark.parametrize("form", ["json", "min.json", "csv", "tsv", "xlsx", "jsonl"])
def test_users_of_several_installations_are_several_assessors(tmp_path: Path, heed: Heed, form: str) -> None:
    """Every installation calls its first user 1, and its first project, so the files have the same name too."""
    files = [
        label_studio(tmp_path / who / f"project-1-at-2026-11-26-10-00-abc.{form}", made(7, 1, "a", grade, second))
        for second, (who, grade) in enumerate((("ann", "0"), ("ben", "0"), ("cem", "1")))
    ]
    assert [*persons(*files).values()] == [{"a": "0"}, {"a": "0"}, {"a": "1"}]
    assert qrels_of(*files, rule="majority") == {"1": {"a": 0}}
    done = heed(COMMAND, *files, "--resolve", "majority", "--out", "q")
    assert done.returncode == 0 and done.stdout.count("1 document is judged by both") == 3, done.stderr
    (tmp_path / "other").mkdir()
    plain = [write_jsonl(tmp_path / f"{who}.jsonl", rows(("a", who, "1"))) for who in "01"]  # of any tool
    assert len(persons(*plain)) == 2


@pytest.mark.parametrize("form", ["json", "min.json", "csv", "tsv", "xlsx"])
@pytest.mark.parametrize("named", ["project-3-at-2026-11-2{}-18-00-1a2b3c4d", "evening{}"])
def test_the_next_export_of_a_project_is_by_the_same_persons(
    tmp_path: Path, form: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monday = [made(14, 1, "a", "3"), made(15, 2, "a", "2", 1), made(16, 1, "b", "0", 2), made(17, 2, "b", "1", 3)]
    tuesday = [*monday[:2], made(16, 1, "b", "1", 2, 9), monday[3], made(18, 1, "c", "2", 8)]
    files = [
        label_studio(tmp_path / f"{named.format(day)}.{form}", *annotations)
        for day, annotations in ((6, monday), (7, tuesday))
    ]
    for given_files in (files, files[::-1]):
        read = persons(*given_files)
        assert sorted(read.values(), key=len) == [{"a": "2", "b": "1"}, {"a": "3", "b": "1", "c": "2"}]
        assert "left out: 4 exported again" in capsys.readouterr().err
        assert qrels_of(*given_files, rule="majority") == {"1": {"a": 3, "b": 1, "c": 2}}  # b: 0 was corrected


def test_a_project_is_known_by_its_number_its_files_name_and_its_annotations(tmp_path: Path) -> None:
    first, second, third = made(1, 1, "a", "1"), made(2, 1, "b", "1", 1), made(3, 1, "c", "1", 2)
    named, numbered = tmp_path / "project-3-at-2026-11-26-10-00-ab.csv", tmp_path / "n.json"
    assert [*persons(label_studio(named, first), label_studio(numbered, second, project=3))] == ["1 of project 3"]
    # renamed, of other forms, and only neighbours have an annotation in common
    chain = [(first, second), (third,), (second, third)]
    files = [label_studio(tmp_path / f"x{n}.{form}", *chain[n]) for n, form in enumerate(("csv", "json", "min.json"))]
    assert [*persons(*files).values()] == [{"a": "1", "b": "1", "c": "1"}]
    # two evenings of one installation, one of another whose project has the same number
    other = label_studio(tmp_path / "other" / "project-3-at-2026-11-26-11-00-cd.csv", made(1, 1, "a", "0", 5))
    evening = label_studio(tmp_path / "project-3-at-2026-11-27-10-00-ab.csv", first, second)
    assert sorted(persons(named, other, evening).values(), key=len) == [{"a": "0"}, {"a": "1", "b": "1"}]
    # the number of a document and the time when it was written are no annotation
    lines = [rows(("a", grade, "")) for grade in "01"]
    lines = [[lines[n][0] | {"id": 1, "created_at": first["created_at"]}] for n in range(2)]
    assert len(persons(*(write_jsonl(tmp_path / f"d{n}.jsonl", lines[n]) for n in range(2)))) == 2


def test_an_annotation_skipped_later_is_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = label_studio(tmp_path / "project-3-at-1.json", made(1, 1, "a", "3"), made(2, 1, "b", "1", 1))
    tasks = json.loads(before.read_text())
    tasks[0]["annotations"][0] |= {"was_cancelled": True, "updated_at": "2026-11-26T11:00:00Z"}
    tasks[1] |= {"drafts": [4], "predictions": [{"result": [choice("0")]}] * 2}
    (after := tmp_path / "project-3-at-2.json").write_text(json.dumps(tasks))
    assert qrels_of(before, after) == {"1": {"b": 1}}
    assert "left out: 1 skipped, 1 in draft, 2 predicted, 2 exported again\n" in capsys.readouterr().err


def test_names_are_compared_without_blanks_and_in_nfc(tmp_path: Path) -> None:
    names = ["Jos\u00e9 A", " Jose\u0301  A\t", {"email": "Jos\u00e9 A"}, {"id": 5, "email": "Jose\u0301 A"}]
    (tmp_path / "a.csv").write_text("qid,docid,grade,assessor\n" + "".join(f"1,a,1,{name}\n" for name in names[:2]))
    label_studio(tmp_path / "b.json", *(made(n, name, "a", "1", n) for n, name in enumerate(names, 1)))
    assert [*persons(tmp_path / "a.csv", tmp_path / "b.json")] == ["Jos\u00e9 A"]


def test_assessors_who_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    votes = [("a", 2, "ann"), ("a", 2, "ben"), ("a", 3, "cem"), ("b", 0, "ann"), ("b", 1, "ben"), ("c", 1, "ann")]
    path = write_jsonl(tmp_path / "j.jsonl", rows(*votes, ("a", 3, "cem"), ("c", 1, "ben")))  # cem says it twice
    assert qrels_of(path, rule="majority") == {"1": {"a": 2, "b": 1, "c": 1}}
    assert capsys.readouterr().err.splitlines() == [
        "2 documents are judged differently; the grade by majority is taken; 1 tie is decided for the highest",
        f"  topic 1, document a: 2 by ann ({path}, line 1), ben ({path}, line 2); 3 by cem ({path}, line 3)",
        f"  topic 1, document b: 0 by ann ({path}, line 4); 1 by ben ({path}, line 5)",
    ]
    assert qrels_of(path, rule="highest") == {"1": {"a": 3, "b": 1, "c": 1}}
    with pytest.raises(HeedError) as caught:
        qrels_of(path)
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == [
        "topic 1, document a",
        "topic 1, document b",
    ]


def test_the_agreement_of_two_assessors_is_printed(tmp_path: Path, heed: Heed) -> None:
    grades = [(0, 0)] * 4 + [(1, 1)] * 3 + [(0, 1)] * 2 + [(1, 0)]
    for name, own in (("ann", 0), ("ben", 1)):
        lines = [f"1,d{number},{pair[own]}" for number, pair in enumerate(grades)]
        (tmp_path / f"{name}.csv").write_text(
            "\n".join(["qid,docid,grade", *lines, f"1,{name} alone,1".replace(" ", "-")])
        )
    result = heed(COMMAND, "ann.csv", "ben.csv", "--resolve", "highest", "--out", "q", "--quiet")
    # 7 of 10 equal; by chance (6 · 5 + 4 · 5) / 100; κ = (.7 - .5) / .5; on a scale of two grades both κ are one
    line = "ann.csv and ben.csv: 10 documents are judged by both, equal 0.700, κ 0.400, linear κ 0.400\n"
    assert (result.returncode, result.stdout) == (0, line)
    (tmp_path / "again.csv").write_bytes((tmp_path / "ann.csv").read_bytes())
    result = heed(COMMAND, "ann.csv", "again.csv", "--out", "q", "--quiet")
    assert "again.csv and ann.csv agree on all 11 documents that both judged: are they one person?" in result.stderr
    result = heed(COMMAND, "ann.csv", "ben.csv", "--out", "q", "--quiet")  # before they are said to differ
    assert (result.returncode, result.stdout) == (1, line)


def test_labels_are_whole_numbers_and_negative_ones_are_open(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "j.jsonl", rows(("a", "2", ""), ("b", 1.0, ""), ("c", -1, ""), ("d", None, ""), ("e", " ", ""))
    )
    assert qrels_of(path) == {"1": {"a": 2, "b": 1}}
    path = write_jsonl(tmp_path / "j.jsonl", rows(("a", "rel", ""), ("b", "1.5", ""), ("c", "1_0", ""), ("d", 1, "")))
    with pytest.raises(HeedError) as caught:
        qrels_of(path)
    assert str(caught.value).splitlines() == [
        f"{path}, line {line}: label {label!r}, expected a whole number; give grades=LABEL=GRADE for words"
        for line, label in enumerate(("rel", "1.5", "1_0"), 1)
    ]


def test_pooled_documents_without_a_grade_can_be_marked_for_infap(tmp_path: Path, heed: Heed) -> None:
    write_pool(tmp_path / "whole.jsonl", {"1": ["a", "b", "c", "d"]})
    (tmp_path / "drawn.qrels").write_text("1 0 a 1\n1 0 d 1\n")
    run = {"1": {docid: float(-rank) for rank, docid in enumerate("abcd")}}
    for unjudged, inferred in (("leave", 0.75), ("-1", 1.0)):
        options = ["--pool", "whole.jsonl", "--unjudged", unjudged, "--out", "q"]
        result = heed(COMMAND, "drawn.qrels", *options)
        assert f"2 documents are not judged and {'left out' if inferred < 1 else 'have the grade -1'}" in result.stderr
        with gathering([]) as warnings:
            values = standard(run, read_qrels(tmp_path / "q"), ["AP", "infAP"])
        # AP: (1/1 + 2/4) / 2. infAP counts at rank 4 the share 1 of 1 of the judged documents above it: 1/4 + 3/4 · 1
        assert (values["AP"]["1"], values["infAP"]["1"]) == (0.75, pytest.approx(inferred, abs=1e-4))
        assert [warning.startswith("infAP: is AP") for warning in warnings] == ([True] if inferred < 1 else [])


def test_words_are_labels_by_their_grades(tmp_path: Path) -> None:
    grades = parse_grades(["rel=1,not rel=0", "a=b=2", "junk=-2"])
    assert grades == {"rel": 1, "not rel": 0, "a=b": 2, "junk": -2}
    path = write_jsonl(tmp_path / "j.jsonl", rows(("a", "rel", ""), ("b", "not rel", ""), ("c", "junk", "")))
    assert qrels_of(path, **grades) == {"1": {"a": 1, "b": 0, "c": -2}}
    write_jsonl(path, rows(("a", "Rel", ""), ("b", 1, "")))
    with pytest.raises(HeedError) as caught:
        qrels_of(path, **grades)
    assert str(caught.value).splitlines() == [
        f"{path}, line 1: label 'Rel', expected rel, not rel, a=b, junk",
        f"{path}, line 2: label '1', expected rel, not rel, a=b, junk",
    ]


@pytest.mark.parametrize(
    ("given_grades", "said"),
    [
        (["rel"], "'rel', expected LABEL=GRADE"),
        (["=1"], "'=1', expected LABEL=GRADE"),
        (["rel=1.5"], "'rel=1.5', expected LABEL=GRADE with a whole number"),
        (["rel=1,rel=2"], "'rel=2', and rel has another grade before"),
        (["rel=1,"], "'', expected LABEL=GRADE"),
    ],
)
def test_wrong_grades_are_refused(given_grades: list[str], said: str) -> None:
    with pytest.raises(HeedError) as caught:
        parse_grades(given_grades)
    assert said in str(caught.value)


ITEM = {"data": {"qid": "1", "docid": "a"}}


def choice(*choices: str, name: str = "grade") -> dict[str, Any]:
    return {"from_name": name, "type": "choices", "value": {"choices": [*choices]}}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("l.json", json.dumps([ITEM, {"data": {"docid": "a"}}]), "item 2: qid is None, expected an id"),
        (
            "l.json",
            json.dumps([ITEM | {"annotations": [{"result": [choice("1", "2")]}]}]),
            r"item 1: 2 labels \(1, 2\)",
        ),
        (
            "l.json",
            json.dumps([ITEM | {"annotations": [{"result": [choice("1", name="quality")]}]}]),
            "item 1: choices named quality, expected grade as in the configuration",
        ),
        ("l.json", json.dumps([ITEM | {"annotations": 3}]), "item 1: annotations and their results must be lists"),
        ("l.json", json.dumps([ITEM | {"annotations": [{"result": [1]}]}]), "item 1: annotations and their results"),
        ("l.json", '[{"data": ', "l.json: not JSON"),
        ("l.json", "[1]", "item 1: found int, expected a JSON object"),
        ("l.json", "[" * 100_000, "l.json: not JSON"),
        ("l.json", '{"data": {}}', "found dict, expected a JSON list"),
        ("l.json", "", "l.json: not JSON"),
        ("d.jsonl", '{"qid": "1", "docid": "a", "label": ["0", "2"]}', r"line 1: 2 labels \(0, 2\), expected one"),
        ("d.jsonl", '{"qid": "1", "docid": "a", "label": [true]}', "line 1: label is True, expected a text or a whole"),
        ("d.jsonl", '{"qid": "1 2", "docid": "a"}', "line 1: qid is '1 2', expected an id"),
        ("d.jsonl", '{"qid": true, "docid": "a"}', "line 1: qid is True, expected an id"),
        ("p.csv", "qid,docid\n1,a\n", r"no column grade or label in the first row \(found qid, docid\)"),
        ("p.csv", "", r"no column qid, docid, grade or label in the first row \(found none\)"),
        ("p.csv", 'qid,docid,grade\n1,a,1,"x"\n', "line 2: 4 cells, and the first row has 3"),
        ("p.csv", "qid,docid,grade\n,a,1\n", "line 2: qid is '', expected an id"),
        ("p.xlsx", "no zip", "not an Excel workbook"),
        ("p.qrels", "1 0 a\n", "line 1: 3 columns, expected 4"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(HeedError, match=said):
        read_labels([tmp_path / name])


def test_all_bad_records_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    bad = [{"qid": "1", "docid": None}, {"qid": "1", "docid": "a"}, {"qid": [], "docid": "b"}]
    paths = [write_jsonl(tmp_path / name, bad) for name in ("a.jsonl", "b.jsonl")]
    with pytest.raises(HeedError) as caught:
        read_labels(paths)
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == [
        f"{path}, line {line}" for path in paths for line in (1, 3)
    ]


def test_a_csv_file_that_is_not_utf8_is_read_in_the_encoding_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_bytes("qid,docid,grade,text\n1,a,1,café\n".encode("cp1252"))
    with pytest.raises(HeedError, match=r"p.csv, line 2: not UTF-8 .* convert the file to UTF-8.* give encoding=NAME"):
        read_labels([tmp_path / "p.csv"])
    [judgement] = read_labels([tmp_path / "p.csv"], encoding="cp1252")
    assert (judgement.docid, judgement.text) == ("a", "1")


def test_tables_as_spreadsheets_write_them(tmp_path: Path) -> None:
    text = 'docid\tgrade\tqid\ttext\r\n\'=1\t2\t007\t"line\r\nend"\r\n\t\t\t\r\nb\t\t007\t\r\n'
    (tmp_path / "p.tsv.gz").write_bytes(gzip.compress(text.encode("utf-8-sig")))
    assert qrels_of(tmp_path / "p.tsv.gz") == {"007": {"=1": 2}}
    long = "x" * 200_000  # beyond the csv module's own limit of 131,072 characters
    (tmp_path / "p.csv").write_text(f"qid,docid,text,grade\n1,a,{long},1\n")
    assert qrels_of(tmp_path / "p.csv") == {"1": {"a": 1}}


@pytest.mark.parametrize(("kind", "value"), [("rating", 3), ("number", 0), ("number", 2.0), ("choices", ["1"])])
def test_ratings_and_numbers_of_label_studio_are_grades(tmp_path: Path, kind: str, value: Any) -> None:
    result = {"from_name": "grade", "to_name": "text", "type": kind, "value": {kind: value}}
    other = {"from_name": "sure", "to_name": "text", "type": "rating", "value": {"rating": 5}}
    task = {"data": {"qid": "1", "docid": "a"}, "annotations": [{"completed_by": 1, "result": [other, result]}]}
    # converter.py of label-studio-sdk: only one choice and one text are taken out of their objects
    flat = {"qid": "1", "docid": "a", "annotator": 1, "sure": [{"rating": 5}], "grade": [{kind: value}]}
    (tmp_path / "l.json").write_text(json.dumps([task]))
    (tmp_path / "l.min.json").write_text(json.dumps([flat]))
    with (tmp_path / "l.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["qid", "docid", "grade"], ["1", "a", json.dumps(flat["grade"])]])
    grade = int(value[0]) if isinstance(value, list) else int(value)
    for name in ("l.json", "l.min.json", "l.csv"):
        assert qrels_of(tmp_path / name) == {"1": {"a": grade}}, name
    task["annotations"][0]["result"] = [other]
    (tmp_path / "l.json").write_text(json.dumps([task]))
    with pytest.raises(HeedError, match="item 1: rating named sure, expected grade as in the configuration"):
        read_labels([tmp_path / "l.json"])


def test_what_was_ignored_or_rejected_in_prodigy_is_no_judgement(tmp_path: Path, heed: Heed) -> None:
    options = [{"id": str(grade), "text": "…"} for grade in range(4)]
    task = {"qid": "1", "grade": None, "text": "…", "_task_hash": 5, "_timestamp": 1700000000}
    answers = [("a", ["2"], "accept"), ("b", ["3"], "reject"), ("c", ["1"], "ignore"), ("d", [], "accept")]
    lines = [
        task | {"docid": docid, "options": options, "accept": chosen, "answer": answer, "_annotator_id": "news-ann"}
        for docid, chosen, answer in answers
    ]
    write_jsonl(tmp_path / "choice.jsonl", lines)  # choice: one of several labels
    done = heed(COMMAND, "choice.jsonl", "--out", "q")
    assert (tmp_path / "q").read_text() == "1 0 a 2\n" and "left out: 1 rejected, 1 ignored\n" in done.stderr
    assert [*persons(tmp_path / "choice.jsonl")] == ["news-ann"]
    answers = [("a", "relevant", "accept"), ("b", "relevant", "reject"), ("c", "relevant", "ignore")]
    lines = [task | {"docid": docid, "label": label, "answer": answer} for docid, label, answer in answers]
    write_jsonl(tmp_path / "one.jsonl", lines)  # classification: does this label fit?
    assert "line 2: label 'not relevant', expected a whole number" in heed(COMMAND, "one.jsonl", "--out", "p").stderr
    done = heed(COMMAND, "one.jsonl", "--grades", "relevant=1,not relevant=0", "--out", "p")
    assert (tmp_path / "p").read_text() == "1 0 a 1\n1 0 b 0\n" and "left out: 1 ignored\n" in done.stderr


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for title, lines in sheets.items():
        sheet = book.create_sheet(title)
        for line in lines:
            sheet.append(line)
    book.save(path)
    return path


def test_all_sheets_of_a_workbook_with_judgements_are_read(tmp_path: Path, heed: Heed) -> None:
    header = ["qid", "docid", "grade"]
    sheets = {who: [header, ["1", "a", grade], ["1", "b", 1]] for who, grade in (("ann", 0), ("ben", 0), ("cem", 3))}
    notes = [["how we judged"], ["by the guidelines"]]
    path = workbook(tmp_path / "p.xlsx", notes=notes, **sheets, empty=[])
    done = heed(COMMAND, "p.xlsx", "--resolve", "majority", "--out", "q")
    assert (tmp_path / "q").read_text() == "1 0 a 0\n1 0 b 1\n"
    assert "p.xlsx: judgements in sheet ann, sheet ben, sheet cem, of 4 sheets\n" in done.stderr
    assert "p.xlsx, sheet ann and p.xlsx, sheet ben: 2 documents are judged by both, equal 1.000" in done.stdout
    named = {topic: [[*header, "assessor"], [topic, "a", 1, "Ann"]] for topic in ("1", "2")}
    assert [*persons(workbook(path, **named))] == ["Ann"]
    with pytest.raises(HeedError, match=r"p\.xlsx, sheet cem, row 3: qid is 12\.5, expected an id"):
        read_labels([workbook(path, ann=sheets["ann"], cem=[*sheets["cem"][:2], [12.5, "b", 1]])])


def test_formulas_count_by_their_values_and_without_one_are_refused(tmp_path: Path) -> None:
    header, formula = ["qid", "docid", "grade", "note"], '=IF(A2="1",2,"")'
    path = workbook(
        tmp_path / "p.xlsx", s=[header, ["1", "a", formula, "=1"], ["=A2", "b", "=C2", None], ["1", "c", 1]]
    )
    with pytest.raises(HeedError) as caught:
        read_labels([path])
    assert str(caught.value).splitlines() == [
        f"{path}, row {row}: {name} is a formula without a value; calculate it in a spreadsheet program and save the "
        "workbook"
        for row, name in ((2, "note"), (2, "grade"), (3, "qid"), (3, "grade"))
    ]
    # as spreadsheet programs save it: with values, of which an empty text is one
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    sheet = files["xl/worksheets/sheet1.xml"].decode()
    for cell, kind, value in (("C2", "", "2"), ("D2", "", "1"), ("A3", ' t="str"', "1"), ("C3", ' t="str"', "")):
        sheet = re.sub(f'<c r="{cell}">(<f>[^/]*</f>)<v></v>', f'<c r="{cell}"{kind}>\\1<v>{value}</v>', sheet)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (files | {"xl/worksheets/sheet1.xml": sheet.encode()}).items():
            archive.writestr(name, content)
    assert qrels_of(path) == {"1": {"a": 2, "c": 1}}


def test_a_workbook_whose_cells_became_numbers(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in (["qid", "docid", "grade", "title"], [12, "a", 2.0, None], [None] * 4, [12, 7, "1", "=1+1"]):
        book.active.append(row)
    book.save(tmp_path / "p.xlsx")
    assert qrels_of(tmp_path / "p.xlsx") == {"12": {"a": 2, "7": 1}}
    book.active.append([12.5, "b", 1])
    book.save(tmp_path / "p.xlsx")
    with pytest.raises(HeedError, match=r"p\.xlsx, row 5: qid is 12\.5, expected an id as it was exported"):
        qrels_of(tmp_path / "p.xlsx")


def test_judgements_of_two_conditions_are_kept_apart(tmp_path: Path) -> None:
    for condition in ("original", "changed"):
        export("jsonl", tmp_path / f"{condition}.jsonl", material(tmp_path, condition))
    files = [tmp_path / "original.jsonl", tmp_path / "changed.jsonl"]
    with pytest.raises(HeedError, match=r"judgements under several: changed \(.*\), original \(.*\); choose one"):
        read_labels(files)
    chosen = read_labels(files, condition="changed")
    assert chosen == read_labels(files[1:]) and chosen


def test_in_an_export_of_annotate_a_decision_decides_and_what_is_outdated_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [("a", "Ann", 1), ("a", "Bob", 1), ("a", "adjudicated", 0), ("b", "Ann", 1), ("b", "Bob", 1)]
    lines: list[dict[str, Any]] = [
        {"qid": "1", "docid": docid, "condition": "original", "assessor": name, "grade": grade, "reworded": False}
        for docid, name, grade in given
    ]
    lines.append(lines[-1] | {"assessor": "adjudicated", "grade": 3, "reworded": True})
    file = write_jsonl(tmp_path / "judgements.jsonl", lines)
    command = [str(file), "--out", str(tmp_path / "q"), "--resolve", "majority", "--condition"]
    assert main([*command, "Original"]) == 0
    assert read_qrels(tmp_path / "q") == {"1": {"a": 0, "b": 1}}
    told = capsys.readouterr()
    assert [line.partition(",")[0] for line in told.out.splitlines()] == ["Ann and Bob: 2 documents are judged by both"]
    assert "left out: 1 from before an edit or a correction" in told.err and "majority is taken" not in told.err
    assert main([*command, "orignal"]) == 1
    assert "condition: no judgement under 'orignal'; there are original" in capsys.readouterr().err
    write_jsonl(file, [lines[0] | {"condition": "changed"}])
    assert main([*command, "changed"]) == 0
    assert "what was not relevant, and not judged again, is in changed.qrels of " in capsys.readouterr().err


def test_documents_outside_the_pool_are_refused_and_unjudged_ones_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pool(tmp_path / "pool.jsonl", POOL)
    lines = [{"qid": "12", "docid": "007", "grade": 1}]
    given_files = [str(write_jsonl(tmp_path / "j.jsonl", lines)), "--out", str(tmp_path / "q")]
    given_files += ["--pool", str(tmp_path / "pool.jsonl")]
    assert main(given_files) == 0
    assert "6 documents are not judged and left out" in capsys.readouterr().err
    write_jsonl(tmp_path / "j.jsonl", [*lines, {"qid": "12", "docid": "7", "grade": 1}, {"qid": "0", "docid": "007"}])
    assert main(given_files) == 1
    told = capsys.readouterr().err.splitlines()
    assert told == [
        f"error: {tmp_path}/j.jsonl, line {line} is not in the pool; was an id changed?"
        for line in ("2: document 7 of topic 12", "3: document 007 of topic 0")
    ]


def test_the_command_as_a_user_runs_it(heed: Heed, tmp_path: Path) -> None:
    done = heed(COMMAND, RESULTS / "label_studio.json", "--out", "new.qrels", "--resolve", "highest")
    assert done.returncode == 0 and "2 documents are judged by both, equal 0.500" in done.stdout
    assert (tmp_path / "new.qrels").read_text("utf-8") == (
        "12 0 007 0\n12 0 =1+1 1\n12 0 fas-1 2\n12 0 zho-1 3\n0x 0 zho-1 2\n"
    )
    (tmp_path / "open.jsonl").write_text('{"qid": "1", "docid": "a", "relevance": 1}\n')
    failed = heed(COMMAND, "open.jsonl", "--out", "q")
    assert failed.returncode == 1
    assert failed.stderr == ("error: none of 1 documents is judged; expected a grade in the field grade or label\n")
    assert not (tmp_path / "q").exists()
    assert heed(COMMAND, "open.jsonl").returncode == 2
    assert heed(COMMAND, "missing.jsonl", "--out", "q").stderr.startswith("error: missing.jsonl: no such file")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
def test_results_and_judgements_are_read_in_their_encoding(tmp_path: Path, encoding: str) -> None:
    written = {
        "e.csv": "qid,docid,grade\n1,文档,2\n",
        "e.json": '[{"qid": "1", "docid": "文档", "grade": 2}]',
        "e.qrels": "1 0 文档 2\n",
    }
    for name, text in written.items():
        (tmp_path / name).write_bytes(text.encode(encoding))
    named = encoding if encoding == "gb18030" else ""
    labels = read_labels([tmp_path / name for name in written], encoding=named)
    assert [(label.docid, label.text) for label in labels] == [("文档", "2")] * 3
    assert read_judged("judged", [tmp_path / "e.qrels"], named) == {"1": {"文档": 2}}


def test_line_ends_of_old_macs_are_read_in_exports(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes(b'qid,docid,grade,text\r1,d,2,"a\nb"\r1,e,0,\r')
    assert [(label.docid, label.text) for label in read_labels([tmp_path / "e.csv"])] == [("d", "2"), ("e", "0")]
