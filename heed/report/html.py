"""Parts of a page joined to one HTML text, with the Content-Security-Policy that allows them alone."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup


class Library(NamedTuple):
    """A script before the page's own: the ``element`` that loads it, and the ``source`` that the policy names."""

    element: Markup = Markup()
    source: str = ""


class Part(NamedTuple):
    """A part of a page: ``html`` for its body, and what belongs into its one ``<style>`` and ``<script>``.

    The script is plain statements, not a module's, and runs after the whole body and the ``library`` are there. No
    part has style attributes or handlers in its HTML: the page's Content-Security-Policy names the digests of style
    and scripts alone.
    """

    html: Markup
    style: str
    script: str
    library: Library = Library()


def carried(script: str) -> Library:
    """Return a library that is in the page itself."""
    return Library(Markup("<script>{}</script>").format(Markup(script)), _digest(script))  # noqa: S704 - our own file


def in_file(name: str) -> Library:
    """Return a library that is the file ``name`` beside the page.

    The policy names its place: browsers check no digest of a file that is opened from the disk, and refuse it.
    """
    return Library(Markup('<script src="{}"></script>').format(name), "'self'")


def compose(title: str, parts: Sequence[Part], connect: str = "'none'") -> str:
    """Return the page of all parts; its policy allows its one style and its scripts, and to ``connect``."""
    style, script = _joined(parts)
    code = {"style": Markup(style), "script": Markup(script)}  # noqa: S704 - our own files
    libraries = [part.library.element for part in parts]
    return template("page.html.jinja").render(
        title=title, policy=policy(parts, connect), parts=parts, libraries=libraries, **code
    )


def policy(parts: Sequence[Part], connect: str = "'none'") -> str:
    """Return the Content-Security-Policy of the page of all parts, which may ``connect`` to no other place."""
    style, script = _joined(parts)
    scripts = " ".join(filter(None, [_digest(script), *(part.library.source for part in parts)]))
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {scripts}; img-src data:; "
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
