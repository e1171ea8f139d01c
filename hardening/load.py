"""Let many assessors judge at once: ``python -m hardening.load``.

Starts ``python -m pipelines.annotate`` on a pool of the sample and sends it judgements from ``--sessions``
connections on the loopback address, each of which thinks for a while, asks for a document and grades it.
Prints how long answers took, how many judgements were lost, and the server's memory on the way; exit
status 1 if one was lost or the memory grew by more than ``GROWTH``.
"""

import argparse
import http.client
import json
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from hardening.jobs import kill
from hardening.judging import POOL, Served, Server, prepare

GROWTH = 16 << 20  # bytes between the first tenth of the judgements, when all is warm, and the last
TOPICS, DOCUMENTS = 12, 1000
GRADES = 4


class Took(NamedTuple):
    """Seconds that an answer took, and whether it was to a judgement or to a document that was asked for."""

    judged: bool
    seconds: float


class Session:
    """One assessor with a connection of its own, as a browser keeps one."""

    def __init__(self, served: Served, number: int, places: Sequence[tuple[str, str]]) -> None:
        """Judge ``places``, topic and document, in an order of its own."""
        self._served, self._name, self._number = served, f"assessor {number:02}", number
        self._chooser = random.Random(number)
        self._places = self._chooser.sample(places, len(places))
        self.took: list[Took] = []
        self.problems: list[str] = []
        self._done = 0

    def judge(self, count: int, think: float) -> None:
        """Judge so many documents with ``think`` seconds before each, on average."""
        with closing(http.client.HTTPConnection("127.0.0.1", self._served.port, timeout=60)) as connection:
            for at in range(self._done, self._done + count):
                time.sleep(self._chooser.uniform(0, 2 * think))
                qid, docid = self._places[at % len(self._places)]
                place = {"kind": "grade", "qid": qid, "docid": docid, "condition": "original"}
                # another grade each time round, since one that is given already changes nothing
                grade = (self._number + at // len(self._places)) % GRADES
                sent = {"id": f"{self._name}-{at}".replace(" ", "-"), "assessor": self._name}
                self._ask(connection, "GET", f"/api/document?docid={docid}", None)
                self._ask(connection, "POST", "/api/changes", {**sent, "changes": [{**place, "grade": grade}]})
        self._done += count

    def _ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: dict[str, Any] | None) -> None:
        headers = {"Cookie": self._served.cookie, "Content-Type": "application/json"}
        begun = time.perf_counter()
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        content = answer.read()
        self.took.append(Took(body is not None, time.perf_counter() - begun))
        if answer.status != 200:
            self.problems.append(f"{answer.status} {content[:200]!r}")


def main() -> int:
    """Run once; gives back the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hardening.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=50, help="assessors at once (default 50)")
    parser.add_argument("--judgements", type=int, default=10_000, help="of all together (default 10000)")
    parser.add_argument("--think", type=float, default=0.2, help="seconds before a judgement, on average (default 0.2)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        return _loaded(Path(place) / "work", options)


def _loaded(folder: Path, options: argparse.Namespace) -> int:
    prepare(folder, TOPICS, DOCUMENTS)
    server = Server(folder)
    process = server.begin()
    served = server.know(process)
    if served is None:
        print(f"the server did not start: {process.communicate()[1]}")
        return 1
    records = [json.loads(line) for line in (folder / POOL).read_text().splitlines()]
    places = [(one["qid"], docid) for one in records for docid in one["docids"]]
    sessions = [Session(served, number, places) for number in range(options.sessions)]
    memory = [_memory(process.pid)]
    begun = time.perf_counter()
    for part in (0.1, 0.9):
        count = round(options.judgements * part / options.sessions)
        threads = [threading.Thread(target=one.judge, args=(count, options.think)) for one in sessions]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        memory.append(_memory(process.pid))
    seconds = time.perf_counter() - begun
    kill(process, signal.SIGTERM)
    process.communicate(timeout=60)
    return _told(folder, sessions, memory, seconds)


def _told(folder: Path, sessions: Sequence[Session], memory: Sequence[int], seconds: float) -> int:
    took = [one for session in sessions for one in session.took]
    sent = sum(one.judged for one in took)
    with closing(sqlite3.connect(folder / "pool.db")) as db:
        kept = db.execute("SELECT COUNT(DISTINCT client) FROM log").fetchone()[0]
    print(f"{len(sessions)} sessions, {len(took)} requests in {seconds:.0f} s, {len(took) / seconds:.0f} a second")
    for name, judged in (("judgement", True), ("document", False)):
        found = sorted(one.seconds for one in took if one.judged is judged)
        p50, p95 = (1000 * found[round(share * (len(found) - 1))] for share in (0.5, 0.95))
        print(f"a {name} is answered in {p50:.1f} ms (p50), {p95:.1f} ms (p95), {1000 * found[-1]:.0f} ms at most")
    told = ", ".join(f"{value / 2**20:.1f}" for value in memory)
    print(f"{sent} judgements sent, {sent - kept} lost; memory before, after a tenth and after all: {told} MiB")
    problems = [problem for session in sessions for problem in session.problems]
    print("\n".join(problems[:10]))
    return 1 if problems or kept != sent or memory[-1] - memory[1] > GROWTH else 0


def _memory(pid: int) -> int:
    """Resident bytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    sys.exit(main())
