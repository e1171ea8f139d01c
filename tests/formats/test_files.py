import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from heed.errors import SHOWN, HeedError, fail
from heed.files import digest, finished, finished_folder, locked, read_bytes, read_lines, write_json
from heed.reuse import ensure_file, ensure_folder


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


def test_a_run_file_that_was_changed_by_hand_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    assert not ensure_file(path, {"a": 1}, lambda: {"written": path.write_text("good")}).reused
    again = ensure_file(path, {"a": 1}, lambda: pytest.fail("should be used again"))
    assert again.reused and again.facts == {"written": 4}
    path.write_text("hand")
    assert not ensure_file(path, {"a": 1}, lambda: {"written": path.write_text("good")}).reused
    assert path.read_text() == "good"


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
