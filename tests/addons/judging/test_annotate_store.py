"""The annotation database: nothing answered is lost, every change can be undone, a request counts once."""

import json
import resource
import shutil
import sqlite3
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from annotating import Judging
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.addons.judging.annotate import grades as judged_grades
from heed.addons.judging.annotate.store import (
    Change,
    ConflictError,
    Store,
    back_up,
    connect,
    create,
    is_annotation,
    open_read_only,
    wording_of,
)
from heed.addons.judging.annotate.task import PooledDocument, Task, parse_scale
from heed.errors import DataError, HeedError
from heed.types import Topic

POOL = {"1": ["a", "b"], "2": ["a"]}
TOPICS = {qid: Topic(qid, "eng", f"query {qid}", {"original": f"narrative {qid}"}) for qid in POOL}
TASK = Task(POOL, TOPICS, "eng", parse_scale("0,1,3"))
DOCUMENTS = [PooledDocument("a", "A", "", "text a", False), PooledDocument("b", "", "2020-01-01", "text b", False)]


def new_id() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    create(tmp_path / "pool.db", TASK, DOCUMENTS)
    opened = Store(tmp_path / "pool.db")
    yield opened
    opened.close()


@pytest.fixture
def judging(store: Store) -> Judging:
    return Judging(store)


def test_a_backup_does_not_take_what_the_database_before_it_left_in_its_log(store: Store, judging: Judging) -> None:
    place = store.path.parent
    judging.grade("ann", "1", "a", 1)
    back_up(store.path, place / "friday.db")
    judging.grade("ann", "1", "a", 3)
    for suffix in ("", "-wal", "-shm"):  # as a killed process leaves them
        shutil.copy(f"{store.path}{suffix}", place / f"lost.db{suffix}")
    shutil.copy(place / "friday.db", place / "lost.db")
    for opened in (connect, open_read_only, Store):
        with pytest.raises(DataError, match="lost.db: is a backup, and .*lost.db-wal is of the database before it; mo"):
            opened(place / "lost.db")
    (place / "lost.db-wal").unlink()
    (place / "lost.db-shm").unlink()
    with closing(Store(place / "lost.db")) as restored:
        assert [judgement.grade for judgement in restored.judgements()] == [1]


def test_a_change_is_on_disk_before_it_is_answered(store: Store, judging: Judging) -> None:
    judging.record("ann", Change("grade", "1", "original", "a", 3))
    other = sqlite3.connect(f"file:{store.path}?mode=ro", uri=True)  # what a process started now would see
    assert other.execute("SELECT grade FROM judgements").fetchall() == [(3,)]
    other.close()
    db = connect(store.path)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    db.close()


def test_the_log_only_grows(store: Store, judging: Judging) -> None:
    judging.grade("ann", "1", "a", 1)
    judging.undo("ann")
    with closing(connect(store.path)) as db:
        assert db.execute("SELECT COUNT(*), COUNT(undoes) FROM log").fetchone() == (2, 1)
        for statement in ("DELETE FROM log", "UPDATE log SET after = ''"):
            with pytest.raises(sqlite3.IntegrityError, match="the log is never"):
                db.execute(statement)


def test_a_database_of_before_has_no_marks_and_takes_them(store: Store) -> None:
    with closing(connect(store.path)) as db:
        db.execute("DROP TABLE marks")  # as Heed 0.2 left it
    with closing(Store(store.path)) as opened:
        assert opened.marks() == {}
        Judging(opened).record("ann", Change("unsure", "1", "original", "a", "true"))
        assert opened.marks("1") == {("ann", "1", "original", "a"): {"unsure": True}} and opened.marks("2") == {}


def test_an_edit_that_is_based_on_another_text_is_refused_with_the_text_in_force(
    store: Store, judging: Judging
) -> None:
    judging.record("ann", Change("narrative", "1", value="ann's", base=0))
    version = store.narratives()["1"][1]
    with pytest.raises(ConflictError, match="edited elsewhere") as caught:
        judging.record("bela", Change("narrative", "1", value="bela's", base=0))
    assert (caught.value.text, caught.value.version) == ("ann's", version)
    assert store.narratives()["1"] == ("ann's", version)
    judging.record("bela", Change("narrative", "1", value="bela's", base=version))
    assert store.undo(new_id(), "ann") == [], "another's text is in force: ann's edit is no longer hers to take back"


def test_several_changes_are_taken_all_or_none(judging: Judging) -> None:
    with pytest.raises(ConflictError):
        judging.record("ann", Change("grade", "1", "original", "a", 1), Change("narrative", "1", value="x", base=7))
    assert judging.grades() == {}


def test_what_waited_gives_way_to_what_was_done_later_elsewhere_and_has_its_own_time(
    store: Store, judging: Judging
) -> None:
    def wait(value: int | str, seconds: float, kind: str = "grade", docid: str = "a") -> None:
        store.record(new_id(), "ann", new_id(), [Change(kind, "1", "original", docid, value)], seconds)

    judging.grade("ann", "1", "a", 3)
    for kind, value, named in (("grade", 1, "grade 1"), ("unsure", "true", "mark")):
        judging.record("ann", Change("unsure", "1", "original", "a", '"other"'))
        with pytest.raises(DataError, match=rf"topic 1, document a: {named} waited here since .*UTC; a later one"):
            wait(value, 86400, kind)
    assert store.undo(new_id(), "ann", 86400) == [], "there was nothing to undo then"
    wait(1, 86400, docid="b")
    assert [grade for *_, grade in sorted(judging.grades().items())] == [3, 1], "nothing newer is known of b"
    age = datetime.now(UTC) - datetime.fromisoformat(store.times()["ann", "1", "original", "b"])
    assert timedelta(days=1) <= age < timedelta(days=1, minutes=1)
    wait(0, 86399, docid="b")  # both waited in one browser
    wait(1, 10)  # as late as a slow network makes it
    assert [grade for *_, grade in sorted(judging.grades().items())] == [1, 0]


def test_grades_of_a_file_and_the_pause_before_them_are_no_pace(
    store: Store, judging: Judging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judged_grades, "FEWEST", 2)
    rows = [("ann", time) for time in (0.0, 10.0, 30.0, 330.0, 330.0, 330.0)]  # 10 and 20 s, and a file after 300
    monkeypatch.setattr(store, "first_grades", lambda assessor: rows)
    assert judged_grades.seconds_a_document(store) == {"ann": 15}


def test_the_order_of_first_grades_is_that_of_the_log_whatever_the_clock_says(store: Store) -> None:
    for docid, waited in (("a", 0), ("b", 3600)):
        store.record(new_id(), "ann", new_id(), [Change("grade", "1", "original", docid, 1)], waited)
    (_, first), (_, second) = store.first_grades("ann")
    assert second - first == pytest.approx(-3600, abs=60)


def test_a_passage_of_an_earlier_text_is_none(store: Store, judging: Judging) -> None:
    passage = {"part": "text", "start": 1, "end": 4, "text": "ext"}
    judging.record("ann", Change("passage", "1", "original", "a", json.dumps(passage)))
    assert store.marks() == {("ann", "1", "original", "a"): {"passage": passage}}
    store.replace_document(DOCUMENTS[0]._replace(text="another"))
    assert store.marks() == {}


def test_wordings_are_the_same_however_lines_are_broken() -> None:
    assert wording_of("a  b\nc ") == wording_of("a b c") != wording_of("a bc")


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, but long enough to be read as the head of one\n" * 3)
    with pytest.raises(HeedError, match=r"text\.db: file is not a database; name another file"):
        is_annotation(tmp_path / "text.db")
    db = sqlite3.connect(tmp_path / "other.db")
    db.execute("CREATE TABLE t (a)")
    db.close()
    with pytest.raises(HeedError, match="a database of another application"):
        is_annotation(tmp_path / "other.db")
    assert not is_annotation(tmp_path / "absent.db")
    create(tmp_path / "old.db", TASK, DOCUMENTS)
    for form in (1, 3):
        db = sqlite3.connect(tmp_path / "old.db")
        db.execute(f"PRAGMA user_version = {form}")
        db.close()
        with pytest.raises(HeedError, match=rf"old\.db: made by another version of Heed \(form {form}, .*use that one"):
            is_annotation(tmp_path / "old.db")


def test_many_assessors_at_once_are_all_kept(store: Store, judging: Judging) -> None:
    names = [f"assessor {number}" for number in range(10)]

    def judge(name: str) -> None:
        for value in (0, 1, 3):
            judging.grade(name, "1", "a", value)
            judging.grade(name, "1", "b", value)

    with ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(judge, names))
    again = Judging(Store(store.path))
    assert again.grades() == {(name, "1", "original", docid): 3 for name in names for docid in "ab"}
    again.store.close()


def test_of_those_who_make_it_at_once_one_does(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        for index in range(30):  # without waiting, SQLite refuses one of four in every tenth round
            path = tmp_path / f"{index}.db"
            created = [*threads.map(lambda _, path=path: create(path, TASK, DOCUMENTS), range(4))]
            assert sorted(created) == [False, False, False, True] and is_annotation(path)


def test_a_full_disk_is_told_with_the_path_and_nothing_is_made(tmp_path: Path) -> None:
    """A limit of the size of files stands for the disk; SQLite gets an error from both."""
    path = tmp_path / "pool.db"
    large = PooledDocument("a", "", "", "text " * 100_000, False)
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, hard))
    try:
        with pytest.raises(HeedError, match=r"pool\.db: disk I/O error; nothing of it is changed; free disk space"):
            create(path, TASK, [large])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not is_annotation(path) and create(path, TASK, [large])


def test_a_making_that_was_cut_short_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[PooledDocument]:
        yield DOCUMENTS[0]
        raise HeedError("the second document cannot be read")

    path = tmp_path / "pool.db"
    with pytest.raises(HeedError, match="second document"):
        create(path, TASK, broken())
    assert not is_annotation(path)
    with pytest.raises(HeedError, match=r"pool\.db: nothing is in it, its creation was interrupted; run heed annotate"):
        open_read_only(path)
    create(path, TASK, DOCUMENTS)
    assert is_annotation(path)
    assert path.stat().st_mode & 0o077 == 0, "it holds the token: nobody else may read it"


PLACES = st.tuples(st.sampled_from(["1", "2"]), st.sampled_from(["original", "changed"]), st.just("a"))
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bela"]),
        st.one_of(
            st.tuples(st.just("grade"), PLACES, st.sampled_from([None, 0, 1, 3])),
            st.tuples(st.just("note"), PLACES, st.sampled_from(["", "x", "ü"])),
            st.tuples(st.sampled_from(["unsure", "skipped"]), PLACES, st.sampled_from(["", "true"])),
            st.tuples(st.just("narrative"), PLACES, st.sampled_from(["narrative 1", "other", "third"])),
            st.tuples(st.just("undo"), PLACES, st.none()),
        ),
        st.booleans(),  # the same visit as the assessor's change before
    ),
    max_size=20,
)


class Model:
    """What the database must amount to, kept in plain lists."""

    def __init__(self) -> None:
        self.judged: dict[tuple, object] = {}
        self.texts = {qid: [(f"narrative {qid}", 0)] for qid in POOL}  # each a stack of (text, serial)
        self.stacks: dict[str, list[tuple]] = {"ann": [], "bela": []}
        self.serial = 0

    def change(self, who: str, kind: str, place: tuple, value: object, batch: str) -> None:
        self.serial += 1
        if kind == "narrative":
            if self.texts[place[0]][-1][0] != value:
                self.stacks[who].append((kind, place[0], self.serial, batch))
                self.texts[place[0]].append((value, self.serial))
            return
        key = (who, kind, *place)
        before = self.judged.get(key, None if kind == "grade" else "")
        if before != value:
            self.stacks[who].append((kind, key, before, batch))
            self.judged[key] = value

    def undo(self, who: str) -> None:
        batch = None
        while True:
            # by position: an earlier change of a batch may be equal to the last one
            undoable = [at for at, change in enumerate(self.stacks[who]) if self._can_undo(change)]
            if not undoable or batch not in (None, self.stacks[who][undoable[-1]][3]):
                return
            kind, where, before, batch = self.stacks[who].pop(undoable[-1])
            if kind == "narrative":
                self.texts[where].pop()
            else:
                self.judged[where] = before

    def _can_undo(self, change: tuple) -> bool:
        return change[0] != "narrative" or self.texts[change[1]][-1][1] == change[2]


@settings(max_examples=25, deadline=None)
@given(ACTIONS)
def test_any_changes_and_undos_amount_to_what_they_should(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple]
) -> None:
    path = tmp_path_factory.mktemp("store") / "pool.db"
    create(path, TASK, DOCUMENTS)
    store, model = Store(path), Model()
    batches = {"ann": "batch-ann", "bela": "batch-bela"}
    for who, (kind, place, value), same_visit in actions:
        client = new_id()
        if kind == "undo":
            answers = [store.undo(client, who) for _ in range(2)]  # as when the first answer was lost
            assert answers[0] == answers[1]
            model.undo(who)
            continue
        batches[who] = batches[who] if same_visit else client
        base = store.narratives()[place[0]][1]
        change = Change(kind, place[0], value=value, base=base) if kind == "narrative" else Change(kind, *place, value)
        answers = [store.record(client, who, batches[who], [change]) for _ in range(2)]
        assert answers[0] == answers[1]
        model.change(who, kind, place, value, batches[who])
    store.close()
    again = Store(path)
    for judgement in again.judgements():
        assert model.judged.get((judgement.assessor, "grade", *judgement[1:4])) == judgement.grade
        assert model.judged.get((judgement.assessor, "note", *judgement[1:4]), "") == judgement.note
    kept = {("judged", *judgement[:4]) for judgement in again.judgements()}
    kept |= {(kind, *key) for key, marks in again.marks().items() for kind, value in marks.items() if value is True}
    names = dict.fromkeys(("grade", "note"), "judged")
    assert kept == {
        (names.get(kind, kind), who, *place)
        for (who, kind, *place), value in model.judged.items()
        if value not in (None, "")
    }
    assert {qid: text for qid, (text, _) in again.narratives().items()} == {
        qid: stack[-1][0] for qid, stack in model.texts.items()
    }
    again.close()
