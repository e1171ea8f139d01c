"""The systems of a collection command: named by its options, and run over one collection."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from heed.datasets.catalogue import Catalogue
from heed.datasets.collection import Collection
from heed.errors import UsageError, fail
from heed.experiment.experiment import Experiment, Pool
from heed.experiment.run_files import SystemRuns
from heed.formats.run_formats import read_external_runs
from heed.progress import log
from heed.reranking.maxp import Cut
from heed.retrieval.bm25.retriever import Bm25
from heed.retrieval.dense.search import Dense
from heed.retrieval.fused import FusedRetriever
from heed.systems.make import Search, refuse_twins
from heed.systems.user_objects import check_name
from heed.types import Reranker, Retriever, Run
from pipelines.options.settings import Machinery, machinery_of, maxp_of, search_of

NOTHING = "--retriever none: nothing is left to run; name a retriever, or runs of your own with --run"


@dataclass(frozen=True)
class Systems:
    """Which systems run over a collection, and over which candidates.

    ``rerankers`` are None for the usual one. ``external`` runs are named as ``NAME=FILE``, in ``encoding``. ``pool`` is
    ``retrieved`` or ``published``, None for what the collection has; one of retrieved documents has ``pool_depth`` a
    topic.
    """

    retrievers: Sequence[str]
    rerankers: Sequence[str] | None
    external: Sequence[str]
    encoding: str
    pool: str | None
    pool_depth: int
    maxp: Cut | None
    reuse_scores: bool
    search: Search
    machinery: Machinery

    def run(self, experiment: Experiment) -> list[SystemRuns]:
        """Return the runs of all systems; errors in any of their names or files come before the first search."""
        published = self.published(experiment.collection)
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
        runs = [experiment.retrieve(retriever) for retriever in retrievers]
        if has_pool and (rerankers or self.pool):
            pool = experiment.published_pool() if published else experiment.pool(runs, self.pool_depth)
            runs += self.rerank(experiment, rerankers, pool)
        return runs + [experiment.add(name, external.pop(name)) for name in [*external]]  # in memory once

    def rerank(self, experiment: Experiment, rerankers: Sequence[Reranker], pool: Pool) -> list[SystemRuns]:
        """Return the runs of rerankers over a pool."""
        return [experiment.rerank(each, pool, maxp=self.maxp, reuse_scores=self.reuse_scores) for each in rerankers]

    def published(self, collection: Collection) -> bool:
        """Return whether rerankers get the published candidates."""
        return self.pool == "published" or (self.pool is None and collection.reranked and bool(collection.candidates))

    def external_runs(self, experiment: Experiment) -> dict[str, dict[str, Run]]:
        """Return the runs made elsewhere by system and condition; raise :class:`UsageError` for a wrong name."""
        by_system: dict[str, dict[str, Run]] = {}
        collection = experiment.collection
        encoding = self.encoding or collection.language.code
        external = read_external_runs(self.external, collection.topics, experiment.conditions, encoding)
        for (name, condition), run in external.items():
            check_name(name)
            by_system.setdefault(name, {})[condition] = run
        return by_system

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

    def of_parts(self, *, reranked: bool) -> "Systems":
        """Return the systems that run over each language of a collection, whose rerankers may be of all together."""
        if reranked:
            return replace(self, external=())
        return replace(self, external=(), rerankers=(), machinery=replace(self.machinery, version=None))


def systems_of(options: argparse.Namespace, collection: Collection) -> Systems:
    """Return the systems that the options of a command name, over ``collection`` and others of its name."""
    systems = Systems(
        retrievers=_without_none(options.retriever or _usual_retrievers(collection.name, options.docs)),
        rerankers=_without_none(options.reranker) if options.reranker else None,
        external=options.run or (),
        encoding=options.encoding,
        pool=options.pool,
        pool_depth=options.rerank_depth or options.usual_rerank_depth or options.depth,
        maxp=maxp_of(options),
        reuse_scores=options.reuse_scores,
        search=search_of(options),
        machinery=machinery_of(options),
    )
    if options.rerank_depth and systems.published(collection):
        raise UsageError("rerank_depth: not used here; published candidates are rescored whole; --pool retrieved cuts")
    return systems


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
