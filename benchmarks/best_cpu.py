"""What each part of ``best-cpu`` adds: ``python -m benchmarks.best_cpu FOLDER… [--only LINE]``.

Folders and figures are those of ``benchmarks.polarity``. A line is a system: ``polarity``, ``best-cpu``, or that
without one part, the other weights as they are.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.polarity import Collection, _shown
from heed.reranking.best_cpu import BestCpu, learned_weights
from heed.reranking.polarity import Polarity


def systems(collection: Collection) -> Iterator[tuple[str, Polarity]]:
    """Yield the systems with their names."""
    yield "polarity", Polarity(collection.bm25)
    yield "best-cpu", BestCpu(collection.bm25)
    weights = learned_weights()
    for part in weights:
        if not collection.plain_text or " " not in part:
            yield f"without {part}", BestCpu(collection.bm25, {**weights, part: 0.0})


def main(folders: list[Path], only: list[str]) -> None:
    """Measure every system, or those that ``only`` names, on every collection."""
    with tempfile.TemporaryDirectory() as place:
        for folder in folders:
            collection = Collection(folder, Path(place) / "-".join(folder.parts[-2:]))
            chosen = [(name, system) for name, system in systems(collection) if name in only or not only]
            for number, (name, system) in enumerate(chosen):
                measures, speed = collection.scored(system)
                if not number:
                    print(
                        f"\n{collection.name}: {len(collection.topics)} topics, {', '.join(measures)}, pairs a second"
                    )
                print(f"{name:<28}{'  '.join(map(_shown, measures.values()))}  {speed:,.0f}", flush=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.best_cpu")
    arguments.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    arguments.add_argument("--only", action="append", default=[], metavar="LINE", help="repeatable (default: all)")
    options = arguments.parse_args()
    main(options.folders, options.only)
