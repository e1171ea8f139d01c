"""Time Heed's BM25 beside pyserini's on the same input, alternating, and print the ratios.

Each side runs in a process of its own: a Java machine cannot be started twice in one. The input is
generated (Zipfian words, seeded), the queries are as long as instructions.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SIDES = Path(__file__).with_name("sides.py")
WORDS, DOCUMENTS, QUERIES = 20_000, 10_000, 100


def main() -> None:
    """Make the input, run both sides in turn, print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="times each side is run (default 3)")
    parser.add_argument("--json", type=Path, help="write all timings to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _write_input(Path(folder))
        measured: dict[str, list[dict[str, float]]] = {"heed": [], "pyserini": []}
        for _ in range(options.repeat):
            for side, timed in measured.items():
                timed.append(_run(side, Path(folder)))
    print(f"{DOCUMENTS} documents, {QUERIES} queries of 100 words, depth 1000, 2 threads, median of {options.repeat}")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}\n")
    print(f"{'step':<10}{'Heed s':>10}{'pyserini s':>12}{'ratio':>8}{'spread':>14}")
    for step in measured["heed"][0]:
        ours, theirs = ([one[step] for one in measured[side]] for side in ("heed", "pyserini"))
        ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
        middle = (statistics.median(ours), statistics.median(theirs), statistics.median(ratios))
        print(f"{step:<10}{middle[0]:>10.2f}{middle[1]:>12.2f}{middle[2]:>8.1f}{min(ratios):>8.1f}-{max(ratios):.1f}")
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1) + "\n")


def _write_input(folder: Path) -> None:
    chooser = random.Random(0)  # noqa: S311 (an input, no secret)
    words = [f"w{number}" for number in range(WORDS)]
    weights = [1 / (rank + 1) for rank in range(WORDS)]

    def text(length: int) -> str:
        return " ".join(chooser.choices(words, weights, k=length))

    (folder / "docs").mkdir()
    with (folder / "docs" / "docs.jsonl").open("w") as stream:
        for number in range(DOCUMENTS):
            stream.write(json.dumps({"id": f"d{number}", "contents": text(chooser.randint(50, 400))}) + "\n")
    queries = {str(number): text(100) for number in range(QUERIES)}
    (folder / "queries.json").write_text(json.dumps(queries))


def _run(side: str, folder: Path) -> dict[str, float]:
    # pyserini 1.6 asks for a key at import, and finds Java by JAVA_HOME only
    environment = os.environ | {"OPENAI_API_KEY": "unused"}
    command = [sys.executable, str(SIDES), side, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{side} failed:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
