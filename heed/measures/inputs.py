"""Runs that are compared, with their judgements, under the same qids."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from heed.formats.pairs import qrels_for, renamed
from heed.measures.judged_ranks import RankedRun
from heed.measures.per_topic import Variant
from heed.types import Qrels, Run


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
        return self.changed or no_longer_relevant(self.qrels, self.new_qrels)

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


def no_longer_relevant(original: Qrels, changed: Qrels) -> dict[str, set[str]]:
    """Return the documents, by qid, with a positive grade in ``original`` only, for the topics in both qrels.

    Topics in which nothing changed are left out.
    """
    return _once_relevant(original, changed, still=False)


def still_relevant(original: Qrels, changed: Qrels) -> dict[str, set[str]]:
    """Return the documents, by qid, with a positive grade in both qrels; topics without any are left out."""
    return _once_relevant(original, changed, still=True)


def _once_relevant(original: Qrels, changed: Qrels, still: bool) -> dict[str, set[str]]:
    documents = {
        qid: {docid for docid, grade in grades.items() if grade > 0 and (changed[qid].get(docid, 0) > 0) is still}
        for qid, grades in original.items()
        if qid in changed
    }
    return {qid: docids for qid, docids in documents.items() if docids}
