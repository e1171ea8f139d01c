"""What tests of models hand to them."""

from collections.abc import Sequence

from heed.compute import Compute
from heed.types import Query

CPU = Compute("cpu")


def queries(pairs: Sequence[tuple[str, str]]) -> list[Query]:
    """Pairs of query and instruction as queries."""
    return [
        Query(str(at), f"{query} {instruction}", query, instruction) for at, (query, instruction) in enumerate(pairs)
    ]
