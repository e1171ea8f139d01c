"""IVF-PQ's index: processor time to build it, and its recall: ``python -m benchmarks.ivfpq 1000000 --work DIR``.

Random vectors around 3000 centres, of 48 dimensions that are spread over 384, as encoders' vectors lie; 100 queries of
the same kind. The log says what share of the 1000 best documents is found, and how many lists are searched for it.
"""

import argparse
import logging
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heed.retrieval.dense.search import open_index
from heed.retrieval.dense.vectors import SHARD, Vectors, write_matrix
from heed.reuse import ensure_folder

DIMENSIONS, INNER, CENTRES, QUERIES, DEPTH = 384, 48, 3000, 100, 1000
WITHIN, NOISE = 0.7, 1.5  # deviations around a centre, and in all dimensions
Rows = NDArray[np.float32]


def main() -> None:
    """Make the vectors unless they are there, build the index and search it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ivfpq", description=__doc__)
    parser.add_argument("vectors", type=int, metavar="N", help="how many")
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="1.7 GB for a million vectors")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    place = options.work / str(options.vectors)
    ensure_folder(place / "vectors", {"vectors": options.vectors}, lambda into: _write(into, options.vectors))
    start, vectors = time.process_time(), Vectors(place / "vectors")
    index = open_index(place / "ivfpq", vectors, {}, "ivfpq", "cpu")
    print(f"opened, and built unless it was there: {time.process_time() - start:.1f} s of processor time", flush=True)
    queries = np.load(place / "vectors" / "queries.npy")
    for _ in range(2):
        start = time.process_time()
        index.search([str(number) for number in range(QUERIES)], queries, DEPTH)
        print(f"{QUERIES} queries: {time.process_time() - start:.1f} s of processor time", flush=True)


def _write(folder: Path, count: int) -> None:
    chance = np.random.default_rng(0)
    spread, centres = _normal(chance, INNER, DIMENSIONS), _normal(chance, CENTRES, INNER)

    def drawn(size: int) -> Rows:
        inner = centres[chance.integers(0, CENTRES, size)] + np.float32(WITHIN) * _normal(chance, size, INNER)
        rows = inner @ spread + np.float32(NOISE) * _normal(chance, size, DIMENSIONS)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)

    np.save(folder / "queries.npy", drawn(QUERIES))
    for number, start in enumerate(range(0, count, SHARD)):
        write_matrix(folder / f"shard-{number:05}.npy", drawn(min(SHARD, count - start)))
    (folder / "docids.txt").write_text("".join(f"d{number:08}\n" for number in range(count)))


def _normal(chance: np.random.Generator, rows: int, columns: int) -> Rows:
    return chance.standard_normal((rows, columns), dtype=np.float32)


if __name__ == "__main__":
    main()
