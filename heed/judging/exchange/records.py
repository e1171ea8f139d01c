"""Rows, lines and items of result files as records with named fields, and the label in a record."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import DataError
from heed.files import read_lines

GRADE_FIELDS = ("grade", "label")  # Heed's and Label Studio's name, doccano's


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
    ``note`` are empty where the file does not name one.
    """

    source: str
    qid: str
    docid: str
    text: str
    assessor: str
    condition: str = ""
    instruction: str = ""
    note: str = ""


def label_of(record: Record, label: Any, assessor: Any) -> Label:
    """Return the label of a record with the record's ids; the assessor is the file where none is named."""
    condition, instruction, note = (record.fields.get(name) for name in ("condition", "instruction", "note"))
    return Label(
        record.source,
        record.word("qid"),
        record.word("docid"),
        _label_text(record, label),
        str(assessor or record.path),
        *(text if isinstance(text, str) else "" for text in (condition, instruction, note)),
    )


def _label_text(record: Record, value: Any) -> str:
    """Return a label as text; it may be a text, a whole number, or a list of at most one of them; empty for none."""
    if isinstance(value, list):
        if len(value) > 1:
            raise record.problem(f"{len(value)} labels ({', '.join(map(str, value))}), expected one; keep one")
        value = value[0] if value else ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise record.problem(f"label is {value!r}, expected a text or a whole number")
    return "" if value is None else str(value).strip()


def parse_fields(record: Record) -> list[Label]:
    """Return the label of a flat record: Heed's and doccano's lines, rows of tables, Label Studio's JSON_MIN."""
    names = [name for name in GRADE_FIELDS if name in record.fields]
    # Label Studio omits the field where a task was skipped
    value = record.fields[names[0]] if names else None
    return [label_of(record, value, record.fields.get("assessor") or record.fields.get("annotator"))]


def parse_qrels(record: Record) -> list[Label]:
    """Return the label of a qrels line."""
    second = record.fields["second"]
    if second != "0":
        raise record.problem(
            f"column 2 is {second}, not 0; if Relevation wrote it, give ids.json of the export (--map)"
        )
    return [label_of(record, record.fields["grade"], "")]


def column_records(path: Path, encoding: str | None = None) -> Iterator[Record]:
    """Yield the lines of a qrels file, four columns."""
    for line_no, line in read_lines(path, encoding):
        columns = line.split()
        if not columns:
            continue
        record = Record(path, f"line {line_no}", {})
        if len(columns) != 4:
            raise record.problem(f"{len(columns)} columns, expected 4 (topic 0 docid grade)")
        yield record._replace(fields=dict(zip(("qid", "second", "docid", "grade"), columns, strict=True)))
