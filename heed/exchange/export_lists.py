"""A pool as plain lines: TREC's pool lines, and qrels to be filled in."""

from pathlib import Path

from heed.exchange.export_tasks import UNJUDGED, Material, opened
from heed.io.trec_files import write_qrels


def write_trec_pool(path: Path, material: Material) -> None:
    """Write ``qid docid`` lines in the pool's order, ``.gz`` by suffix; NIST's lists are the second column by topic."""
    with opened(path) as stream:
        for qid, docids in material.pool.items():
            stream.writelines(f"{qid} {docid}\n".encode() for docid in docids)


def write_template(path: Path, material: Material) -> None:
    """Write qrels with every document of the pool at -1: for trec_eval pooled and not judged, so not relevant."""
    write_qrels(path, {qid: dict.fromkeys(docids, UNJUDGED) for qid, docids in material.pool.items()})
