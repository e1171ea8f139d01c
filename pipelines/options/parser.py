"""The parser that every command starts from, and types of options' values."""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from functools import partial
from itertools import chain
from typing import Any, NoReturn

from heed.progress import escaped
from pipelines import as_started

Group = argparse._ActionsContainer  # a parser, or a group of one: what options are added to


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Writes descriptions as they are, and each line of an option's help as a paragraph."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return list(chain.from_iterable(map(partial(super()._split_lines, width=width), text.splitlines())))


class CommandParser(argparse.ArgumentParser):
    """The parser of a command: its help names commands as this process was started, its errors are one line."""

    def format_help(self) -> str:
        """Return the help."""
        return as_started(super().format_help())

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the options, without pages of usage, and exit with 2."""
        unknown = re.match(r"unrecognized arguments: (--[\w-]+)", message)
        near = get_close_matches(unknown[1], self._option_string_actions, n=1) if unknown else []
        message += f"; did you mean {near[0]}?" if near else ""
        print(f"error: {escaped(message)}; {self.prog} --help lists the options", file=sys.stderr)
        sys.exit(2)


def command_parser(
    name: str, usage: str, description: str | None, examples: Sequence[str], rules: str = ""
) -> argparse.ArgumentParser:
    """Return the parser of the command ``name``, without options yet.

    ``usage`` is what must be given, as ``RUN… --out POOL``; ``examples`` are command lines without the command, shown
    at the end of the help behind ``rules``, which say how the command decides.
    """
    lines = "\n".join(f"  heed {name} {example}".rstrip() for example in examples)
    return CommandParser(
        prog=as_started(f"heed {name}"),
        usage=" ".join(["%(prog)s", *usage.split(), "[options]"]),
        description=description,
        epilog=f"{rules}\nexamples:\n{lines}".lstrip(),
        formatter_class=HelpFormatter,
    )


def field_options(
    group: Group, of: type[Any], *names: str, more: Mapping[str, str] | None = None, required: Sequence[str] = ()
) -> None:
    """Add an option for each of the fields ``names`` of a dataclass, made by :func:`heed.compute.described`.

    ``more`` is what a command takes beside what the help of a field says.
    """
    known = {field.name: field for field in fields(of)}
    for name in names:
        described, default = dict(known[name].metadata), known[name].default
        text = described.pop("help") + (more or {}).get(name, "")
        if default not in (None, "", ()) and "default" not in text:
            text += f" (default {default})"
        if described.get("metavar") == "N":
            described["type"] = positive
        if name in required:
            described["required"] = True
        group.add_argument(f"--{name.replace('_', '-')}", default=default, help=text, **described)


def fields_of(options: argparse.Namespace, of: type[Any]) -> dict[str, Any]:
    """Return the values of those fields of a dataclass for which a command has options."""
    return {field.name: getattr(options, field.name) for field in fields(of) if field.name in options}


def listed(texts: Mapping[str, str]) -> str:
    """Return the help of an option's choices: each with its text, on a line of its own."""
    return "".join(f"\n{name}: {text}" for name, text in texts.items())


def positive(text: str) -> int:
    """Return a whole number from 1, as argparse wants its types."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number from 1")
    return int(text)
