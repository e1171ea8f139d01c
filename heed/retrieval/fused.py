"""First stages fused to one: ``rrf:bm25,lsa`` by reciprocal ranks, ``sum:bm25,lsa`` by scores."""

from collections.abc import Sequence

from heed.ranking import fused_runs
from heed.reuse import recipe_version
from heed.types import Query, Retriever, Run


class FusedRetriever(Retriever):
    """Several retrievers as one :class:`heed.types.Retriever`; of each the list as deep as the fused one."""

    def __init__(self, how: str, parts: Sequence[Retriever]) -> None:
        """Fuse the lists of ``parts`` as :func:`heed.ranking.fused_runs` does."""
        self.name, self.parts, self._how = "-".join([how, *(part.name for part in parts)]), parts, how
        self.by_topic = all(part.by_topic for part in parts)
        configs = [part.config for part in parts]
        if all(config is not None for config in configs):
            self.config = {"fused": [recipe_version("fused"), how], "of": configs}

    def load(self) -> None:
        """Load all."""
        for part in self.parts:
            part.load()

    def close(self) -> None:
        """Close all."""
        for part in self.parts:
            part.close()

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the ``depth`` best documents of each query, of the ``depth`` best of each retriever."""
        return fused_runs([part.search(queries, depth) for part in self.parts], self._how, depth)
