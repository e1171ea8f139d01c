"""The explorer's page as the server sends it: the report's, whose topics and documents come from the server."""

import json
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from heed.exploring.pages import script, style
from heed.exploring.parts import Part
from heed.reporting.folders import Results
from heed.reporting.page import composed, overview, policy

HTML = Markup('<div id="explorer" hidden></div>\n<script type="application/json" id="explorer-served">{}</script>')
OURS = "'self'"


def live_page(results: Sequence[Results], runs: Path, flags: Path, annotate: str) -> tuple[str, str]:
    """Return the page of ``results``, at and below the folder ``runs``, and its Content-Security-Policy.

    ``flags`` is the file of flags, ``annotate`` the address of a running annotation page, empty without one.
    """
    served = {"folders": [each.folder for each in results], "flags": str(flags), "annotate": annotate}
    text = Markup(json.dumps(served).replace("<", r"\u003c"))  # noqa: S704 (JSON without a tag in it)
    parts = [overview(results, runs), Part(HTML.format(text), style(), script())]
    return composed(runs, parts, OURS), f"{policy(parts, OURS)}; frame-ancestors 'none'"
