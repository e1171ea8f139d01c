"""Parts of a page joined to one HTML text that needs nothing else, with the Content-Security-Policy that allows them.

Here are also links within a page, and packed data that its scripts read.
"""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from posixpath import normpath
from typing import NamedTuple
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from heed.addon_table import brought_if_here

IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)
LEVEL = 4  # of gzip: 4% larger than level 6, in less time


class Part(NamedTuple):
    """A part of a page: ``html`` for its body, and what belongs into its one ``<style>`` and ``<script>``.

    The script is plain statements, not a module's, and runs after the whole body is there, and the ``library``, another
    script, or the one in ``library_file`` beside the page. No part has style attributes or handlers in its
    HTML: the page's Content-Security-Policy names the digests of style and scripts. Of a file it names the place:
    browsers check no digest of a file that is opened from the disk, and refuse it.
    """

    html: Markup
    style: str
    script: str
    library: str = ""
    library_file: str = ""


def compose(title: str, parts: Sequence[Part], connect: str = "'none'") -> str:
    """Return the page of all parts; its policy allows its one style and its scripts, and to ``connect``."""
    code = dict(zip(("style", "script", "library"), map(Markup, _joined(parts)), strict=True))
    page = template("report/page/page.html.jinja")
    return page.render(title=title, policy=policy(parts, connect), parts=parts, **code)


def policy(parts: Sequence[Part], connect: str = "'none'") -> str:
    """Return the Content-Security-Policy of the page of all parts, which may ``connect`` to no other place."""
    style, *codes = _joined(parts)
    digests = [_digest(code) for code in codes if code]
    scripts = " ".join([*digests, *("'self'" for part in parts if part.library_file)])
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {scripts}; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


@cache
def template(path: str) -> Template:
    """Return the template at ``path`` within ``heed``, compiled once: that takes longer than writing a small page."""
    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        loader=PackageLoader("heed", ""),
    )
    return environment.get_template(path)


def _joined(parts: Sequence[Part]) -> tuple[str, str, str]:
    """Return the style, the script and the library of all parts."""
    script = "\n".join(f"{{\n{part.script}\n}}" for part in parts)
    return "\n".join(part.style for part in parts), script, "".join(part.library for part in parts)


def _digest(text: str) -> str:
    """Return a text's digest as a Content-Security-Policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page_file(path: PurePosixPath) -> str:
    """Return the text of a file of a page; ``path`` is within the package ``heed``."""
    return files("heed").joinpath(str(path)).read_text("utf-8")


@cache
def script(main: PurePosixPath) -> str:
    """Return the module ``main`` and all that it imports as one script, each a function that returns its exports."""
    order: dict[PurePosixPath, str] = {}
    _add_module(main, order)
    body = "\n".join(order.values())
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


def _add_module(path: PurePosixPath, order: dict[PurePosixPath, str]) -> None:
    """Add the module ``path`` to ``order``, after all that it imports."""
    if path in order:
        return
    text = page_file(path)

    def imported(match: re.Match[str]) -> str:
        module = PurePosixPath(normpath(path.parent / match[2]))
        _add_module(module, order)
        return f"const {{{match[1]}}} = {_variable(module)};\n"

    names = ", ".join(match[2] for match in EXPORT.finditer(text))
    text = EXPORT.sub(r"\1 \2", IMPORT.sub(imported, text))
    order[path] = f"const {_variable(path)} = (() => {{\n{text}\nreturn {{ {names} }};\n}})();"


def _variable(path: PurePosixPath) -> str:
    return re.sub(r"\W", "_", str(path))


def pack(content: bytes) -> str:
    """Return ``content`` gzipped, in base64; the same for the same content."""
    return base64.b64encode(gzip.compress(content, LEVEL, mtime=0)).decode()


def json_text(value: object) -> Markup:
    """Return JSON for an element of a page: it ends no element and begins no comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    escaped = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(escaped)  # noqa: S704


def page_link(folder: str, *parts: str, **query: str) -> str:
    """Return the link ``#/FOLDER/part/part?name=value`` within a page, each part percent-encoded.

    ``systems/A/B`` is the comparison of two systems.
    """
    path = "/".join(quote(part, safe="") for part in (folder, *parts))
    parameters = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return f"#/{path}" + (f"?{parameters}" if parameters else "")


def explorer_link(folder: str, *parts: str, **query: str) -> str:
    """Return a link to a place of the explorer in the page, empty where there is no explorer.

    Places are ``topic/QID?system=…`` and ``document/DOCID?topic=…&system=…``.
    """
    return page_link(folder, *parts, **query) if brought_if_here("explorer of a report") else ""
