"""What the user asked for with ``--engine``, ``--workers`` and ``--ray-address``."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from heed.errors import HeedError
from heed.workers import ENGINES
from heed.workers.pool import Crew, Place


class Engine(NamedTuple):
    """Where models run; ``workers`` None for as many as suit the machines, ``address`` of a cluster that runs."""

    name: str = ENGINES[0]
    workers: int | None = None
    address: str | None = None


LOCAL = Engine()


@contextmanager
def crew_of(engine: Engine, device: str) -> Iterator[Crew]:
    """The workers of ``engine`` for models on ``device``, stopped at the end of the block.

    Raises :class:`HeedError` where Ray is asked for and not installed, or an address is given without it.
    """
    if engine.address and engine.name != "ray":
        raise HeedError("--ray-address: used with --engine ray alone")
    crew = Crew(_place(engine, device), asked=engine.name != ENGINES[0] or bool(engine.workers))
    try:
        yield crew
    finally:
        crew.close()


def _place(engine: Engine, device: str) -> Place:
    if engine.name == "ray":
        from heed.workers.ray_cluster import Cluster

        return Cluster(engine.workers, engine.address, device)
    from heed.models.language_models import check_gpu
    from heed.workers.processes import Processes

    check_gpu(device)
    return Processes(engine.workers, device)
