"""Work of models and programs by several processes of this machine or on a Ray cluster; the results are the same."""

from typing import NamedTuple

from heed.errors import UsageError

ENGINES = ("local", "ray")


class Workers(NamedTuple):
    """How many workers, and where; ``number`` None for as many as suit the machines, ``address`` of a Ray cluster."""

    engine: str = ENGINES[0]
    number: int | None = None
    address: str | None = None

    def check(self) -> None:
        """Raise :class:`UsageError` for an unknown engine, less than one worker, and an address without Ray."""
        if self.engine not in ENGINES:
            raise UsageError(f"engine: found {self.engine!r}, expected one of {', '.join(ENGINES)}")
        if self.number is not None and self.number < 1:
            raise UsageError(f"workers: found {self.number}, expected at least 1")
        if self.address and self.engine != "ray":
            raise UsageError("ray_address: used with the engine ray alone")
