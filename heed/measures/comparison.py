"""Compare runs of paired topics, two or three by each measure, or all systems of a results folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, NotRequired, TypedDict

from heed.errors import DataError
from heed.formats.pairs import pair, qrels_for, renamed
from heed.formats.run_warnings import warn_of_tags
from heed.formats.trec_files import read_given_run
from heed.measures import (
    JUDGED,
    Judged,
    PerTopic,
    Variant,
    flip_rate,
    in_no_list,
    in_one_list,
    instfol,
    irs,
    mean,
    mean_rank,
    nfr,
    no_longer_relevant,
    p_mrr,
    robustness,
    sicr,
    standard,
    still_relevant,
    wise,
)
from heed.measures.comparison_warnings import (
    warn_of_depths,
    warn_of_foreign_ids,
    warn_of_judgements,
    warn_of_no_values,
    warn_of_one_sided,
    warn_of_same_lists,
    warn_of_same_runs,
    warn_of_unseen,
)
from heed.measures.judged_ranks import difference
from heed.measures.measure_names import parse_name
from heed.measures.significance import fisher, holm, interval, wilcoxon
from heed.measures.summary import KEPT, P_MRR, SELECTIVITY, lower_is_better
from heed.types import Qrels, Run

MEASURES = ("nDCG@20", JUDGED, "AP")  # standard measures of each run, beside the pairwise ones
ROBUSTNESS, ROBUSTNESS_OF = "Robustness@10", "nDCG@10"  # InfoSearch's

# FollowIR and mFollowIR; InfoSearch; FollowTable
CONDITIONS = (("original", "changed"), ("query", "original", "reversed"), ("query", "original"))
FLIPS, INSTFOL = "FlipRate", "INSTFOL"  # of both runs, computed where asked for: MultiConIR's and IFIR's
PAIRWISE = (P_MRR, KEPT, SELECTIVITY, "IRS", "WISE", "SICR")  # by Wilcoxon, the others by Fisher, as mFollowIR did

Absence = Literal["in_neither", "in_one_only"]


class Inputs(NamedTuple):
    """Runs and judgements, all under the new run's qids.

    ``query_of`` names each topic's query; ``changed`` and ``traps`` are given lists (qid -> docids)
    or empty; ``corpus_size`` is 0 where unknown,
    ``reverse`` None where there is no third run.
    """

    base: Run
    new: Run
    qrels: Qrels
    new_qrels: Qrels
    query_of: Mapping[str, str]
    reverse: Run | None = None
    changed: Mapping[str, set[str]] = {}
    traps: Mapping[str, set[str]] = {}
    corpus_size: int = 0


class Statistics(TypedDict):
    """A mean over ``n`` topics with its 95% interval, and the shares of topics above, at and below 0.

    ``in_neither`` and ``in_one_only``, of some measures: the mean shares of their documents that :func:`absent` counts.
    """

    mean: float
    n: int
    in_neither: NotRequired[float]
    in_one_only: NotRequired[float]
    low: float
    high: float
    up: float
    equal: float
    down: float


def paired(base: Run, new: Run, pairs: Mapping[str, str], qrels: Qrels, new_qrels: Qrels) -> Inputs:
    """Return two runs and their judgements under the new run's qids; ``pairs`` maps them to the base run's.

    Judged topics that have no pair are logged.
    """
    unchanged = {qid: qid for qid in pairs}
    return Inputs(
        base=renamed(base, pairs),
        new=renamed(new, unchanged),
        qrels=qrels_for(qrels, pairs),
        new_qrels=qrels_for(new_qrels, unchanged),
        query_of=pairs,
    )


def compare(inputs: Inputs, measures: Sequence[str] = MEASURES, variant: Variant = "paper") -> dict[str, PerTopic]:
    """Return ``measure -> qid -> value`` for every measure that ``inputs`` allow, sorted by qid.

    They are those of :func:`compare_pair` and the standard ``measures``, which need judgements of their run.
    """
    of_both = [measure for measure in measures if is_of_both(measure)]
    of_each = [measure for measure in measures if not is_of_both(measure)]
    return compare_pair(inputs, of_both, variant) | _by_qid(_standard(inputs, of_each))


def compare_pair(inputs: Inputs, measures: Sequence[str], variant: Variant = "paper") -> dict[str, PerTopic]:
    """Return the pairwise measures that ``inputs`` allow, and those of ``measures``, of both runs, sorted by qid.

    p-MRR needs documents that changed; p-MRR kept and selectivity, beside it, judgements of both runs; IRS the size of
    the corpus as well; NFR traps; WISE and SICR a reversed run. ``measures`` are ``FlipRate`` and ``INSTFOL@20``,
    computed where they are asked for.
    """
    unwanted = inputs.changed or no_longer_relevant(inputs.qrels, inputs.new_qrels)
    wanted = still_relevant(inputs.qrels, inputs.new_qrels)
    values = _selective(inputs, unwanted, wanted) | {"NFR": nfr(inputs.base, inputs.new, inputs.traps)}
    if inputs.corpus_size and inputs.new_qrels:
        judged = {qid: wanted.get(qid, set()) for qid in inputs.qrels if qid in inputs.new_qrels}
        values["IRS"] = irs(inputs.base, inputs.new, judged, unwanted, inputs.corpus_size, variant)
    if inputs.reverse:
        values |= _three_runs((inputs.base, inputs.new, inputs.reverse), wanted, unwanted, variant)
    return _by_qid(values | _of_both(inputs, measures))


def _selective(inputs: Inputs, unwanted: Judged, wanted: Judged) -> dict[str, PerTopic]:
    """Return p-MRR and, where there is one, p-MRR kept and their difference (:func:`heed.measures.selectivity`)."""
    fallen = p_mrr(inputs.base, inputs.new, unwanted)
    kept = p_mrr(inputs.base, inputs.new, wanted) if fallen else {}
    return {P_MRR: fallen, KEPT: kept, SELECTIVITY: difference(fallen, kept)}


def _by_qid(values: Mapping[str, PerTopic]) -> dict[str, PerTopic]:
    return {measure: dict(sorted(per_topic.items())) for measure, per_topic in values.items() if per_topic}


def is_of_both(measure: str) -> bool:
    """Whether a measure that is asked for by name compares two runs: ``FlipRate``, ``INSTFOL@20``."""
    return measure.partition("@")[0] in (FLIPS, INSTFOL)


def _of_both(inputs: Inputs, measures: Sequence[str]) -> dict[str, PerTopic]:
    values = {}
    for name in map(parse_name, measures):
        name.only(cutoff=name.family == INSTFOL)
        if name.family == FLIPS:
            values[name.text] = flip_rate(inputs.base, inputs.new, inputs.qrels or inputs.new_qrels)
        else:
            new_grades = inputs.new_qrels or inputs.qrels
            values[name.text] = instfol(inputs.base, inputs.new, inputs.qrels, new_grades, name.depth())
    warn_of_no_values(values)
    return values


def absent(inputs: Inputs, values: Mapping[str, PerTopic]) -> dict[str, dict[Absence, PerTopic]]:
    """Return for p-MRR, p-MRR kept, IRS, WISE and SICR, those in ``values``, the shares of their documents not seen.

    ``in_neither``: in none of the lists, so that the measures rank them behind all; ``in_one_only``, of p-MRR: in one
    of the two lists, so that they move to or from the rank behind the other.
    """
    judged = _judged(inputs)
    shares: dict[str, dict[Absence, PerTopic]] = {
        measure: {"in_neither": in_no_list(*judged[measure])} for measure in values if measure in judged
    }
    if P_MRR in shares:
        shares[P_MRR]["in_one_only"] = in_one_list(inputs.base, inputs.new, judged[P_MRR][1])
    return shares


def _judged(inputs: Inputs) -> dict[str, tuple[Sequence[Run], Judged]]:
    """Return the runs and the documents that the pairwise measures are about."""
    unwanted = inputs.changed or no_longer_relevant(inputs.qrels, inputs.new_qrels)
    wanted = still_relevant(inputs.qrels, inputs.new_qrels)
    both = {qid: wanted.get(qid, set()) | unwanted.get(qid, set()) for qid in wanted.keys() | unwanted.keys()}
    pair = [inputs.base, inputs.new]
    three = [*pair, inputs.reverse] if inputs.reverse else pair
    return {
        P_MRR: (pair, unwanted),
        KEPT: (pair, wanted),
        "IRS": (pair, both),
        "WISE": (three, wanted),
        "SICR": (three, wanted),
    }


def warn_of_runs(inputs: Inputs, values: Mapping[str, PerTopic], label: str = "") -> None:
    """Warn of what makes ``values``, those of :func:`compare`, meaningless or weak; ``label`` begins each line."""
    judged = _judged(inputs)
    unwanted = judged[P_MRR][1]
    runs = {"base": inputs.base, "new": inputs.new} | ({"reversed": inputs.reverse} if inputs.reverse else {})
    warn_of_foreign_ids(runs, [inputs.qrels, inputs.new_qrels, unwanted], label)
    warn_of_same_lists(inputs.base, inputs.new, label)
    warn_of_depths(runs, label)
    if P_MRR in values:
        warn_of_one_sided(inputs.base, inputs.new, unwanted, label)
    for measure, (of_measure, documents) in judged.items():
        if measure in values:
            warn_of_unseen(measure, of_measure, documents, label)


def _three_runs(
    runs: tuple[Run, Run, Run], wanted: Mapping[str, set[str]], unwanted: Mapping[str, set[str]], variant: Variant
) -> dict[str, PerTopic]:
    gold = {qid: sorted(docids) for qid, docids in wanted.items()}
    judged = {qid: len(docids) + len(unwanted.get(qid, ())) for qid, docids in gold.items()}
    values = {"WISE": wise(runs, gold, judged, variant=variant), "SICR": sicr(runs, gold, variant)}
    for side, run in zip(("base", "new", "reversed"), runs, strict=True):
        values[f"mean gold rank {side}"] = mean_rank(run, gold)
    return values


def _standard(inputs: Inputs, measures: Sequence[str]) -> dict[str, PerTopic]:
    values: dict[str, PerTopic] = {}
    base_values = standard(inputs.base, inputs.qrels, measures)
    new_values = standard(inputs.new, inputs.new_qrels, measures)
    for measure in measures:
        base, new = base_values[measure], new_values[measure]
        values |= {f"{measure} base": base, f"{measure} new": new}
        values[f"{measure} change"] = difference(new, base)
    if inputs.new_qrels:
        warn_of_no_values(new_values)
    several = len(set(inputs.query_of.values())) < len(inputs.query_of)
    if several and inputs.new_qrels:
        per_topic = standard(inputs.new, inputs.new_qrels, [ROBUSTNESS_OF])[ROBUSTNESS_OF]
        values[ROBUSTNESS] = robustness(per_topic, inputs.query_of)
    return values


def statistics(values: PerTopic) -> Statistics:
    """Return the mean of ``values``, its interval, and the shares of topics up, equal and down."""
    ordered = [values[qid] for qid in sorted(values)]  # the bootstrap draws by position
    low, high = interval(ordered)
    return Statistics(
        mean=mean(values),
        n=len(ordered),
        low=low,
        high=high,
        up=sum(value > 0 for value in ordered) / len(ordered),
        equal=sum(value == 0 for value in ordered) / len(ordered),
        down=sum(value < 0 for value in ordered) / len(ordered),
    )


class Comparison(NamedTuple):
    """All systems by one measure.

    ``per_topic`` and ``means`` by system, and ``absent``, the shares of documents not seen, of the measures that
    depend on it; ``best`` has the best mean among the systems that have a
    value for the most topics, and ``p_values`` are those of the others among them; ``missing`` says
    of every other system how many topics it lacks.
    """

    per_topic: dict[str, PerTopic]
    means: dict[str, float]
    best: str
    p_values: dict[str, float]
    missing: dict[str, int]
    absent: Mapping[Absence, Mapping[str, float]] = {}


class Systems(NamedTuple):
    """What :func:`compare_systems` returns: ``conditions`` are those compared, ``measures`` the results by measure."""

    conditions: tuple[str, ...]
    measures: dict[str, Comparison]


def compare_systems(
    folder: Path,
    qrels: Qrels,
    new_qrels: Qrels,
    measures: Sequence[str] = MEASURES,
    corpus_size: int = 0,
    variant: Variant = "paper",
    correct: bool = False,
) -> Systems:
    """Return a comparison of all systems that have runs of two conditions in ``folder``, by measure.

    ``qrels`` and ``new_qrels`` are the judgements for the base and for the new condition;
    ``corpus_size``, the number of documents searched, is needed for IRS; ``correct`` asks for
    Holm's correction of p-values. Raises :class:`DataError` for a folder without such runs.
    """
    conditions, runs = find_runs(folder)
    by_measure: dict[str, dict[str, PerTopic]] = {}
    not_seen: dict[str, dict[Absence, dict[str, float]]] = {}
    digests: dict[str, int] = {}
    for system, paths in runs.items():
        warn_of_tags(paths)
        several = [read_given_run(path) for path in paths]
        digests[system] = _digest(several)
        base, new, *reverse = several
        inputs = paired(base, new, pair(base.keys(), new.keys()), qrels, new_qrels)
        inputs = inputs._replace(reverse=reverse[0] if reverse else None, corpus_size=corpus_size)
        values = compare(inputs, measures, variant)
        warn_of_judgements(inputs.qrels, inputs.new_qrels)
        warn_of_runs(inputs, values, f"{system}: ")
        for measure, per_topic in values.items():
            if not measure.endswith(" change"):
                by_measure.setdefault(measure, {})[system] = per_topic
        for measure, shares in absent(inputs, values).items():
            for kind, of_topics in shares.items():
                not_seen.setdefault(measure, {}).setdefault(kind, {})[system] = mean(of_topics)
    warn_of_same_runs(digests)
    compared = {
        measure: compare_by(measure, per_topic, correct)._replace(absent=not_seen.get(measure, {}))
        for measure, per_topic in by_measure.items()
    }
    return Systems(conditions, compared)


def _digest(runs: Sequence[Run]) -> int:
    """Return a number that is the same for runs of the same lists and scores, in this process."""
    return hash(tuple(frozenset((qid, frozenset(scores.items())) for qid, scores in run.items()) for run in runs))


def find_runs(folder: Path) -> tuple[tuple[str, ...], dict[str, list[Path]]]:
    """Return the conditions compared in a results folder, and by system the run files of these.

    The conditions are the first of ``CONDITIONS`` that some system has all of. Raises
    :class:`DataError` if no system has.
    """
    for conditions in CONDITIONS:
        runs = {}
        for path in sorted(folder.glob(f"*.{conditions[0]}.run")):
            system = path.name.removesuffix(f".{conditions[0]}.run")
            paths = [folder / f"{system}.{condition}.run" for condition in conditions]
            if all(path.exists() for path in paths):
                runs[system] = paths
        if runs:
            return conditions, runs
    raise DataError(
        f"{folder}: no <system>.original.run with its <system>.changed.run or <system>.query.run; give a results folder"
    )


def compare_by(measure: str, per_topic: Mapping[str, PerTopic], correct: bool) -> Comparison:
    """Return the comparison of systems by ``measure``, whose values are ``per_topic`` by system.

    Of NFR, mean gold ranks and flip rates the lowest is the best, of most others the highest.
    """
    means = {system: mean(values) for system, values in per_topic.items()}
    most = max(map(len, per_topic.values()))
    missing = {system: most - len(values) for system, values in per_topic.items() if len(values) < most}
    sign = -1 if lower_is_better(measure) else 1
    best = max((sign * means[system], system) for system in means if system not in missing)[1]
    test = wilcoxon if measure in PAIRWISE else fisher
    p_values = {
        system: test(per_topic[best], values)
        for system, values in per_topic.items()
        if system != best and system not in missing
    }
    return Comparison(dict(per_topic), means, best, holm(p_values) if correct else p_values, missing)
