"""Parts of a page joined to one HTML text, with the Content-Security-Policy that allows them alone."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup


class Part(NamedTuple):
    """A part of a page: ``html`` for its body, and what belongs into its one ``<style>`` and ``<script>``.

    The script is plain statements, not a module's, and runs after the whole body is there. No part has style
    attributes or handlers in its HTML: the page's Content-Security-Policy names the digests of style and script alone.
    """

    html: Markup
    style: str
    script: str


def compose(title: str, parts: Sequence[Part], connect: str = "'none'") -> str:
    """Return the page of all parts; its policy allows the one style and script that it has, and to ``connect``."""
    style, script = _joined(parts)
    code = {"style": Markup(style), "script": Markup(script)}  # noqa: S704 - our own files
    return template("page.html.jinja").render(title=title, policy=policy(parts, connect), parts=parts, **code)


def policy(parts: Sequence[Part], connect: str = "'none'") -> str:
    """Return the Content-Security-Policy of the page of all parts, which may ``connect`` to no other place."""
    style, script = _joined(parts)
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


@cache
def template(name: str) -> Template:
    """Return the template ``name`` of ``page/``, compiled once: that takes longer than writing a small page with it."""
    loader = PackageLoader("heed.report", "page")
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, loader=loader
    )
    return environment.get_template(name)


def _joined(parts: Sequence[Part]) -> tuple[str, str]:
    """Return the style and the script of all parts."""
    return "\n".join(part.style for part in parts), "\n".join(f"{{\n{part.script}\n}}" for part in parts)


def _digest(text: str) -> str:
    """Return a text's digest as a Content-Security-Policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
