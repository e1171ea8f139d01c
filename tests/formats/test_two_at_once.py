"""Two processes that write the same file: one does so, the other is told; the file is never a mixture."""

import multiprocessing
import threading
from pathlib import Path

import pytest

from heed.errors import HeedError
from heed.files import finished, locked, write_bytes

BUSY = "another Heed process is writing here"


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
