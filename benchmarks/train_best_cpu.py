"""Learn the weights of ``best-cpu``: ``python -m benchmarks.train_best_cpu FOLDER… [--out FILE]``.

Folders are those of ``benchmarks.polarity``; those that are no subset of FollowTable are one source, "development".
What is raised is the mean over sources of IRS, from the order of the query alone to that of the instruction (where
there are two, of the changed one): from the hand-set weights, one weight at a time goes up or down by 1, then by a
half, as long as that helps. ``asked`` stays 1, since only proportions matter. The same input gives the same weights.

Printed are the weights learned on all sources, and on all but one, each with nDCG@10 and IRS (×100) on every
source and the 95 % bootstrap interval. ``--out`` writes those learned on all,
and on the development data alone, to a file such as ``heed/reranking/best_cpu.json``.
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.polarity import Collection
from heed.datasets.tables import JOIN
from heed.evaluation.significance import interval
from heed.io.files import write_json
from heed.measures import PerTopic, irs, mean, standard
from heed.reranking.best_cpu import BestCpu, Weights
from heed.reranking.polarity import Part
from heed.types import Qrels, Query, Run

HAND_SET: Weights = {
    "query": 1.0,
    "asked": 1.0,
    "excluded": -2.0,
    "like": 1.0,
    "best": 1.0,
    "worst": -1.0,
    "query header": 0.0,
    "asked header": 0.0,
    "excluded caption": 0.0,
}
FIXED, STEPS = "asked", (1.0, 0.5)
AGAINST = [name for name in HAND_SET if name.startswith(("excluded", "worst"))]
DEVELOPMENT = "development"


class Example(NamedTuple):
    """A topic's pool and its parts of the evidence."""

    docids: list[str]
    parts: list[Part]


class Examples:
    """The topics of one collection, with all that their measures need."""

    def __init__(self, collection: Collection) -> None:
        """Score the parts once: weights change afterwards."""
        self.source = collection.name if collection.tables else DEVELOPMENT
        condition = "original" if collection.tables else "changed"
        self._system = BestCpu(collection.bm25, dict.fromkeys(HAND_SET, 1.0))  # all parts, whatever they weigh
        self._qrels: Qrels = collection.qrels[condition]
        self._unwanted, self._size = collection.unwanted, collection.size
        self._base: Run = {}
        self._examples: dict[str, Example] = {}
        for topic in collection.topics:
            documents = collection.pools[topic.qid]
            docids = [document.docid for document in documents]
            alone = Query(topic.qid, topic.query, topic.query, "", topic.lang)
            self._base[topic.qid] = dict(zip(docids, self._system.score(alone, documents), strict=True))
            parts = self._system.parts(topic.under(condition, JOIN), documents)
            self._examples[topic.qid] = Example(docids, [part._replace(terms={}) for part in parts])

    def measures(self, weights: Weights) -> dict[str, PerTopic]:
        """Return nDCG@10 and IRS by topic."""
        run = self._run(weights)
        return {"nDCG@10": standard(run, self._qrels, ["nDCG@10"])["nDCG@10"], "IRS": self._irs(run)}

    def value(self, weights: Weights) -> float:
        """Return the mean IRS."""
        return mean(self._irs(self._run(weights)))

    def _irs(self, run: Run) -> PerTopic:
        wanted = {qid: {docid for docid, grade in grades.items() if grade > 0} for qid, grades in self._qrels.items()}
        return irs(self._base, run, wanted, self._unwanted, self._size)

    def _run(self, weights: Weights) -> Run:
        run: Run = {}
        for qid, (docids, parts) in self._examples.items():
            weighted = (
                [part._replace(weight=weights.get(part.name, part.weight)) for part in parts]
                if len(parts) > 1
                else parts
            )
            run[qid] = dict(zip(docids, self._system.combined(weighted, docids).tolist(), strict=True))
        return run


Sources = Mapping[str, Sequence[Examples]]


def learn(sources: Sources, start: Weights = HAND_SET) -> Weights:
    """Return the weights that coordinate ascent finds on all of ``sources``."""
    weights, best = dict(start), _value(sources, start)
    for step in STEPS:
        moved = True
        while moved:
            moved = False
            for name in weights:
                for changed in _neighbours(weights, name, step):
                    value = _value(sources, changed)
                    if value > best + 1e-9:  # a gain, not a last bit
                        weights, best, moved = changed, value, True
                        break
    return weights


def _neighbours(weights: dict[str, float], name: str, step: float) -> list[dict[str, float]]:
    """Return ``weights`` with one of them up or down by ``step``, never across 0."""
    moved = [weights[name] + step, weights[name] - step] if name != FIXED else []
    return [weights | {name: value} for value in moved if (value <= 0 if name in AGAINST else value >= 0)]


def _value(sources: Sources, weights: Weights) -> float:
    return sum(sum(one.value(weights) for one in some) / len(some) for some in sources.values()) / len(sources)


def read(folders: Sequence[Path], place: Path) -> dict[str, list[Examples]]:
    """Return the examples of each source."""
    sources: dict[str, list[Examples]] = {}
    for folder in folders:
        examples = Examples(Collection(folder, place / "-".join(folder.parts[-2:])))
        sources.setdefault(examples.source, []).append(examples)
    return sources


def main(folders: Sequence[Path], out: Path | None) -> None:
    """Learn on all sources and on all but one, and print what is gained on each."""
    with tempfile.TemporaryDirectory() as place:
        sources = read(folders, Path(place))
        _print("hand-set", HAND_SET, sources)
        weights = learn(sources)
        _print("learned on all", weights, sources)
        for name in sources if len(sources) > 1 else ():
            others = {other: sources[other] for other in sources if other != name}
            _print(f"learned without {name}", learn(others), {name: sources[name]})
        if out:
            alone = {DEVELOPMENT: sources[DEVELOPMENT]} if DEVELOPMENT in sources else {}
            note = {"weights": weights, "learned_on": list(sources), "by": "python -m benchmarks.train_best_cpu"}
            write_json(out, note | {f"on_{name}_alone": learn({name: some}) for name, some in alone.items()})


def _print(name: str, weights: Weights, sources: Sources) -> None:
    print(f"\n{name}: {', '.join(f'{part} {weight:g}' for part, weight in weights.items())}")
    for source, some in sources.items():
        for measure in ("nDCG@10", "IRS"):
            values = [value for one in some for value in one.measures(weights)[measure].values()]
            low, high = (100 * bound for bound in interval(values))
            shown = f"{100 * sum(values) / len(values):.1f} [{low:.1f}, {high:.1f}]"
            print(f"  {source}, {len(values)} topics: {measure} {shown}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    main(options.folders, options.out)
