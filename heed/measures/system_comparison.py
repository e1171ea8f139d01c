"""Compare all systems of a results folder by each measure, with tests of significance."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError
from heed.formats.pairs import pair
from heed.formats.run_warnings import warn_of_tags
from heed.formats.trec_files import read_given_run
from heed.measures.absence import Absence, absent
from heed.measures.comparison import MEASURES, Statistics, compare, statistics, warn_of_comparison
from heed.measures.comparison_warnings import warn_of_same_runs
from heed.measures.definition import Measure
from heed.measures.inputs import paired
from heed.measures.per_topic import PerTopic, Variant, mean
from heed.measures.power import Power, power_of
from heed.measures.registry import find
from heed.measures.significance import fisher, holm, wilcoxon
from heed.measures.summary import lower_is_better, own_directions
from heed.types import Qrels, Run

# FollowIR and mFollowIR; InfoSearch; FollowTable
CONDITIONS = (("original", "changed"), ("query", "original", "reversed"), ("query", "original"))


class Comparison(NamedTuple):
    """All systems by one measure.

    ``per_topic`` and ``means`` by system; ``best`` has the best mean among the systems that have a value for the most
    topics, and ``p_values`` are those of the others among them; ``missing`` says of every other system how many topics
    it lacks. ``absent`` are the shares of documents not seen, by system and kind, of the measures that depend on it.
    """

    per_topic: dict[str, PerTopic]
    means: dict[str, float]
    best: str
    p_values: dict[str, float]
    missing: dict[str, int]
    absent: Mapping[str, Mapping[Absence, PerTopic]] = {}

    def statistics(self) -> dict[str, Statistics]:
        """Return mean, interval and shares of each system."""
        return {system: statistics(values, self.absent.get(system)) for system, values in self.per_topic.items()}

    def power(self) -> Power | None:
        """Return the power to tell two systems apart, by the systems that lack no topic; None for one system."""
        complete = [values for system, values in self.per_topic.items() if system not in self.missing]
        return power_of(*complete) if len(complete) > 1 else None


class Systems(NamedTuple):
    """What :func:`compare_systems` returns: ``conditions`` are those compared, ``measures`` the results by measure.

    ``not_judged`` are the documents, by qid, that :attr:`~heed.measures.inputs.Inputs.not_judged` has for some system.
    """

    conditions: tuple[str, ...]
    measures: dict[str, Comparison]
    not_judged: Mapping[str, set[str]]


def compare_systems(
    folder: Path,
    qrels: Qrels,
    new_qrels: Qrels,
    measures: Sequence[str | Measure] = MEASURES,
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
    not_seen: dict[str, dict[str, dict[Absence, PerTopic]]] = {}
    digests, not_judged = dict[str, int](), dict[str, set[str]]()
    for system, paths in runs.items():
        warn_of_tags(paths)
        several = [read_given_run(path) for path in paths]
        digests[system] = _digest(several)
        base, new, *reverse = several
        inputs = paired(base, new, pair(base.keys(), new.keys(), None, (qrels, new_qrels)), qrels, new_qrels)
        third = reverse[0] if reverse else None
        inputs = replace(inputs, reverse=third, corpus_size=corpus_size, variant=variant)
        not_judged |= inputs.not_judged
        values = compare(inputs, measures)
        warn_of_comparison(inputs, values, f"{system}: ")
        for measure, per_topic in values.items():
            if not measure.endswith(" change"):
                by_measure.setdefault(measure, {})[system] = per_topic
        for measure, shares in absent(inputs, values).items():
            not_seen.setdefault(measure, {})[system] = shares
    warn_of_same_runs(digests)
    directions = own_directions(measures)
    compared = {
        measure: compare_by(measure, per_topic, correct, directions)._replace(absent=not_seen.get(measure, {}))
        for measure, per_topic in by_measure.items()
    }
    return Systems(conditions, compared, not_judged)


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


def compare_by(
    measure: str, per_topic: Mapping[str, PerTopic], correct: bool, directions: Mapping[str, bool] | None = None
) -> Comparison:
    """Return the comparison of systems by ``measure``, whose values are ``per_topic`` by system.

    Of NFR, mean gold ranks and flip rates the lowest is the best, of most others the highest; ``directions`` says it
    of the user's own measures.
    """
    means = {system: mean(values) for system, values in per_topic.items()}
    most = max(map(len, per_topic.values()))
    missing = {system: most - len(values) for system, values in per_topic.items() if len(values) < most}
    sign = -1 if lower_is_better(measure, directions) else 1
    best = max((sign * means[system], system) for system in means if system not in missing)[1]
    declared = find(measure)
    test = wilcoxon if declared and declared.test == "wilcoxon" else fisher
    p_values = {
        system: test(per_topic[best], values)
        for system, values in per_topic.items()
        if system != best and system not in missing
    }
    return Comparison(dict(per_topic), means, best, holm(p_values) if correct else p_values, missing)
