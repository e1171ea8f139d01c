"""MTEB's result files: what mteb 2.26.24 writes for FollowIR's and mFollowIR's tasks on the same runs.

MTEB's ``TaskResult`` has no place for a model's name; MTEB keeps it in the path, see
:func:`result_path`, and in a ``model_meta.json`` beside it, which is not written here.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heed.errors import DataError, UsageError
from heed.files import parse_json, read_bytes
from heed.measures.inputs import Inputs
from heed.measures.judged_ranks import Array
from heed.measures.pairwise import p_mrr
from heed.measures.per_topic import PerTopic, mean
from heed.measures.standard import standard
from heed.progress import log
from heed.ranking import ranks
from heed.types import Qrels, Run

Result = dict[str, Any]

MTEB_VERSION = "2.26.24"  # versions before PR 5241 give another p-MRR on ties
SPLIT = "test"
K_VALUES = (1, 3, 5, 10, 20, 100, 1000)  # mteb abstasks/retrieval.py, AbsTaskRetrieval.k_values
NAMES = {"ndcg": "nDCG", "map": "AP", "recall": "R", "precision": "P", "hit_rate": "Success"}  # mteb's: ir_measures'
CONFIDENCES = ("max", "std", "diff1")  # mteb _evaluators/retrieval_metrics.py, confidence_scores


class Task(NamedTuple):
    """One task of MTEB: its data's revision, and of each subset the languages and the number of pairs."""

    revision: str
    subsets: dict[str, tuple[list[str], int]]


# Revisions, subsets and languages: mteb 2.26.24, tasks/instruction_reranking/**, TaskMetadata of each class;
# pairs: half the queries of its descriptive_stats/InstructionReranking/*.json
TASKS = {
    "Core17InstructionRetrieval": Task("67d8733dd0691f08f34ed9dda5941578cba8d91c", {"default": (["eng-Latn"], 20)}),
    "News21InstructionRetrieval": Task("c6fffeb9cdd95c1ffa81c62c687b48b56352872b", {"default": (["eng-Latn"], 32)}),
    "Robust04InstructionRetrieval": Task("0495a5cb69aa8fa5bca81bd56ac248911c19eeb6", {"default": (["eng-Latn"], 52)}),
    "mFollowIR": Task(
        "09eecbe45c54b4a6dfb8e68e345cae77337768e2",
        {"fas": (["fas-Arab"], 40), "rus": (["rus-Cyrl"], 40), "zho": (["zho-Hans"], 43)},
    ),
    "mFollowIRCrossLingual": Task(
        "6b01566619233a0c35d135123510b6b02c258ff5",
        {
            "eng-fas": (["eng-Latn", "fas-Arab"], 40),
            "eng-rus": (["eng-Latn", "rus-Cyrl"], 40),
            "eng-zho": (["eng-Latn", "zho-Hans"], 43),
        },
    ),
}


def mteb_result(task: str, subset: str | None, inputs: Inputs, evaluation_time: float | None = None) -> Result:
    """Return the JSON of MTEB's ``TaskResult`` for one subset of ``task``, as mteb would write it to disk.

    ``subset`` is MTEB's ``hf_subset``, also as ``zho/test``; None will do where the task has only
    one. Of ``inputs`` the base and new run, both qrels and ``changed`` are used (``changed`` follows
    from the qrels where it is empty). As in mteb, topics without judgements are left out of
    everything, nDCG, MAP, recall, precision, hit rate and MRR are given at MTEB's k for the
    original topics (``og``), the new ones (``changed``) and, above those, both together; p-MRR is
    the main score; means are rounded to 5 places, then everything to 6. The nAUC of these measures
    are mteb's too; one that is not defined, which mteb writes as NaN, is left out, for NaN is no
    JSON. ``date`` and ``kg_co2_emissions`` are null, and so is ``evaluation_time`` unless given in seconds.

    Raises :class:`UsageError` for an unknown task or subset, :class:`DataError` for runs without
    judgements or changed documents, and for several new topics of one base topic, which these tasks
    do not have. Another number of pairs than the task has is logged: such a result is not
    comparable with MTEB's.
    """
    name = _subset_name(task, subset)
    languages, pairs = TASKS[task].subsets[name]
    entry = _rounded(_scores(inputs, f"{task} {name}", pairs), 6)
    entry |= {"hf_subset": name, "languages": list(languages), "mteb_version": MTEB_VERSION}
    return {
        "dataset_revision": TASKS[task].revision,
        "task_name": task,
        "mteb_version": MTEB_VERSION,
        "scores": {SPLIT: [entry]},
        "evaluation_time": evaluation_time,
        "kg_co2_emissions": None,
        "date": None,
        "evaluation_phases": None,
    }


def merge_results(first: Result, second: Result) -> Result:
    """Return both results in one, as mteb merges: a subset in both is taken from ``second``, times add up.

    Raises :class:`DataError` where task, data revision or MTEB version differ.
    """
    for key in ("task_name", "dataset_revision", "mteb_version"):
        if first.get(key) != second.get(key):
            raise DataError(
                f"MTEB results with {key} {first.get(key)} and {second.get(key)} cannot share a file; write to another"
            )
    scores = dict(first["scores"])
    for split, entries in second["scores"].items():
        by_subset = {entry["hf_subset"]: entry for entry in [*scores.get(split, []), *entries]}
        scores[split] = list(by_subset.values())
    times = [result["evaluation_time"] for result in (first, second) if result.get("evaluation_time") is not None]
    return first | {"scores": scores, "evaluation_time": sum(times) if times else None}


def read_mteb_result(path: Path) -> Result:
    """Return an MTEB result from a file, for :func:`merge_results`; raise :class:`DataError` for anything else."""
    try:
        result = parse_json(read_bytes(path).decode("utf-8-sig"))
        subsets = [entry["hf_subset"] for entries in result["scores"].values() for entry in entries]
        seconds = result.get("evaluation_time")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not a result of MTEB ({type(error).__name__}: {error}); name another file") from error
    if not subsets or "task_name" not in result:
        raise DataError(f"{path}: not a result of MTEB (no task_name or no scores); name another file")
    if not all(isinstance(name, str) for name in subsets) or not isinstance(seconds, int | float | None):
        raise DataError(f"{path}: not a result of MTEB (hf_subset no text, or evaluation_time no number); fix it")
    return dict(result)


def result_path(folder: Path, model: str, revision: str, task: str) -> Path:
    """Return where MTEB's result cache in ``folder`` looks for the result of one revision of ``model``."""
    return folder / "results" / model.replace("/", "__").replace(" ", "_") / revision / f"{task}.json"


def _subset_name(task: str, subset: str | None) -> str:
    if task not in TASKS:
        raise UsageError(f"MTEB task {task!r}: unknown; expected one of {', '.join(TASKS)}")
    known = list(TASKS[task].subsets)
    name = subset.removesuffix(f"/{SPLIT}") if subset else known[0]
    if name not in known or (not subset and len(known) > 1):
        raise UsageError(f"MTEB task {task}: subset {subset!r}; expected one of {', '.join(known)}")
    return name


def _scores(inputs: Inputs, task: str, pairs: int) -> Result:
    """Return the scores of mteb's ``_evaluate_subset``: both conditions together, p-MRR, and each condition alone."""
    if len(set(inputs.query_of.values())) < len(inputs.query_of):
        raise DataError(f"{task}: several new topics belong to one base topic; MTEB has one for each")
    base = {qid: scores for qid, scores in inputs.base.items() if inputs.qrels.get(qid)}
    new = {qid: scores for qid, scores in inputs.new.items() if inputs.new_qrels.get(qid)}
    if not base or not new:
        raise DataError(f"{task}: no judged topics; give --qrels and --new-qrels for the runs' topics")
    both = base.keys() & new.keys()
    if len(both) != pairs:
        log.info(
            f"{task}: {len(both)} judged pairs, where MTEB's data have {pairs}; not comparable with MTEB's figures"
        )
    changes = p_mrr(base, new, inputs.ruled_out)
    if not changes:
        raise DataError(f"{task}: no documents that changed, so no p-MRR; give both qrels, or --qrel-diff")
    og, changed = _topic_scores(base, inputs.qrels, "-og"), _topic_scores(new, inputs.new_qrels, "-changed")
    base, new = _with_ending(base, "-og"), _with_ending(new, "-changed")
    return {
        **_summary(base | new, {name: og[name] | changed[name] for name in og}),
        "p-MRR": mean(changes),
        "og": _summary(base, og),
        "changed": _summary(new, changed),
        "main_score": mean(changes),
    }


def _with_ending(run: Run, ending: str) -> Run:
    return {f"{qid}{ending}": scores for qid, scores in run.items()}


def _topic_scores(run: Run, qrels: Qrels, ending: str) -> dict[str, PerTopic]:
    """Return ``ndcg_at_1`` and so on of every topic of ``run``, all of which are judged, by qid with ``ending``."""
    judged = {qid: qrels[qid] for qid in run}
    measures = {f"{name}_at_{k}": f"{measure}@{k}" for name, measure in NAMES.items() for k in K_VALUES}
    values = standard(_single_precision(run), judged, list(measures.values()))
    scores = {name: values[measure] for name, measure in measures.items()}
    first = {qid: _first_rank(run[qid], judged[qid]) for qid in run}
    for k in K_VALUES:
        scores[f"mrr_at_{k}"] = {qid: 1 / rank if rank <= k else 0.0 for qid, rank in first.items()}
    return {name: {f"{qid}{ending}": per_topic[qid] for qid in run} for name, per_topic in scores.items()}


def _single_precision(run: Run) -> Run:
    """Return the scores as mteb's pytrec_eval reads them; Heed's own figures distinguish doubles."""
    return {qid: {docid: float(np.float32(score)) for docid, score in scores.items()} for qid, scores in run.items()}


def _first_rank(scores: Mapping[str, float], grades: Mapping[str, int]) -> float:
    """Return the rank of the first relevant document; by doubles as in mteb, where trec_eval compares floats."""
    relevant = [docid for docid, grade in grades.items() if grade > 0 and docid in scores]
    return min(ranks(scores, relevant), default=math.inf)


def _summary(run: Run, per_topic: dict[str, PerTopic]) -> Result:
    """Return means and nAUC under mteb's names (``make_score_dict``); mteb rounds all means but those of MRR."""
    # summed as mteb sums: the last bit decides which way 0.184375 is rounded
    means = {name: sum(values.values()) / len(values) for name, values in per_topic.items()}
    rounded: Result = {name: value if name.startswith("mrr") else round(value, 5) for name, value in means.items()}
    return rounded | {"accuracy": rounded["recall_at_1"]} | _naucs(run, per_topic)


def _naucs(run: Run, per_topic: dict[str, PerTopic]) -> dict[str, float]:
    """Return normalised areas under the abstention curve: would leaving out unsure topics raise the mean?"""
    confidences = np.array([_confidence(list(scores.values())) for scores in run.values()])
    areas = {}
    for name, topics in per_topic.items():
        if name.startswith("hit_rate"):
            continue
        values = np.array([topics[qid] for qid in run])
        for kind, confidence in zip(CONFIDENCES, confidences.T, strict=True):
            area = _nauc(confidence, values)
            if not math.isnan(area):
                areas[f"nauc_{name}_{kind}"] = area
    return areas


def _confidence(scores: list[float]) -> tuple[float, float, float]:
    """Return the best score, the standard deviation, and the lead of the best score over the second."""
    best = sorted(scores, reverse=True)
    if not best:
        return 0.0, 0.0, 0.0
    return best[0], float(np.std(scores)), best[0] - best[1] if len(best) > 1 else 0.0


def _nauc(confidence: Array, values: Array) -> float:
    """Return mteb's ``nauc``, step by step: another order of sums would decide differently what is undefined."""
    rates = np.linspace(0, 1, 11)[:-1]
    oracle = _curve(values, values, rates)
    best, flat = np.trapezoid(oracle, rates), oracle[0] * (rates[-1] - rates[0])
    if best == flat:
        return math.nan
    return float((np.trapezoid(_curve(confidence, values, rates), rates) - flat) / (best - flat))


def _curve(confidence: Array, values: Array, rates: Array) -> Array:
    """Return the mean of ``values`` without the least sure topics, at each rate; equally sure ones share their mean."""
    order = np.argsort(confidence, stable=True)
    ordered = confidence[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, len(order)])
    shared = np.repeat(np.add.reduceat(values[order], starts) / sizes, sizes)
    return np.array([shared[min(round(rate * len(order)), len(order) - 1) :].mean() for rate in rates.tolist()])


def _rounded(scores: Result, places: int) -> Result:
    return {
        name: _rounded(value, places) if isinstance(value, dict) else round(float(value), places)
        for name, value in scores.items()
    }
