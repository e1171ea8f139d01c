"""Results folders read and checked: summary, values by topic, manifest."""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import decode

from heed.addon_table import brought_if_here
from heed.errors import DataError, HeedError, fail
from heed.files import locked, read_bytes, write_json
from heed.measures.baseline import AgainstBaseline, against_baseline
from heed.measures.summary import AgainstQuery, AsSeen, Detail, Label, Row, Shift, SystemEntry, lower_is_better, rows_of
from heed.progress import log
from heed.types import PAPERS, Run

Form = TypeVar("Form", bound=Struct)
AGAIN = "run the command that made them once more (what is complete is used again)"
TYPES = ("C1", "C2", "S1", "S2", "S3")  # conditions that are kinds of FollowTable's constraints: content, schema
Column = tuple[str, str]  # condition and measure


class PrintedFigure(NamedTuple):
    """A figure on the printed scale, ×100, and as text; why a paper's is doubtful, or the interval of one's own."""

    value: float
    text: str
    why: str = ""
    interval: str = ""


@dataclass(frozen=True, repr=False)
class ResultsFolder:
    """The measures of systems over one collection; values on the measure's own scale (−1 to 1, or 0 to 1).

    ``warnings`` say in one line each what makes them doubtful; ``lower_is_better`` is of the user's own measures,
    ``systems`` say what each system rescored. ``summary_rows`` are those of a ``summary.json`` that was read. ``path``
    is where they are, ``folder`` that from the folder of the report, and ``runs`` are those of its runs that are in
    memory, by system and condition. ``baseline`` is that of the report, empty for the best first stage.
    """

    collection: str
    subset: str
    details: Sequence[Detail]
    warnings: Sequence[str] = ()
    lower_is_better: Mapping[str, bool] = field(default_factory=dict)
    systems: Sequence[SystemEntry] = ()
    summary_rows: Sequence[Row] = ()
    shifts: Sequence[Shift] = ()
    against_query: Sequence[AgainstQuery] = ()
    as_seen: Sequence[AsSeen] = ()
    folder: str = "."
    path: Path = Path()
    runs: Mapping[tuple[str, str], Run] = field(default_factory=dict)
    baseline: str = ""

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of ``summary.json``: system, condition, measure, value, and ``n``, the topics of the mean."""
        return [*self.summary_rows] or rows_of(self.details)

    def summary(self) -> dict[str, Any]:
        """Return the content of ``summary.json``."""
        about = {"collection": self.collection, "subset": self.subset, "rows": self.rows, "warnings": [*self.warnings]}
        further = {"lower_is_better": {**self.lower_is_better}, "systems": [*self.systems], "baseline": self.baseline}
        return about | {name: value for name, value in further.items() if value}

    def compare(
        self, baseline: str = "", test: str = "", across_pools: bool = False, measures: Collection[str] = ()
    ) -> AgainstBaseline:
        """Return all systems against the ``baseline``, or the report's: differences, p-values, a sentence each.

        ``print`` and notebooks show it, and it has ``to_pandas()``; :func:`heed.measures.baseline.against_baseline`
        has the arguments and the errors.
        """
        return against_baseline(
            self.details,
            self.systems,
            baseline or self.baseline,
            test=test,
            across_pools=across_pools,
            directions=self.lower_is_better,
            measures=measures,
        )

    @property
    def title(self) -> str:
        """Collection and subset, as the report names them."""
        return " ".join(filter(None, (self.collection, self.subset)))

    @property
    def names(self) -> list[str]:
        """The names of all systems, in the order of the rows."""
        return list(dict.fromkeys(row["system"] for row in self.rows))

    @property
    def columns(self) -> list[Column]:
        """Conditions with their measures, in the order of the rows."""
        return list(dict.fromkeys((row["condition"], row["measure"]) for row in self.rows))

    def values(self, column: Column) -> dict[str, float]:
        """Return the value of each system by a condition's measure."""
        return {row["system"]: row["value"] for row in self.rows if (row["condition"], row["measure"]) == column}

    def is_lower_better(self, measure: str) -> bool:
        """Return whether the lowest value of ``measure`` is the best."""
        return lower_is_better(measure, self.lower_is_better)

    def of_papers(self, key: str) -> Any | None:
        """Return a function of the add-on of papers' figures; None without it, and for what no paper has run."""
        return brought_if_here(key) if self.collection in PAPERS else None

    def published(self, column: Column) -> Mapping[str, PrintedFigure]:
        """Return the figures of a condition's measure that a paper prints, by system; empty without that add-on."""
        by_column = self.of_papers("published figures")
        condition, measure = column
        return by_column(self.collection, self.subset).get((condition, measure.lower()), {}) if by_column else {}

    def source(self, index: int) -> str:
        """Return where the figure of row ``index`` was read."""
        return f"{self.folder}/summary.json#rows[{index}]"


class Summary(Struct):
    """What ``summary.json`` holds, as :class:`ResultsFolder` has it."""

    collection: Label
    subset: Label
    rows: list[Row]
    warnings: list[Label] = []
    lower_is_better: dict[Label, bool] = {}
    systems: list[SystemEntry] = []
    baseline: Label = ""


class _PerTopic(Struct):
    rows: list[Detail]
    shifts: list[Shift]
    against_query: list[AgainstQuery] = []
    as_seen: list[AsSeen] = []


def read_tree(runs: Path, measured: ResultsFolder | None = None) -> list[ResultsFolder]:
    """Return all results at and below ``runs``, by path; raise :class:`DataError` with all problems of their files.

    Those of ``runs`` itself may be given as this process has ``measured`` them. A run without judgements leaves a
    summary without rows; such folders are logged and left out.
    """
    if not runs.is_dir():
        problem = "is a file" if runs.exists() else "no such folder"
        raise DataError(f"{runs}: {problem}; give a results folder, such as runs/neuclir-sample/zho, or a tree")
    below = (path.relative_to(runs) for path in runs.rglob("summary.json"))
    paths = sorted(path for path in below if not any(part.startswith(".") for part in path.parts))
    if not paths:
        by_name = "; its runs can be given to heed compare by their names" if any(runs.glob("*.run")) else ""
        expected = "give a folder that a collection command wrote, such as runs/neuclir-sample/zho"
        raise DataError(f"{runs}: no summary.json in it or below it; {expected}{by_name}")
    problems: list[str] = []
    folders = [
        measured if measured and path.parent == Path() else _read_folder(runs, path.parent, problems) for path in paths
    ]
    having = [results for results in folders if results.rows]
    empty = [
        f"{runs / path}: no rows, nothing was measured"
        for path, each in zip(paths, folders, strict=True)
        if not each.rows
    ]
    fail(problems or ([] if having else [f"{problem}; give judgements and run again" for problem in empty]))
    for problem in empty:
        log.info(f"{problem}; left out")
    return having


def read_folders(folders: Sequence[Path]) -> list[ResultsFolder]:
    """Return all results at and below ``folders``, each once; of several, named by the path from the common parent."""
    if len(folders) == 1:
        return read_tree(folders[0])
    by_path = {results.path.resolve(): results for folder in folders for results in read_tree(folder)}
    parent = Path(os.path.commonpath(by_path))
    return [replace(each, folder=path.relative_to(parent).as_posix()) for path, each in by_path.items()]


def _read_folder(runs: Path, below: Path, problems: list[str]) -> ResultsFolder:
    """Return the results of a folder ``below`` the folder ``runs``; add what is wrong to ``problems``."""
    folder = runs / below
    summary = _read_json(folder / "summary.json", Summary, problems) or Summary("", "", [])
    path = folder / "per_topic.json"
    topics = (path.exists() and _read_json(path, _PerTopic, problems)) or _PerTopic([], [])
    about = summary.collection, summary.subset, topics.rows, summary.warnings, summary.lower_is_better, summary.systems
    figures = summary.rows, topics.shifts, topics.against_query, topics.as_seen
    results = ResultsFolder(*about, *figures, below.as_posix(), folder)
    return replace(results, baseline=summary.baseline)


def read_summary(folder: Path) -> Summary:
    """Return the ``summary.json`` in ``folder``, which is about to be made anew: empty where none can be read."""
    return _read_json(folder / "summary.json", Summary, []) or Summary("", "", [])


def keep_baseline(folder: Path, baseline: str) -> None:
    """Write into the results in ``folder`` that their reports have this ``baseline``, until another is named.

    Where that cannot be, as in a folder that is not one's own, a warning says so.
    """
    path = folder / "summary.json"
    try:
        with locked(folder):
            summary = json.loads(read_bytes(path))
            if summary.get("baseline") != baseline:
                write_json(path, summary | {"baseline": baseline})
    except (HeedError, OSError) as error:
        log.warning(f"{folder}: {baseline} is the baseline of this page alone: {error}")


def _read_json(path: Path, form: type[Form], problems: list[str]) -> Form | None:
    """Return the content of ``path``; None, and a line more in ``problems``, where it is not of the ``form``."""
    try:
        return decode(read_bytes(path), type=form)
    except HeedError as error:
        problems.append(str(error))
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        problems.append(f"{path}: {error}; run the collection again")
    return None


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the content of ``manifest.yml`` in ``folder``, empty without it; :class:`DataError` for another form."""
    import yaml

    path = folder / "manifest.yml"
    if not path.exists():
        return {}
    try:
        manifest = yaml.load(read_bytes(path), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not YAML ({' '.join(str(error).split())[:200]}); run the collection again") from error
    if not isinstance(manifest, dict):
        raise DataError(f"{path}: {type(manifest).__name__}, expected names and values; run the collection again")
    return manifest


class ManifestSettings(NamedTuple):
    """Names and values that hold for a folder, and those of each system; the names of nested ones have dots."""

    folder: list[tuple[str, str]]
    systems: dict[str, list[tuple[str, str]]]


def read_settings(folder: Path) -> ManifestSettings:
    """Return the settings of the results in ``folder``; :class:`DataError` as :func:`read_manifest`."""
    manifest = read_manifest(folder)
    method = manifest.get("method")
    entries = method.pop("retrieval", None) if isinstance(method, dict) else None
    entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    systems = {str(entry.get("name")): list(_pairs(entry.get("parameters"), "")) for entry in entries}
    return ManifestSettings(list(_pairs(manifest, "")), systems)


def _pairs(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the values inside ``value`` by their names, those of inner ones after a dot."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _pairs(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for number, item in enumerate(value):
            yield from _pairs(item, f"{name}[{number}]")
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value))
    else:
        yield name, "" if value is None else str(value)
