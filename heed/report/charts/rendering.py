"""Specifications of charts drawn by Vega: as files, and as SVG elements of a page."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from heed.errors import UsageError
from heed.files import write_bytes
from heed.report.charts.vega_lite import Spec

if TYPE_CHECKING:
    from lxml.etree import _Element

VERSION = "6.4"  # of Vega-Lite, in vl-convert
FORMS = ("svg", "png", "pdf")
DENSITY = 200  # of a PNG, pixels an inch
SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
BASE = "https://vega.github.io/vega-datasets/"  # before what Vega takes for the path of a file
RESOURCE = re.compile(rb"/[a-z]+\d+ \d+ 0 R")  # of a PDF's page, by name
USELESS = ("class", "role", "aria-roledescription", "aria-label", "aria-hidden", "pointer-events", "font-family")


class Chart(NamedTuple):
    """A chart that a notebook shows, with its title in words."""

    title: str
    spec: Spec

    def __repr__(self) -> str:
        """Return the title."""
        return f"Chart({self.title!r})"

    def _repr_svg_(self) -> str:
        return render(self.spec, "svg").decode()

    def write(self, path: str | Path) -> None:
        """Write an image; the ending of ``path`` names its form: .svg, .png or .pdf."""
        form = Path(path).suffix.removeprefix(".").lower()
        if form not in FORMS:
            raise UsageError(f"{path}: expected a name that ends in .{', .'.join(FORMS)}")
        write_bytes(Path(path), render(self.spec, form))


def draw(spec: Spec) -> str:
    """Return a chart as SVG text; nothing is fetched."""
    import vl_convert

    return vl_convert.vegalite_to_svg(spec, vl_version=VERSION, allowed_base_urls=[]).replace(BASE, "")


def render(spec: Spec, form: str) -> bytes:
    """Return the chart as the bytes of an ``svg``, ``png`` or ``pdf``, the same for the same chart.

    vl-convert numbers a PDF's fonts by chance, so it has but one, unless a name is in another script.
    """
    import vl_convert

    paper = spec | {"config": spec["config"] | {"background": "white"}}
    if form == "svg":
        return draw(paper).encode()
    if form == "png":
        return vl_convert.vegalite_to_png(paper, vl_version=VERSION, allowed_base_urls=[], ppi=DENSITY)
    one_font = paper["config"] | {"title": paper["config"]["title"] | {"fontWeight": "normal"}}
    return _ordered(vl_convert.vegalite_to_pdf(paper | {"config": one_font}, vl_version=VERSION, allowed_base_urls=[]))


def _ordered(pdf: bytes) -> bytes:
    """Return the same PDF, as long as before, with its lists of resources in order; vl-convert's are by chance."""

    def sort(resources: re.Match[bytes]) -> bytes:
        entries = iter(sorted(RESOURCE.findall(resources[0])))
        return RESOURCE.sub(lambda _: next(entries), resources[0])

    return re.sub(rb"(?:%s\s+){2,}" % RESOURCE.pattern, sort, pdf)


def element(svg: str, title: str, index: int) -> Markup:
    """Return a chart's SVG text as an element of a page in which it is the chart number ``index``.

    Marks are links with a title, which browsers show and read aloud. What only says how Vega draws is left out.
    """
    from lxml import etree

    root = etree.fromstring(svg.encode())
    for item in list(root.iter(f"{SVG}*")):
        if item.tag == f"{SVG}path" and (item.get("display") == "none" or item.get("d") == "M0,0h0v0h0Z"):
            item.getparent().remove(item)
    for item in root.iter(f"{SVG}*"):
        _titled(item)
        _reduced(item, index)
    root.set("role", "group")
    root.set("aria-label", title)
    # lxml escapes every text and attribute
    return Markup(etree.tostring(root, encoding="unicode"))  # noqa: S704


def _titled(item: "_Element") -> None:
    """Give a mark that describes itself a title; a link has the title itself."""
    from lxml import etree

    if item.get("role") == "graphics-symbol" and item.get("aria-roledescription") not in ("axis", "legend"):
        parent = item.getparent()
        owner = parent if parent.tag == f"{SVG}a" else item
        title = etree.Element(f"{SVG}title")
        title.text = item.get("aria-label")
        owner.insert(0, title)


def _reduced(item: "_Element", index: int) -> None:
    """Remove attributes that change nothing, shorten numbers, and make ids unlike those of other charts."""
    for name in USELESS:
        item.attrib.pop(name, None)
    if item.get("opacity") == "1":
        del item.attrib["opacity"]
    if link := item.attrib.pop(LINK, ""):
        item.set("href", link)
    for name in ("d", "transform"):
        if text := item.get(name):
            item.set(name, re.sub(r"\d+\.\d{3,}", lambda match: f"{float(match[0]):.2f}", text))
    for name, text in item.items():
        if name == "id":
            item.set(name, f"g{index}-{text}")
        elif text.startswith("url(#"):
            item.set(name, text.replace("url(#", f"url(#g{index}-"))
