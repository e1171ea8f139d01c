"""Layouts: how collections of one published form are read, and the settings that say which part of them to take.

A layout is a module with a :class:`Layout`, which entries of a catalogue name as ``"layout": "package.module:NAME"``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from heed.datasets.catalogue import Named
from heed.datasets.collection import Collection
from heed.errors import DataError, UsageError
from heed.formats.user_files import NO_FILES, OwnFiles


@dataclass(frozen=True)
class Settings:
    """Which documents, topics and judgements of a collection to take; the fields are the commands' options.

    ``files`` replace documents, topics and judgements. ``lang`` is the documents' language, ``subsets`` are
    FollowTable's or dimensions of InfoSearch, ``data`` is a local copy. Of news ``query_lang`` and ``docs_lang`` are
    ``native`` or ``eng``, ``translation`` is ``human``, ``machine`` or None for either, and ``years`` choose NeuCLIR's
    topics.
    ``fields`` says which text of a topic is the query, ``form`` how tables are written for systems, ``traps`` is a file
    of trap tables. With ``or_sample`` the embedded sample is taken where the collection is not on this machine.
    ``conditions`` are those to be run: FollowIR's shorter instructions are in its older form alone.
    """

    files: OwnFiles = NO_FILES
    lang: str = ""
    query_lang: str = "native"
    docs_lang: str = "native"
    translation: str | None = None
    years: tuple[str, ...] = ()
    fields: str = "title"
    subsets: tuple[str, ...] = ()
    form: str = "raw"
    traps: Path | None = None
    data: Path | None = None
    or_sample: bool = False
    conditions: tuple[str, ...] = ()

    def changed(self) -> list[str]:
        """Return the names of the settings that are not the default ones."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]


class Layout(NamedTuple):
    """How collections of one layout are read.

    ``read`` returns the collections of an entry, or of the entries of a group, as the settings say, and raises
    :class:`UsageError` and :class:`DataError`; it uses those settings that ``takes`` names.
    """

    read: Callable[[Sequence[Named], Settings], list[Collection]]
    takes: tuple[str, ...]


ARGUMENTS = {"subsets": "subset", "files": "docs, topics, qrels"}  # settings: their names as arguments and options
ALWAYS = ("or_sample", "conditions")  # settings that ask for nothing which a layout has to have


def check_settings(name: str, layout: Layout, settings: Settings) -> None:
    """Raise :class:`UsageError` for settings that the layout of the collection ``name`` does not take."""
    unused = [setting for setting in settings.changed() if setting not in (*layout.takes, *ALWAYS)]
    if unused:
        takes = ", ".join(ARGUMENTS.get(setting, setting) for setting in layout.takes if setting != "files")
        raise UsageError(
            f"{', '.join(ARGUMENTS.get(setting, setting) for setting in unused)}: not used by {name}; it takes {takes}"
        )


def layout_at(reference: str, name: str) -> Layout:
    """Return the layout that the entry ``name`` refers to as ``package.module:NAME``.

    Raises :class:`DataError` where there is no such module, or no :class:`Layout` of that name in it.
    """
    module, _, attribute = reference.partition(":")
    try:
        layout = getattr(import_module(module), attribute)
    except (ImportError, ValueError, AttributeError) as error:
        raise DataError(f"{name}: no layout {reference} ({error}); expected package.module:NAME") from error
    if not isinstance(layout, Layout):
        raise DataError(f"{name}: {reference} is a {type(layout).__name__}, expected a heed.datasets.layout.Layout")
    return layout
