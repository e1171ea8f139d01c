"""How long a report of many systems takes: ``python -m benchmarks.report [SYSTEMS [TOPICS]]`` prints time and size.

The results are made up: each system has a strength, each topic a difficulty, and both show in every figure.
"""

import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from heed.measures import mean
from heed.measures.summary import rows_of

CONDITIONS = ("query", "original", "changed")
MEASURES = ("nDCG@20", "Judged@20", "AP", "R@100", "R@1000")
PAIR, PAIRED = "original>changed", ("p-MRR", "p-MRR in neither")
JUDGED = 10  # documents of a topic that are judged under both instructions


def write_results(folder: Path, systems: int, topics: int) -> Path:
    """Write ``summary.json`` and ``per_topic.json`` of made-up systems to ``folder``; the same every time."""
    draw = random.Random(0)
    qids = [f"{number:03d}" for number in range(topics)]
    difficulty = {qid: draw.uniform(0.2, 0.8) for qid in qids}
    columns = [(condition, measure) for condition in CONDITIONS for measure in MEASURES]
    columns += [(PAIR, measure) for measure in PAIRED]
    details: list[Any] = []
    shifts: list[Any] = []
    for number in range(systems):
        system, strength = f"team{number // 5:02d}-run{number % 5}", draw.uniform(0.2, 1)
        for condition, measure in columns:
            scale = 0.3 if condition == PAIR else 1
            values = {qid: scale * (strength * difficulty[qid] + draw.uniform(-0.1, 0.1)) for qid in qids}
            row = {"system": system, "condition": condition, "measure": measure}
            details.append(row | {"value": mean(values), "n": topics, "per_topic": values})
        for qid in qids:
            for place in range(JUDGED):
                base = draw.randint(1, 300)
                new = max(1, round(base * draw.uniform(0.5, 1 + 2 * strength)))
                group = "violating" if place % 3 else "compliant"
                shift = {"system": system, "qid": qid, "docid": f"d{qid}{place}", "group": group}
                shifts.append(shift | {"base": base, "new": new})
    folder.mkdir(parents=True, exist_ok=True)
    summary = {"collection": "made-up", "subset": "eng", "rows": rows_of(details), "warnings": []}
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "per_topic.json").write_text(json.dumps({"rows": details, "shifts": shifts}))
    return folder


def main(systems: int = 200, topics: int = 100) -> None:
    """Write such results and their report, and print how long the latter took and how large it is."""
    from pipelines.report import main as report

    with tempfile.TemporaryDirectory() as folder:
        runs = write_results(Path(folder) / "runs", systems, topics)
        start = time.perf_counter()
        report([str(runs), "--html", "--out", f"{folder}/table.txt", "--quiet"])
        seconds, size = time.perf_counter() - start, (runs / "report.html").stat().st_size
        print(f"report of {systems} systems, {topics} topics: {seconds:.1f} s, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
