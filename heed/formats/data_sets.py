"""Data sets in BEIR's layout (``corpus.jsonl``, ``queries.jsonl``, ``qrels/``) or MTEB's: files, rows, topics, qrels.

A *config* is a part of a data set: ``corpus``, ``queries``, ``qrels``. Its files are ``qrels.jsonl``, or in
``qrels/``, where the name of a file or of a folder begins with the *split* (``test.tsv``,
``test-00000-of-00001.parquet``, ``test/0000.parquet``).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

from heed.errors import DataError, UsageError, fail
from heed.files import read_lines, read_objects, unpacked_name, word_of
from heed.formats.topic_ids import by_ending, stem, topics_with_ids, with_ids
from heed.formats.trec_files import COLUMNS, as_judged, parse_score
from heed.progress import brief, warn
from heed.types import ABLATIONS, Qrels, Topic

# FollowIR and InfoSearch publish the same qrels as test.jsonl and test.tsv side by side: one form is read
SUFFIXES = (".parquet", ".jsonl", ".tsv")
QRELS = ("qrels", "default", "data")  # data: where push_to_hub puts the config that it calls default
PART = re.compile(r"-\d{5}-of-\d{5}")


def config_files(folder: Path, config: str) -> list[Path]:
    """Return the files of one config, sorted: ``config/…``, ``config/<split>/…`` or ``config.jsonl`` itself.

    Where they come in several forms, Parquet is read rather than JSONL, JSONL rather than TSV, and TSV rather than CSV,
    in which qrels may be; a file that is there gzipped too is read as it is.
    """
    inside = (folder / config).rglob("*") if (folder / config).is_dir() else ()
    accepted = (*SUFFIXES, ".csv") if config == "qrels" else SUFFIXES
    named = (path for path in folder.glob("*") if unpacked_name(path).removeprefix(config) in accepted)
    paths = sorted(path for path in (*inside, *named) if path.is_file())
    forms = ([path for path in paths if unpacked_name(path).endswith(suffix)] for suffix in accepted)
    files = next((files for files in forms if files), [])
    return [path for path in files if path.name == unpacked_name(path) or path.with_suffix("") not in files]


def qrels_files(folder: Path) -> dict[str, list[Path]]:
    """Return the files of judgements of a data set by split; empty without any."""
    files = next((files for config in QRELS if (files := config_files(folder, config))), [])
    splits: dict[str, list[Path]] = {}
    for path in files:
        parts = path.relative_to(folder).parts  # qrels, test, 0000.parquet
        splits.setdefault(parts[1] if len(parts) > 2 else _split(path.name), []).append(path)
    return splits


def _split(name: str) -> str:
    return PART.split(name)[0].partition(".")[0]


def split_files(folder: Path, config: str, split: str) -> list[Path]:
    """Return the files of one split of a config, or of all for an empty ``split``; see :func:`config_files`."""
    files = config_files(folder, config)
    return [path for path in files if not split or split in (path.parent.name, _split(path.name))]


def test_qrels(folder: Path) -> list[Path]:
    """Return the files of the split ``test``, else those of the only split; empty without judgements.

    Raises :class:`UsageError` naming the splits where there are several, none of them ``test``.
    """
    splits = qrels_files(folder)
    if len(splits) > 1 and "test" not in splits:
        names = ", ".join(str(path) for files in splits.values() for path in files[:1])
        raise UsageError(
            f"{folder}: judgements of {' and '.join(splits)}, none of test; give one as qrels=PATH: {names}"
        )
    return splits.get("test") or next(iter(splits.values()), [])


Parsed = TypeVar("Parsed")
BATCH = 1000  # rows of a Parquet file, in memory at once
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
        word = word_of(self.value(*names))
        if not word:
            raise self._wrong("a word", *names)
        return word

    def words(self, *names: str) -> list[str]:
        """Return a list of ids, which may be empty."""
        value = self.value(*names)
        if not isinstance(value, list) or not all(isinstance(item, str) and word_of(item) for item in value):
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


def rows(folder: Path, *configs: str, encoding: str | None = None) -> Iterator[HubRow]:
    """Yield the rows of the first of ``configs`` that is in ``folder``; raises :class:`DataError` if none is."""
    files = next((files for config in configs if (files := config_files(folder, config))), [])
    fail([] if files else [f"{folder}: no {' or '.join(configs)}; expected Parquet or JSONL files of that name"])
    yield from read_rows(files, encoding)


def read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, a batch at a time in memory; raises :class:`DataError` for another file."""
    import pyarrow
    import pyarrow.parquet

    try:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=BATCH):
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:  # ValueError: texts that are no UTF-8
        raise DataError(f"{path}: not a whole Parquet file ({error}); fetch it again") from error


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


def read_columns(
    paths: Sequence[Path], lang: str, columns: Columns, encoding: str
) -> tuple[list[Topic], Qrels, dict[str, set[str]]]:
    """Return the topics of rows, and what these list as relevant and, where they list anything, as excluded."""
    rows = list(read_rows(paths, encoding))
    topics = topics_of(rows, lang, columns)
    warn_blank(paths[0], topics, columns.instructions)
    relevant = listed_of(rows, columns, columns.relevant) if columns.relevant else {}
    excluded = listed_of(rows, columns, columns.excluded) if columns.excluded else {}
    return topics, relevant, {qid: set(grades) for qid, grades in excluded.items() if grades}


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
            "InfoSearch's by heed infosearch, data={folder}"
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
            candidates.setdefault(stem(full), {}).update(dict.fromkeys(docids))
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


Naming = Callable[[str], str]  # a config's name in a folder: queries → queries-zho

PAIRED_QRELS = {"original": "qrels_og", "changed": "qrels_changed"}
PAIRED_COLUMNS = Columns(
    instructions={
        "keywords": ("keywords",),
        "short": ("short_query",),
        "original": ("instruction_og",),
        "changed": ("instruction_changed",),
    }
)


class PairedTopics(NamedTuple):
    """Topics and qrels by condition; ``candidates`` are the published lists, by condition-free qid."""

    topics: list[Topic]
    qrels: dict[str, Qrels]
    candidates: dict[str, list[str]]
    corpus: list[Path]


def read_pairs(folder: Path, named: Naming, lang: str, encoding: str | None = None) -> PairedTopics:
    """Read topics in language ``lang`` with both instructions from configs that are called as ``named`` says.

    Raises :class:`DataError` for a missing config, bad rows, a query without its instruction, or an id of the newer
    form that ends neither ``-og`` nor ``-changed``. Blank instructions are warnings. Without ``top_ranked`` there are
    no candidates.
    """
    if config_files(folder, named(PAIRED_QRELS["original"])):
        topics = topics_of(rows(folder, named("queries"), encoding=encoding), lang, PAIRED_COLUMNS)
        parts = {
            condition: rows(folder, named(config), encoding=encoding) for condition, config in PAIRED_QRELS.items()
        }
        qrels = {condition: grades_of(part) for condition, part in parts.items()}
    else:
        topics, qrels = _read_newer(folder, named, lang, encoding)
    warn_blank(folder, topics, PAIRED_QRELS)
    corpus = config_files(folder, named("corpus"))
    fail([] if corpus else [f"{folder}: no {named('corpus')}; expected Parquet or JSONL files of that name"])
    return PairedTopics(topics, qrels, read_candidates(folder, named("top_ranked")), corpus)


def is_mfollowir(folder: Path, lang: str) -> bool:
    """Return whether ``folder`` holds mFollowIR's configs for ``lang``."""
    return folder.is_dir() and bool(config_files(folder, _naming(folder, lang).format("queries")))


def read_mfollowir(folder: Path, lang: str, query_lang: str) -> PairedTopics:
    """Read the configs of ``lang`` from a local copy; logs and raises as :func:`read_pairs` does."""
    return read_pairs(folder, _naming(folder, lang).format, query_lang)


def _naming(folder: Path, lang: str) -> str:
    """Return how ``folder`` names configs: ``queries-fas``, or ``fas-queries`` or ``eng-fas-queries`` (MTEB)."""
    forms = (f"{{}}-{lang}", f"{lang}-{{}}", f"eng-{lang}-{{}}")
    return next((form for form in forms if config_files(folder, form.format("queries"))), forms[0])


def is_paired(folder: Path, encoding: str | None = None) -> bool:
    """Return whether the queries of ``folder`` come with an original and a changed instruction each, in either form."""
    if config_files(folder, PAIRED_QRELS["original"]):
        return not config_files(folder, "qrels_reversed")  # InfoSearch's
    qids = [row.word("_id", "id") for row in rows(folder, "queries", encoding=encoding)]
    return bool(qids) and all(by_ending(qid)[1] in PAIRED_QRELS for qid in qids)


def _read_newer(folder: Path, named: Naming, lang: str, encoding: str | None) -> tuple[list[Topic], dict[str, Qrels]]:
    topics: dict[str, Topic] = {}
    for query in read_queries(folder, lang, named, encoding, all_instructed=True):
        qid, condition = _without_ending(folder, query.qid)
        topic = topics.setdefault(qid, query._replace(qid=qid, instructions={}))
        if instruction := query.instructions.get("original"):
            topic.instructions[condition] = instruction
    qrels: dict[str, Qrels] = {condition: {} for condition in PAIRED_QRELS}
    # data: where push_to_hub puts the config that it calls default
    judged = rows(folder, named("default"), named("qrels"), named("data"), encoding=encoding)
    for full, grades in grades_of(judged).items():
        qid, condition = _without_ending(folder, full)
        qrels[condition][qid] = grades
    return list(topics.values()), qrels


def _without_ending(folder: Path, full: str) -> tuple[str, str]:
    qid, condition = by_ending(full)
    fail([] if condition in PAIRED_QRELS else [f"{folder}: query id {full!r} ends neither -og nor -changed"])
    return qid, condition


def read_listed(path: Path) -> dict[str, set[str]]:
    """Return documents by qid from rows of ``query-id`` and ``corpus-ids``, as MTEB's folder ``qrel_diff`` has them."""
    listed: dict[str, set[str]] = {}
    files = config_files(path.parent, path.name) if path.is_dir() else [path]
    for qid, docids in parsed(read_rows(files), lambda row: (row.word("query-id"), row.words("corpus-ids"))):
        listed.setdefault(qid, set()).update(docids)
    return with_ids(listed, path)
