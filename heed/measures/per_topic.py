"""Values by topic, ranks of judged documents, and the runs and judgements of a comparison."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.formats.topic_ids import qrels_for, renamed
from heed.ranking import ranks
from heed.types import UNJUDGED, Qrels, Run

PerTopic = dict[str, float]  # qid -> value
Judged = Mapping[str, Collection[str]]  # qid -> docids
Variant = Literal["paper", "released"]  # a paper's formula, or its released code's
Array = NDArray[np.float64]


def judged(qrels: Qrels) -> Qrels:
    """Return judgements without negative grades: such a document is not judged, as in trec_eval."""
    return {qid: {docid: grade for docid, grade in grades.items() if grade >= 0} for qid, grades in qrels.items()}


def mean(values: PerTopic) -> float:
    """Return the mean over topics, to the last bit the same in any order of them.

    Raises ZeroDivisionError without topics; report ``len(values)`` beside the mean.
    """
    return math.fsum(values.values()) / len(values)


def difference(first: PerTopic, second: PerTopic) -> PerTopic:
    """Return first − second for each topic that both have, in the order of their qids."""
    return {qid: first[qid] - second[qid] for qid in sorted(first.keys() & second.keys())}


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


@dataclass(frozen=True)
class Inputs:
    """Runs and judgements of a comparison, all under the new run's qids.

    ``query_of`` names each topic's query; ``reverse`` is None where there is no third run; ``changed`` and ``traps``
    are docids by qid from files, or empty; ``corpus_size`` is 0 where unknown; ``variant`` is the papers' formulas or
    those of their released code.
    """

    base: Run
    new: Run
    qrels: Qrels
    new_qrels: Qrels
    query_of: Mapping[str, str]
    reverse: Run | None = None
    changed: Mapping[str, set[str]] = field(default_factory=dict)
    traps: Mapping[str, set[str]] = field(default_factory=dict)
    corpus_size: int = 0
    variant: Variant = "paper"

    @cached_property
    def relevant(self) -> dict[str, set[str]]:
        """The documents that are relevant for both runs, by qid."""
        return still_relevant(self.qrels, self.new_qrels)

    @cached_property
    def ruled_out(self) -> Mapping[str, set[str]]:
        """The documents that are no longer relevant, by qid: those of ``changed``, or by the judgements."""
        return self.changed or no_longer_relevant(self.qrels, self.new_qrels, self.variant)

    @cached_property
    def not_judged(self) -> Mapping[str, set[str]]:
        """The documents, by qid, that are neither ruled out nor kept, because the new judgements leave them open."""
        return {} if self.changed or self.variant == "released" else not_judged(self.qrels, self.new_qrels)

    @cached_property
    def runs(self) -> dict[str, Run]:
        """The two or three runs by their roles: base, new, reversed; each computes a document's rank once."""
        runs = {"base": self.base, "new": self.new} | ({"reversed": self.reverse} if self.reverse else {})
        return {role: run if isinstance(run, RankedRun) else RankedRun(run) for role, run in runs.items()}

    @property
    def two(self) -> tuple[Run, Run]:
        """The base and the new one of :attr:`runs`."""
        return self.runs["base"], self.runs["new"]


def paired(base: Run, new: Run, pairs: Mapping[str, str], qrels: Qrels, new_qrels: Qrels) -> Inputs:
    """Return two runs and their judgements under the new run's qids; ``pairs`` maps them to the base run's."""
    unchanged = {qid: qid for qid in pairs}
    return Inputs(
        base=renamed(base, pairs),
        new=renamed(new, unchanged),
        qrels=qrels_for(qrels, pairs),
        new_qrels=qrels_for(new_qrels, unchanged),
        query_of=pairs,
    )


def no_longer_relevant(original: Qrels, changed: Qrels, variant: Variant = "paper") -> dict[str, set[str]]:
    """Return the documents, by qid, with a positive grade in ``original`` and 0 in ``changed``: those ruled out.

    Topics without any, and those in one qrels only, are left out, and so are the documents of :func:`not_judged`.
    ``released``: they are ruled out too, as by FollowTable's ``irs.py``, and by mteb 1.20's ``create_qrel_diff``, which
    takes every other grade and fails without a line. mteb 2 has the list from the data set.
    """
    return _once_relevant(original, changed, lambda grade: grade == 0 or (grade < 0 and variant == "released"))


def still_relevant(original: Qrels, changed: Qrels) -> dict[str, set[str]]:
    """Return the documents, by qid, with a positive grade in both qrels; topics without any are left out."""
    return _once_relevant(original, changed, lambda grade: grade > 0)


def not_judged(original: Qrels, changed: Qrels) -> dict[str, set[str]]:
    """Return the documents, by qid, with a positive grade in ``original`` that ``changed`` does not judge.

    Their grade there is negative, as in trec_eval, or they have none while the topic has some grade of 0 or below.
    A topic with positive grades only lists what is relevant: documents without a grade have 0.
    """
    return _once_relevant(original, changed, lambda grade: grade < 0)


def _once_relevant(original: Qrels, changed: Qrels, is_wanted: Callable[[int], bool]) -> dict[str, set[str]]:
    documents = {}
    for qid in (qid for qid in original if qid in changed):
        grades, absent = changed[qid], UNJUDGED if min(changed[qid].values(), default=1) <= 0 else 0
        documents[qid] = {d for d, grade in original[qid].items() if grade > 0 and is_wanted(grades.get(d, absent))}
    return {qid: docids for qid, docids in documents.items() if docids}
