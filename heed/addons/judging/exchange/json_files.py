"""JSON of Heed, doccano, Label Studio and rank_llm: a pool written, an object a document or topic, and results read."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from heed.addons.judging.exchange.exported_pool import GRADES, ExportedPool, documents, shown_documents
from heed.addons.judging.exchange.records import HELD, Label, Record, label_of, parse_fields
from heed.errors import DataError
from heed.files import finished, parse_json, read_objects, read_text, unpacked_name, write_bytes, write_json
from heed.progress import log

COLOURS = ("#d9d9d9", "#fdd49e", "#fc8d59", "#d7301f")  # pale to strong; doccano needs one for each label
# line ends other than \n, at which some readers of JSON lines split (str.splitlines)
ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "\x85\u2028\u2029"}
EMPTY = "(this document is empty)"  # doccano refuses an empty text

CHOICE = "grade"  # name of the choices or the rating, by which judgements are found in Label Studio's results

# plaintext: each line has the direction of its first strong letter, so that Persian documents
# under an English query are set from the right. Label Studio 1.23 puts each line into an inline span
# before a <br>; as a block it can have a direction and keeps its height when empty.
STYLE = (
    ".heed * { unicode-bidi: plaintext; text-align: start; white-space: pre-wrap; } "
    ".heed span { display: block; min-height: 1.2em; } .heed br { display: none; }"
)
INSTRUCTION = '    <Text name="instruction" value="$instruction" valueType="text" selectionEnabled="false"/>\n'
CONFIGURATION = """<View>
  <Style>{style}</Style>
  <View className="heed">
    <Header value="$query" size="3"/>
{instruction}    <Header value="$title" size="4"/>
    <Text name="text" value="$text" valueType="text" selectionEnabled="false"/>
  </View>
  <Choices name="{choice}" toName="text" choice="single" required="true" showInline="true">
{choices}
  </Choices>
</View>
"""


def write_jsonl(path: Path, exported: ExportedPool) -> None:
    """Write one object for each document; ``grade`` is null, to be filled in."""
    with finished(path) as stream:
        stream.writelines(_line({**document._asdict(), "grade": None}) for document in shown_documents(exported))


def write_doccano(path: Path, exported: ExportedPool) -> None:
    """Write doccano's JSONL for text classification, and its labels beside it as ``….labels.json``.

    All fields but ``text`` and ``label`` become doccano's metadata, which it shows beside the text
    and exports again. doccano refuses an empty text: an empty document is shown as such. Read by
    doccano 1.8.4 with the column names text and label, its defaults.
    """
    with finished(path) as stream:
        for document in shown_documents(exported):
            meta = document._asdict()
            meta["text"] = document.contents or EMPTY
            stream.write(_line({**meta, "label": []}))
    labels = path.with_suffix(".labels.json")
    style = {grade: {"background_color": COLOURS[grade], "text_color": "#000000"} for grade in GRADES}
    write_json(labels, [{"text": str(grade), "suffix_key": str(grade), **style[grade]} for grade in GRADES])
    log.info(f"{labels}: the labels {', '.join(map(str, GRADES))} with their keys; import it under doccano's Labels")


def write_label_studio(path: Path, exported: ExportedPool) -> None:
    """Write the tasks as a JSON list, and the labelling configuration beside them as ``….xml``.

    Each task's ``data`` holds all fields of :class:`~heed.addons.judging.exchange.exported_pool.ShownDocument`;
    Label Studio returns them with its results. Imported by Label Studio 1.23.2.
    """
    with finished(path) as stream:
        stream.writelines(_json_list({"data": document._asdict()} for document in shown_documents(exported)))
    configuration = path.with_suffix(".xml")
    write_bytes(configuration, _label_studio_configuration(exported.condition).encode())
    log.info(f"{configuration}: paste it under Settings, Labeling Interface, Code, before {path.name} is imported")


def _label_studio_configuration(condition: str) -> str:
    choices = "\n".join(
        f'    <Choice value={quoteattr(f"{grade}: {meaning}")} alias="{grade}" hotkey="{grade}"/>'
        for grade, meaning in GRADES.items()
    )
    instruction = "" if condition == "query" else INSTRUCTION
    return CONFIGURATION.format(style=STYLE, instruction=instruction, choice=CHOICE, choices=choices)


def write_rank_llm(path: Path, exported: ExportedPool) -> None:
    """Write rank_llm's requests as JSONL, one for each topic.

    The query is query and instruction as MTEB joins them. A pool has no scores: the n documents
    of a topic get n, n - 1, … 1, which stand for the pool's order only.
    """
    with finished(path) as stream:
        stream.writelines(map(_line, _requests(exported)))


def _requests(exported: ExportedPool) -> Iterator[dict[str, Any]]:
    for qid, docids in exported.pool.items():
        query = {"text": exported.topics[qid].under(exported.condition).text, "qid": qid}
        candidates = [
            {"docid": docid, "score": float(len(docids) - index), "doc": {"title": title, "text": text}}
            for index, (docid, title, text, *_) in enumerate(documents(exported, docids))
        ]
        yield {"query": query, "candidates": candidates}


def _json_list(records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Yield a JSON list in pieces, an item a line, so that the whole list is never in memory."""
    separator = b"[\n"
    for record in records:
        yield separator + _line(record).rstrip(b"\n")
        separator = b",\n"
    yield b"\n]\n"


def _line(record: dict[str, Any]) -> bytes:
    return f"{json.dumps(record, ensure_ascii=False).translate(ESCAPED)}\n".encode()


def json_records(path: Path, encoding: str | None = None) -> Iterator[Record]:
    """Yield the objects of a JSON Lines file or, by the suffix, of a JSON list."""
    if not unpacked_name(path).endswith(".json"):
        for line_no, fields in read_objects(path, encoding):
            yield Record(path, f"line {line_no}", fields)
        return
    try:
        items = parse_json(read_text(path, encoding))
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error}); export it again, JSON lines end in .jsonl") from error
    if not isinstance(items, list):
        raise DataError(f"{path}: found {type(items).__name__}, expected a JSON list; JSON lines end in .jsonl")
    for number, fields in enumerate(items, 1):
        if not isinstance(fields, dict):
            raise DataError(f"{path}, item {number}: found {type(fields).__name__}, expected a JSON object")
        yield Record(path, f"item {number}", fields)


def parse_item(record: Record) -> list[Label]:
    """Return a label for each annotation, draft and prediction of a Label Studio task; other items are flat."""
    if not isinstance(record.fields.get("data"), dict):
        return parse_fields(record)
    task = record._replace(fields=record.fields["data"])
    labels = []
    for annotation in _objects(record, record.fields.get("annotations")):
        by = {"project": record.fields.get("project"), **annotation, "annotation_id": annotation.get("id")}
        skipped = "skipped" if annotation.get("was_cancelled") else ""
        labels.append(label_of(task, None if skipped else _values(record, annotation), by, skipped))
    for name, reason in (("drafts", "in draft"), ("predictions", "predicted")):
        several = record.fields.get(name)
        labels += [label_of(task, None, {}, reason)] * (len(several) if isinstance(several, list) else 0)
    return labels or [label_of(task, None, {})]


def _values(record: Record, annotation: dict[str, Any]) -> list[dict[str, Any]]:
    results = [result for result in _objects(record, annotation.get("result")) if str(result.get("type")) in HELD]
    named = [result for result in results if result.get("from_name") == CHOICE]
    if results and not named:
        others = ", ".join(sorted({f"{result['type']} named {result.get('from_name')}" for result in results}))
        raise record.problem(f"{others}, expected {CHOICE} as in the configuration that was exported")
    return _objects(record, [result.get("value", {}) for result in named])


def _objects(record: Record, value: Any) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise record.problem("annotations and their results must be lists of objects, as Label Studio's JSON has them")
    return value
