"""Files are whole or not there, by one writer at a time; what was made is used again only if nobody changed it."""

import errno
import fcntl
import hashlib
import json
import math
import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from heed import files
from heed.errors import SHOWN, HeedError, fail
from heed.files import (
    digest,
    finished,
    finished_folder,
    locked,
    read_bytes,
    read_lines,
    remembering,
    write_bytes,
    write_json,
)
from heed.reuse import ensure_folder

BUSY = "another Heed process is writing here"


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError), finished(path) as stream:
        stream.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.run"]


def test_a_failure_leaves_the_old_folder_and_nothing_else(tmp_path: Path) -> None:
    with finished_folder(tmp_path / "index") as part:
        (part / "x").write_text("old")
    with pytest.raises(RuntimeError), finished_folder(tmp_path / "index") as part:
        (part / "x").write_text("half")
        raise RuntimeError
    assert (tmp_path / "index" / "x").read_text() == "old"
    assert os.listdir(tmp_path) == ["index"]


def test_what_a_killed_build_left_is_swept_away(tmp_path: Path) -> None:
    (tmp_path / ".index.part").mkdir()
    (tmp_path / ".index.part" / "half").write_text("half")
    with finished_folder(tmp_path / "index") as part:
        assert list(part.iterdir()) == []
    assert os.listdir(tmp_path) == ["index"]


def test_two_processes_cannot_write_to_one_folder(tmp_path: Path) -> None:
    code = f"from pathlib import Path; from heed.files import locked\nwith locked(Path({str(tmp_path)!r})): pass"
    with locked(tmp_path):
        second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "another Heed process is writing here" in second.stderr
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert os.listdir(tmp_path) == [], "a user's folder keeps no file of the lock"


@pytest.mark.parametrize(
    "value",
    [{}, [[], {"a": [1, 1e-07, -0.0, 10**30, None, True]}], 'é\u2028"\\\n\x7f', {"b": {"": []}, "a": 1e22}, math.inf],
)
def test_json_is_as_python_indents_it(tmp_path: Path, value: object) -> None:
    write_json(tmp_path / "a.json", value)
    assert (tmp_path / "a.json").read_text("utf-8") == json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def test_a_byte_order_mark_and_crlf_are_no_part_of_a_line(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("\ufeffone\r\ntwo\n".encode())
    assert list(read_lines(tmp_path / "f")) == [(1, "one"), (2, "two")]


def test_a_folder_is_used_again_only_for_the_same_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = []

    def build(part: Path) -> None:
        built.append(1)
        (part / "data").write_text("12345")

    folder = tmp_path / "index"
    ensure_folder(folder, {"language": "zh", "bm25": {"k1": 0.9}}, build)
    ensure_folder(folder, {"language": "zh", "bm25": {"k1": 0.9}}, build)
    assert len(built) == 1
    ensure_folder(folder, {"language": "zh", "bm25": {"k1": 1.2}}, build)
    assert len(built) == 2
    assert "rebuilding, k1 was 0.9 and is now 1.2" in capsys.readouterr().err


def test_a_folder_that_was_finished_but_not_renamed_is_not_made_again(tmp_path: Path) -> None:
    def build(part: Path) -> None:
        (part / "data").write_text("12345")

    folder, part, old = tmp_path / "index", tmp_path / ".index.part", tmp_path / ".index.old"
    for killed in ("before the renaming of the earlier folder", "between both", "while the earlier one was removed"):
        ensure_folder(folder, {"a": 1}, build, goes_on=True)
        ensure_folder(part, {"a": 2}, build)
        if killed.startswith("between"):
            folder.rename(old)
        elif killed.startswith("while"):
            folder.rename(old)
            part.rename(folder)
        ensure_folder(folder, {"a": 2}, lambda _: pytest.fail("it is made"), goes_on=True)
        assert [path.name for path in tmp_path.iterdir()] == ["index"]
    ensure_folder(part, {"a": 3}, build)
    (part / "data").write_text("123")
    ensure_folder(folder, {"a": 3}, build, goes_on=True)
    assert (folder / "data").read_text() == "12345"


@pytest.mark.parametrize("harm", ["cut", "remove", "add", "byte", "note"])
def test_a_folder_with_damaged_files_is_rebuilt(tmp_path: Path, harm: str) -> None:
    def build(part: Path) -> None:
        (part / "data").write_text("12345")

    folder = ensure_folder(tmp_path / "index", {"a": 1}, build)
    if harm == "cut":
        (folder / "data").write_text("123")
    elif harm == "byte":  # of the same size, and with the time of change put back: bit rot
        before = (folder / "data").stat()
        (folder / "data").write_text("12346")
        os.utime(folder / "data", ns=(before.st_atime_ns, before.st_mtime_ns))
    elif harm == "add":
        (folder / "more").write_text("")
    elif harm == "remove":
        (folder / "data").unlink()
    else:
        (folder / "made.json").write_text("{")
    ensure_folder(folder, {"a": 1}, build)
    assert (folder / "data").read_text() == "12345" and not (folder / "more").exists()


def test_all_problems_are_told_at_once_up_to_a_limit() -> None:
    with pytest.raises(HeedError) as caught:
        fail(f"problem {number}" for number in range(SHOWN + 5))
    lines = str(caught.value).splitlines()
    assert len(lines) == SHOWN + 1
    assert lines[-1] == "… and 5 more problems of this kind"
    fail([])


def test_a_file_that_cannot_be_read_is_told_without_numbers_of_the_system(tmp_path: Path) -> None:
    for read in (lambda path: list(read_lines(path)), read_bytes, digest):
        for name, said in (("absent", "absent: no such file"), (".", "is a folder, expected a file")):
            with pytest.raises(HeedError, match=said) as error:
                read(tmp_path / name)
            assert "Errno" not in str(error.value)


def test_a_file_that_is_being_written_is_not_opened_again(tmp_path: Path) -> None:
    """Found by two reports at once: the second emptied what the first was writing, and one of them lost its file."""
    path = tmp_path / "a.svg"
    with finished(path) as stream:
        stream.write(b"first half, ")
        assert not path.exists()
        with pytest.raises(HeedError, match=BUSY), finished(path):
            pytest.fail("it was opened")
        stream.write(b"second half")
    assert path.read_bytes() == b"first half, second half"
    assert [one.name for one in tmp_path.iterdir()] == ["a.svg"]


def test_what_a_killed_process_left_is_taken_over_and_emptied(tmp_path: Path) -> None:
    (tmp_path / ".a.svg.part").write_bytes(b"much more than the next one writes")
    write_bytes(tmp_path / "a.svg", b"short")
    assert (tmp_path / "a.svg").read_bytes() == b"short"
    assert [one.name for one in tmp_path.iterdir()] == ["a.svg"]


def _write_often(path: Path, letter: bytes, ready: "threading.Barrier") -> None:
    ready.wait()
    for _ in range(200):
        try:
            write_bytes(path, letter * 100_000)
        except HeedError as error:
            if BUSY not in str(error):
                raise


def test_writers_in_a_race_never_leave_a_mixture(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    path, ready = tmp_path / "a.txt", context.Barrier(3)
    writers = [context.Process(target=_write_often, args=(path, letter, ready)) for letter in (b"a", b"b")]
    for one in writers:
        one.start()
    ready.wait()
    while any(one.is_alive() for one in writers):
        if path.exists():
            assert path.read_bytes() in (b"a" * 100_000, b"b" * 100_000)
    for one in writers:
        one.join()
    assert [one.exitcode for one in writers] == [0, 0]
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


def _count_often(folder: Path) -> None:
    rounds = 0
    while rounds < 100:
        try:
            with locked(folder):
                count = int((folder / "count").read_text())
                (folder / "count").write_text(str(count + 1))
                rounds += 1
        except HeedError as error:
            if BUSY not in str(error):
                raise


def test_writers_of_a_folder_whose_lock_is_removed_each_time_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    (tmp_path / "count").write_text("0")
    writers = [context.Process(target=_count_often, args=(tmp_path,)) for _ in range(3)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert [one.exitcode for one in writers] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "300"
    assert [one.name for one in tmp_path.iterdir()] == ["count"]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_an_error_with_path_and_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", fails)
    said = rf"{tmp_path}: this file system has no locks \({os.strerror(number)}\); choose a folder on another"
    with pytest.raises(HeedError, match=said), locked(tmp_path):
        pass


def test_a_large_file_is_known_by_size_times_and_inode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGE", 4)
    monkeypatch.setattr(files, "SETTLED", 2 * 10**7)
    large, other, note = tmp_path / "large", tmp_path / "other", tmp_path / files.NOTED
    for path in (large, other, tmp_path / "small"):
        path.write_bytes(b"12345" if path != tmp_path / "small" else b"123")
        os.utime(path, (1_000_000, 1_000_000))
    with remembering(tmp_path):
        for path in (large, other, tmp_path / "small"):
            digest(path)
    noted = json.loads(note.read_text())
    assert len(noted) == 2
    note.write_text(json.dumps(dict.fromkeys(noted, "taken from the note")))
    os.link(other, tmp_path / "link")
    with remembering(tmp_path):
        assert digest(large) == "taken from the note"
        assert digest(other) == hashlib.sha256(b"12345").hexdigest(), "a link changes its inode"
    with remembering(tmp_path, verify=True):
        assert digest(large) == hashlib.sha256(b"12345").hexdigest()


@pytest.mark.parametrize("how", ["in place", "replaced", "by a link"])
def test_a_large_file_that_changes_and_keeps_size_and_time_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(files, "LARGE", 4)
    monkeypatch.setattr(files, "SETTLED", 2 * 10**7)
    (path := tmp_path / "large").write_bytes(b"12345")
    with remembering(tmp_path):
        digest(path)
    before, writes = path.stat(), path
    if how == "replaced":
        path.unlink()  # the next file may have its inode
    elif how == "by a link":
        os.link(path, writes := tmp_path / "link")
    writes.write_bytes(b"54321")
    os.utime(writes, ns=(before.st_atime_ns, before.st_mtime_ns))
    with remembering(tmp_path):
        assert digest(path) == hashlib.sha256(b"54321").hexdigest()


def test_a_file_that_has_just_changed_is_read_when_it_has_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 4)
    slept: list[float] = []
    monkeypatch.setattr(files.time, "sleep", slept.append)
    (tmp_path / "new").write_bytes(b"12345")
    with remembering(tmp_path):
        digest(tmp_path / "new")
    assert len(slept) == 1 and 1 < slept[0] <= 2
    assert not (tmp_path / files.NOTED).exists(), "it could still change without another time"
