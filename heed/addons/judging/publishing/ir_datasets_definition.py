"""Register the collection in this folder with ir_datasets.

    import ir_datasets, ir_datasets_definition
    ir_datasets.load(f"{ir_datasets_definition.NAME}/changed").queries_iter()

``NAME`` has the documents, ``NAME/original`` and ``NAME/changed`` the queries and judgements under each instruction.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import JsonlDocs, JsonlQueries, TrecQrels
from ir_datasets.util import GzipExtract, LocalDownload, home_path

FOLDER = Path(__file__).resolve().parent
DESCRIPTION = json.loads((FOLDER / "croissant.json").read_text(encoding="utf-8"))
NAME: str = DESCRIPTION["name"]
CORPUS = "corpus.jsonl.gz"
GRADES = {-1: "not judged", 0: "not relevant", 1: "relevant; higher grades are more so"}


class PublishedDocument(NamedTuple):
    """A document."""

    doc_id: str
    title: str
    text: str

    def default_text(self) -> str:
        """Return title and text."""
        return f"{self.title} {self.text}".strip()


class InstructedQuery(NamedTuple):
    """A query with its instruction."""

    query_id: str
    text: str
    instruction: str

    def default_text(self) -> str:
        """Return query and instruction."""
        return f"{self.text} {self.instruction}"


def _documents() -> list[Any]:
    """Return the documents, none in a release without texts."""
    digests = {file["name"]: file["sha256"] for file in DESCRIPTION["distribution"]}
    if CORPUS not in digests:
        return []
    packed = GzipExtract(LocalDownload(FOLDER / CORPUS, mkdir=False))
    names = {"doc_id": "_id", "title": "title", "text": "text"}
    store = home_path() / NAME / f"{digests[CORPUS]}.pklz4"  # another version of the collection has its own
    return [JsonlDocs(packed, PublishedDocument, names, docstore_path=store)]


ir_datasets.registry.register(NAME, Dataset(*_documents()))
for each in ("original", "changed"):
    queries = JsonlQueries(LocalDownload(FOLDER / f"{each}.queries.jsonl", mkdir=False), InstructedQuery)
    judgements = TrecQrels(LocalDownload(FOLDER / f"{each}.qrels", mkdir=False), GRADES)
    ir_datasets.registry.register(f"{NAME}/{each}", Dataset(*_documents(), queries, judgements))
