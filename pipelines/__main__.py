"""List the commands (``python -m pipelines`` or ``heed``), or run one (``heed COMMAND …``)."""

import importlib
import sys
from collections.abc import Sequence

from heed import __version__
from heed.errors import did_you_mean
from pipelines import (
    COMMANDS,
    FIRST_WEEK,
    as_started,
    print_any_character,
    print_uncaught,
    until_the_reader_leaves,
)


def _list_of_commands(everything: bool) -> str:
    """Return the commands of the first week, or all, with what each does; the others are named."""
    width = len(as_started("heed neuclir")) + 5
    shown = COMMANDS if everything else FIRST_WEEK
    lines = [f"  {as_started(f'heed {name}'):<{width}}{COMMANDS[name]}" for name in shown]
    others = ", ".join(name for name in COMMANDS if name not in shown)
    more = f"Also: {others} (--help-all describes them).\n" if others else ""
    return "\n".join(["Heed: does a search system do what the user asked?\n", *lines, f"\n{more}Each answers --help."])


@until_the_reader_leaves()
def main(argv: Sequence[str] | None = None) -> int:
    """List the commands, or run the one that ``argv`` names, else the process's arguments; return the exit status."""
    arguments = sys.argv[1:] if argv is None else argv
    print_any_character()
    if not arguments or arguments[0] in ("-h", "--help", "--help-all"):
        print(_list_of_commands(everything="--help-all" in arguments))
        return 0
    if arguments[0] == "--version":
        print(f"heed {__version__}")
        return 0
    name = arguments[0]
    if name not in COMMANDS:
        meant = did_you_mean(name, [*COMMANDS], 3, cutoff=0.4) or f"there are {', '.join(COMMANDS)}"
        print(f"error: no command {name!r}; {meant}", file=sys.stderr)
        return 2
    if argv is None:
        sys.excepthook = print_uncaught
    command = importlib.import_module(f"pipelines.{name}")
    if argv is None:
        del sys.argv[1]  # the command parses the rest, and the process ends with it
    status: int = command.main(None if argv is None else arguments[1:])
    return status


if __name__ == "__main__":
    sys.exit(main())
