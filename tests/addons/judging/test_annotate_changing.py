"""A campaign that changes: topics and documents added, corrected and withdrawn, with what is to be judged again."""

import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from annotating import Judging, grade
from conftest import ROOT, Heed, write_jsonl
from invited import inviting

from heed.addons.judging.annotate.grades import export, progress_by_topic
from heed.addons.judging.annotate.server import topic_data
from heed.addons.judging.annotate.store import Store, wording_of
from heed.addons.judging.annotate.task import ADJUDICATED, Edits, Task, topic_differences
from heed.errors import HeedError
from heed.formats.trec_files import read_qrels, write_qrels
from heed.types import Topic
from pipelines.annotate import open_given, parser

FERRIES = {"qid": "1", "lang": "eng", "query": "ferries", "instructions": {"original": "Sunk ferries."}}
KELP = {"qid": "2", "lang": "eng", "query": "kelp", "instructions": {"original": "Farms of kelp."}}
GRADES = {"a": 3, "b": 1, "c": 0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "docs.jsonl", [{"id": docid, "text": f"text {docid}"} for docid in "abcd"])
    write_jsonl(tmp_path / "topics.jsonl", [FERRIES])
    write_jsonl(tmp_path / "pool.jsonl", [{"qid": "1", "docids": ["a", "b", "c"]}])
    return tmp_path


@contextmanager
def opened(folder: Path, *arguments: object) -> Iterator[tuple[Task, Store]]:
    """A start with the files as they are now."""
    files = [folder / "pool.jsonl", "--topics", folder / "topics.jsonl", "--docs", folder / "docs.jsonl"]
    task, store = open_given(parser().parse_args([*map(str, [*files, *arguments])]))
    with closing(store):
        yield task, store


def begin(folder: Path) -> None:
    """Ann judges all documents of the first topic."""
    with opened(folder) as (_, store):
        for docid, grade in GRADES.items():
            Judging(store).grade("Ann", "1", docid, grade)


def judged(task: Task, store: Store, name: str = "Ann") -> dict[str, int]:
    narratives = {qid: text for qid, (text, _) in store.narratives().items()}
    progress = progress_by_topic(task, store.judgements(), narratives, name)
    return {qid: topic["original"] for qid, topic in progress.items()}


def logged(store: Store) -> int:
    return store.last()


def test_a_topic_is_added_with_its_documents(folder: Path) -> None:
    begin(folder)
    write_jsonl(folder / "pool.jsonl", [{"qid": "1", "docids": ["a", "b", "c"]}, {"qid": "2", "docids": ["a", "d"]}])
    with pytest.raises(HeedError, match="topics: topic 2 of the pool is not there; give the topics that were pooled"):
        opened(folder).__enter__()
    write_jsonl(folder / "topics.jsonl", [FERRIES, KELP])
    with opened(folder) as (task, store):
        assert task.pool == {"1": ["a", "b", "c"], "2": ["a", "d"]}
        assert (store.narratives()["2"], judged(task, store)) == (("Farms of kelp.", 0), {"1": 3, "2": 0})
        document = store.document("d")
        assert document and document.text == "text d"
        Judging(store).grade("Ann", "2", "d", 2)
        export(task, store, folder / "out")
    assert read_qrels(folder / "out" / "original.qrels") == {"1": GRADES, "2": {"d": 2}}
    with opened(folder) as (task, _):  # and stays
        assert [*task.topics] == ["1", "2"]


def test_a_topic_is_added_with_its_given_judgements(folder: Path) -> None:
    write_qrels(folder / "given.qrels", {"1": {"a": 1, "b": 1}})
    given = ("--qrels", folder / "given.qrels", "--only-relevant")
    with opened(folder, *given) as (task, _):
        assert {qid: task.to_judge(qid) for qid in task.pool} == {"1": ["a", "b"]}
    write_qrels(folder / "given.qrels", {"1": {"a": 1, "b": 1}, "2": {"a": 1, "d": 0}})
    write_jsonl(folder / "topics.jsonl", [FERRIES, KELP])
    write_jsonl(folder / "pool.jsonl", [{"qid": "1", "docids": ["a", "b", "c"]}, {"qid": "2", "docids": ["a", "d"]}])
    for _ in range(2):
        with opened(folder, *given) as (task, _):
            assert {qid: task.to_judge(qid) for qid in task.pool} == {"1": ["a", "b"], "2": ["a"]}


def test_long_narratives_are_shown_where_they_differ() -> None:
    """Two texts of which only the first forty characters were shown looked the same."""
    before, now = (Topic("1", "fas", "کشتی", {"original": f"نیم‌فاصله{' x' * 30} {word}{' y' * 30}"}) for word in "ab")
    shown = [f"'…{'x ' * 10}{word}{' y' * 9} …'" for word in "ba"]
    assert topic_differences(before, now, Edits()) == [f"original narrative {shown[0]}, not {shown[1]}"]


def test_a_corrected_narrative_is_refused_or_taken_and_its_grades_are_given_again(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begin(folder)
    write_jsonl(folder / "topics.jsonl", [{**FERRIES, "instructions": {"original": "Ferries that sank at night."}}])
    with pytest.raises(HeedError, match="original narrative 'Ferries that sank at night.', not 'Sunk ferries.'"):
        opened(folder).__enter__()
    with opened(folder, "--update") as (task, store):
        assert "topic 1 is corrected: original narrative" in caplog.text
        assert "3 judgements to be given again" in caplog.text
        assert store.narratives()["1"][0] == "Ferries that sank at night.", "it was not edited, and is not now"
        assert judged(task, store) == {"1": 0}
        lines = export(task, store, folder / "out")
        assert not (folder / "out" / "original.qrels").exists()
        assert "3 judgements made before the narrative's last edit or a correction, left out (topic 1: 3)" in lines
        before = logged(store)
        assert Judging(store).undo("Ann") == [], "a correction is not hers to undo"
        Judging(store).grade("Ann", "1", "b", 1)
        assert (judged(task, store), logged(store)) == ({"1": 1}, before + 1)
        Judging(store).undo("Ann")
        assert judged(task, store) == {"1": 0}
    with opened(folder) as (task, store):
        assert task.original("1") == "Ferries that sank at night."
    (folder / "old.csv").write_text("qid,docid,grade,assessor\n1,a,3,Ann\n1,b,1,Ann\n1,c,0,Ann\n")
    os.utime(folder / "old.csv", (1e9, 1e9))
    with opened(folder, "--add", folder / "old.csv", "--as", "Ann=Ann"):
        assert "old.csv: 3 grades older than a correction here: to be given again, and not taken" in caplog.text


def test_a_decision_under_the_narrative_of_before_leads_nobody_to_read_again(folder: Path) -> None:
    begin(folder)
    texts = {"original": "Ferries that sank at night.", "changed": "Those of the Baltic."}
    with opened(folder) as (_, store):
        for docid in "ab":
            Judging(store).grade("Bela", "1", docid, 0)
        Judging(store).grade(ADJUDICATED, "1", "a", 3)
    write_jsonl(folder / "topics.jsonl", [{**FERRIES, "instructions": texts}])
    with opened(folder, "--update") as (task, store):
        Judging(store).grade("Bela", "1", "a", 0)
        narratives = {qid: text for qid, (text, _) in store.narratives().items()}
        assert progress_by_topic(task, store.judgements(), narratives, "Bela")["1"]["again"] == 0
        document = next(each for each in topic_data(task, store, "Bela", "1")["documents"] if each["docid"] == "a")
        assert "decided" not in document


def test_a_corrected_query_outdates_nothing(folder: Path) -> None:
    begin(folder)
    write_jsonl(folder / "topics.jsonl", [{**FERRIES, "query": "ferry accidents"}])
    with opened(folder, "--update") as (task, store):
        assert (task.topics["1"].query, judged(task, store)) == ("ferry accidents", {"1": 3})


def test_changed_narratives_are_taken_from_a_file_once(folder: Path) -> None:
    begin(folder)
    edited = {"original": "Sunk ferries.", "changed": "Sunk ferries, with victims."}
    write_jsonl(folder / "topics.jsonl", [{**FERRIES, "instructions": edited}])
    with opened(folder, "--update") as (task, store):
        assert (store.narratives()["1"][0], judged(task, store)) == ("Sunk ferries, with victims.", {"1": 3})
        Judging(store).grade("Ann", "1", "a", 0, "changed")
        Judging(store).grade("Ann", "1", "b", 1, "changed")
        export(task, store, folder / "out")
    assert read_qrels(folder / "out" / "changed.qrels") == {"1": {"a": 0, "b": 1, "c": 0}}
    with opened(folder) as (task, store):
        Judging(store).edit("Ann", "1", "Sunk ferries, with many victims.")
    with opened(folder, "--update") as (task, store):
        assert store.narratives()["1"][0] == "Sunk ferries, with many victims.", "the file has nothing new"
    edited["changed"] = "Sunk ferries, without victims."
    write_jsonl(folder / "topics.jsonl", [{**FERRIES, "instructions": edited}])
    with opened(folder, "--update") as (task, store):
        assert store.narratives()["1"][0] == "Sunk ferries, without victims."
        lines = export(task, store, folder / "out")
    assert any("2 judgements made before the narrative's last edit" in line for line in lines)
    assert not (folder / "out" / "changed.qrels").exists()


def test_an_edit_on_the_page_is_named_before_a_file_replaces_it(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    begin(folder)

    def give(changed: str) -> None:
        texts = {"original": "Sunk ferries.", "changed": changed}
        write_jsonl(folder / "topics.jsonl", [{**FERRIES, "instructions": texts}])

    give("Sunk ferries, in 1994.")
    with opened(folder, "--update") as (_, store):
        Judging(store).edit("Ann", "1", "Sunk ferries, at night.")
        for docid in "ab":
            Judging(store).grade("Ann", "1", docid, 1, "changed")
        Judging(store).grade("Bela", "1", "a", 1, "changed")
    with opened(folder):
        pass  # the file of before has nothing new
    give("Sunk ferries, by day.")
    edit = "changed narrative 'Sunk ferries, by day.', not 'Sunk ferries, at night.'"
    who = ", edited on the page by Ann, with 3 grades under it"
    with pytest.raises(HeedError, match=f"topic 1 has {edit}{who}; give what it was made with"):
        opened(folder).__enter__()
    with opened(folder, "--update") as (_, store):
        assert f"topic 1 is corrected: {edit}{who}, grades under the changed narrative are to be given" in caplog.text
        assert store.narratives()["1"][0] == "Sunk ferries, by day."
    give("Sunk ferries, by ice.")
    with pytest.raises(HeedError, match="by ice.', not 'Sunk ferries, by day.'; give"):  # that of a file
        opened(folder).__enter__()


def test_other_texts_of_documents_are_noticed_at_a_start(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    begin(folder)
    write_jsonl(folder / "docs.jsonl", [{"id": docid, "text": f"text {docid}"} for docid in "dcba"])
    with opened(folder):
        pass  # another file, with the same texts
    write_jsonl(folder / "docs.jsonl", [{"id": docid, "text": f"text {docid * 2}"} for docid in "bd"])
    write_jsonl(folder / "pool.jsonl", [{"qid": "1", "docids": ["a", "b", "c", "d"]}])
    with pytest.raises(HeedError, match="documents b have another text than the one that is judged; take it by"):
        opened(folder).__enter__()
    with closing(Store(folder / "pool.db")) as store:
        assert store.document("d") is None, "nothing is taken"
    write_jsonl(folder / "pool.jsonl", [{"qid": "1", "docids": ["a", "b", "c"]}])
    with opened(folder, "--update") as (task, store):
        assert "documents b are corrected; 1 judgement to be given again" in caplog.text
        document = store.document("b")
        assert document and document.text == "text bb"
        assert judged(task, store) == {"1": 2}
        export(task, store, folder / "out")
    assert read_qrels(folder / "out" / "original.qrels") == {"1": {"a": 3, "c": 0}}


def test_what_is_withdrawn_is_neither_judged_nor_exported_until_it_comes_back(folder: Path) -> None:
    write_jsonl(folder / "pool.jsonl", [{"qid": "1", "docids": ["a", "b", "c"]}, {"qid": "2", "docids": ["a", "d"]}])
    write_jsonl(folder / "topics.jsonl", [FERRIES, KELP])
    begin(folder)
    (folder / "withdrawn.tsv").write_text("2\n1\tb\n\n")
    with opened(folder, "--withdraw", folder / "withdrawn.tsv") as (task, store):
        assert (task.pool, [*task.topics]) == ({"1": ["a", "c"]}, ["1"])
        before = logged(store)
        export(task, store, folder / "out")
    assert read_qrels(folder / "out" / "original.qrels") == {"1": {"a": 3, "c": 0}}
    records = [json.loads(line) for line in (folder / "out" / "judgements.jsonl").read_text().splitlines()]
    assert [record["docid"] for record in records] == ["a", "c"]
    with opened(folder) as (task, _):
        assert task.pool == {"1": ["a", "c"]}, "it is remembered"
    (folder / "withdrawn.tsv").write_text("")
    with opened(folder, "--withdraw", folder / "withdrawn.tsv") as (task, store):
        assert (judged(task, store), logged(store)) == ({"1": 3, "2": 0}, before)
    (folder / "withdrawn.tsv").write_text("9\n1\tz\n")
    with pytest.raises(HeedError) as error:
        opened(folder, "--withdraw", folder / "withdrawn.tsv").__enter__()
    assert [line.partition("withdrawn.tsv, ")[2].partition(";")[0] for line in str(error.value).splitlines()] == [
        "line 1: topic 9 is not in the pool",
        "line 2: document z of topic 1 is not in the pool",
    ]


@pytest.mark.parametrize(
    ("option", "text", "problem"),
    [
        ("--withdraw", "9\n", "topic 9 is not in the pool"),
        ("--assign", "9\tAnn\n", "topic 9 is not in the pool"),
        ("--assessors", "Ann,adjudicator\n", "found 'Ann,adjudicator', expected a tab before the role"),
        ("--add", "qid,docid,grade\n1,a,7\n", "label '7'"),
    ],
)
def test_a_command_that_fails_applies_nothing(folder: Path, option: str, text: str, problem: str) -> None:
    begin(folder)
    before = sqlite3.connect(folder / "pool.db").execute("SELECT * FROM kept").fetchall()
    write_jsonl(folder / "topics.jsonl", [FERRIES | {"query": "other"}])
    (folder / "file.csv").write_text(text)
    with pytest.raises(HeedError, match=problem):
        opened(folder, "--update", option, folder / "file.csv").__enter__()
    assert sqlite3.connect(folder / "pool.db").execute("SELECT * FROM kept").fetchall() == before


@pytest.mark.parametrize(
    ("export", "problem"),
    [
        (("--export", "out", "--unjudged", "error"), "1 of 3 pooled documents are not judged (topic 1: 1)"),
        (("--export", "out", "--assessor", "Bob"), "Bob has judged nothing"),
        (("--export", "csv=docs.jsonl"), "docs.jsonl: csv is recognised by its suffix"),
        (("--export", "csv=out.csv", "--assessor", "Bob"), "Bob has no topic"),
        (("--export", "."), "has topics.jsonl, of no earlier export"),
    ],
)
def test_an_update_whose_export_fails_is_not_applied(
    folder: Path, heed: Heed, export: tuple[str, ...], problem: str
) -> None:
    (folder / "assigned.tsv").write_text("1\tAnn\n")
    with opened(folder, "--assign", folder / "assigned.tsv") as (_, store):
        Judging(store).grade("Ann", "1", "a", 3)
        Judging(store).grade("Ann", "1", "b", 3)
    write_jsonl(folder / "topics.jsonl", [FERRIES | {"query": "other"}])
    files = ("pool.jsonl", "--topics", "topics.jsonl", "--docs", "docs.jsonl", "--update")
    failed = heed("pipelines.annotate", *files, *export)
    assert failed.returncode == 1 and problem in failed.stderr, failed.stderr
    with closing(Store(folder / "pool.db")) as store:
        assert json.loads(store.properties()["topics"])[0]["query"] == "ferries"
    assert heed("pipelines.annotate", *files, "--export", "out").returncode == 0
    assert '"other"' in (folder / "out" / "topics.jsonl").read_text()
    with closing(Store(folder / "pool.db")) as store:
        assert json.loads(store.properties()["topics"])[0]["query"] == "other"


def test_a_grade_that_waited_while_a_text_was_corrected_is_of_the_earlier_text(folder: Path) -> None:
    (folder / "people.tsv").write_text("Ann\n")
    files = (folder / "pool.jsonl", "--topics", folder / "topics.jsonl", "--docs", folder / "docs.jsonl")
    with inviting(*files, "--assessors", folder / "people.tsv") as server:
        links = server.links
        versions = {docid: server.asked("Ann", f"/api/document?docid={docid}")["version"] for docid in "abc"}
    write_jsonl(folder / "docs.jsonl", [{"id": docid, "text": f"text {docid}"} for docid in "acd"])
    with (folder / "docs.jsonl").open("a") as stream:
        stream.write('{"id": "b", "text": "text b, corrected"}\n')
    with inviting(*files, "--update") as server:
        server.links = links
        waiting = [{**grade("1", docid, 2), "read": versions[docid]} for docid in "ab"]
        assert server.send("Ann", *waiting, grade("1", "c", 2))[0] == 200
        topic = server.asked("Ann", "/api/topic?qid=1")
        assert [document["original"]["stale"] for document in topic["documents"]] == [False, True, False]
        read = server.asked("Ann", "/api/document?docid=b")["version"]
        assert read != versions["b"] and server.send("Ann", {**grade("1", "b", 2), "read": read})[0] == 200
        assert not server.asked("Ann", "/api/topic?qid=1")["documents"][1]["original"]["stale"]


def test_withdrawn_topics_are_left_out_of_an_assignment(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_jsonl(folder / "pool.jsonl", [{"qid": "1", "docids": ["a"]}, {"qid": "2", "docids": ["a"]}])
    write_jsonl(folder / "topics.jsonl", [FERRIES, KELP])
    caplog.set_level("INFO")
    (folder / "withdrawn.tsv").write_text("2\n")
    (folder / "assign.tsv").write_text("1\tAnn\n2\tBob\n")
    with opened(folder, "--withdraw", folder / "withdrawn.tsv", "--assign", folder / "assign.tsv") as (task, _):
        assert task.assigned == {"1": ["Ann"]}
    assert "assign.tsv: withdrawn topics are left out: 2" in caplog.text and "to nobody" not in caplog.text


def test_topics_that_are_assigned_to_nobody_are_named_at_every_start(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "assign.tsv").write_text("1\tAnn\n")
    with opened(folder, "--assign", folder / "assign.tsv"):
        assert "to nobody" not in caplog.text
    write_jsonl(folder / "pool.jsonl", [{"qid": "1", "docids": ["a"]}, {"qid": "2", "docids": ["d"]}])
    write_jsonl(folder / "topics.jsonl", [FERRIES, KELP])
    for _ in range(2):
        caplog.clear()
        with opened(folder):
            assert "assigned to nobody: 2" in caplog.text


def test_an_assessor_is_left_out_of_every_file(folder: Path, heed: Heed) -> None:
    begin(folder)
    with opened(folder) as (_, store):
        for docid in "abc":
            Judging(store).grade("Spam", "1", docid, 2)
    command = ("pipelines.annotate", "pool.jsonl", "--export", "out", "--leave-out")
    assert heed(*command, "Spam").returncode == 0
    assert read_qrels(folder / "out" / "original.qrels") == {"1": GRADES}
    assert not any("Spam" in path.read_text() for path in (folder / "out").iterdir())
    refused = heed(*command, "Dan")
    assert refused.returncode == 1 and "error: Dan has judged nothing; who has: Ann, Spam" in refused.stderr


@pytest.mark.skipif(not shutil.which("setpriv"), reason="root may write everywhere, unless setpriv takes that away")
def test_from_a_folder_that_is_only_read_judgements_are_exported(folder: Path, tmp_path: Path) -> None:
    begin(folder)
    (archive := folder / "archive").mkdir()
    for name in ("pool.jsonl", "pool.db"):
        shutil.copy(folder / name, archive)
        (archive / name).chmod(0o444)
    archive.chmod(0o555)
    command = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    command += [sys.executable, "-m", "pipelines.annotate", str(archive / "pool.jsonl"), "--no-browser"]
    exported = subprocess.run([*command, "--export", str(folder / "out")], cwd=ROOT, capture_output=True, text=True)
    assert exported.returncode == 0, exported.stderr
    assert read_qrels(folder / "out" / "original.qrels") == {"1": GRADES}
    assert sorted(path.name for path in archive.iterdir()) == ["pool.db", "pool.jsonl"]
    served = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "readonly database; nothing of it is changed; copy it to a folder of yours, then run again" in served.stderr
    archive.chmod(0o755)


def test_a_share_for_another_tool_has_the_campaigns_scale_and_what_is_left(folder: Path, heed: Heed) -> None:
    write_jsonl(folder / "pool.jsonl", [{"qid": "1", "docids": ["a", "b"]}, {"qid": "2", "docids": ["a", "d"]}])
    write_jsonl(folder / "topics.jsonl", [FERRIES, KELP])
    (folder / "assigned.tsv").write_text("1\tAnn\n2\tBob\n")
    files = ("pool.jsonl", "--topics", "topics.jsonl", "--docs", "docs.jsonl", "--grades", "0=off,1=near,3=on")
    made = heed("pipelines.annotate", *files, "--assign", "assigned.tsv", "--export", "doccano=all.jsonl")
    assert made.returncode == 0 and made.stdout == "all.jsonl: 4 documents of 2 topics, original\n", made.stderr
    labels = json.loads((folder / "all.labels.json").read_text())
    assert [(label["text"], label["background_color"]) for label in labels] == [
        ("0", "#d9d9d9"),
        ("1", "#fc8d59"),  # the middle of three: the strong one of the two in the middle of four
        ("3", "#d7301f"),
    ]
    with closing(Store(folder / "pool.db")) as store:
        Judging(store).grade("Ann", "1", "b", 3)
    share = ("pipelines.annotate", "pool.jsonl", "--assessor", "Ann", "--export", "label-studio=ann.json")
    assert heed(*share).stdout == "ann.json: 2 documents of 1 topic, original\n"
    assert heed(*share, "--only-open").stdout == "ann.json: 1 document of 1 topic, original\n"
    unknown = heed("pipelines.annotate", "pool.jsonl", "--export", "csv=a.csv", "--assessor", "ann")
    assert "ann has no topic; who has: Ann" in unknown.stderr
    misspelt = heed("pipelines.annotate", "pool.jsonl", "--export", "labelstudio=a.json")
    assert "--export: found 'labelstudio=a.json', expected a folder, or FORM=PATH with one of" in misspelt.stderr
    assert not (folder / "labelstudio=a.json").exists()
    [task] = json.loads((folder / "ann.json").read_text())
    assert [task["data"][name] for name in ("qid", "docid", "instruction", "text")] == [
        "1",
        "a",
        "Sunk ferries.",
        "text a",
    ]
    assert 'value="3: on" alias="3" hotkey="3"' in (folder / "ann.xml").read_text()
    with closing(Store(folder / "pool.db")) as store:
        Judging(store).grade("Ann", "1", "a", 0)
    done = heed(*share, "--only-open")
    assert done.returncode == 1 and "no document is left to judge for Ann" in done.stderr
    idle = heed("pipelines.annotate", "pool.jsonl", "--export", "out", "--only-open")
    assert idle.returncode == 1 and "--only-open: not used here" in idle.stderr


def test_a_share_that_is_filled_in_is_its_persons_under_any_name_of_the_file(folder: Path, heed: Heed) -> None:
    begin(folder)
    assert heed("pipelines.annotate", "pool.jsonl", "--assessor", "Ann", "--export", "csv=share.csv").returncode == 0
    with (folder / "share.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = [*csv.DictReader(stream)]
    assert {row["assessor"] for row in rows} == {"Ann"}
    with (folder / "filled.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [*rows[0]])
        writer.writeheader()
        writer.writerows({**row, "grade": "2"} for row in rows)
    added = heed("pipelines.annotate", "pool.jsonl", "--add", "filled.csv", "--as", "Ann=Ann", "--export", "out")
    assert "filled.csv: 3 judgements of Ann, 3 of them new here" in added.stderr
    renamed = heed("pipelines.annotate", "pool.jsonl", "--rename", "Ann=Ann Lee", "--export", "out")
    assert "Ann is Ann Lee: 3 judgements" in renamed.stderr
    assert '"assessor": "Ann Lee"' in (folder / "out" / "judgements.jsonl").read_text()


def test_what_an_edit_leaves_open_is_judged_again_in_another_tool(folder: Path, heed: Heed) -> None:
    begin(folder)  # c is not relevant, so it is not judged again
    with opened(folder) as (_, store):
        Judging(store).edit("Ann", "1", "Sunk ferries, but not those that were raised.")
    share = ("pipelines.annotate", "pool.jsonl", "--export", "csv=again.csv", "--only-open")
    assert heed(*share).stdout == "again.csv: 2 documents of 1 topic, changed\n"
    assert heed(*share, "--assessor", "Ann").stdout == "again.csv: 2 documents of 1 topic, changed\n"
    lines = (folder / "again.csv").read_text().splitlines()
    assert [line.split(",")[:3] for line in lines[1:]] == [["1", "a", "changed"], ["1", "b", "changed"]]
    # cells: qid, docid, condition, query, instruction with a comma in it, grade, title, text
    (folder / "again.csv").write_text(
        "\n".join([lines[0], lines[1].replace('",,', '",2,'), lines[2].replace('",,', '",0,')])
    )
    added = heed("pipelines.annotate", "pool.jsonl", "--add", "again.csv", "--as", "Ann=Ann", "--export", "out")
    assert added.returncode == 0, added.stderr
    assert read_qrels(folder / "out" / "changed.qrels") == {"1": {"a": 2, "b": 0, "c": 0}}
    kept = heed(*share)
    assert kept.returncode == 1 and "again.csv is there already, and is no export, or was changed" in kept.stderr
    done = heed("pipelines.annotate", "pool.jsonl", "--export", "csv=none.csv", "--only-open")
    assert done.returncode == 1 and "no document is left to judge" in done.stderr


def test_topics_over_documents_in_another_language_are_in_the_same_database(folder: Path, heed: Heed) -> None:
    begin(folder)
    persian = {"qid": "fas-1", "lang": "fas", "query": "کشتی", "instructions": {"original": "کشتی‌های غرق شده."}}
    write_jsonl(folder / "fas.jsonl", [{"qid": "fas-1", "docids": ["p"]}])
    write_jsonl(folder / "fas-topics.jsonl", [persian])
    write_jsonl(folder / "fas-docs.jsonl", [{"id": "p", "text": "کشتی غرق شد"}])
    database = ("--database", folder / "pool.db")
    files = ("--topics", folder / "fas-topics.jsonl", "--docs", folder / "fas-docs.jsonl", *database)
    with inviting(folder / "fas.jsonl", *files, "--lang", "fas", "--assessors", people(folder)) as server:
        topics = {topic["qid"]: topic for topic in server.asked("Ann", "/api/task")["topics"]}
        assert [topics[qid]["documentLanguage"] for qid in topics] == [
            {"tag": "en", "dir": "ltr"},
            {"tag": "fa", "dir": "rtl"},
        ]
        server.send("Ann", grade("fas-1", "p", 2))
        terms = [
            json.loads(server.as_person("Ann", "POST", "/api/terms", {"qid": qid, "texts": ["the ferries"]})[2])
            for qid in topics
        ]
        # English leaves out "the" and stems by Porter, Persian does neither
        assert [[term for _, _, term in one["terms"][0]] for one in terms] == [["ferri"], ["the", "ferries"]]
    refused = heed("pipelines.annotate", "fas.jsonl", *files, "--lang", "rus", "--export", "out")
    assert refused.returncode == 1 and "documents in rus, not fas" in refused.stderr
    assert heed("pipelines.annotate", "fas.jsonl", *files, "--export", "out").returncode == 0, "the language is known"
    assert read_qrels(folder / "out" / "original.qrels") == {"1": GRADES, "fas-1": {"p": 2}}
    langs = [json.loads(line)["lang"] for line in (folder / "out" / "topics.jsonl").read_text().splitlines()]
    assert langs == ["eng", "fas"]
    with opened(folder, "--add", folder / "out", "--as", "Ann=Ann", *database) as (task, _):
        assert task.lang_of("fas-1") == "fas", "an export of both is one that can be added"


def people(folder: Path) -> Path:
    path = folder / "people.tsv"
    path.write_text("Ann\n")
    return path


def test_an_added_exports_edits_are_taken_where_the_narrative_is_not_edited_here(folder: Path) -> None:
    begin(folder)
    with opened(folder, "--database", folder / "there.db") as (task, store):
        Judging(store).edit("Ben", "1", "Sunk ferries, with victims.")
        Judging(store).grade("Ben", "1", "a", 1, "changed")
        export(task, store, folder / "there")
    with opened(folder, "--add", folder / "there") as (task, store):
        assert store.narratives()["1"][0] == "Sunk ferries, with victims."
        [added] = [judgement for judgement in store.judgements() if judgement.assessor == "Ben"]
        assert not added.is_stale(wording_of("Sunk ferries, with victims."))
