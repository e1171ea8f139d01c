"""A program of its own that draws charts: Vega-Lite specifications on stdin, their SVG texts on stdout, both as JSON.

vl-convert holds Python's lock while it draws; here it does so beside the rest of a page. Its argument is the version of
Vega-Lite, which it loads before it reads stdin.
"""

import json
import sys
from typing import Any

import vl_convert

X = {"field": "x", "type": "quantitative"}
NAME = {"field": "name", "type": "nominal"}
POINT = {"mark": "point", "encoding": {"x": X, "y": X, "color": NAME, "shape": NAME, "href": NAME, "description": NAME}}
LINE = {"mark": "line", "encoding": {"x": X, "y": X, "order": X}}
FIRST = {"data": {"values": [{"x": n, "name": str(n)} for n in range(30)]}, "layer": [POINT, LINE]}


def draw(specs: list[dict[str, Any]], version: str) -> list[str]:
    """Return charts as SVG texts, by a version of Vega-Lite; nothing is fetched."""
    return [vl_convert.vegalite_to_svg(spec, vl_version=version, allowed_base_urls=[]) for spec in specs]


def main() -> None:
    """Start Vega by a chart like those of reports, then draw all that are asked for; none if nobody is there to ask.

    The request is one line: what the asking process has forked meanwhile may keep stdin from ending.
    """
    version = sys.argv[1]
    draw([FIRST], version)
    if request := sys.stdin.readline():
        json.dump(draw(json.loads(request), version), sys.stdout)


if __name__ == "__main__":
    main()
