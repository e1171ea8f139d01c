"""The commands, one file each: ``python -m pipelines`` lists them."""

import sys
from pathlib import Path
from types import TracebackType

try:
    from heed.extras import advice
except ModuleNotFoundError:
    raise
except ImportError as error:  # a system that Heed does not run on
    sys.exit(f"error: {error}")


def started_as_heed() -> bool:
    """Return whether the process was started by the console script ``heed``."""
    return Path(sys.argv[0]).stem == "heed"


def missing_package(error: ModuleNotFoundError) -> str | None:
    """Return advice on a package that this Python lacks; None if a module of Heed itself is missing."""
    package = (error.name or "").partition(".")[0]
    if package in ("", "heed", "pipelines"):
        return None
    return advice(package)


def _print_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    message = missing_package(error) if isinstance(error, ModuleNotFoundError) else None
    if message is None or "--debug" in sys.argv:
        sys.__excepthook__(kind, error, trace)
    else:
        print(f"error: {message}", file=sys.stderr)


if sys.argv[0] == "-m":  # python -m pipelines…, whose own imports may fail; not when a program imports this package
    sys.excepthook = _print_error
