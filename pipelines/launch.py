"""The door that the four collection commands share: from options to runs, tables and averages."""

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from heed.addon_table import brought_if_here
from heed.data import Data
from heed.datasets.catalogue import Catalogue
from heed.datasets.collection import Collection
from heed.datasets.loading import find_collections
from heed.errors import UsageError, fail
from heed.experiment.experiment import Experiment
from heed.experiment.merged_runs import RULES, add_merged
from heed.experiment.results import Results
from heed.experiment.run_files import SystemRuns
from heed.files import write_json
from heed.measures.registry import needs_subtopics
from heed.measures.summary import Detail, Row, average, printed, summary_of, table
from heed.progress import log, number_of
from heed.systems.make import refuse_twins, split_name
from pipelines.resources import log_resources
from pipelines.systems import NOTHING, Systems, systems_of

RERANKER = "reranker"  # beside the rules, a way to make one list of several languages'


def run_named(
    options: argparse.Namespace,
    name: str | None,
    data: Data,
    parameters: Mapping[str, Any],
    catalogue: Catalogue | None = None,
    merge: str = "",
) -> None:
    """Run all systems over each collection called ``name``, print tables and the average of several, write their files.

    The collections are those of :func:`heed.datasets.loading.find_collections`; ``merge`` says how the lists of the
    languages of one become one list.
    """
    collections = find_collections(name, data, parameters, catalogue)
    systems = systems_of(options, collections[0])
    experiment = partial(
        Experiment,
        indexes=options.indexes,
        out=options.out,
        conditions=options.condition or [],
        depth=options.depth,
        search=systems.search,
        compute=systems.machinery.here,
        registry=systems.machinery.registry,
        keep_own_id=options.keep_own_id,
        verify=options.verify,
    )
    job = Job(systems, experiment, options.command_line, options.measure, options.depth, options.published, data)
    if collections[0].parts:
        results = [job.run_languages(collections[0], merge)]
    else:
        results = [job.run(collection)[0] for collection in collections]
    summary = results[0].summary()
    if len(results) > 1:
        results = [_with_score(each, of.averaged) for each, of in zip(results, collections, strict=True)]
        summary = _average(results)
        write_json(options.out / summary["collection"] / summary["subset"] / "summary.json", summary)
        title = f"{summary['collection']}: average of {', '.join(each.subset for each in results)}"
        job.print_table(title, summary["rows"], min(each.depth for each in results))
        job.print_published(summary, "the same pools as above")
    if options.json:
        write_json(options.json, summary)


def _with_score(results: Results, measure: str) -> Results:
    """Return the results with ``measure`` on original once more as ``score``, the name of a benchmark's average."""
    main = [each for each in results.details if (each["condition"], each["measure"]) == ("original", measure)]
    return replace(results, details=[*results.details, *(Detail(**{**each, "measure": "score"}) for each in main)])


def _average(results: Sequence[Results]) -> dict[str, Any]:
    """Return the summary of the average over several subsets."""
    rows = average([each.rows for each in results])
    warnings = [f"{each.subset}: {warning}" for each in results for warning in each.warnings]
    return summary_of(results[0].collection, "average", rows, warnings, results[0].lower_is_better)


@dataclass(frozen=True)
class Job:
    """The systems that run over collections, and what is measured and printed.

    ``published`` are the rows of papers that are printed: ``near``, ``all`` or ``none``.
    """

    systems: Systems
    make: Callable[[Collection], Experiment]
    command: str
    measures: Sequence[str]
    depth: int
    published: str
    data: Data

    def run(self, collection: Collection) -> tuple[Results, list[SystemRuns]]:
        """Run all systems over one collection, print its table, and return the results and the runs."""
        return self._evaluate(self._experiment(collection), self.systems.run)

    def _experiment(self, collection: Collection) -> Experiment:
        experiment = self.make(replace(collection, judging=collection.judging.also(self.measures)))
        experiment.command = self.command
        return experiment

    def _evaluate(
        self, experiment: Experiment, run: Callable[[Experiment], list[SystemRuns]]
    ) -> tuple[Results, list[SystemRuns]]:
        """Evaluate the runs that ``run`` makes, print their table, and return the results and the runs."""
        collection = experiment.collection
        topics = number_of(len(collection.topics), "topic")
        published = self.systems.published(collection)
        pool = "published candidates" if published else f"the best {self.systems.pool_depth} of these"
        log.info(f"collection {collection.name}, {collection.subset}: {topics}; documents {collection.source}")
        with experiment:
            runs = run(experiment)
            results = experiment.evaluate(runs)
        title = f"{collection.name} {collection.subset}: {topics}"
        if results.rows:
            self.print_table(title, results.rows, results.depth)
            self.print_published(results.summary(), pool)
        else:
            print(f"{title}, none of them judged: runs are in {experiment.folder}, nothing is measured")
        log_resources(experiment.timings)
        files = "runs, manifest.yml"
        if results.rows:
            size = (experiment.folder / "report.html").stat().st_size / 1e6
            files = f"runs, summary.json, report.html ({size:.2f} MB), manifest.yml"
        log.info(f"{experiment.folder}/: {files} and more")
        return results, runs

    def run_languages(self, collection: Collection, merge: str) -> Results:
        """Run all systems over each language, print its table and that of the merged lists; return their results.

        ``merge`` is one of :data:`heed.experiment.merged_runs.RULES`, the first where it is empty, or ``reranker``.
        """
        systems, rule = self.systems, RULES[0] if merge in ("", RERANKER) else merge
        names: Sequence[str] = []
        if merge == RERANKER:
            names = (
                (["polarity"] if _in_english(collection) else []) if systems.rerankers is None else systems.rerankers
            )
        fail(_contradictions(systems, collection, merge, names), UsageError)
        whole = self._experiment(collection)
        with whole:  # what may be wrong with the whole is known before anything is searched
            external = systems.external_runs(whole)
            rerankers = systems.rerankers_of(whole, names) if names else []
            refuse_twins([reranker.name for reranker in rerankers], names)
            log.info(f"{len(collection.parts)} languages, {whole.documents.count} documents")
        measures = [measure for measure in self.measures if not needs_subtopics(measure)]
        job = replace(self, systems=systems.of_parts(reranked=merge != RERANKER), measures=measures)
        parts = collection.parts if systems.retrievers else {}
        by_language = {lang: job.run(part)[1] for lang, part in parts.items()}

        def merged(experiment: Experiment) -> list[SystemRuns]:
            lists = add_merged(experiment, by_language, rule)
            if rerankers:
                pool = experiment.pool(lists, systems.pool_depth)
                lists += systems.rerank(experiment, rerankers, pool)
            return lists + [experiment.add(name, runs) for name, runs in external.items()]

        return self._evaluate(whole, merged)[0]

    def print_table(self, title: str, rows: Sequence[Row], depth: float = math.inf) -> None:
        """Print the measures that are asked for, and those that look no deeper than the runs and ``depth``."""
        print(table(printed(rows, self.measures, min(self.depth, depth)), f"{title}, values ×100"))

    def print_published(self, summary: Mapping[str, Any], pool: str) -> None:
        """Print where the systems stand among those of a paper that ran the same setting, and why figures may differ.

        ``pool`` says what the rerankers rescored.
        """
        published_text = brought_if_here("published rows") if self.published != "none" else None
        if published_text is None:
            return
        about = summary["collection"], summary["subset"], summary["rows"]
        text, reasons = published_text(*about, every=self.published == "all")
        if text:
            print("\n".join([f"\n{text}\nhere: {'; '.join(self._here(pool))}", *reasons]))

    def _here(self, pool: str) -> Iterator[str]:
        """Yield what ran here, and what is not as the paper had it."""
        if self.systems.retrievers:
            yield f"retrievers search all documents to depth {self.depth}"
        if self.systems.rerankers is None or self.systems.rerankers:
            yield f"rerankers rescore {pool}"
        if self.systems.external:
            yield "runs of --run are as they came"
        if self.data.judged:
            yield "judgements of your own, so the figures are not comparable"


def _in_english(collection: Collection) -> bool:
    """Return whether the documents of all languages are English, by translation."""
    return all(part.language.code == "eng" for part in collection.parts.values())


def _contradictions(systems: Systems, collection: Collection, merge: str, rerankers: Sequence[str]) -> Iterator[str]:
    """Yield why ``systems`` cannot run over several languages, with ``rerankers`` over one pool of all of them."""
    if merge == RERANKER and any(topic.lang != "eng" for topic in collection.topics):
        yield "--merge reranker: one query for documents in all languages; give --query-lang eng"
    if merge == RERANKER and not rerankers:
        yield "--merge reranker: name a reranker of documents in all languages (--reranker NAME)"
    of_words = [name for name in rerankers if split_name(name)[1].partition("+")[0] in ("rank_bm25", "polarity")]
    if not _in_english(collection):
        yield from (
            f"--merge reranker --reranker {name}: compares words, and the documents' are of several languages; choose "
            "a multilingual model, or --docs-lang eng"
            for name in of_words
        )
    if not systems.retrievers and (merge or systems.rerankers is not None):
        yield "--retriever none: there is nothing to merge or to rerank; name a retriever"
    if not systems.retrievers and not systems.external:
        yield NOTHING
    if systems.search.lucene_index or systems.search.vectors:
        yield "--index and --vectors: are of one language; leave them out"
    if systems.pool == "published":
        yield "--pool published: there are no candidate lists over several languages; leave it out"
