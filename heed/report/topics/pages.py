"""The explorer's style and script: its modules and those it shares with the annotation page, as one text each."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

PAGE = PurePosixPath("report/topics/page")
MAIN = PAGE / "explorer.js"
SHARED = PurePosixPath("report/page/shared")  # with the annotation page
SHEETS = ("explorer", "topic", "ranking", "document", "further", "narrow")
STYLES = tuple(PAGE / f"{name}.css" for name in SHEETS)
AFRESH = "*, *::before, *::after { all: revert; }"  # of what the page says of its own elements
ALONE = """
[data-exploring] body { max-width: none; margin: 0; padding: 0; }
[data-exploring] body > :not(#explorer) { display: none; }
"""  # while the explorer shows something
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)


@cache
def style() -> str:
    """Return the style, its rules inside of ``#explorer``; the page itself has the colours, ``colours.css``."""
    inside = "\n".join(_read(path) for path in (SHARED / "common.css", *STYLES))
    return f"#explorer {{\n{AFRESH}\n{inside}\n}}\n{ALONE}\n"


@cache
def script() -> str:
    """Return all modules as one script, each a function that returns what it exports."""
    order: dict[PurePosixPath, str] = {}
    _add(MAIN, order)
    body = "\n".join(order.values())
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


def _add(path: PurePosixPath, order: dict[PurePosixPath, str]) -> None:
    """Add the module ``path`` to ``order``, after all that it imports."""
    if path in order:
        return
    text = _read(path)
    for imported in _imports(path, text):
        _add(imported, order)
    names = ", ".join(match[2] for match in EXPORT.finditer(text))
    text = IMPORT.sub(lambda match: f"const {{{match[1]}}} = {_name(_resolved(path, match[2]))};\n", text)
    text = EXPORT.sub(r"\1 \2", text)
    order[path] = f"const {_name(path)} = (() => {{\n{text}\nreturn {{ {names} }};\n}})();"


def _imports(path: PurePosixPath, text: str) -> Iterator[PurePosixPath]:
    return (_resolved(path, match[2]) for match in IMPORT.finditer(text))


def _resolved(path: PurePosixPath, name: str) -> PurePosixPath:
    parts: list[str] = []
    for part in (path.parent / name).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return PurePosixPath(*parts)


def _name(path: PurePosixPath) -> str:
    return re.sub(r"\W", "_", str(path))


def _read(path: PurePosixPath) -> str:
    return files("heed").joinpath(str(path)).read_text("utf-8")
