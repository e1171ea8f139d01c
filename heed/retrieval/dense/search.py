"""Dense search: exact, through shards on disk or on GPUs; HNSW and IVF-PQ with FAISS."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.addon_table import brought
from heed.files import on_disk
from heed.formats.document_store import Corpus
from heed.progress import log, warn
from heed.ranking import top
from heed.retrieval.dense.vectors import SHARD, Vectors, document_config, embed, folder_of
from heed.retrieval.lsa import SETTINGS as LSA_SETTINGS
from heed.retrieval.lsa import build_lsa
from heed.reuse import Recipe, ensure_folder, recipe_version
from heed.types import Encoder, Matrix, Query, Retriever, Run

KINDS = ("exact", "hnsw", "ivfpq")
SPARE = 64  # further candidates, so that rounding inside FAISS does not decide which documents are returned
LINKS, EF_CONSTRUCTION = 32, 200  # HNSW: Malkov and Yashunin 2018, M and efConstruction
PROBES, BYTES, BITS = 32, 64, 8  # IVF-PQ: lists searched at least, code bytes a vector at least, bits of each
FAST, LONG = (1, 2, 4, 8, 12), 16  # dimensions a byte that FAISS encodes fast, 8 times as fast as 6, and so longer ones
TRAIN = 200_000  # vectors that IVF-PQ is trained on, at most
ITERATIONS = 5  # of the training of its lists; after FAISS's 10 it finds no more
RECALL, SAMPLE = 0.95, 20  # of exact search's documents that IVF-PQ is to find, and the queries it is measured with
MOST_SPREAD = 4  # candidates of IVF-PQ for each document asked for, at most
MAX_ON_GPU = 2048  # candidates of a query: FAISS's limit on GPUs (gpu/utils/DeviceDefs.cuh, GPU_MAX_SELECTION_K)

Candidates = Callable[[Matrix, int], Any]  # from queries and a depth to the numbers of vectors of each query
Hits = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]  # queries, numbers of vectors, products


class DenseIndex:
    """Vectors of a collection behind an index; compared by inner product."""

    def __init__(self, vectors: Vectors, index: Any) -> None:
        """Search ``vectors`` through their ``index``, FAISS's or a function, as :func:`open_index` makes it."""
        self._vectors, self._index = vectors, index
        self._spread = 1  # candidates for each document asked for

    def search(self, qids: Sequence[str], queries: Matrix, depth: int) -> Run:
        """Return the ``depth`` best documents for each row of ``queries``, shape ``(len(qids), d)``.

        The index finds the candidates; their inner products are then computed again in float64, so
        that scores do not depend on the kind of index, the batch or the number of threads. IVF-PQ searches so many
        lists that of a sample of queries enough documents are found; the log has the recall.
        """
        if hasattr(self._index, "nprobe"):
            self._raise_effort(queries[:: math.ceil(len(queries) / SAMPLE)], depth)
        return self._search(qids, queries, depth)

    def _search(self, qids: Sequence[str], queries: Matrix, depth: int) -> Run:
        count = min(self._spread * depth + SPARE, len(self._vectors.docids))
        candidates = self._candidates(queries, count)
        return {qid: self._scored(queries[row], candidates[row], depth) for row, qid in enumerate(qids)}

    def _candidates(self, queries: Matrix, count: int) -> Any:
        if callable(self._index):
            return self._index(queries, count)
        if hasattr(self._index, "hnsw"):
            self._index.hnsw.efSearch = count  # a smaller effort would return fewer documents
        return self._index.search(queries, count)[1]

    def _raise_effort(self, queries: Matrix, depth: int) -> None:
        """Search twice as many lists and candidates until the recall for ``queries`` is ``RECALL``, or all are.

        Documents in place of queries would give an index one effort for all, but they lie nearer to each other, so that
        their recall is higher than that of queries.
        """
        index, qids = self._index, [str(row) for row in range(len(queries))]
        exact = DenseIndex(self._vectors, partial(scan, self._vectors)).search(qids, queries, depth)
        worst = {qid: min(scores.values()) for qid, scores in exact.items()}
        index.nprobe, self._spread = min(PROBES, index.nlist), 1
        while True:
            run = self._search(qids, queries, depth)
            right = sum(score >= worst[qid] for qid in qids for score in run[qid].values())
            recall = right / sum(map(len, exact.values()))
            if recall >= RECALL or (index.nprobe == index.nlist and self._spread == MOST_SPREAD):
                break
            index.nprobe, self._spread = min(2 * index.nprobe, index.nlist), min(2 * self._spread, MOST_SPREAD)
        searched = f"({len(qids)} queries); it searches {index.nprobe} of {index.nlist} lists"
        message = f"IVF-PQ finds {recall:.3f} of the {depth} best documents that exact search finds {searched}"
        if recall < RECALL:
            warn(f"{message}; expected {RECALL}, which exact search or HNSW may give")
        else:
            log.info(message)

    def _scored(self, query: Matrix, candidates: Any, depth: int) -> dict[str, float]:
        numbers = np.sort(candidates[candidates >= 0])  # FAISS pads with -1 where it finds too few
        products = np.vecdot(self._vectors.rows(numbers).astype(np.float64), query.astype(np.float64))
        docids = [self._vectors.docids[number] for number in numbers.tolist()]
        return top(dict(zip(docids, products.tolist(), strict=True)), depth)


def open_index(folder: Path, vectors: Vectors, recipe: Recipe, kind: str, device: str) -> DenseIndex:
    """Return an index of ``vectors``, whose recipe is ``recipe``.

    The exact one reads the shards on disk, or copies them to the GPUs if ``device`` is not cpu, faiss-gpu
    and a GPU are there, and they hold them. HNSW and IVF-PQ are built once, in memory, kept in ``folder`` and mapped
    from there; FAISS has no HNSW for GPUs, and its IVF-PQ there takes no codes of 64 bytes (GpuIndexIVFPQ.cu,
    ``verifyPQSettings_``).
    """
    import faiss

    if kind == "exact":
        return DenseIndex(vectors, (device != "cpu" and on_gpus(vectors)) or partial(scan, vectors))
    settings = {"links": LINKS, "construction": EF_CONSTRUCTION}
    if kind == "ivfpq":
        settings = {"bytes": _code_bytes(vectors.dimensions), "bits": BITS, "iterations": ITERATIONS}
    index_recipe: Recipe = {
        "faiss": recipe_version("faiss"),
        "kind": kind,
        "settings": settings,
        "vectors": recipe,
    }
    ensure_folder(folder, index_recipe, lambda part: _write(part / "faiss", vectors, kind))
    # mapped, so that memory does not grow with the collection
    return DenseIndex(vectors, faiss.read_index(str(folder / "faiss"), faiss.IO_FLAG_MMAP_IFC))


def _write(path: Path, vectors: Vectors, kind: str) -> None:
    import faiss

    threads = faiss.omp_get_max_threads()
    if kind == "hnsw":  # whose links depend on the order in which threads add vectors
        faiss.omp_set_num_threads(1)
    dimensions = vectors.dimensions
    row = 4 * dimensions + 8 * LINKS if kind == "hnsw" else _code_bytes(dimensions) + 8  # a code and a number
    with on_disk(path, row * len(vectors.docids)):
        faiss.write_index(_build(vectors, kind), str(path))
    faiss.omp_set_num_threads(threads)


def _code_bytes(dimensions: int) -> int:
    """Return into how many parts IVF-PQ cuts a vector, a byte each: ``BYTES``, or the next that FAISS encodes fast."""
    parts = (count for count in range(min(BYTES, dimensions), dimensions + 1) if dimensions % count == 0)
    return next(count for count in parts if dimensions // count in FAST or dimensions // count >= LONG)


def _build(vectors: Vectors, kind: str) -> Any:
    import faiss

    dimensions = vectors.dimensions
    index: Any
    if kind == "hnsw":
        index = faiss.IndexHNSWFlat(dimensions, LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = EF_CONSTRUCTION
    else:
        training = np.concatenate(list(islice(vectors.parts(), TRAIN // SHARD)))
        lists = max(1, min(4 * math.isqrt(len(vectors.docids)), len(training) // 39))  # FAISS wants 39 a list
        code = _code_bytes(dimensions)
        bits = min(BITS, max(1, int(math.log2(max(2, len(training) // 39)))))
        index = faiss.IndexIVFPQ(
            faiss.IndexFlatIP(dimensions), dimensions, lists, code, bits, faiss.METRIC_INNER_PRODUCT
        )
        index.cp.niter = ITERATIONS
        index.train(training)
    for part in vectors.parts():
        index.add(part)
    return index


class Dense(Retriever):
    """An encoder's vectors behind an index, as a :class:`heed.types.Retriever`."""

    def __init__(self, encoder: Encoder | None, corpus: Corpus, kind: str, device: str, foreign: Path | None) -> None:
        """Search with ``encoder``, or with LSA if it is None, by an index of ``kind`` on ``device``.

        ``foreign`` is a folder with the encoder's vectors of the documents, made elsewhere; raises :class:`DataError`
        where they cannot be read.
        """
        self._model, self._corpus, self._kind, self._device = encoder, corpus, kind, device
        self.name = encoder.name if encoder else "lsa"
        self.by_topic = not encoder and kind == "exact"  # encoders read texts of a batch together
        self._foreign = brought("foreign vectors")(foreign) if encoder and foreign else None
        if self._foreign:
            self._foreign.log_comparison(self._vectors)  # also where runs are reused
        system = encoder.config if encoder else LSA_SETTINGS
        if system is not None:
            vectors = {"vectors": {"sha256": self._foreign.sha256}} if self._foreign else {}
            recall = {"recall": RECALL} if kind == "ivfpq" else {}  # earlier runs searched 32 lists, whatever was found
            self.config = {"system": system, "faiss": kind, **recall, **vectors}

    @property
    def takes_vectors(self) -> bool:
        """Whether its documents' vectors were made elsewhere."""
        return self._foreign is not None

    @property
    def _vectors(self) -> Path:
        part = f"vectors-{self._foreign.label}" if self._foreign else "vectors"
        folder, encoder = self._corpus.folder, self._model
        return (folder_of(folder, encoder, self.name, part) if encoder else folder / "lsa") / part

    def load(self) -> None:
        """Embed the documents unless their vectors are there, and open the index."""
        _ = self._opened

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the ``depth`` best documents of each query."""
        if not queries:
            return {}
        encoder, index = self._opened
        return index.search([query.qid for query in queries], encoder.encode_queries(queries), depth)

    @cached_property
    def _opened(self) -> tuple[Encoder, DenseIndex]:
        """The encoder and the index of its vectors, made and opened at the first use."""
        store, kind, foreign = self._corpus.documents, self._kind, self._foreign
        encoder = self._model or build_lsa(self._corpus.folder / "lsa" / "model", store)
        of_vectors = self._vectors
        vectors = (foreign.vectors if foreign else embed)(of_vectors, store, encoder)
        made_elsewhere = {"vectors": foreign.sha256} if foreign else {}
        recipe = {"system": document_config(encoder), "documents": store.digest, **made_elsewhere}
        folder = of_vectors.with_name(f"{kind}-{foreign.label}" if foreign else kind)
        return encoder, open_index(folder, vectors, recipe, kind, self._device)

    def close(self) -> None:
        """Forget the vectors, and close the encoder's model."""
        self.__dict__.pop("_opened", None)
        if self._model:
            self._model.close()


def scan(vectors: Vectors, queries: Matrix, depth: int) -> list[NDArray[np.int64]]:
    """Return the numbers of the ``depth`` best vectors for each query, and of all that equal the last.

    All are compared with all queries, shard by shard; rows below a query's best so far are dropped at once. Shards are
    read at each search, from the disk or the system's cache of it: the memory that this takes does not grow with the
    collection.
    """
    best, begin = _BestRows(len(queries), depth), 0
    for part in vectors.parts():
        best.search(part, queries, begin)
        begin += len(part)
    return best.numbers()


class _BestRows:
    """The best rows of each query so far, and the score below which no row can be among them."""

    def __init__(self, queries: int, depth: int) -> None:
        self.floors = np.full(queries, -np.inf, dtype=np.float32)
        self._depth, self._best, self._new, self._max_new = depth, 0, 0, 2 * queries * depth
        self._hits: list[Hits] = []

    def search(self, part: Matrix, queries: Matrix, begin: int) -> None:
        """Add the rows of ``part``, whose first has number ``begin``, that are not below the floors."""
        products = part @ queries.T  # in this order, not the other, nearly twice as fast with OpenBLAS
        numbers, rows = np.nonzero(products >= self.floors)
        self._hits.append((rows, numbers + begin, products[numbers, rows]))
        self._new += len(rows)
        if self._new > max(self._max_new, 2 * self._best):  # the latter where very many are equal
            self._cut()

    def numbers(self) -> list[NDArray[np.int64]]:
        """Return the numbers of the best of each query."""
        self._cut()
        rows, numbers, _ = self._hits[0]
        return np.split(numbers, np.searchsorted(rows, np.arange(1, len(self.floors))))

    def _cut(self) -> None:
        """Keep each query's best, in the order of queries, and raise its floor."""
        rows, numbers, scores = (np.concatenate(part) for part in zip(*self._hits, strict=True))
        order = np.argsort(rows, kind="stable")
        rows, numbers, scores = rows[order], numbers[order], scores[order]
        parts = np.split(scores, np.searchsorted(rows, np.arange(1, len(self.floors))))
        for query, part in enumerate(parts):
            if len(part) >= self._depth:
                self.floors[query] = np.partition(part, len(part) - self._depth)[len(part) - self._depth]
        best = scores >= self.floors[rows]
        self._hits = [(rows[best], numbers[best], scores[best])]
        self._best = self._new = int(best.sum())


def search_gpus(index: Any, vectors: Vectors, queries: Matrix, depth: int) -> Any:
    """Return the numbers of the best ``vectors`` by their ``index`` on GPUs, by :func:`scan` if FAISS takes no more."""
    return index.search(queries, depth)[1] if depth <= MAX_ON_GPU else scan(vectors, queries, depth)


def on_gpus(vectors: Vectors) -> Candidates | None:
    """Return a search of ``vectors`` on the GPUs; None without faiss-gpu or GPU, and, logged, where they do not fit."""
    import faiss

    if not hasattr(faiss, "StandardGpuResources") or not faiss.get_num_gpus():
        return None
    parts = vectors.parts()
    first = next(parts)
    index: Any = faiss.IndexFlatIP(first.shape[1])
    try:
        index = faiss.index_cpu_to_all_gpus(index)
        for part in (first, *parts):
            index.add(part)
    except RuntimeError as error:  # FAISS's own for memory that is full
        reason = (str(error).strip().splitlines() or ["RuntimeError"])[-1]
        log.info(f"the vectors are searched where they lie: the GPU does not take them ({reason[:200]})")
        return None
    return partial(search_gpus, index, vectors)
