"""Dense search: exact, through shards on disk or on GPUs; HNSW and IVF-PQ with FAISS."""

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heed.addons.bridges.foreign_vectors import ForeignVectors
from heed.addons.cluster.pool import WorkerPool
from heed.ranking import top
from heed.retrieval.corpus import Corpus
from heed.retrieval.dense.exact_scan import OnGpus, Scan, on_gpus
from heed.retrieval.dense.vectors import SHARD, Vectors, document_config, embed, folder_of
from heed.retrieval.lsa.lsa import SETTINGS as LSA_SETTINGS
from heed.retrieval.lsa.lsa import Lsa, build_lsa
from heed.reuse import Recipe, ensure_folder, recipe_version
from heed.types import Config, Encoder, Matrix, Query, Retriever, Run

KINDS = ("exact", "hnsw", "ivfpq")
SPARE = 64  # further candidates, so that rounding inside FAISS does not decide which documents are returned
LINKS, EF_CONSTRUCTION = 32, 200  # HNSW: Malkov and Yashunin 2018, M and efConstruction
PROBES, BYTES, BITS = 32, 64, 8  # IVF-PQ: lists searched, code bytes a vector, bits a byte's quantiser
TRAIN = 200_000  # vectors that IVF-PQ is trained on, at most


class DenseSearch(NamedTuple):
    """How vectors are searched: the kind of index, the device, and workers that share exact search.

    ``foreign`` is a folder with an encoder's vectors of the documents, made elsewhere.
    """

    kind: str = KINDS[0]
    device: str = "auto"
    pool: WorkerPool | None = None
    foreign: Path | None = None


class DenseIndex:
    """Vectors of a collection behind an index; compared by inner product."""

    def __init__(self, vectors: Vectors, index: Any) -> None:
        """Search ``vectors`` through their ``index``, as :func:`open_index` makes it."""
        self._vectors, self._index = vectors, index

    def search(self, qids: Sequence[str], queries: Matrix, depth: int) -> Run:
        """Return the ``depth`` best documents for each row of ``queries``, shape ``(len(qids), d)``.

        The index finds the candidates; their inner products are then computed again in float64, so
        that scores do not depend on the kind of index, the batch or the number of threads.
        """
        count = min(depth + SPARE, len(self._vectors.docids))
        candidates = self._candidates(queries, count)
        return {qid: self._scored(queries[row], candidates[row], depth) for row, qid in enumerate(qids)}

    def _candidates(self, queries: Matrix, count: int) -> Any:
        if isinstance(self._index, Scan | OnGpus):
            return self._index.candidates(queries, count)
        if hasattr(self._index, "hnsw"):
            self._index.hnsw.efSearch = count  # a smaller effort would return fewer documents
        return self._index.search(queries, count)[1]

    def _scored(self, query: Matrix, candidates: Any, depth: int) -> dict[str, float]:
        numbers = np.sort(candidates[candidates >= 0])  # FAISS pads with -1 where it finds too few
        products = np.vecdot(self._vectors.rows(numbers).astype(np.float64), query.astype(np.float64))
        docids = [self._vectors.docids[number] for number in numbers.tolist()]
        return top(dict(zip(docids, products.tolist(), strict=True)), depth)


def open_index(
    folder: Path, vectors: Vectors, recipe: Recipe, kind: str, device: str, pool: WorkerPool | None = None
) -> DenseIndex:
    """Return an index of ``vectors``, whose recipe is ``recipe``.

    The exact one reads the shards on disk, or copies them to the GPUs if ``device`` is not cpu, faiss-gpu
    and a GPU are there, and they hold them. Workers of ``pool`` on other machines share its shards. HNSW and
    IVF-PQ are built once, in memory, kept in ``folder`` and mapped from there; FAISS has no HNSW for GPUs, and
    its IVF-PQ there takes no codes of 64 bytes (GpuIndexIVFPQ.cu, ``verifyPQSettings_``).
    """
    import faiss

    if kind == "exact":
        scan = Scan(vectors, pool)
        remote = pool is not None and pool.remote
        return DenseIndex(vectors, on_gpus(vectors, scan) or scan if device != "cpu" and not remote else scan)
    index_recipe: Recipe = {
        "faiss": recipe_version("faiss"),
        "kind": kind,
        "settings": _settings(kind),
        "vectors": recipe,
    }
    ensure_folder(folder, index_recipe, lambda part: _write(part / "faiss", vectors, kind))
    # mapped, so that memory does not grow with the collection
    index: Any = faiss.read_index(str(folder / "faiss"), faiss.IO_FLAG_MMAP_IFC)
    if kind == "ivfpq":
        index.nprobe = PROBES
    return DenseIndex(vectors, index)


def _write(path: Path, vectors: Vectors, kind: str) -> None:
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # HNSW's links depend on the order in which threads add vectors
    faiss.write_index(_build(vectors, kind), str(path))
    faiss.omp_set_num_threads(threads)


def _settings(kind: str) -> Recipe:
    return {"links": LINKS, "construction": EF_CONSTRUCTION} if kind == "hnsw" else {"bytes": BYTES, "bits": BITS}


def _build(vectors: Vectors, kind: str) -> Any:
    import faiss

    dimensions = next(vectors.parts()).shape[1]
    index: Any
    if kind == "hnsw":
        index = faiss.IndexHNSWFlat(dimensions, LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = EF_CONSTRUCTION
    else:
        training = np.concatenate(list(islice(vectors.parts(), TRAIN // SHARD)))
        lists = max(1, min(4 * math.isqrt(len(vectors.docids)), len(training) // 39))  # FAISS wants 39 a list
        code = math.gcd(dimensions, BYTES)
        bits = min(BITS, max(1, int(math.log2(max(2, len(training) // 39)))))
        index = faiss.IndexIVFPQ(
            faiss.IndexFlatIP(dimensions), dimensions, lists, code, bits, faiss.METRIC_INNER_PRODUCT
        )
        index.train(training)
    for part in vectors.parts():
        index.add(part)
    return index


class Dense(Retriever):
    """An encoder's vectors behind an index, as a :class:`heed.types.Retriever`."""

    def __init__(self, encoder: Encoder | None, corpus: Corpus, search: DenseSearch) -> None:
        """Search with ``encoder``, or with LSA if it is None.

        Raises :class:`DataError` where vectors made elsewhere cannot be read.
        """
        self._model, self._corpus, self._search = encoder, corpus, search
        self.name = encoder.name if encoder else "lsa"
        system = encoder.config if encoder else LSA_SETTINGS
        self._foreign = ForeignVectors(search.foreign) if encoder and search.foreign else None
        if self._foreign:
            self._foreign.log_comparison(self._vectors)  # also where runs are reused
        if system is not None:
            vectors = {"vectors": {"sha256": self._foreign.sha256}} if self._foreign else {}
            self.config: Config = {"system": system, "faiss": search.kind, **vectors}

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
        _ = self._index

    @property
    def _encoder(self) -> Encoder:
        return self._model or self._lsa

    @cached_property
    def _lsa(self) -> Lsa:
        return build_lsa(self._corpus.folder / "lsa" / "model", self._corpus.documents)

    @property
    def _reader(self) -> Encoder:
        """What reads the documents: for LSA the workers that the user asked for, to which an encoder goes itself."""
        pool = self._search.pool
        return self._lsa.spread(pool) if not self._model and pool and pool.requested and pool.workers else self._encoder

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the ``depth`` best documents of each query."""
        if not queries:
            return {}
        vectors = self._encoder.encode_queries(queries)
        return self._index.search([query.qid for query in queries], vectors, depth)

    @cached_property
    def _index(self) -> DenseIndex:
        store, kind, foreign = self._corpus.documents, self._search.kind, self._foreign
        of_vectors = self._vectors
        vectors = (foreign.vectors if foreign else embed)(of_vectors, store, self._reader)
        recipe = {
            "system": document_config(self._encoder),
            "documents": store.digest,
            **({"vectors": foreign.sha256} if foreign else {}),
        }
        folder = of_vectors.with_name(f"{kind}-{foreign.label}" if foreign else kind)
        return open_index(folder, vectors, recipe, kind, self._search.device, self._search.pool)

    def close(self) -> None:
        """Forget the vectors, and close the encoder's model."""
        self.__dict__.pop("_index", None)
        self.__dict__.pop("_lsa", None)
        if self._model:
            self._model.close()
