"""All measures of Heed by name: a constant table, made of those that each family declares in its module."""

import re

from heed.measures import contrast, diversity, pairwise, single_run, three_runs
from heed.measures.definition import SUBTOPICS, Measure

FAMILIES = (single_run, diversity, pairwise, three_runs, contrast)
BUILT_IN = {measure.name: measure for family in FAMILIES for measure in family.MEASURES}
# of ir_measures
BY_SUBTOPIC = ("ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")
COMING = tuple(measure for measure in BUILT_IN.values() if measure.takes and not measure.by_name)  # with each pair


def find(measure: str | Measure) -> Measure | None:
    """Return a measure by its name, cutoff and parameters aside; None for ir_measures' own and for unknown names."""
    return measure if isinstance(measure, Measure) else BUILT_IN.get(_family(measure))


def is_of_pair(measure: str | Measure) -> bool:
    """Return whether a measure is one of two runs or three, such as ``FlipRate`` and ``INSTFOL@20``."""
    declared = find(measure)
    return declared is not None and declared.of != "run"


def needs_subtopics(measure: str | Measure) -> bool:
    """Return whether a measure needs judgements by subtopic."""
    declared = find(measure)
    return declared.needs == SUBTOPICS if declared else _family(str(measure)) in BY_SUBTOPIC


def with_companions(measure: str | Measure) -> list[str | Measure]:
    """Return a measure, and those that come with it."""
    return [measure, *(each.name for each in BUILT_IN.values() if each.comes_with == str(measure))]


def _family(name: str) -> str:
    return re.split(r"[(@]", name, maxsplit=1)[0].replace("α", "alpha")


def help_text() -> str:
    """Return in one line what can be asked for by name."""
    names = ", ".join(
        example
        for measure in BUILT_IN.values()
        if measure.by_name
        for example in (measure.examples or (measure.name,))[:1]
    )
    return f"a name of ir_measures or trec_eval, such as nDCG@10 and P_5, {names}, or package.module:function, yours"
