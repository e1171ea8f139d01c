"""Whole commands compared with a program of pyserini and ir_measures that does the same.

``tables`` with BM25 indexes, searches under two conditions, writes runs and figures, as
``benchmarks.commands_pyserini`` does. Both run in an empty folder, again, after one topic and after one document was
changed, in turn, in processes of their own. Their figures have to be equal.
"""

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.followtable_input import write_subset
from benchmarks.timing import LIMIT, Measured, Row, Seconds, Settings, run

PEER = "pyserini and ir_measures"
STEPS = ("in an empty folder", "again", "one topic changed", "one document changed")
AIMS = (5, 5, None, None)
LIMITS = {  # command -> (arguments, seconds in an empty folder, seconds again)
    "neuclir --lang zho, the sample": (("neuclir", "--lang", "zho", "--collection", "sample"), 5.0, 1.5),
    "tables with polarity": (("tables", "--data", "data", "--retriever", "bm25"), 15.0, 2.0),
}
EQUAL = 1e-6  # of figures: one side computes in single precision
Pairs = dict[str, tuple[list[Seconds], list[Seconds]]]


def measure(settings: Settings) -> Measured:
    """Run all commands in turn."""
    repeat = settings.repetitions(3)
    pairs: Pairs = {step: ([], []) for step in STEPS}
    limited: Pairs = {command: ([], []) for command in LIMITS}
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as work:
            name = _once(Path(work), settings.data / "followtable" / "WTR", pairs, limited)
    rows = [
        Row(f"tables, {step}", PEER, *pairs[step], aim, "same figures") for step, aim in zip(STEPS, AIMS, strict=True)
    ]
    for command, (_, *limits) in LIMITS.items():
        for step, limit, ours in zip(STEPS, limits, limited[command], strict=False):
            rows.append(Row(f"{command}, {step}", LIMIT, ours, [(limit, limit)] * repeat, 1, ""))
    about = (
        f"`heed tables --retriever bm25 --reranker none` over {name}, 1000 tables a topic, and a program of pyserini "
        "and ir_measures that writes the same runs and figures. They run in an empty folder, then again with nothing "
        f"changed, then after a topic and after a document was changed. Repetitions: {repeat}."
    )
    return Measured(about, rows)


def _once(work: Path, source: Path, pairs: Pairs, limited: Pairs) -> str:
    """Add a repetition to the seconds of each command; return the name of the collection."""
    name = write_subset(source, work / "data")
    (work / "bm25").mkdir()
    for step, (ours, theirs) in pairs.items():
        _change(work / "data", step)
        arguments = ("--data", "../data", "--retriever", "bm25", "--reranker", "none", "--quiet")
        ours.append(run(work / "bm25", "pipelines.tables", *arguments)[0])
        theirs.append(run(work, "benchmarks.commands_pyserini", "data", "peer")[0])
        _compare(work)
    for command, (arguments, *_) in LIMITS.items():
        folder = work / arguments[0]
        folder.mkdir()
        (folder / "data").symlink_to(work / "data")
        for times in limited[command]:
            times.append(run(folder, f"pipelines.{arguments[0]}", *arguments[1:], "--quiet")[0])
    return name


def _compare(work: Path) -> None:
    """Exit if the figures of the two sides differ."""
    theirs = json.loads((work / "peer" / "figures.json").read_text())
    [path] = (work / "bm25" / "runs").rglob("summary.json")
    rows = json.loads(path.read_text())["rows"]
    ours = {f"{row['condition']} {row['measure']}": row["value"] for row in rows}
    different = [f"{name} {ours[name]} {value}" for name, value in theirs.items() if abs(ours[name] - value) > EQUAL]
    if different:
        sys.exit(f"other figures than the peer's: {', '.join(different)}")


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
