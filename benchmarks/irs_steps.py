"""FollowTable's Figure 7 drawn anew: ``python -m benchmarks.irs_steps docs/irs-figure-7.svg``.

Two wanted, two unwanted and two other documents; the instructed ranking gets worse in six steps, once
from a mixed base ranking and once from an ideal one. IRS has to fall at every step.
"""

import sys
from pathlib import Path

from heed.measures import irs
from heed.report.charts import PALETTE, SHAPES, chart, layer, level, listed, number, render

BASES = {"mixed base": "p1 n1 o1 p2 n2 o2", "ideal base": "p1 p2 o1 o2 n1 n2"}
STEPS = (
    "p1 p2 o1 o2 n1 n2",
    "p1 o1 p2 o2 n1 n2",
    "p1 o1 p2 n1 o2 n2",
    "o1 p1 n1 p2 o2 n2",
    "n1 o1 p1 n2 o2 p2",
    "n1 n2 o1 o2 p1 p2",
)
WANTED, UNWANTED = {"q": ["p1", "p2"]}, {"q": ["n1", "n2"]}


def values(base: str) -> list[float]:
    """IRS of every step against ``base``."""
    return [irs(_run(base), _run(step), WANTED, UNWANTED, 6)["q"] for step in STEPS]


def _run(order: str) -> dict[str, dict[str, float]]:
    return {"q": {docid: float(-place) for place, docid in enumerate(order.split())}}


def main(target: Path) -> None:
    """Draw both lines; the same bytes every time."""
    names = [f"{name}: {base}" for name, base in BASES.items()]
    points = [
        {"step": step, "at": at, "irs": value, "name": name}
        for name, base in zip(names, BASES.values(), strict=True)
        for at, (step, value) in enumerate(zip(STEPS, values(base), strict=True))
    ]
    axis = {"labelExpr": "split(datum.label, ' ')", "labelAngle": 0, "grid": False}
    x = {"field": "step", "type": "nominal", "title": None, "sort": list(STEPS), "axis": axis}
    channels = {"x": x, "y": number("irs", "IRS"), "color": listed("name", names, PALETTE[:2], columns=2)}
    shape = {"shape": listed("name", names, SHAPES[:2], columns=2)}
    layers = [
        level(0, opacity=0.5),
        layer(points, {"type": "line"}, channels | {"order": {"field": "at", "type": "quantitative"}}),
        layer(points, {"type": "point", "filled": True, "size": 50, "opacity": 1}, channels | shape),
    ]
    title = "IRS falls with every step of a degrading ranking (p wanted, n unwanted, o other)"
    target.write_bytes(render(chart(title, "", (560, 220), layers), "svg"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
