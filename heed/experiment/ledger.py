"""A results folder as a ledger: its finished runs, what they were made of, and where earlier ones have gone.

A run ``<system>.<condition>.run`` is finished where its note, ``.made/<run>.json``, has its digest. Runs are made in
``.made/new`` and come into the folder with their notes; those that they replace go to ``earlier/<number>`` first. What
moves is listed in a file before the first move, so that the next process ends what a killed one began.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heed.experiment.run_files import RunFile, SystemRuns
from heed.files import digest, digest_json, read_bytes, write_bytes, write_json
from heed.progress import brief, log, warn
from heed.reuse import Note, Recipe, differences, note_of, read_note, write_note
from heed.systems.user_objects import CODE
from heed.types import CONDITIONS

ASIDE = "earlier"
NEW = Path(".made") / "new"  # runs that are being made, each in a folder named by its recipe
MOVES = Path(".made") / "moves.json"
OF_CONDITION = ("condition", "topics", "scores")  # what differs between the runs of one system
LATER = (CODE,)  # keys that the notes of earlier versions lack


class Ledger(NamedTuple):
    """The runs in ``folder`` over ``documents``, their digest, for ``topics``, the digest of each condition's queries.

    Whoever changes something holds the folder's lock.
    """

    folder: Path
    documents: str
    topics: Mapping[str, str]

    def destination(self, name: str, condition: str, recipe: Recipe, facts: Recipe) -> Path:
        """Return where the run of ``recipe`` is finished, else where it is to be made; its note gets the ``facts``."""
        path = self.folder / f"{name}.{condition}.run"
        new = self.folder / NEW / digest_json(recipe)[:16] / path.name
        note, journal, older = finished_note(path), journal_of(new), journal_of(path)
        recipe = json.loads(json.dumps(recipe))
        if note and _is_known(recipe) and _with_later(note.recipe, recipe) == recipe and not journal.exists():
            note = Note(recipe, note.files, {**note.facts, **facts})
            if read_note(note_of(path)) != note:
                write_note(note_of(path), note)
            return path
        if older.exists() and not journal.exists():  # of version 0.3.0, beside the note
            journal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(older, journal)
        return new

    def enter(self, name: str, new: Mapping[str, RunFile], whole: bool, spelling: str = "SYSTEM") -> None:
        """Move the ``new`` runs of a system, by condition, into the folder, and what they replace aside.

        Runs by other settings wait there until the ``whole`` system is made. They stay where the new ones have their
        bytes, else all of the name move; one line says what differs. ``spelling`` is how the system was asked for.
        """
        there = _paths(self.folder, name)
        notes = {condition: finished_note(path) for condition, path in there.items()}
        here = {condition for condition, note in notes.items() if note and self._has(note)}
        recipe = next((file.note.recipe for file in new.values()), {})
        alike = {condition for condition in here if _is_alike(notes[condition], recipe)}
        if not new or not (whole or alike == there.keys()):
            return
        again = new.keys() & there.keys()
        same = {condition for condition in again if digest(there[condition]) == new[condition].sha256}
        stays = here if again and same == again else alike  # what is not made now is as good as what is

        def is_stale(condition: str, path: Path) -> bool:
            if condition in new:
                return condition not in same and not _is_replaced(path, notes[condition], new[condition].note.recipe)
            return notes[condition] is not None and condition not in stays

        stale = [condition for condition, path in there.items() if is_stale(condition, path)]
        moves = []
        if stale:
            aside = _aside(self.folder, name)
            for condition in again:
                if new[condition].path == there[condition]:  # used again, so it is of the new ones too
                    new[condition].path = _copied(there[condition], new[condition].note)
            moves = [(path, aside / path.name) for path in there.values()]
            why = _difference(notes[stale[0]], new.get(stale[0], next(iter(new.values()))).note)
            keep = f"to keep both in one report, give one of them a name: NAME={spelling}"
            log.warning(f"{name}: {why}; its earlier runs are in {aside}; {keep}")
        staged = [file for file in new.values() if file.path.parent != self.folder]
        move(self.folder, moves + [(file.path, self.folder / file.path.name) for file in staged])
        for file in new.values():
            file.path = self.folder / file.path.name

    def systems(self, in_memory: Sequence[SystemRuns] = ()) -> list[SystemRuns]:
        """Return first stages, rerankers and systems made elsewhere, each by name, with all their runs in the folder.

        Those that are ``in_memory`` are not read again. Runs of other documents and topics are moved aside.
        """
        of_folder = runs_in(self.folder)
        for name, files in [*of_folder.items()]:
            if not all(self._has(file.note) for file in files.values()):
                del of_folder[name]
                aside = _aside(self.folder, name)
                move(self.folder, [(path, aside / path.name) for path in _paths(self.folder, name).values()])
                log.warning(f"{name}: its runs are of other documents or topics; they are in {aside}")
        systems = {name: SystemRuns.of_files(name, files) for name, files in of_folder.items()}
        systems |= {system.name: self.completed(system) for system in in_memory if len(system)}
        known = {file.path for files in of_folder.values() for file in files.values()}
        unknown = [path for path in _paths(self.folder).values() if path not in known]
        if unknown:
            names = brief([path.name for path in unknown])
            log.warning(f"{self.folder}: not measured, nobody knows what it was made of: {names}; give it with --run")
        return sorted(systems.values(), key=lambda system: (system.kind, system.name))

    def completed(self, system: SystemRuns) -> SystemRuns:
        """Return ``system`` with its other finished runs too; as it is where its own are not those in the folder."""
        files, digests = self.of(system.name), system.digests()
        if digests is None or any(name not in files or files[name].sha256 != digests[name] for name in digests):
            return system
        return SystemRuns.of_files(system.name, {**files, **system.files})

    def of(self, name: str) -> dict[str, RunFile]:
        """Return the finished runs of a system over these documents and topics, by condition."""
        return {name: file for name, file in runs_in(self.folder, name).get(name, {}).items() if self._has(file.note)}

    def _has(self, note: Note) -> bool:
        recipe = note.recipe
        topics = self.topics.get(recipe.get("condition", ""))
        return recipe.get("documents") == self.documents and recipe.get("topics") == topics


def runs_in(folder: Path, name: str = "*") -> dict[str, dict[str, RunFile]]:
    """Return the finished runs in ``folder``, those of one system or of all, by system and condition."""
    by_system: dict[str, dict[str, RunFile]] = {}
    for path in _paths(folder, name).values():
        if note := finished_note(path):
            system, condition = _parts(path)
            by_system.setdefault(system, {})[condition] = RunFile(path, note)
    return by_system


def finished_note(path: Path) -> Note | None:
    """Return the note of a finished run, else one of the same run in ``earlier/``; None where there is none."""
    if not path.exists():
        return None
    notes = [note_of(path), *sorted(path.parent.glob(f"{ASIDE}/*/.made/{path.name}.json"))]
    files = {path.name: digest(path)}
    return next((note for note in map(read_note, notes) if note and note.finished and note.files == files), None)


def warn_of_mixtures(systems: Sequence[SystemRuns]) -> None:
    """Warn of systems whose runs were made in different ways: somebody moved some of them, or remade one alone."""
    for system in systems:
        (first, note), *others = ((name, file.note) for name, file in system.files.items())
        for condition, other in others:
            if _settings(_with_later(other.recipe, note.recipe)) != _settings(_with_later(note.recipe, other.recipe)):
                why = _difference(note, other)
                warn(f"{system.name}: its runs {first} and {condition} were made in different ways: {why}")


def journal_of(path: Path) -> Path:
    """Return where the scores of a run that is being made at ``path`` are kept."""
    return note_of(path).with_suffix(".partial")


def settle(folder: Path) -> None:
    """End the moves that a killed process began; give runs that somebody moved back their notes."""
    if (folder / MOVES).exists():
        _carry_out(folder)
    by_system = runs_in(folder) if (folder / ASIDE).exists() else {}
    for file in (file for files in by_system.values() for file in files.values()):
        if read_note(note_of(file.path)) != file.note:
            write_note(note_of(file.path), file.note)


def move(folder: Path, moves: Sequence[tuple[Path, Path]]) -> None:
    """Move runs in the results ``folder``, each with its note, so that the next process ends what a kill leaves."""
    if moves:
        write_json(folder / MOVES, [[str(path.relative_to(folder)) for path in pair] for pair in moves])
        _carry_out(folder)


def _carry_out(folder: Path) -> None:
    """Do the moves that are listed, of which some may be done."""
    for source, target in json.loads(read_bytes(folder / MOVES)):
        _move(folder / source, folder / target, replace=target == Path(target).name)
    (folder / MOVES).unlink()


def _move(source: Path, target: Path, replace: bool) -> None:
    note = note_of(source)
    if source.exists() and (replace or not target.exists()):
        target.parent.mkdir(parents=True, exist_ok=True)
        if note.exists():
            write_bytes(note_of(target), note.read_bytes())  # a copy first: no run is without its note
        source.replace(target)
    if not source.exists():
        note.unlink(missing_ok=True)
    if replace:
        for folder in (note.parent, source.parent, source.parent.parent):
            if folder.exists() and not any(folder.iterdir()):
                folder.rmdir()


def _copied(path: Path, note: Note) -> Path:
    """Return a copy of a run, with its note, among those that are made."""
    copy = path.parent / NEW / digest_json(note.recipe)[:16] / path.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, copy)
    write_note(note_of(copy), note)
    return copy


def _paths(folder: Path, name: str = "*") -> dict[str, Path]:
    """Return the run files of ``folder``: of one system by condition, of all by their names."""
    paths = sorted(folder.glob(f"{name}.*.run"), key=lambda path: _order(_parts(path)))
    paths = [path for path in paths if _parts(path)[1] in CONDITIONS and name in ("*", _parts(path)[0])]
    return {path.name if name == "*" else _parts(path)[1]: path for path in paths}


def _order(parts: tuple[str, str]) -> tuple[str, int]:
    return parts[0], CONDITIONS.index(parts[1]) if parts[1] in CONDITIONS else -1


def _parts(path: Path) -> tuple[str, str]:
    """Return the system and the condition of a run file."""
    system, _, condition = path.name.removesuffix(".run").rpartition(".")
    return system, condition


def _aside(folder: Path, name: str) -> Path:
    """Return where the runs of a system go: a folder later than all that have some of this name."""
    earlier = {path.parent.name for path in (folder / ASIDE).glob(f"*/{name}.*.run") if _parts(path)[0] == name}
    return folder / ASIDE / str(1 + max((int(number) for number in earlier if number.isdecimal()), default=0))


def _is_known(recipe: Recipe) -> bool:
    """Return whether a recipe says all that decides a run: of a system without a ``config`` none does."""
    return recipe.get("system") is not None or "scores" in recipe


def _is_replaced(path: Path, note: Note | None, recipe: Recipe) -> bool:
    """Return whether a run in the folder is to be overwritten: a damaged one, or one that is made to its end now."""
    if note is None:
        return note_of(path).exists()
    return _is_known(recipe) and "scores" not in recipe and _with_later(note.recipe, recipe) == recipe


def _is_alike(old: Note | None, new: Recipe) -> bool:
    """Return whether two runs may be of one system: by the same settings."""
    return old is not None and _is_known(new) and _settings(_with_later(old.recipe, new)) == _settings(new)


def _settings(recipe: Recipe) -> Recipe:
    return {key: value for key, value in recipe.items() if key not in OF_CONDITION}


def _with_later(old: Any, new: Any) -> Any:
    """Return an older recipe with what its version did not write."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return old
    known = {key: _with_later(value, new.get(key)) for key, value in old.items()}
    return {**{key: new[key] for key in LATER if key in new}, **known}


def _difference(old: Note | None, new: Note) -> str:
    """Return in words why a run is not the earlier one."""
    if old is None:
        return "nobody knows what its earlier runs were made of"
    if not _is_known(new.recipe):
        return "it has no config, so that it may be another system by now"
    leave_out = {"condition", "pool"}
    if new.recipe["condition"] != old.recipe.get("condition"):
        leave_out |= {*OF_CONDITION}
    before, after = ({key: value for key, value in note.recipe.items() if key not in leave_out} for note in (old, new))
    changes = differences(before, after, {})
    if old.recipe.get("pool") != new.recipe.get("pool"):
        changes.insert(0, _pools(old.facts, new.facts))
    return "; ".join(changes)


def _pools(old: Recipe, new: Recipe) -> str:
    """Return in words how two pools differ, by the facts of their notes."""
    described = []
    for facts in (old, new):
        stages, number = " and ".join(facts.get("first_stages", ())), facts.get("documents", 0)
        depth = f"to depth {facts.get('depth')} ({number:,} document{'s' * (number != 1)})"
        conditions = ", ".join(dict.fromkeys(name for names in facts.get("conditions", {}).values() for name in names))
        described.append((f"of {stages} {depth}", f"of {stages} under {conditions} {depth}") if stages else ())
    was, now = described
    if not now or was == now:
        return "the pool has changed"
    if not was:
        return f"the pool is now {now[0]}, was another"
    alike = was[0] == now[0]
    return f"the pool is now {now[alike]}, was {was[alike]}"
