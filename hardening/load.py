"""Let many assessors judge at once, kill the server under them, join two databases: ``python -m hardening.load``.

Starts ``python -m pipelines.annotate`` on a pool of the sample and sends it judgements from ``--sessions`` connections
on the loopback address, each of which thinks for a while, asks for a document and grades it; with ``--browser`` one
more judges in a real one, in which the time from a key to the next document is measured. The server is killed
``--kills`` times. A fifth as many judge a second round, other documents of the same topics, in a database of its own:
half of them are assessors of the first. Then the second database is added to the first by a command that is killed as
often, and all is exported. Prints how long answers took, how many judgements were lost or invented on the way into the
export, and the server's memory; exit status 1 if any was, or the memory grew by more than ``GROWTH`` (without a
browser, whose page starts Java in the server).
"""

import argparse
import json
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from hardening.browser import CHROMIUM, BrowserSession
from hardening.jobs import QRELS, ROOT, SAMPLE, Job, kill, run, start
from hardening.judging import POOL, SOURCES, Server
from hardening.sessions import Judged, Sent, Session, judge, spread

GROWTH = 16 << 20  # bytes between a tenth of the last server's judgements, when all is warm, and the last
LONGEST = 2.5  # seconds that adding lives before it is killed: it needs 1 to 2
OTHERS = 5  # assessors of the first round for one of the second


class Round(NamedTuple):
    """A pool in a folder of its own, and who judged it."""

    folder: Path
    server: Server
    sessions: list[Session]

    def sent(self) -> list[Sent]:
        """Every judgement that was answered."""
        return [one for session in self.sessions for one in session.sent]


def main() -> int:
    """Run once; gives back the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hardening.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=50, help="assessors at once (default 50)")
    parser.add_argument("--judgements", type=int, default=10_000, help="of the first round (default 10000)")
    parser.add_argument("--think", type=float, default=0.2, help="seconds before a judgement, on average (default 0.2)")
    parser.add_argument("--kills", type=int, default=3, help="of the server, and of adding (default 3)")
    parser.add_argument("--browser", action="store_true", help="one of the first round judges in Chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        return _loaded(Path(place), options)


def _loaded(place: Path, options: argparse.Namespace) -> int:
    first = _prepared(place / "first", 0, [f"assessor {number:02}" for number in range(options.sessions)])
    count = options.judgements // options.sessions
    if options.browser and Path(CHROMIUM).exists():
        first.sessions.append(BrowserSession(first.server, "in a browser", options.sessions))
    elif options.browser:
        print(f"no Chromium at {CHROMIUM}: left out")
    judged = judge(first.server, first.sessions, count, options.think, options.kills)
    problems = _told(first, judged, options.kills)
    print(*(session.line() for session in first.sessions if isinstance(session, BrowserSession)), sep="\n")
    same = [session.name for session in first.sessions[: max(1, options.sessions // OTHERS // 2)]]
    late = [f"late {number:02}" for number in range(len(same))]
    second = _prepared(place / "second", 1, [*same, *late])
    problems += _told(second, judge(second.server, second.sessions, count, options.think, 0), 0)
    problems += _added(first, second, same, options.kills)
    print("\n".join(problems[:10]))
    return 1 if problems else 0


def _prepared(folder: Path, part: int, names: Sequence[str]) -> Round:
    """Pool every other document of the sample for each topic, from the first or second on."""
    folder.mkdir()
    docids = [json.loads(line)["id"] for line in (ROOT / f"documents/{SAMPLE}/zho.jsonl").read_text().splitlines()]
    qids = dict.fromkeys(line.split()[0] for line in (QRELS / "original.qrels").read_text().splitlines())
    pooled = docids[part::2]
    (folder / POOL).write_text("".join(json.dumps({"qid": qid, "docids": pooled}) + "\n" for qid in qids))
    places = [(qid, docid) for qid in qids for docid in pooled]
    server = Server(folder)
    return Round(folder, server, [Session(server, name, number, places) for number, name in enumerate(names)])


def _told(judged_round: Round, judged: Judged, kills: int) -> list[str]:
    """Print what answers took; return what was wrong."""
    sessions = judged_round.sessions
    took = [one for session in sessions for one in session.took]
    rate, retries = len(took) / judged.seconds, sum(session.retries for session in sessions)
    print(f"{len(sessions)} sessions, {len(took)} requests in {judged.seconds:.0f} s, {rate:.0f} a second")
    for name, is_judgement in (("judgement", True), ("document", False)):
        print(f"a {name} is answered in {spread([1000 * one.seconds for one in took if one.judged is is_judgement])}")
    early, late = judged.memory
    sent = judged_round.sent()
    lost, invented = _compared(judged_round.folder, sent)
    print(f"{len(sent)} judgements, {kills} kills, {retries} requests sent again: {lost} lost, {invented} invented")
    print(f"memory of the last server after a tenth of its judgements and all: {early >> 20} and {late >> 20} MiB")
    problems = [problem for session in sessions for problem in session.problems]
    problems += [f"{lost} judgements lost, {invented} invented"] if lost or invented else []
    in_browser = any(isinstance(session, BrowserSession) for session in sessions)
    return problems + (["the memory grew"] if late - early > GROWTH and not in_browser else [])


def _compared(folder: Path, sent: Sequence[Sent]) -> tuple[int, int]:
    """How many judgements the log of a database lacks, and how many it has besides."""
    with closing(sqlite3.connect(folder / "pool.db")) as db:
        rows = db.execute("SELECT assessor, qid, docid, json_extract(after, '$.grade') FROM log")
        kept = Counter(Sent(*row) for row in rows)
    return (Counter(sent) - kept).total(), (kept - Counter(sent)).total()


def _added(first: Round, second: Round, same: Sequence[str], kills: int) -> list[str]:
    """Add the second round's database to the first, killed and repeated, and export; return what was wrong."""
    names = [part for name in same for part in ("--as", f"{name}={name}")]
    command = ("pipelines.annotate", POOL, *SOURCES, "--add", str(second.folder / "pool.db"), *names, "--export", "out")
    job, chooser = Job("add", command), random.Random(0)
    for _ in range(kills):
        process = start(job, first.folder)
        time.sleep(chooser.uniform(0, LONGEST))
        kill(process, signal.SIGKILL)
        process.communicate()
    for _ in range(2):  # once more changes nothing
        begun = time.perf_counter()
        done = run(job, first.folder)
        if done.returncode:
            return [f"adding: status {done.returncode}, {done.stderr[-300:]}"]
    seconds = time.perf_counter() - begun
    sent = [*first.sent(), *second.sent()]
    lost, invented = _compared(first.folder, sent)
    expected = {one[:3]: one.grade for one in sent}
    records = [json.loads(line) for line in (first.folder / "out/judgements.jsonl").read_text().splitlines()]
    exported = {(one["assessor"], one["qid"], one["docid"]): one["grade"] for one in records}
    gone = sum(exported.get(place) != grade for place, grade in expected.items())
    besides = len(exported.keys() - expected.keys()) + len(records) - len(exported)
    print(
        f"second database added, {kills} kills, then twice ({seconds:.1f} s): of {len(sent)} judgements {lost} lost, "
        f"{invented} invented; of {len(expected)} exported grades {gone} lost, {besides} invented"
    )
    return [f"adding: {lost + gone} lost, {invented + besides} invented"] if lost + gone + invented + besides else []


if __name__ == "__main__":
    sys.exit(main())
