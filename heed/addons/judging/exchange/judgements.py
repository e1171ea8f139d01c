"""Judgements in the result files of annotation tools; one grade for each document from several assessors."""

import csv
import io
import re
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from heed.addons.judging.agreement import Agreement, agreement, pairs
from heed.addons.judging.exchange.exports import CHOICE, GUARDED
from heed.errors import SHOWN, DataError, UsageError, fail
from heed.files import LARGEST, LONGEST_LINE, parse_json, read_lines, read_objects, read_text, unpacked_name, word_of
from heed.formats.trec_files import Pool, parse_score, read_qrels
from heed.progress import counted, log
from heed.types import Qrels, SubtopicGrades

ADJUDICATED = "adjudicated"  # the assessor whose judgements decide where others differ
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
        word = word_of(self.fields.get(name))
        if not word:
            raise self.problem(f"{name} is {self.fields.get(name)!r}, expected an id as it was exported, one word")
        return word


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
    condition, instruction, note = (text.strip() if isinstance(text, str) else "" for text in texts)
    project = str(by.get("project") or (PROJECT.match(record.path.name) or ["", ""])[1])
    created, time = (TIME.fullmatch(str(by.get(name))) for name in ("created_at", "updated_at"))
    annotation = f"{by['annotation_id']} {created[0]}" if created and by.get("annotation_id") else ""
    shown = condition.casefold(), instruction, note, left_out
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


def _flat_label(record: Record) -> Label:
    """Return the label of a flat record: a line of Heed, doccano or Prodigy, a table's row, Label Studio's JSON_MIN."""
    fields, answer = record.fields, record.fields.get("answer")
    # Label Studio omits the field where a task was skipped; Prodigy has choices in accept beside an empty grade
    values = map(fields.get, (*GRADE_FIELDS, "accept") if answer else GRADE_FIELDS)
    value = next((value for value in values if value not in (None, "", [])), None)
    left_out = "ignored" if answer == "ignore" else "rejected" if answer == "reject" else ""
    if fields.get("reworded") is True:  # in an export of heed annotate
        left_out = "from before an edit or a correction"
    if left_out == "rejected" and value is not None and "accept" not in fields:  # the question was about one label
        value, left_out = f"not {_label_text(record, value)}", ""
    return label_of(record, value, {**fields, "project": None}, left_out)


def qrels_labels(path: Path, encoding: str) -> list[Label]:
    """Return the labels of a qrels file; :class:`DataError` where its second column tells judgements apart."""
    labels = []
    for qid, grades in read_qrels(path, encoding=encoding or None).items():
        if isinstance(grades, SubtopicGrades):
            raise DataError(f"{path}: topic {qid} has several values in column 2, expected 0 (topic 0 docid grade)")
        labels += [Label(str(path), qid, docid, str(grade), "", file=str(path)) for docid, grade in grades.items()]
    return labels


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


def parse_record(record: Record) -> list[Label]:
    """Return a label for each annotation, draft and prediction of a Label Studio task; other records are flat."""
    if not isinstance(record.fields.get("data"), dict):
        return [_flat_label(record._replace(fields=_as_read(record.fields)))]
    task = record._replace(fields=_as_read(record.fields["data"]))
    labels = []
    for annotation in _objects(record, record.fields.get("annotations")):
        by = {"project": record.fields.get("project"), **annotation, "annotation_id": annotation.get("id")}
        skipped = "skipped" if annotation.get("was_cancelled") else ""
        labels.append(label_of(task, None if skipped else _values(record, annotation), by, skipped))
    for name, reason in (("drafts", "in draft"), ("predictions", "predicted")):
        several = record.fields.get(name)
        labels += [label_of(task, None, {}, reason)] * (len(several) if isinstance(several, list) else 0)
    return labels or [label_of(task, None, {})]


def _as_read(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with the names that are read in lower case and without outer blanks, as ``Condition``."""
    return {_read_name(name, fields): value for name, value in fields.items()}


def _read_name(name: str, names: Collection[str]) -> str:
    read = name.strip().casefold()
    return read if read in READ and read not in names else name


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


DELIMITERS = (",", ";", "\t")  # ; is what spreadsheets write where , is the decimal sign; Label Studio has TSV too
READ = ("qid", "docid", "condition", "instruction", "note", *GRADE_FIELDS, *NAME_FIELDS)
FORMULA = "a formula without a value; calculate it in a spreadsheet program and save the workbook"


def unguarded(cell: str) -> str:
    """Return the text that :func:`guarded` was given."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(GUARDED) else cell


def csv_records(path: Path, encoding: str | None = None) -> Iterator[Record]:
    """Yield the rows of a CSV file with a header, which shows the separator: commas, semicolons or tabs."""
    csv.field_size_limit(LONGEST_LINE)  # a document is one cell, and Python's own limit is 128 KiB
    line_no = 1
    try:
        lines = (line for _, text in read_lines(path, encoding) for line in io.StringIO(f"{text}\n", newline=""))
        header = next(lines, "")
        delimiter = max(DELIMITERS, key=header.count)
        header_names = next(csv.reader([header], delimiter=delimiter), [])
        names = [_read_name(name, header_names) for name in header_names]
        fail([f"{path}: {missing}"] if (missing := _missing(names)) else [])
        rows = csv.reader(lines, delimiter=delimiter)
        for cells in rows:
            line_no = rows.line_num + 1
            if any(cells):
                yield _row(path, f"line {line_no}", names, [unguarded(cell) for cell in cells])
    except csv.Error as error:
        raise DataError(f"{path}, after line {line_no}: not CSV ({error}); save it as CSV again") from error


def xlsx_records(path: Path, _: str | None = None) -> Iterator[Record]:
    """Yield the rows of the sheets with judgements, whose first row is the header; of several each is an assessor.

    Raises :class:`DataError` naming every formula that has no value, in the columns that are read.
    """
    headers: dict[str, list[str]] = {}
    problems: list[str] = []
    for sheet, number, cells in _rows(path):
        texts = [str(name or "") for name in cells]
        names = headers.setdefault(sheet, [_read_name(name, texts) for name in texts])
        if number == 1 or _missing(names) or all(cell is None for cell in cells):
            continue
        row = _row(path, f"{sheet}row {number}", names, cells)
        problems += [f"{row.source}: {name} is {FORMULA}" for name in READ if row.fields.get(name) is FORMULA]
        if sheet and not any(map(row.fields.get, NAME_FIELDS)):
            row.fields["assessor"] = f"{path}, {sheet}".removesuffix(", ")
        yield row
    judged = [sheet for sheet, names in headers.items() if not _missing(names)]
    fail(problems or ([] if judged else [f"{path}: {_missing(next(iter(headers.values()), []))}"]))
    if len(headers) > 1:
        log.info(f"{path}: judgements in {''.join(judged)}of {len(headers)} sheets")


def _rows(path: Path) -> Iterator[tuple[str, int, list[Any]]]:
    """Yield sheet (empty for the only one), number and values of every row; formulas without a value are FORMULA."""
    from openpyxl import load_workbook

    try:
        with path.open("rb") as stream, path.open("rb") as again:
            size = sum(member.file_size for member in zipfile.ZipFile(stream).infolist())
            if size > LARGEST:  # zipfile never unpacks more than a member declares
                raise DataError(f"{path}: unpacks to {size} bytes, more than {LARGEST}; split the workbook")
            books = load_workbook(stream, read_only=True, data_only=True), load_workbook(again, read_only=True)
            with closing(books[0]), closing(books[1]):
                for sheet, other in zip(*(book.worksheets for book in books), strict=True):
                    title = f"sheet {sheet.title}, " if len(books[0].worksheets) > 1 else ""
                    for number, row in enumerate(map(zip, sheet.iter_rows(), other.iter_rows()), 1):
                        # by value, type, and type with formulas; an empty text that was calculated has the type str
                        empty = {(None, "n", "f"): FORMULA}
                        yield title, number, [empty.get((a.value, a.data_type, b.data_type), a.value) for a, b in row]
    except DataError:
        raise
    except Exception as error:  # openpyxl, zipfile and two XML parsers raise many kinds for a damaged file
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: not an Excel workbook ({reason}); save it as .xlsx") from error


def _missing(names: list[str]) -> str:
    """Return the problem of a header without the columns of judgements; empty for one that has them."""
    missing = [name for name in ("qid", "docid") if name not in names]
    if not set(GRADE_FIELDS) & set(names):
        missing.append(" or ".join(GRADE_FIELDS))
    return f"no column {', '.join(missing)} in the first row (found {', '.join(names) or 'none'})" if missing else ""


def _row(path: Path, where: str, names: list[str], cells: Iterable[Any]) -> Record:
    filled = list(cells)
    if any(cell not in (None, "") for cell in filled[len(names) :]):
        raise DataError(f"{path}, {where}: {len(filled)} cells, and the first row has {len(names)}")
    return Record(path, where, dict(zip(names, filled, strict=False)))


Reader = Callable[[Path, str | None], Iterator[Record]]  # of a file, and the encoding of one that is not UTF-8

# by suffix; files with another one are qrels, and the forms of records are told by their fields
READERS: dict[str, Reader] = {
    ".json": json_records,
    ".jsonl": json_records,
    ".csv": csv_records,
    ".tsv": csv_records,
    ".xlsx": xlsx_records,
}

NUMBER = re.compile(r"(\d+)(\.0)?")  # of an assessor; pandas writes 1.0 for 1 beside empty cells

Key = tuple[str, str]  # qid, docid
Votes = dict[int, dict[str, str]]  # grade -> assessor -> source; empty for a document that is not judged
RULES = ("error", "majority", "highest")  # of resolve, where assessors differ


def read_labels(files: Sequence[Path], condition: str = "", several: bool = False, encoding: str = "") -> list[Label]:
    """Read every judgement of ``files``, those without a label too.

    ``encoding`` is that of files that are not UTF-8. With a ``condition``, what was judged under another one is left
    out. Raises :class:`DataError` naming every bad record, for a ``condition`` that no file has, and for ``several``
    conditions unless they are wanted.
    """
    judgements: list[Label] = []
    problems: list[str] = []
    for path in files:
        if suffix(path) not in READERS:
            judgements += qrels_labels(path, encoding)
            continue
        for record in READERS[suffix(path)](path, encoding):
            try:
                judgements += parse_record(record)
            except DataError as error:
                problems.append(str(error))
    fail(problems)
    conditions = {judgement.condition: judgement.source for judgement in judgements if judgement.condition}
    if condition:
        own_and_none = {"", condition.strip().casefold()}
        judgements = [judgement for judgement in judgements if judgement.condition in own_and_none]
        if conditions and not judgements:
            raise DataError(f"condition: no judgement under {condition!r}; there are {', '.join(sorted(conditions))}")
        conditions = {}
    if len(conditions) > 1 and not several:
        sources = ", ".join(f"{name} ({source})" for name, source in sorted(conditions.items()))
        raise DataError(f"condition: judgements under several: {sources}; choose one")
    return _of_persons(judgements)


def _of_persons(labels: Sequence[Label]) -> list[Label]:
    """Return each annotation once, in its latest state, by whom it is; log what was left out, counted by reason.

    Numbers of assessors are told apart by project, where that is known, else by file; so are those without a name.
    """
    latest: dict[tuple[str, str | int], dict[str, dict[str, Label]]] = {}  # by time and text, of each annotation
    for index, (label, origin) in enumerate(zip(labels, _origins(labels), strict=True)):
        number = NUMBER.fullmatch(label.assessor)
        name = f"{number[1]} of {origin}" if number else label.assessor or origin
        states = latest.setdefault((origin, label.annotation or index), {})
        states.setdefault(label.time, {}).setdefault(label.text, label._replace(assessor=name))
    last = [label for states in latest.values() for label in states[max(states)].values()]
    reasons = [label.left_out for label in last if label.left_out] + ["exported again"] * (len(labels) - len(last))
    if reasons:
        log.info(f"left out: {', '.join(f'{count} {reason}' for reason, count in Counter(reasons).items())}")
    return last


def _origins(labels: Sequence[Label]) -> list[str]:
    """Return the project or the file that each label is from; files with an annotation in common are of one project.

    Every installation of Label Studio has a project 1: where annotations of one number differ, it is several.
    """
    numbered: dict[tuple[str, str], set[str]] = defaultdict(set)
    for label in labels:
        numbered[label.project, label.annotation.partition(" ")[0]].add(label.annotation)
    several = {project for (project, _), annotations in numbered.items() if len(annotations) > 1} | {""}
    origins = [label.file if label.project in several else f"project {label.project}" for label in labels]
    names = {origin: origin for origin in origins}
    known: dict[str, str] = {}
    for label, origin in zip(labels, origins, strict=True):
        two = {names[origin], names[known.setdefault(label.annotation or origin, origin)]}
        if len(two) > 1:
            names = {other: min(two) if name in two else name for other, name in names.items()}
    return [names[origin] for origin in origins]


def note_path(path: Path) -> Path:
    """Return the JSON beside a model's judgements of ``path``: who made them, how, and how far people agree."""
    return path.with_name(f"{path.name}.json")


def suffix(path: Path) -> str:
    """Return the suffix that says what a result file is, without ``.gz``."""
    return Path(unpacked_name(path)).suffix


def parse_grades(texts: Iterable[str]) -> dict[str, int]:
    """Return the grades of ``LABEL=GRADE,…`` by label; :class:`UsageError` for other text or a second grade."""
    grades: dict[str, int] = {}
    for part in (part for text in texts for part in text.split(",")):
        label, _, number = part.rpartition("=")
        grade = parse_score(number)
        if not label.strip() or grade is None or not grade.is_integer():
            raise UsageError(f"grades: found {part!r}, expected LABEL=GRADE with a whole number, as relevant=1")
        if grades.setdefault(label.strip(), int(grade)) != grade:
            raise UsageError(f"grades: found {part!r}, and {label.strip()} has another grade before; keep one")
    return grades


def count_votes(judgements: Iterable[Label], grades: dict[str, int], pool: Pool | None) -> dict[Key, Votes]:
    """Return the votes for every document of ``judgements`` and of ``pool``, sorted by topic and document.

    With ``grades`` a label is one of theirs. Without, it is a whole number, and a negative one
    means not judged, as in trec_eval. Raises :class:`DataError` naming every other label,
    and every document outside a given pool.
    """
    votes: dict[Key, Votes] = {(qid, docid): {} for qid, docids in (pool or {}).items() for docid in docids}
    problems = []
    for judgement in judgements:
        source, qid, docid, label, assessor, *_ = judgement
        if pool is not None and (qid, docid) not in votes:
            problems.append(f"{source}: document {docid} of topic {qid} is not in the pool; was an id changed?")
            continue
        by_grade = votes.setdefault((qid, docid), {})
        if not label:
            continue
        grade = _grade(label, grades)
        if grade is None:
            expected = ", ".join(grades) or "a whole number; give grades=LABEL=GRADE for words"
            problems.append(f"{source}: label {label!r}, expected {expected}")
        elif grades or grade >= 0:
            by_grade.setdefault(grade, {}).setdefault(assessor, source)
    fail(problems)
    return dict(sorted(votes.items()))


def _grade(label: str, grades: dict[str, int]) -> int | None:
    if grades:
        return grades.get(label)
    number = parse_score(label)
    return int(number) if number is not None and number.is_integer() else None


def agreements(votes: dict[Key, Votes], scale: Iterable[int] = ()) -> dict[tuple[str, str], Agreement]:
    """Return the agreement of each two assessors over the documents that both judged, with one grade each.

    The grades are those of ``scale``, and all that were given.
    """
    grades = sorted({*scale, *(grade for by_grade in votes.values() for grade in by_grade)})
    documents = []
    for by_grade in votes.values():
        several = [(name, grade) for grade, names in by_grade.items() for name in names if name != ADJUDICATED]
        documents += [dict(several)] if len(dict(several)) == len(several) else []
    return {names: agreement(of_both, grades) for names, of_both in pairs(documents).items()}


def resolve(votes: dict[Key, Votes], rule: str) -> Qrels:
    """Return one grade for each document that has votes: the decision; where they differ, by ``rule``, which is logged.

    ``majority`` takes the grade of most assessors, of a tie the highest; ``highest`` the highest grade; ``error``
    raises :class:`DataError` naming the documents.
    """
    qrels: Qrels = {}
    differ: list[str] = []
    ties = 0
    for (qid, docid), by_grade in votes.items():
        if not by_grade:
            continue
        by_grade = {grade: names for grade, names in by_grade.items() if ADJUDICATED in names} or by_grade
        most = max(map(len, by_grade.values()))
        leaders = [grade for grade, assessors in by_grade.items() if rule == "highest" or len(assessors) == most]
        qrels.setdefault(qid, {})[docid] = max(leaders)
        if len(by_grade) > 1:
            differ.append(f"topic {qid}, document {docid}: {_describe(by_grade)}")
            ties += rule == "majority" and len(leaders) > 1
    if rule == "error":
        fail(f"{line}; correct one, or choose a rule" for line in differ)
    if differ:
        of_ties = f"; {counted(ties, 'tie')} decided for the highest" if ties else ""
        log.info(f"{counted(len(differ), 'document')} judged differently; the grade by {rule} is taken{of_ties}")
        for line in differ[:SHOWN]:
            log.info(f"  {line}")
        if len(differ) > SHOWN:
            log.info(f"  … and {len(differ) - SHOWN} more")
    return qrels


def _describe(votes: Votes) -> str:
    parts = []
    for grade, sources in sorted(votes.items()):
        names = (
            source if source.startswith(name) else f"{name} ({source})" for name, source in sorted(sources.items())
        )
        parts.append(f"{grade} by {', '.join(names)}")
    return "; ".join(parts)
