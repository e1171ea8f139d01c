"""The explorer's page as the server sends it: the report's, whose topics and documents come from the server."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from heed.exploring.pages import script, style
from heed.exploring.parts import Part
from heed.reporting.folders import Results
from heed.reporting.page import composed, overview, policy

SERVED = Markup('<div id="explorer" hidden data-served></div>')
OURS = "'self'"


def live_page(results: Sequence[Results], runs: Path) -> tuple[str, str]:
    """Return the page of ``results``, at and below the folder ``runs``, and its Content-Security-Policy."""
    parts = [overview(results, runs), Part(SERVED, style(), script())]
    return composed(runs, parts, OURS), f"{policy(parts, OURS)}; frame-ancestors 'none'"
