"""An experiment over one collection: index, search, pool, rerank, measure, write."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Self, TypeVar

from heed.addon_table import brought
from heed.compute import Compute
from heed.datasets.collection import Collection, check_collection, missing_documents
from heed.errors import DataError, UsageError, fail
from heed.experiment.ledger import NEW, Ledger, destination, settle
from heed.experiment.measuring import manifest, results_of, warnings_of
from heed.experiment.results import Hits, Results, hits_of, look
from heed.experiment.run_files import (
    POOL,
    Destination,
    RunFile,
    SystemRuns,
    doubts,
    own_documents,
    pool_of_runs,
    published_pool,
    rescore_to_file,
    run_to_file,
    search_to_file,
    without_own,
)
from heed.files import digest_json, locked, remembering, write_json
from heed.formats.document_store import Corpus, DocumentStore, open_documents
from heed.formats.trec_files import write_pool
from heed.measures.registry import AnyMeasure, as_measures
from heed.models.registry.entries import Registry
from heed.progress import Timing, brief, counted, gathering, log, number_of, recording, showing, timed
from heed.report.topics_file import topics_file
from heed.reranking.maxp import MAXP, Cut
from heed.reranking.maxp import maxp as over_passages
from heed.reranking.rescore import PoolDocuments, ReadOnce
from heed.retrieval.lucene.jvm import check_heap
from heed.reuse import Recipe, queries_digest
from heed.systems.make import Place, Search, compute_of, make, refuse_twins, split_name
from heed.systems.user_objects import check_name
from heed.types import CONDITIONS, Config, Query, Reranker, Retriever, Topic, closed, conditions_of

Pool = Mapping[str, Sequence[str]]  # qid -> docids
Made = TypeVar("Made", Retriever, Reranker)


class Experiment:
    """Runs systems over a collection, under each of its conditions, and measures them.

    What a command writes an experiment writes too, in the same places under the same names: runs, ``pool.jsonl``,
    ``summary.json`` and so on to ``<out>/<collection>/<subset>/``. Runs that are finished there with the same inputs
    and settings are reused; those that others replace go to ``earlier/`` in it. As a context manager it locks its
    folders, so that no other process writes there meanwhile.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        indexes: str | Path = "indexes",
        out: str | Path = "runs",
        conditions: Sequence[str] = (),
        depth: int = 1000,
        device: str = "auto",
        threads: int | None = None,
        search: Search | None = None,
        compute: Compute | None = None,
        registry: Registry | None = None,
        keep_own_id: bool = False,
        verify: bool = False,
        progress: bool = True,
    ) -> None:
        """Check the settings; nothing is read or built before the first system runs.

        ``indexes`` and ``out`` are folders; ``conditions`` those to run (default: all that the topics carry); ``depth``
        the number of documents per topic in a run; ``search`` how documents are searched; ``compute`` how models and
        Java are run, of which ``device`` and ``threads`` are the short form; ``registry`` knows the models;
        ``keep_own_id`` keeps a query that is a document itself in its own list; ``verify`` reads large files again that
        seem unchanged; ``progress`` is whether longer work shows bars, on a terminal or in a notebook. Raises
        :class:`UsageError` for invalid settings and a missing GPU, :class:`DataError` for topics that no result can be
        written of.
        """
        if isinstance(conditions, str):
            raise UsageError(f"conditions: found {conditions!r}, expected a list")
        compute, search = compute_of(compute, device, threads), search or Search()
        check_heap(compute.heap)
        search.check()
        _check_depth(depth)
        check_collection(collection)
        self.collection, self.depth = collection, depth
        self.conditions = conditions_of(collection.topics, conditions)
        self.folder = Path(out) / collection.name / collection.subset
        self.command = "python"  # what the manifest says that made the runs; commands give theirs
        self.timings: list[Timing] = []
        self.warnings = list(collection.warnings)
        self._compute, self._search, self._registry = compute, search, registry or Registry()
        self._progress, self._keep_own_id, self._verify = progress, keep_own_id, verify
        self._indexes, self._index = Path(indexes), Path(indexes) / collection.name / collection.index
        self._open, self._locked = ExitStack(), False
        self._pool: Recipe = {}  # where the last pool came from, for the manifest
        self._spellings: dict[str, str] = {}  # how systems were asked for, by their names
        self._pools: dict[str, Recipe] = {}  # of which runs a pool was made, by its digest

    def __enter__(self) -> Self:
        """Lock the folders of results and indexes until the end of the block."""
        self._open.enter_context(self._working())
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the folders."""
        self._open.close()
        for name in ("_place", "_read"):
            self.__dict__.pop(name, None)

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Lock the folders inside the block, record its timings and gather its warnings."""
        with ExitStack() as locks, recording(self.timings), gathering(self.warnings), showing(self._progress):
            if not self._locked:
                locks.enter_context(locked(self.folder))
                locks.enter_context(locked(self._index))
                locks.enter_context(remembering(self._index, self._verify))
                locks.callback(setattr, self, "_locked", False)
                self._locked = True
                settle(self.folder)
            yield

    @cached_property
    def documents(self) -> DocumentStore:
        """The collection's documents, read and sorted by docid the first time."""
        with self._working(), timed("documents") as work:
            store = open_documents(self.collection.source, self._index)
            work.did(store.count, "documents")
        self._missing = missing_documents(self.collection, store)
        return store

    @cached_property
    def _read(self) -> ReadOnce:
        """The documents of pools that were read."""
        return ReadOnce(self.documents)

    @cached_property
    def _left_out(self) -> AbstractSet[str]:
        """The queries that are documents themselves and left out of their own lists."""
        topics, by_id = self.collection.topics, self.collection.own_ids
        return set() if self._keep_own_id else own_documents(topics, self.documents, by_id)

    @cached_property
    def _ledger(self) -> Ledger:
        topics = {condition: queries_digest(self._queries(condition)) for condition in CONDITIONS}
        return Ledger(self.folder, self.documents.digest, topics)

    @cached_property
    def _place(self) -> Place:
        corpus = Corpus(self._index, self.documents, self.collection.language)
        search, registry, compute = self._search, self._registry, self._compute
        if search.lucene_index:
            folder = brought("prebuilt index")(str(search.lucene_index), self._indexes / "prebuilt")
            search = search._replace(lucene_index=folder)
        return Place(registry, compute, corpus, search, self._indexes / "api", instructed=self.conditions != ["query"])

    def retriever(self, system: object) -> Retriever:
        """Return the retriever of a name (see :mod:`heed.systems.make`) or object, not loaded yet."""
        with self._working():
            return self._spelled(make(system, self._place, Retriever), system)

    def reranker(self, system: object) -> Reranker:
        """Return the reranker of a name (see :mod:`heed.systems.make`) or object, not loaded yet."""
        with self._working():
            return self._spelled(make(system, self._place, Reranker), system)

    def _spelled(self, system: Made, spelling: object) -> Made:
        """Return a system, whose name is kept with the text that it was given as."""
        if isinstance(spelling, str):
            self._spellings[system.name] = split_name(spelling)[1]
        return system

    def search(
        self,
        query: str | Query,
        k: int = 5,
        retriever: object = "bm25",
        reranker: object = None,
        *,
        instruction: str = "",
    ) -> Hits:
        """Return the best ``k`` documents for any query, with their titles; no run is written.

        A text is put with the ``instruction``, if there is one, in the topics' language. A ``reranker`` orders the
        first 100 documents of the ``retriever``, or ``k`` if that is more. Indexes that are missing are built.
        """
        if isinstance(k, str):
            raise UsageError(f"k: found {k[:60]!r}, expected a whole number from 1; is it the instruction=…?")
        _check_depth(k)
        if isinstance(query, str):
            topics, join = self.collection.topics, self.collection.join
            lang = topics[0].lang if topics else self.collection.language.code
            topic = Topic("search", lang, query, {"original": instruction})
            query = topic.under("original" if instruction else "query", join)
        elif instruction:
            raise UsageError("instruction beside a heed.Query: give it as the query's instruction")
        with self._working(), gathering([]):  # what a system warns of here is none of the results' business
            second = None if reranker is None else make(reranker, self._place, Reranker)
            return look(query, k, self.documents, make(retriever, self._place, Retriever), second)

    def hits(self, run: Mapping[str, Mapping[str, float]], qid: str, k: int = 5) -> Hits:
        """Return the best ``k`` documents of topic ``qid`` in a run, with their titles; KeyError for no such topic."""
        return hits_of(run[qid], k, self.documents)

    def retrieve(self, system: object) -> SystemRuns:
        """Return the runs of a retriever under each condition, written as ``<name>.<condition>.run``."""
        with self._working():
            retriever = self.retriever(system)
            digest, depth, left_out = self.documents.digest, self.depth, self._left_out
            lists = partial(self._ledger.lists, retriever.name)

            def run_file(place: Destination, queries: Sequence[Query]) -> RunFile:
                return search_to_file(place, lists, retriever, queries, depth, digest, left_out)

            return self._runs_of(retriever, run_file)

    def pool(self, runs: Sequence[SystemRuns], depth: int | None = None) -> dict[str, list[str]]:
        """Return for each topic the union of the runs' first ``depth`` documents, cut to ``depth`` by fusion.

        A query has one pool under all its instructions, so that a reranker orders the same documents with
        and without them: it is made of all finished runs that the systems have in the folder, also of conditions that
        this experiment does not run. ``depth`` defaults to the experiment's. ``pool.jsonl`` is written.
        """
        depth = self.depth if depth is None else depth
        _check_depth(depth)
        self._pool = {"from": "runs", "depth": depth}
        with self._working():
            systems = [self._ledger.completed(system) for system in runs]
            pool = pool_of_runs(systems, self.collection.topics, depth)
            write_pool(self.folder / POOL, pool)
            self._remember(pool, {system.name: [*system] for system in systems}, depth)
        return pool

    def _remember(self, pool: Pool, conditions: Mapping[str, Sequence[str]], depth: int) -> None:
        """Note of which systems' runs, under which conditions, a pool was made."""
        stages = sorted(conditions)
        facts = {"first_stages": stages, "conditions": {name: [*conditions[name]] for name in stages}, "depth": depth}
        self._pools[digest_json(pool)] = facts

    def published_pool(self) -> dict[str, list[str]]:
        """Return the candidates that came with the topics, written to ``pool.jsonl``.

        Raises :class:`DataError` if there are none.
        """
        self._pool = {"from": "published candidates"}
        with self._working():
            pool = published_pool(self.collection, self.documents)
            write_pool(self.folder / POOL, pool)
        return pool

    def rerank(
        self,
        system: object,
        candidates: SystemRuns | Sequence[SystemRuns] | Pool,
        depth: int | None = None,
        maxp: Cut | None = None,
        reuse_scores: bool = False,
    ) -> SystemRuns:
        """Return the runs of a reranker under each condition over ``candidates``: runs to be pooled, or a pool.

        ``depth``: documents per topic in the pool built from runs; ``maxp``: score documents by their best passage;
        ``reuse_scores``: score those alone that its finished runs, over another pool, lack.
        Raises :class:`DataError` for a pool with documents that the collection does not have.
        """
        with self._working():
            reranker = self.reranker(system)
            name = reranker.name + MAXP if maxp else reranker.name
            pool = self._earlier_pool(name, self._pooled(candidates, depth))
            pooled = self._without_own(pool)
            docids = {docid for listed in pooled.values() for docid in listed}
            missing = self.documents.missing(sorted(docids))
            fail([f"pool: {len(missing)} documents are not in the collection: {brief(missing)}"] if missing else [])
            write_pool(self.folder / POOL, pooled)
            if maxp:
                reranker = over_passages(reranker, maxp, self._place.documents(name), docids)
            documents = PoolDocuments(pooled, self.documents, self._read)
            sizes = [*map(len, pooled.values())]
            facts = {"depth": max(sizes, default=0), **self._pools.get(digest_json(pool), {}), "documents": sum(sizes)}
            finished = self._ledger.of(name) if reuse_scores and _has_lasting_scores(reranker, name) else {}

            def rescored(place: Destination, queries: Sequence[Query]) -> RunFile:
                earlier = finished.get(queries[0].condition)
                return rescore_to_file(place, reranker, queries, documents, facts, earlier=earlier)

            self._announce(reranker, documents)
            return self._runs_of(reranker, rescored)

    def _announce(self, reranker: Reranker, documents: PoolDocuments) -> None:
        """Let a reranker say what it will cost under all conditions that have no finished run of it over this pool."""
        made_of = digest_json([reranker.config, documents.pool_digest])
        recipes = {condition: file.note.recipe for condition, file in self._ledger.of(reranker.name).items()}
        done = [name for name, of in recipes.items() if digest_json([of.get("system"), of.get("pool")]) == made_of]
        left = [condition for condition in self.conditions if condition not in done]
        if len(left) > 1:
            reranker.announce([query for condition in left for query in self._queries(condition)], documents)

    def _without_own(self, pool: Pool) -> dict[str, Sequence[str]]:
        lists = {qid: [docid for docid in pool[qid] if docid != qid] for qid in self._left_out & pool.keys()}
        return {**pool, **lists}

    def _earlier_pool(self, name: str, pool: Pool) -> Pool:
        """Return the pool of a reranker's finished runs where only further conditions are asked for, else ``pool``."""
        facts, finished = self._pools.get(digest_json(pool)), self._ledger.of(name)
        if not facts or not finished:
            return pool
        note = next(iter(finished.values())).note
        if digest_json(self._without_own(pool)) == note.recipe.get("pool"):
            return pool
        conditions = note.facts.get("conditions") or {stage: [*finished] for stage in facts["conditions"]}
        further = set(self.conditions).difference(*conditions.values())
        if conditions.keys() != facts["conditions"].keys() or (further and finished.keys() <= set(self.conditions)):
            return pool
        files = {stage: self._ledger.of(stage) for stage in conditions}
        runs = [
            SystemRuns.of_files(stage, {name: file for name, file in files[stage].items() if name in conditions[stage]})
            for stage in conditions
        ]
        earlier = pool_of_runs(runs, self.collection.topics, facts["depth"])
        if digest_json(self._without_own(earlier)) != note.recipe.get("pool"):
            return pool
        self._remember(earlier, conditions, facts["depth"])
        under = brief(list(dict.fromkeys(each for of_stage in conditions.values() for each in of_stage)))
        log.warning(f"{name}: rescores the pool of its finished runs, made under {under}; another name has its own")
        return earlier

    def _pooled(self, candidates: SystemRuns | Sequence[SystemRuns] | Pool, depth: int | None) -> Pool:
        if isinstance(candidates, SystemRuns | Sequence):
            return self.pool(_listed("candidates", candidates), depth)
        if depth is not None:
            raise UsageError("depth beside a pool: a pool is rescored whole; cut it, or give runs")
        return candidates

    def add(
        self,
        name: str,
        runs: Mapping[str, Mapping[str, Mapping[str, float]]],
        config: Config | None = None,
        facts: Recipe | None = None,
        of_runs: Mapping[str, Recipe] = {},
    ) -> SystemRuns:
        """Return the runs of a system that ran elsewhere, ``condition -> qid -> docid -> score``, written as others.

        ``config`` is what the manifest says of it, by default that it ran elsewhere; ``facts`` are what
        ``summary.json`` says of it, such as ``first_stages``, and ``of_runs`` those of a condition's run alone, such as
        ``warnings`` that were logged. Raises :class:`UsageError` for a name that no file can have, and for unknown
        conditions, :class:`DataError` for a run without any document of the collection.
        """
        check_name(name)
        fail(
            (f"system {name}: unknown condition {condition!r}" for condition in runs if condition not in CONDITIONS),
            UsageError,
        )
        with self._working():
            ledger, files = self._ledger, {}
            for condition, run in runs.items():
                path = self.folder / NEW / "added" / f"{name}.{condition}.run"
                about = {"system": config, "condition": condition, "topics": ledger.topics[condition]}
                recipe, scores = {**about, "documents": ledger.documents}, without_own(run, self._left_out)
                known = {**(facts or {}), **of_runs.get(condition, {})}
                self.warnings += known.get("warnings", [])  # so that they are logged once
                said = known.get("warnings") or doubts(
                    path.name, scores, [query.qid for query in self._queries(condition)]
                )
                known["warnings"] = [*said, *self._unknown(path.name, run)]
                files[condition] = run_to_file(path, scores, f"{name}.{condition}", recipe, known)
            ledger.enter(name, files, whole=True, form="NAME=SYSTEM" if config else "NAME=FILE")
            return SystemRuns(name, config, files)

    def _unknown(self, source: str, run: Mapping[str, Mapping[str, float]]) -> list[str]:
        """Return a warning of documents that are not the collection's; :class:`DataError` where none is."""
        docids = sorted({docid for scores in run.values() for docid in scores})
        unknown = self.documents.missing(docids)
        if unknown and len(unknown) == len(docids):
            problem = f"none of its {number_of(len(docids), 'document')} is in the collection ({brief(unknown)})"
            raise DataError(f"{source}: {problem}; is it a run over other documents?")
        named = f"{counted(len(unknown), 'document')} not in the collection, of {len(docids)}: {brief(unknown)}"
        return [f"{source}: {named}"] if unknown else []

    def evaluate(self, systems: SystemRuns | Sequence[SystemRuns], measures: Sequence[AnyMeasure] = ()) -> Results:
        """Return the measures of all systems in the folder, written to ``summary.json``, ``report.html`` and so on.

        These are ``systems`` and those that other experiments and commands have finished there over the same documents
        and topics; runs of others are moved to ``earlier/`` in it. ``measures`` come beside the collection's own:
        names, such as ``P@5``, and functions of one's own (see :func:`heed.measure`). Raises :class:`UsageError` for a
        measure that is unknown or that the judgements do not allow.
        """
        systems = _listed("evaluate", systems)
        refuse_twins([system.name for system in systems])
        collection = replace(self.collection, judging=self.collection.judging.also(measures))
        with self._working():
            ledger = self._ledger
            systems = ledger.systems(systems)
            store = os.path.relpath(self._index / "documents", self.folder)
            size, of_runs = self.documents.count + self._missing, warnings_of(systems)
            warnings = [warning for warning in self.warnings if warning not in of_runs]
            inputs = topics_file(collection, store, ledger.documents, size, {**ledger.topics}, warnings)
            results = results_of(self.folder, inputs, collection.judging, systems, self._manifest(systems))
        write_json(self.folder / "timings.json", self.timings)
        return replace(results, requested=[*map(str, as_measures(measures))])

    def _runs_of(
        self, system: Retriever | Reranker, run_file: Callable[[Destination, Sequence[Query]], RunFile]
    ) -> SystemRuns:
        """Return the runs of a system that ``run_file`` writes, or uses again, under each condition; close it then."""
        files: dict[str, RunFile] = {}
        with closed(system):
            for condition in self.conditions:
                place = partial(destination, self.folder / f"{system.name}.{condition}.run")
                file = files[condition] = run_file(place, self._queries(condition))
                form = f"NAME={self._spellings.get(system.name.removesuffix(MAXP), 'SYSTEM')}"
                self._ledger.enter(system.name, files, condition == self.conditions[-1], form)
                if file.reused:
                    log.info(f"{file.path}: used again")
        return SystemRuns(system.name, system.manifest_entry, files)

    def _queries(self, condition: str) -> list[Query]:
        join = self.collection.join
        return [topic.under(condition, join) for topic in self.collection.topics if topic.has(condition)]

    def _manifest(self, systems: Sequence[SystemRuns]) -> Recipe:
        settings = {"conditions": self.conditions, "depth": self.depth, "faiss": self._search.faiss, "pool": self._pool}
        settings |= {"own ids left out": len(self._left_out)} if self._left_out else {}
        return manifest(self.command, self.collection, self.documents.digest, systems, settings)


def _has_lasting_scores(reranker: Reranker, name: str) -> bool:
    """Return whether the scores of a reranker's earlier run are those that it would compute; why not is logged."""
    if not reranker.independent:
        why = "a score depends on the other documents of the pool"
    elif reranker.config is None:
        why = "it has no config, so that it may be another system by now"
    else:
        return True
    log.info(f"{name}: {why}; all are computed again")
    return False


def _listed(field: str, systems: SystemRuns | Sequence[SystemRuns]) -> Sequence[SystemRuns]:
    """Return the runs of one system or several; UsageError for anything else, such as a name."""
    listed = [systems] if isinstance(systems, SystemRuns | str) else systems
    wrong = (repr(each)[:60] for each in listed if not isinstance(each, SystemRuns))
    fail((f"{field}: found {each}, expected runs, as retrieve and rerank return them" for each in wrong), UsageError)
    return listed


def _check_depth(depth: int) -> None:
    if not isinstance(depth, int) or depth < 1:
        raise UsageError(f"depth: found {depth!r}, expected a whole number from 1")
