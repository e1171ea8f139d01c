"""Other assessors' databases, added to one: nothing is lost, nothing counts twice, and who judged is kept apart."""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from annotating import Judging, annotation_files
from conftest import Heed, write_jsonl

from heed.addons.judging.annotate.grades import current, export
from heed.addons.judging.annotate.opening import add_annotations, rename
from heed.addons.judging.annotate.store import Change, Judgement, Store, create, wording_of
from heed.addons.judging.annotate.task import (
    ADJUDICATED,
    PooledDocument,
    Task,
    load_task,
    parse_names,
    parse_scale,
    read_assigned,
)
from heed.errors import HeedError, UsageError
from heed.types import Topic

TOPICS = {qid: Topic(qid, "eng", f"query {qid}", {"original": f"narrative {qid}"}) for qid in ("1", "2")}
POOL = {"1": ["a", "b"], "2": ["a"]}
DEEPER = {"1": ["c", "a"], "2": ["d"]}


class Addable(Judging):
    """An annotation to which others are added, made unless it is there."""

    def __init__(self, path: Path, pool: dict[str, list[str]] = POOL, **settings: object) -> None:
        if not path.exists():
            task = replace(Task(pool, TOPICS, "eng", parse_scale("0,1,3")), **settings)  # type: ignore[arg-type]
            create(path, task, (PooledDocument(docid, "", "", f"text {docid}", False) for docid in task.docids()))
        super().__init__(Store(path))

    def add(self, *others: "Addable | Path", names: Sequence[str] = ()) -> None:
        paths = [other if isinstance(other, Path) else other.path for other in others]
        add_annotations(self.store, paths, parse_names(names))

    def task(self) -> Task:
        return load_task(self.store.properties(), only_relevant=False)

    def log(self) -> int:
        with closing(sqlite3.connect(self.path)) as db:
            count: int = db.execute("SELECT COUNT(*) FROM log").fetchone()[0]
            return count


New = Callable[..., Addable]


@pytest.fixture
def new(tmp_path: Path) -> New:
    """A function that makes an annotation by name, or opens what is there."""
    return lambda name, pool=POOL, **settings: Addable(tmp_path / f"{name}.db", pool, **settings)


def test_judgements_notes_times_and_documents_of_another_round_are_added(new: New) -> None:
    here, there = new("here"), new("there", DEEPER)
    here.grade("ann", "1", "a", 1)
    there.grade("bela", "1", "a", 3)
    there.grade("bela", "1", "c", 0)
    there.grade(ADJUDICATED, "1", "a", 3)
    there.record("bela", Change("note", "1", "original", "c", "why"))
    there.grade("bela", "2", "d", 1, "changed")
    before = there.path.read_bytes()
    here.add(there)
    assert there.path.read_bytes() == before
    assert here.grades() == {
        ("ann", "1", "original", "a"): 1,
        ("bela", "1", "original", "a"): 3,
        ("bela", "1", "original", "c"): 0,
        ("bela", "2", "changed", "d"): 1,
        (ADJUDICATED, "1", "original", "a"): 3,
    }
    assert [judgement.note for judgement in here.store.judgements() if judgement.docid == "c"] == ["why"]
    assert {key: at for key, at in here.store.times().items() if key[0] != "ann"} == there.store.times()
    assert here.task().pool == {"1": ["a", "b", "c"], "2": ["a", "d"]}
    assert here.store.document("d") == there.store.document("d")


def test_of_two_decisions_the_later_counts_with_who_made_it(new: New) -> None:
    here, there = new("here"), new("there")
    for docid, first, second in (("a", here, there), ("b", there, here)):
        for judging, value, name in ((first, 1, "Chair"), (second, 3, "Dean")):
            judging.record(ADJUDICATED, Change("grade", "1", "original", docid, value, by=name))
    here.add(there)
    keys = [(ADJUDICATED, "1", "original", docid) for docid in "ab"]
    assert here.grades() == dict.fromkeys(keys, 3)
    assert here.store.deciders() == {key[1:]: "Dean" for key in keys}
    third = new("third")
    third.add(exported(here))
    assert (third.grades(), third.store.deciders()) == (here.grades(), here.store.deciders())


def test_adding_twice_and_going_on_changes_nothing_twice(new: New) -> None:
    here, there = new("here"), new("there")
    there.grade("bela", "1", "a", 3)
    here.add(there)
    once = here.grades(), here.log()
    here.add(there)
    assert (here.grades(), here.log()) == once
    there.grade("bela", "1", "a", 0)
    there.grade("bela", "1", "b", 1)
    here.grade("ann", "1", "b", 3)
    here.add(there)  # bela is known by her judgements
    assert here.grades() == {
        ("ann", "1", "original", "b"): 3,
        ("bela", "1", "original", "a"): 0,
        ("bela", "1", "original", "b"): 1,
    }


def test_the_later_of_contradictory_judgements_of_one_assessor_is_kept_and_told(
    new: New, caplog: pytest.LogCaptureFixture
) -> None:
    here, there = new("here"), new("there")
    here.grade("ann", "1", "a", 1)
    there.grade("ann", "1", "b", 3)
    there.grade("ann", "1", "a", 3)
    here.grade("ann", "1", "b", 0)
    here.grade("ann", "2", "a", 1)
    there.grade("ann", "2", "a", 1)  # the same twice is one
    here.add(there, names=["ann=ann"])
    assert here.grades() == {
        ("ann", "1", "original", "a"): 3,
        ("ann", "1", "original", "b"): 0,
        ("ann", "2", "original", "a"): 1,
    }
    [warning] = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert "there.db: 2 grades or notes that one assessor has changed on both sides, the later is kept" in warning
    assert "ann, topic 1, a, original: 3, not 1; ann, topic 1, b, original: 0, not 3" in warning
    there.add(here)  # and the other way round it is the same
    assert there.grades() == here.grades()


def test_undo_takes_back_what_is_in_force_and_nothing_else(new: New) -> None:
    here, there = new("here"), new("there")
    there.grade("ann", "1", "a", 3)
    here.grade("ann", "1", "a", 0)
    here.grade("ann", "1", "b", 1)
    here.add(there, names=["ann=ann"])
    assert [done["docid"] for done in here.undo("ann")] == ["b"], "the older 3 of the other database is not in force"
    assert [(done["docid"], done["grade"]) for done in here.undo("ann")] == [("a", None)]
    assert here.undo("ann") == []


def test_a_name_on_both_sides_needs_a_decision_unless_judgements_are_shared(
    new: New, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    here, there = new("here"), new("there")
    here.grade("ann", "1", "a", 1)
    there.grade("ann", "1", "a", 3)
    with pytest.raises(UsageError, match=r"there\.db: ann has judged here too; give names='ann=ann' if that is one"):
        here.add(there)
    with pytest.raises(UsageError, match="names: carl has judged nothing there; who has: ann"):
        here.add(there, names=["ann=ann", "carl=x"])
    assert here.log() == 1 and caplog.text == "", "all or nothing"
    here.add(there, names=["ann=ann 2"])
    both = {("ann", "1", "original", "a"): 1, ("ann 2", "1", "original", "a"): 3}
    assert here.grades() == both
    there.grade("ann", "1", "b", 0)
    here.add(there)  # who was added as ann 2 is so again
    assert here.grades() == {**both, ("ann 2", "1", "original", "b"): 0}
    with pytest.raises(UsageError, match="ann was added as ann 2 before, now ann is given"):
        here.add(there, names=["ann=ann"])
    with closing(sqlite3.connect(here.path)) as db:
        db.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
    copy = new("copy")
    copy.grade("ann", "2", "a", 3)
    here.add(copy)
    assert here.grades()["ann", "2", "original", "a"] == 3
    two = new("two")
    two.grade("x", "1", "a", 0)
    two.grade("y", "1", "a", 0)
    with pytest.raises(UsageError, match="x and y would both be z here"):
        here.add(two, names=["x=z", "y=z"])


@pytest.mark.parametrize("text", ["ann", "=x", "ann=", "ann=adjudicated", f"ann={'x' * 41}"])
def test_names_are_names(text: str) -> None:
    with pytest.raises(UsageError):
        parse_names([text])


def test_an_edited_narrative_is_taken_where_only_one_side_has_edited_it(
    new: New, caplog: pytest.LogCaptureFixture
) -> None:
    here, there = new("here"), new("there")
    there.edit("bela", "1", "theirs")
    there.edit("bela", "2", "theirs 2")
    here.edit("ann", "2", "ours 2")
    here.add(there)
    texts = {qid: text for qid, (text, _) in here.store.narratives().items()}
    assert texts == {"1": "theirs", "2": "ours 2"}
    assert "there.db: topics 2: the changed narrative was edited on both sides; the text here is kept" in caplog.text
    there.edit("bela", "1", "theirs again")
    here.add(there)
    assert here.store.narratives()["1"][0] == "theirs again"
    here.edit("ann", "1", "ours")
    here.add(there)
    assert here.store.narratives()["1"][0] == "ours", "the other side has nothing new"
    here.undo("ann")
    assert here.store.narratives()["1"][0] == "theirs again"
    assert [done["text"] for done in here.undo("bela")] == ["theirs"]
    here.edit("bela", "1", "based on the version here")


def test_a_round_that_began_with_exported_topics_is_added(new: New) -> None:
    here = new("here")
    here.edit("ann", "1", "edited")
    exported = TOPICS | {"1": Topic("1", "eng", "query 1", {"original": "narrative 1", "changed": "edited\n"})}
    there = new("there", DEEPER, topics=exported)
    there.record("bela", Change("grade", "1", "changed", "c", 3, "edited"))
    here.edit("ann", "1", "edited again")
    here.add(there)
    [judgement] = here.store.judgements()
    assert judgement.is_stale(wording_of("edited again")) and not judgement.is_stale(wording_of("edited"))


def test_requests_with_the_same_id_are_both_kept(new: New) -> None:
    here, there, third = new("here"), new("there"), new("third")
    for judging, who, value in ((here, "ann", 1), (there, "bela", 3), (third, "carl", 0)):
        time.sleep(0.002)
        judging.store.record("request-01", who, "request-01", [Change("grade", "1", "original", "a", value)])
    for _ in range(2):
        here.add(there, third)
    third.add(here)
    expected = {("ann", "1", "original", "a"): 1, ("bela", "1", "original", "a"): 3, ("carl", "1", "original", "a"): 0}
    assert here.grades() == third.grades() == expected
    assert here.log() == third.log() == 3
    again = here.store.record("request-01", "ann", "request-01", [Change("grade", "1", "original", "a", 1)])
    assert [done["grade"] for done in again] == [1], "sent again, it is answered as before"


def test_other_topics_grades_languages_and_texts_are_refused_together(new: New, tmp_path: Path) -> None:
    here = new("here")
    other = {
        "1": Topic("1", "eng", "query 1", {"original": "narrative one"}),
        "x9": Topic("x9", "eng", "query", {}),
    }
    there = new("there", {"1": ["a"], "x9": ["a"]}, topics=other, lang="rus", scale=parse_scale("0,1"))
    there.grade("bela", "1", "a", 1)
    with pytest.raises(HeedError) as caught:
        here.add(there)
    assert [line.removeprefix(f"{there.path}: ") for line in str(caught.value).splitlines()] == [
        "topics x9 are not in the database, which has 1, 2",
        "topic 1 has original narrative 'narrative one', not 'narrative 1'",
        "documents in rus, not eng",
        "grades 0=not relevant, 1=relevant; those of the database are 0=not relevant, 1=somewhat relevant, "
        "3=fully relevant",
    ]
    broken = {qid: Topic(qid, "eng", f"query {qid}", {"original": f"narrative\n\n{qid}"}) for qid in ("1", "2")}
    here.add(new("broken", topics=broken))  # Heed 0.2 made one line of paragraphs
    text = new("text")
    with closing(sqlite3.connect(text.path)) as db:
        db.execute("UPDATE documents SET text = 'other' WHERE docid = 'a'")
        db.commit()
    with pytest.raises(HeedError, match=r"text\.db: document a has another text than in"):
        here.add(text)
    with_qrels = new("qrels", qrels={"1": {"a": 1}})
    here.add(with_qrels)
    assert here.task().qrels == {"1": {"a": 1}}
    with pytest.raises(HeedError, match="other given judgements of topics 1"):
        here.add(new("qrels2", qrels={"1": {"a": 3}}))
    with pytest.raises(UsageError, match="is the database itself"):
        here.add(here)
    with pytest.raises(HeedError, match=r"absent\.db: no such file"):
        here.add(tmp_path / "absent.db")
    (tmp_path / "text.txt").write_text("no database " * 50)
    with pytest.raises(HeedError, match=r"text\.txt: file is not a database"):
        here.add(tmp_path / "text.txt")
    there.store.close()
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(there.path.read_bytes()[:-8192])
    with pytest.raises(HeedError, match=r"damaged\.db: (damaged|database disk image is malformed)"):
        here.add(damaged)


def test_no_file_is_left_beside_a_closed_database_and_a_killed_ones_log_is_read(new: New, tmp_path: Path) -> None:
    here, there = new("here"), new("there")
    there.grade("bela", "1", "a", 3)
    assert (tmp_path / "there.db-wal").exists(), "not in the file itself yet"
    here.add(there)
    assert here.grades() == {("bela", "1", "original", "a"): 3}
    there.grade("bela", "1", "b", 1)
    there.store.close()
    (tmp_path / "there.db").chmod(0o400)
    here.add(there)
    assert len(here.grades()) == 2
    assert not [*tmp_path.glob("there.db-*")]


def exported(judging: Addable) -> Path:
    """The folder that an annotation is exported to."""
    export(judging.task(), judging.store, judging.path.with_suffix(""), None)
    return judging.path.with_suffix("")


def test_an_export_is_added_as_its_database_would_be(new: New) -> None:
    here, there = new("here"), new("there")
    there.grade("bela", "1", "a", 0)
    there.grade("bela", "1", "a", 3)
    there.record("bela", Change("note", "2", "original", "a", "ünsure"))
    there.edit("bela", "1", "edited")
    there.record("bela", Change("grade", "1", "changed", "a", 1, "edited"))
    there.record("bela", Change("grade", "1", "changed", "b", 1, "before"))
    folder = exported(there)
    for _ in range(2):
        here.add(folder)
        assert {judgement[:6] for judgement in here.store.judgements()} == {
            judgement[:6] for judgement in there.store.judgements()
        }
        assert here.store.times() == there.store.times()
        assert here.log() == 5, "two grades, a grade under the edit, a note, and the edit, which is not edited here"
    stale = {
        judgement.docid: judgement.is_stale(wording_of("edited"))
        for judgement in here.store.judgements(qid="1")
        if judgement.condition == "changed"
    }
    assert stale == {"a": False, "b": True}
    with pytest.raises(UsageError, match="there.db: bela has judged here too"):
        here.add(there)
    here.add(there, names=["bela=bela"])
    assert here.grades() == there.grades() and here.store.narratives()["1"][0] == "edited"
    log = here.log()
    here.add(folder)
    assert here.log() == log, "all of it is known"


def test_of_an_export_and_later_judgements_the_later_are_kept(new: New, caplog: pytest.LogCaptureFixture) -> None:
    here, there = new("here"), new("there")
    there.grade("bela", "1", "a", 1)
    there.edit("bela", "1", "theirs")
    here.add(there)
    there.grade("bela", "1", "a", 3)
    folder = exported(there)
    there.grade("bela", "1", "a", 0)
    there.edit("bela", "1", "theirs again")
    here.add(folder, names=["bela=bela"])
    assert here.grades() == {("bela", "1", "original", "a"): 3}
    here.add(there)
    assert here.grades() == {("bela", "1", "original", "a"): 0}
    caplog.clear()
    here.add(folder)
    assert here.grades() == {("bela", "1", "original", "a"): 0}, "the export is older"
    assert "there: topics 1 have another changed narrative there; the text here is kept" in caplog.text


def test_a_later_grade_of_an_export_counts_though_the_database_had_it_before(new: New) -> None:
    here, there = new("here"), new("there")
    for value in (1, 3):
        here.grade("bela", "1", "a", value)
    there.grade("bela", "1", "a", 1)
    here.add(exported(there), names=["bela=bela"])
    assert here.grades() == {("bela", "1", "original", "a"): 1}


def test_result_files_of_tools_are_added_before_the_agreement_page(new: New, tmp_path: Path) -> None:
    here = new("here")
    here.grade("Ann", "1", "a", 3)
    table, studio = tmp_path / "ben.csv", tmp_path / "studio.json"
    table.write_text("qid,docid,grade\n1,a,1\n1,b,not relevant\n2,a,\n")  # of the scale, in its words, not judged
    value = {"choices": ["3"]}
    result = [{"from_name": "grade", "to_name": "text", "type": "choices", "value": value}]
    annotations = [{"result": result, "completed_by": who} for who in (1, 2)]
    studio.write_text(json.dumps([{"data": {"qid": "2", "docid": "a"}, "annotations": annotations}]))
    for _ in range(2):
        here.add(table, studio)
        assert here.grades() == {
            ("Ann", "1", "original", "a"): 3,
            ("ben", "1", "original", "a"): 1,
            ("ben", "1", "original", "b"): 0,
            ("1 of studio", "2", "original", "a"): 3,
            ("2 of studio", "2", "original", "a"): 3,
        }
        assert here.log() == 5
    table.write_text("qid,docid,grade\n1,a,2\n1,b,perhaps\n")
    with pytest.raises(HeedError) as caught:
        here.add(table)
    assert [line.partition(", expected one of 0 not relevant, 1 ")[0] for line in str(caught.value).splitlines()] == [
        f"{table}, line 2: label '2'",
        f"{table}, line 3: label 'perhaps'",
    ]
    table.write_bytes("qid,docid,grade,assessor\n1,a,1,Jürgen Müßig\n".encode("cp437"))
    add_annotations(here.store, [table], {}, "cp437")
    assert here.grades()["Jürgen Müßig", "1", "original", "a"] == 1
    table.write_text("qid,docid,grade\n01,a,1\n")
    with pytest.raises(HeedError, match=r"which has 1, 2; 1 differ by leading zeros or a prefix \(01 and 1\)"):
        here.add(table)
    with pytest.raises(HeedError, match=r"bne\.csv: no such file; did you mean .*ben\.csv\?"):
        here.add(tmp_path / "bne.csv")
    table.write_text("qid,docid,grade\n1,zz,1\n")
    with pytest.raises(HeedError, match="documents zz are not in .*; add the pool they are from first"):
        here.add(table, names=["ben=ben"])


def test_what_was_added_under_a_wrong_name_is_given_to_its_person(
    new: New, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    here, table = new("here"), tmp_path / "bob.csv"
    table.write_text("qid,docid,grade,note\n1,a,1,near\n1,b,3,\n")
    with closing(sqlite3.connect(here.path)) as db, db:
        db.execute("INSERT INTO kept VALUES ('assigned', '{\"1\": [\"Bob\"]}')")
    here.add(table)
    assert "bob.csv: bob is new here, Bob is not; if they are one person, give rename='bob=Bob'" in caplog.text
    with pytest.raises(UsageError, match="bob was added as bob before, now Bob is given; give rename='bob=Bob' to"):
        here.add(table, names=["bob=Bob"])
    here.grade("Bob", "1", "b", 0)  # later
    before = here.log()
    rename(here.store, {"bob": "Bob"})
    assert here.log() == before + 5, "two entries of a, with its note, give; three take"
    assert "1 grades or notes that one assessor has changed on both sides, the later is kept: Bob" in caplog.text
    assert [each for each in here.store.judgements() if each.grade is not None or each.note] == [
        Judgement("Bob", "1", "original", "a", 1, "near", ""),
        Judgement("Bob", "1", "original", "b", 0, "", wording_of("")),
    ]
    assert here.undo("bob") == []
    here.add(table)
    table.write_text("qid,docid,grade,note\n1,a,3,near\n")  # in another version of the file
    os.utime(table, (2e9, 2e9))
    here.add(table)
    assert here.grades() == {("Bob", "1", "original", "a"): 3, ("Bob", "1", "original", "b"): 0}
    rename(here.store, {"Bob": "Bob"})
    assert len(here.grades()) == 2
    with pytest.raises(UsageError, match="adjudicated: this name is reserved for decisions"):
        rename(here.store, {ADJUDICATED: "Bob"})
    with pytest.raises(UsageError, match="rename: bob has judged nothing; who has: Bob"):
        rename(here.store, {"bob": "Ann"})


@pytest.mark.parametrize(
    "names", [("project-3-at-2026-11-26-18-00-1a2b3c4d", "project-3-at-2026-11-27-18-00-5e6f7a8b"), "xy"]
)
def test_the_next_export_of_a_project_is_by_the_persons_who_are_here(
    new: New, tmp_path: Path, names: Sequence[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING")

    def exported_project(name: str, *grades: tuple[int, str, int], second: int = 0) -> Path:
        """Write annotations 1, 2 … with user, document and grade as JSON_MIN; the higher the grade, the later."""
        lines = [
            {"qid": "1", "docid": docid, "grade": str(grade), "annotator": user, "annotation_id": number}
            | {"created_at": f"2026-11-26T10:00:0{second}Z", "updated_at": f"2026-11-26T11:00:0{grade}Z"}
            for number, (user, docid, grade) in enumerate(grades, 1)
        ]
        (tmp_path / name).with_suffix(".json").write_text(json.dumps(lines))
        return (tmp_path / name).with_suffix(".json")

    here = new("here")
    monday = exported_project(names[0], (1, "a", 3), (2, "a", 1))
    tuesday = exported_project(names[1], (1, "a", 3), (2, "a", 3), (1, "b", 0))  # all of user 2 was corrected
    project = "project 3" if names[0].startswith("project") else "x"
    here.add(monday)
    for files in ([tuesday], [monday], [tuesday, monday]):
        here.add(*files)
        grades = {("1", "a"): 3, ("2", "a"): 3, ("1", "b"): 0}
        assert here.grades() == {
            (f"{user} of {project}", "1", "original", docid): grade for (user, docid), grade in grades.items()
        }
        assert here.log() == 4 and caplog.text == ""  # nothing was changed on two sides
    other = exported_project(names[0], (1, "a", 1), second=5)  # another installation's: nothing says who user 1 is
    with pytest.raises(UsageError, match="1 of .* has judged here too; give names='1 of"):
        here.add(other)


def test_a_name_in_another_form_of_unicode_or_with_blanks_is_the_same(new: New, tmp_path: Path) -> None:
    composed, decomposed = "Jos\u00e9", "Jose\u0301"
    here, there = new("here"), new("there")
    there.grade(decomposed, "1", "a", 1)  # as an earlier version recorded it
    here.add(there)
    here.add(exported(there), names=[f"{decomposed}={composed}"])
    table = write_jsonl(tmp_path / "a.jsonl", [{"qid": "1", "docid": "b", "grade": 3, "assessor": f" {decomposed} "}])
    here.add(table, names=[f"{decomposed} ={composed}"])
    assert here.grades() == {(composed, "1", "original", "a"): 1, (composed, "1", "original", "b"): 3}
    (tmp_path / "assigned.tsv").write_text(f"1\t{decomposed} \n1\t{composed}\n2\tAnn\n")
    assert read_assigned(tmp_path / "assigned.tsv", POOL) == {"1": [composed], "2": ["Ann"]}


def test_a_file_of_both_conditions_is_read_with_its_notes_and_the_narrative_that_its_task_carries(
    new: New, tmp_path: Path
) -> None:
    here = new("here")
    here.edit("ann", "1", "edited\nnarrative")
    table, studio = tmp_path / "ben.csv", tmp_path / "studio.json"
    table.write_text(
        "qid,docid,condition,instruction,grade,note\n"
        "1,a,original,narrative 1,3,sure\n"
        "1,a,changed,edited narrative,0,\n"
        "1,b,changed,narrative before,0,\n"
        "2,a,original,narrative 2,,cannot read it\n"
    )
    data = {"qid": "1", "docid": "b", "condition": "changed", "instruction": "edited narrative"}
    result = [{"from_name": "grade", "to_name": "text", "type": "choices", "value": {"choices": ["1"]}}]
    studio.write_text(json.dumps([{"data": data, "annotations": [{"result": result, "completed_by": "cem"}]}]))
    for _ in range(2):
        here.add(table, studio)
    wording = wording_of("edited narrative")
    states = {
        judgement[:4]: (judgement.grade, judgement.note, judgement.is_stale(wording))
        for judgement in here.store.judgements()
    }
    assert states == {
        ("ben", "1", "original", "a"): (3, "sure", False),
        ("ben", "1", "changed", "a"): (0, "", False),
        ("ben", "1", "changed", "b"): (0, "", True),
        ("ben", "2", "original", "a"): (None, "cannot read it", False),
        ("cem", "1", "changed", "b"): (1, "", False),
    }


def test_a_misspelt_condition_is_refused_and_another_case_is_none(new: New, tmp_path: Path) -> None:
    here, table = new("here"), tmp_path / "z.csv"
    here.grade("Ann", "1", "a", 3)
    for word in ("chanegd", "reversed"):
        table.write_text(f"qid,docid,condition,grade,assessor\n1,a,original,1,Ann\n1,a,{word},0,Ann\n")
        with pytest.raises(HeedError, match=f"z.csv, line 3: condition '{word}', expected original or changed"):
            here.add(table, names=["Ann=Ann"])
    assert here.grades() == {("Ann", "1", "original", "a"): 3}
    table.write_text("QID,docid,Condition , Grade,Assessor\n1,a,Changed ,0,Ann\n")
    here.add(table, names=["Ann=Ann"])
    assert here.grades() == {("Ann", "1", "original", "a"): 3, ("Ann", "1", "changed", "a"): 0}


def test_grades_under_changed_without_an_instruction_are_about_the_narrative_as_it_is(
    new: New, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, table = new("here"), tmp_path / "ben.csv"
    here.edit("ann", "1", "edited")
    table.write_text("qid,docid,condition,grade\n1,a,changed,3\n1,b,changed,\n")
    here.add(table)
    [judgement] = here.store.judgements()
    assert not judgement.is_stale(wording_of("edited"))
    told = capsys.readouterr().err
    assert "left out: 1 without a grade" in told
    assert "ben.csv: 1 under changed without instruction: taken as about the narrative as it is now" in told
    here.edit("ann", "1", "edited again")
    here.add(table)
    assert here.store.judgements() == [judgement]


def test_two_grades_of_one_person_in_a_file_are_refused(new: New, tmp_path: Path) -> None:
    here, table = new("here"), tmp_path / "zed.csv"
    table.write_text("qid,docid,grade\n1,a,1\n1,b,1\n1,a,3\n1,b,1\n")
    twice = r"zed.csv, line 4: zed grades document a of topic 1 twice under original, 1 \(.*, line 2\) and 3; keep one"
    with pytest.raises(HeedError, match=twice):
        here.add(table)


def test_what_is_to_be_given_again_stays_so_in_an_export(new: New) -> None:
    here, fresh, other = new("here"), new("fresh"), new("other")
    here.grade("ann", "1", "a", 3)
    here.grade(ADJUDICATED, "1", "a", 0)
    here.store.outdate_original("1")
    here.grade("ann", "1", "a", 1)
    fresh.add(exported(here))
    for judging in (here, fresh):
        [counting] = current(judging.store.judgements(), {"1": ""})
        assert (counting.assessor, counting.grade) == ("ann", 1)
    other.grade(ADJUDICATED, "1", "a", 1)
    here.store.outdate_original("1")  # later than the decision there
    other.add(exported(here))
    assert other.grades()[ADJUDICATED, "1", "original", "a"] == 1


def test_an_export_that_does_not_fit_is_refused(new: New) -> None:
    here, there = new("here"), new("there", DEEPER)
    there.grade("bela", "1", "c", 1)
    folder = exported(there)
    with pytest.raises(HeedError, match=r"there: documents c are not in .*here\.db; add the pool they are from first"):
        here.add(folder)
    judgements = (folder / "judgements.jsonl").read_text()
    for old, wrong in (
        ('"grade": 1', '"grade": 2'),
        ('"grade": 1', '"grade": "1"'),
        ('"assessor": "bela"', '"assessor": " "'),
        ('"original"', '"query"'),
        ('"at"', '"when"'),
    ):
        (folder / "judgements.jsonl").write_text(judgements.replace(old, wrong))
        with pytest.raises(HeedError, match=r"judgements\.jsonl|assessor is"):
            here.add(folder)
    (folder / "judgements.jsonl").write_text(judgements.replace('"qid": "1"', '"qid": "x9"'))
    with pytest.raises(HeedError, match=r"judgements\.jsonl, line 1: topic x9 is not in .*topics\.jsonl"):
        here.add(folder)
    (folder / "judgements.jsonl").unlink()
    with pytest.raises(HeedError, match=r"judgements\.jsonl: no such file"):
        here.add(folder)
    assert here.log() == 0


def test_an_export_without_a_judgement_is_said_to_have_none(new: New, caplog: pytest.LogCaptureFixture) -> None:
    folder = new("here").path.with_name("empty")
    folder.mkdir()
    write_jsonl(folder / "topics.jsonl", [])
    write_jsonl(folder / "judgements.jsonl", [])
    with caplog.at_level("INFO", "heed"):
        new("here").add(folder)
    assert caplog.messages == [f"{folder}: no judgement; 0 documents new in the pool"]


def test_of_several_databases_all_are_added_or_none(new: New) -> None:
    here, there, damaged = new("here"), new("there", DEEPER), new("damaged")
    for judging in (there, damaged):
        judging.grade("bela", "1", "a", 1)
    with closing(sqlite3.connect(damaged.path)) as db:
        db.execute("DROP TABLE judgements")
    with pytest.raises(HeedError, match=r"damaged\.db: damaged"):
        here.add(there, damaged)
    assert (here.grades(), here.log(), here.task().pool) == ({}, 0, POOL)


def test_the_command_adds_and_exports(tmp_path: Path, heed: Heed) -> None:
    topics = [{"qid": "q1", "lang": "eng", "query": "ferries"}]
    sources = annotation_files(tmp_path, topics, [{"id": docid, "text": f"text {docid}"} for docid in "ab"])[1:]
    from pipelines.annotate import open_given, parser

    for name, who, docid, value in (("pool", "Ann", "a", 1), ("deeper", "Bela", "b", 3)):
        pool = write_jsonl(tmp_path / f"{name}.jsonl", [{"qid": "q1", "docids": [docid]}])
        _, store = open_given(parser().parse_args([*map(str, (pool, *sources))]))
        Judging(store).grade(who, "q1", docid, value)
        store.close()
    adding = ("--add", "deeper.db", "--export", "out")
    for _ in range(2):
        done = heed("pipelines.annotate", "pool.jsonl", *adding)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "out" / "original.qrels").read_text() == "q1 0 a 1\nq1 0 b 3\n"
    complete = heed("pipelines.annotate", "pool.jsonl", "--export", "out", "--unjudged", "error")
    assert complete.returncode == 0, complete.stderr
    fresh = heed("pipelines.annotate", "pool.jsonl", "--database", "all.db", *sources, *adding)
    assert fresh.returncode == 0 and (tmp_path / "out" / "original.qrels").read_text() == "q1 0 b 3\n"
