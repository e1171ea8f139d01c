"""What each part of ``best-cpu`` adds: ``python -m benchmarks.best_cpu FOLDER…``, as for ``benchmarks.polarity``.

A line is a system: ``polarity``, ``best-cpu``, or that without one part, the other weights as they are; its
figures (×100) are the mean over topics and, in brackets, the 95 % bootstrap interval. Where every document is scored,
R is the share of the relevant ones under ``changed`` in the first third and in the first two thirds of the list. Last,
the pairs of query and document per second of processor time.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.polarity import Collection, _shown
from heed.measures import PerTopic, standard
from heed.reranking.best_cpu import BestCpu, learned_weights
from heed.reranking.polarity import Polarity


def systems(collection: Collection) -> Iterator[tuple[str, Polarity]]:
    """Yield the systems with their names."""
    yield "polarity", Polarity(collection.bm25)
    yield "best-cpu", BestCpu(collection.bm25)
    weights = learned_weights()
    for part in weights:
        if collection.bm25.corpus.documents.tabular or " " not in part:
            yield f"without {part}", BestCpu(collection.bm25, {**weights, part: 0.0})


def measured(collection: Collection, system: Polarity) -> tuple[dict[str, PerTopic], float]:
    """Return measures by topic, and pairs per second."""
    conditions = ("query", "original") if collection.tables else ("original", "changed")
    start = time.process_time()
    runs = {condition: collection._run(system, condition) for condition in conditions}
    seconds = time.process_time() - start
    measures = collection._measures(runs)
    if not collection.tables:
        for third in (1, 2):
            cutoff = collection.size * third // 3
            recall = standard(runs["changed"], collection.qrels["changed"], [f"R@{cutoff}"])[f"R@{cutoff}"]
            measures[f"R@{third}/3"] = recall
    return measures, len(conditions) * sum(map(len, collection.pools.values())) / seconds


def main(folders: list[Path]) -> None:
    """Measure every system on every collection."""
    with tempfile.TemporaryDirectory() as place:
        for folder in folders:
            collection = Collection(folder, Path(place) / "-".join(folder.parts[-2:]))
            for number, (name, system) in enumerate(systems(collection)):
                measures, speed = measured(collection, system)
                if not number:
                    print(
                        f"\n{collection.name}, {len(collection.topics)} topics: {', '.join(measures)}, pairs a second"
                    )
                print(f"{name:<28}{'  '.join(map(_shown, measures.values()))}  {speed:,.0f}", flush=True)


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
