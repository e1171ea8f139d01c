"""Runs of systems that Heed does not run itself: files given with ``--run``."""

from collections.abc import Sequence
from pathlib import Path

from heed.errors import DataError, UsageError
from heed.io.pairs import ENDINGS
from heed.io.run_formats import read_any_run
from heed.types import CONDITIONS, Run, Topic, under

ROLES = {"original": "base", "changed": "new", "reversed": "reversed"}  # as heed.io.pairs calls them
FORMS = (
    "NAME.CONDITION=FILE, NAME=FILE with {condition} in it, or NAME=FILE with ids that end -og and -changed; "
    "FILE#SUBSET for MTEB predictions of several subsets"
)

ExternalRuns = dict[tuple[str, str], Run]  # (system, condition) -> run


def read_external_runs(given: Sequence[str], topics: Sequence[Topic], conditions: Sequence[str]) -> ExternalRuns:
    """Return the runs that ``given`` names, each in one of ``FORMS``, for those of ``conditions`` that they have.

    Raises :class:`UsageError` for another form, and :class:`DataError` for a file that cannot be read or a run
    without any of its condition's topics.
    """
    runs: ExternalRuns = {}
    for text in given:
        system, by_condition = _read_by_condition(text, conditions)
        if not by_condition:
            raise DataError(f"--run {text}: no such file for any of {', '.join(conditions)}")
        twice = [condition for condition in by_condition if (system, condition) in runs]
        if twice:
            raise UsageError(f"--run {text}: {system} has a run of {', '.join(twice)} already; name another")
        for condition, run in by_condition.items():
            if condition in conditions:
                runs[system, condition] = _of_topics(text, run, topics, condition)
    return runs


def _read_by_condition(text: str, conditions: Sequence[str]) -> tuple[str, dict[str, Run]]:
    """Return the system that ``text`` names and its runs by condition."""
    name, equals, file = text.partition("=")
    if not (name and equals and file):
        raise UsageError(f"--run {text}: expected {FORMS}")
    system, _, condition = name.rpartition(".")
    if condition in CONDITIONS:
        return system, {condition: _read(file)}
    if "{condition}" in file:
        files = {condition: file.replace("{condition}", condition) for condition in conditions}
        return name, {condition: _read(path) for condition, path in files.items() if _split(path)[0].exists()}
    return name, _by_endings(text, _read(file))


def _read(file: str) -> Run:
    path, subset = _split(file)
    return read_any_run(path, subset)


def _split(file: str) -> tuple[Path, str | None]:
    """Return the file, and the subset of MTEB predictions that ``FILE#SUBSET`` names."""
    name, mark, subset = file.rpartition("#")
    return (Path(name), subset) if mark and not Path(file).exists() else (Path(file), None)


def _by_endings(text: str, run: Run) -> dict[str, Run]:
    """Return the parts of ``run`` whose ids end ``-og``, ``-changed`` or ``-reversed``, by condition."""
    runs: dict[str, Run] = {}
    for condition, role in ROLES.items():
        ending = ENDINGS[role]
        part = {qid.removesuffix(ending): scores for qid, scores in run.items() if qid.endswith(ending)}
        if part:
            runs[condition] = part
    if not runs:
        raise UsageError(f"--run {text}: which condition is it a run of? expected {FORMS}")
    return runs


def _of_topics(text: str, run: Run, topics: Sequence[Topic], condition: str) -> Run:
    qids = [topic.qid for topic in under(topics, condition)]
    known = {qid: run[qid] for qid in qids if qid in run}
    if not known:
        raise DataError(f"--run {text}: none of its topics ({', '.join(list(run)[:3])} …) is asked under {condition}")
    return known
