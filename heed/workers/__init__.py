"""Where models run: in this process, in several of this machine, or on a Ray cluster; the results are the same."""

from typing import NamedTuple

ENGINES = ("local", "ray")


class Workers(NamedTuple):
    """How many workers, and where; ``number`` None for as many as suit the machines, ``address`` of a Ray cluster."""

    engine: str = ENGINES[0]
    number: int | None = None
    address: str | None = None
