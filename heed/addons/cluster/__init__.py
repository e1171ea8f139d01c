"""Work of models and programs by several processes of this machine or on a Ray cluster; the results are the same."""

from typing import NamedTuple


class Workers(NamedTuple):
    """How many workers, None for as many as suit the machines; those ``on_ray`` at the ``address`` of a cluster."""

    number: int | None = None
    on_ray: bool = False
    address: str | None = None
