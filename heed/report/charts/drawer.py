"""The process that draws a page's charts, while the page's topics are read."""

from collections.abc import Iterable, Iterator
from typing import Self, cast

from heed.child import Child
from heed.report.charts.rendering import FIRST, draw
from heed.report.charts.vega_lite import Spec


class Drawer:
    """Draws charts once, in a process of its own, since Vega takes half a second to start and holds Python's lock.

    As a context manager it ends that process in any case.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._child: Child | None = None

    def __enter__(self) -> Self:
        """Return this."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process, if it was started."""
        if self._child is not None:
            self._child.stop()

    def start(self) -> None:
        """Let Vega start, while the first chart is specified."""
        if self._child is None:
            self._child = Child(draw)
            self._child.give([FIRST])

    def svgs(self, specs: Iterable[Spec]) -> Iterator[str]:
        """Yield charts as SVG texts; while one is drawn the one before is out, and the next is specified."""
        drawn = -1  # with the first, which nobody asked for
        for spec in specs:
            [svg] = self._started.results()
            self._started.give([spec])
            drawn += 1
            if drawn:
                yield svg
        if drawn >= 0:
            yield from self._started.results()

    @property
    def _started(self) -> Child:
        self.start()
        return cast(Child, self._child)
