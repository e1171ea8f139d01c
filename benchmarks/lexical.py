"""BM25 beside its peers on the same documents and queries: ``python -m benchmarks.lexical``.

Indexing beside Anserini's command line, searching beside pyserini's ``batch_search`` and bm25s, each side in
processes of its own, in turn. The input is FollowTable's IndusTR with 200 instruction queries where it is on this
machine (``--data``), else generated: Zipfian words, seeded. Runs have to be equal to pyserini's, document by document.
bm25s and PyStemmer come with the extra ``bench``.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.table import Row, Seconds, text, write_rows

DATA = Path(__file__).parents[2] / "shared" / "data" / "followtable" / "IndusTR"
QUERIES, WORDS, DOCUMENTS = 200, 20_000, 10_000
JOBS = ("heed index", "anserini index", "bm25s index", "heed search", "pyserini search", "bm25s search")
SAME, OWN = "same documents in the same order", "bm25s has a tokenizer of its own"
# step; Heed's job and its step; the peer's; its name; target; how compared
ROWS = (
    ("documents read and indexed", "heed index", "store and index", "anserini index", "storing raw", "Anserini", 1, ""),
    ("indexed alone", "heed index", "index", "anserini index", "storing nothing", "Anserini", 1, SAME),
    ("the index's matrix", "heed index", "matrix", "bm25s index", "index", "bm25s, its whole index", None, OWN),
    ("start to first hit", "heed search", "first hit", "pyserini search", "first hit", "pyserini", 10, SAME),
    ("start to first hit", "heed search", "first hit", "bm25s search", "first hit", "bm25s", None, OWN),
    ("first {n} queries", "heed search", "search", "pyserini search", "search", "pyserini", 10, SAME),
    ("first {n} queries", "heed search", "search", "bm25s search", "search", "bm25s", 1, OWN),
    ("{n} queries again", "heed search", "again", "pyserini search", "again", "pyserini", 10, SAME),
    ("{n} queries again", "heed search", "again", "bm25s search", "again", "bm25s", 1, OWN),
)

Times = dict[str, Seconds]  # by step


def main() -> None:
    """Make the input, run all sides in turn, print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lexical", description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, help="times each side is run (default 5)")
    parser.add_argument("--quick", action="store_true", help="one repetition")
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="a FollowTable subset")
    parser.add_argument("--json", type=Path, help="write all timings to this file")
    options = parser.parse_args()
    repeat = 1 if options.quick else options.repeat
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        documents, queries, name = _real(options.data) if options.data.is_dir() else _generated()
        _write(folder, documents, queries)
        measured: dict[str, list[Times]] = {job: [] for job in JOBS}
        for _ in range(repeat):
            for job, times in measured.items():
                times.append(_run(job, folder))
            _compare(folder)
    told = f"{name}: {len(documents)} documents, {len(queries)} queries, depth 1000, 2 threads, {repeat} repetitions"
    rows = [_row(measured, one, len(queries)) for one in ROWS]
    print(f"{told}\n{text(rows)}")
    if options.json:
        write_rows(options.json, rows, told)


def _real(data: Path) -> tuple[dict[str, str], dict[str, str], str]:
    from heed.datasets.followtable import JOIN, read_followtable
    from heed.tables.documents import Tables
    from heed.types import under

    read = read_followtable(data)
    lines = Tables(read.tables, "raw", titles=False).lines()
    documents = {line.document.docid: line.document.contents() for line in lines if line.document}
    topics = under(read.topics, "original")[:QUERIES]
    return documents, {topic.qid: topic.under("original", JOIN).text for topic in topics}, data.name


def _generated() -> tuple[dict[str, str], dict[str, str], str]:
    chooser = random.Random(0)
    words = [f"w{number}" for number in range(WORDS)]
    weights = [1 / (rank + 1) for rank in range(WORDS)]

    def made(length: int) -> str:
        return " ".join(chooser.choices(words, weights, k=length))

    documents = {f"d{number}": made(chooser.randint(50, 400)) for number in range(DOCUMENTS)}
    return documents, {str(number): made(100) for number in range(QUERIES)}, "generated"


def _write(folder: Path, documents: dict[str, str], queries: dict[str, str]) -> None:
    (folder / "docs").mkdir()
    lines = [json.dumps({"id": docid, "contents": text}) + "\n" for docid, text in documents.items()]
    for part in range(2):  # Anserini reads a file by one thread
        (folder / "docs" / f"{part}.jsonl").write_text("".join(lines[part::2]))
    (folder / "queries.json").write_text(json.dumps(queries))


def _run(job: str, folder: Path) -> Times:
    # pyserini 1.6 asks for a key at import; nothing may be fetched while the clock runs
    environment = os.environ | {"OPENAI_API_KEY": "unused", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "benchmarks.lexical_sides", *job.split(), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{job} failed:\n{done.stderr[-2000:]}")
    times: Times = json.loads(done.stdout.splitlines()[-1])
    return times


def _compare(folder: Path) -> None:
    """Heed's documents are pyserini's, in the same order."""
    ours, theirs = (json.loads((folder / f"{side}.found.json").read_text()) for side in ("heed", "pyserini"))
    different = [qid for qid, docids in theirs.items() if ours[qid] != docids]
    if different:
        sys.exit(f"{len(different)} of {len(theirs)} queries have other documents than pyserini's: {different[:5]}")


def _row(measured: dict[str, list[Times]], one: tuple[str, str, str, str, str, str, float | None, str], n: int) -> Row:
    step, our_job, our_step, their_job, their_step, peer, target, compared = one
    ours = [times[our_step] for times in measured[our_job]]
    theirs = [times[their_step] for times in measured[their_job]]
    return Row(step.format(n=n), peer, ours, theirs, target, compared)


if __name__ == "__main__":
    main()
