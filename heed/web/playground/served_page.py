"""The explorer's page as the server sends it: the report's, whose topics and documents come from the server."""

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock

from markupsafe import Markup

from heed.report.html import Part, compose, policy
from heed.report.page import look, overview, page_title
from heed.report.results import Results
from heed.report.topics.explorer import script, style

HTML = Markup('<div id="explorer" hidden></div>\n<script type="application/json" id="explorer-served">{}</script>')
OURS = "'self'"


class LivePage:
    """The page of results folders, made when it is first asked for: its charts take a while."""

    def __init__(self, results: Sequence[Results], runs: Path, flags: Path, annotate: str) -> None:
        """``results`` are at and below the folder ``runs``; ``flags`` is the file of flags.

        ``annotate`` is the address of a running annotation page, empty without one.
        """
        self._results, self._runs, self._lock = results, runs, Lock()
        self._served = {"folders": [each.folder for each in results], "flags": str(flags), "annotate": annotate}

    @cached_property
    def _html(self) -> str:
        served = Markup(json.dumps(self._served).replace("<", r"\u003c"))  # noqa: S704 (JSON without a tag in it)
        explorer = _explorer()._replace(html=HTML.format(served))
        return compose(page_title(self._runs), [explorer, overview(self._results, self._runs)], OURS)

    def html(self) -> str:
        """Return the page."""
        with self._lock:  # made once, whichever thread is first
            return self._html


def live_policy() -> str:
    """Return the Content-Security-Policy of the page."""
    return f"{policy([_explorer(), look()], OURS)}; frame-ancestors 'none'"


def _explorer() -> Part:
    return Part(Markup(), style(), script())
