"""Exact dense search on a GPU: faiss beside torch's plain product."""

from importlib.util import find_spec
from typing import Any

import torch

from benchmarks.gpu_card import Card

WIDTH, QUERIES, DEPTH = 768, 200, 1000
ROUNDS = 3


def dense(card: Card, count: int) -> list[str]:
    """Return a line for each way to search ``count`` random vectors for the best ``DEPTH`` of ``QUERIES`` queries."""
    if 4 * count * (WIDTH + QUERIES) * 3 > card.free():
        return [f"search of {count} vectors: does not fit"]
    made = torch.Generator(card.device).manual_seed(0)
    vectors = torch.randn(count, WIDTH, device=card.device, generator=made)
    queries = torch.randn(QUERIES, WIDTH, device=card.device, generator=made)
    best: list[torch.Tensor] = []

    def product() -> None:
        best[:] = [torch.topk(queries @ vectors.T, DEPTH).indices]

    lines = [_line("torch's product", card, count, product)]
    search = _faiss(card, vectors)
    if search is None:
        return [*lines, f"search of {count} vectors by faiss-gpu: not run, it is not installed"]
    asked, found = queries.cpu().numpy(), list[Any]()
    lines.append(_line("faiss-gpu", card, count, lambda: found.__setitem__(slice(None), [search(asked)])))
    pairs = zip(best[0].tolist(), found[0].tolist(), strict=True)
    shared = sum(len({*one} & {*other}) for one, other in pairs) / (QUERIES * DEPTH)
    return [*lines, f"documents that both found: {shared:.2%}"]


def _faiss(card: Card, vectors: torch.Tensor) -> Any:
    """Return a function that searches ``vectors`` by faiss on the card; None where it cannot."""
    if card.device != "cuda" or find_spec("faiss") is None:
        return None
    import faiss

    if not hasattr(faiss, "StandardGpuResources"):
        return None
    index = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, faiss.IndexFlatIP(WIDTH))
    index.add(vectors.cpu().numpy())
    return lambda asked: index.search(asked, DEPTH)[1]


def _line(name: str, card: Card, count: int, work: Any) -> str:
    work()
    card.begin()
    begun = card.now()
    for _ in range(ROUNDS):
        work()
    rate, memory = ROUNDS * QUERIES / (card.now() - begun), card.most()
    shown = f", {memory / 2**30:.1f} GiB" if memory else ""
    return f"search of {count} vectors by {name}: {rate:.4g} queries a second{shown}"
