"""Options that say which data: made of the fields of :class:`heed.data.Data`, and of a layout's own parameters."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heed.data import FILES, Data
from heed.datasets.collection import Layout
from heed.errors import UsageError, fail
from heed.types import CONDITIONS
from pipelines.options.parser import Group, field_options, fields_of

TEXTS = ("topics", "encoding", "docs", "lang")  # of commands that need the documents and topics of a pool


def data_options(group: Group, *names: str, more: Mapping[str, str] | None = None, required: bool = False) -> None:
    """Add an option for each of the fields of :class:`heed.data.Data` that ``names`` lists.

    ``more`` is what a command takes beside the help of a field says; documents and topics may be ``required``.
    """
    field_options(group, Data, *names, more=more, required=("docs", "topics") if required else ())


def layout_options(group: Group, layout: Layout, called: Mapping[str, str]) -> None:
    """Add an option for each of a layout's own parameters that ``called`` lists, under the name that it gives it."""
    for name, option in called.items():
        known = layout.options[name]
        default = (layout.read.__kwdefaults__ or {})[name]
        more: dict[str, Any] = {"action": "extend", "nargs": "+"} if default == () else {"type": known.type}
        more |= {"choices": known.choices} if known.choices else {"metavar": known.metavar}
        group.add_argument(option, dest=name, default=None if default == () else default, help=known.help, **more)


def data_of(options: argparse.Namespace) -> Data:
    """Return the request for data that the options make."""
    values = fields_of(options, Data)
    return Data(**values | {"docs": tuple(values.get("docs", ()))})


def parameters_of(options: argparse.Namespace, layout: Layout) -> dict[str, Any]:
    """Return the values of a layout's own parameters that the options give."""
    values = {name: getattr(options, name) for name in layout.options if hasattr(options, name)}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def refuse_data(data: Data, instead: str, but: Sequence[str] = (), names: Sequence[str] = FILES) -> None:
    """Raise :class:`UsageError` for fields of ``names``, without ``but``, that are given and not used here."""
    used = [name for name in data.changed() if name in names and name not in but]
    fail([f"{', '.join(used)}: not used here; {instead}"] if used else [], UsageError)


def run_reading_options(group: Group) -> None:
    """Add --subset, of MTEB's files of predictions, and --topic-ids."""
    group.add_argument("--subset", metavar="NAME", help="subset of MTEB's predictions, if a file has several")
    topic_ids_option(group)


def topic_ids_option(group: Group) -> None:
    """Add how topics' ids are read, in all files: :func:`pipelines.command.run_command` takes it."""
    group.add_argument(
        "--topic-ids",
        choices=("number",),
        default="",
        help="number: read topics' ids without prefix and leading zeros, in all files; 051 and MB001 become 51 and 1",
    )


def condition_option(group: Group, first: str = "") -> None:
    """Add --condition of a command that runs one; ``first`` is what comes before the usual one."""
    group.add_argument(
        "--condition",
        choices=CONDITIONS,
        help=f"condition to run (default: {first}original if the topics have instructions, else query)",
    )


def catalogue_option(group: Group) -> None:
    """Add a catalogue of collections of the user's own."""
    group.add_argument(
        "--catalogue", type=Path, metavar="FILE", help="JSON file of more collections, in the form of catalogue.json"
    )
