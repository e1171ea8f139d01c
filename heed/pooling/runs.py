"""The runs of a pool: their names, whose they are, and their lists by topic."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from heed.errors import fail
from heed.io.pairs import stem
from heed.io.run_formats import read_any_run
from heed.progress import log
from heed.ranking import in_order, top
from heed.types import CONDITIONS, Run


class Listing(NamedTuple):
    """One list of a topic: of which run, under which of its qids, in which language, docids best first."""

    run: str
    qid: str
    language: str
    docids: list[str]


def read_runs(paths: Sequence[Path], subset: str | None = None) -> dict[str, Run]:
    """The runs by name, sorted by it, so that the order of ``paths`` never matters; ``subset`` is of MTEB predictions.

    Two runs with the same lists are told: a copy counts twice in the fusion and has nothing of its own.
    """
    files = named(paths)
    runs = {name: read_any_run(files[name], subset) for name in sorted(files)}
    for one, other in combinations(runs, 2):
        if runs[one] == runs[other]:
            log.info(f"runs {one} and {other} hold the same lists and scores; both count in the fusion, leave one out")
    return runs


def named(paths: Sequence[Path]) -> dict[str, Path]:
    """``name -> path``: the file's name without ``.gz`` and ``.run``, after as many folders as tell two apart.

    Raises :class:`HeedError` for a file that is given twice and for names that no folder tells apart.
    """
    files: dict[Path, list[Path]] = {}
    for path in paths:
        files.setdefault(path.resolve(), []).append(path)
    fail(
        f"{given[0]}: the same file is given {len(given)} times ({', '.join(map(str, given))}); give it once"
        for given in files.values()
        if len(given) > 1
    )
    clashes: dict[str, list[Path]] = {}
    for path in paths:
        clashes.setdefault(_name(path, len(path.absolute().parts)), []).append(path)
    fail(
        f"{' and '.join(sorted(map(str, same)))}: both runs would be called {_name(same[0], 1)}; rename one"
        for same in clashes.values()
        if len(same) > 1
    )
    return {_short(path, paths): path for path in paths}


def _name(path: Path, parts: int) -> str:
    whole = path.absolute()
    return "/".join(
        [*whole.parts[:-1][len(whole.parts) - parts :], whole.name.removesuffix(".gz").removesuffix(".run")]
    )


def _short(path: Path, paths: Sequence[Path]) -> str:
    """The shortest name of ``path`` that none of the other ``paths`` has."""
    parts, others = 1, [other for other in paths if other is not path]
    while others := [other for other in others if _name(other, parts) == _name(path, parts)]:
        parts += 1
    return _name(path, parts)


def system_of(name: str) -> str:
    """The system of a run that is called ``<system>.<condition>``; of another, its name."""
    system, _, condition = name.rpartition(".")
    return system if system and condition in CONDITIONS else name


def base_topics(qids: Collection[str]) -> dict[str, str]:
    """``qid -> base topic``, by the rules by which runs are paired.

    The base is the id without a trailing ``-og``, ``-changed`` or ``-reversed``. Without such an
    ending it is the part before the last ``_``, if that is one of ``qids`` itself or at least two of
    them share it; an id that is the base of others is its own.
    """
    known = set(qids)
    fronts = Counter(qid.rpartition("_")[0] for qid in known if stem(qid) == qid)
    bases = {front for front, times in fronts.items() if front and (front in known or times > 1)}
    found = {}
    for qid in qids:
        front = qid.rpartition("_")[0]
        by_number = stem(qid) == qid and qid not in bases and front in bases
        found[qid] = front if by_number else stem(qid)
    return found


def listings(
    runs: Mapping[str, Run], depth: int, base_of: Mapping[str, str], languages: Mapping[str, str]
) -> dict[str, list[Listing]]:
    """``topic -> its lists``: the top ``depth`` of every run, for every qid that ``base_of`` maps to the topic.

    With ``languages`` (by docid) a list is split by language first, each part ranked and cut by
    itself, as NeuCLIR pools its multilingual runs (guidelines 2023).
    """
    found: dict[str, list[Listing]] = {}
    for name, run in sorted(runs.items()):
        for qid in sorted(qid for qid in run if qid in base_of):
            found.setdefault(base_of[qid], []).extend(
                Listing(name, qid, language, list(top(scores, depth)))
                for language, scores in _by_language(run[qid], languages).items()
            )
    return {topic: found[topic] for topic in in_order(found)}


def _by_language(scores: dict[str, float], languages: Mapping[str, str]) -> dict[str, dict[str, float]]:
    if not languages:
        return {"": scores}
    parts: dict[str, dict[str, float]] = {}
    for docid, score in scores.items():
        parts.setdefault(languages[docid], {})[docid] = score
    return dict(sorted(parts.items()))
