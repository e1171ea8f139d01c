"""How every command runs: parse, call, print errors, return the exit status."""

import argparse
import logging
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from heed.errors import HeedError, UsageError, fail
from heed.formats.topic_ids import numbered
from heed.progress import Timing, escaped, log, recording
from pipelines import as_started, missing_package, print_any_character, until_the_reader_leaves
from pipelines.options.output import check_target
from pipelines.stopping import Terminated, stoppable

# options that change no result, and whether a value follows
IDLE = dict.fromkeys(("--threads", "--heap", "--engine", "--workers", "--ray-address"), True)
IDLE |= dict.fromkeys(("--out", "--indexes", "--json"), True)
IDLE |= dict.fromkeys(("--quiet", "--verbose", "--debug"), False)
FIELDS = r"[a-z]\w*(, [a-z]\w*)*(?=: )"  # at the beginning of a line of a message: what it is about
# within it: what to give, such as device=cpu, name=NAME, debug=True; b= is rather a run of the user's than BM25's b
GIVEN = r"(?<![^\s(])(?!b=)([a-z]\w*)=(True\b)?"
# options of other names than the library's fields, in every command that has them
CALLED = {
    "conditions": "--condition",
    "measures": "--measure",
    "rerankers": "--reranker",
    "retrievers": "--retriever",
}


def main_of(
    parser: Callable[[], argparse.ArgumentParser], body: Callable[[argparse.Namespace], None]
) -> Callable[..., int]:
    """Return the ``main`` of a command: it runs ``body`` with the options in ``argv`` (:func:`run_command`).

    Called last in the module that Python was started with, ``python -m pipelines.trec``, it runs the command instead.
    """

    def main(argv: Sequence[str] | None = None) -> int:
        return run_command(parser(), body, argv)

    if body.__module__ == "__main__":
        sys.exit(main())
    return main


@until_the_reader_leaves()
def run_command(
    parser: argparse.ArgumentParser, body: Callable[[argparse.Namespace], None], argv: Sequence[str] | None
) -> int:
    """Parse the options, run ``body``, and return the exit status.

    0 done, 1 an error printed on stderr (2: argparse's own), 130 and 143 stopped by Ctrl-C or SIGTERM.
    Without ``argv`` the process ends with the command.
    """
    print_any_character()
    options = parser.parse_args(argv)
    options.command_line = shlex.join([*parser.prog.split(), *_deciding(sys.argv[1:] if argv is None else argv)])
    timings: list[Timing] = []
    try:
        with (
            stoppable(last=argv is None),
            logging_to_stderr(options.quiet, parser, options.verbose),
            recording(timings),
            numbered(getattr(options, "topic_ids", None)),
            own_modules(),
        ):
            check_target(options, "json", ".json")
            body(options)
            if timings and options.verbose:  # of the command itself
                from pipelines.resources import log_resources

                log_resources(timings)
            sys.stdout.flush()
    except (KeyboardInterrupt, Terminated) as stop:
        print(*stop.args or (_last_line(options),), file=sys.stderr)
        return 130 if isinstance(stop, KeyboardInterrupt) else 143
    except BrokenPipeError:
        raise
    except Exception as error:
        if options.debug:
            traceback.print_exc()
        return print_error(error, parser)
    return 0


def _last_line(options: argparse.Namespace) -> str:
    """Return the last line of a command that was stopped: what is kept."""
    programs = getattr(options, "config", "") is None and "command:" in options.command_line
    but = "; a program without --config is asked for all again" if programs else ""
    return f"stopped; what was complete is kept and used again{but}"


def _deciding(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments that can decide results, for manifests: the same results have the same bytes anywhere."""
    remaining = iter(arguments)
    for argument in remaining:
        option, equals, _ = argument.partition("=")
        if option not in IDLE:
            yield argument
        elif IDLE[option] and not equals:
            next(remaining, None)


@contextmanager
def own_modules() -> Iterator[None]:
    """Let the modules of the working directory be imported inside the block, as ``python -m`` does."""
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


class _Stderr(logging.Handler):
    """Writes messages to what is stderr at the time."""

    def __init__(self, parser: argparse.ArgumentParser | None) -> None:
        super().__init__()
        self._parser = parser

    def emit(self, record: logging.LogRecord) -> None:
        prefix = "warning: " if record.levelno == logging.WARNING else ""
        print(prefix + shown(record.getMessage(), self._parser), file=sys.stderr, flush=True)


@contextmanager
def logging_to_stderr(
    quiet: bool, parser: argparse.ArgumentParser | None = None, verbose: bool = False
) -> Iterator[None]:
    """Write Heed's messages to stderr inside the block, for the command of ``parser``.

    They are warnings alone if ``quiet``, and what stages took too if ``verbose``.
    """
    handlers, level = log.handlers, log.level
    log.handlers = [_Stderr(parser)]
    log.setLevel(logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO)
    try:
        yield
    finally:
        log.handlers = handlers
        log.setLevel(level)


def print_error(error: Exception, parser: argparse.ArgumentParser | None = None) -> int:
    """Print an error of the command of ``parser`` on stderr; return the exit status."""
    if isinstance(error, HeedError):
        message = str(error)
    elif isinstance(error, ModuleNotFoundError) and (advice := missing_package(error)):
        message = advice
    elif isinstance(error, OSError):
        path, problem = error.filename or "file", error.strerror or error
        message = f"{path}: {problem}; nothing half-written is left; fix it, then run again"
    elif type(error).__module__ == "sqlite3":
        message = f"document store: {error}; free some disk space or check the folder, then run again"
    else:
        message = f"internal error, {type(error).__name__}: {error}; run again with --debug and report what it prints"
    for line in shown(message, parser if isinstance(error, HeedError) else None).splitlines():
        print(f"error: {line}", file=sys.stderr)
    return 1


def shown(message: str, parser: argparse.ArgumentParser | None) -> str:
    """Return a message of the library as the command of ``parser`` shows it, with control characters escaped."""
    return as_started(escaped(with_options(message, parser) if parser else message))


def with_options(message: str, parser: argparse.ArgumentParser) -> str:
    """Return a message with the command's options in place of the fields that it names.

    A line is about the fields with which it begins: ``rerank_depth: found 0`` becomes ``--rerank-depth: found 0`` where
    the parser has such an option, or one whose ``dest`` is the field. What to give may be anywhere: ``give device=cpu``
    becomes ``give --device cpu``, and ``keep_own_id=True`` becomes ``--keep-own-id``.
    """
    options = {action.dest: action.option_strings[-1] for action in parser._actions if action.option_strings}
    options = {field: option for field, option in CALLED.items() if option in options.values()} | options

    def named(match: re.Match[str]) -> str:
        fields = match[0].split(", ")
        return ", ".join(options[field] for field in fields) if options.keys() >= {*fields} else match[0]

    def advised(match: re.Match[str]) -> str:
        return f"{options[match[1]]}{'' if match[2] else ' '}" if match[1] in options else match[0]

    return re.sub(GIVEN, advised, re.sub(f"^{FIELDS}", named, message, flags=re.MULTILINE))


def refuse(options: argparse.Namespace, names: Sequence[str], instead: str) -> None:
    """Raise :class:`UsageError` for options that do not go together with the others, instead of ignoring them."""
    used = [name for name in names if getattr(options, name)]
    fail([f"{', '.join(used)}: not used here; {instead}"] if used else [], UsageError)
