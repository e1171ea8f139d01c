"""A collection in several languages: each searched by itself, and their lists merged to one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from heed.datasets.collection import Collection
from heed.errors import UsageError, fail
from heed.experiment.experiment import Experiment
from heed.experiment.merged_runs import RULES, add_merged
from heed.experiment.results import Results
from heed.experiment.run_files import SystemRuns
from heed.measures.registry import needs_subtopics
from heed.progress import log
from heed.systems.make import refuse_twins, split_name
from pipelines.launch import NOTHING, Job

RERANKER = "reranker"  # beside the rules, a way to make one list of several languages'


def run_languages(job: Job, collection: Collection, merge: str) -> Results:
    """Run all systems over each language, print its table and that of the merged lists; return their results.

    ``merge`` is one of :data:`heed.experiment.merged_runs.RULES`, the first where it is empty, or ``reranker``.
    """
    names, rule = list[str](), RULES[0] if merge in ("", RERANKER) else merge
    if merge == RERANKER:
        usual = ["polarity"] if _in_english(collection) else []
        names = usual if job.rerankers is None else [*job.rerankers]
    fail(_contradictions(job, collection, merge, names), UsageError)
    whole = job.experiment(collection)
    with whole:  # what may be wrong with the whole is known before anything is searched
        external = job.external_runs(whole)
        rerankers = job.rerankers_of(whole, names) if names else []
        refuse_twins([reranker.name for reranker in rerankers], names)
        log.info(f"{len(collection.parts)} languages, {whole.documents.count} documents")
    measures = [measure for measure in job.measures if not needs_subtopics(measure)]
    of_one = replace(job, external=(), measures=measures)
    if merge == RERANKER:  # which is of all languages together
        of_one = replace(of_one, rerankers=(), machinery=replace(job.machinery, version=None))
    parts = collection.parts if job.retrievers else {}
    by_language = {lang: of_one.run(part)[1] for lang, part in parts.items()}

    def merged(experiment: Experiment) -> list[SystemRuns]:
        lists = add_merged(experiment, by_language, rule)
        if rerankers:
            lists += job.rerank(experiment, rerankers, experiment.pool(lists, job.pool_depth))
        return lists + [job.add(experiment, name, runs) for name, runs in external.items()]

    return job.evaluate(whole, merged)[0]


def _in_english(collection: Collection) -> bool:
    """Return whether the documents of all languages are English, by translation."""
    return all(part.language.code == "eng" for part in collection.parts.values())


def _contradictions(job: Job, collection: Collection, merge: str, rerankers: Sequence[str]) -> Iterator[str]:
    """Yield why ``job`` cannot run over several languages, with ``rerankers`` over one pool of all of them."""
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
    if not job.retrievers and (merge or job.rerankers is not None):
        yield "--retriever none: there is nothing to merge or to rerank; name a retriever"
    if not job.retrievers and not job.external:
        yield NOTHING
    if job.search.lucene_index or job.search.vectors:
        yield "--index and --vectors: are of one language; leave them out"
    if job.options.pool == "published":
        yield "--pool published: there are no candidate lists over several languages; leave it out"
