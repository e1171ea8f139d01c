"""What each part of ``best-cpu`` adds: ``python -m benchmarks.best_cpu FOLDER… [--only LINE]``.

Folders and figures are those of ``benchmarks.polarity``. A line is a system: ``polarity``, ``best-cpu``, or that
without one part, the other weights as they are.
"""

from benchmarks.polarity import Collection, main
from heed.reranking.best_cpu import BestCpu, learned_weights
from heed.reranking.polarity import Polarity
from heed.types import Reranker


def systems(collection: Collection) -> dict[str, Reranker]:
    """Return the systems by the names of their lines."""
    weights, bm25 = learned_weights(), collection.bm25
    parts = [part for part in weights if not collection.plain_text or " " not in part]
    without = {f"without {part}": BestCpu(bm25, {**weights, part: 0.0}) for part in parts}
    return {"polarity": Polarity(bm25), "best-cpu": BestCpu(bm25), **without}


if __name__ == "__main__":
    main("benchmarks.best_cpu", systems)
