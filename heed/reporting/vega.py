"""A program of its own that draws charts: Vega-Lite specifications on stdin, their SVG texts on stdout, as JSON lines.

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


def draw(spec: dict[str, Any], version: str) -> str:
    """Return a chart as SVG text, by a version of Vega-Lite; nothing is fetched."""
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=version, allowed_base_urls=[])
    return svg


def main() -> None:
    """Start Vega by a chart like those of reports, then draw each that is asked for in a line, until stdin ends."""
    version = sys.argv[1]
    draw(FIRST, version)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(draw(json.loads(line), version)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
