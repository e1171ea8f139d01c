"""Runs in a results folder that do not belong to what is there now: moved aside, so that nothing compares them.

``compare --runs`` takes every ``<system>.<condition>.run`` of a folder. One that an earlier command made may stay if
it could have been made now: over these documents, for these topics, and with the settings of the system's other runs.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from heed.files import digest
from heed.progress import brief, log
from heed.reuse import Recipe, note_of, read_note
from heed.types import CONDITIONS

ASIDE = "earlier"
OF_CONDITION = ("condition", "topics")  # what differs between the runs of one system


def move_aside(folder: Path, own_runs: Collection[Path], documents: str, topics: Mapping[str, str]) -> None:
    """Move the runs of ``folder`` that neither are ``own_runs`` nor belong there to ``earlier/<number>``; warn of it.

    ``documents`` is the digest of the documents, ``topics`` those of the queries by condition.
    """
    settings = {_parts(path)[0]: _settings(path) for path in own_runs}
    others = [path for path in sorted(folder.glob("*.run")) if _parts(path)[1] in CONDITIONS and path not in own_runs]
    stray = [path for path in others if not _belongs(path, documents, topics, settings)]
    if not stray:
        return
    numbers = [int(path.name) for path in (folder / ASIDE).glob("*") if path.name.isdecimal()]
    aside = folder / ASIDE / str(max(numbers, default=0) + 1)
    aside.mkdir(parents=True)
    for path in stray:
        path.rename(aside / path.name)
        note_of(path).unlink(missing_ok=True)
    names = brief([path.name for path in stray])
    # no warning of the results: they are the same when the command runs again, and nothing is there to be moved
    log.warning(f"{aside}: {len(stray)} runs of other documents, topics or settings are moved there: {names}")


def _parts(path: Path) -> tuple[str, str]:
    """Return the system and the condition of a run file."""
    system, _, condition = path.name.removesuffix(".run").rpartition(".")
    return system, condition


def _belongs(path: Path, documents: str, topics: Mapping[str, str], settings: Mapping[str, Recipe]) -> bool:
    """Whether an earlier run could have been made now; ``settings`` are those of the systems that ran now."""
    recipe, (system, condition) = _recipe(path), _parts(path)
    if recipe.get("documents") != documents or recipe.get("topics") != topics[condition]:
        return False
    # a system without a config may be another one by now
    return system not in settings or (recipe["system"] is not None and _settings(path) == settings[system])


def _recipe(path: Path) -> Recipe:
    """Return the recipe of a run; empty where there is no note of it, or it was changed since."""
    note = read_note(note_of(path))
    return note.recipe if note and note.files == {path.name: digest(path)} else {}


def _settings(path: Path) -> Recipe:
    return {key: value for key, value in _recipe(path).items() if key not in OF_CONDITION}
