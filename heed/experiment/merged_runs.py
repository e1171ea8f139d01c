"""Runs over several languages: the lists of each language merged into one."""

from collections.abc import Mapping, Sequence

from heed.errors import DataError
from heed.experiment.experiment import Experiment
from heed.experiment.run_files import SystemRuns
from heed.reranking.merging import merge


def add_merged(experiment: Experiment, by_language: Mapping[str, Sequence[SystemRuns]], rule: str) -> list[SystemRuns]:
    """Return the runs of every system as one list of all languages, added to ``experiment``, which has all documents.

    ``by_language`` are the same systems over each language, ``rule`` is one of :data:`heed.reranking.merging.RULES`.
    Raises :class:`DataError` where the topics carry other conditions in each language.
    """
    merged = []
    conditions = {lang: tuple(systems[0]) for lang, systems in by_language.items() if systems}
    if len(set(conditions.values())) > 1:
        carried = "; ".join(f"{lang}: {', '.join(names)}" for lang, names in conditions.items())
        raise DataError(f"topics: carry other conditions in each language ({carried}); choose some with --condition")
    for of_system in zip(*by_language.values(), strict=True):
        first = of_system[0]
        runs = {name: merge([dict(runs[name]) for runs in of_system], rule, experiment.depth) for name in first}
        config = {"merged": rule, "languages": dict(zip(by_language, (runs.config for runs in of_system), strict=True))}
        merged.append(experiment.add(first.name, runs, config))
    return merged
