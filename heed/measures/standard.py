"""The measures of one run by their names: Heed's own and the user's here, all others through ir_measures."""

from collections.abc import Sequence
from typing import Any

from heed.errors import UsageError
from heed.measures.definition import Measure
from heed.measures.ir_measures_programs import computed, provided
from heed.measures.measure_names import parse_name
from heed.measures.per_topic import PerTopic
from heed.measures.registry import find, needs_subtopics
from heed.types import Qrels, Run, subtopics_of

JUDGED = "Judged@20"  # the share judged of a run's first 20 documents, without which its nDCG cannot be read
STANDARD = ("nDCG@20", JUDGED, "AP", "R@100", "R@1000")  # NeuCLIR's official measures (guidelines 2022, 2023)


def standard(run: Run, qrels: Qrels, measures: Sequence[str | Measure] = STANDARD) -> dict[str, PerTopic]:
    """Return ``measure -> qid -> value`` for every topic of ``qrels``; a topic that the run lacks counts 0.

    ``measures`` are the user's own, and names: ir_measures' own, such as ``nDCG@20`` or ``AP(rel=2)``, and Heed's:
    ``PairwiseAccuracy`` (by pair of topics), ``WinRate``, ``WinRate@3`` (the third step), ``MonotonicOrder``, ``dR@1``
    (ΔR@1), ``dMRR@10`` and ``RightRank@10`` (see :mod:`heed.measures.contrast`), where topics without a contrast have
    no value, nor has the Accuracy of a list that is relevant throughout. ``Judged@k``, ``alpha_nDCG@k`` and
    ``StRecall@k`` are computed here, the others by the program that ir_measures has for them. Ties are broken as by
    :mod:`heed.ranking` in all. A negative grade is not judged, and not relevant, as in trec_eval. Raises
    :class:`UsageError` for an unknown name, for one whose program is not installed, and for a measure of subtopics
    where ``qrels`` have none (:class:`heed.types.SubtopicGrades`).
    """
    values: dict[str, PerTopic] = {}
    by_provider: dict[Any, dict[Any, list[str]]] = {}  # names by measure: AP and MAP are one
    check_measures(measures, qrels)
    for requested in measures:
        name = str(requested)
        if declared := _computed_here(requested):
            values[name] = declared.of_run(name, run, qrels)
        else:
            values[name] = dict.fromkeys(qrels, 0.0)
            provider, measure = provided(parse_name(name))
            by_provider.setdefault(provider, {}).setdefault(measure, []).append(name)
    for provider, names in by_provider.items():
        for qid, measure, value in computed(provider, [*names], run, qrels):
            for name in names[measure]:
                if value is None:
                    values[name].pop(qid, None)
                else:
                    values[name][qid] = value
    return values


def check_measures(measures: Sequence[str | Measure], qrels: Qrels) -> None:
    """Raise :class:`UsageError` for measures that :func:`standard` cannot compute with ``qrels``."""
    for measure in measures:
        if needs_subtopics(measure) and qrels and all(len(subtopics_of(grades)) < 2 for grades in qrels.values()):
            raise UsageError(
                f"measure {measure}: needs judgements by subtopic, in column 2 of the qrels; these have none"
            )
        if declared := _computed_here(measure):
            declared.with_parameters(str(measure))
        else:
            provided(parse_name(str(measure)))


def _computed_here(measure: str | Measure) -> Measure | None:
    """Return a measure that is computed here; None for ir_measures', and where a parameter is ir_measures' alone."""
    declared = find(measure)
    if declared is None or declared.of != "run" or not declared.by_name or "judged_only" in str(measure):
        return None
    return declared
