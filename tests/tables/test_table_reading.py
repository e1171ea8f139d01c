"""Tables of a large collection are read by processes of their own, with the same results."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from heed.errors import DataError, WorkerError
from heed.formats.documents import Line
from heed.tables import documents
from heed.tables.documents import Tables
from heed.tables.reading import read_by_processes

PID = "__import__('os').getpid()"


def records(name: str, count: int) -> list[dict[str, str]]:
    return [{"_id": f"{name}{i}", "title": "", "text": f"| a | b |\n|---|---|\n| {i} | x |"} for i in range(count)]


def lines_of(path: Path, count: int) -> str:
    return "".join(json.dumps(record) + "\n" for record in records(path.name[0], count))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Tables of every form, some of them faulty."""
    (tmp_path / "a.jsonl").write_text(lines_of(tmp_path / "a", 350) + "{\n\n" + '{"_id": "x y", "text": ""}\n')
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines_of(tmp_path / "b", 120).encode()))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records("c", 130)), tmp_path / "c.parquet")
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    (tmp_path / "e.html").write_text("<table><tr><td colspan=2>x<tr><td>1<td>2</table>")
    (tmp_path / "f.md").write_bytes(b"| \xff |")
    return tmp_path


@pytest.mark.parametrize("form", ["raw", "rows"])
def test_several_processes_read_what_one_reads(folder: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    others = list[int]()
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setattr(
        documents, "read_by_processes", lambda *given: others.append(given[2]) or read_by_processes(*given)
    )
    alone = list(Tables([folder], form).lines())
    assert not others  # a collection this small has no need of them
    monkeypatch.setattr(documents, "ALONE", 0)
    assert list(Tables([folder], form).lines()) == alone
    assert others == [3]
    assert len([line for line in alone if line.problem]) == 3


def test_a_broken_file_is_told_after_what_was_read_before_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    (folder / "b.jsonl.gz").write_bytes((folder / "b.jsonl.gz").read_bytes()[:-20])
    found: list[tuple[int, str]] = []
    for alone in (60, 0):
        monkeypatch.setattr(documents, "ALONE", alone)
        lines: list[Line] = []
        with pytest.raises(DataError, match="cannot be read after line") as error:
            lines.extend(Tables([folder], "raw").lines())
        found.append((len(lines), str(error.value)))
    assert found[0] == found[1]
    assert found[0][0] > 352


def test_the_processes_end_with_the_iterator() -> None:
    results: Iterator[int] = read_by_processes(eval, [PID] * 500, 2)
    pids = set(islice(results, 150))
    assert len(pids) == 2
    assert all(alive(pid) for pid in pids)
    results.close()  # type: ignore[attr-defined]
    assert not any(alive(pid) for pid in pids)


def test_the_processes_end_where_this_one_is_killed() -> None:
    code = (
        "import time\nfrom heed.tables.reading import read_by_processes\n"
        f"for pid in read_by_processes(eval, [{PID!r}], 1): print(pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        pid = int(program.stdout.readline())
        assert alive(pid)
        program.send_signal(signal.SIGKILL)
        until = time.monotonic() + 10
        while alive(pid) and time.monotonic() < until:
            time.sleep(0.02)
    assert not alive(pid)


def test_a_lost_process_is_told_with_its_status() -> None:
    with pytest.raises(WorkerError, match="ended with status 3"):
        list(read_by_processes(os._exit, [3], 1))


def alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and ") Z " not in status.read_text()
