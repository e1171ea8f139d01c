"""Compare all systems of a results folder: the best by each measure, and the p-values of the others against it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError
from heed.evaluation.comparison import MEASURES, compare, paired
from heed.evaluation.significance import fisher, holm, wilcoxon
from heed.evaluation.summary import GOLD_RANK
from heed.io.pairs import pair
from heed.io.trec_files import read_run
from heed.measures import PerTopic, Variant, mean
from heed.types import Qrels

# FollowIR and mFollowIR; InfoSearch; FollowTable
CONDITIONS = (("original", "changed"), ("query", "original", "reversed"), ("query", "original"))
PAIRWISE = ("p-MRR", "IRS", "WISE", "SICR")  # tested by Wilcoxon, the others by Fisher, as mFollowIR did


class Comparison(NamedTuple):
    """All systems by one measure.

    ``per_topic`` and ``means`` by system; ``best`` has the best mean among the systems that have a
    value for the most topics, and ``p_values`` are those of the others among them; ``missing`` says
    of every other system how many topics it lacks.
    """

    per_topic: dict[str, PerTopic]
    means: dict[str, float]
    best: str
    p_values: dict[str, float]
    missing: dict[str, int]


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
    for system, paths in runs.items():
        base, new, *reverse = map(read_run, paths)
        inputs = paired(base, new, pair(base.keys(), new.keys()), qrels, new_qrels)
        inputs = inputs._replace(reverse=reverse[0] if reverse else None, corpus_size=corpus_size)
        for measure, per_topic in compare(inputs, measures, variant).items():
            if not measure.endswith(" change"):
                by_measure.setdefault(measure, {})[system] = per_topic
    compared = {measure: compare_by(measure, per_topic, correct) for measure, per_topic in by_measure.items()}
    return Systems(conditions, compared)


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

    Of mean gold ranks the lowest is the best, of all others the highest.
    """
    means = {system: mean(values) for system, values in per_topic.items()}
    most = max(map(len, per_topic.values()))
    missing = {system: most - len(values) for system, values in per_topic.items() if len(values) < most}
    sign = -1 if measure.startswith(GOLD_RANK) else 1
    best = max((sign * means[system], system) for system in means if system not in missing)[1]
    test = wilcoxon if measure in PAIRWISE else fisher
    p_values = {
        system: test(per_topic[best], values)
        for system, values in per_topic.items()
        if system != best and system not in missing
    }
    return Comparison(dict(per_topic), means, best, holm(p_values) if correct else p_values, missing)
