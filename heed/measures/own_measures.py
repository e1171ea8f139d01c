"""The user's own measures: functions of a run, or of a pair of runs, with a name."""

import inspect
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from heed.errors import UsageError
from heed.extras import OBJECT, named_object, source_digest
from heed.measures.definition import Measure
from heed.measures.ir_measures_programs import from_trec_eval, knows
from heed.measures.per_topic import PerTopic
from heed.measures.registry import find

NAME = re.compile(r"[A-Za-z][\w.+-]*(@[1-9]\d*)?")  # no spaces, which names made by Heed have: "p-MRR in neither"
Function = Callable[..., PerTopic]
AnyMeasure = str | Measure | Function  # a name, a declared measure, or a function with a name


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

    A name may be trec_eval's, as ``ndcg_cut_10``: the measure has ir_measures', nDCG@10. A plain function is called by
    its own name. Raises :class:`UsageError` as :func:`measure` does.
    """
    if isinstance(measure, str):
        return as_measure(named_object(measure)) if OBJECT.fullmatch(measure) else from_trec_eval(measure)
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
