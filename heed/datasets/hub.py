"""Data sets as they lie in hub repositories: the files of a config, their rows, a copy fetched once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from heed.errors import HeedError, fail
from heed.io.documents import read_parquet
from heed.io.files import read_lines
from heed.io.topics import read_objects
from heed.io.trec_files import parse_score
from heed.models.hub_client import fetching
from heed.progress import brief, log
from heed.types import ABLATIONS, Qrels, Topic

# FollowIR and InfoSearch publish the same qrels as test.jsonl and test.tsv side by side: one form is read
FORMS = ((".parquet",), (".jsonl", ".jsonl.gz"), (".tsv",))
SUFFIXES = tuple(suffix for form in FORMS for suffix in form)

Parsed = TypeVar("Parsed")


class Row(NamedTuple):
    """One row of a config's file; its methods raise :class:`HeedError` naming the row and what was expected."""

    path: Path
    number: int
    fields: dict[str, Any]

    def problem(self, text: str) -> HeedError:
        """The error for this row."""
        return HeedError(f"{self.path}, {'row' if self.path.suffix == '.parquet' else 'line'} {self.number}: {text}")

    def value(self, *names: str) -> Any:
        """The field that has the first of ``names`` that is there."""
        for name in names:
            if name in self.fields:
                return self.fields[name]
        raise self.problem(f"no field {' or '.join(names)} (found {', '.join(self.fields) or 'none'})")

    def word(self, *names: str) -> str:
        """An id; whole numbers are taken for one."""
        value = self.value(*names)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not _is_word(value):
            raise self._wrong(names[0], "a word")
        return str(value)

    def words(self, name: str) -> list[str]:
        """A list of ids, which may be empty."""
        value = self.value(name)
        if not isinstance(value, list) or not all(map(_is_word, value)):
            raise self._wrong(name, "a list of words")
        return value

    def string(self, name: str) -> str:
        """A text, empty if it is null or blank."""
        value = self.value(name)
        if value is not None and not isinstance(value, str):
            raise self._wrong(name, "a text")
        return (value or "").strip()

    def text(self, name: str) -> str:
        """A text that is not blank."""
        text = self.string(name)
        if not text:
            raise self._wrong(name, "a text")
        return text

    def grade(self, name: str) -> int:
        """A whole number, also as ``2.0`` or ``"2"``."""
        value = self.value(name)
        number = None if isinstance(value, bool) else parse_score(str(value))
        if number is None or not number.is_integer():
            raise self._wrong(name, "a whole number")
        return int(number)

    def _wrong(self, name: str, expected: str) -> HeedError:
        return self.problem(f"{name} is {repr(self.fields.get(name))[:60]}, expected {expected}")


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.split() == [value]


def config_files(folder: Path, config: str) -> list[Path]:
    """The files of one config, sorted: ``config/…``, ``config/<split>/…`` or ``config.jsonl`` itself.

    Where they come in several forms, Parquet is taken before JSONL, and JSONL before TSV.
    """
    inside = (folder / config).rglob("*") if (folder / config).is_dir() else ()
    named = (folder / f"{config}{suffix}" for suffix in SUFFIXES)
    found = sorted(path for path in (*inside, *named) if path.is_file())
    forms = ([path for path in found if path.name.endswith(form)] for form in FORMS)
    return next((files for files in forms if files), [])


def rows(folder: Path, *configs: str) -> Iterator[Row]:
    """The rows of the first of ``configs`` that is in ``folder``; :class:`HeedError` if none is."""
    files = next((files for config in configs if (files := config_files(folder, config))), [])
    fail([] if files else [f"{folder}: no {' or '.join(configs)}; expected Parquet or JSONL files of that name"])
    for path in files:
        if path.suffix == ".parquet":
            records: Iterable[tuple[int, dict[str, Any]]] = enumerate(read_parquet(path), 1)
        else:
            records = _read_tsv(path) if path.suffix == ".tsv" else read_objects(path)
        for number, fields in records:
            yield Row(path, number, fields)


def _read_tsv(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = read_lines(path)
    names = next(lines, (1, ""))[1].split("\t")
    for line_no, line in lines:
        cells = line.split("\t")
        if len(cells) == len(names):
            yield line_no, dict(zip(names, cells, strict=True))
        elif line.strip():
            raise HeedError(f"{path}, line {line_no}: {len(cells)} columns, expected {len(names)} as in the first line")


def parsed(found: Iterable[Row], parse: Callable[[Row], Parsed]) -> list[Parsed]:
    """What ``parse`` makes of each row; one :class:`HeedError` tells all rows for which it raises one."""
    made, problems = [], []
    for row in found:
        try:
            made.append(parse(row))
        except HeedError as error:
            problems.append(str(error))
    fail(problems)
    return made


def judgements(folder: Path, *configs: str) -> Qrels:
    """Qrels of rows with ``query-id``, ``corpus-id`` and ``score``.

    Raises :class:`HeedError` naming bad rows, and those that give a document a second, different grade.
    """
    qrels: Qrels = {}

    def add(row: Row) -> None:
        qid, docid, grade = row.word("query-id"), row.word("corpus-id"), row.grade("score")
        before = qrels.setdefault(qid, {}).setdefault(docid, grade)
        if before != grade:
            raise row.problem(f"document {docid} of topic {qid} has grade {grade}, and {before} further up; keep one")

    parsed(rows(folder, *configs), add)
    return qrels


def read_topics(folder: Path, config: str, lang: str, columns: Mapping[str, str]) -> list[Topic]:
    """Topics of rows with ``_id``, ``text`` and a column for each condition's instruction.

    ``columns`` names them by condition; those of ablations may be missing. An instruction that is
    blank is not carried, which :func:`log_blank` tells.
    """
    topics: dict[str, Topic] = {}

    def add(row: Row) -> None:
        present = {name: column for name, column in columns.items() if name not in ABLATIONS or column in row.fields}
        told = {name: text for name, column in present.items() if (text := row.string(column))}
        topic = Topic(row.word("_id", "id"), lang, row.text("text"), told)
        if topics.setdefault(topic.qid, topic) is not topic:
            raise row.problem(f"topic {topic.qid} comes twice; keep one")

    parsed(rows(folder, config), add)
    return list(topics.values())


def log_blank(folder: Path, topics: Sequence[Topic], conditions: Iterable[str]) -> None:
    """Log how many topics cannot be put to a system under each of ``conditions``."""
    for condition in conditions:
        blank = [topic.qid for topic in topics if condition not in topic.instructions]
        if blank:
            log.info(f"{folder}: {len(blank)} of {len(topics)} topics have no {condition} instruction: {brief(blank)}")


def cached(repository: str, revision: str | None) -> Path | None:
    """The local copy of a hub data set that was fetched before; None if there is none."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(repository, repo_type="dataset", revision=revision, local_files_only=True))
    except LocalEntryNotFoundError:
        return None


def snapshot(repository: str, revision: str | None, patterns: Sequence[str]) -> Path:
    """A local copy of a hub data set's files that match ``patterns``, fetched at most once.

    ``revision`` is a whole commit hash, None for the newest. Raises :class:`HeedError` that says how
    to go on when the hub is out of reach.
    """
    from huggingface_hub import snapshot_download

    try:
        with fetching(repository, "dataset"):
            return Path(
                snapshot_download(repository, repo_type="dataset", revision=revision, allow_patterns=list(patterns))
            )
    except Exception as error:  # the hub client raises its HTTP library's errors, which changed between releases
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise HeedError(
            f"{repository}: cannot be fetched from the hub ({reason}); on a machine with a network run "
            f"'hf download --repo-type dataset {repository}', copy the folder here and give its path"
        ) from error
