"""Results folders read and checked: ``summary.json``, ``per_topic.json``, and whether the runs beside them changed."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import decode

from heed.errors import DataError, HeedError, fail
from heed.files import digest, read_bytes
from heed.measures.summary import AgainstQuery, Detail, Label, Row, Shift, SystemEntry
from heed.progress import brief, log
from heed.reuse import RESULTS, read_note

Form = TypeVar("Form", bound=Struct)
AGAIN = "run the command that made them once more (what is complete is used again)"


class Results(NamedTuple):
    """One results folder: ``folder`` is its path from the folder of the report, ``.`` for that folder itself.

    ``path`` is where it was read; ``doubt``, the first of ``warnings`` if there is one, says that the figures may not
    be those of the runs beside them. ``lower_is_better`` is of the user's own measures; ``runs`` are those that this
    process has in memory, by system and condition.
    """

    folder: str
    collection: str
    subset: str
    rows: list[Row]
    details: list[Detail]
    shifts: list[Shift]
    warnings: list[str]
    path: Path
    doubt: str = ""
    lower_is_better: Mapping[str, bool] = {}
    systems: Sequence[SystemEntry] = ()
    runs: Mapping[tuple[str, str], Mapping[str, Mapping[str, float]]] = {}
    against_query: Sequence[AgainstQuery] = ()

    @property
    def title(self) -> str:
        """Collection and subset, as the report names them."""
        return " ".join(filter(None, (self.collection, self.subset)))

    def source(self, index: int) -> str:
        """Return where the figure of row ``index`` was read."""
        return f"{self.folder}/summary.json#rows[{index}]"


class _Summary(Struct):
    collection: Label
    subset: Label
    rows: list[Row]
    warnings: list[Label] = []
    lower_is_better: dict[Label, bool] = {}
    systems: list[SystemEntry] = []


class _PerTopic(Struct):
    rows: list[Detail]
    shifts: list[Shift]
    against_query: list[AgainstQuery] = []


def read_tree(runs: Path, measured: Results | None = None) -> list[Results]:
    """Return all results at and below ``runs``, by path; raise :class:`DataError` with all problems of their files.

    Those of ``runs`` itself may be given as this process has ``measured`` them; of others it is checked that they are
    those of the runs. A run without judgements leaves a summary without rows; such folders are logged and left out.
    """
    if not runs.is_dir():
        raise DataError(f"{runs}: no such folder; give a results folder, such as runs/neuclir-sample/zho, or a tree")
    below = (path.relative_to(runs) for path in runs.rglob("summary.json"))
    paths = sorted(path for path in below if not any(part.startswith(".") for part in path.parts))
    if not paths:
        raise DataError(f"{runs}: no summary.json in it or below it; give the --out folder of a collection command")
    problems: list[str] = []
    folders = [
        measured
        if measured and path.parent == Path()
        else _read_folder(runs / path.parent, path.parent.as_posix(), problems)
        for path in paths
    ]
    having = [results for results in folders if results.rows]
    empty = [
        f"{runs / path}: no rows, nothing was measured"
        for path, results in zip(paths, folders, strict=True)
        if not results.rows
    ]
    fail(problems or ([] if having else [f"{problem}; give judgements and run again" for problem in empty]))
    for problem in empty:
        log.info(f"{problem}; left out")
    return [results if results is measured else _checked(results) for results in having]


def read_folders(folders: Sequence[Path]) -> list[Results]:
    """Return all results at and below ``folders``, each once; of several, named by the path from the common parent."""
    if len(folders) == 1:
        return read_tree(folders[0])
    by_path = {results.path.resolve(): results for folder in folders for results in read_tree(folder)}
    parent = Path(os.path.commonpath(by_path))
    return [each._replace(folder=path.relative_to(parent).as_posix()) for path, each in by_path.items()]


def _checked(results: Results) -> Results:
    """Return results without the systems whose runs are gone, and with a warning where others are not those measured.

    The note has the digests of the runs that were measured. Without a note, and without any run, all stays.
    """
    folder, note = results.path, read_note(results.path / RESULTS)
    if not (folder / RESULTS).exists():
        return results
    measured = note.recipe.get("runs") if note else None
    runs = measured if isinstance(measured, dict) else {}
    digests = {f"{name}.{each}.run": sha for name, of_name in runs.items() for each, sha in (of_name or {}).items()}
    there = [path for path in sorted(folder.glob("*.run")) if path.name in digests]
    changed = [path.name for path in there if digest(path) != digests[path.name]]
    doubt = ""
    if note and not note.finished:
        doubt = f"The writing of these figures was stopped, so that they may be those of earlier runs; {AGAIN}."
    elif measured is None:  # another version's, or damaged
        doubt = f"It is not known whether these figures are those of the runs: {RESULTS} cannot be read; {AGAIN}."
    elif changed:
        doubt = f"These figures are not those of the runs: {brief(changed)} changed since; {AGAIN}."
    names = {path.name.removesuffix(".run").rpartition(".")[0] for path in there}
    gone = {name for name, of_name in runs.items() if there and of_name and name not in names}
    return results._replace(
        rows=[row for row in results.rows if row["system"] not in gone],
        details=[row for row in results.details if row["system"] not in gone],
        shifts=[row for row in results.shifts if row["system"] not in gone],
        systems=[entry for entry in results.systems if entry["system"] not in gone],
        warnings=[doubt, *results.warnings] if doubt else results.warnings,
        doubt=doubt,
    )


def _read_folder(folder: Path, name: str, problems: list[str]) -> Results:
    """Return the results of ``folder``; add to ``problems`` what is wrong with its files."""
    path, topics_path = folder / "summary.json", folder / "per_topic.json"
    summary = _read_json(path, _Summary, problems) or _Summary("", "", [])
    topics = (topics_path.exists() and _read_json(topics_path, _PerTopic, problems)) or _PerTopic([], [])
    problems += _duplicates(path, summary.rows)
    problems += _contradictions(topics_path, summary.rows, topics.rows)
    return Results(
        name,
        summary.collection,
        summary.subset,
        summary.rows,
        topics.rows,
        topics.shifts,
        summary.warnings,
        folder,
        lower_is_better=summary.lower_is_better,
        systems=summary.systems,
        against_query=topics.against_query,
    )


def _read_json(path: Path, form: type[Form], problems: list[str]) -> Form | None:
    """Return the content of ``path``; None, and a line more in ``problems``, where it is not of the ``form``."""
    try:
        return decode(read_bytes(path), type=form)
    except HeedError as error:
        problems.append(str(error))
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        problems.append(f"{path}: {error}; run the collection again")
    return None


def _duplicates(path: Path, rows: Sequence[Row]) -> Iterator[str]:
    """Yield figures that come twice: one would be in the tables, another in the charts."""
    first: dict[tuple[str, str, str], int] = {}
    for index, row in enumerate(rows):
        key = row["system"], row["condition"], row["measure"]
        if first.setdefault(key, index) != index:
            yield f"{path}: rows[{first[key]}] and rows[{index}] are both {' '.join(key)}; run the collection again"


def _contradictions(path: Path, rows: Sequence[Row], details: Sequence[Detail]) -> Iterator[str]:
    """Yield values by topic that belong to another summary than the one beside them."""
    values = {(row["system"], row["condition"], row["measure"], row["n"]): row["value"] for row in rows}
    for index, detail in enumerate(details):
        value = values.get((detail["system"], detail["condition"], detail["measure"], detail["n"]))
        if values and (value is None or abs(value - detail["value"]) > 1e-9):
            yield f"{path}: rows[{index}] is not a row of summary.json, the two differ; run the collection again"
