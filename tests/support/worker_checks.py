"""What the tests of workers share: tasks for several workers, compared with one process's results byte by byte."""

import json
import os
import random
import signal
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heed.addons.cluster.parallel import ParallelEncoder
from heed.addons.cluster.pool import WorkerPool
from heed.addons.cluster.tasks import SystemTask, plain_system, system_of
from heed.compute import Compute
from heed.formats.document_store import DocumentStore
from heed.languages import language
from heed.models.encoders import SentenceEncoder
from heed.models.registry.entries import Model
from heed.reranking.polarity.reranker import TABLE_SETTINGS, Polarity
from heed.reranking.rescore import PoolDocuments, rescore
from heed.retrieval.bm25.index import Bm25Settings
from heed.retrieval.bm25.retriever import Bm25, Lucene
from heed.retrieval.corpus import Corpus
from heed.retrieval.dense.exact_scan import Scan
from heed.retrieval.dense.vectors import embed
from heed.retrieval.lsa.lsa import Lsa, build_lsa
from heed.retrieval.lucene.jvm import HEAP
from heed.types import Document, Query, Reranker, Topic

CPU = Compute("cpu")
TOPICS = [Topic(str(at), "eng", "abc def", {"original": f"only {'abcdefgh'[at]}"}) for at in range(8)]


def records() -> list[dict[str, str]]:
    chance = random.Random(0)
    return [
        {"id": f"d{at:03}", "text": "".join(chance.choices("abcdefgh  ", k=chance.randint(5, 90)))} for at in range(300)
    ]


def encoder(folder: Path, pool: WorkerPool | None = None) -> Any:
    model = Model(str(folder), pooling="mean", max_length=64)
    plain = SentenceEncoder(model, CPU)
    return ParallelEncoder(plain, system_of(plain.config, SentenceEncoder, model, CPU), pool) if pool else plain


def queries(condition: str) -> list[Query]:
    return [topic.under(condition) for topic in TOPICS]


def pools(store: DocumentStore) -> dict[str, list[str]]:
    docids = list(store.docids())
    return {topic.qid: docids[at * 7 : at * 7 + 30] for at, topic in enumerate(TOPICS)}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


class Killing(PoolDocuments):
    """The documents of each pool; while they are read a worker is killed."""

    def __init__(self, store: DocumentStore, victim: int | None) -> None:
        super().__init__(pools(store), store)
        self.victim, self.read = victim, 0

    def __call__(self, query: Query) -> Sequence[Document]:
        self.read += 1
        if self.victim is not None and self.read == 6:
            os.kill(self.victim, signal.SIGKILL)
        return super().__call__(query)


def killing(batches: Iterable[Any], pool: WorkerPool, at: int) -> Iterator[Any]:
    """``batches``; before number ``at`` a worker is killed."""
    for number, batch in enumerate(batches):
        if number == at:
            os.kill(pool.workers[0].pid, signal.SIGKILL)
        yield batch


def check_encoding(store: DocumentStore, folder: Path, tiny: Path, pool: WorkerPool) -> None:
    """Shards, digests and queries are those of one process, also those that a killed worker had."""
    embed(folder / "one", store, encoder(tiny))
    embed(folder / "several", store, encoder(tiny, pool))
    assert contents(folder / "several") == contents(folder / "one")
    assert len(list((folder / "one").glob("shard-*.npy"))) == 8
    documents = list(store)
    parts = [documents[at : at + 20] for at in range(0, 300, 20)]
    plain, parallel = encoder(tiny), encoder(tiny, pool)
    batches = parallel.encode_batches(killing(parts, pool, 6))
    for ours, theirs in zip(batches, map(plain.encode_documents, parts), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    asked = queries("original")
    assert parallel.encode_queries(asked).tobytes() == plain.encode_queries(asked).tobytes()


def check_reranking(
    plain: Reranker, parallel: Reranker, store: DocumentStore, folder: Path, victim: int | None
) -> None:
    """Runs and journals are those of one process."""
    for condition in ("query", "original"):
        asked = queries(condition)
        one = rescore(plain, asked, Killing(store, None), folder / "one.partial", "")
        several = rescore(parallel, asked, Killing(store, victim), folder / "several.partial", "")
        assert several == one and len(one) == len(TOPICS)
        assert contents(folder)["several.partial"] == contents(folder)["one.partial"]
        victim = None


def check_lsa(store: DocumentStore, folder: Path, pool: WorkerPool) -> None:
    """LSA's vectors are those of one process, also where a worker is killed; its model is sent once to each worker."""
    lsa, documents = build_lsa(folder / "lsa", store), list(store)
    parallel, parts = lsa.spread(pool), [documents[at : at + 20] for at in range(0, 300, 20)]
    batches = parallel.encode_batches(killing(parts, pool, 6))
    for ours, theirs in zip(batches, map(lsa.encode_documents, parts), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    system = plain_system(lsa.config, Lsa, "the model")
    assert [worker.built for worker in pool.workers] == [system.key] * len(pool.workers)
    assert SystemTask(system, len).sent_to(pool.workers[0]).system.arguments == ()


def check_index(store: DocumentStore, folder: Path, pool: WorkerPool) -> None:
    """Shards of BM25 have the postings and the runs of one process, also where a worker was killed."""
    runs, documents = [], PoolDocuments(pools(store), store)
    for name, shards, workers in (("whole", 1, None), ("one", 7, None), ("several", 7, pool)):
        corpus, lucene = Corpus(folder / name, store, language("eng")), Lucene(1, shards, HEAP, workers)
        bm25 = Bm25("bm25", corpus, Bm25Settings(), lucene)
        if workers:
            os.kill(pool.workers[1].pid, signal.SIGKILL)
            bm25.load()
            os.kill(pool.workers[0].pid, signal.SIGKILL)
        made = {"bm25": bm25.search(queries("original"), 300)}
        for number, reranker in enumerate((Polarity(bm25), Polarity(bm25, TABLE_SETTINGS))):
            journal = folder / f"{name}.partial"
            for condition in ("query", "original"):
                key = f"polarity-{number}.{condition}"
                made[key] = rescore(reranker, queries(condition), documents, journal, key)
        assert reranker.at_once == (len(pool.workers) if workers else 1)
        runs.append(made)
    assert list(map(json.dumps, runs)) == 3 * [json.dumps(runs[0])]
    one, several = (folder / name / "bm25-7-shards" for name in ("one", "several"))
    notes = sorted(path.relative_to(one) for path in one.glob("?/made.json"))
    postings = sorted(path.relative_to(one) for path in one.glob("?-postings/*"))
    assert len(notes) == 7 and len(postings) == 7 * 10
    for path in postings:
        assert (several / path).read_bytes() == (one / path).read_bytes()
    for path in notes:
        assert json.loads((several / path).read_text())["recipe"] == json.loads((one / path).read_text())["recipe"]


def check_candidates(parallel: Scan, plain: Scan, vectors: Any) -> None:
    for wanted in (1, 10, 250):
        pairs = zip(parallel.candidates(vectors, wanted), plain.candidates(vectors, wanted), strict=True)
        for ours, theirs in pairs:
            np.testing.assert_array_equal(np.sort(ours), np.sort(theirs))
