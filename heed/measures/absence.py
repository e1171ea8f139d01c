"""The documents of pairwise measures that are not in the lists, so that their move is not seen, or a guess."""

from collections.abc import Mapping, Sequence
from typing import Literal

from heed.measures.inputs import Inputs
from heed.measures.pairwise import P_MRR
from heed.measures.per_topic import Judged, PerTopic
from heed.measures.registry import BUILT_IN
from heed.types import Run

Absence = Literal["in_neither", "in_one_only"]


def absent(inputs: Inputs, values: Mapping[str, PerTopic]) -> dict[str, dict[Absence, PerTopic]]:
    """Return for p-MRR, p-MRR kept, IRS, WISE and SICR, those in ``values``, the shares of their documents not seen.

    ``in_neither``: in none of the lists, so that the measures rank them behind all; ``in_one_only``, of p-MRR: in one
    of the two lists, so that they move to or from the rank behind the other.
    """
    lists = runs_and_documents(inputs, values)
    shares: dict[str, dict[Absence, PerTopic]] = {
        measure: {"in_neither": _shares(in_no_list(runs, judged), judged)} for measure, (runs, judged) in lists.items()
    }
    if P_MRR in shares:
        one_sided = in_one_list(inputs.base, inputs.new, inputs.ruled_out)
        shares[P_MRR]["in_one_only"] = _shares(one_sided, inputs.ruled_out)
    return shares


def _shares(absent: Judged, judged: Judged) -> PerTopic:
    return {qid: len(docids) / len(judged[qid]) for qid, docids in absent.items()}


def runs_and_documents(inputs: Inputs, values: Mapping[str, PerTopic]) -> dict[str, tuple[Sequence[Run], Judged]]:
    """Return the runs and the documents that the pairwise measures among ``values`` are about."""
    return {name: measure.about(inputs) for name, measure in BUILT_IN.items() if measure.about and name in values}


def in_no_list(runs: Sequence[Run], judged: Judged) -> dict[str, set[str]]:
    """Return the documents, by qid, that are in none of ``runs``: what happens to them is not seen.

    Topics without documents, or missing from one of the runs, are left out.
    """
    topics = {qid: set(docids) for qid, docids in judged.items() if docids and all(qid in run for run in runs)}
    return {qid: docids.difference(*(run[qid] for run in runs)) for qid, docids in topics.items()}


def in_one_list(base: Run, new: Run, judged: Judged) -> dict[str, set[str]]:
    """Return the documents, by qid, that are in one of the two lists only: their move is a guess.

    The other list may end too early, or write their ids in another way. Topics are those of :func:`in_no_list`.
    """
    topics = {qid: judged[qid] for qid in in_no_list((base, new), judged)}
    return {qid: {d for d in docids if (d in base[qid]) != (d in new[qid])} for qid, docids in topics.items()}
