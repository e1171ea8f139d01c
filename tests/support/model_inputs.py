"""What tests of models hand to them."""

from collections.abc import Sequence

from heed.models.local.runtime import Runtime
from heed.types import Query

CPU = Runtime("cpu")


def queries(pairs: Sequence[tuple[str, str]]) -> list[Query]:
    """Pairs of query and instruction as queries."""
    return [
        Query(str(at), f"{query} {instruction}", query, instruction) for at, (query, instruction) in enumerate(pairs)
    ]
