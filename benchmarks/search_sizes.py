"""BM25's search at several sizes beside other programs': ``python -m benchmarks.search_sizes 300000 --work DIR``.

100 topics of 30 to 40 terms over generated news, 1000 documents each, 2 threads. Each side runs in a process of its
own, over the same index or the same postings, which are made in DIR unless they are there. Seconds of processor time:
the first call after one topic alone, and the least of three more. Anserini is what pyserini's ``batch_search`` calls;
bm25s has its scores made from Heed's postings and returns documents by number. It comes with the extra ``bench``.
tantivy has an index of its own tokens, and returns documents by number too. What is not installed is left out.
``--index`` searches the index that another command has made of so many documents: the folder that holds ``bm25``.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale_input import write_documents, write_topics
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Files
from heed.languages import language
from heed.measures.summary import aligned
from heed.retrieval.bm25.index import K1, B, Bm25Settings, Searcher, build_index
from heed.retrieval.bm25.postings import Postings
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.jvm import java
from heed.reuse import ensure_folder

DEPTH, THREADS, AGAIN = 1000, 2, 3
Queries = dict[str, str]
Search = Callable[[Queries], object]
ENGLISH = language("eng")


def main() -> None:
    """Make the index, measure each side and print the table; with ``--side``, measure one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search_sizes", description=__doc__)
    parser.add_argument("documents", type=int, nargs="+", metavar="N", help="sizes of collections")
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="9 GB for a million documents")
    parser.add_argument("--index", type=Path, metavar="DIR", help="search this index of N documents, and make none")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    topics = write_topics(options.work / "data" / "topics", max(options.documents)) / "topics.jsonl"
    if options.side:
        place = options.index or options.work / str(options.documents[0])
        print(json.dumps(_measured(topics, SIDES[options.side](place))))
        return
    rows = [["documents", "program", "first", "again"]]
    for count in options.documents:
        if not options.index:
            _build(options.work, count)
        for side in SIDES:
            command = [sys.executable, "-m", "benchmarks.search_sizes", str(count), "--work", str(options.work)]
            command += ["--index", str(options.index)] if options.index else []
            output = subprocess.run([*command, "--side", side], check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603
            rows.append([f"{count:,}", side, *(f"{seconds:.2f}" for seconds in json.loads(output.splitlines()[-1]))])
    print(aligned(rows, left=2))


def _build(work: Path, count: int) -> None:
    store = open_store(work / str(count) / "documents", Files(write_documents(work / "data" / "documents", count)))
    index = build_index(work / str(count) / "bm25", store, ENGLISH, THREADS)
    Searcher(index, ENGLISH, Bm25Settings()).load()


def _measured(topics: Path, search: Search) -> tuple[float, float]:
    records = map(json.loads, topics.read_text(encoding="utf-8").splitlines())
    queries = {topic["qid"]: f"{topic['query']} {topic['instructions']['original']}" for topic in records}
    seconds = list[float]()
    search(dict(list(queries.items())[:1]))
    for _ in range(1 + AGAIN):
        start = time.process_time()
        search(queries)
        seconds.append(time.process_time() - start)
    return seconds[0], min(seconds[1:])


def heed(place: Path) -> Search:
    """Return Heed's search."""
    searcher = Searcher(place / "bm25", ENGLISH, Bm25Settings())
    return lambda queries: searcher.search(queries, DEPTH, THREADS)


def anserini(place: Path) -> Search:
    """Return the search that pyserini's ``LuceneSearcher`` calls."""
    searcher, array = (
        java("io.anserini.search.SimpleSearcher")(str(place / "bm25" / "lucene")),
        java("java.util.Arrays"),
    )
    searcher.set_bm25(K1, B)

    def search(queries: Queries) -> object:
        texts, qids = array.asList(*queries.values()), array.asList(*queries)
        entries = searcher.batch_search(texts, qids, DEPTH, THREADS).entrySet().toArray()
        hits = {entry.getKey(): entry.getValue() for entry in entries}
        return {qid: {hit.docid: hit.score for hit in hits[qid]} for qid in queries}

    return search


def bm25s(place: Path, backend: str) -> Search:
    """Return the search of bm25s over Heed's postings."""
    import bm25s as package

    folder = place / "bm25-postings"
    parts = ("starts", "documents", "frequencies", "lengths")
    starts, documents, frequencies, lengths = (np.load(folder / f"contents.{part}.npy") for part in parts)
    small = java("org.apache.lucene.util.SmallFloat")
    of_byte = np.array([small.byte4ToInt(byte - 256 if byte > 127 else byte) for byte in range(256)], np.float32)
    count, sizes = len(lengths), np.diff(starts)
    data = np.repeat(np.log(1 + (count - sizes + 0.5) / (sizes + 0.5)).astype(np.float32), sizes)
    mean = of_byte[lengths].mean()
    data *= frequencies / (frequencies + np.float32(K1) * (1 - B + B * of_byte[lengths][documents] / mean))
    index: Any = package.BM25(method="lucene", k1=K1, b=B, backend=backend)
    index.scores = {"data": data, "indices": documents, "indptr": starts, "num_docs": count}
    words = Postings(folder).fields["contents"].terms.decoded()
    known = index.vocab_dict = {word: number for number, word in enumerate(words)}
    index.unique_token_ids_set, index.nonoccurrence_array = set(known.values()), None
    if backend == "numba":
        index.activate_numba_scorer()
    analysis = Analysis(ENGLISH)

    def search(queries: Queries) -> object:
        tokens = [[known[term] for term in bag if term in known] for bag in analysis.terms_of_each(queries.values())]
        return index.retrieve(tokens, k=DEPTH, n_threads=THREADS, show_progress=False)

    return search


def tantivy(place: Path) -> Search:
    """Return the search of tantivy, one query after another, over an index that is made at first."""
    import tantivy as package

    text = {"name": "text", "tokenizer_name": "en_stem", "index_option": "freq"}
    schema = package.SchemaBuilder().add_text_field(**text).build()

    def build(into: Path) -> None:
        writer = package.Index(schema, path=str(into)).writer(num_threads=THREADS)
        for document in DocumentStore(place / "documents", ""):
            writer.add_document(package.Document(text=document.contents()))
        writer.commit()
        writer.wait_merging_threads()

    index = package.Index.open(str(ensure_folder(place / "tantivy", {"text": text}, build)))
    searcher = index.searcher()

    def search(queries: Queries) -> object:
        parsed = [index.parse_query(re.sub(r"\W+", " ", query), ["text"]) for query in queries.values()]
        return [[(score, at.doc) for score, at in searcher.search(query, DEPTH).hits] for query in parsed]

    return search


SIDES: dict[str, Callable[[Path], Search]] = {
    "Heed": heed,
    "Anserini": anserini,
    **({"bm25s": lambda place: bm25s(place, "numpy")} if find_spec("bm25s") else {}),
    **({"bm25s, numba": lambda place: bm25s(place, "numba")} if find_spec("bm25s") and find_spec("numba") else {}),
    **({"tantivy": tantivy} if find_spec("tantivy") else {}),
}

if __name__ == "__main__":
    main()
