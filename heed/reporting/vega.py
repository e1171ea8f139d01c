"""A program of its own that draws charts: Vega-Lite specifications on stdin, their SVG texts on stdout, both as JSON.

vl-convert holds Python's lock while it draws; here it does so beside the rest of a page.
"""

import json
import sys
from typing import Any

import vl_convert


def draw(specs: list[dict[str, Any]], version: str) -> list[str]:
    """Return charts as SVG texts, by a version of Vega-Lite; nothing is fetched."""
    return [vl_convert.vegalite_to_svg(spec, vl_version=version, allowed_base_urls=[]) for spec in specs]


def main() -> None:
    """Draw all charts of the request."""
    json.dump(draw(**json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    main()
