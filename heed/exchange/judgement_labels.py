"""The judgements in the records of annotation tools: who gave which document which label."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import HeedError
from heed.exchange.export_label_studio import CHOICE
from heed.exchange.judgement_files import GRADE_FIELDS, Record
from heed.io.files import parse_json, read_bytes


class Judgement(NamedTuple):
    """One assessor's label of a document for a topic; ``label`` is empty where it is not judged.

    ``condition`` is what the document was judged under, empty where the file does not say.
    """

    place: str
    qid: str
    docid: str
    label: str
    assessor: str
    condition: str = ""


def judged_fields(record: Record) -> list[Judgement]:
    """The judgement of a flat record: Heed's and doccano's lines, rows of tables, Label Studio's JSON_MIN."""
    names = [name for name in GRADE_FIELDS if name in record.fields]
    # Label Studio leaves the field out where a task was skipped
    value = record.fields[names[0]] if names else None
    return [_judgement(record, value, record.fields.get("assessor") or record.fields.get("annotator"))]


def judged_item(record: Record) -> list[Judgement]:
    """The judgements of a Label Studio task, one an annotation that was not skipped; of other items as if flat."""
    if not isinstance(record.fields.get("data"), dict):
        return judged_fields(record)
    task = record._replace(fields=record.fields["data"])
    found = []
    for annotation in _objects(record, record.fields.get("annotations")):
        if not annotation.get("was_cancelled"):
            found.append(_judgement(task, _choices(record, annotation), _person(record, annotation)))
    return found or [_judgement(task, "", "")]


def _choices(record: Record, annotation: dict[str, Any]) -> list[Any]:
    results = [one for one in _objects(record, annotation.get("result")) if one.get("type") == "choices"]
    named = [one for one in results if one.get("from_name") == CHOICE]
    if results and not named:
        others = ", ".join(sorted({str(one.get("from_name")) for one in results}))
        raise record.problem(f"choices named {others}, expected {CHOICE} as in the configuration that was exported")
    values = _objects(record, [one.get("value", {}) for one in named])
    found = [value.get("choices", []) for value in values]
    if not all(isinstance(choices, list) for choices in found):
        raise record.problem("choices of a result must be a list, as Label Studio's JSON has them")
    return [choice for choices in found for choice in choices]


def _objects(record: Record, value: Any) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise record.problem("annotations and their results must be lists of objects, as Label Studio's JSON has them")
    return value


def _person(record: Record, annotation: dict[str, Any]) -> Any:
    """Who judged; a number is a user's of one installation, so another person's in another file."""
    told = annotation.get("completed_by")
    value = told.get("email") or told.get("id") if isinstance(told, dict) else told
    return f"{value} of {record.path}" if isinstance(value, int) else value


def judged_columns(record: Record) -> list[Judgement]:
    """The judgement of a qrels line; column 2 is the assessor's name in Relevation's later versions, else 0 or Q0."""
    second = record.fields["second"]
    return [_judgement(record, record.fields["grade"], "" if second in ("0", "Q0") else second)]


def _judgement(record: Record, label: Any, assessor: Any) -> Judgement:
    """The judgement with the record's ids; the assessor is the file where none is named."""
    condition = record.fields.get("condition")
    return Judgement(
        record.place,
        record.word("qid"),
        record.word("docid"),
        _label(record, label),
        str(assessor or record.path),
        condition if isinstance(condition, str) else "",
    )


def _label(record: Record, value: Any) -> str:
    """A label as text: a text, a whole number, or a list of at most one of them; empty for none."""
    if isinstance(value, list):
        if len(value) > 1:
            raise record.problem(f"{len(value)} labels ({', '.join(map(str, value))}), expected one; keep one")
        value = value[0] if value else ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise record.problem(f"label is {value!r}, expected a text or a whole number")
    return "" if value is None else str(value).strip()


def renaming(path: Path | None) -> Callable[[Record], list[Judgement]]:
    """:func:`judged_columns` with the pool's ids, from the map that the export for Relevation wrote.

    Raises :class:`HeedError` without a map, for a file that is none, and for an id that is not in it.
    """
    if path is None:
        raise HeedError("Relevation's files have its own ids; name ids.json of the export with --map")
    try:
        ids = parse_json(read_bytes(path).decode("utf-8-sig"))
        topics, documents = ids["topics"], ids["documents"]
        told = {"qid": dict(topics), "docid": dict(documents)}
    except (ValueError, KeyError, TypeError) as error:
        raise HeedError(f"{path}: not a map of ids ({error!r}); name ids.json of the export for Relevation") from error

    def judge(record: Record) -> list[Judgement]:
        unknown = [f"{name} {record.fields[name]}" for name, known in told.items() if record.fields[name] not in known]
        if unknown:
            raise record.problem(f"{' and '.join(unknown)} not in {path}; name ids.json of the same export")
        return judged_columns(record._replace(fields=record.fields | {n: told[n][record.fields[n]] for n in told}))

    return judge
