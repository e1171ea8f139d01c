"""What a collection on many machines would take: shards of BM25 built here by the real code, and counted on.

``python -m benchmarks.spread --documents 100000 --shards 2 --work DIR``. One process of the workers' builds the shards
one after the other. Measured are the processor seconds of the command and of the worker, the bytes sent each way, and
how long Lucene searches. The plan takes the slowest of three for each number of machines: the command's own work, the
workers', and the network's.
"""

import argparse
import pickle
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

import numpy as np

from benchmarks.scale_input import write_documents, write_topics
from heed.files import write_bytes
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Files
from heed.formats.topics import read_jsonl_topics
from heed.languages import language
from heed.progress import duration
from heed.retrieval.bm25.building import build_by_workers, shards_of
from heed.retrieval.bm25.index import FIELD, MAX_POSTINGS, Bm25Settings, Searcher
from heed.retrieval.lsa.lsa import SETTINGS as LSA
from heed.retrieval.lsa.lsa import Lsa
from heed.workers.pool import TaskFor
from heed.workers.processes import Process
from heed.workers.tasks import Task, WorkerState, value_of

HEAP = "768m"
TOPICS, DEPTH = 20, 1000
PROJECTED = 4096  # documents
ENGLISH = language("eng")


class Costs(NamedTuple):
    """Of one document: processor seconds of the command and of workers, bytes; of a topic: seconds a document.

    ``lsa_seconds`` are a worker's for LSA's vector.
    """

    store_seconds: float
    command_seconds: float
    worker_seconds: float
    sent: float
    returned: float
    on_disk: float
    topic_seconds: float
    lsa_seconds: float
    worker_mib: float  # at most


class Plan(NamedTuple):
    """What a collection takes: seconds until it is stored and indexed, and what decides the latter; bytes."""

    store: float
    index: float
    slowest: str
    topic: float
    lsa: float
    traffic: float
    disk: float
    memory: float


class Timed(NamedTuple):
    """A task whose processor seconds are returned with its result."""

    task: Task

    def run(self, worker: WorkerState) -> tuple[float, Any]:
        """Run the task."""
        start = time.process_time()
        value = self.task.run(worker)
        return time.process_time() - start, value


class OneWorker:
    """A pool of one process that counts what its tasks take."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self.worker = Process(0, None)
        self.seconds = self.counting = self.peak = 0.0
        self.sent = self.returned = 0

    def results(self, tasks: Iterable[TaskFor]) -> Iterator[Any]:
        """Yield the result of each task."""
        self.worker.start()
        for task_for in tasks:
            task = task_for(self.worker)
            self.sent += self._size(task)
            result = self.worker.run(Timed(task))
            seconds, value = value_of(result)
            self.seconds, self.peak = self.seconds + seconds, max(self.peak, result.peak)
            self.returned += self._size(value)
            yield value
        self.worker.stop()

    def _size(self, value: Any) -> int:
        start = time.process_time()
        size = len(pickle.dumps(value))
        self.counting += time.process_time() - start
        return size


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print the plan as Markdown."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.spread", description=__doc__)
    made.add_argument("--documents", type=int, default=100_000, metavar="N", help="documents that are indexed here")
    made.add_argument("--shards", type=int, default=2, metavar="N", help="shards of them")
    made.add_argument("--work", type=Path, required=True, metavar="DIR", help="2 GB for 100,000 documents")
    made.add_argument("--plan", type=int, default=100_000_000, metavar="N", help="documents of the plan")
    made.add_argument("--machines", type=int, nargs="+", default=[1, 4, 16], metavar="N")
    made.add_argument("--cores", type=int, default=16, metavar="N", help="workers of a machine")
    made.add_argument("--gigabit", type=float, default=10.0, metavar="N", help="of the command's network, a second")
    made.add_argument("--table", type=Path, metavar="FILE", help="write the plan there too")
    options = made.parse_args(argv)
    costs = measure(options.work, options.documents, options.shards, options.plan)
    shard = options.documents // options.shards
    plans = {
        count: planned(costs, options.plan, shard, count * options.cores, options.gigabit) for count in options.machines
    }
    told = as_markdown(costs, plans, options.plan, options.cores, options.gigabit)
    print(told)
    if options.table:
        write_bytes(options.table, told.encode())
    return 0


def measure(work: Path, count: int, shards: int, plan: int) -> Costs:
    """Return what a document costs, of ``count`` in ``shards``."""
    files, topics = write_documents(work / "documents", count), write_topics(work / "topics", count)
    place = work / "spread"
    rmtree(place, ignore_errors=True)
    start = time.process_time()
    store = open_store(place / "documents", Files(files))
    stored = time.process_time() - start
    parts = shards_of(place / "bm25", store, ENGLISH, False, shards, (FIELD,))
    max_postings = MAX_POSTINGS * count // (plan * shards)
    pool, start = OneWorker(), time.process_time()
    build_by_workers(parts, store, HEAP, max_postings, pool)  # type: ignore[arg-type]
    command = time.process_time() - start - pool.counting
    on_disk = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    searched, lsa = _searched(place / "bm25", topics, shards), _projected(store)
    rmtree(place)
    each = (value / count for value in (stored, command, pool.seconds, pool.sent, pool.returned, on_disk, searched))
    return Costs(*each, lsa, pool.peak)


def _searched(folder: Path, topics: Path, shards: int) -> float:
    """Return the processor seconds of a topic that Lucene searches, the first ones left out."""
    asked = read_jsonl_topics(topics / "topics.jsonl", ENGLISH.code, "title")[: 2 * TOPICS]
    queries = {one.qid: one.under("changed").text for one in asked}
    searcher = Searcher(folder, ENGLISH, Bm25Settings(), 0, shards)
    halves = [dict(list(queries.items())[start : start + TOPICS]) for start in (0, TOPICS)]
    searcher.search(halves[0], DEPTH)
    start = time.process_time()
    searcher.search(halves[1], DEPTH)
    return (time.process_time() - start) / TOPICS


def _projected(store: DocumentStore) -> float:
    """Return the processor seconds of LSA's vector of a document, by a model of the usual size and random numbers."""
    features, dimensions = LSA["features"], LSA["dimensions"]
    chance = np.random.default_rng(0)
    components = chance.standard_normal((dimensions, features), dtype=np.float32)
    lsa, documents = Lsa({}, np.ones(features, np.float32), components), list(store.within(0, PROJECTED))
    start = time.process_time()
    lsa.encode_documents(documents)
    return (time.process_time() - start) / len(documents)


def planned(costs: Costs, documents: int, shard: int, workers: int, gigabit: float) -> Plan:
    """Return what ``documents`` take with so many workers, in shards of ``shard`` documents."""
    traffic = (costs.sent + costs.returned) * documents
    steps = {
        "the command": costs.command_seconds * documents,
        "the workers": costs.worker_seconds * documents / workers,
        "the network": traffic * 8 / (gigabit * 1e9),
    }
    slowest = max(steps, key=lambda name: steps[name])
    return Plan(
        store=costs.store_seconds * documents,
        index=steps[slowest],
        slowest=slowest,
        topic=costs.topic_seconds * documents,
        lsa=costs.lsa_seconds * documents / workers,
        traffic=traffic,
        disk=costs.on_disk * documents,
        memory=2 * (costs.sent + costs.returned) * shard * workers,
    )


def as_markdown(costs: Costs, plans: dict[int, Plan], documents: int, cores: int, gigabit: float) -> str:
    """Return the costs as a table, and the plans as another."""
    rows = [
        "| cost of a document | |",
        "|---|---:|",
        f"| processor time to store it | {costs.store_seconds * 1e6:.0f} µs |",
        "| processor time of the command, to send it and to write its part of the index | "
        f"{costs.command_seconds * 1e6:.0f} µs |",
        f"| processor time of a worker, to index it | {costs.worker_seconds * 1e6:.0f} µs |",
        f"| sent to the worker | {costs.sent:,.0f} bytes |",
        f"| sent back | {costs.returned:,.0f} bytes |",
        "",
        f"The worker takes {costs.worker_mib:,.0f} MiB at most.",
        "",
        f"| {documents:,} documents; machines of {cores} cores, {gigabit:g} Gb/s | {' | '.join(map(str, plans))} |",
        f"|---|{'---:|' * len(plans)}",
    ]
    lines = {
        "documents stored": [duration(plan.store) for plan in plans.values()],
        "BM25's shards indexed": [duration(plan.index) for plan in plans.values()],
        "— decided by": [plan.slowest for plan in plans.values()],
        "LSA's vectors": [duration(plan.lsa) for plan in plans.values()],
        "memory of the command for shards under way, GiB": [f"{plan.memory / 2**30:,.1f}" for plan in plans.values()],
        "traffic, GB": [f"{plan.traffic / 1e9:,.0f}" for plan in plans.values()],
        "disk of the command, input apart, GB": [f"{plan.disk / 1e9:,.0f}" for plan in plans.values()],
        "a topic, searched by one thread of Lucene": [duration(plan.topic) for plan in plans.values()],
    }
    return "\n".join([*rows, *(f"| {name} | {' | '.join(values)} |" for name, values in lines.items()), ""])


if __name__ == "__main__":
    sys.exit(main())
