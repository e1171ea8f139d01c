"""The explorer's page as the server sends it: the report's, whose topics and documents come from the server."""

import json
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from heed.report.bundle import script
from heed.report.html import Part, compose, policy
from heed.report.page import look, overview, page_title
from heed.report.results import Results
from heed.report.topics.explorer import MAIN, style

HTML = Markup('<div id="explorer" hidden></div>\n<script type="application/json" id="explorer-served">{}</script>')
OWN_SERVER = "'self'"


def served_page(results: Sequence[Results], runs: Path, flags: Path, annotate: str) -> str:
    """Return the page of ``results``, which are at and below the folder ``runs``; ``flags`` is the file of flags.

    ``annotate`` is the address of a running annotation page, empty without one.
    """
    served = {"folders": [each.folder for each in results], "flags": str(flags), "annotate": annotate}
    data = Markup(json.dumps(served).replace("<", r"\u003c"))  # noqa: S704 (JSON without a tag in it)
    explorer = _explorer()._replace(html=HTML.format(data))
    title = page_title(runs)
    return compose(title, [explorer, overview(results, title)], OWN_SERVER)


def served_policy() -> str:
    """Return the Content-Security-Policy of the page."""
    return f"{policy([_explorer(), look()], OWN_SERVER)}; frame-ancestors 'none'"


def _explorer() -> Part:
    return Part(Markup(), style(), script(MAIN))
