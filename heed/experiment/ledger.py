"""A results folder as a ledger: its finished runs, what they were made of, and where earlier ones have gone.

A run ``<system>.<condition>.run`` is finished where its note, ``.made/<run>.json``, has its digest. Runs are made in
``.made/new``; before they come into the folder, those that they replace are copied to ``earlier/<number>`` and removed.
A command that was killed meanwhile is to be repeated: it finds what was made, and what was copied.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import UsageError
from heed.experiment.run_files import ASIDE, QUERIES, RunFile, SystemRuns, finished_note, journal_of
from heed.files import digest, digest_json, read_bytes, write_bytes
from heed.formats.trec_files import read_run
from heed.progress import brief, log, warn
from heed.reuse import Note, Recipe, differences, note_of, read_note, write_note
from heed.systems.user_objects import CODE
from heed.types import CONDITIONS

NEW = Path(".made") / "new"  # runs that are being made, each in a folder named by its recipe
OF_CONDITION = ("condition", "topics", "scores")  # what differs between the runs of one system


class Ledger(NamedTuple):
    """The runs in ``folder`` over ``documents``, their digest, for ``topics``, the digest of each condition's queries.

    Whoever changes something holds the folder's lock.
    """

    folder: Path
    documents: str
    topics: Mapping[str, str]

    def lists(self, name: str, recipe: Recipe, queries: Mapping[str, str]) -> dict[str, dict[str, float]]:
        """Return the lists of ``queries``, digests by topic, in runs of a system by ``recipe`` but for other topics."""
        run, lists = f"{name}.{recipe['condition']}.run", dict[str, dict[str, float]]()
        recipe = json.loads(json.dumps({**recipe, "topics": ""}))
        for path in [self.folder / run, *sorted(self.folder.glob(f"{ASIDE}/*/{run}"))]:
            note = finished_note(path)
            known = note.facts.get(QUERIES, {}) if note and {**note.recipe, "topics": ""} == recipe else {}
            if same := [qid for qid, sha256 in queries.items() if known.get(qid) == sha256 and qid not in lists]:
                scores = read_run(path) if path.stat().st_size else {}
                lists |= {qid: scores.get(qid, {}) for qid in same}
        return lists

    def enter(self, name: str, new: Mapping[str, RunFile], whole: bool, form: str = "NAME=SYSTEM") -> None:
        """Move the ``new`` runs of a system, by condition, into the folder, and what they replace aside.

        Runs by other settings wait there until the ``whole`` system is made. They stay where the new ones have their
        bytes, else all of the name move; one line says what differs. ``form`` is how the system gets another name.
        """
        there = {_parts(path)[1]: path for path in _run_paths(self.folder, name)}
        notes = {condition: finished_note(path) for condition, path in there.items()}
        here = {condition for condition, note in notes.items() if note and self._has(note)}
        recipe = next((file.note.recipe for file in new.values()), {})
        alike = {each for each in here if _is_known(recipe) and _are_alike(notes[each], recipe)}
        if not new or not (whole or alike == there.keys()):
            return
        again = new.keys() & there.keys()
        same = {condition for condition in again if digest(there[condition]) == new[condition].sha256}

        def stays(condition: str) -> bool:
            if condition in same:
                return True
            if notes[condition] is None:  # it is somebody's
                return condition not in new
            if condition in new:  # one by the same settings is made to its end now
                return condition in alike and "scores" not in recipe
            return condition in (here if again and again == same else alike)  # as good as what is made again

        # runs that are made again come first: because of them those of other conditions go too
        stale = sorted((each for each in there if not stays(each)), key=lambda each: each not in new)
        if stale:
            note = new.get(stale[0], next(iter(new.values()))).note
            why = _difference(there[stale[0]], note)
            aside = _set_aside(partial(_run_paths, name=name), [there[condition] for condition in stale])
            before = notes[stale[0]]
            if before and (not _is_known(recipe) or _codes(before.recipe) != _codes(note.recipe)):  # no name has it
                form = f"run='old={aside / name}.{{condition}}.run'"
                keep = f"; to keep both in one report, bring the earlier one in: {form}"
            else:
                keep = f"; to keep both in one report, give one of them another name: {form}"
            keep = keep if here & {*stale} else ""
            log.warning(f"{name}: {why}; its earlier runs are in {aside}{keep}")
        for file in new.values():
            if file.path.parent != self.folder:
                file.path = _brought(file.path, self.folder)

    def systems(self, in_memory: Sequence[SystemRuns] = ()) -> list[SystemRuns]:
        """Move runs of other documents and topics to ``earlier/``; return the other systems, with all their runs.

        They are first stages, rerankers and systems made elsewhere, each by name. Those that are ``in_memory`` are not
        read again.
        """
        of_folder = runs_in(self.folder)
        for name, files in [*of_folder.items()]:
            if others := [file.path for file in files.values() if not self._has(file.note)]:
                del of_folder[name]
                rest = [path for path in _run_paths(self.folder, name) if path not in others]
                aside = _set_aside(partial(_run_paths, name=name), others + rest)
                log.warning(f"{name}: its runs are of other documents or topics; they are in {aside}")
        systems = {name: SystemRuns.of_files(name, files) for name, files in of_folder.items()}
        systems |= {system.name: self.completed(system) for system in in_memory if len(system)}
        log_unknown(self.folder, of_folder)
        return _in_order(systems.values())

    def completed(self, system: SystemRuns) -> SystemRuns:
        """Return ``system`` with its other finished runs too; as it is where its own are not in the folder.

        Raises :class:`UsageError` where another of its name has replaced them.
        """
        files = self.of(system.name)
        if any(name in files and files[name].sha256 != file.sha256 for name, file in system.files.items()):
            raise UsageError(
                f"{system.name}: its runs were replaced by another system's of the same name; retrieve or rerank it "
                "again, or give one of the objects another name, in its attribute name"
            )
        if system.digests() is None or not files.keys() >= system.files.keys():
            return system
        return SystemRuns.of_files(system.name, {**files, **system.files})

    def of(self, name: str) -> dict[str, RunFile]:
        """Return the finished runs of a system over these documents and topics, by condition."""
        return {name: file for name, file in runs_in(self.folder, name).get(name, {}).items() if self._has(file.note)}

    def _has(self, note: Note) -> bool:
        recipe = note.recipe
        topics = self.topics.get(recipe.get("condition", ""))
        return recipe.get("documents") == self.documents and recipe.get("topics") == topics


def destination(path: Path, recipe: Recipe, facts: Recipe) -> Path:
    """Write ``facts`` into the note of the run at ``path`` where it is that of ``recipe``, and return its path.

    Else return where to make it: :meth:`Ledger.enter`, or :func:`replaced`, brings it to ``path``.
    """
    new = path.parent / NEW / digest_json(recipe)[:16] / path.name
    note, journal = finished_note(path), journal_of(new)
    recipe = json.loads(json.dumps(recipe))
    if note and _is_known(recipe) and _with_code(note.recipe, recipe) == recipe and not journal.exists():
        note = Note(recipe, note.files, {**note.facts, **facts})
        if read_note(note_of(path)) != note:
            write_note(note_of(path), note)
        new.unlink(missing_ok=True)  # a process that was killed left it
        _tidy(new)
        return path
    return new


def replaced(path: Path, file: RunFile) -> None:
    """Move a new run from its :func:`destination` to ``path``; another run that is there goes to ``earlier/`` first."""
    if file.path == path:
        return
    if path.exists() and digest(path) != file.sha256:
        note, recipe = finished_note(path), json.loads(json.dumps(file.note.recipe))
        if note is None or not _is_known(recipe) or _with_code(note.recipe, recipe) != recipe:
            why = _difference(path, file.note)
            aside = _set_aside(lambda folder: [each for each in [folder / path.name] if each.exists()], [path])
            log.warning(f"{path}: {why}; the earlier run is {aside / path.name}")
    file.path = _brought(file.path, path.parent)


def runs_in(folder: Path, name: str = "*") -> dict[str, dict[str, RunFile]]:
    """Return the finished runs in ``folder``, those of one system or of all, by system and condition."""
    by_system: dict[str, dict[str, RunFile]] = {}
    for path in _run_paths(folder, name):
        if note := finished_note(path):
            system, condition = _parts(path)
            by_system.setdefault(system, {})[condition] = RunFile(path, note)
    return by_system


def log_unknown(folder: Path, systems: Mapping[str, Mapping[str, RunFile]]) -> None:
    """Log which runs in ``folder`` are none of its ``systems`` and not measured, since they have no note."""
    known = {file.path for files in systems.values() for file in files.values()}
    if unknown := [path.name for path in _run_paths(folder) if path not in known]:
        missing = f"no note in {Path('.made') / 'NAME.run.json'} says what it was made of"
        say = f"not measured, {missing}: {brief(unknown)}; copy the notes too, or give it as a run made elsewhere"
        log.warning(f"{folder}: {say}")


def systems_in(folder: Path) -> list[SystemRuns]:
    """Return first stages, rerankers and systems made elsewhere, each by name, with their finished runs."""
    return _in_order(SystemRuns.of_files(name, files) for name, files in runs_in(folder).items())


def _in_order(systems: Iterable[SystemRuns]) -> list[SystemRuns]:
    return sorted(systems, key=lambda system: (system.kind, system.name))


def pool_facts(paths: Sequence[Path], documents: str) -> Recipe:
    """Return the facts of the one pool that Heed's runs at ``paths`` rescored, by their notes; none for other runs."""
    notes = [note for note in map(finished_note, paths) if note and note.recipe.get("documents") == documents]
    facts = [{**note.facts, "pool": note.recipe.get("pool") or note.facts.get("pool")} for note in notes]
    known = ("first_stages", "conditions", "depth", "documents", "pool")
    of_pool = [{key: fact[key] for key in known if key in fact} for fact in facts if fact["pool"]]
    return of_pool[0] if of_pool and len(of_pool) == len(paths) and of_pool.count(of_pool[0]) == len(paths) else {}


def warn_of_mixtures(systems: Sequence[SystemRuns]) -> None:
    """Warn of systems whose runs were made in different ways: somebody moved some of them, or remade one alone."""
    for system in systems:
        (first, note), *others = ((name, file.note) for name, file in system.files.items())
        for condition, other in others:
            if not _are_alike(note, other.recipe):
                why = _changes(note, other)
                warn(f"{system.name}: its runs {first} and {condition} were made in different ways: {why}")


def settle(folder: Path) -> None:
    """Give runs that somebody moved back their notes; remove the notes of runs that were set aside."""
    by_system = runs_in(folder) if (folder / ASIDE).exists() else {}
    for file in (file for files in by_system.values() for file in files.values()):
        if read_note(note_of(file.path)) != file.note:
            write_note(note_of(file.path), file.note)
    for path in folder.glob(".made/*.run.json"):
        if not (folder / path.stem).exists() and any(folder.glob(f"{ASIDE}/*/{path.stem}")):
            path.unlink()


def _set_aside(of_name: Callable[[Path], Sequence[Path]], stale: Sequence[Path]) -> Path:
    """Remove the ``stale`` runs of a name, all of which are copied to ``earlier/`` first; return the folder there.

    ``of_name`` returns the runs of the name in a folder. Where a killed process has copied some of them, the others
    come to these. The first of ``stale`` are those because of which the others go too: they are removed last, so that
    a repeated command removes the same.
    """
    folder = stale[0].parent
    there = {path.name: digest(path) for path in of_name(folder)}
    gone = {path.name: there[path.name] for path in stale}
    for aside in (folder / ASIDE / str(number) for number in count(1)):
        copied = {path.name: digest(path) for path in of_name(aside)}
        if copied.items() <= there.items():
            for path in (folder / run for run in there if run not in copied):
                if note_of(path).exists():
                    write_bytes(note_of(aside / path.name), read_bytes(note_of(path)))
                write_bytes(aside / path.name, path.read_bytes())
            break
        if gone.items() <= copied.items():
            break
    for path in reversed(stale):
        path.unlink()
        note_of(path).unlink(missing_ok=True)
    return aside


def _brought(path: Path, folder: Path) -> Path:
    """Move a finished run with its note into ``folder``; return its new path."""
    target = folder / path.name
    target.unlink(missing_ok=True)  # beside the new note it would be a run that somebody has changed
    write_bytes(note_of(target), read_bytes(note_of(path)))
    path.replace(target)
    _tidy(path)
    return target


def _tidy(path: Path) -> None:
    """Remove the note of a run that was moved, and folders that are empty now: others may be made there."""
    note_of(path).unlink(missing_ok=True)
    with suppress(OSError):
        for folder in (note_of(path).parent, path.parent, path.parent.parent):
            folder.rmdir()


def _run_paths(folder: Path, name: str = "*") -> list[Path]:
    """Return the run files in ``folder``, those of one system or of all, by their names."""
    paths = sorted(folder.glob(f"{name}.*.run"))
    return [path for path in paths if _parts(path)[1] in CONDITIONS and name in ("*", _parts(path)[0])]


def _parts(path: Path) -> tuple[str, str]:
    """Return the system and the condition of a run file."""
    system, _, condition = path.name.removesuffix(".run").rpartition(".")
    return system, condition


def _is_known(recipe: Recipe) -> bool:
    """Return whether a recipe says all that decides a run: of a system without a ``config`` none does."""
    return recipe.get("system") is not None or "scores" in recipe


def _are_alike(old: Note | None, new: Recipe) -> bool:
    """Return whether two runs may be of one system: by the same settings."""
    recipe = old.recipe if old else {}
    return _settings(_with_code(recipe, new)) == _settings(_with_code(new, recipe))


def _settings(recipe: Recipe) -> Recipe:
    return {key: value for key, value in recipe.items() if key not in OF_CONDITION}


def _with_code(old: Any, new: Any) -> Any:
    """Return an ``old`` recipe with those digests of code of ``new`` that it lacks, as notes of version 0.3.0 do."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return old
    known = {key: _with_code(value, new.get(key)) for key, value in old.items()}
    return {CODE: new[CODE], **known} if CODE in new else known


def _codes(recipe: Any) -> list[Any]:
    """Return the digests of users' code in a recipe."""
    if not isinstance(recipe, dict):
        return []
    return [value for key, value in recipe.items() if key == CODE] + [*chain(*map(_codes, recipe.values()))]


def _difference(path: Path, new: Note) -> str:
    """Return a sentence that says how the settings and inputs of a ``new`` run differ from those of one at ``path``."""
    if note := finished_note(path):
        return _changes(note, new)
    why = "its note lists other bytes" if note_of(path).exists() else "it has no note"
    return f"somebody changed or brought {path.name} ({why})"


def _changes(old: Note, new: Note) -> str:
    """Return a sentence that says which settings and inputs of two runs differ."""
    if not _is_known(new.recipe):
        return "it has no config, so that it may be another system by now"
    leave_out = {"condition", "pool"}
    if new.recipe["condition"] != old.recipe.get("condition"):
        leave_out |= {*OF_CONDITION}
    was, now = (note.recipe.get("tag") or "without a tag" for note in (old, new))
    is_another = was != now and old.recipe.get("system") != new.recipe.get("system")
    if is_another:  # whose settings are others anyway
        leave_out |= {"system", "tag", "depth"}
    before, after = ({key: value for key, value in note.recipe.items() if key not in leave_out} for note in (old, new))
    changes = [*([f"it is now {now}, was {was}"] if is_another else []), *differences(before, after)]
    if old.recipe.get("pool") != new.recipe.get("pool"):
        was, now = _pool(old.facts), _pool(new.facts)
        changes.insert(0, f"the pool is now {now}, was {was}" if was != now else "the pool has changed")
    return "; ".join(changes) or "the topics have changed"


def _pool(facts: Recipe) -> str:
    """Return in words of which runs a pool is, by the facts in a note."""
    if "first_stages" not in facts:
        return "another"
    pooled = {name for names in facts["conditions"].values() for name in names}
    conditions = ", ".join(name for name in CONDITIONS if name in pooled)
    of_runs = f"of {' and '.join(facts['first_stages'])} under {conditions}"
    number = facts["documents"]
    return f"{of_runs} to depth {facts['depth']} ({number:,} document{'s' * (number != 1)})"
