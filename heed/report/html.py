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
    return template("page.html.jinja").render(title=title, policy=policy(parts, connect), parts=parts, **code)


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
def template(name: str) -> Template:
    """Return the template ``name`` of ``page/``, compiled once: that takes longer than writing a small page with it."""
    loader = PackageLoader("heed.report", "page")
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, loader=loader
    )
    return environment.get_template(name)


def _joined(parts: Sequence[Part]) -> tuple[str, str, str]:
    """Return the style, the script and the library of all parts."""
    script = "\n".join(f"{{\n{part.script}\n}}" for part in parts)
    return "\n".join(part.style for part in parts), script, "".join(part.library for part in parts)


def _digest(text: str) -> str:
    """Return a text's digest as a Content-Security-Policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
