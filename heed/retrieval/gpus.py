"""Exact search by FAISS on GPUs that hold all vectors; what they cannot do, the scan of the shards does."""

from typing import TYPE_CHECKING, Any

from heed.progress import log
from heed.retrieval.scan import Scan
from heed.retrieval.vectors import Vectors

if TYPE_CHECKING:
    from heed.types import Matrix

MOST = 2048  # candidates of a query: FAISS's limit on GPUs (gpu/utils/DeviceDefs.cuh, GPU_MAX_SELECTION_K)


class OnGpus:
    """All vectors in the memory of every GPU."""

    def __init__(self, index: Any, scan: Scan) -> None:
        """Search ``index``, and ``scan`` where more candidates are asked for than FAISS has on a GPU."""
        self._index, self._scan = index, scan

    def candidates(self, queries: "Matrix", wanted: int) -> Any:
        """For each row of ``queries`` the numbers of its ``wanted`` best vectors."""
        return self._scan.candidates(queries, wanted) if wanted > MOST else self._index.search(queries, wanted)[1]


def on_gpus(vectors: Vectors, scan: Scan) -> OnGpus | None:
    """Return ``vectors`` on the GPUs; None without faiss-gpu or a GPU, and, logged, where they do not fit in memory."""
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
    return OnGpus(index, scan)
