"""Data sets of the Hugging Face hub: what a revision holds, downloads to the hub's cache, the rows of a config."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from heed.datasets.downloads import Download, File
from heed.errors import DataError, fail
from heed.io.documents import read_parquet
from heed.io.files import read_lines
from heed.io.topics import read_objects
from heed.io.trec_files import parse_score
from heed.models.model_files import cache_of, fetching, quiet_hub
from heed.progress import brief, log
from heed.types import ABLATIONS, Qrels, Topic

# FollowIR and InfoSearch publish the same qrels as test.jsonl and test.tsv side by side: one form is read
FORMS = ((".parquet",), (".jsonl", ".jsonl.gz"), (".tsv",))
SUFFIXES = tuple(suffix for form in FORMS for suffix in form)

Parsed = TypeVar("Parsed")


class Repository(NamedTuple):
    """A data set: ``revision`` is a commit or ``main``; of its files those that match any of ``patterns``, or all."""

    name: str
    revision: str
    patterns: tuple[str, ...] = ()

    @property
    def cache(self) -> Path:
        """Its folder in the hub's cache, as ``HF_HOME`` or ``HF_HUB_CACHE`` say."""
        return cache_of(self.name, "dataset")

    @property
    def snapshot(self) -> Path:
        """The folder of the revision's files once they are fetched; of ``main`` as it was then."""
        ref = self.cache / "refs" / self.revision
        return self.cache / "snapshots" / (ref.read_text() if ref.is_file() else self.revision)

    def local_files(self) -> list[Path]:
        """Return the files of the revision that are on this machine."""
        paths = [path for path in self.snapshot.rglob("*") if path.is_file()]
        return [path for path in paths if self.has(path.relative_to(self.snapshot).as_posix())]

    def has(self, name: str) -> bool:
        """Return whether a file matches the patterns."""
        return not self.patterns or any(fnmatch(name, pattern) for pattern in self.patterns)


def snapshot(repository: Repository) -> Path:
    """Return a local copy of a data set, fetched at most once.

    Raises :class:`DataError` that says how to go on when the hub is out of reach.
    """
    try:
        return _snapshot(repository)
    except Exception as error:  # the hub client raises its HTTP library's errors, which changed between releases
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"{repository.name}: cannot be fetched from the hub ({reason}); on a machine with a network run "
            f"'hf download --repo-type dataset {repository.name}', copy the folder here and give its path"
        ) from error


def _snapshot(repository: Repository) -> Path:
    """Fetch missing files; after an interruption complete files stay (the hub's client starts the others again)."""
    from huggingface_hub import snapshot_download

    name, revision, patterns = repository
    with fetching(name, "dataset"):
        path = snapshot_download(name, repo_type="dataset", revision=revision, allow_patterns=list(patterns) or None)
    return Path(path)


def hub_download(repository: Repository) -> Download:
    """Return the files of ``repository`` with the sizes and digests that the hub gives.

    Raises :class:`DataError` when the hub is out of reach, saying how to copy the data by hand.
    """
    from huggingface_hub import HfApi

    log.info(f"{repository.name}: asking the hub what it holds")
    try:
        with quiet_hub():
            info = HfApi().dataset_info(repository.name, revision=repository.revision, files_metadata=True)
    except Exception as error:  # as above
        raise _unreachable(repository, error) from error
    commit = info.sha or repository.revision
    folder = repository.cache / "snapshots" / commit
    files = [
        File(
            entry.rfilename,
            folder / entry.rfilename,
            entry.size,
            f"sha256:{entry.lfs.sha256}" if entry.lfs else f"git:{entry.blob_id or ''}",
        )
        for entry in info.siblings or []
        if repository.has(entry.rfilename)
    ]
    if not files:
        patterns = " or ".join(repository.patterns) or "any file"
        raise DataError(f"{repository.name} at {commit}: the hub has nothing like {patterns}; the data set has changed")
    title = f"{repository.name}, hub data set at {commit}"
    return Download(title, repository.cache.parent, files, lambda _: _fetch(repository))


def _fetch(repository: Repository) -> None:
    try:
        _snapshot(repository)
    except Exception as error:  # as above
        raise _unreachable(repository, error) from error


def _unreachable(repository: Repository, error: Exception) -> DataError:
    from huggingface_hub.constants import ENDPOINT

    reason = re.sub(r"\s+", " ", str(error)).strip()[:300] or type(error).__name__
    include = "".join(f" --include '{pattern}'" for pattern in repository.patterns)
    count = len(repository.local_files())
    kept = f"; {count} of its files are here, not checked, in {repository.snapshot}" if count else ""
    return DataError(
        f"{repository.name} at {repository.revision}: cannot be fetched from {ENDPOINT} ({reason}){kept}\n"
        "run again to go on with the files that are missing; or, on a machine with a network, run "
        f"'hf download --repo-type dataset {repository.name} --revision {repository.revision}{include}' "
        f"and copy {repository.cache.name} from its ~/.cache/huggingface/hub to {repository.cache.parent} here"
    )


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
        raise self.problem(f"no field {' or '.join(names)} (found {', '.join(self.fields) or 'none'})")

    def word(self, *names: str) -> str:
        """Return an id, which may be a whole number."""
        value = self.value(*names)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not _is_word(value):
            raise self._wrong(names[0], "a word")
        return str(value)

    def words(self, name: str) -> list[str]:
        """Return a list of ids, which may be empty."""
        value = self.value(name)
        if not isinstance(value, list) or not all(map(_is_word, value)):
            raise self._wrong(name, "a list of words")
        return value

    def string(self, name: str) -> str:
        """Return a text, empty if it is null or blank."""
        value = self.value(name)
        if value is not None and not isinstance(value, str):
            raise self._wrong(name, "a text")
        return (value or "").strip()

    def text(self, name: str) -> str:
        """Return a text that is not blank."""
        text = self.string(name)
        if not text:
            raise self._wrong(name, "a text")
        return text

    def grade(self, name: str) -> int:
        """Return a whole number, also given as ``2.0`` or ``"2"``."""
        value = self.value(name)
        number = None if isinstance(value, bool) else parse_score(str(value))
        if number is None or not number.is_integer():
            raise self._wrong(name, "a whole number")
        return int(number)

    def _wrong(self, name: str, expected: str) -> DataError:
        return self.problem(f"{name} is {repr(self.fields.get(name))[:60]}, expected {expected}")


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.split() == [value]


def config_files(folder: Path, config: str) -> list[Path]:
    """Return the files of one config, sorted: ``config/…``, ``config/<split>/…`` or ``config.jsonl`` itself.

    Where they come in several forms, Parquet is read rather than JSONL, and JSONL rather than TSV.
    """
    inside = (folder / config).rglob("*") if (folder / config).is_dir() else ()
    named = (folder / f"{config}{suffix}" for suffix in SUFFIXES)
    paths = sorted(path for path in (*inside, *named) if path.is_file())
    forms = ([path for path in paths if path.name.endswith(form)] for form in FORMS)
    return next((files for files in forms if files), [])


def rows(folder: Path, *configs: str) -> Iterator[HubRow]:
    """Yield the rows of the first of ``configs`` that is in ``folder``; raises :class:`DataError` if none is."""
    files = next((files for config in configs if (files := config_files(folder, config))), [])
    fail([] if files else [f"{folder}: no {' or '.join(configs)}; expected Parquet or JSONL files of that name"])
    for path in files:
        if path.suffix == ".parquet":
            records: Iterable[tuple[int, dict[str, Any]]] = enumerate(read_parquet(path), 1)
        else:
            records = _read_tsv(path) if path.suffix == ".tsv" else read_objects(path)
        for number, fields in records:
            yield HubRow(path, number, fields)


def _read_tsv(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = read_lines(path)
    names = next(lines, (1, ""))[1].split("\t")
    for line_no, line in lines:
        cells = line.split("\t")
        if len(cells) == len(names):
            yield line_no, dict(zip(names, cells, strict=True))
        elif line.strip():
            raise DataError(f"{path}, line {line_no}: {len(cells)} columns, expected {len(names)} as in the first line")


def parsed(rows: Iterable[HubRow], parse: Callable[[HubRow], Parsed]) -> list[Parsed]:
    """Return what ``parse`` returns for each row; raises one :class:`DataError` for all rows for which it raises."""
    values, problems = [], []
    for row in rows:
        try:
            values.append(parse(row))
        except DataError as error:
            problems.append(str(error))
    fail(problems)
    return values


def judgements(folder: Path, *configs: str) -> Qrels:
    """Return qrels of rows with ``query-id``, ``corpus-id`` and ``score``.

    Raises :class:`DataError` naming bad rows, and those that give a document a second, different grade.
    """
    qrels: Qrels = {}

    def add(row: HubRow) -> None:
        qid, docid, grade = row.word("query-id"), row.word("corpus-id"), row.grade("score")
        before = qrels.setdefault(qid, {}).setdefault(docid, grade)
        if before != grade:
            raise row.problem(f"document {docid} of topic {qid} has grade {grade}, and {before} further up; keep one")

    parsed(rows(folder, *configs), add)
    return qrels


def read_topics(folder: Path, config: str, lang: str, columns: Mapping[str, str]) -> list[Topic]:
    """Return topics of rows with ``_id``, ``text`` and a column for each condition's instruction.

    ``columns`` names them by condition; those of ablations may be missing. Blank instructions are left
    out; see :func:`log_blank`.
    """
    topics: dict[str, Topic] = {}

    def add(row: HubRow) -> None:
        present = {name: column for name, column in columns.items() if name not in ABLATIONS or column in row.fields}
        instructions = {name: text for name, column in present.items() if (text := row.string(column))}
        topic = Topic(row.word("_id", "id"), lang, row.text("text"), instructions)
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
