"""Items of JSON in blocks, gzip and base64, until a limit is reached."""

import base64
import gzip
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from heed.memory import batches

TOGETHER = 1 << 16  # bytes of JSON that are packed as one
LEVEL = 4  # 4% larger than level 6, in less time
AHEAD = 4  # blocks in work: gzip leaves Python to the making of the next ones
THREADS = 2


class Blocks(NamedTuple):
    """What was packed: ``firsts`` has the number of each block's first item, ``items`` how many are in blocks."""

    firsts: list[int]
    packed: list[str]
    items: int
    size: int


def pack(content: bytes) -> str:
    """Return ``content`` gzipped, in base64; the same for the same content."""
    return base64.b64encode(gzip.compress(content, LEVEL, mtime=0)).decode()


def pack_blocks(items: Iterator[bytes], limit: int) -> Blocks:
    """Return the first of ``items``, each JSON, in as many whole blocks as have at most ``limit`` characters in all."""
    firsts: list[int] = []
    packed: list[str] = []
    count = size = 0
    pending: deque[tuple[int, Future[str]]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        groups = batches(items, TOGETHER)
        more = True
        while more or pending:
            group = next(groups, None) if more else None
            more = group is not None
            if group:
                pending.append((len(group), pool.submit(pack, b"[" + b",".join(group) + b"]")))
            if pending and (len(pending) > AHEAD or not more):
                number, future = pending.popleft()
                block = future.result()
                if size + len(block) > limit:
                    break
                firsts.append(count)
                packed.append(block)
                count, size = count + number, size + len(block)
    return Blocks(firsts, packed, count, size)
