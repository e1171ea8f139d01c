"""A pool as JSON for tools that read one object for each document or topic: plain, doccano, rank_llm."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from heed.exchange.export_tasks import GRADES, Material, opened, tasks, texts
from heed.io.files import write_json
from heed.progress import log

COLOURS = ("#d9d9d9", "#fdd49e", "#fc8d59", "#d7301f")  # pale to strong; doccano asks for one a label
# line ends beyond \n, at which some readers of JSON lines end a line (str.splitlines)
ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "\x85\u2028\u2029"}
EMPTY = "(this document is empty)"  # doccano refuses an empty text


def write_jsonl(path: Path, material: Material) -> None:
    """Write one object for each document, ``.gz`` by suffix; ``grade`` is null and is to be filled in."""
    with opened(path) as stream:
        stream.writelines(_line({**task._asdict(), "grade": None}) for task in tasks(material))


def write_doccano(path: Path, material: Material) -> None:
    """Write doccano's JSONL for text classification, and its labels beside it as ``….labels.json``.

    All fields but ``text`` and ``label`` become doccano's meta data, which it shows beside the text
    and gives back. doccano refuses an empty text: an empty document is shown as such. Read by
    doccano 1.8.4 with the column names text and label, its defaults.
    """
    with opened(path) as stream:
        for task in tasks(material):
            meta = task._asdict()
            meta["text"] = task.contents or EMPTY
            stream.write(_line({**meta, "label": []}))
    labels = path.with_suffix(".labels.json")
    write_json(labels, [_doccano_label(grade) for grade in GRADES])
    log.info(f"{labels}: the labels {', '.join(map(str, GRADES))} with their keys; import it under doccano's Labels")


def _doccano_label(grade: int) -> dict[str, str]:
    return {"text": str(grade), "suffix_key": str(grade), "background_color": COLOURS[grade], "text_color": "#000000"}


def write_rank_llm(path: Path, material: Material) -> None:
    """Write rank_llm's requests as a JSON list or, by the suffix, as JSONL; one for each topic.

    The query is query and instruction as MTEB joins them. A pool has no scores: the n documents
    of a topic get n, n - 1, … 1, which say the pool's order and nothing else.
    """
    with opened(path) as stream:
        requests = _requests(material)
        if path.suffix == ".jsonl":
            stream.writelines(map(_line, requests))
        else:
            stream.writelines(json_list(requests))


def _requests(material: Material) -> Iterator[dict[str, Any]]:
    for qid, docids in material.pool.items():
        query = {"text": material.topics[qid].under(material.condition).text, "qid": qid}
        candidates = [
            {"docid": docid, "score": float(len(docids) - above), "doc": {"title": title, "text": text}}
            for above, (docid, title, text) in enumerate(texts(material, docids))
        ]
        yield {"query": query, "candidates": candidates}


def json_list(records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """A JSON list in pieces, an item a line, so that it never lies in memory whole."""
    before = b"[\n"
    for record in records:
        yield before + _line(record).rstrip(b"\n")
        before = b",\n"
    yield b"\n]\n"


def _line(record: dict[str, Any]) -> bytes:
    return f"{json.dumps(record, ensure_ascii=False).translate(ESCAPED)}\n".encode()
