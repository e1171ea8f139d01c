"""Options of results: where they go, and in which form."""

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from heed.errors import UsageError, fail
from heed.files import is_written_json
from heed.formats.trec_files import is_pool, is_qrels, is_run
from heed.types import CONDITIONS
from pipelines.options.parser import Group

TABLE_FORMS = {"text": ".txt", "markdown": ".md", "latex": ".tex", "csv": ".csv"}  # with their suffixes
TABLES = (": values ×100", r"% needs \usepackage{booktabs}", "collection,subset,system,condition,measure,value")


def _begins(path: Path, signs: Sequence[str]) -> bool:
    """Return whether one of ``signs`` of what Heed writes is in the first kilobyte of a file."""
    with path.open("rb") as stream:
        beginning = stream.read(1024).decode(errors="replace")
    return any(sign in beginning for sign in signs)


# what commands write, by the suffix that it has: words for it, and whether a file is one
KINDS: dict[str, tuple[str, Callable[[Path], bool]]] = {
    ".json": ("JSON that Heed wrote", is_written_json),
    ".jsonl": ("pool", is_pool),
    ".qrels": ("qrels file", is_qrels),
    ".run": ("run", is_run),
    ".html": ("page that Heed wrote", partial(_begins, signs=["<title>Heed: "])),
    **dict.fromkeys(TABLE_FORMS.values(), ("table that Heed wrote", partial(_begins, signs=TABLES))),
}


def out_option(group: Group, folder: str = "runs") -> None:
    """Add the folder of results."""
    group.add_argument(
        "--out", type=Path, default=Path(folder), metavar="DIR", help=f"folder of results (default {folder}/)"
    )


def indexes_option(group: Group) -> None:
    """Add the folder of indexes."""
    group.add_argument(
        "--indexes", type=Path, default=Path("indexes"), metavar="DIR", help="folder of indexes (default indexes/)"
    )


def verify_option(group: Group) -> None:
    """Add whether large files are read although they seem to be unchanged."""
    group.add_argument(
        "--verify",
        action="store_true",
        help="read every file to see whether it has changed (default: not those of 64 MB and more whose size and time "
        "of change are as they were)",
    )


def export_form(text: str) -> tuple[str, Path]:
    """Return form and path of ``FORM=PATH``, of a pool for other tools."""
    from heed.addons.judging.exchange.exports import FORMATS

    form, _, path = text.partition("=")
    if form not in FORMATS or not path:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected FORM=PATH with one of {', '.join(FORMATS)}")
    return form, Path(path)


def json_option(group: Group) -> None:
    """Add the file of results as JSON."""
    group.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")


def check_target(options: argparse.Namespace, field: str, suffix: str) -> None:
    """Raise :class:`UsageError` where the file that an option names would replace an input, or something else.

    What may be replaced is of the kind that has ``suffix``: what the command writes.
    """
    target: Path | None = getattr(options, field, None)
    if target is None:
        return
    kind, is_of_kind = KINDS[suffix]
    stem, _, rest = target.absolute().name.partition(".")
    name = f"{stem}-new.{rest}" if f"{suffix}." in f".{rest}." else f"{stem}-new{suffix}"
    instead = f"give another: {field}={target.parent / name}"
    others, problem = vars(options) | {field: None}, ""
    if target.exists() and not target.is_file():
        problem = f"is no file; {instead}"
    elif not target.absolute().parent.parent.exists():
        problem = f"no such folder; make it first: mkdir -p {target.parent}"
    elif target in others.values() or (target.exists() and any(map(target.samefile, _files(others)))):
        problem = f"is given to this command, and would be overwritten; {instead}"
    elif target.exists() and target.stat().st_size and not is_of_kind(target):
        problem = f"is no {kind}, and would be overwritten; {instead}"
    fail([f"{field}: {target}: {problem}"] if problem else [], UsageError)


def _files(value: Any) -> Iterator[Path]:
    """Yield the files that a value of options names: alone, behind ``NAME=``, or for each condition."""
    if isinstance(value, str | os.PathLike):
        texts = [str(value), str(value).partition("=")[2]]
        paths = [text.replace("{condition}", condition) for text in texts for condition in CONDITIONS]
        yield from (Path(path) for path in dict.fromkeys(paths) if os.path.isfile(path))  # noqa: PTH113 (Path.is_file raises where a text is too long)
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _files(each)
