"""The path that every collection command takes: index, search, pool, rerank, measure, write."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heed.collection import Collection
from heed.errors import fail
from heed.evaluation.evaluate import evaluate, shifts
from heed.evaluation.summary import Row, rows_of
from heed.io.artifacts import Recipe, file_as_made
from heed.io.document_store import DocumentStore, open_store
from heed.io.external_runs import read_brought
from heed.io.files import CONTROL, digest_json, locked, write_json
from heed.io.pools import write_pool
from heed.io.trec_files import as_tag, read_run, write_run
from heed.manifest import write_manifest
from heed.models.api_cache import set_cache
from heed.models.vllm import close_engine
from heed.pooling.fusion import pool
from heed.progress import Timing, brief, log, recording, timed
from heed.release import release
from heed.reporting.folders import read_tree
from heed.reporting.page import write_page
from heed.reranking.passages import Cut
from heed.reranking.rerankers import over_passages, reranker
from heed.reranking.rescoring import Reranker, rerank
from heed.retrieval.bm25 import Weights
from heed.retrieval.retrievers import Retriever, Shelf, retriever
from heed.types import Run, Topic, conditions_of, under
from heed.workers.engine import LOCAL, Engine, crew_of

VERSION = 3  # raise when runs are made in another way


@dataclass(frozen=True)
class Settings:
    """How it is searched, and where results go."""

    retrievers: list[str]
    rerankers: list[str]
    conditions: list[str]
    depth: int
    rerank_depth: int
    maxp: Cut | None
    weights: Weights
    shards: int
    faiss: str
    device: str
    threads: int
    published_pool: bool
    brought: list[str]
    indexes: Path
    out: Path
    engine: Engine = LOCAL


def run(collection: Collection, settings: Settings, timings: list[Timing]) -> list[Row]:
    """Run the whole path and give back the summary's rows.

    Leaves run files, ``pool.jsonl``, ``summary.json``, ``per_topic.json``, ``report.html`` and so on in
    ``out/<collection>/<subset>/``. What an earlier run completed with the same inputs and settings
    is used again.
    """
    with recording(timings):
        rows = _run(collection, settings)
    write_json(settings.out / collection.name / collection.subset / "timings.json", timings)
    return rows


def _run(collection: Collection, settings: Settings) -> list[Row]:
    fail(_unshowable(collection.topics))
    conditions = conditions_of(collection.topics, settings.conditions)
    folder = settings.out / collection.name / collection.subset
    indexes = settings.indexes / collection.name / collection.index
    with locked(folder), locked(indexes), crew_of(settings.engine, settings.device) as crew:
        with timed("documents") as work:
            store = open_store(indexes / "documents", collection.source)
            work.did(store.count, "documents")
        absent = _tell_unknown(collection, store)
        shelf = Shelf(
            indexes,
            store,
            collection.language,
            collection.join,
            settings.weights,
            settings.faiss,
            settings.device,
            settings.threads,
            crew,
            settings.shards,
        )
        set_cache(settings.indexes / "api")
        retrievers = [retriever(name, shelf) for name in settings.retrievers]
        rerankers = [reranker(name, shelf) for name in settings.rerankers]
        systems: list[Retriever | Reranker] = [*retrievers, *rerankers]
        _refuse_same_names([system.name for system in systems])
        step = _Step(folder, collection.topics, settings)
        runs: dict[tuple[str, str], Run] = {}
        for one in retrievers:
            runs |= {(one.name, name): step.search(one, name) for name in conditions}
            _let_go(one)
        pooled = _pool(collection, settings, store, list(runs.values()))
        write_pool(folder / "pool.jsonl", pooled)
        if settings.maxp and rerankers:
            docids = {docid for found in pooled.values() for docid in found}
            rerankers = over_passages(settings.rerankers, shelf, docids, settings.maxp)
            systems = [*retrievers, *rerankers]
        for other in rerankers:
            runs |= {(other.name, name): step.rescore(other, name, pooled) for name in conditions}
            _let_go(other)
        brought = read_brought(settings.brought, collection.topics, conditions)
        _refuse_same_names([*{name for name, _ in runs}, *{name for name, _ in brought}])
        for (name, condition), found in brought.items():
            write_run(folder / f"{name}.{condition}.run", found, as_tag(f"{name}.{condition}"))
        runs |= brought
        with timed("measures"):
            details = evaluate(runs, collection.judging, collection.topics, store.count + absent)
            moved = shifts(runs, collection.judging, collection.topics)
            write_json(folder / "per_topic.json", {"rows": details, "shifts": moved})
            rows = rows_of(details)
        _write_results(folder, collection, settings, rows, {one.name: one.recipe for one in systems})
    return rows


def _let_go(system: Retriever | Reranker) -> None:
    """Make room for the next system's model."""
    close_engine()
    release(system)


def _unshowable(topics: Sequence[Topic]) -> list[str]:
    """Topics that a report would refuse at the end, told before any work is done."""
    odd = [topic.qid for topic in topics if CONTROL.search(topic.qid)]
    return [f"topic {qid!r}: its id holds a control character, which no report shows; rename the topic" for qid in odd]


class _Step:
    """Makes one run file at a time, or finds it made."""

    def __init__(self, folder: Path, topics: Sequence[Topic], settings: Settings) -> None:
        self._folder, self._topics, self._settings = folder, topics, settings

    def search(self, system: Retriever, condition: str) -> Run:
        topics, depth = under(self._topics, condition), self._settings.depth
        recipe: Recipe = {"system": system.recipe, "depth": depth}

        def search() -> Run:
            with timed("run", f"{system.name}.{condition}") as work:
                work.did(len(topics), "topics")
                return system.search(topics, condition, depth)

        return self._made(system, condition, topics, recipe, search)

    def rescore(self, system: Reranker, condition: str, pooled: Mapping[str, list[str]]) -> Run:
        topics = under(self._topics, condition)
        journal = self._folder / ".made" / f"{system.name}.{condition}.partial"
        recipe: Recipe = {"system": system.recipe, "pool": digest_json(pooled)}
        found = self._made(
            system, condition, topics, recipe, lambda: rerank(system, topics, condition, pooled, journal)
        )
        journal.unlink(missing_ok=True)
        return found

    def _made(
        self,
        system: Retriever | Reranker,
        condition: str,
        topics: Sequence[Topic],
        recipe: Recipe,
        make: Callable[[], Run],
    ) -> Run:
        name = f"{system.name}.{condition}"
        path = self._folder / f"{name}.run"
        recipe |= {"run": VERSION, "condition": condition, "topics": digest_json(topics)}

        def build() -> None:
            with timed("prepare", system.name):
                system.prepare()
            found = make()
            _tell_empty(name, found, topics)
            write_run(path, {qid: scores for qid, scores in found.items() if scores}, as_tag(name))

        if file_as_made(path, recipe, build):
            log.info(f"{path}: used again")
        return read_run(path) if path.stat().st_size else {}


def _pool(collection: Collection, settings: Settings, store: DocumentStore, runs: list[Run]) -> dict[str, list[str]]:
    if not settings.published_pool:
        # one pool a query, so that a reranker orders the same documents with and without an instruction
        queries = {topic.qid: topic.base or topic.qid for topic in collection.topics}
        lists = ({queries[qid]: scores} for run in runs for qid, scores in run.items())
        pooled = pool(lists, settings.rerank_depth, settings.rerank_depth)
        return {topic.qid: pooled.get(queries[topic.qid], []) for topic in collection.topics}
    fail([] if collection.candidates else ["--pool published: these topics come without candidate lists"])
    pooled = {}
    for topic in collection.topics:
        listed = collection.candidates.get(topic.qid, [])
        absent = set(store.missing(listed))
        if absent:
            log.info(
                f"topic {topic.qid}: {len(absent)} of {len(listed)} candidates are not in the collection, left out"
            )
        pooled[topic.qid] = [docid for docid in listed if docid not in absent]
    return pooled


def _tell_unknown(collection: Collection, store: DocumentStore) -> int:
    """Count and list judgements of topics or documents that are not here; gives back how many documents are not.

    They are not fatal: such documents rank below all others.
    """
    unknown: set[str] = set()
    known = {topic.qid for topic in collection.topics}
    if not any(qrels.keys() & known for qrels in collection.judging.qrels.values()):
        log.info(f"no judgements for any of the {len(known)} topics: runs are written, nothing can be measured")
    for condition, qrels in collection.judging.qrels.items():
        absent = sorted(qrels.keys() - known)
        if absent:
            log.info(
                f"qrels ({condition}): {len(absent)} of {len(qrels)} topics are not among the topics: {brief(absent)}"
            )
        judged = sorted({docid for qid in qrels.keys() & known for docid in qrels[qid]})
        missing = store.missing(judged)
        if missing:
            counted = f"{len(missing)} of {len(judged)} judged documents"
            log.info(f"qrels ({condition}): {counted} are not in the collection: {brief(missing)}")
            unknown.update(missing)
    return len(unknown)


def _tell_empty(name: str, found: Run, topics: Sequence[Topic]) -> None:
    empty = [topic.qid for topic in topics if not found.get(topic.qid)]
    if empty:
        log.info(f"{name}: nothing found for {len(empty)} of {len(topics)} topics: {brief(empty)}")


def _refuse_same_names(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    fail(f"system {name}: named twice, one run would overwrite the other; name it once" for name in twice)


def _write_results(
    folder: Path, collection: Collection, settings: Settings, rows: list[Row], methods: dict[str, Recipe]
) -> None:
    head = {"collection": collection.name, "subset": collection.subset}
    write_json(folder / "summary.json", {**head, "rows": rows})
    data: Recipe = {
        "name": f"{collection.name}/{collection.subset}",
        "topics": digest_json(collection.topics),
        "qrels": {condition: digest_json(qrels) for condition, qrels in collection.judging.qrels.items()},
    }
    kept = ("retrievers", "rerankers", "conditions", "depth", "rerank_depth", "faiss", "published_pool", "brought")
    told = {name: getattr(settings, name) for name in kept} | {"maxp": list(settings.maxp or ())}
    write_manifest(folder / "manifest.yml", data, methods, told)
    if rows:
        with timed("report"):
            write_page(read_tree(folder), folder, folder / "report.html")
