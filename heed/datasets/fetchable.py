"""The collections that can be had, as data in ``holdings.json``: where each comes from and where it goes."""

import difflib
import json
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

from heed.datasets.downloads import File, Store, fetch
from heed.datasets.followir import BENCHMARKS
from heed.datasets.hub_store import Repository, hub_store
from heed.datasets.infosearch import DIMENSIONS
from heed.datasets.mfollowir import files_of
from heed.datasets.neuclir_files import home, known_file
from heed.errors import HeedError
from heed.evaluation.mteb_results import TASKS
from heed.languages import LANGUAGES

DATA = Path(__file__).with_name("holdings.json")


class ByHand(NamedTuple):
    """What nobody but the user can bring: ``why``, what to do, and how many files ``globs`` must then find."""

    why: str
    file: File
    how: list[str]
    globs: list[str]
    expected: int

    def problem(self) -> str:
        """What is wrong with what lies there; empty where all is right."""
        path = self.file.path
        if not path.exists():
            return "not here"
        # ir_datasets looks in the same way: Path.glob passes by linked folders
        found = sum(len(glob(str(path / pattern), recursive=True)) for pattern in self.globs)  # noqa: PTH207
        if found != self.expected:
            return f"{found} files of the expected {self.expected} match {', '.join(self.globs)}"
        if path.is_file() and not self.file.is_right():
            return f"its digest is not {self.file.digest}"
        return ""


class Holding(NamedTuple):
    """One collection, in one language where it has several."""

    name: str
    lang: str
    entry: dict[str, Any]

    def text(self, field: str) -> str:
        """A field of the entry, with the language filled in; empty where there is none."""
        return self._filled(self.entry.get(field, ""))

    def repository(self) -> Repository | None:
        """The hub data set, if it is one."""
        if "benchmark" in self.entry:
            benchmark = BENCHMARKS[self.entry["benchmark"]]
            return Repository(benchmark.repository, benchmark.revision)
        if "dimension" in self.entry:
            name, revision = DIMENSIONS[self.entry["dimension"]]
            return Repository(name, revision or "main")
        if "hub" not in self.entry:
            return None
        return Repository(self.entry["hub"], TASKS[self.entry["task"]].revision, files_of(self.lang))

    def files(self) -> list[File]:
        """What ir_datasets has addresses for."""
        kept = self.entry.get("ir_datasets", {})
        return [known_file(source, self._filled(key)) for source, keys in kept.items() for key in keys]

    def by_hand(self) -> ByHand | None:
        """What cannot be fetched, if anything."""
        entry = self.entry.get("by_hand")
        if not entry:
            return None
        if "source" in entry:
            file = known_file(entry["source"], self._filled(entry["key"]))
        else:
            file = File(entry["path"], Path(entry["path"]), None, "")
        how = [self._filled(line) for line in entry["how"]]
        return ByHand(entry["why"], file, how, entry.get("globs", []), entry.get("expected", 0))

    def stores(self) -> list[Store]:
        """All that can be fetched; the hub is asked for what it holds."""
        repository, files = self.repository(), self.files()
        found = [hub_store(repository)] if repository else []
        return found + ([Store("files that ir_datasets knows", home(), files, fetch)] if files else [])

    def _filled(self, text: str) -> str:
        short = LANGUAGES[self.lang].short if self.lang else ""
        return text.replace("{lang}", self.lang).replace("{short}", short)


def every_holding() -> list[Holding]:
    """All collections, each once for every language it has."""
    return [one for name in _entries() for one in _in_languages(name, _entries()[name].get("languages", []))]


def holdings(name: str, langs: Sequence[str]) -> list[Holding]:
    """The collection ``name``, or all members of a group such as ``followir``, in the languages asked for.

    Raises :class:`HeedError` for an unknown name, with the nearest ones, and where languages are
    missing, unknown, or asked of a collection without any.
    """
    entries = _entries()
    members = [one for one in entries if one == name or one.startswith(f"{name}/")]
    if not members:
        known = [*entries, *{one.split("/")[0] for one in entries}]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        hint = f"; did you mean {' or '.join(dict.fromkeys(near))}?" if near else "; without a name, all are listed"
        raise HeedError(f"{name}: no collection of this name{hint}")
    languages = entries[members[0]].get("languages", [])
    for lang in langs:
        if lang not in languages:
            raise HeedError(f"--lang: found {lang!r}, {_expected(name, languages, lang)}")
    if languages and not langs:
        raise HeedError(f"{name}: comes by language; give --lang {', --lang '.join(languages)}, or several of them")
    return [one for member in members for one in _in_languages(member, langs)]


def _expected(name: str, languages: list[str], found: str) -> str:
    if not languages:
        return f"but {name} does not come by language; leave --lang out"
    hint = next((f"; did you mean {one.code}?" for one in LANGUAGES.values() if one.short == found), "")
    return f"expected one of {', '.join(languages)}{hint}"


def _in_languages(name: str, langs: Sequence[str]) -> list[Holding]:
    return [Holding(name, lang, _entries()[name]) for lang in langs or [""]]


def _entries() -> dict[str, dict[str, Any]]:
    entries: dict[str, dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))
    return entries
