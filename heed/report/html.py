"""What a page is composed of."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markupsafe import Markup


class Part(NamedTuple):
    """A part of a page: ``html`` for its body, and what belongs into its one ``<style>`` and ``<script>``.

    The script is plain statements, not a module's, and runs after the whole body is there. No part has style
    attributes or handlers in its HTML: the page's Content-Security-Policy names the digests of style and script alone.
    """

    html: "Markup"
    style: str
    script: str
