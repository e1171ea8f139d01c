"""What the tests of ``python -m pipelines.annotate`` share: a pool of the sample, the command running, requests."""

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import serving
from conftest import ROOT, write_jsonl

from heed.addons.judging.annotate.store import Applied, Change, Store
from heed.formats.trec_files import read_qrels

SAMPLE = "neuclir-sample"


def sample_pool(path: Path, topics: int = 3) -> dict[str, list[str]]:
    """The judged documents of the sample's first topics, as a pool file."""
    qrels = read_qrels(ROOT / "qrels" / SAMPLE / "original.qrels")
    pooled = {qid: list(grades) for qid, grades in list(qrels.items())[:topics]}
    write_jsonl(path, [{"qid": qid, "docids": docids} for qid, docids in pooled.items()])
    return pooled


def annotation_files(
    folder: Path, topics: Sequence[dict], documents: Sequence[dict], docids: Sequence[str] = ()
) -> list[Path | str]:
    """A pool of ``docids``, or all documents, for each topic; the arguments that name its files and theirs."""
    docids = docids or [document["id"] for document in documents]
    pool = write_jsonl(folder / "pool.jsonl", [{"qid": topic["qid"], "docids": [*docids]} for topic in topics])
    topics_file = write_jsonl(folder / "topics.jsonl", [*topics])
    return [pool, "--topics", topics_file, "--docs", write_jsonl(folder / "docs.jsonl", [*documents])]


class Running(serving.Running):
    """The command, serving, with changes to judgements."""

    def change(self, assessor: str, *changes: dict, **fields: object) -> tuple[int, dict]:
        """Send changes under a new id, or the one in ``fields``."""
        body = {"id": uuid.uuid4().hex, "assessor": assessor, "changes": changes, **fields}
        status, _, text = self.request("POST", "/api/changes", body)
        return status, json.loads(text)


@contextmanager
def running(pool: Path | str, *arguments: object) -> Iterator[Running]:
    """The command as a user starts it, without a browser."""
    with serving.serving("annotate", pool, *arguments, kind=Running) as server:
        yield server


def grade(qid: object, docid: object, value: object, condition: object = "original") -> dict:
    return {"kind": "grade", "qid": qid, "docid": docid, "condition": condition, "grade": value}


class Judging:
    """A database of judgements, written to as the page does."""

    def __init__(self, store: Store) -> None:
        self.store, self.path = store, store.path

    def record(self, who: str, *changes: Change, batch: str = "") -> None:
        time.sleep(0.002)  # times in the log are milliseconds
        request = uuid.uuid4().hex
        self.store.record(request, who, batch or request, changes)

    def grade(self, who: str, qid: str, docid: str, value: int | None, condition: str = "original") -> None:
        wording = self.store.narratives()[qid][0] if condition == "changed" else ""
        self.record(who, Change("grade", qid, condition, docid, value, wording))

    def edit(self, who: str, qid: str, text: str) -> None:
        self.record(who, Change("narrative", qid, value=text, base=self.store.narratives()[qid][1]))

    def undo(self, who: str) -> Applied:
        return self.store.undo(uuid.uuid4().hex, who)

    def grades(self) -> dict[tuple[str, str, str, str], int | None]:
        return {judgement[:4]: judgement.grade for judgement in self.store.judgements()}
