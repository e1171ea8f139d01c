"""List the commands (``python -m pipelines`` or ``heed``), or run one (``heed COMMAND …``)."""

import difflib
import importlib
import sys
from collections.abc import Sequence

from heed import __version__
from pipelines import COMMANDS, as_started, missing_package, print_any_character


def main(argv: Sequence[str] | None = None) -> int:
    """List the commands, or run the one that ``argv`` names, else the process's arguments; return the exit status."""
    arguments = sys.argv[1:] if argv is None else argv
    print_any_character()
    if not arguments or arguments[0] in ("-h", "--help"):
        print("Heed: does a search system do what the user asked?\n")
        for name, description in COMMANDS.items():
            print(f"  {as_started(f'heed {name}'):<{len(as_started('heed neuclir')) + 5}}{description}")
        print("\nEach answers --help.")
        return 0
    if arguments[0] == "--version":
        print(f"heed {__version__}")
        return 0
    name = arguments[0]
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=3, cutoff=0.4) or list(COMMANDS)
        print(f"error: no command {name!r}; did you mean {' or '.join(near)}?", file=sys.stderr)
        return 2
    try:
        command = importlib.import_module(f"pipelines.{name}")
    except ModuleNotFoundError as error:
        message = missing_package(error)
        if message is None or "--debug" in sys.argv:
            raise
        print(f"error: {message}", file=sys.stderr)
        return 1
    if argv is None:
        del sys.argv[1]  # the command parses the rest, and the process ends with it
    status: int = command.main(None if argv is None else arguments[1:])
    return status


if __name__ == "__main__":
    sys.exit(main())
