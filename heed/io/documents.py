"""Documents from JSONL files, whatever their schema: NeuCLIR1, HC4, Patapsco, BEIR, Anserini."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from heed.errors import HeedError
from heed.io.files import CONTROL, digest, parse_json, read_lines
from heed.types import Document

ID_FIELDS = ("id", "_id", "docid", "doc_id")
TEXT_FIELDS = ("text", "contents", "body")
SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")


class Line(NamedTuple):
    """One line of a corpus file: the document, or the problem that was found instead."""

    path: Path
    line_no: int
    document: Document | None
    problem: str = ""


class Source(Protocol):
    """Where a collection's documents come from."""

    @property
    def recipe(self) -> Any:
        """Plain data that is the same only where the documents are the same."""

    def lines(self) -> Iterator[Line]:
        """Every document, or the problem that was found instead."""


class Files:
    """Documents in ``.jsonl``, ``.jsonl.gz`` and ``.parquet`` files, or folders of them."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Find the files; :class:`HeedError` for a path that is missing or a folder without such a file."""
        self.paths = corpus_files(paths)

    def __str__(self) -> str:
        """The paths, to be told to the user."""
        return ", ".join(map(str, self.paths))

    @property
    def recipe(self) -> list[str]:
        """The files' digests, whatever their names and order."""
        return sorted(digest(path) for path in self.paths)

    def lines(self) -> Iterator[Line]:
        """Every line that is not blank, file after file."""
        return read_corpus(self.paths)


def corpus_files(paths: Sequence[Path], suffixes: tuple[str, ...] = SUFFIXES) -> list[Path]:
    """The files that ``paths`` name, folders searched for ``suffixes``, sorted by name.

    Raises :class:`HeedError` for a path that is missing or a folder that holds no such file.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.name.endswith(suffixes) and one.is_file())
            if not inside:
                raise HeedError(f"{path}: no {', '.join(suffixes)} file in this folder; documents are in such files")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise HeedError(f"{path}: no such file or folder; documents are {', '.join(suffixes)} files or folders")
    return found


def read_corpus(files: list[Path]) -> Iterator[Line]:
    """Every line of ``files`` that is not blank, as a document or a problem."""
    for path in files:
        if path.suffix == ".parquet":
            for number, record in enumerate(read_parquet(path), 1):
                yield _checked(path, number, record)
            continue
        for line_no, text in read_lines(path):
            if text.strip():
                yield parse_line(path, line_no, text)


def read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, a batch at a time in memory; :class:`HeedError` if it is none."""
    import pyarrow
    import pyarrow.parquet

    try:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:  # ValueError: texts that are no UTF-8
        raise HeedError(f"{path}: not a whole Parquet file ({error}); fetch it again") from error


def parse_line(path: Path, line_no: int, text: str) -> Line:
    """One line of JSON as a document, or the problem with it."""
    try:
        record = parse_json(text)
    except ValueError as error:
        return Line(path, line_no, None, f"not JSON ({error}); expected one JSON object a line")
    return _checked(path, line_no, record)


def _checked(path: Path, line_no: int, record: Any) -> Line:
    if not isinstance(record, dict):
        return Line(path, line_no, None, f"found {type(record).__name__}, expected a JSON object")
    docid = _first(record, ID_FIELDS)
    if isinstance(docid, int) and not isinstance(docid, bool):
        docid = str(docid)
    if not isinstance(docid, str) or docid.split() != [docid] or CONTROL.search(docid):
        return Line(path, line_no, None, f"id is {docid!r}, expected a word in one of {', '.join(ID_FIELDS)}")
    body = _first(record, TEXT_FIELDS)
    if not isinstance(body, str):
        found = ", ".join(record) or "no field"
        return Line(path, line_no, None, f"no text in {' or '.join(TEXT_FIELDS)} (found {found})")
    title = record.get("title") or ""
    if not isinstance(title, str):
        return Line(path, line_no, None, f"title is {title!r}, expected a string")
    return Line(path, line_no, Document(docid, title, body))


def _first(record: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)
