"""Measure several systems by judgements that are given: the runs of a results folder, or single runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from heed.errors import DataError, UsageError
from heed.formats.pairs import pair
from heed.formats.run_warnings import warn_of_tags
from heed.formats.topic_ids import number_hint
from heed.formats.trec_files import read_given_run
from heed.measures.absence import absent
from heed.measures.comparison import MEASURES, compare, warn_of_comparison
from heed.measures.comparison_warnings import (
    warn_of_foreign_ids,
    warn_of_no_values,
    warn_of_same_runs,
    warn_of_single_precision,
)
from heed.measures.definition import Measure
from heed.measures.evaluate import details_of
from heed.measures.inputs import paired
from heed.measures.per_topic import Variant
from heed.measures.registry import is_of_pair
from heed.measures.single_run import ROBUSTNESS
from heed.measures.standard import standard
from heed.measures.summary import CHANGE, ROLES, Detail
from heed.progress import brief, warn
from heed.types import Qrels, Run

# FollowIR and mFollowIR; InfoSearch; FollowTable
CONDITIONS = (("original", "changed"), ("query", "original", "reversed"), ("query", "original"))


def measure_folder(
    folder: Path,
    qrels: Qrels,
    new_qrels: Qrels,
    measures: Sequence[str | Measure] = MEASURES,
    corpus_size: int = 0,
    variant: Variant = "paper",
) -> list[Detail]:
    """Return the measures of all systems that have runs of two conditions in ``folder``, by condition and by pair.

    ``qrels`` and ``new_qrels`` are the judgements for the base and for the new condition; ``corpus_size``, the number
    of documents searched, is needed for IRS. Raises :class:`DataError` for a folder without such runs.
    """
    conditions, runs = find_runs(folder)
    details, digests = list[Detail](), dict[str, int]()
    for system, paths in runs.items():
        warn_of_tags(paths)
        several = [read_given_run(path) for path in paths]
        digests[system] = _digest(several)
        base, new, *reverse = several
        inputs = paired(base, new, pair(base.keys(), new.keys(), None, (qrels, new_qrels)), qrels, new_qrels)
        third = reverse[0] if reverse else None
        inputs = replace(inputs, reverse=third, corpus_size=corpus_size, variant=variant)
        values = compare(inputs, measures)
        warn_of_comparison(inputs, values, f"{system}: ")
        for measure, shares in absent(inputs, values).items():
            values |= {f"{measure} {kind.replace('_', ' ')}": per_topic for kind, per_topic in shares.items()}
        of_run = dict(zip(ROLES, conditions, strict=False))
        for name, per_topic in values.items():
            role = next((role for role in ROLES if name.endswith(role)), "")
            condition = conditions[1] if name == ROBUSTNESS else of_run.get(role, ">".join(conditions[:2]))
            if role != CHANGE:
                details += details_of(system, condition, {name.removesuffix(role): per_topic})
    warn_of_same_runs(digests)
    return sorted(details, key=lambda detail: ">" in detail["condition"])


def measure_runs(runs: Mapping[str, Run], qrels: Qrels, measures: Sequence[str | Measure]) -> list[Detail]:
    """Return the measures of single runs, which are by the names of their systems, under no condition.

    Warns of judged topics that a run lacks, which count 0. Raises :class:`DataError` for a run of which no topic is
    judged, and :class:`UsageError` for a measure of two runs.
    """
    for measure in filter(is_of_pair, measures):
        raise UsageError(f"measure {measure}: compares two conditions; give BASE and NEW with --qrels and --new-qrels")
    details = list[Detail]()
    for system, run in runs.items():
        lacking = sorted(qrels.keys() - run.keys())
        if len(lacking) == len(qrels):
            raise DataError(f"{system}: none of its topics ({brief([*run])}) is judged{number_hint(run, qrels)}")
        if lacking:
            said = f"judged topics are not in {system} and count 0 in its means: {brief(lacking)}"
            warn(f"{len(lacking)} {said}{number_hint(lacking, run)}")
        values = standard(run, qrels, measures)
        warn_of_no_values(values, f"{system}: ")
        details += details_of(system, "", values)
    warn_of_foreign_ids(runs, [qrels])
    warn_of_same_runs(runs)
    warn_of_single_precision({system: (run, qrels) for system, run in runs.items()})
    return details


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
