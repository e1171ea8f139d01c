"""What the tests of ``python -m pipelines.annotate`` share: a pool of the sample, the command running, requests."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import serving
from conftest import ROOT, write_jsonl

from heed.formats.trec_files import read_qrels

SAMPLE = "neuclir-sample"


def sample_pool(path: Path, topics: int = 3) -> dict[str, list[str]]:
    """The judged documents of the sample's first topics, as a pool file."""
    qrels = read_qrels(ROOT / "qrels" / SAMPLE / "original.qrels")
    pooled = {qid: list(grades) for qid, grades in list(qrels.items())[:topics]}
    write_jsonl(path, [{"qid": qid, "docids": docids} for qid, docids in pooled.items()])
    return pooled


class Running(serving.Running):
    """The command, serving, with changes to judgements."""

    def change(self, assessor: str, *changes: dict, **fields: object) -> tuple[int, dict]:
        """Send changes under a new id, or the one in ``fields``."""
        body = {"id": uuid.uuid4().hex, "assessor": assessor, "changes": changes, **fields}
        status, _, text = self.request("POST", "/api/changes", body)
        return status, json.loads(text)


@contextmanager
def running(pool: Path, *arguments: object) -> Iterator[Running]:
    """The command as a user starts it, without a browser."""
    with serving.serving("annotate", pool, *arguments, kind=Running) as server:
        yield server


def grade(qid: object, docid: object, value: object, condition: object = "original") -> dict:
    return {"kind": "grade", "qid": qid, "docid": docid, "condition": condition, "grade": value}
