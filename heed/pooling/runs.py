"""The runs of a pool: their names and systems, and their lists by topic."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from heed.errors import UsageError, fail
from heed.io.pairs import stem
from heed.io.run_formats import read_any_run
from heed.progress import log
from heed.ranking import in_order, top
from heed.types import CONDITIONS, Run


class RankedList(NamedTuple):
    """A run's documents for a qid, best first; ``language`` is empty unless lists are split by language."""

    run: str
    qid: str
    language: str
    docids: list[str]


def read_runs(paths: Sequence[Path], subset: str | None = None) -> dict[str, Run]:
    """Read the runs by name, sorted by it, so that the order of ``paths`` never matters.

    ``subset`` is a subset of MTEB predictions. Logs two runs with the same lists: a copy counts twice in the
    fusion and has no unique documents.
    """
    files = run_names(paths)
    runs = {name: read_any_run(files[name], subset) for name in sorted(files)}
    for first, second in combinations(runs, 2):
        if runs[first] == runs[second]:
            log.info(
                f"runs {first} and {second} hold the same lists and scores; both count in the fusion, leave one out"
            )
    return runs


def run_names(paths: Sequence[Path]) -> dict[str, Path]:
    """Return ``name -> path``: the file's name without ``.gz`` and ``.run``, after as many folders as make it unique.

    Raises :class:`UsageError` for a file that is given twice and for names that no folder makes unique.
    """
    files: dict[Path, list[Path]] = {}
    for path in paths:
        files.setdefault(path.resolve(), []).append(path)
    repeated = [given for given in files.values() if len(given) > 1]
    fail(
        [
            f"{given[0]}: the same file is given {len(given)} times ({', '.join(map(str, given))}); give it once"
            for given in repeated
        ],
        UsageError,
    )
    clashes: dict[str, list[Path]] = {}
    for path in paths:
        clashes.setdefault(_name(path, len(path.absolute().parts)), []).append(path)
    fail(
        [
            f"{' and '.join(sorted(map(str, same)))}: both runs would be called {_name(same[0], 1)}; rename one"
            for same in clashes.values()
            if len(same) > 1
        ],
        UsageError,
    )
    return {_shortest_name(path, paths): path for path in paths}


def _name(path: Path, parts: int) -> str:
    """Return the file's name without suffixes, after ``parts - 1`` of its folders."""
    whole = path.absolute()
    folders = whole.parts[:-1][len(whole.parts) - parts :]
    return "/".join([*folders, whole.name.removesuffix(".gz").removesuffix(".run")])


def _shortest_name(path: Path, paths: Sequence[Path]) -> str:
    """Return the shortest name of ``path`` that none of the other ``paths`` has."""
    parts, others = 1, [other for other in paths if other is not path]
    while others := [other for other in others if _name(other, parts) == _name(path, parts)]:
        parts += 1
    return _name(path, parts)


def system_of(name: str) -> str:
    """Return the system of a run that is called ``<system>.<condition>``; of any other run, its name."""
    system, _, condition = name.rpartition(".")
    return system if system and condition in CONDITIONS else name


def base_topics(qids: Collection[str]) -> dict[str, str]:
    """Return ``qid -> base topic``, by the rules by which runs are paired.

    The base is the id without a trailing ``-og``, ``-changed`` or ``-reversed``. Without such an
    ending it is the part before the last ``_``, if that is one of ``qids`` itself or at least two of
    them share it; an id that is the base of others is its own.
    """
    known = set(qids)
    fronts = Counter(qid.rpartition("_")[0] for qid in known if stem(qid) == qid)
    bases = {front for front, times in fronts.items() if front and (front in known or times > 1)}
    base_of = {}
    for qid in qids:
        front = qid.rpartition("_")[0]
        by_number = stem(qid) == qid and qid not in bases and front in bases
        base_of[qid] = front if by_number else stem(qid)
    return base_of


def ranked_lists(
    runs: Mapping[str, Run], depth: int, base_of: Mapping[str, str], languages: Mapping[str, str]
) -> dict[str, list[RankedList]]:
    """Return ``topic -> its lists``: the top ``depth`` of every run, for every qid that ``base_of`` maps to the topic.

    With ``languages`` (by docid) a list is split by language first, each part ranked and cut
    separately, as NeuCLIR pools its multilingual runs (guidelines 2023).
    """
    lists: dict[str, list[RankedList]] = {}
    for name, run in sorted(runs.items()):
        for qid in sorted(qid for qid in run if qid in base_of):
            lists.setdefault(base_of[qid], []).extend(
                RankedList(name, qid, language, list(top(scores, depth)))
                for language, scores in _by_language(run[qid], languages).items()
            )
    return {topic: lists[topic] for topic in in_order(lists)}


def _by_language(scores: dict[str, float], languages: Mapping[str, str]) -> dict[str, dict[str, float]]:
    if not languages:
        return {"": scores}
    parts: dict[str, dict[str, float]] = {}
    for docid, score in scores.items():
        parts.setdefault(languages[docid], {})[docid] = score
    return dict(sorted(parts.items()))
