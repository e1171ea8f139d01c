"""Collections as data: what ``catalogue.json`` and the user's own files of its form say of each."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from heed.errors import DataError, UsageError, did_you_mean, fail
from heed.files import read_by_name
from heed.formats.data_sets import Columns
from heed.languages import LANGUAGES
from heed.measures import STANDARD
from heed.measures.evaluate import CHANGED, Pair
from heed.types import CONDITIONS, JOIN

DATA = Path(__file__).with_name("catalogue.json")
HUB = "hub:"  # before a repository that needs no entry
REPOSITORY = re.compile(r"\w[\w.-]*/\w[\w.-]*")
COUNTS = ("documents", "queries", "bytes")  # those of an entry are of all its subsets together
SHOWN = 4  # subsets that a message names

Values = Mapping[str, Any]


class EntryFiles(Struct, frozen=True, forbid_unknown_fields=True):
    """Files of one kind, in a data set of the hub (by default the entry's) or below an address.

    Each of ``files`` is a file, or a config (see :mod:`heed.formats.data_sets`), of which ``split`` is taken,
    or all.
    """

    files: tuple[str, ...]
    split: str = ""
    hub: str = ""
    revision: str = ""
    url: str = ""


class ByHandEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """Files that only the user can get: where they are to be, why, how, and how many must match ``globs``."""

    why: str
    how: tuple[str, ...]
    path: str = ""
    source: str = ""
    key: str = ""
    globs: tuple[str, ...] = ()
    expected: int = 0


class CatalogueEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One collection, or one of its subsets.

    ``documents`` and ``queries`` are counts, of all subsets together, and ``bytes`` a size, 0 where nobody says it. A
    collection is a folder in MTEB's or BEIR's layout on the hub (``hub`` at ``revision``); or its ``corpus``,
    ``topics`` and ``qrels`` by condition, with ``columns`` of the topics' rows (without them the form of the topics is
    recognised); or an ``id`` of ir_datasets. ``lang`` is the documents' language, ``query_lang`` the topics' where that
    is another. ``reranked``, ``join``, ``robust``, ``pairs`` and ``measures`` are those of
    :class:`heed.datasets.collection.Collection` and :class:`heed.measures.evaluate.Judging`. Another form is read by
    its ``layout``, ``package.module:NAME`` of a :class:`heed.datasets.collection.Layout`; an ``embedded`` sample comes
    with Heed. ``subsets`` are collections of their own, ``NAME/SUBSET``: ``{subset}`` and ``{key}`` for each of their
    keys are replaced in all texts, in a list by several if it is a list; keys that are fields replace these.
    ``ir_datasets`` are downloads that it knows, by source. ``use`` is the command that runs it.
    """

    holds: str
    licence: str = ""
    paper: str = ""
    note: str = ""
    documents: int = 0
    queries: int = 0
    bytes: int = 0
    lang: str = "eng"
    query_lang: str = ""
    hub: str = ""
    revision: str = "main"
    corpus: EntryFiles | None = None
    topics: EntryFiles | None = None
    qrels: dict[str, EntryFiles] = {}
    columns: Columns | None = None
    id: str = ""
    measures: tuple[str, ...] = STANDARD
    robust: bool = False
    pairs: tuple[Pair, ...] = (CHANGED,)
    reranked: bool = False
    layout: str = "heed.datasets.own_files:DESCRIBED"
    embedded: bool = False
    join: str = JOIN
    subsets: dict[str, dict[str, Any]] = {}
    languages: tuple[str, ...] = ()
    ir_datasets: dict[str, tuple[str, ...]] = {}
    by_hand: ByHandEntry | None = None
    use: str = ""

    @property
    def parts(self) -> list[EntryFiles]:
        """All parts."""
        return [part for part in (self.corpus, self.topics, *self.qrels.values()) if part]

    @property
    def size(self) -> str:
        """What is known of its size, as shown to the user; may be empty."""
        return ", ".join(f"{count:,} {count_name}" for count_name in COUNTS if (count := getattr(self, count_name)))


class Named(NamedTuple):
    """An entry, or a subset of one, with all its texts filled in: ``bright/biology`` of the group ``bright``."""

    name: str
    subset: str
    lang: str
    entry: CatalogueEntry

    @property
    def group(self) -> str:
        """The entry's name."""
        return self.name.removesuffix(f"/{self.subset}") if self.subset else self.name


class Catalogue:
    """The shipped entries, and those of the user's file."""

    def __init__(self, path: Path | None = None) -> None:
        """Read ``path``, JSON in the form of ``catalogue.json``; raises as :func:`read_catalogue` does."""
        self.entries = {**_shipped(), **(read_catalogue(path) if path else {})}

    def __contains__(self, name: str) -> bool:
        """Return whether ``name`` is an entry, below an entry with subsets, or a data set as ``hub:OWNER/NAME``."""
        group = self.entries.get(name.partition("/")[0])
        return name.startswith(HUB) or name in self.entries or bool(group and group.subsets)

    def find(self, name: str, langs: Sequence[str] = ()) -> list[Named]:
        """Return the entry ``name``, or all subsets of a group such as ``followir``, in the languages ``langs``.

        ``hub:OWNER/NAME``, and ``@REVISION`` after it, is a data set of the hub in MTEB's or BEIR's layout. Raises
        :class:`UsageError` for an unknown name, with the nearest ones.
        """
        if name.startswith(HUB):
            return [_of_hub(name.removeprefix(HUB))]
        if name in self.entries:
            group, subsets = name, list(self.entries[name].subsets) or [""]
        else:
            group, _, subset = name.rpartition("/")
            if group not in self.entries or subset not in self.entries[group].subsets:
                raise self.unknown(name)
            subsets = [subset]
        return [self._named(group, subset, lang) for subset in subsets for lang in langs or [""]]

    def unknown(self, name: str, others: Iterable[str] = ()) -> UsageError:
        """Return the error for a name that is no entry, with the nearest subsets, or entries and ``others``."""
        group, _, subset = name.partition("/")
        if group in self.entries and self.entries[group].subsets:
            near = difflib.get_close_matches(subset, self.entries[group].subsets, n=SHOWN, cutoff=0.0)
            return UsageError(f"{name}: no collection of this name; {group} has subsets such as {', '.join(near)}")
        known = [other for other in (*self.entries, *others) if other != name]
        hint = did_you_mean(name, known, 3, cutoff=0.4) or "heed fetch lists all"
        return UsageError(f"{name}: no collection of this name; {hint}")

    def _named(self, group: str, subset: str, lang: str) -> Named:
        entry = self.entries[group]
        name = f"{group}/{subset}" if subset else group
        short = {"short": LANGUAGES[lang].short} if lang in LANGUAGES else {}
        values = {"subset": subset, "lang": lang, **short, **entry.subsets.get(subset, {})}
        return Named(name, subset, lang, _checked(name, _filled(name, entry, values)))


def read_catalogue(path: Path) -> dict[str, CatalogueEntry]:
    """Read a JSON file in the form of ``catalogue.json``.

    Raises :class:`DataError` for another file, and naming the entry with an unknown field or a value of another type.
    """
    problems, read = [], {}
    for name, entry in read_by_name(path, "catalogue", DATA).items():
        try:
            read[name] = msgspec.convert(entry, CatalogueEntry)
        except msgspec.ValidationError as error:
            problems.append(f"{path}: {name}: {str(error).replace('Expected', 'expected', 1)}")
    fail(problems)
    return read


@cache
def _shipped() -> dict[str, CatalogueEntry]:
    return read_catalogue(DATA)


def _of_hub(repository: str) -> Named:
    name, _, revision = repository.partition("@")
    entry = CatalogueEntry(holds=f"the data set {name} of the hub", hub=name, revision=revision or "main")
    return Named(name.rpartition("/")[2], "", "", _checked(HUB + repository, entry))


def _filled(name: str, entry: CatalogueEntry, values: Values) -> CatalogueEntry:
    """Return the entry with ``{key}`` replaced by the value of each key; keys that are fields replace these."""
    replacements = {
        **(dict.fromkeys(COUNTS, 0) if values["subset"] else {}),
        **{key: value for key, value in values.items() if value != ""},
    }
    own_fields = {key: value for key, value in replacements.items() if key in CatalogueEntry.__struct_fields__}
    try:
        return msgspec.convert(
            {**_replaced(msgspec.to_builtins(entry), replacements), **own_fields, "subsets": {}}, CatalogueEntry
        )
    except msgspec.ValidationError as error:
        raise DataError(f"{name}: {str(error).replace('Expected', 'expected', 1)}") from None


def _replaced(value: Any, values: Values) -> Any:
    if isinstance(value, str):
        for key, text in values.items():
            value = value.replace(f"{{{key}}}", text) if isinstance(text, str) else value
        return value
    if isinstance(value, Mapping):
        return {key: _replaced(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        lists = {f"{{{key}}}": items for key, items in values.items() if isinstance(items, list)}
        return [
            _replaced(filled, values) for item in value for filled in (lists.get(item, [item]) if lists else [item])
        ]
    return value


def _checked(name: str, entry: CatalogueEntry) -> CatalogueEntry:
    """Return ``entry``; raises :class:`DataError` for what could lead out of a folder or away from a safe address."""
    hubs, revisions = (
        sorted({getattr(each, field) for each in (entry, *entry.parts)} - {""}) for field in ("hub", "revision")
    )
    problems = [f"hub {hub!r}, expected OWNER/NAME" for hub in hubs if not REPOSITORY.fullmatch(hub)]
    problems += [f"revision {each!r}, expected a commit or main" for each in revisions if not _is_inside(each)]
    for part in entry.parts:
        problems += [] if part.files else ["a part without files; expected at least one"]
        names = [*part.files, *([part.split] if part.split else [])]
        problems += [f"file {file!r}, expected a name inside the data set" for file in names if not _is_inside(file)]
        if part.url and not (part.url.startswith("https://") and _is_inside(part.url.removeprefix("https://"))):
            problems.append(f"url {part.url!r}, expected https://…")
    problems += [
        f"qrels of {name!r}, expected {', '.join(CONDITIONS)}" for name in entry.qrels if name not in CONDITIONS
    ]
    fail(f"{name}: {problem}" for problem in problems)
    return entry


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in name
