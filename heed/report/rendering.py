"""Charts in notebooks, and drawn as files by vl-convert, which has Vega; pages draw them in the browser."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import UsageError
from heed.extras import require
from heed.files import write_bytes

Spec = dict[str, Any]  # of Vega-Lite

VERSION = "6.4"  # of Vega-Lite, in vl-convert
FORMS = ("svg", "png", "pdf")
DENSITY = 200  # of a PNG, pixels an inch
BASE = "https://vega.github.io/vega-datasets/"  # before what Vega takes for the path of a file
RESOURCE = re.compile(rb"/[a-z]+\d+ \d+ 0 R")  # of a PDF's page, by name
DRAWING = "vl_convert"


class Chart(NamedTuple):
    """A chart that a notebook shows, with its title in words."""

    title: str
    spec: Spec

    def __repr__(self) -> str:
        """Return the title."""
        return f"Chart({self.title!r})"

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        """Return the specification, which notebooks draw, and an image where :mod:`vl_convert` is installed."""
        image = {"image/svg+xml": render(self.spec, "svg").decode()} if find_spec(DRAWING) else {}
        return {"text/plain": repr(self), "application/vnd.vegalite.v5+json": _paper(self.spec), **image}

    def write(self, path: str | Path) -> None:
        """Write an image; the ending of ``path`` names its form: .svg, .png or .pdf."""
        form = Path(path).suffix.removeprefix(".").lower()
        if form not in FORMS:
            raise UsageError(f"{path}: expected a name that ends in .{', .'.join(FORMS)}")
        write_bytes(Path(path), render(self.spec, form))


def render(spec: Spec, form: str) -> bytes:
    """Return the chart as the bytes of an ``svg``, ``png`` or ``pdf``, the same for the same chart; nothing is fetched.

    vl-convert numbers a PDF's fonts by chance, so it has but one, unless a name is in another script. Raises
    :class:`UsageError` where it is not installed.
    """
    require(DRAWING, "charts as files")
    import vl_convert

    paper = _paper(spec)
    if form == "svg":
        return vl_convert.vegalite_to_svg(paper, vl_version=VERSION, allowed_base_urls=[]).replace(BASE, "").encode()
    if form == "png":
        return vl_convert.vegalite_to_png(paper, vl_version=VERSION, allowed_base_urls=[], ppi=DENSITY)
    one_font = paper["config"] | {"title": paper["config"]["title"] | {"fontWeight": "normal"}}
    return _ordered(vl_convert.vegalite_to_pdf(paper | {"config": one_font}, vl_version=VERSION, allowed_base_urls=[]))


def _paper(spec: Spec) -> Spec:
    return spec | {"config": spec["config"] | {"background": "white"}}


def _ordered(pdf: bytes) -> bytes:
    """Return the same PDF, as long as before, with its lists of resources in order; vl-convert's are by chance."""

    def sort(resources: re.Match[bytes]) -> bytes:
        entries = iter(sorted(RESOURCE.findall(resources[0])))
        return RESOURCE.sub(lambda _: next(entries), resources[0])

    return re.sub(rb"(?:%s\s+){2,}" % RESOURCE.pattern, sort, pdf)
