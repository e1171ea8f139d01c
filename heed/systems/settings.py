"""Settings of an experiment: how documents are searched, and what runs it."""

from pathlib import Path
from typing import NamedTuple

from heed.addons.architectures.vllm import check_inference
from heed.addons.cluster import ENGINES, Workers
from heed.errors import UsageError
from heed.models.local.language_models import check_device
from heed.models.local.runtime import Runtime
from heed.retrieval.bm25.index import Bm25Settings
from heed.retrieval.dense.search import KINDS
from heed.retrieval.lucene.jvm import HEAP, check_heap


class Search(NamedTuple):
    """How documents are searched: BM25, the shards of its index, and the kind of dense index.

    ``faiss`` is ``exact``, ``hnsw`` or ``ivfpq``. BM25 searches ``lucene_index``, a folder with an index of Anserini or
    Pyserini or the name of one that they give away, instead of building its own. ``vectors`` is a folder with a
    bi-encoder's vectors of the documents, of one of the forms in :mod:`heed.addons.bridges.vector_files`.
    """

    bm25: Bm25Settings = Bm25Settings()
    shards: int = 1
    faiss: str = KINDS[0]
    lucene_index: str | Path | None = None
    vectors: str | Path | None = None

    def check(self) -> None:
        """Raise :class:`UsageError` for an unknown kind of index, and for shards that cannot be."""
        if self.faiss not in KINDS:
            raise UsageError(f"faiss: found {self.faiss!r}, expected one of {', '.join(KINDS)}")
        if self.shards < 1:
            raise UsageError(f"shards: found {self.shards}, expected at least 1")
        if self.lucene_index is not None and self.shards > 1:
            raise UsageError(f"shards: found {self.shards} beside an index made elsewhere, which stays as it is")


class Machine(NamedTuple):
    """What runs an experiment: the device of models, threads for Java and search, Java's heap, workers.

    ``threads`` None for one a core. ``dtype``, ``max_length`` and ``batch_size`` are those of
    :class:`heed.models.local.runtime.Runtime`. ``program_version`` is the config of programs that are
    named ``command:…``, with which their runs are used again. The results are the same on all machines, but for
    precision and lengths of models.
    """

    device: str = "auto"
    threads: int | None = None
    heap: str = HEAP
    inference: str = "transformers"
    workers: Workers = Workers()
    dtype: str = "auto"
    max_length: int | None = None
    batch_size: int | None = None
    program_version: str | None = None

    def runtime(self, answers: Path) -> Runtime:
        """Return how models are run, with the folder for the answers of paid APIs."""
        return Runtime(self.device, self.inference, answers, self.dtype, self.max_length, self.batch_size)

    def check(self) -> None:
        """Raise :class:`UsageError` for a heap that Java cannot have, a missing GPU, and vLLM where it is missing."""
        if self.threads is not None and self.threads < 1:
            raise UsageError(f"threads: found {self.threads}, expected at least 1")
        check_heap(self.heap)
        self.workers.check()
        check_inference(self.inference)
        self.runtime(Path()).check()
        check_device(self.device, here=self.workers.engine == ENGINES[0])


def machine_of(machine: Machine | None, device: str, threads: int | None = None) -> Machine:
    """Return ``machine``, or one of its short form, checked; :class:`UsageError` where both are given."""
    if machine and (device != "auto" or threads is not None):
        raise UsageError("device and threads beside a machine: give them as the machine's")
    machine = machine or Machine(device, threads)
    machine.check()
    return machine
