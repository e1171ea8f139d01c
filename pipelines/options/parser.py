"""The parser that every command starts from, and types of options' values."""

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from itertools import chain, takewhile
from typing import Any, NoReturn

from heed import __version__
from heed.errors import did_you_mean
from heed.progress import escaped
from pipelines import as_started

Group = argparse._ActionsContainer  # a parser, or a group of one: what options are added to
READING, SEARCH, OF_MODELS = "how topics and documents are read", "search", "models"
MACHINE, ENGINE, MORE = "machine", "engine", "more options"
RARE = (READING, SEARCH, OF_MODELS, MACHINE, ENGINE, MORE)  # groups that only --help-all shows


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Writes descriptions as they are, and each line of an option's help as a paragraph."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return list(chain.from_iterable(map(partial(super()._split_lines, width=width), text.splitlines())))


class CommandParser(argparse.ArgumentParser):
    """The parser of a command: its help names commands as this process was started, its errors are one line."""

    def format_help(self) -> str:
        """Return the help, with all options."""
        return as_started(super().format_help())

    def print_help(self, file: Any = None) -> None:
        """Print the help as ``--help`` has it, without the ``RARE`` options."""
        everything = self._action_groups
        self._action_groups = [group for group in everything if group.title not in RARE]
        text, hidden = self.format_help(), len(everything) - len(self._action_groups)
        self._action_groups = everything
        last = f"\n{self.prog} --help-all shows all options.\n" if hidden else ""
        print(text + last, end="", file=file or sys.stdout)

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Return the options; one that there is not is an error before argparse misses one that is required.

        ~/ is the home folder behind an = and in quotation marks too, where no shell puts it in.
        """
        home = os.path.expanduser("~/")  # noqa: PTH111 (Path raises where there is none)
        typed = sys.argv[1:] if args is None else args
        self._typed = [re.sub(r"(?<![^=])~/", lambda _: home, argument) for argument in typed]
        for argument in takewhile("--".__ne__, self._typed):
            if argument == "--help-all":
                print(self.format_help(), end="")
                sys.exit(0)
            name = argument.partition("=")[0]
            if re.fullmatch(r"--?[A-Za-z][\w-]+", name) and name not in self._option_string_actions:
                meant = did_you_mean(f"--{name.lstrip('-')}", [*self._option_string_actions], before="; ")
                self.error(f"no option {name}{meant}")
        return super().parse_args(self._typed, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = list(map(str, action.choices))
            meant = did_you_mean(str(value), known, before="; ")
            raise argparse.ArgumentError(action, f"found {value!r}, expected one of {', '.join(known)}{meant}")

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the options, without pages of usage, and exit with 2."""
        message = message.removeprefix("argument ")
        options = [action.option_strings[-1] for action in self._actions if type(action) is argparse._AppendAction]
        repeated = [option for option in options if option in self._typed]
        if message.startswith("unrecognized arguments") and repeated:
            message += f"; {', '.join(repeated)}: write the option before each of its values"
        end = "" if message.endswith("?") else ";"
        print(f"error: {escaped(message)}{end} {self.prog} --help lists the options", file=sys.stderr)
        sys.exit(2)


def command_parser(
    name: str, usage: str, description: str | None, examples: Sequence[str], rules: str = ""
) -> CommandParser:
    """Return the parser of the command ``name``, with the options that all commands have.

    ``usage`` is what must be given, as ``RUN… --out POOL``; ``examples`` are command lines without the command, shown
    at the end of the help behind ``rules``, which say how the command decides.
    """
    lines = "\n".join(f"  heed {name} {example}".rstrip() for example in examples)
    parser = CommandParser(
        prog=as_started(f"heed {name}"),
        usage=" ".join(["%(prog)s", *usage.split(), "[options]"]),
        description=description,
        epilog=f"{rules}\nexamples:\n{lines}".lstrip(),
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--help-all", action="store_true", help="show all options and exit")
    parser.add_argument("--quiet", action="store_true", help="log no progress")
    parser.add_argument("--verbose", action="store_true", help="log what each stage took too")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument("--version", action="version", version=f"heed {__version__}", help="print Heed's version")
    return parser


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
