"""The pool as it would have been made without a system: which of its documents it would lack."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from heed.judging.pools.build import DEPTH, BuiltPool, PoolInputs, PoolSettings, choose, language_in
from heed.judging.pools.fusion import ALL, Candidates, Fused, fuse, fuse_ranks
from heed.judging.pools.inputs import RankedList, first_documents, system_of
from heed.judging.pools.reach import is_union
from heed.progress import bar, log, logging_only

Lists = Mapping[str, Sequence[RankedList]]  # topic -> lists
Documents = dict[str, set[str]]  # topic -> docids
Ranks = dict[str, list[tuple[str, int]]]  # docid -> systems and ranks
Absent = dict[str, Documents]  # system -> the documents that the pool lacks without it


def pooled_or_judged(built: BuiltPool, inputs: PoolInputs, reached: Lists) -> Documents:
    """Return the documents of the pool, and those of its lists that it leaves out because they are judged already."""
    return {
        topic: {docid for ranking in reached[topic] for docid in ranking.docids if docid in inputs.judged[topic]}
        | set(docids)
        for topic, docids in built.documents.items()
    }


def absent_at_depth(documents: Documents, reached: Lists) -> Absent:
    """Return which of ``documents`` only one system brought: without it the others' lists are read no deeper.

    So Zobel (SIGIR 1998) left runs out; the pool is smaller then.
    """
    absent: Absent = {}
    for topic, lists in reached.items():
        systems: dict[str, str] = {}
        for ranking in lists:
            system = system_of(ranking.run)
            for docid in ranking.docids:
                if systems.setdefault(docid, system) != system:
                    systems[docid] = ""
        for docid in documents[topic] & systems.keys():
            absent.setdefault(systems[docid], {}).setdefault(topic, set()).add(docid)
    return absent


def absent_rebuilt(documents: Documents, built: BuiltPool, inputs: PoolInputs, reached: Lists) -> Absent:
    """Return which of ``documents`` the pool would lack if it had been made without a system, under the same budget.

    The budget is the number of documents: of all topics together (in each language, with budgets for languages),
    for which the others' lists are read deeper; of each topic, if sizes cut the pool; a sample is drawn again from the
    same strata. What a depth alone makes can be had by a budget too and is made again by the number of its documents,
    so that the same pool gives the same result however it was asked for. Nothing is absent where the documents
    were given by judgements.
    """
    if inputs.only:
        return {}
    by_depth = is_union(documents, reached)
    resampled = bool(built.settings.strata) and not by_depth
    settings = built.settings if resampled else _as_large(documents, built, inputs, by_depth)
    if not resampled:  # a sample leaves out what was judged before
        inputs = inputs._replace(judged={topic: set() for topic in inputs.topics})
    inputs = inputs._replace(topics=first_documents(inputs.topics, settings.depth))
    if is_union(documents, inputs.topics):  # the other lists hold no more
        return absent_at_depth(documents, inputs.topics)
    ranks = {topic: _ranks(lists) for topic, lists in inputs.topics.items()}
    fused = {topic: fuse(ranking.docids for ranking in lists) for topic, lists in inputs.topics.items()}
    systems = sorted({system_of(ranking.run) for lists in inputs.topics.values() for ranking in lists})
    absent = {}
    for system in bar(systems, len(systems), "pool without", "systems"):
        without = {topic: _without(fused[topic], ranks[topic], system) for topic in fused}
        affordable = _in_known_languages(settings, without, inputs, built.topic_languages)
        with logging_only(log.name, logging.WARNING):
            rebuilt = choose(without, inputs, affordable, built.topic_languages).documents
        absent[system] = {topic: docids.difference(rebuilt.get(topic, ())) for topic, docids in documents.items()}
    return absent


def _as_large(documents: Documents, built: BuiltPool, inputs: PoolInputs, by_depth: bool) -> PoolSettings:
    """Return settings that give as many documents as ``documents`` are."""
    settings = replace(built.settings, strata=(), sizes={}, budgets={})
    if built.settings.sizes and not by_depth:
        return replace(settings, sizes={topic: len(docids) for topic, docids in documents.items()})
    counts = Counter(ALL for docids in documents.values() for _ in docids)
    if built.settings.budgets.keys() - {ALL}:
        counts = Counter(
            language_in(inputs, built.topic_languages, topic, docid)
            for topic, docids in documents.items()
            for docid in docids
        )
    return replace(settings, depth=max(settings.depth, DEPTH), budgets=counts)


def _ranks(lists: Sequence[RankedList]) -> Ranks:
    ranks: Ranks = {}
    for ranking in lists:
        system = system_of(ranking.run)
        for rank, docid in enumerate(ranking.docids, 1):
            ranks.setdefault(docid, []).append((system, rank))
    return ranks


def _without(fused: Mapping[str, Fused], ranks: Ranks, system: str) -> dict[str, Fused]:
    """Return the documents of the other systems' lists; only those that ``system`` retrieved too are fused again."""
    without = dict(fused)
    for docid, of_systems in ranks.items():
        others = [rank for other, rank in of_systems if other != system]
        if not others:
            del without[docid]
        elif len(others) < len(of_systems):
            without[docid] = fuse_ranks(others)
    return without


def _in_known_languages(
    settings: PoolSettings, candidates: Candidates, inputs: PoolInputs, topic_languages: Mapping[str, str]
) -> PoolSettings:
    """Return ``settings`` without the budgets of languages that no document has any longer."""
    if not settings.budgets.keys() - {ALL}:
        return settings
    known = {
        language_in(inputs, topic_languages, topic, docid)
        for topic, documents in candidates.items()
        for docid in documents
    }
    budgets = {language: budget for language, budget in settings.budgets.items() if language in known}
    return replace(settings, budgets=budgets)
