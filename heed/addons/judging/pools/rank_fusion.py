"""Fused documents cut by sizes and budgets."""

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate

from heed.progress import log
from heed.ranking import Fused, best

ALL = ""  # the key of a size or budget for all topics or languages


Candidates = dict[str, dict[str, Fused]]  # topic -> docid -> rank and score


def cut(candidates: Candidates, sizes: Mapping[str, int]) -> Candidates:
    """Return each topic's ``sizes[topic]`` (else ``sizes[""]``, else all) documents of the highest fused scores."""
    if not sizes:
        return candidates
    return {
        topic: {docid: documents[docid] for docid in best(documents, sizes.get(topic, sizes.get(ALL)))}
        for topic, documents in candidates.items()
    }


def spend(candidates: Candidates, budget: int) -> Candidates:
    """Return ``budget`` documents over all topics: every topic pooled to the same depth, the deepest that fits.

    That is depth-k pooling with ``k`` chosen by the budget. The rest of the budget goes to the documents
    of depth ``k + 1`` with the highest fused scores, whatever their topic. A topic whose runs
    agree gets fewer documents than one whose runs differ: what is equal is how deep each run is read.
    """
    at_rank = Counter(fused.rank for documents in candidates.values() for fused in documents.values())
    totals = zip(sorted(at_rank), accumulate(at_rank[rank] for rank in sorted(at_rank)), strict=True)
    depth = max((rank for rank, total in totals if total <= budget), default=0)
    chosen = {
        topic: {docid: fused for docid, fused in documents.items() if fused.rank <= depth}
        for topic, documents in candidates.items()
    }
    following = min((rank for rank in at_rank if rank > depth), default=0)
    at_following = (
        (topic, {docid: fused for docid, fused in documents.items() if fused.rank == following})
        for topic, documents in candidates.items()
    )
    # within a topic best first, docids descending on ties; sorting by score keeps that order
    entries = [(topic, docid, documents[docid]) for topic, documents in at_following for docid in best(documents)]
    entries.sort(key=lambda entry: -entry[2].score)
    for topic, docid, fused in entries[: budget - sum(map(len, chosen.values()))]:
        chosen[topic][docid] = fused
    return chosen


def spend_by_language(candidates: Candidates, budgets: Mapping[str, int], languages: Mapping[str, str]) -> Candidates:
    """Return the documents of :func:`spend` in each language with a budget, then of all that by the budget for all.

    ``languages`` are those of the documents; a language without a budget is not cut.
    """
    budgeted = sorted(set(budgets) - {ALL})
    if not budgeted:
        return _spend_and_log(candidates, budgets[ALL], "") if ALL in budgets else candidates
    parts: dict[str, Candidates] = {language: {} for language in budgeted}
    for topic, documents in candidates.items():
        for docid, fused in documents.items():
            parts.setdefault(languages[docid], {}).setdefault(topic, {})[docid] = fused
    for language in budgeted:
        parts[language] = _spend_and_log(parts[language], budgets[language], f" in {language}")
    whole = {
        topic: {docid: fused for part in parts.values() for docid, fused in part.get(topic, {}).items()}
        for topic in candidates
    }
    return _spend_and_log(whole, budgets[ALL], "") if ALL in budgets else whole


def _spend_and_log(candidates: Candidates, budget: int, where: str) -> Candidates:
    total = sum(map(len, candidates.values()))
    if total < budget:
        log.info(f"budget of {budget}{where}: only {total} documents to choose from; a greater --depth gives more")
        return candidates
    chosen = spend(candidates, budget)
    empty = sum(not documents for documents in chosen.values())
    if empty:
        log.info(f"budget of {budget}{where}: too small for {empty} of {len(chosen)} topics, which get no document")
    return chosen
