"""Rows, lines and items of result files as records with named fields, and the label in a record."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import DataError
from heed.files import parse_json, read_lines
from heed.formats.trec_files import without_comments

GRADE_FIELDS = ("grade", "label")  # Heed's and Label Studio's name, doccano's
NAME_FIELDS = ("assessor", "annotator", "completed_by", "_annotator_id")  # Heed's, Label Studio's two, Prodigy's
PROJECT = re.compile(r"project-(\d+)-at-")  # begins the name of a file that Label Studio exports
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")  # as Label Studio has it: no other order of times is believed
HELD = {"choices": list, "rating": int | float, "number": int | float}  # where Label Studio's values have the label


class Record(NamedTuple):
    """A row, line or item of a file, with its fields by name."""

    path: Path
    position: str
    fields: dict[str, Any]

    @property
    def source(self) -> str:
        """The file and the position in it."""
        return f"{self.path}, {self.position}"

    def problem(self, text: str) -> DataError:
        """Return the error for this record."""
        return DataError(f"{self.source}: {text}")

    def word(self, name: str) -> str:
        """Return an id; a whole number is accepted, since spreadsheets turn ids into numbers."""
        value = self.fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or value.split() != [value]:
            raise self.problem(f"{name} is {value!r}, expected an id as it was exported, one word")
        return value


class Label(NamedTuple):
    """An assessor's label of a document for a topic; ``text`` is empty where it is not judged.

    ``condition`` is that under which the document was judged, ``instruction`` the narrative; they and the assessor's
    ``note`` are empty where the file does not name one. ``left_out`` says why there is no label; ``annotation`` is
    Label Studio's number of it and when it was made, ``time`` its last change.
    """

    source: str
    qid: str
    docid: str
    text: str
    assessor: str
    condition: str = ""
    instruction: str = ""
    note: str = ""
    left_out: str = ""
    file: str = ""
    project: str = ""
    annotation: str = ""
    time: str = ""


def label_of(record: Record, label: Any, by: Mapping[str, Any], left_out: str = "") -> Label:
    """Return the label of a record with the record's ids; ``by`` has the assessor, and what is Label Studio's."""
    text = "" if left_out else _label_text(record, label)
    who = next(filter(None, map(by.get, NAME_FIELDS)), "")
    who = assessor_name(who.get("email") or who.get("id") if isinstance(who, dict) else who)
    texts = (record.fields.get(name) for name in ("condition", "instruction", "note"))
    condition, instruction, note = (text if isinstance(text, str) else "" for text in texts)
    project = str(by.get("project") or (PROJECT.match(record.path.name) or ["", ""])[1])
    created, time = (TIME.fullmatch(str(by.get(name))) for name in ("created_at", "updated_at"))
    annotation = f"{by['annotation_id']} {created[0]}" if created and by.get("annotation_id") else ""
    shown = condition, instruction, note, left_out
    origin = str(record.path), project, annotation, time[0] if time and annotation else ""
    return Label(record.source, record.word("qid"), record.word("docid"), text, who, *shown, *origin)


def assessor_name(name: object) -> str:
    """Return a name as names are compared: in Unicode's form NFC, with single blanks and none outside."""
    return unicodedata.normalize("NFC", " ".join(str("" if name is None else name).split()))


def _label_text(record: Record, value: Any) -> str:
    """Return a label as text: a text or a whole number, alone or in Label Studio's lists and objects; or empty."""
    if isinstance(value, str) and value.startswith("[{"):  # Label Studio's objects, in its CSV
        with suppress(ValueError):
            value = parse_json(value)
    while isinstance(value, list | dict):
        items = value if isinstance(value, list) else [value[k] for k, t in HELD.items() if isinstance(value.get(k), t)]
        if len(items) > 1 or (value and not items):
            raise record.problem(f"{len(items)} labels ({', '.join(map(str, value))}), expected one; keep one")
        value = items[0] if items else ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise record.problem(f"label is {value!r}, expected a text or a whole number")
    return "" if value is None else str(value).strip()


def parse_fields(record: Record) -> list[Label]:
    """Return the label of a flat record: a line of Heed, doccano or Prodigy, a table's row, Label Studio's JSON_MIN."""
    fields, answer = record.fields, record.fields.get("answer")
    # Label Studio omits the field where a task was skipped; Prodigy has choices in accept beside an empty grade
    values = map(fields.get, (*GRADE_FIELDS, "accept") if answer else GRADE_FIELDS)
    value = next((value for value in values if value not in (None, "", [])), None)
    left_out = "ignored" if answer == "ignore" else "rejected" if answer == "reject" else ""
    if left_out == "rejected" and value is not None and "accept" not in fields:  # the question was about one label
        value, left_out = f"not {_label_text(record, value)}", ""
    return [label_of(record, value, {**fields, "project": None}, left_out)]


def parse_qrels(record: Record) -> list[Label]:
    """Return the label of a qrels line."""
    second = record.fields["second"]
    if second != "0":
        raise record.problem(f"column 2 is {second}, expected 0, as in qrels (topic 0 docid grade)")
    return [label_of(record, record.fields["grade"], {})]


def column_records(path: Path, encoding: str | None = None) -> Iterator[Record]:
    """Yield the lines of a qrels file, four columns."""
    for line_no, line in without_comments(read_lines(path, encoding), path):
        columns = line.split()
        if not columns:
            continue
        record = Record(path, f"line {line_no}", {})
        if len(columns) != 4:
            raise record.problem(f"{len(columns)} columns, expected 4 (topic 0 docid grade)")
        yield record._replace(fields=dict(zip(("qid", "second", "docid", "grade"), columns, strict=True)))
