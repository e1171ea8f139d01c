"""The rows of a data set's configs (:mod:`heed.formats.data_set_folders`): topics, judgements, lists of documents."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

from heed.errors import DataError, UsageError, fail
from heed.files import read_lines, read_objects, unpacked_name
from heed.formats.data_set_folders import config_files
from heed.formats.documents import read_parquet
from heed.formats.topic_ids import topics_with_ids, with_ids
from heed.formats.trec_files import COLUMNS, as_judged, parse_score
from heed.progress import brief, warn
from heed.types import ABLATIONS, Qrels, Topic

Parsed = TypeVar("Parsed")
NONE = "N/A"  # in BRIGHT's lists of documents


class HubRow(NamedTuple):
    """One row of a config's file; its methods raise :class:`DataError` naming the row and what was expected."""

    path: Path
    number: int
    fields: dict[str, Any]

    def problem(self, text: str) -> DataError:
        """Return the error for this row."""
        return DataError(f"{self.path}, {'row' if self.path.suffix == '.parquet' else 'line'} {self.number}: {text}")

    def value(self, *names: str) -> Any:
        """Return the first of ``names`` that is a field."""
        for name in names:
            if name in self.fields:
                return self.fields[name]
        raise self.problem(f"no field {' or '.join(names[:2])} (found {', '.join(self.fields) or 'none'})")

    def word(self, *names: str) -> str:
        """Return an id, which may be a whole number."""
        value = self.value(*names)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not _is_word(value):
            raise self._wrong("a word", *names)
        return str(value)

    def words(self, *names: str) -> list[str]:
        """Return a list of ids, which may be empty."""
        value = self.value(*names)
        if not isinstance(value, list) or not all(map(_is_word, value)):
            raise self._wrong("a list of words", *names)
        return value

    def string(self, name: str) -> str:
        """Return a text, empty if it is null or blank."""
        value = self.value(name)
        if value is not None and not isinstance(value, str):
            raise self._wrong("a text", name)
        return (value or "").strip()

    def text(self, name: str) -> str:
        """Return a text that is not blank."""
        text = self.string(name)
        if not text:
            raise self._wrong("a text", name)
        return text

    def grade(self, *names: str) -> int:
        """Return a whole number, also given as ``2.0`` or ``"2"``."""
        value = self.value(*names)
        number = None if isinstance(value, bool) else parse_score(str(value))
        if number is None or not number.is_integer():
            raise self._wrong("a whole number", *names)
        return int(number)

    def grades(self, name: str) -> dict[str, int]:
        """Return a list of ids, each with grade 1, or of objects with ``id`` and ``score``."""
        value = self.value(name)
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            items = [HubRow(self.path, self.number, item) for item in value]
            return {item.word("id"): item.grade("score") for item in items}
        return dict.fromkeys([word for word in self.words(name) if word != NONE], 1)

    def _wrong(self, expected: str, *names: str) -> DataError:
        name = next(name for name in names if name in self.fields)
        return self.problem(f"{name} is {repr(self.fields.get(name))[:60]}, expected {expected}")


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.split() == [value]


def rows(folder: Path, *configs: str, encoding: str | None = None) -> Iterator[HubRow]:
    """Yield the rows of the first of ``configs`` that is in ``folder``; raises :class:`DataError` if none is."""
    files = next((files for config in configs if (files := config_files(folder, config))), [])
    fail([] if files else [f"{folder}: no {' or '.join(configs)}; expected Parquet or JSONL files of that name"])
    yield from read_rows(files, encoding)


def read_rows(files: Iterable[Path], encoding: str | None = None) -> Iterator[HubRow]:
    """Yield the rows of Parquet, JSONL and TSV files."""
    for path in files:
        if path.suffix == ".parquet":
            records: Iterable[tuple[int, dict[str, Any]]] = enumerate(read_parquet(path), 1)
        else:
            records = (_read_tsv if unpacked_name(path).endswith(".tsv") else read_objects)(path, encoding)
        for number, fields in records:
            yield HubRow(path, number, fields)


def _read_tsv(path: Path, encoding: str | None) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = read_lines(path, encoding)
    names = next(lines, (1, ""))[1].split("\t")
    for line_no, line in lines:
        cells = line.split("\t")
        if len(cells) == len(names):
            yield line_no, dict(zip(names, cells, strict=True))
        elif line.strip():
            raise DataError(f"{path}, line {line_no}: {len(cells)} columns, expected {len(names)} as in the first line")


def parsed(rows: Iterable[HubRow], parse: Callable[[HubRow], Parsed]) -> list[Parsed]:
    """Return the value that ``parse`` gives each row; raises one :class:`DataError` for all bad rows."""
    values, problems = [], []
    for row in rows:
        try:
            values.append(parse(row))
        except DataError as error:
            problems.append(str(error))
    fail(problems)
    return values


def grades_of(rows: Iterable[HubRow]) -> Qrels:
    """Return the qrels of rows with ``query-id``, ``corpus-id`` and ``score``, or other names of ``COLUMNS``.

    Raises :class:`DataError` naming bad rows, and those that give a document a second, different grade.
    """
    qrels: Qrels = {}

    def add(row: HubRow) -> None:
        qid, docid, grade = row.word(*COLUMNS[0]), row.word(*COLUMNS[1]), row.grade(*COLUMNS[2])
        before = qrels.setdefault(qid, {}).setdefault(docid, grade)
        if before != grade:
            raise row.problem(f"document {docid} of topic {qid} has grade {grade}, and {before} further up; keep one")

    parsed(rows, add)
    return as_judged(qrels, "judgements")


class Columns(Struct, frozen=True, forbid_unknown_fields=True):
    """Which columns of topics' rows are what.

    ``instructions`` are by condition; several columns become paragraphs of one text. ``relevant`` is a list of docids,
    or of objects with ``id`` and ``score``; ``excluded`` a list of docids that are taken out of runs before measuring.
    """

    qid: str = "_id"
    query: str = "text"
    instructions: dict[str, tuple[str, ...]] = {}
    relevant: str = ""
    excluded: str = ""


def topics_of(rows: Iterable[HubRow], lang: str, columns: Columns) -> list[Topic]:
    """Return the topics of rows.

    Columns of ablations may be missing. Blank instructions are left out; see :func:`warn_blank`. Raises
    :class:`DataError` naming bad rows.
    """
    topics: dict[str, Topic] = {}

    def add(row: HubRow) -> None:
        instructions = {}
        for condition, names in columns.instructions.items():
            if condition not in ABLATIONS or names[0] in row.fields:
                instructions[condition] = "\n\n".join(filter(None, map(row.string, names)))
        texts = {condition: text for condition, text in instructions.items() if text}
        topic = Topic(row.word(columns.qid, "id"), lang, row.text(columns.query), texts)
        if topics.setdefault(topic.qid, topic) is not topic:
            raise row.problem(f"topic {topic.qid} comes twice; keep one")

    parsed(rows, add)
    return topics_with_ids([*topics.values()], "queries")


def listed_of(rows: Iterable[HubRow], columns: Columns, column: str) -> Qrels:
    """Return the documents that a column of topics' rows lists, with their grades, 1 where it gives none.

    BRIGHT's ``["N/A"]`` is an empty list. Raises :class:`DataError` naming bad rows.
    """
    return with_ids(dict(parsed(rows, lambda row: (row.word(columns.qid, "id"), row.grades(column)))), column)


def read_queries(
    folder: Path,
    lang: str,
    named: Callable[[str], str] = str,
    encoding: str | None = None,
    *,
    all_instructed: bool = False,
) -> list[Topic]:
    """Return the topics of a data set: its queries, with the original instruction where there is one.

    Instructions are in a config ``instruction``; of queries that it lacks they are a column of ``queries``. Configs are
    called as ``named`` says. Raises :class:`DataError` naming bad rows, and with ``all_instructed`` queries whose
    instruction is in neither, and :class:`UsageError` for data sets that have several instructions a query.
    """
    if config_files(folder, "qrels_og"):
        raise UsageError(
            f"{folder}: several instructions a query; FollowIR's form is read by heed trec, "
            "InfoSearch's by heed infosearch --data"
        )
    queries, config = list(rows(folder, named("queries"), encoding=encoding)), named("instruction")
    topics = topics_of(queries, lang, Columns())
    instruction_rows = [row for row in queries if "instruction" in row.fields]
    if config_files(folder, config):
        instruction_rows += rows(folder, config, encoding=encoding)
    instructions: dict[str, str] = {}

    def add(row: HubRow) -> None:
        qid, text = row.word("query-id", "query_id", "_id", "id"), row.string("instruction")
        instructions[qid] = text or instructions.get(qid, "")

    def check(row: HubRow) -> None:
        if (qid := row.word("_id", "id")) not in instructions:
            raise row.problem(f"query {qid} has no row in {config} and no column instruction")

    parsed(instruction_rows, add)
    parsed(queries if all_instructed else (), check)
    instructions = with_ids(instructions, config)
    return [
        topic._replace(instructions={"original": text}) if (text := instructions.get(topic.qid)) else topic
        for topic in topics
    ]


def read_candidates(folder: Path, config: str = "top_ranked") -> dict[str, list[str]]:
    """Return the published lists by qid, both conditions' of FollowIR together, in the order of the rows.

    They are empty where ``folder`` has no such config. Raises :class:`DataError` naming bad rows.
    """
    candidates: dict[str, dict[str, None]] = {}
    if config_files(folder, config):
        for full, docids in parsed(rows(folder, config), _listed):
            qid = full.removesuffix("-og").removesuffix("-changed")
            candidates.setdefault(qid, {}).update(dict.fromkeys(docids))
    return with_ids({qid: list(docids) for qid, docids in candidates.items()}, config)


def _listed(row: HubRow) -> tuple[str, list[str]]:
    if "pid" in row.fields:
        return row.word("qid"), [row.word("pid")]
    return row.word("query-id", "query_id"), row.words("corpus-ids", "corpus_ids")


def warn_blank(folder: Path, topics: Sequence[Topic], conditions: Iterable[str]) -> None:
    """Warn of topics that cannot be put to a system under each of ``conditions``."""
    for condition in conditions:
        blank = [topic.qid for topic in topics if condition not in topic.instructions]
        if blank:
            warn(f"{folder}: {len(blank)} of {len(topics)} topics have no {condition} instruction: {brief(blank)}")
