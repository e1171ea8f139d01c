"""Ranks and scores of judged documents over all topics as flat arrays, and their means by topic."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.measures.per_topic import Judged, PerTopic
from heed.ranking import ranks
from heed.types import Run

Array = NDArray[np.float64]


class Ranks(NamedTuple):
    """Ranks, from 1, of all topics' documents in several runs, topic after topic.

    ``values`` has shape ``(runs, documents)``; ``sizes``, shape ``(topics,)``, is the number of
    documents of each of ``qids``.
    """

    qids: list[str]
    values: Array
    sizes: NDArray[np.int64]

    def means(self, values: Array) -> PerTopic:
        """Return the mean of ``values``, shape ``(documents,)``, over each topic's documents."""
        return self.by_topic(self.sums(values) / self.sizes)

    def sums(self, values: Array) -> Array:
        """Return the sum of ``values``, shape ``(documents,)``, over each topic's documents, shape ``(topics,)``."""
        if not self.qids:
            return np.empty(0)
        return np.add.reduceat(values, np.concatenate([[0], np.cumsum(self.sizes)[:-1]]))

    def by_topic(self, values: Array) -> PerTopic:
        """Return ``values``, shape ``(topics,)``, by qid."""
        return dict(zip(self.qids, values.tolist(), strict=True))


class RankedRun(dict[str, dict[str, float]]):
    """A run whose documents' ranks are computed once: the measures of a comparison are about the same ones."""

    def __init__(self, run: Run) -> None:
        """Hold the lists of ``run``, none of which may change from now on."""
        super().__init__(run)
        self._ranks: dict[str, dict[str, int]] = {}

    def ranks(self, qid: str, docids: Sequence[str]) -> list[int]:
        """Return the ranks of ``docids`` in the topic's list, as :func:`heed.ranking.ranks` does."""
        known = self._ranks.setdefault(qid, {})
        further = [docid for docid in docids if docid not in known]
        if further:
            known |= zip(further, ranks(self[qid], further), strict=True)
        return [known[docid] for docid in docids]


def _ranks(run: Run, qid: str, docids: Sequence[str]) -> list[int]:
    return run.ranks(qid, docids) if isinstance(run, RankedRun) else ranks(run[qid], docids)


def ranks_of(runs: Sequence[Run], judged: Judged) -> Ranks:
    """Return the ranks of ``judged`` in each of ``runs``, for the topics that have documents and are in all runs.

    Documents given as a sequence keep their order, those of a set are sorted. The rank of a
    document missing from a run is the list's length + 1.
    """
    qids = [qid for qid, docids in judged.items() if docids and all(qid in run for run in runs)]
    documents = {qid: _in_order(judged[qid]) for qid in qids}
    values = [[rank for qid in qids for rank in _ranks(run, qid, documents[qid])] for run in runs]
    sizes = np.array([len(documents[qid]) for qid in qids], dtype=np.int64)
    return Ranks(qids, np.array(values, dtype=np.float64).reshape(len(runs), int(sizes.sum())), sizes)


def scores_of(run: Run, judged: Judged, qids: Sequence[str], absent: float) -> Array:
    """Return the scores of the same documents in the same order; ``absent`` for one that is missing."""
    return np.array([run[qid].get(docid, absent) for qid in qids for docid in _in_order(judged[qid])], dtype=np.float64)


def _in_order(docids: Collection[str]) -> Sequence[str]:
    return docids if isinstance(docids, Sequence) else sorted(docids)
