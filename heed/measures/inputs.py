"""Runs that are compared, with their judgements, under the same qids."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from heed.formats.pairs import qrels_for, renamed
from heed.measures.judged_ranks import RankedRun
from heed.measures.per_topic import Variant
from heed.types import UNJUDGED, Qrels, Run


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
        return {role: RankedRun(run) for role, run in runs.items()}

    @property
    def two(self) -> tuple[Run, Run]:
        """The base and the new one of :attr:`runs`."""
        return self.runs["base"], self.runs["new"]


def paired(base: Run, new: Run, pairs: Mapping[str, str], qrels: Qrels, new_qrels: Qrels) -> Inputs:
    """Return two runs and their judgements under the new run's qids; ``pairs`` maps them to the base run's.

    Judged topics that have no pair are logged.
    """
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
