"""BM25 compared with Anserini, pyserini and bm25s on the same documents and queries.

Each side runs in processes of its own, in turn. Runs have to be equal to pyserini's, document by document. bm25s and
PyStemmer come with the extra ``bench``.
"""

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.followtable_input import write_subset
from benchmarks.timing import ROOT, Measured, Row, Seconds, Settings, run
from heed.datasets.followtable import JOIN, read_followtable
from heed.tables.documents import Tables
from heed.types import under

QUERIES = 200
JOBS = ("heed index", "anserini index", "bm25s index", "heed search", "pyserini search", "bm25s search")
SAME, OWN = "same documents in the same order", "not compared: bm25s has a tokenizer of its own"
# step; Heed's job and its step; the peer's; its name; aim; how the results compare
ROWS = (
    ("documents read and indexed", "heed index", "store and index", "anserini index", "storing raw", "Anserini", 1, ""),
    ("indexed, without storing them", "heed index", "index", "anserini index", "storing nothing", "Anserini", 1, SAME),
    (
        "matrix that is searched; of bm25s the whole index",
        "heed index",
        "matrix",
        "bm25s index",
        "index",
        "bm25s",
        None,
        OWN,
    ),
    (
        "start of the process to the first result",
        "heed search",
        "first hit",
        "pyserini search",
        "first hit",
        "pyserini",
        10,
        SAME,
    ),
    (
        "start of the process to the first result",
        "heed search",
        "first hit",
        "bm25s search",
        "first hit",
        "bm25s",
        None,
        OWN,
    ),
    ("first {n} queries", "heed search", "search", "pyserini search", "search", "pyserini", 10, SAME),
    ("first {n} queries", "heed search", "search", "bm25s search", "search", "bm25s", 1, OWN),
    ("{n} queries again", "heed search", "again", "pyserini search", "again", "pyserini", 10, SAME),
    ("{n} queries again", "heed search", "again", "bm25s search", "again", "bm25s", 1, OWN),
)

Times = dict[str, Seconds]  # by step


def measure(settings: Settings) -> Measured:
    """Make the input, run all sides in turn."""
    repeat = settings.repetitions(5)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        name = write_subset(settings.data / "followtable" / "IndusTR", folder / "subset")
        documents, queries = _input(folder / "subset")
        _write(folder, documents, queries)
        times: dict[str, list[Times]] = {job: [] for job in JOBS}
        for _ in range(repeat):
            for job, measured in times.items():
                output = run(ROOT, "benchmarks.lexical_sides", *job.split(), str(folder))[1]
                measured.append(json.loads(output.splitlines()[-1]))
            _compare(folder)
    about = (
        f"{len(documents):,} documents of {name} and {len(queries)} queries with their instructions, 1000 documents a "
        f"query, 2 threads. Over 300,000 documents [the ratios are lower](scale.md#search-beside-other-programs). "
        f"During the first queries Java compiles the loop. Repetitions: {repeat}."
    )
    return Measured(about, [_row(times, columns, len(queries)) for columns in ROWS])


def _input(subset: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the text of each document and of each query."""
    read = read_followtable(subset)
    lines = Tables(read.tables, "raw", titles=False).lines()
    documents = {line.document.docid: line.document.contents() for line in lines if line.document}
    topics = under(read.topics, "original")[:QUERIES]
    return documents, {topic.qid: topic.under("original", JOIN).text for topic in topics}


def _write(folder: Path, documents: dict[str, str], queries: dict[str, str]) -> None:
    (folder / "docs").mkdir()
    lines = [json.dumps({"id": docid, "contents": text}) + "\n" for docid, text in documents.items()]
    for part in range(2):  # Anserini reads a file by one thread
        (folder / "docs" / f"{part}.jsonl").write_text("".join(lines[part::2]))
    (folder / "queries.json").write_text(json.dumps(queries))


def _compare(folder: Path) -> None:
    """Heed's documents are pyserini's, in the same order."""
    ours, theirs = (json.loads((folder / f"{side}.found.json").read_text()) for side in ("heed", "pyserini"))
    different = [qid for qid, docids in theirs.items() if ours[qid] != docids]
    if different:
        sys.exit(f"{len(different)} of {len(theirs)} queries have other documents than pyserini's: {different[:5]}")


def _row(
    times: dict[str, list[Times]], columns: tuple[str, str, str, str, str, str, float | None, str], count: int
) -> Row:
    step, our_job, our_step, their_job, their_step, peer, aim, results = columns
    ours = [seconds[our_step] for seconds in times[our_job]]
    theirs = [seconds[their_step] for seconds in times[their_job]]
    return Row(step.format(n=count), peer, ours, theirs, aim, results)
