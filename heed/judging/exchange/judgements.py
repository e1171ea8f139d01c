"""Judgements in the result files of annotation tools; one grade for each document from several assessors."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import SHOWN, DataError, UsageError, fail
from heed.files import parse_json, read_bytes
from heed.formats.pools import Pool
from heed.formats.trec_files import parse_score
from heed.judging.exchange.json_files import CHOICE
from heed.judging.exchange.records import (
    GRADE_FIELDS,
    Record,
    column_records,
    csv_records,
    json_records,
    xlsx_records,
)
from heed.progress import log
from heed.types import Qrels

FORMATS = ("label-studio", "doccano", "csv", "xlsx", "jsonl", "relevation", "qrels")
SUFFIXES = {".json": "label-studio", ".jsonl": "jsonl", ".csv": "csv", ".tsv": "csv", ".xlsx": "xlsx"}

Key = tuple[str, str]  # qid, docid
Votes = dict[int, dict[str, str]]  # grade -> assessor -> place; empty for a document that is not judged


class Judgement(NamedTuple):
    """An assessor's label of a document for a topic; ``label`` is empty where it is not judged.

    ``condition`` is that under which the document was judged, empty where the file does not name one.
    """

    place: str
    qid: str
    docid: str
    label: str
    assessor: str
    condition: str = ""


Reader = Callable[[Path], Iterator[Record]]
Parser = Callable[[Record], list[Judgement]]


def read_judgements(
    files: Sequence[Path], form: str = "auto", id_map: Path | None = None, condition: str = ""
) -> list[Judgement]:
    """Read every judgement of ``files``, those without a label too; ``id_map`` is the map of Relevation's ids.

    ``form`` is one of :data:`FORMATS`, or ``auto`` for each file's by its suffix; with a ``condition``, what was judged
    under another one is left out. Raises :class:`DataError` naming every bad record, and for several conditions.
    """
    forms = [_form(path) if form == "auto" else form for path in files]
    if id_map and "relevation" not in forms:
        raise UsageError(f"--map {id_map}: renames the ids of Relevation's files, and none is given")
    judgements: list[Judgement] = []
    problems: list[str] = []
    for path, file_form in zip(files, forms, strict=True):
        read, parse = _reader(file_form, id_map)
        for record in read(path):
            try:
                judgements += parse(record)
            except DataError as error:
                problems.append(str(error))
    fail(problems)
    if condition:
        judgements = [judgement for judgement in judgements if judgement.condition in ("", condition)]
    conditions = {judgement.condition: judgement.place for judgement in judgements if judgement.condition}
    if len(conditions) > 1:
        places = ", ".join(f"{name} ({place})" for name, place in sorted(conditions.items()))
        raise DataError(f"judgements under several conditions: {places}; choose one (--condition)")
    return judgements


def _form(path: Path) -> str:
    """Return the form of a file by its suffix; without a known one, qrels, or an error if it may be Relevation's."""
    known = SUFFIXES.get(Path(path.name.removesuffix(".gz")).suffix)
    if known:
        return known
    second = next((record.fields["second"] for record in column_records(path)), "0")
    if second != "0":
        raise DataError(f"{path}: column 2 is {second}, as Relevation writes; give --format relevation, or qrels")
    return "qrels"


def _reader(form: str, id_map: Path | None) -> tuple[Reader, Parser]:
    """Return the functions that read and parse files of ``form``; the JSON forms are recognised by their fields."""
    if form == "relevation":
        return column_records, _relevation_parser(id_map)
    readers: dict[str, tuple[Reader, Parser]] = {
        "csv": (csv_records, _parse_fields),
        "xlsx": (xlsx_records, _parse_fields),
        "qrels": (column_records, _parse_columns),
    }
    return readers.get(form, (json_records, _parse_item))


def _parse_fields(record: Record) -> list[Judgement]:
    """Return the judgement of a flat record: Heed's and doccano's lines, rows of tables, Label Studio's JSON_MIN."""
    names = [name for name in GRADE_FIELDS if name in record.fields]
    # Label Studio omits the field where a task was skipped
    value = record.fields[names[0]] if names else None
    return [_judgement(record, value, record.fields.get("assessor") or record.fields.get("annotator"))]


def _parse_item(record: Record) -> list[Judgement]:
    """Return the judgements of a Label Studio task, one for each annotation not skipped; other items are flat."""
    if not isinstance(record.fields.get("data"), dict):
        return _parse_fields(record)
    task = record._replace(fields=record.fields["data"])
    judgements = [
        _judgement(task, _choices(record, annotation), _assessor(record, annotation))
        for annotation in _objects(record, record.fields.get("annotations"))
        if not annotation.get("was_cancelled")
    ]
    return judgements or [_judgement(task, "", "")]


def _choices(record: Record, annotation: dict[str, Any]) -> list[Any]:
    results = [result for result in _objects(record, annotation.get("result")) if result.get("type") == "choices"]
    named = [result for result in results if result.get("from_name") == CHOICE]
    if results and not named:
        others = ", ".join(sorted({str(result.get("from_name")) for result in results}))
        raise record.problem(f"choices named {others}, expected {CHOICE} as in the configuration that was exported")
    values = _objects(record, [result.get("value", {}) for result in named])
    choices = [value.get("choices", []) for value in values]
    if not all(isinstance(several, list) for several in choices):
        raise record.problem("choices of a result must be a list, as Label Studio's JSON has them")
    return [choice for several in choices for choice in several]


def _objects(record: Record, value: Any) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise record.problem("annotations and their results must be lists of objects, as Label Studio's JSON has them")
    return value


def _assessor(record: Record, annotation: dict[str, Any]) -> Any:
    """Return who judged; a number is a user of one installation, so another person in another file."""
    user = annotation.get("completed_by")
    name = user.get("email") or user.get("id") if isinstance(user, dict) else user
    return f"{name} of {record.path}" if isinstance(name, int) else name


def _parse_columns(record: Record) -> list[Judgement]:
    """Return the judgement of a qrels line; column 2 is the assessor in later versions of Relevation, else 0 or Q0."""
    second = record.fields["second"]
    return [_judgement(record, record.fields["grade"], "" if second in ("0", "Q0") else second)]


def _judgement(record: Record, label: Any, assessor: Any) -> Judgement:
    """Return the judgement with the record's ids; the assessor is the file where none is named."""
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


def _relevation_parser(id_map: Path | None) -> Parser:
    """Return :func:`_parse_columns` with the pool's ids, from the map that the export for Relevation wrote.

    Raises :class:`UsageError` without a map, :class:`DataError` for a file that is none and for an unknown id.
    """
    if id_map is None:
        raise UsageError("Relevation's files have their own ids; give ids.json of the export with --map")
    try:
        ids = parse_json(read_bytes(id_map).decode("utf-8-sig"))
        names = {"qid": dict(ids["topics"]), "docid": dict(ids["documents"])}
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{id_map}: not a map of ids ({error!r}); give ids.json of the export for Relevation"
        ) from error

    def parse(record: Record) -> list[Judgement]:
        fields = record.fields
        unknown = [f"{field} {fields[field]}" for field, known in names.items() if fields[field] not in known]
        if unknown:
            raise record.problem(f"{' and '.join(unknown)} not in {id_map}; give ids.json of the same export")
        renamed = {field: known[fields[field]] for field, known in names.items()}
        return _parse_columns(record._replace(fields=fields | renamed))

    return parse


def parse_grades(texts: Iterable[str]) -> dict[str, int]:
    """Return the grades of ``LABEL=GRADE,…`` by label; :class:`UsageError` for other text or a second grade."""
    grades: dict[str, int] = {}
    for part in (part for text in texts for part in text.split(",")):
        label, _, number = part.rpartition("=")
        grade = parse_score(number)
        if not label.strip() or grade is None or not grade.is_integer():
            raise UsageError(f"--grades {part!r}: expected LABEL=GRADE with a whole number, as relevant=1")
        if grades.setdefault(label.strip(), int(grade)) != grade:
            raise UsageError(f"--grades {part!r}: {label.strip()} has another grade before; keep one")
    return grades


def count_votes(judgements: Iterable[Judgement], grades: dict[str, int], pool: Pool | None) -> dict[Key, Votes]:
    """Return the votes for every document of ``judgements`` and of ``pool``, sorted by topic and document.

    With ``grades`` a label is one of theirs. Without, it is a whole number, and a negative one
    means not judged, as in trec_eval. Raises :class:`DataError` naming every other label,
    and every document outside a given pool.
    """
    votes: dict[Key, Votes] = {(qid, docid): {} for qid, docids in (pool or {}).items() for docid in docids}
    problems = []
    for judgement in judgements:
        place, qid, docid, label, assessor, _ = judgement
        if pool is not None and (qid, docid) not in votes:
            problems.append(f"{place}: document {docid} of topic {qid} is not in the pool; was an id changed?")
            continue
        by_grade = votes.setdefault((qid, docid), {})
        if not label:
            continue
        grade = _grade(label, grades)
        if grade is None:
            expected = ", ".join(grades) or "a whole number; give the grades of words with --grades LABEL=GRADE"
            problems.append(f"{place}: label {label!r}, expected {expected}")
        elif grades or grade >= 0:
            by_grade.setdefault(grade, {}).setdefault(assessor, place)
    fail(problems)
    return dict(sorted(votes.items()))


def _grade(label: str, grades: dict[str, int]) -> int | None:
    if grades:
        return grades.get(label)
    number = parse_score(label)
    return int(number) if number is not None and number.is_integer() else None


def resolve(votes: dict[Key, Votes], rule: str) -> Qrels:
    """Return one grade for each document that has votes; where they differ, by ``rule``, which is logged.

    ``majority`` takes the grade of most assessors, of a tie the highest (every tie is logged, since
    the votes do not decide it); ``highest`` the highest grade; ``error`` raises :class:`DataError`
    naming the documents.
    """
    qrels: Qrels = {}
    differ: list[str] = []
    ties: list[str] = []
    for (qid, docid), by_grade in votes.items():
        if not by_grade:
            continue
        most = max(map(len, by_grade.values()))
        leaders = [grade for grade, assessors in by_grade.items() if rule == "highest" or len(assessors) == most]
        qrels.setdefault(qid, {})[docid] = max(leaders)
        if len(by_grade) > 1:
            tied = rule == "majority" and len(leaders) > 1
            (ties if tied else differ).append(f"topic {qid}, document {docid}: {_describe(by_grade)}")
    if rule == "error":
        fail(f"{line}; correct one, or choose a rule with --resolve" for line in differ)
    if differ or ties:
        log.info(f"{len(differ) + len(ties)} documents are judged differently; the grade by {rule} is taken")
        for line in differ[:SHOWN]:
            log.info(f"  {line}")
        if len(differ) > SHOWN:
            log.info(f"  … and {len(differ) - SHOWN} more")
        for line in ties:
            log.info(f"  tie, the highest is taken: {line}")
    return qrels


def _describe(votes: Votes) -> str:
    return "; ".join(
        f"{grade} by {', '.join(_with_place(assessor, place) for assessor, place in sorted(assessors.items()))}"
        for grade, assessors in sorted(votes.items())
    )


def _with_place(assessor: str, place: str) -> str:
    return place if place.startswith(assessor) else f"{assessor} ({place})"
