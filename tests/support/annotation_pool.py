"""A small pool with every text and id that annotation tools have trouble with, and what two tools made of it."""

from pathlib import Path
from typing import Any

from conftest import write_jsonl

from heed.addons.judging.exchange.exports import ExportedPool
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Files
from heed.types import Topic

RESULTS = Path(__file__).parents[1] / "data" / "annotation_tools"

DOCUMENTS = [
    {"id": "zho-1", "title": "经济新闻", "text": '中国经济增长。\n第二段 <script>alert(1)</script> & "引号".'},
    {"id": "fas-1", "title": "خبر اقتصادی", "text": "این یک متن فارسی است.\n\nIn English.\n\tبند سوم (123)."},
    {"id": "=1+1", "title": "@SUM(A1)", "text": "+1\tand\r\n-2\u2028'x' 𝄞"},
    {"id": "007", "title": "", "text": ""},
    {"id": "a/b:c", "title": "'quoted", "text": "'=2"},
    {"id": "2020-01-01", "title": "NA", "text": "s3://bucket/key"},
]
TOPICS = {
    "12": Topic("12", "eng", "economic growth <b>", {"original": "All of it.\nتنها رشد", "changed": "Only China's."}),
    "0x": Topic("0x", "zho", "=经济", {"original": "原来的说明", "changed": "改过的说明"}),
}
POOL = {"12": ["zho-1", "fas-1", "=1+1", "007"], "0x": ["a/b:c", "zho-1", "2020-01-01"]}


def store(folder: Path, documents: list[dict[str, Any]] = DOCUMENTS) -> DocumentStore:
    return open_store(folder / "store", Files([write_jsonl(folder / "documents.jsonl", documents)]))


def material(folder: Path, condition: str = "changed") -> ExportedPool:
    return ExportedPool(POOL, TOPICS, condition, store(folder))
