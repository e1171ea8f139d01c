"""Many assessors who judge at once, each with a connection of its own, as browsers have them."""

import http.client
import json
import random
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hardening.jobs import kill
from hardening.judging import PAUSE, SECONDS, Server

GRADES = 4


class Took(NamedTuple):
    """Seconds that an answer took, and whether it was to a judgement or to a document that was asked for."""

    judged: bool
    seconds: float


class Sent(NamedTuple):
    """A judgement that was answered."""

    assessor: str
    qid: str
    docid: str
    grade: int


class Session:
    """One assessor; each judgement has an id of its own and is sent until it is answered."""

    def __init__(self, server: Server, name: str, number: int, places: Sequence[tuple[str, str]]) -> None:
        """Judge ``places``, topic and document, in an order of its own."""
        self.name = name
        self._server, self._number = server, number
        self._chooser = random.Random(number)
        self._places = self._chooser.sample(places, len(places))
        self._connection: http.client.HTTPConnection | None = None
        self.took: list[Took] = []
        self.sent: list[Sent] = []
        self.retries = 0
        self.problems: list[str] = []

    def judge(self, count: int, think: float) -> None:
        """Judge so many documents with ``think`` seconds before each, on average."""
        try:
            for at in range(count):
                time.sleep(self._chooser.uniform(0, 2 * think))
                self._judge_one(at)
        except TimeoutError as error:
            self.problems.append(str(error))
        finally:
            self._close()

    def _judge_one(self, at: int) -> None:
        qid, docid = self._places[at % len(self._places)]
        # another grade each time round, since one that is given already changes nothing
        grade = (self._number + at // len(self._places)) % GRADES
        change = {"kind": "grade", "qid": qid, "docid": docid, "condition": "original", "grade": grade}
        request = f"{self.name}-{at:05}".replace(" ", "-")  # the same ids in every database
        self._ask("GET", f"/api/document?docid={docid}", None)
        self._ask("POST", "/api/changes", {"id": request, "assessor": self.name, "changes": [change]})
        self.sent.append(Sent(self.name, qid, docid, grade))

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            begun = time.perf_counter()
            try:
                status, content = self._once(method, path, body)
            except (OSError, http.client.HTTPException):  # killed: sent again to the next server
                self._close()
                self.retries += 1
                time.sleep(PAUSE)
                continue
            self.took.append(Took(body is not None, time.perf_counter() - begun))
            if status != 200:
                self.problems.append(f"{status} {content[:200]!r}")
            return
        raise TimeoutError(f"{self.name}: {path}: no answer within {SECONDS} s")

    def _once(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
        served = self._server.served
        if served is None:
            raise ConnectionError("no server yet")
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        headers = {"Cookie": served.cookie, "Content-Type": "application/json"}
        self._connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def spread(milliseconds: Sequence[float]) -> str:
    """The middle, the 95th of 100 and the last."""
    ordered = sorted(milliseconds)
    p50, p95 = (ordered[round(share * (len(ordered) - 1))] for share in (0.5, 0.95))
    return f"{p50:.1f} ms (p50), {p95:.1f} ms (p95), {ordered[-1]:.0f} ms at most"


class Judged(NamedTuple):
    """The seconds that all took, and the last server's resident bytes after a tenth of its judgements and after all."""

    seconds: float
    memory: tuple[int, int]


def judge(server: Server, sessions: Sequence[Session], count: int, think: float, kills: int) -> Judged:
    """Let every session judge ``count`` documents; kill the server ``kills`` times, evenly, and start it again."""
    total = count * len(sessions)

    def wait_for(share: float) -> None:
        while sum(len(one.sent) for one in sessions) < share * total and any(one.is_alive() for one in threads):
            time.sleep(PAUSE)

    process = server.begin()
    server.know(process)
    begun = time.perf_counter()
    threads = [threading.Thread(target=one.judge, args=(count, think)) for one in sessions]
    for one in threads:
        one.start()
    for number in range(1, kills + 1):
        wait_for(number / (kills + 1))
        kill(process)
        process.communicate()
        process = server.begin()
        server.know(process)
    wait_for((kills + 0.1) / (kills + 1))
    early = memory(process.pid)
    for one in threads:
        one.join()
    judged = Judged(time.perf_counter() - begun, (early, memory(process.pid)))
    kill(process, signal.SIGTERM)
    process.communicate(timeout=60)
    return judged


def memory(pid: int) -> int:
    """Resident bytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0
