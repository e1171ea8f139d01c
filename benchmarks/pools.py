"""The pool command beside its limit of 5 s: 12 systems, 50 topics, 1000 documents each, statistics included.

No peer does the same. The input is generated (seeded): every system reads a topic's 5000 documents in a common order
with noise of its own, docids are UUIDs, as many judgements as NeuCLIR's topics have.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from benchmarks.table import Row, text, write_rows

SYSTEMS, TOPICS, DEPTH, UNIVERSE, JUDGED = 12, 50, 1000, 5000, 900
LIMIT = 5.0  # seconds
SETTINGS = {
    "depth 1000, hidden": ["--depth", "1000"],
    "the same, systems left out": ["--depth", "1000", "--qrels", "qrels"],
    "depth 20, systems left out": ["--depth", "20", "--qrels", "qrels"],
    "budget 5000, fused": ["--depth", "1000", "--budget", "5000", "--order", "fused"],
    "move-to-front": ["--depth", "1000", "--order", "mtf", "--judged", "qrels"],
    "Hedge": ["--depth", "1000", "--order", "hedge", "--judged", "qrels"],
    "sample": ["--sample", "1-10:1.0,11-100:0.3,101-1000:0.05"],
}


def main() -> None:
    """Make the input, run each setting with the runs in two orders, print time and memory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pools", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the first setting alone")
    parser.add_argument("--json", type=Path, help="write all timings to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _write_input(Path(folder))
        rows = [_row(Path(folder), name) for name in list(SETTINGS)[: 1 if options.quick else None]]
    told = f"{SYSTEMS} systems × {TOPICS} topics × {DEPTH} documents"
    print(f"{told}\n{text(rows)}")
    if options.json:
        write_rows(options.json, rows, told)


def _row(folder: Path, name: str) -> Row:
    runs = sorted(folder.glob("*.run"))
    both = [_run(folder, one, SETTINGS[name]) for one in (runs, runs[::-1])]
    assert both[0][2] == both[1][2]
    peak = max(used.ru_maxrss for _, used, _ in both) / 1024
    ours = [(wall, used.ru_utime + used.ru_stime) for wall, used, _ in both]
    compared = f"same bytes from the runs in another order; {peak:.0f} MiB"
    return Row(name, "a limit of 5 s", ours, [(LIMIT, LIMIT)] * len(ours), 1, compared)


def _run(folder: Path, runs: list[Path], options: list[str]) -> tuple[float, resource.struct_rusage, list[bytes]]:
    """Wall time of the process, what it used, and what it wrote."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "pipelines.pool", *map(str, runs), *options, "--out", "pool.jsonl"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    with (folder / "stdout").open("wb") as stream:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=stream)  # noqa: S603 (our own command)
        _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    seconds = time.perf_counter() - start
    return seconds, used, [(folder / name).read_bytes() for name in ("pool.jsonl", "stdout")]


def _write_input(folder: Path) -> None:
    chance = random.Random(0)
    topics = {
        str(200 + at): [str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(UNIVERSE)] for at in range(TOPICS)
    }
    for system in range(SYSTEMS):
        with (folder / f"system{system:02}.run").open("w") as stream:
            for qid, docids in topics.items():
                spread = 300 + 60 * system
                place = {
                    docid: at * chance.uniform(0.2, 1) + chance.uniform(0, spread) for at, docid in enumerate(docids)
                }
                for rank, docid in enumerate(sorted(docids, key=place.__getitem__)[:DEPTH], 1):
                    stream.write(f"{qid} Q0 {docid} {rank} {30 - rank / 37!r} system{system:02}\n")
    with (folder / "qrels").open("w") as stream:
        for qid, docids in topics.items():
            for at in sorted(chance.sample(range(1500), JUDGED)):
                grade = chance.choice((1, 1, 3)) if chance.random() < 25 / (60 + at) else 0
                stream.write(f"{qid} 0 {docids[at]} {grade}\n")


if __name__ == "__main__":
    main()
