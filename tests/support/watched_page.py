"""A window of a browser in which every request elsewhere, message of the console, error and dialog fails the test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@contextmanager
def watched(
    chromium: "Browser", address: str, ours: str, height: int = 768, patience: int = 5_000, bypass_csp: bool = False
) -> "Iterator[Page]":
    """Open ``address``; addresses that begin with ``ours`` may be requested. ``patience`` is in milliseconds."""
    with chromium.new_context(viewport={"width": 1366, "height": height}, bypass_csp=bypass_csp) as context:
        context.set_default_timeout(patience)
        seen: list[str] = []
        page = context.new_page()
        page.on("request", lambda request: seen.append(request.url))  # of its own, not of a window that it opens
        page.on("console", lambda message: seen.append(message.text))
        page.on("pageerror", lambda error: seen.append(str(error)))
        page.on("dialog", lambda dialog: seen.append(dialog.message))
        page.goto(address)
        yield page
        assert [line for line in seen if not line.startswith(ours)] == []
