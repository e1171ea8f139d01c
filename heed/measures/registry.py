"""Measures by their names: Heed's own, those of ir_measures' programs, the user's, and the values of one run by all."""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from operator import attrgetter
from typing import Any

import numpy as np

from heed.errors import UsageError, did_you_mean
from heed.extras import OBJECT, named_object, source_digest
from heed.measures import contrasts, pairwise, single_run
from heed.measures.per_topic import SUCH_AS, Measure, Name, PerTopic, parse_name
from heed.progress import warn
from heed.ranking import ranked
from heed.types import UNJUDGED, Qrels, Run, subtopics_of

BUILT_IN = {each.name: each for each in (*single_run.MEASURES, *pairwise.MEASURES, *contrasts.MEASURES)}
# of ir_measures
BY_SUBTOPIC = ("ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")
COMING = tuple(measure for measure in BUILT_IN.values() if measure.takes and not measure.by_name)  # with each pair
TREC_EVAL = re.compile(r"[A-Za-z_]+?([._]\d+(\.\d+)?(,\d+(\.\d+)?)*)?")  # trec_eval's names: P_5, iprec_at_recall_0.10
NAME = re.compile(r"[A-Za-z][\w.+-]*(@[1-9]\d*)?")  # no spaces, which names made by Heed have: "p-MRR in neither"
Function = Callable[..., PerTopic]
AnyMeasure = str | Measure | Function  # a name, a declared measure, or a function with a name
JUDGED = "Judged@20"  # the share judged of a run's first 20 documents, without which its nDCG cannot be read
STANDARD = ("nDCG@20", JUDGED, "AP", "R@100", "R@1000")  # NeuCLIR's official measures (guidelines 2022, 2023)


def find(measure: str | Measure) -> Measure | None:
    """Return a measure by its name, cutoff and parameters aside; None for ir_measures' own and for unknown names."""
    return measure if isinstance(measure, Measure) else BUILT_IN.get(_family(measure))


def is_of_pair(measure: str | Measure) -> bool:
    """Return whether a measure is one of two runs or three, such as ``FlipRate`` and ``INSTFOL@20``."""
    declared = find(measure)
    return declared is not None and declared.of != "run"


def needs_subtopics(measure: str | Measure) -> bool:
    """Return whether a measure needs judgements by subtopic."""
    return _family(str(measure)) in BY_SUBTOPIC


def with_companions(measure: str | Measure) -> list[str | Measure]:
    """Return a measure, and those that come with it."""
    return [measure, *(each.name for each in BUILT_IN.values() if each.comes_with == str(measure))]


def _family(name: str) -> str:
    return re.split(r"[(@]", name, maxsplit=1)[0].replace("α", "alpha")


def help_text() -> str:
    """Return in one line what can be asked for by name."""
    names = ", ".join(measure.example or measure.name for measure in BUILT_IN.values() if measure.by_name)
    return f"a name of ir_measures or trec_eval, such as nDCG@10 and P_5, {names}, or package.module:function, yours"


def provided(name: Name) -> tuple[Any, Any]:
    """Return the provider of ir_measures that computes a measure here, and ir_measures' object for it."""
    import ir_measures

    measure = getattr(ir_measures, name.family, None)
    if not isinstance(measure, ir_measures.measures.Measure):
        rest = name.text.removeprefix(name.family)
        spelt = {each: f"{near}{rest}" for each, near in _by_lower_case().items()}
        meant = did_you_mean(name.family.casefold(), spelt, cutoff=0.7) or SUCH_AS
        raise UsageError(f"measure {name.text!r}: unknown; {meant}")
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


def _by_lower_case() -> dict[str, str]:
    """Return the names of all measures without their cutoffs, by their spelling in small letters."""
    import ir_measures

    known = {each.casefold(): measure.NAME for each, measure in ir_measures.measures.registry.items()}
    return known | {each.casefold(): each for each in BUILT_IN}


def _in_any_case(name: str) -> str:
    """Return the name of a measure that is written in other capitals, as ``ndcg@10``; another name as it is."""
    family = re.split(r"[(@]", name, maxsplit=1)[0]
    if find(name) or knows(family):
        return name
    return f"{_by_lower_case().get(family.casefold(), family)}{name.removeprefix(family)}"


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
    by_trec_eval = provider.NAME == "pytrec_eval"
    without_ties = _for_single_precision if by_trec_eval else _by_rank  # each program breaks ties in its own way
    qids = {str(number): qid for number, qid in enumerate(qrels, 1) if run.get(qid)}  # gdeval wants numbers
    lists = {number: without_ties(run[qid]) for number, qid in qids.items()}
    judged = {number: _with_a_level(qrels[qid]) if by_trec_eval else qrels[qid] for number, qid in qids.items()}
    judgements = judged if by_trec_eval else _judgements(judged, provider.NAME == "pyndeval")
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


def _with_a_level(grades: dict[str, int]) -> dict[str, int]:
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


def measure(name: str, *, lower_is_better: bool = False, config: Any = None) -> Callable[[Function], Measure]:
    """Return a decorator that declares a function as the measure ``name``.

    The function is one of a run, ``(run, qrels) -> {qid: value}``, or of a pair of runs, ``(base, new, qrels,
    new_qrels) -> {qid: value}``, all under the new run's qids; a topic without a value is left out. ``config`` is JSON
    data that says what decides the values beside runs, judgements and the function's source: with it, results are used
    again as long as both are the same (see :func:`heed.extras.source_digest`), without it they are computed anew each
    time. Raises :class:`UsageError` for a name that exists already, or that no table can have, and for other arguments.
    """
    return partial(_declared, name=name, lower_is_better=lower_is_better, config=config)


def as_measure(measure: AnyMeasure) -> str | Measure:
    """Return a measure that is given in one of three ways: by name, as an object, or as ``package.module:function``.

    A name may be trec_eval's, as ``ndcg_cut_10``, or in small letters: the measure has ir_measures', nDCG@10. A plain
    function is called by its own name. Raises :class:`UsageError` as :func:`measure` does.
    """
    if isinstance(measure, str):
        return as_measure(named_object(measure)) if OBJECT.fullmatch(measure) else _in_any_case(from_trec_eval(measure))
    if isinstance(measure, Measure):
        return measure
    if not callable(measure) or isinstance(measure, type):
        raise UsageError(f"measure {measure!r:.60}: expected a name, or a function (run, qrels) -> {{qid: value}}")
    return _declared(measure, getattr(measure, "__name__", ""), lower_is_better=False, config=None)


def as_measures(measures: Sequence[AnyMeasure]) -> list[str | Measure]:
    """Return each measure once; raise :class:`UsageError` for two that have one name."""
    by_name: dict[str, str | Measure] = {}
    for measure in map(as_measure, measures):
        if by_name.setdefault(str(measure), measure) != measure:
            raise UsageError(f"measure {measure}: two functions have this name; give one of them another")
    return list(by_name.values())


def _declared(function: Function, name: Any, lower_is_better: bool, config: Any) -> Measure:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UsageError(f"measure {name!r}: expected a name of letters, digits and . + _ -, perhaps with @5")
    if find(name) or knows(name):
        raise UsageError(f"measure {name}: exists already, in Heed or ir_measures; give yours another name")
    count = _positional(function)
    if count not in (2, 4):
        raise UsageError(
            f"measure {name}: its function takes {count} arguments; expected (run, qrels), or of a pair (base, new, "
            "qrels, new_qrels)"
        )
    try:
        json.dumps(config)
    except (TypeError, ValueError) as error:
        raise UsageError(f"measure {name}: its config is no JSON data ({error}); use texts, numbers, lists") from error
    digest, of_pair = source_digest(function), count == 4
    return Measure(
        name=name,
        function=function,
        of="pair" if of_pair else "run",
        takes=attrgetter("base", "new", "qrels", "new_qrels") if of_pair else None,
        lower_is_better=bool(lower_is_better),
        is_own=True,
        config=None if config is None or digest is None else [config, digest],
    )


def _positional(function: Function) -> int:
    """Return the number of arguments that a function is called with, those with a default aside."""
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in kinds and each.default is each.empty for each in parameters)


def standard(run: Run, qrels: Qrels, measures: Sequence[str | Measure] = STANDARD) -> dict[str, PerTopic]:
    """Return ``measure -> qid -> value`` for every topic of ``qrels``; a topic that the run lacks counts 0.

    ``measures`` are the user's own, and names: ir_measures' own, such as ``nDCG@20`` or ``AP(rel=2)``, and Heed's:
    ``PairwiseAccuracy`` (by pair of topics), ``WinRate``, ``WinRate@3`` (the third step), ``MonotonicOrder``, ``dR@1``
    (ΔR@1), ``dMRR@10`` and ``RightRank@10`` (see :mod:`heed.measures.contrasts`), where topics without a contrast have
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


def check_pair(
    measures: Sequence[str | Measure], traps: bool, reverse: bool, corpus_size: bool, collection: bool = False
) -> None:
    """Raise :class:`UsageError` for measures that need what a comparison has not, or a ``collection``."""
    field = "traps" if collection else "traps=FILE"
    needs = {"NFR": (traps, f"{field}, documents with what is negated"), "IRS": (corpus_size, "corpus_size=N")}
    for measure in measures:
        of_three = declared.of == "three" if (declared := find(measure)) else False
        has, needed = needs.get(str(measure), (reverse or not of_three, "runs under a reversed instruction"))
        if not has:
            absent = "collection has not; heed compare takes them" if collection else "comparison has not"
            raise UsageError(f"measure {measure}: needs {needed}, which this {absent}")


def _computed_here(measure: str | Measure) -> Measure | None:
    """Return a measure that is computed here; None for ir_measures', and where a parameter is ir_measures' alone."""
    declared = find(measure)
    if declared is None or declared.of != "run" or not declared.by_name or "judged_only" in str(measure):
        return None
    return declared
