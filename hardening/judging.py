"""Kill the annotation server while an assessor judges: nothing that was answered may be lost, nothing count twice.

The assessor is a client as the page is one: each change has an id of its own and is sent until it is answered.
"""

import http.client
import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from hardening.jobs import QRELS, ROOT, SAMPLE, Job, environment, kill, run

CHANGES = 50
POOL = "pool.jsonl"
SOURCES = (
    *("--topics", str(ROOT / f"topics/{SAMPLE}/zho.jsonl"), "--docs", str(ROOT / f"documents/{SAMPLE}/zho.jsonl")),
    *("--lang", "zho", "--quiet"),
)
SERVE = ("pipelines.annotate", POOL, *SOURCES, "--no-browser")
EXPORT = Job("annotate", ("pipelines.annotate", POOL, *SOURCES, "--export", "runs"))
ROUND = 10  # kills while one assessor judges
SECONDS = 120  # for one change to be answered
PAUSE = 0.05  # seconds between two tries
LONGEST = 1.5  # seconds that a server lives
THOUGHT = 0.1  # seconds that the assessor takes for a change
# of each table what does not depend on the time or on chance
CONTENT = (
    "SELECT name, value FROM kept WHERE name NOT IN ('token', 'name', 'port') ORDER BY 1",
    "SELECT * FROM documents ORDER BY 1",
    "SELECT id, client, part, assessor, batch, kind, qid, condition, docid, before, after, undoes FROM log ORDER BY 1",
    "SELECT * FROM judgements ORDER BY 1, 2, 3, 4",
    "SELECT * FROM narratives ORDER BY 1",
    "SELECT * FROM marks ORDER BY 1, 2, 3, 4, 5",
)


class Served(NamedTuple):
    """A server that answers; ``cookie`` holds its token."""

    process: "subprocess.Popen[str]"
    port: int
    cookie: str


class Server:
    """The command, started again whenever it was killed."""

    def __init__(self, folder: Path) -> None:
        """Work in ``folder``, which has a pool."""
        self._folder = folder
        self._lock = threading.Lock()
        self._served: Served | None = None

    def begin(self) -> "subprocess.Popen[str]":
        """Start the command; it may be killed before it serves."""
        return subprocess.Popen(
            [sys.executable, "-m", *SERVE],
            cwd=self._folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def know(self, process: "subprocess.Popen[str]") -> Served | None:
        """Wait for the address that the command prints; None if it died before."""
        address = urlsplit(process.stdout.readline().strip() if process.stdout else "")
        if not address.port:
            return None
        token = parse_qs(address.query)["token"][0]
        with self._lock:
            self._served = Served(process, address.port, f"heed-{address.port}={token}")
            return self._served

    @property
    def served(self) -> Served | None:
        """The last server that printed its address; None before any did."""
        with self._lock:
            return self._served

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send until it is answered with 200."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            served = self.served
            if served:
                try:
                    return self._once(served, path, body)
                except (OSError, http.client.HTTPException):
                    pass
            time.sleep(PAUSE)
        raise TimeoutError(f"{path}: no answer within {SECONDS} s")

    @staticmethod
    def _once(served: Served, path: str, body: dict[str, Any]) -> dict[str, Any]:
        with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)) as connection:
            headers = {"Cookie": served.cookie, "Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status == 200:
                found: dict[str, Any] = json.loads(content)
                return found
            raise http.client.HTTPException(f"{answer.status} {content[:200]!r}")


def prepare(folder: Path, topics: int = 3, documents: int = 10) -> None:
    """A pool of the sample's judged documents, at most so many of each of the first ``topics``."""
    from heed.formats.trec_files import read_qrels

    folder.mkdir(parents=True)
    pooled = list(read_qrels(QRELS / "original.qrels", "zho").items())[:topics]
    records = [{"qid": qid, "docids": sorted(grades)[:documents]} for qid, grades in pooled]
    (folder / POOL).write_text("".join(json.dumps(one) + "\n" for one in records))


def changes(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and body of each request: grades, notes, edits of narratives and steps back, always the same."""
    chooser = random.Random(0)
    pooled = [json.loads(line) for line in (folder / POOL).read_text().splitlines()]
    for at in range(CHANGES):
        topic = chooser.choice(pooled)
        place = {"qid": topic["qid"], "docid": chooser.choice(topic["docids"]), "condition": "original"}
        sent: dict[str, Any] = {"id": f"request-{at:04}", "assessor": chooser.choice(["ann", "bela"])}
        kind = chooser.choice(["grade", "grade", "grade", "note", "undo"])
        if kind == "undo":
            yield "/api/undo", sent
        else:
            said = {"grade": chooser.randrange(4)} if kind == "grade" else {"note": f"note {at}"}
            yield "/api/changes", {**sent, "changes": [{"kind": kind, **place, **said}]}
    for topic in pooled:
        edit = {"kind": "narrative", "qid": topic["qid"], "text": f"only of {topic['qid']}", "base": 0}
        yield "/api/changes", {"id": f"edit-{topic['qid']:>8}".replace(" ", "-"), "assessor": "ann", "changes": [edit]}


def judge(server: Server, folder: Path, told: list[Any]) -> None:
    """Send all changes; what was answered is added to ``told``."""
    try:
        for path, body in changes(folder):
            told.append(server.post(path, body))
            time.sleep(THOUGHT)
    except Exception as error:  # told by the thread that waits
        told.append(error)


def content(folder: Path) -> dict[str, Any]:
    """What the database and the export amount to, without times."""
    with closing(sqlite3.connect(folder / "pool.db")) as db:
        found: dict[str, Any] = {query: db.execute(query).fetchall() for query in CONTENT}
        found["integrity"] = db.execute("PRAGMA integrity_check").fetchall()
    for path in sorted((folder / "runs").iterdir()):
        lines = path.read_text().splitlines()
        if path.name == "judgements.jsonl":
            lines = [json.dumps({**json.loads(line), "at": ""}) for line in lines]
        found[path.name] = lines
    return found


def judged(folder: Path, kills: int, chooser: random.Random) -> tuple[int, list[str]]:
    """Judge in ``folder`` while the server is killed, at most ``kills`` times; how often it was, and what was wrong."""
    prepare(folder)
    server, done = Server(folder), 0
    told: list[Any] = []
    problems: list[str] = []
    client = threading.Thread(target=judge, args=(server, folder, told))
    client.start()
    while client.is_alive():
        process = server.begin()
        if done < kills:
            watch = threading.Thread(target=server.know, args=(process,))
            watch.start()
            time.sleep(chooser.uniform(0, LONGEST))
            kill(process)
            done += 1
            watch.join()
        elif server.know(process):
            client.join()
            kill(process, signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
        if process.returncode not in (-signal.SIGKILL, 143):
            problems.append(f"the server ended with {process.returncode}: {said[-300:]}")
            break
    client.join()
    problems += [str(one) for one in told if isinstance(one, Exception)]
    exported = run(EXPORT, folder)
    problems += [f"export: status {exported.returncode}, {exported.stderr[-300:]}"] if exported.returncode else []
    return done, problems


def disturb(place: Path, kills: int, chooser: random.Random) -> Iterator[tuple[int, int, list[str]]]:
    """Kill the server ``kills`` times in rounds: for each the kills, the bytes compared, and what was wrong."""
    _, wrong = judged(place / "whole", 0, chooser)
    if wrong:
        yield 0, 0, [f"undisturbed: {one}" for one in wrong]
        return
    expected, done, rounds = content(place / "whole"), 0, 0
    while done < kills and rounds < 3 * kills:
        folder = place / f"killed{rounds}"
        times, wrong = judged(folder, min(ROUND, kills - done), chooser)
        found = content(folder)
        wrong += [f"{name} differs" for name in expected if found.get(name) != expected[name]]
        yield times, len(json.dumps(found)), wrong
        done, rounds = done + times, rounds + 1
