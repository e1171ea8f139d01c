"""Runs of systems that Heed does not run itself, brought as files into a comparison."""

from collections.abc import Sequence
from pathlib import Path

from heed.errors import HeedError, fail
from heed.io.pairs import ENDINGS
from heed.io.run_formats import read_any_run
from heed.types import CONDITIONS, Run, Topic, under

ROLES = {"original": "base", "changed": "new", "reversed": "reversed"}  # as heed.io.pairs calls them
FORMS = (
    "NAME.CONDITION=FILE, NAME=FILE with {condition} in it, or NAME=FILE with ids that end -og and -changed; "
    "FILE#SUBSET for MTEB predictions of several subsets"
)

Brought = dict[tuple[str, str], Run]  # (system, condition) -> run


def read_brought(given: Sequence[str], topics: Sequence[Topic], conditions: Sequence[str]) -> Brought:
    """The runs that --run names, each in the form ``FORMS``, for those of ``conditions`` that they have.

    Raises :class:`HeedError` for another form, a file that cannot be read, and a run without any of
    its condition's topics.
    """
    found: Brought = {}
    for text in given:
        name, mark, file = text.partition("=")
        fail([] if name and mark and file else [f"--run {text}: expected {FORMS}"])
        system, _, condition = name.rpartition(".")
        if condition in CONDITIONS:
            runs = {condition: _read(file)}
        elif "{condition}" in file:
            files = {one: file.replace("{condition}", one) for one in conditions}
            system, runs = name, {one: _read(path) for one, path in files.items() if _parted(path)[0].exists()}
        else:
            system, runs = name, _by_endings(text, _read(file))
        fail([] if runs else [f"--run {text}: no such file for any of {', '.join(conditions)}"])
        twice = [one for one in runs if (system, one) in found]
        fail([f"--run {text}: {system} has a run of {', '.join(twice)} already; name another"] if twice else [])
        found |= {(system, one): _known(text, run, topics, one) for one, run in runs.items() if one in conditions}
    return found


def _read(file: str) -> Run:
    path, subset = _parted(file)
    return read_any_run(path, subset)


def _parted(file: str) -> tuple[Path, str | None]:
    """The file, and the subset of MTEB predictions that ``FILE#SUBSET`` names."""
    name, mark, subset = file.rpartition("#")
    return (Path(name), subset) if mark and not Path(file).exists() else (Path(file), None)


def _by_endings(text: str, run: Run) -> dict[str, Run]:
    found: dict[str, Run] = {}
    for condition, role in ROLES.items():
        ending = ENDINGS[role]
        part = {qid.removesuffix(ending): scores for qid, scores in run.items() if qid.endswith(ending)}
        if part:
            found[condition] = part
    if not found:
        raise HeedError(f"--run {text}: which condition is it a run of? expected {FORMS}")
    return found


def _known(text: str, run: Run, topics: Sequence[Topic], condition: str) -> Run:
    qids = [topic.qid for topic in under(topics, condition)]
    mine = {qid: run[qid] for qid in qids if qid in run}
    if not mine:
        raise HeedError(f"--run {text}: none of its topics ({', '.join(list(run)[:3])} …) is asked under {condition}")
    return mine
