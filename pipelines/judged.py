"""Ranks of judged documents over all topics as flat arrays, and their means by topic."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pipelines.ranking import ranks
from pipelines.trec import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

PerTopic = dict[str, float]  # qid -> value
Judged = Mapping[str, Collection[str]]  # qid -> docids


class Ranks(NamedTuple):
    """Ranks in several runs of all topics' documents, topic after topic.

    ``at`` has shape ``(runs, documents)``; ``sizes`` the number of documents of each of ``qids``.
    """

    qids: list[str]
    at: "Array"
    sizes: "NDArray[np.int64]"

    def mean(self, values: "Array") -> PerTopic:
        """The mean over each topic's documents of ``values``, shape ``(documents,)``."""
        import numpy as np

        if not self.qids:
            return {}
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        means = np.add.reduceat(values, starts) / self.sizes
        return dict(zip(self.qids, means.tolist(), strict=True))


def ranks_of(runs: Sequence[Run], judged: Judged) -> Ranks:
    """The ranks of ``judged`` in each of ``runs``, for the topics that have documents and are in all runs."""
    import numpy as np

    qids = [qid for qid, docids in judged.items() if docids and all(qid in run for run in runs)]
    documents = {qid: sorted(judged[qid]) for qid in qids}
    at = [[rank for qid in qids for rank in ranks(run[qid], documents[qid])] for run in runs]
    sizes = np.array([len(documents[qid]) for qid in qids], dtype=np.int64)
    return Ranks(qids, np.array(at, dtype=np.float64).reshape(len(runs), int(sizes.sum())), sizes)
