"""A program of its own that draws charts: Vega-Lite specifications on stdin, their SVG texts on stdout, both as JSON.

vl-convert holds Python's lock while it draws; here it does so beside the rest of a page.
"""

import json
import sys

import vl_convert


def main() -> None:
    """Draw all charts of the request."""
    request = json.load(sys.stdin)
    options = {"vl_version": request["version"], "allowed_base_urls": []}
    json.dump([vl_convert.vegalite_to_svg(spec, **options) for spec in request["specs"]], sys.stdout)


if __name__ == "__main__":
    main()
