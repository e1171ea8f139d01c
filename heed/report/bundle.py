"""Modules of JavaScript joined to the one script of a page that needs nothing else."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from posixpath import normpath

IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)


@cache
def script(main: PurePosixPath) -> str:
    """Return the module ``main`` and all that it imports as one script, each a function that returns its exports."""
    order: dict[PurePosixPath, str] = {}
    _add(main, order)
    body = "\n".join(order.values())
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


def page_file(path: PurePosixPath) -> str:
    """Return the text of a file of a page; ``path`` is within the package ``heed``."""
    return files("heed").joinpath(str(path)).read_text("utf-8")


def _add(path: PurePosixPath, order: dict[PurePosixPath, str]) -> None:
    """Add the module ``path`` to ``order``, after all that it imports."""
    if path in order:
        return
    text = page_file(path)
    for imported in _imports(path, text):
        _add(imported, order)
    names = ", ".join(match[2] for match in EXPORT.finditer(text))
    text = IMPORT.sub(lambda match: f"const {{{match[1]}}} = {_name(_resolved(path, match[2]))};\n", text)
    text = EXPORT.sub(r"\1 \2", text)
    order[path] = f"const {_name(path)} = (() => {{\n{text}\nreturn {{ {names} }};\n}})();"


def _imports(path: PurePosixPath, text: str) -> Iterator[PurePosixPath]:
    return (_resolved(path, match[2]) for match in IMPORT.finditer(text))


def _resolved(path: PurePosixPath, name: str) -> PurePosixPath:
    return PurePosixPath(normpath(path.parent / name))


def _name(path: PurePosixPath) -> str:
    return re.sub(r"\W", "_", str(path))
