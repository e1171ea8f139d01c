"""The pool command compared with its limit of 5 s: 12 systems, 50 topics, 1000 documents each, statistics included.

No peer does the same. The input is generated (seeded): every system reads a topic's 5000 documents in a common order
with noise of its own, docids are UUIDs, as many judgements as NeuCLIR's topics have.
"""

import random
import sys
import tempfile
import uuid
from pathlib import Path

from benchmarks.timing import LIMIT, Measured, Row, Seconds, Settings, run

SYSTEMS, TOPICS, DEPTH, UNIVERSE, JUDGED = 12, 50, 1000, 5000, 900
MOST = 5.0  # seconds
WAYS = (
    "--depth 1000",
    "--depth 1000 --qrels qrels",
    "--depth 20 --qrels qrels",
    "--depth 1000 --budget 5000 --order fused",
    "--depth 1000 --order mtf --judged qrels",
    "--depth 1000 --order hedge --judged qrels",
    "--sample 1-10:1.0,11-100:0.3,101-1000:0.05",
)


def measure(settings: Settings) -> Measured:
    """Make the input, run each way of pooling with the runs in two orders."""
    with tempfile.TemporaryDirectory() as folder:
        _write_input(Path(folder))
        rows = [_row(Path(folder), way) for way in WAYS[: 1 if settings.quick else None]]
    about = (
        f"`heed pool` over generated runs of {SYSTEMS} systems, {TOPICS} topics and {DEPTH} documents, statistics "
        "included. Each way of pooling runs twice."
    )
    return Measured(about, rows)


def _row(folder: Path, way: str) -> Row:
    runs = sorted(path.name for path in folder.glob("*.run"))
    seconds, outputs = zip(*(_pooled(folder, [*order, *way.split()]) for order in (runs, runs[::-1])), strict=True)
    if outputs[0] != outputs[1]:
        sys.exit(f"{way}: the order in which the runs are named changes the pool")
    limits = [(MOST, MOST)] * len(seconds)
    return Row(f"`{way}`", LIMIT, list(seconds), limits, 1, "same bytes, whatever the order of the runs")


def _pooled(folder: Path, arguments: list[str]) -> tuple[Seconds, tuple[bytes, str]]:
    """Return the seconds of the command, and what it wrote and printed."""
    seconds, output = run(folder, "pipelines.pool", *arguments, "--out", "pool.jsonl")
    return seconds, ((folder / "pool.jsonl").read_bytes(), output)


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
