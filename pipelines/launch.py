"""What the four collection commands have in common: from options to runs, tables and averages."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from heed.addon_table import brought_if_here
from heed.data import Data
from heed.datasets.catalogue import Catalogue
from heed.datasets.collection import Collection
from heed.datasets.loading import find_collections
from heed.errors import UsageError
from heed.experiment.experiment import Experiment
from heed.experiment.results import Results
from heed.experiment.run_files import SystemRuns
from heed.files import write_json
from heed.formats.run_formats import read_external_runs
from heed.measures.summary import Detail, average, printed, summary_of, table
from heed.progress import log, number_of
from heed.retrieval.bm25.retriever import Bm25
from heed.retrieval.dense.search import Dense
from heed.systems.make import refuse_twins
from heed.systems.user_objects import check_name
from heed.types import Reranker, Retriever, Run
from pipelines.command import refuse
from pipelines.options.settings import check_version, compute_here, maxp_of, registry_of, search_of, system_of
from pipelines.resources import log_resources, relative_times


def run_named(
    options: argparse.Namespace,
    name: str | None,
    data: Data,
    parameters: Mapping[str, Any],
    catalogue: Catalogue | None = None,
) -> None:
    """Run all systems over each collection called ``name``, print tables and the average of several, write their files.

    The collections are those of :func:`heed.datasets.loading.find_collections`.
    """
    collections = find_collections(name, data, parameters, catalogue)
    if collections[0].parts:
        from pipelines.multilingual import launch_multilingual

        finish(options, [launch_multilingual(options, collections[0])])
        return
    results = [launch(options, collection) for collection in collections]
    if len(results) > 1:
        results = [_with_score(each, of.averaged) for each, of in zip(results, collections, strict=True)]
    finish(options, results)


def _with_score(results: Results, measure: str) -> Results:
    """Return the results with ``measure`` on original once more as ``score``, the name of a benchmark's average."""
    main = [each for each in results.details if (each["condition"], each["measure"]) == ("original", measure)]
    return replace(results, details=[*results.details, *(Detail(**{**each, "measure": "score"}) for each in main)])


def launch(options: argparse.Namespace, collection: Collection) -> Results:
    """Run all systems over one collection, print its table, and return the results."""
    return launch_systems(options, experiment_of(options, collection), partial(run_systems, options))[0]


def launch_systems(
    options: argparse.Namespace, experiment: Experiment, run: Callable[[Experiment], list[SystemRuns]]
) -> tuple[Results, list[SystemRuns]]:
    """Evaluate the runs that ``run`` makes, print their table, and return the results and the runs."""
    collection = experiment.collection
    topics = number_of(len(collection.topics), "topic")
    pool = "published candidates" if _published(options, collection) else f"the best {pool_depth(options)} of these"
    log.info(f"collection {collection.name}, {collection.subset}: {topics}; documents {collection.source}")
    maxp_of(options)  # a wrong length of passages is an error before anything is written
    with experiment:
        systems = run(experiment)
        results = experiment.evaluate(systems)
    title = f"{collection.name} {collection.subset}: {topics}"
    if results.rows:
        print(table(printed(results.rows, options.measure, options.depth), f"{title}, values ×100"))
        print_published(options, results.summary(), pool)
    else:
        print(f"{title}, none of them judged: runs are in {experiment.folder}, nothing is measured")
    log_resources(experiment.timings)
    if times := relative_times(experiment.timings, list(dict.fromkeys(row["system"] for row in results.rows))):
        log.info(times)  # not among the results: it differs from run to run
    files = "runs, manifest.yml"
    if results.rows:
        size = (experiment.folder / "report.html").stat().st_size / 1e6
        files = f"runs, summary.json, report.html ({size:.2f} MB), manifest.yml"
    log.info(f"{experiment.folder}/: {files} and more")
    return results, systems


def experiment_of(options: argparse.Namespace, collection: Collection) -> Experiment:
    """Return the experiment over a collection that the options describe."""
    experiment = Experiment(
        replace(collection, judging=collection.judging.also(options.measure)),
        indexes=options.indexes,
        out=options.out,
        conditions=options.condition or [],
        depth=options.depth,
        search=search_of(options),
        compute=compute_here(options),
        registry=registry_of(options),
        keep_own_id=options.keep_own_id,
    )
    experiment.command = options.command_line
    return experiment


def run_systems(options: argparse.Namespace, experiment: Experiment) -> list[SystemRuns]:
    """Return the runs of all systems; errors in any of their names or files come before the first search."""
    published, maxp = _published(options, experiment.collection), maxp_of(options)
    external = external_runs(options, experiment)
    searching = retriever_names(options, experiment.collection)
    retrievers = [experiment.retriever(system_of(options, name, Retriever)) for name in searching]
    if options.index and not any(isinstance(retriever, Bm25) for retriever in retrievers):
        raise UsageError("--index: none of the retrievers searches it; name bm25, bm25+rm3 or bm25+rocchio")
    if options.vectors and not any(
        isinstance(retriever, Dense) and retriever.takes_vectors for retriever in retrievers
    ):
        raise UsageError("--vectors: none of the retrievers searches them; name the bi-encoder that made them")
    by_default = ["polarity"] if retrievers or published else []  # without either there is no pool to rescore
    rescoring = names_of(options.reranker, by_default)
    check_version(options, rescoring)
    rerankers = [experiment.reranker(system_of(options, name, Reranker)) for name in rescoring]
    names = [*(retriever.name for retriever in retrievers), *(reranker.name for reranker in rerankers), *external]
    refuse_twins(names, [*searching, *rescoring, *(f"{name}=FILE" for name in external)])
    if rerankers and not (retrievers or published):
        raise UsageError("--retriever none: rerankers have no pool; name a retriever, or use --pool published")
    if not (retrievers or rerankers or external):
        raise UsageError("--retriever none: nothing is left to run; name a retriever, or runs of your own with --run")
    systems = [experiment.retrieve(retriever) for retriever in retrievers]
    if retrievers or published:
        pool = experiment.published_pool() if published else experiment.pool(systems, pool_depth(options))
        systems += [experiment.rerank(reranker, pool, maxp=maxp) for reranker in rerankers]
    return systems + [experiment.add(name, runs) for name, runs in external.items()]


def retriever_names(options: argparse.Namespace, collection: Collection) -> list[str]:
    """Return the retrievers of --retriever, else bm25, and on an embedded sample lsa too: elsewhere that takes long."""
    if options.retriever:
        return names_of(options.retriever, [])
    entry = Catalogue().entries.get(collection.name)
    if entry and entry.embedded and not options.docs:
        return ["bm25", "lsa"]
    log.info("retriever bm25 alone; add a dense one with --retriever: lsa, or an encoder by name, path or hub id")
    return ["bm25"]


def names_of(systems: Sequence[str] | None, by_default: Sequence[str]) -> list[str]:
    """Return the systems that an option names, or the default ones; ``none`` is no system."""
    return [name for name in systems or by_default if name != "none"]


def external_runs(options: argparse.Namespace, experiment: Experiment) -> dict[str, dict[str, Run]]:
    """Return the runs of --run by system and condition; raise :class:`UsageError` for names that no file can have."""
    by_system: dict[str, dict[str, Run]] = {}
    collection = experiment.collection
    encoding = options.encoding or collection.language.code
    external = read_external_runs(options.run or [], collection.topics, experiment.conditions, encoding)
    for (name, condition), run in external.items():
        check_name(name)
        by_system.setdefault(name, {})[condition] = run
    return by_system


def _published(options: argparse.Namespace, collection: Collection) -> bool:
    """Return whether rerankers get the published candidates."""
    by_default = options.pool is None and collection.reranked and bool(collection.candidates)
    published: bool = options.pool == "published" or by_default
    if published:
        refuse(options, ["rerank_depth"], "published candidates are rescored whole; --pool retrieved cuts")
    return published


def print_published(options: argparse.Namespace, summary: Mapping[str, Any], pool: str) -> None:
    """Print where the systems stand among those of a paper that ran the same setting, and why figures may differ.

    ``pool`` says what the rerankers rescored.
    """
    published_text = brought_if_here("published rows") if options.published != "none" else None
    if published_text is None:
        return
    about = summary["collection"], summary["subset"], summary["rows"]
    text, reasons = published_text(*about, every=options.published == "all")
    if text:
        print("\n".join([f"\n{text}\nhere: {'; '.join(_here(options, pool))}", *reasons]))


def _here(options: argparse.Namespace, pool: str) -> Iterator[str]:
    """Yield what ran here, and what is not as the paper had it."""
    if names_of(options.retriever, ["bm25"]):
        yield f"retrievers search all documents to depth {options.depth}"
    if names_of(options.reranker, ["polarity"]):
        yield f"rerankers rescore {pool}"
    if options.run:
        yield "runs of --run are as they came"
    if options.qrels or options.changed_qrels or options.reversed_qrels:
        yield "judgements of your own, so the figures are not comparable"


def pool_depth(options: argparse.Namespace) -> int:
    """Return the documents a topic in the pool."""
    depth: int = options.rerank_depth or options.usual_rerank_depth or options.depth
    return depth


def finish(options: argparse.Namespace, results: Sequence[Results]) -> None:
    """Write --json, and with several subsets their average, printed and in ``<name>/average/summary.json``."""
    summary = results[0].summary()
    if len(results) > 1:
        name, subset, rows = results[0].collection, "average", average([each.rows for each in results])
        warnings = [f"{each.subset}: {warning}" for each in results for warning in each.warnings]
        summary = summary_of(name, subset, rows, warnings, results[0].lower_is_better)
        write_json(options.out / name / subset / "summary.json", summary)
        title = f"{name}: average of {', '.join(each.subset for each in results)}, values ×100"
        print(table(printed(rows, options.measure, options.depth), title))
        print_published(options, summary, "the same pools as above")
    if options.json:
        write_json(options.json, summary)
