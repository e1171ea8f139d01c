"""Whole commands beside a program of the peers that does the same: ``python -m benchmarks.commands``.

``tables`` over FollowTable's WTR with BM25 is held against ``benchmarks.commands_pyserini``: index, two conditions,
runs, figures. Both run in an empty folder, again, after one topic and after one document was changed, in turn, in
processes of their own. Their figures have to be equal. WTR is read where it is on this machine (``--data``), else
generated. Commands without a peer are held against a limit.
"""

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import starts
from benchmarks.table import Row, Seconds, text, write_rows

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data" / "followtable" / "WTR"
PEER = "pyserini and pytrec_eval"
STEPS = ("in an empty folder", "again", "one topic changed", "one document changed")
TARGETS = (5, 5, None, None)
LIMITS = {  # command -> (arguments, seconds in an empty folder, seconds again)
    "neuclir --lang zho, the sample": (("neuclir", "--lang", "zho", "--collection", "sample"), 5.0, 1.5),
    "tables with polarity": (("tables", "--data", "data", "--retriever", "bm25"), 15.0, 2.0),
}
EQUAL = 1e-6  # of figures: one side computes in single precision


def main() -> None:
    """Run all commands in turn, print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commands", description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="times each side is run (default 3)")
    parser.add_argument("--quick", action="store_true", help="one repetition")
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="a FollowTable subset in BEIR form")
    parser.add_argument("--json", type=Path, help="write all timings to this file")
    options = parser.parse_args()
    repeat = 1 if options.quick else options.repeat
    pairs: dict[str, tuple[list[Seconds], list[Seconds]]] = {step: ([], []) for step in STEPS}
    limited: dict[str, tuple[list[Seconds], list[Seconds]]] = {name: ([], []) for name in LIMITS}
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as place:
            name = _input(Path(place), options.data)
            for step, (ours, theirs) in pairs.items():
                _change(Path(place) / "data", step)
                ours.append(_heed(Path(place) / "bm25", "tables", "--data", "../data", "--reranker", "none"))
                theirs.append(_run(Path(place), "benchmarks.commands_pyserini", "data", "peer"))
                _compare(Path(place))
            for command, (arguments, *_) in LIMITS.items():
                folder = Path(place) / arguments[0]
                folder.mkdir()
                (folder / "data").symlink_to(Path(place) / "data")
                for of_command in limited[command]:
                    of_command.append(_heed(folder, *arguments))
    told = f"{name}, depth 1000, {repeat} repetitions; `tables --retriever bm25 --reranker none` beside its peer"
    rows = [
        Row(f"tables, {step}", PEER, *pairs[step], target, "same figures")
        for step, target in zip(STEPS, TARGETS, strict=True)
    ]
    for command, (_, fresh, again) in LIMITS.items():
        for step, limit, ours in zip(STEPS, (fresh, again), limited[command], strict=False):
            rows.append(Row(f"{command}, {step}", f"a limit of {limit:g} s", ours, [(limit, limit)] * repeat, 1, ""))
    with tempfile.TemporaryDirectory() as place:
        rows += starts.rows(Path(place), repeat)
    print(f"{told}\n{text(rows)}")
    if options.json:
        write_rows(options.json, rows, told)


def _heed(folder: Path, command: str, *arguments: str) -> Seconds:
    folder.mkdir(exist_ok=True)
    bm25 = ("--retriever", "bm25") if command == "tables" and "--retriever" not in arguments else ()
    return _run(folder, f"pipelines.{command}", *arguments, *bm25, "--quiet")


def _run(folder: Path, module: str, *arguments: str) -> Seconds:
    """Return the seconds of a process and all that it starts."""
    # pyserini asks for a key at import; nothing may be fetched while the clock runs
    environment = os.environ | {"OPENAI_API_KEY": "unused", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _compare(place: Path) -> None:
    """Exit if the figures of the two sides differ."""
    theirs = json.loads((place / "peer" / "figures.json").read_text())
    [path] = (place / "bm25" / "runs").rglob("summary.json")
    rows = json.loads(path.read_text())["rows"]
    ours = {f"{row['condition']} {row['measure']}": row["value"] for row in rows}
    different = [name for name, value in theirs.items() if abs(ours[name] - value) > EQUAL]
    if different:
        sys.exit(
            f"other figures than the peer's: {', '.join(f'{name} {ours[name]} {theirs[name]}' for name in different)}"
        )


def _change(data: Path, step: str) -> None:
    """Change the first topic, or the first document, where the step asks for it."""
    name = {STEPS[2]: "queries.jsonl", STEPS[3]: "corpus.jsonl"}.get(step)
    if name is None:
        return
    first, *others = (data / name).read_text(encoding="utf-8").splitlines(keepends=True)
    record = json.loads(first)
    if name == "queries.jsonl":
        about = record["metadata"]
        about["instruction"] += " Thank you."
        record["text"] = f"{about['instruction']} [SEP] {about['origin_query']}"
    else:
        record["text"] += "\n| one | more |"
    (data / name).write_text("".join([json.dumps(record, ensure_ascii=False) + "\n", *others]), encoding="utf-8")


def _input(place: Path, data: Path) -> str:
    """Write a FollowTable subset to ``place``, its corpus unpacked so that both sides read the same file."""
    folder = place / "data"
    if not data.is_dir():
        return _generated(folder)
    shutil.copytree(data, folder, copy_function=shutil.copyfile)
    for path in (folder, folder / "qrels"):
        path.chmod(0o755)
    if (folder / "corpus.jsonl.gz").exists():
        from heed.files import read_bytes

        (folder / "corpus.jsonl").write_bytes(read_bytes(folder / "corpus.jsonl.gz"))
        (folder / "corpus.jsonl.gz").unlink()
    return data.name


def _generated(folder: Path) -> str:
    chooser = random.Random(0)
    words = [f"w{number}" for number in range(5_000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]

    def row(cells: int) -> str:
        return f"| {' | '.join(chooser.choices(words, weights, k=cells))} |"

    tables = [
        {
            "_id": str(number),
            "title": "",
            "text": "\n".join([row(5), "|---|---|---|---|---|", *(row(5) for _ in range(20))]),
        }
        for number in range(10_000)
    ]
    asked = [" ".join(chooser.choices(words, weights, k=5)) for _ in range(60)]
    instructions = [" ".join(chooser.choices(words, weights, k=40)) for _ in asked]
    topics = [
        {
            "_id": f"{number}_0",
            "text": f"{wanted} [SEP] {query}",
            "metadata": {"origin_query": query, "instruction": wanted},
        }
        for number, (query, wanted) in enumerate(zip(asked, instructions, strict=True))
    ]
    (folder / "qrels").mkdir(parents=True)
    _write(folder / "corpus.jsonl", tables)
    _write(folder / "only_queries.jsonl", [{"_id": str(number), "text": query} for number, query in enumerate(asked)])
    _write(folder / "queries.jsonl", topics)
    for name, suffix in (("for_only_query_test.tsv", ""), ("test.tsv", "_0")):
        grades = [f"{number}{suffix}\t{chooser.randrange(10_000)}\t1\n" for number in range(len(asked))]
        (folder / "qrels" / name).write_text("query-id\tcorpus-id\tscore\n" + "".join(grades))
    return "generated"


def _write(path: Path, records: Sequence[object]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


if __name__ == "__main__":
    main()
