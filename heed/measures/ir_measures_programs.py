"""The programs behind ir_measures' names: which one computes a measure here, and its values in the one order."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from heed.errors import UsageError
from heed.measures.measure_names import SUCH_AS, Name
from heed.progress import warn
from heed.ranking import ranked
from heed.types import UNJUDGED, Qrels, Run, subtopics_of

TREC_EVAL = re.compile(r"[A-Za-z_]+?([._]\d+(\.\d+)?(,\d+(\.\d+)?)*)?")  # trec_eval's names: P_5, iprec_at_recall_0.10


def provided(name: Name) -> tuple[Any, Any]:
    """Return the provider of ir_measures that computes a measure here, and ir_measures' object for it."""
    import ir_measures

    measure = getattr(ir_measures, name.family, None)
    if not isinstance(measure, ir_measures.measures.Measure):
        raise UsageError(f"measure {name.text!r}: unknown; {SUCH_AS}")
    unknown = [parameter for parameter in name.parameters if parameter not in measure.SUPPORTED_PARAMS]
    if unknown:
        raise UsageError(f"measure {name.text}: unknown parameter {unknown[0]}")
    if name.parameters:
        measure = measure(**name.parameters)
    if name.cutoff is not None:
        measure = measure @ (name.cutoff if name.family == "IPrec" else name.depth())
    candidates = (ir_measures.pytrec_eval, *ir_measures.DefaultPipeline.providers)
    try:
        providers = [each for each in candidates if each.supports(measure)]
    except AssertionError as error:  # ir_measures' own for a parameter that is missing or out of place
        raise UsageError(f"measure {name.text}: {_problem(str(error))}; {SUCH_AS}") from error
    installed = next((each for each in providers if each.is_available()), None)
    if not installed:
        how = " or ".join(str(each.install_instructions()) for each in providers)
        reason = f"its program is not installed: {how}" if providers else "no program of ir_measures computes it so"
        raise UsageError(f"measure {name.text}: {reason}")
    return installed, measure


def from_trec_eval(name: str) -> str:
    """Return ir_measures' name for one of trec_eval's: AP for ``map``, P@5 for ``P_5``; any other name as it is."""
    if not TREC_EVAL.fullmatch(name) or ("_" not in name and not name.islower()):
        return name  # ir_measures' parser reads P_5x as P_5
    import ir_measures

    try:
        [measure] = ir_measures.parse_trec_measure(name)
    except ValueError:  # it is none of trec_eval's, or stands for several
        return name
    return str(measure)


def knows(name: str) -> bool:
    """Return whether ir_measures has a measure of this name, cutoff aside."""
    import ir_measures

    return isinstance(getattr(ir_measures, name.partition("@")[0], None), ir_measures.measures.Measure)


def _problem(error: str) -> str:
    if error.startswith("unsupported") and "cutoff" in error:
        return "takes no cutoff"
    missing = re.search(r"invalid param (\w+)=<object", error)
    if missing:
        return "needs a cutoff, such as @10" if missing[1] == "cutoff" else f"needs the parameter {missing[1]}"
    return error


def computed(provider: Any, measures: Sequence[Any], run: Run, qrels: Qrels) -> Iterator[tuple[str, Any, float | None]]:
    """Yield qid, measure and value for every topic of both ``qrels`` and ``run``, computed by one of the providers.

    None is the Accuracy of a list that is relevant throughout. Warns where infAP is AP, since no document is pooled and
    not judged, which is the grade -1.
    """
    inferred = [str(measure) for measure in measures if str(measure).startswith("infAP")]
    if inferred and qrels and not any(UNJUDGED in grades.values() for grades in qrels.values()):
        warn(f"{inferred[0]}: is AP, since no document has the grade {UNJUDGED}, pooled and not judged (docs/pools.md)")
    if provider.NAME == "pytrec_eval":
        lists = {qid: _for_single_precision(run[qid]) for qid in qrels if run.get(qid)}
        judgements, qids = {qid: _with_a_level(grades) for qid, grades in qrels.items()}, {qid: qid for qid in qrels}
    else:  # scores without ties, since each breaks them in its own way, and numbers as qids, which gdeval wants
        qids = {str(number): qid for number, qid in enumerate(qrels, 1)}
        lists = {number: _by_rank(run[qid]) for number, qid in qids.items() if run.get(qid)}
        judgements = _judgements({number: qrels[qids[number]] for number in lists}, provider.NAME == "pyndeval")
    if provider.NAME == "gdeval" and any(grade > 4 for grades in qrels.values() for grade in grades.values()):
        raise UsageError(f"measure {measures[0]}: takes grades to 4 alone; some are above")
    form = _for_ranx if provider.NAME == "ranx" else lambda group: group
    undefined = (ZeroDivisionError,) if provider.NAME == "accuracy" else ()  # by it, of lists relevant throughout
    groups = [{qid: scores} for qid, scores in lists.items()] if undefined else filter(None, [lists])
    for group, chosen in product(groups, [[measure] for measure in measures] if undefined else [list(measures)]):
        try:
            for metric in provider.evaluator(chosen, form(judgements)).iter_calc(form(group)):
                if metric.query_id in group:
                    yield qids[metric.query_id], metric.measure, 0.0 if np.isnan(metric.value) else metric.value
        except undefined:
            yield qids[next(iter(group))], chosen[0], None


def _judgements(qrels: Qrels, by_subtopic: bool) -> Any:
    """Return ir_measures' judgements, no grade below 0; a document comes once for each subtopic if ``by_subtopic``."""
    import ir_measures

    return [
        ir_measures.Qrel(qid, docid, max(grade, 0), subtopic)
        for qid, grades in qrels.items()
        for subtopic, of_subtopic in ((by_subtopic and subtopics_of(grades)) or {"0": grades}).items()
        for docid, grade in of_subtopic.items()
    ]


def _for_ranx(rows: Any) -> Any:
    """Return judgements, or scores, as a frame whose ids are objects: ranx refuses the strings of pandas 3."""
    import ir_measures
    import pandas as pd

    if isinstance(rows, dict):
        rows = [ir_measures.ScoredDoc(qid, *scored) for qid, scores in rows.items() for scored in scores.items()]
    return pd.DataFrame(rows).astype({"query_id": object, "doc_id": object})


def _with_a_level(grades: Mapping[str, int]) -> Mapping[str, int]:
    """Return grades with the same values for which pytrec_eval has levels of relevance: without, it ends the process.

    Others stay negative: Bpref and infAP leave out the documents with -1 and -2.
    """
    return dict.fromkeys(grades, 0) if all(grade < 0 for grade in grades.values()) else grades


def _for_single_precision(scores: dict[str, float]) -> dict[str, float]:
    """Return scores that keep their order when pytrec_eval rounds them to single precision.

    trec_eval 10 reads doubles, pytrec_eval still floats: 1 and 1 + 1e-12 would tie. Only then are the
    scores replaced, by ranks from the end.
    """
    values = np.sort(np.fromiter(scores.values(), dtype=np.float64, count=len(scores)))
    with np.errstate(over="ignore"):
        singles = values.astype(np.float32)
    tie = (singles[1:] == singles[:-1]) & (values[1:] != values[:-1])
    return _by_rank(scores) if tie.any() else scores


def _by_rank(scores: Mapping[str, float]) -> dict[str, float]:
    """Return scores without ties, above 0: compat takes 0 for the score of a judged document that the list lacks."""
    return {docid: float(len(scores) - rank) for rank, docid in enumerate(ranked(scores))}
