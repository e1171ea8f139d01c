"""``neuclir --lang mlir``: every language searched by itself, and the lists merged into one."""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial

from heed.datasets.collection import Collection
from heed.errors import UsageError, fail
from heed.experiment.experiment import Experiment
from heed.experiment.merged_runs import add_merged
from heed.experiment.results import Results
from heed.experiment.run_files import SystemRuns
from heed.measures.registry import needs_subtopics
from heed.progress import log
from heed.systems.make import refuse_twins, split_name
from heed.types import Reranker
from pipelines.launch import (
    experiment_of,
    external_runs,
    launch_systems,
    names_of,
    pool_depth,
    retriever_names,
    run_systems,
)
from pipelines.options.settings import check_version, maxp_of, system_of

RERANKER = "reranker"
MERGES = ("score", "rank", RERANKER)


def launch_multilingual(options: argparse.Namespace, collection: Collection) -> Results:
    """Run all systems over each language, print its table and that of the merged lists; return the latter's results."""
    by = options.merge or MERGES[0]
    retrievers = retriever_names(options, collection)
    english = ["polarity"] if options.docs_lang == "eng" else []
    rerankers = names_of(options.reranker, english) if by == RERANKER else []
    fail(_contradictions(options, retrievers, rerankers), UsageError)
    whole = experiment_of(options, collection)
    with whole:  # what may be wrong with the whole is known before anything is searched
        external = external_runs(options, whole)
        if rerankers:
            check_version(options, rerankers)
        systems_of_whole = [whole.reranker(system_of(options, name, Reranker)) for name in rerankers]
        refuse_twins([system.name for system in systems_of_whole], rerankers)
        log.info(f"{len(collection.parts)} languages, {whole.documents.count} documents")
    of_parts = _options_of_parts(options, by, retrievers)
    parts = collection.parts if retrievers else {}
    systems = [
        launch_systems(of_parts, experiment_of(of_parts, part), partial(run_systems, of_parts))[1]
        for part in parts.values()
    ]

    def merged(experiment: Experiment) -> list[SystemRuns]:
        lists = add_merged(experiment, dict(zip(parts, systems, strict=True)), MERGES[0] if by == RERANKER else by)
        if rerankers:
            pool = experiment.pool(lists, pool_depth(options))
            lists += [experiment.rerank(reranker, pool, maxp=maxp_of(options)) for reranker in systems_of_whole]
        return lists + [experiment.add(name, runs) for name, runs in external.items()]

    return launch_systems(options, whole, merged)[0]


def _contradictions(options: argparse.Namespace, retrievers: Sequence[str], rerankers: Sequence[str]) -> Iterator[str]:
    if options.merge == RERANKER and options.query_lang != "eng":
        yield "--merge reranker: one query for documents in all languages; give --query-lang eng"
    if options.merge == RERANKER and not rerankers:
        yield "--merge reranker: name a reranker of documents in all languages (--reranker NAME)"
    of_words = [name for name in rerankers if split_name(name)[1].partition("+")[0] in ("rank_bm25", "polarity")]
    if options.docs_lang != "eng":
        yield from (
            f"--merge reranker --reranker {name}: compares words, and the documents' are of several languages; choose "
            "a multilingual model, or --docs-lang eng"
            for name in of_words
        )
    if not retrievers and (options.merge or options.reranker):
        yield "--retriever none: there is nothing to merge or to rerank; name a retriever"
    if not retrievers and not options.run:
        yield "--retriever none: nothing is left to run; name a retriever, or runs of your own with --run"
    if options.index or options.vectors:
        yield "--index and --vectors: are of one language; leave them out"
    if options.pool == "published":
        yield "--pool published: there are no candidate lists over several languages; leave it out"


def _options_of_parts(options: argparse.Namespace, by: str, retrievers: Sequence[str]) -> argparse.Namespace:
    """Return the options for one language: without what is of the merged lists alone."""
    measures = [measure for measure in options.measure if not needs_subtopics(measure)]
    rerankers = ["none"] if by == RERANKER else options.reranker
    of_parts = {"run": None, "measure": measures, "retriever": retrievers, "reranker": rerankers}
    if by == RERANKER:
        of_parts["config"] = None
    return argparse.Namespace(**{**vars(options), **of_parts})
