"""Runs over several languages: the lists of each language merged into one."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from heed.errors import DataError, UsageError
from heed.experiment.experiment import Experiment
from heed.experiment.run_files import SystemRuns
from heed.files import digest_json
from heed.progress import warn
from heed.ranking import in_order, ranked, scaled, top
from heed.reuse import Recipe
from heed.types import Run

RULES = ("score", "rank")


def add_merged(experiment: Experiment, by_language: Mapping[str, Sequence[SystemRuns]], rule: str) -> list[SystemRuns]:
    """Return the runs of every system as one list of all languages, added to ``experiment``, which has all documents.

    ``by_language`` are the same systems over each language, ``rule`` is one of :data:`RULES`.
    Raises :class:`DataError` where the topics carry other conditions in each language.
    """
    merged = []
    conditions = {lang: tuple(systems[0]) for lang, systems in by_language.items() if systems}
    if len(set(conditions.values())) > 1:
        carried = "; ".join(f"{lang}: {', '.join(names)}" for lang, names in conditions.items())
        raise DataError(
            f"topics: carry other conditions in each language ({carried}); conditions=NAME chooses some of them"
        )
    for of_system in zip(*by_language.values(), strict=True):
        first = of_system[0]
        runs = {name: merge([dict(runs[name]) for runs in of_system], rule, experiment.depth) for name in first}
        config = {"merged": rule, "languages": dict(zip(by_language, (runs.config for runs in of_system), strict=True))}
        merged.append(experiment.add(first.name, runs, config, _facts(of_system)))
    return merged


def _facts(of_system: Sequence[SystemRuns]) -> Recipe:
    """Return the facts of a system's merged runs: their pool, and replies that are no answers, which it warns of."""
    entries = [runs.entry for runs in of_system]
    name, count = entries[0]["system"], sum(entry["unanswered"] for entry in entries)
    line = f"{name}: replies that name no document: {count}, whose topics each language's results name"
    facts: Recipe = {"unanswered": count, "warnings": [line] if count else []}
    for warning in facts["warnings"]:
        warn(warning)
    pools = [entry.get("pool") for entry in entries]
    facts["depth"] = entries[0]["depth"]
    if pools[0] is None:
        return facts
    facts["first_stages"] = entries[0]["first_stages"]
    facts["documents"] = sum(entry["documents"] or 0 for entry in entries) or None
    return {**facts, "pool": digest_json(pools)}


def merge(runs: Sequence[Run], rule: str, depth: int) -> Run:
    """Return for each topic the ``depth`` best documents of all ``runs``, which have no document in common.

    ``score``: each list's scores are brought to [0, 1] by ``(score − lowest) / (highest − lowest)``, since those of
    different indexes do not compare; where all are equal, as in a list of one document, they become 1. ``rank``: a
    document's score is 1 / rank in its own list, so that the lists are interleaved. Equal scores are ordered by docid,
    descending, as everywhere (:mod:`heed.ranking`). Raises :class:`UsageError` for another rule.
    """
    if rule not in RULES:
        raise UsageError(f"merge: found {rule!r}, expected one of {', '.join(RULES)}")
    merged: Run = {}
    for qid in in_order({qid for run in runs for qid in run}):
        scores: dict[str, float] = {}
        for run in runs:
            scores |= _comparable(run.get(qid, {}), rule)
        merged[qid] = top(scores, depth)
    return merged


def _comparable(scores: dict[str, float], rule: str) -> dict[str, float]:
    if rule == "rank":
        return {docid: 1 / rank for rank, docid in enumerate(ranked(scores), 1)}
    if len(set(scores.values())) < 2:
        return dict.fromkeys(scores, 1.0)
    order = ranked(scores)
    values = dict(zip(scores, scaled(list(scores.values())), strict=True))
    for above, docid in pairwise(order):  # no ties by rounding
        if scores[docid] < scores[above] and values[docid] >= values[above]:
            values[docid] = math.nextafter(values[above], -math.inf)
        elif scores[docid] == scores[above]:
            values[docid] = values[above]
    return values
