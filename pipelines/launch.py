"""The door that the four collection commands share: from options to runs, tables and averages."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from heed.data import Data
from heed.datasets.catalogue import Catalogue
from heed.datasets.collection import Collection
from heed.datasets.loading import find_collections
from heed.errors import UsageError, fail
from heed.experiment.experiment import Experiment, Pool
from heed.experiment.ledger import pool_facts
from heed.experiment.results import Results
from heed.experiment.run_files import SystemRuns
from heed.files import write_json
from heed.formats.run_formats import ExternalRun, read_external_runs
from heed.measures.registry import as_measures
from heed.measures.summary import Detail, average, cutoff_of, printed, table
from heed.progress import brief, log, number_of, warn
from heed.reranking.maxp import Cut
from heed.retrieval.bm25.index import Bm25
from heed.retrieval.dense.search import Dense
from heed.retrieval.fused import FusedRetriever
from heed.systems.make import Search, refuse_twins
from heed.systems.user_objects import check_name
from heed.types import Reranker, Retriever
from pipelines.command import refuse
from pipelines.options.data import data_of
from pipelines.options.settings import Machinery, machinery_of, maxp_of, search_of
from pipelines.resources import log_resources

NOTHING = "--retriever none: nothing is left to run; name a retriever, or runs of your own with --run"


def run_named(
    options: argparse.Namespace,
    name: str | None,
    data: Data,
    parameters: Mapping[str, Any],
    catalogue: Catalogue | None = None,
    run: "Callable[[Job, Collection], Results]" = lambda job, collection: job.run(collection)[0],
) -> None:
    """Run all systems over each collection called ``name``, print tables and the average of several, write their files.

    The collections are those of :func:`heed.datasets.loading.find_collections`; ``run`` does one.
    """
    collections = find_collections(name, data, parameters, catalogue)
    job = _job_of(options, collections[0])
    results = [run(job, collection) for collection in collections]
    whole = results[0]
    if len(results) > 1:
        whole = _average([_with_score(each, of.averaged) for each, of in zip(results, collections, strict=True)])
        write_json(options.out / whole.collection / whole.subset / "summary.json", whole.summary())
        title = f"{whole.collection}: average of {', '.join(each.subset for each in results)}"
        job.print_results(title, whole, "the same pools as above")
    if options.json:
        write_json(options.json, whole.summary())


def _with_score(results: Results, measure: str) -> Results:
    """Return the results with ``measure`` on original once more as ``score``, the name of a benchmark's average."""
    main = [each for each in results.details if (each["condition"], each["measure"]) == ("original", measure)]
    return replace(results, details=[*results.details, *(Detail(**{**each, "measure": "score"}) for each in main)])


def _average(results: Sequence[Results]) -> Results:
    """Return the means over several subsets, as the results of one."""
    rows, depth = average([each.rows for each in results]), min(each.depth for each in results)
    warnings = [f"{each.subset}: {warning}" for each in results for warning in each.warnings]
    directions = results[0].lower_is_better
    return Results(results[0].collection, "average", [], warnings, directions, summary_rows=rows, depth=depth)


def _job_of(options: argparse.Namespace, collection: Collection) -> "Job":
    """Return the systems that the options of a command name, over ``collection`` and others of its name."""
    job = Job(
        options,
        machinery=machinery_of(options),
        search=search_of(options),
        maxp=maxp_of(options),
        measures=options.measure,
        retrievers=_without_none(options.retriever or _usual_retrievers(collection.name, options.docs)),
        rerankers=_without_none(options.reranker) if options.reranker else None,
        external=options.run or (),
    )
    if job.rerankers == []:
        refuse(options, ["rerank_depth", "maxp", "reuse_scores"], "--reranker none rescores nothing")
    measures = map(str, as_measures(options.measure)) if job.retrievers else ()
    deeper = [name for name in measures if cutoff_of(name) > options.depth]
    if deeper:
        warn(f"measure {brief(deeper)}: looks deeper than lists of {options.depth} documents")
    if options.rerank_depth and job.has_published_pool(collection):
        raise UsageError("rerank_depth: not used here; published candidates are rescored whole; --pool retrieved cuts")
    return job


def _without_none(names: Sequence[str]) -> list[str]:
    """Return the names without ``none``, which is no system."""
    return [name for name in names if name != "none"]


def _usual_retrievers(name: str, docs: Sequence[str]) -> list[str]:
    """Return bm25, and over the documents of an embedded sample lsa too: elsewhere that takes long."""
    entry = Catalogue().entries.get(name)
    if entry and entry.embedded and not docs:
        return ["bm25", "lsa"]
    log.info("retriever bm25 alone; add a dense one with --retriever: lsa, or an encoder by name, path or hub id")
    return ["bm25"]


@dataclass(frozen=True)
class Job:
    """The systems that a command's options name, run over collections; what is measured and printed.

    ``rerankers`` are None for the usual one. ``external`` are runs made elsewhere, as ``NAME=FILE``.
    """

    options: argparse.Namespace
    machinery: Machinery
    search: Search
    maxp: Cut | None
    measures: Sequence[str]
    retrievers: Sequence[str]
    rerankers: Sequence[str] | None
    external: Sequence[str]

    @property
    def pool_depth(self) -> int:
        """The documents of a topic in a pool of retrieved ones."""
        depth: int = self.options.rerank_depth or self.options.usual_rerank_depth or self.options.depth
        return depth

    def has_published_pool(self, collection: Collection) -> bool:
        """Return whether rerankers get the candidates published with the topics."""
        pool = self.options.pool
        return pool == "published" or (pool is None and collection.reranked and bool(collection.candidates))

    def run(self, collection: Collection) -> tuple[Results, list[SystemRuns]]:
        """Run all systems over one collection, print its table, and return the results and the runs."""
        return self.evaluate(self.experiment(collection), self._runs)

    def experiment(self, collection: Collection) -> Experiment:
        """Return the experiment over a collection, as the options have it."""
        options = self.options
        experiment = Experiment(
            replace(collection, judging=collection.judging.also(self.measures)),
            indexes=options.indexes,
            out=options.out,
            conditions=options.condition or [],
            depth=options.depth,
            search=self.search,
            compute=self.machinery.here,
            registry=self.machinery.registry,
            keep_own_id=options.keep_own_id,
            verify=options.verify,
        )
        experiment.command = options.command_line
        return experiment

    def _runs(self, experiment: Experiment) -> list[SystemRuns]:
        """Return the runs of all systems; errors in any of their names or files come before the first search."""
        published = self.has_published_pool(experiment.collection)
        external = self.external_runs(experiment)
        retrievers = [experiment.retriever(self.machinery.system(name, Retriever)) for name in self.retrievers]
        fail(self._unused(retrievers), UsageError)
        has_pool = bool(retrievers or published)
        names = self.rerankers if self.rerankers is not None else ["polarity"] if has_pool else []
        rerankers = self.rerankers_of(experiment, names)
        systems = [system.name for system in (*retrievers, *rerankers)]
        refuse_twins([*systems, *external], [*self.retrievers, *names, *(f"{name}=FILE" for name in external)])
        if rerankers and not has_pool:
            raise UsageError("--retriever none: rerankers have no pool; name a retriever, or use --pool published")
        if not (systems or external):
            raise UsageError(NOTHING)
        added = [self.add(experiment, name, external.pop(name)) for name in [*external]]  # in memory once
        runs = [experiment.retrieve(retriever) for retriever in retrievers]
        if has_pool:
            pool = experiment.published_pool() if published else experiment.pool(runs, self.pool_depth)
            runs += self.rerank(experiment, rerankers, pool)
        return runs + added

    def rerank(self, experiment: Experiment, rerankers: Sequence[Reranker], pool: Pool) -> list[SystemRuns]:
        """Return the runs of rerankers over a pool."""
        reuse = self.options.reuse_scores
        return [experiment.rerank(each, pool, maxp=self.maxp, reuse_scores=reuse) for each in rerankers]

    def external_runs(self, experiment: Experiment) -> dict[str, dict[str, ExternalRun]]:
        """Return the runs made elsewhere by system and condition; raise :class:`UsageError` for a wrong name."""
        if not self.external:
            return {}
        collection = experiment.collection
        encoding = self.options.encoding or collection.language.code
        external = read_external_runs(self.external, collection.topics, experiment.conditions, encoding)
        for name in external:
            check_name(name)
        return external

    def add(self, experiment: Experiment, name: str, external: dict[str, ExternalRun]) -> SystemRuns:
        """Return runs made elsewhere, added to ``experiment``; what they rescored is known where Heed made them."""
        facts = pool_facts([each.path for each in external.values()], experiment.documents.digest)
        of_runs = {condition: each.facts for condition, each in external.items()}
        runs = {condition: external.pop(condition).run for condition in [*external]}
        return experiment.add(name, runs, facts=facts, of_runs=of_runs)

    def rerankers_of(self, experiment: Experiment, names: Sequence[str]) -> list[Reranker]:
        """Return the rerankers of these names; :class:`UsageError` for a version that none of them has."""
        self.machinery.check_version(names)
        return [experiment.reranker(self.machinery.system(name, Reranker)) for name in names]

    def _unused(self, retrievers: Sequence[Retriever]) -> Iterator[str]:
        """Yield what is wrong with an index or vectors that none of ``retrievers`` searches."""
        retrievers = [
            part for each in retrievers for part in (each.parts if isinstance(each, FusedRetriever) else [each])
        ]
        if self.search.lucene_index and not any(isinstance(retriever, Bm25) for retriever in retrievers):
            yield "index: none of the retrievers searches it; name bm25, bm25+rm3 or bm25+rocchio"
        dense = [retriever for retriever in retrievers if isinstance(retriever, Dense)]
        if self.search.vectors and not any(retriever.takes_vectors for retriever in dense):
            yield "vectors: none of the retrievers searches them; name the bi-encoder that made them"

    def evaluate(
        self, experiment: Experiment, run: Callable[[Experiment], list[SystemRuns]]
    ) -> tuple[Results, list[SystemRuns]]:
        """Evaluate the runs that ``run`` makes, print their table, and return the results and the runs."""
        collection = experiment.collection
        topics = number_of(len(collection.topics), "topic")
        published = self.has_published_pool(collection)
        pool = "published candidates" if published else f"the best {self.pool_depth} of these"
        log.info(f"collection {collection.name}, {collection.subset}: {topics}; documents {collection.source}")
        with experiment:
            runs = run(experiment)
            results = experiment.evaluate(runs)
        title = f"{collection.name} {collection.subset}: {topics}"
        if results.rows:
            self.print_results(title, results, pool)
        else:
            print(f"{title}, none of them judged: runs are in {experiment.folder}, nothing is measured")
        if self.options.verbose:
            log_resources(experiment.timings)
        files = "runs, manifest.yml"
        if results.rows:
            size = (experiment.folder / "report.html").stat().st_size / 1e6
            files = f"runs, summary.json, report.html ({size:.2f} MB), manifest.yml"
        log.info(f"{experiment.folder}/: {files} and more")
        return results, runs

    def print_results(self, title: str, results: Results, pool: str) -> None:
        """Print the measures that are asked for and those that look no deeper than the runs, and a paper's systems.

        These ran the same setting; why figures may differ is said too. ``pool`` says what the rerankers rescored.
        """
        requested = [*map(str, as_measures(self.measures))]
        print(table(printed(results.rows, requested, min(self.options.depth, results.depth)), f"{title}, values ×100"))
        which = self.options.published
        published_text = results.of_papers("published rows") if which != "none" else None
        if published_text is None:
            return
        text, reasons = published_text(results.collection, results.subset, results.rows, every=which == "all")
        if text:
            print("\n".join([f"\n{text}\nhere: {'; '.join(self._here(pool))}", *reasons]))

    def _here(self, pool: str) -> Iterator[str]:
        """Yield what ran here, and what is not as the paper had it."""
        if self.retrievers:
            yield f"retrievers search all documents to depth {self.options.depth}"
        if self.rerankers is None or self.rerankers:
            yield f"rerankers rescore {pool}"
        if self.external:
            yield "runs of --run are as they came"
        if data_of(self.options).judged:
            yield "judgements of your own, so the figures are not comparable"
