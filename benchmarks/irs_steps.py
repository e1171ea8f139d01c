"""FollowTable's Figure 7 drawn anew: ``python -m benchmarks.irs_steps docs/irs-figure-7.svg``.

Two wanted, two unwanted and two other documents; the instructed ranking gets worse in six steps, once
from a mixed base ranking and once from an ideal one. IRS has to fall at every step.
"""

import sys
from pathlib import Path

from heed.measures import irs

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
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "heed"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.6), layout="constrained")
    for (name, base), marker in zip(BASES.items(), "os", strict=True):
        axes.plot(range(1, 7), values(base), marker=marker, label=f"{name}: {base}")
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xticks(range(1, 7), [step.replace(" ", "\n") for step in STEPS])
    axes.set_ylabel("IRS")
    axes.set_title("IRS falls with every step of a degrading ranking (p wanted, n unwanted, o other)", fontsize=10)
    axes.legend(fontsize=8)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
