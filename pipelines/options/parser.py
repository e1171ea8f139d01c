"""The parser that every command starts from, and types of options' values."""

import argparse
from collections.abc import Sequence

from pipelines import started_as_heed

Group = argparse._ActionsContainer  # a parser, or a group of one: what options are added to


def command_parser(
    name: str, usage: str, description: str | None, examples: Sequence[str], rules: str = ""
) -> argparse.ArgumentParser:
    """Return the parser of the command ``name``, without options yet.

    ``usage`` is what must be given, as ``RUN… --out POOL``; ``examples`` are command lines without the command, shown
    at the end of the help behind ``rules``, which say how the command decides. The command is named in the form in
    which the process was started.
    """
    command = f"heed {name}" if started_as_heed() else f"python -m pipelines.{name}"
    lines = "\n".join(f"  {command} {example}".rstrip() for example in examples)
    return argparse.ArgumentParser(
        prog=command,
        usage=f"%(prog)s {usage} [options]",
        description=description,
        epilog=f"{rules}\nexamples:\n{lines}".lstrip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def positive(text: str) -> int:
    """Return a whole number from 1, as argparse wants its types."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"found {text}, expected at least 1")
    return value
