"""The pool of a topic: what all retrievers found under all conditions, cut by reciprocal rank fusion."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from pipelines.files import write_bytes
from pipelines.ranking import ranked, top
from pipelines.trec_files import Run

RRF_K = 60  # Cormack, Clarke and Büttcher, SIGIR 2009, section 2


def pool(runs: Iterable[Run], depth: int, size: int) -> dict[str, list[str]]:
    """For each topic the union of every run's top ``depth``, the ``size`` best by fusion, best first.

    A document's fused score is the sum of ``1 / (60 + rank)`` over the runs that hold it.
    """
    fused: dict[str, dict[str, list[int]]] = {}
    for run in runs:
        for qid, scores in run.items():
            found = fused.setdefault(qid, {})
            for rank, docid in enumerate(ranked(top(scores, depth)), 1):
                found.setdefault(docid, []).append(rank)
    return {qid: list(top({docid: _rrf(at) for docid, at in found.items()}, size)) for qid, found in fused.items()}


def _rrf(found_at: list[int]) -> float:
    return sum(1 / (RRF_K + rank) for rank in sorted(found_at))  # sorted: the order of runs moves no last bit


def write_pool(path: Path, pooled: Mapping[str, list[str]]) -> None:
    """Write ``{"qid", "docids"}`` lines, documents in the pool's order."""
    import json

    lines = (json.dumps({"qid": qid, "docids": docids}, ensure_ascii=False) for qid, docids in pooled.items())
    write_bytes(path, "".join(f"{line}\n" for line in lines).encode())
