"""Results in MTEB's own form: what mteb 2.26.24 writes for FollowIR's and mFollowIR's tasks on the same runs.

MTEB's ``TaskResult`` has no place for a model's name; MTEB keeps it in the path, see
:func:`result_path`, and in a ``model_meta.json`` beside it, which is not written here.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heed.errors import HeedError
from heed.evaluation.comparison import Inputs
from heed.io.files import parse_json, read_bytes, write_json
from heed.measures.judged import PerTopic
from heed.measures.pairwise import mean, no_longer_relevant, p_mrr, standard
from heed.progress import log
from heed.ranking import ranks
from heed.types import Qrels, Run

if TYPE_CHECKING:
    from heed.measures.judged import Array

Result = dict[str, Any]

MTEB_VERSION = "2.26.24"  # whose rules are followed; on ties, versions before PR 5241 give another p-MRR
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


def mteb_result(task: str, subset: str | None, given: Inputs, evaluation_time: float | None = None) -> Result:
    """The JSON of MTEB's ``TaskResult`` for one subset of ``task``, as mteb would write it to disk.

    ``subset`` is MTEB's ``hf_subset``, also as ``zho/test``; None will do where the task has only
    one. Of ``given`` the base and new run, both qrels and ``changed`` are used (``changed`` follows
    from the qrels where it is empty). As in mteb, topics without judgements are left out of
    everything, nDCG, MAP, recall, precision, hit rate and MRR are given at MTEB's k for the
    original topics (``og``), the new ones (``changed``) and, above those, both together; p-MRR is
    the main score; means are rounded to 5 places, then everything to 6. The nAUC of these measures
    are mteb's too; one that is not defined, which mteb writes as NaN, is left out, for NaN is no
    JSON. ``date`` and ``kg_co2_emissions`` are null, and so is ``evaluation_time`` unless given in seconds.

    Raises :class:`HeedError` for an unknown task or subset, for runs without judgements or changed
    documents, and for several new topics of one base topic, which these tasks do not have. Another
    number of pairs than the task has is told on stderr: such a result is not comparable with MTEB's.
    """
    name = _subset_name(task, subset)
    languages, pairs = TASKS[task].subsets[name]
    about = {"hf_subset": name, "languages": list(languages), "mteb_version": MTEB_VERSION}
    entry = _rounded(_scores(given, f"{task} {name}", pairs), 6) | about
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
    """Both results in one, as mteb merges: a subset in both is taken from ``second``, times add up.

    Raises :class:`HeedError` where task, data revision or MTEB version differ.
    """
    for key in ("task_name", "dataset_revision", "mteb_version"):
        if first.get(key) != second.get(key):
            raise HeedError(
                f"MTEB results with {key} {first.get(key)} and {second.get(key)} cannot share a file; write to another"
            )
    scores = dict(first["scores"])
    for split, entries in second["scores"].items():
        by_subset = {entry["hf_subset"]: entry for entry in [*scores.get(split, []), *entries]}
        scores[split] = list(by_subset.values())
    times = [one["evaluation_time"] for one in (first, second) if one.get("evaluation_time") is not None]
    return first | {"scores": scores, "evaluation_time": sum(times) if times else None}


def read_mteb_result(path: Path) -> Result:
    """An MTEB result from a file, for :func:`merge_results`; a :class:`HeedError` for anything else."""
    try:
        result = parse_json(read_bytes(path).decode("utf-8-sig"))
        subsets = [entry["hf_subset"] for entries in result["scores"].values() for entry in entries]
        seconds = result.get("evaluation_time")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HeedError(f"{path}: not a result of MTEB ({type(error).__name__}: {error}); name another file") from error
    if not subsets or "task_name" not in result:
        raise HeedError(f"{path}: not a result of MTEB (no task_name or no scores); name another file")
    if not all(isinstance(name, str) for name in subsets) or not isinstance(seconds, int | float | None):
        raise HeedError(f"{path}: not a result of MTEB (hf_subset no text, or evaluation_time no number); mend it")
    return dict(result)


def write_mteb_result(path: Path, result: Result) -> None:
    """Write ``result`` as JSON, whole or not at all; what was there is replaced."""
    write_json(path, result)


def result_path(folder: Path, model: str, revision: str, task: str) -> Path:
    """Where MTEB's result cache in ``folder`` looks for the result of one revision of ``model``."""
    return folder / "results" / model.replace("/", "__").replace(" ", "_") / revision / f"{task}.json"


def _subset_name(task: str, subset: str | None) -> str:
    if task not in TASKS:
        raise HeedError(f"MTEB task {task!r}: not known here; expected one of {', '.join(TASKS)}")
    known = list(TASKS[task].subsets)
    name = subset.removesuffix(f"/{SPLIT}") if subset else known[0]
    if name not in known or (not subset and len(known) > 1):
        raise HeedError(f"MTEB task {task}: subset {subset!r}; expected one of {', '.join(known)}")
    return name


def _scores(given: Inputs, where: str, pairs: int) -> Result:
    """What mteb's ``_evaluate_subset`` gives: both conditions together, p-MRR, and each condition alone."""
    if len(set(given.query_of.values())) < len(given.query_of):
        raise HeedError(f"{where}: several new topics belong to one base topic; MTEB has one for each")
    base = {qid: scores for qid, scores in given.base.items() if given.qrels.get(qid)}
    new = {qid: scores for qid, scores in given.new.items() if given.new_qrels.get(qid)}
    if not base or not new:
        raise HeedError(f"{where}: no judged topics; give --qrels and --new-qrels for the runs' topics")
    both = base.keys() & new.keys()
    if len(both) != pairs:
        log.info(
            f"{where}: {len(both)} judged pairs, where MTEB's data have {pairs}; not comparable with MTEB's figures"
        )
    follows = p_mrr(base, new, given.changed or no_longer_relevant(given.qrels, given.new_qrels))
    if not follows:
        raise HeedError(f"{where}: no documents that changed, so no p-MRR; give both qrels, or --qrel-diff")
    old, now = _per_topic(base, given.qrels, "-og"), _per_topic(new, given.new_qrels, "-changed")
    together = _group({**_named(base, "-og"), **_named(new, "-changed")}, {key: old[key] | now[key] for key in old})
    main = mean(follows)
    alone = {"og": _group(_named(base, "-og"), old), "changed": _group(_named(new, "-changed"), now)}
    return together | {"p-MRR": main} | alone | {"main_score": main}


def _named(run: Run, ending: str) -> Run:
    return {f"{qid}{ending}": scores for qid, scores in run.items()}


def _per_topic(run: Run, qrels: Qrels, ending: str) -> dict[str, PerTopic]:
    """``ndcg_at_1`` and so on of every topic of ``run``, all of which are judged."""
    judged = {qid: qrels[qid] for qid in run}
    names = {f"{theirs}_at_{k}": f"{ours}@{k}" for theirs, ours in NAMES.items() for k in K_VALUES}
    values = standard(_single_precision(run), judged, list(names.values()))
    first = {qid: _first_rank(scores, judged[qid]) for qid, scores in run.items()}
    found = {key: values[name] for key, name in names.items()}
    found |= {f"mrr_at_{k}": {qid: 1 / rank if rank <= k else 0.0 for qid, rank in first.items()} for k in K_VALUES}
    return {key: {f"{qid}{ending}": topic[qid] for qid in run} for key, topic in found.items()}


def _single_precision(run: Run) -> Run:
    """The scores as mteb's pytrec_eval reads them; Heed's own figures keep doubles apart."""
    import numpy as np

    return {qid: {docid: float(np.float32(score)) for docid, score in scores.items()} for qid, scores in run.items()}


def _first_rank(scores: Mapping[str, float], grades: Mapping[str, int]) -> float:
    """The rank of the first relevant document; by doubles as mteb has it, where trec_eval compares floats."""
    relevant = [docid for docid, grade in grades.items() if grade > 0 and docid in scores]
    return min(ranks(scores, relevant), default=math.inf)


def _group(run: Run, per_topic: dict[str, PerTopic]) -> Result:
    """Means and nAUC under mteb's names (``make_score_dict``); mteb rounds all means but those of MRR."""
    # summed as mteb sums: the last bit decides which way 0.184375 is rounded
    means = {key: sum(values.values()) / len(values) for key, values in per_topic.items()}
    found: Result = {key: value if key.startswith("mrr") else round(value, 5) for key, value in means.items()}
    return found | {"accuracy": found["recall_at_1"]} | _naucs(run, per_topic)


def _naucs(run: Run, per_topic: dict[str, PerTopic]) -> dict[str, float]:
    """Normalised areas under the abstention curve: would leaving out unsure topics raise the mean?"""
    import numpy as np

    sure = np.array([_confidence(list(scores.values())) for scores in run.values()])
    found = {}
    for key, topics in per_topic.items():
        if key.startswith("hit_rate"):
            continue
        values = np.array([topics[qid] for qid in run])
        for name, column in zip(CONFIDENCES, sure.T, strict=True):
            area = _nauc(column, values)
            if not math.isnan(area):
                found[f"nauc_{key}_{name}"] = area
    return found


def _confidence(scores: list[float]) -> tuple[float, float, float]:
    import numpy as np

    best = sorted(scores, reverse=True)
    if not best:
        return 0.0, 0.0, 0.0
    return best[0], float(np.std(scores)), best[0] - best[1] if len(best) > 1 else 0.0


def _nauc(sure: "Array", values: "Array") -> float:
    """As mteb's ``nauc``, step by step: another order of sums would decide differently what is undefined."""
    import numpy as np
    from sklearn.metrics import auc

    rates = np.linspace(0, 1, 11)[:-1]
    oracle = _curve(values, values, rates)
    best, flat = auc(rates, oracle), oracle[0] * (rates[-1] - rates[0])
    if best == flat:
        return math.nan
    return float((auc(rates, _curve(sure, values, rates)) - flat) / (best - flat))


def _curve(sure: "Array", values: "Array", rates: "Array") -> "Array":
    """The mean of ``values`` without the least sure topics, at each rate; equally sure ones share their mean."""
    import numpy as np

    order = np.argsort(sure, stable=True)
    starts = np.flatnonzero(np.r_[True, sure[order][1:] != sure[order][:-1]])
    sizes = np.diff(np.r_[starts, len(order)])
    shared = np.repeat(np.add.reduceat(values[order], starts) / sizes, sizes)
    return np.array([shared[min(round(rate * len(order)), len(order) - 1) :].mean() for rate in rates.tolist()])


def _rounded(scores: Result, places: int) -> Result:
    return {
        key: _rounded(value, places) if isinstance(value, dict) else round(float(value), places)
        for key, value in scores.items()
    }
