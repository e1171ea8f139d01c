"""Documents in JSONL, Parquet and TREC's SGML files (NeuCLIR1, HC4, BEIR, Anserini, TREC disks), and from Python."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from heed.encodings import named
from heed.errors import DataError, fail
from heed.files import CONTROL, digest, digest_json, parse_json, read_lines, unpacked_name
from heed.formats.data_set_folders import config_files, is_data_set
from heed.formats.trec_documents import article_text, is_trec_documents, read_trec_documents
from heed.progress import brief, log
from heed.types import Document

ID_FIELDS = ("id", "_id", "docid", "doc_id")
TEXT_FIELDS = ("text", "contents", "body", "content", "doc", "abstract")  # BRIGHT, MAIR, CSL
SUFFIXES = (".jsonl", ".parquet")
COLUMNS = (".csv", ".tsv")
ONE_A_LINE = 'one JSON object a line, such as {"id": "d1", "title": "…", "text": "…"}, in a .jsonl file'
ROWS = 1000  # of a Parquet file, in memory at once
MEMORY = Path("documents in memory")  # in place of a file, in messages


class Line(NamedTuple):
    """One line of a corpus file: the document, or without one the problem with the line."""

    path: Path
    line_no: int
    document: Document | None
    problem: str = ""


class Source(Protocol):
    """The documents of a collection."""

    @property
    def recipe(self) -> Any:
        """Plain data that is the same only where the documents are the same."""

    def lines(self) -> Iterator[Line]:
        """Yield every document, or the problem with its line."""


class Files:
    """Documents in ``.jsonl`` and ``.parquet`` files, TREC's SGML, or folders of them; see :func:`read_lines`."""

    def __init__(self, paths: Sequence[Path], encoding: str | None = None) -> None:
        """Find the files; raises :class:`DataError` for a missing path or a folder without such a file."""
        self.paths, self.places = corpus_files(paths), list(map(str, paths))
        self._encoding = encoding

    def __str__(self) -> str:
        """Return the paths as shown to the user."""
        return shown_paths(self.paths)

    @property
    def recipe(self) -> list[str]:
        """The files' digests, whatever their names and order, and a named encoding."""
        return [*sorted(digest(path) for path in self.paths), *named(self._encoding)]

    def lines(self) -> Iterator[Line]:
        """Yield every document, file after file, or the problem with its line."""
        return read_corpus(self.paths, self._encoding)


class Documents:
    """Documents given in Python."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Check the documents; raises :class:`DataError` naming each without a proper id, title or text."""
        self._documents, problems = [], []
        for number, document in enumerate(documents, 1):
            line = _checked(MEMORY, number, dict(zip(("id", "title", "text"), document[:3], strict=True)))
            if line.document is None:
                problems.append(f"{MEMORY}, number {number}: {line.problem}")
            else:
                self._documents.append(document._replace(docid=line.document.docid))
        fail(problems)

    def __str__(self) -> str:
        """Return their number as shown to the user."""
        return f"{len(self._documents)} {MEMORY}"

    @cached_property
    def recipe(self) -> str:
        """The documents' digest, whatever their order."""
        try:
            return digest_json(sorted(self._documents))
        except UnicodeEncodeError as error:
            raise DataError(f"{MEMORY}: a text holds half of a surrogate pair; remove it") from error

    def lines(self) -> Iterator[Line]:
        """Yield every document."""
        return (Line(MEMORY, number, document) for number, document in enumerate(self._documents, 1))


def shown_paths(paths: Sequence[Path]) -> str:
    """Return the first three paths, and how many more there are."""
    return ", ".join(map(str, paths[:3])) + (f" and {len(paths) - 3} more files" if len(paths) > 3 else "")


def corpus_files(paths: Sequence[Path], suffixes: tuple[str, ...] = SUFFIXES) -> list[Path]:
    """Return the files of ``paths``, those in folders by ``suffixes`` and sorted by name.

    Of a folder in BEIR's or MTEB's layout they are those of its corpus, of one without such a file TREC's documents,
    whatever their names. Raises :class:`DataError` for a missing path, a folder that holds neither, and a file of a
    form that is known not to be read.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            below = config_files(path, "corpus") if is_data_set(path) else path.rglob("*")
            inside = sorted(file for file in below if file.is_file())
            named_so = [file for file in inside if unpacked_name(file).endswith(suffixes)]
            files += named_so or _trec_files(path, inside, suffixes)
        elif unpacked_name(path).endswith(COLUMNS) and not unpacked_name(path).endswith(suffixes):
            raise DataError(f"{path}: documents in columns are not read; expected {ONE_A_LINE}")
        elif path.is_file():
            files.append(path)
        else:
            raise DataError(f"{path}: no such file or folder; documents are {', '.join(suffixes)} files or folders")
    return files


def _trec_files(folder: Path, files: Sequence[Path], suffixes: tuple[str, ...]) -> list[Path]:
    """Return those of ``files`` that hold TREC's documents; :class:`DataError` where there are none."""
    trec = [file for file in files if is_trec_documents(file)]
    if not trec:
        raise DataError(
            f"{folder}: no {', '.join(suffixes)} file in this folder, and none that begins with TREC's <DOC>; "
            "documents are in such files (unpack .Z files with gunzip)"
        )
    others = [str(file.relative_to(folder)) for file in sorted({*files} - {*trec})]
    if others:
        log.info(f"{folder}: {len(others)} files do not begin with <DOC> and are not read: {brief(others)}")
    return trec


def read_corpus(files: list[Path], encoding: str | None = None) -> Iterator[Line]:
    """Yield every document of ``files``, or the problem with its line; blank lines are none."""
    for path in files:
        if path.suffix == ".parquet":
            for number, record in enumerate(read_parquet(path), 1):
                yield _checked(path, number, record)
        elif is_trec_documents(path):
            yield from (Line(path, *document) for document in read_trec_documents(path, encoding))
        else:
            for line_no, text in read_lines(path, encoding):
                if text.strip():
                    yield parse_line(path, line_no, text)


def read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, a batch at a time in memory; raises :class:`DataError` for another file."""
    import pyarrow
    import pyarrow.parquet

    try:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=ROWS):
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:  # ValueError: texts that are no UTF-8
        raise DataError(f"{path}: not a whole Parquet file ({error}); fetch it again") from error


def parse_line(path: Path, line_no: int, text: str) -> Line:
    """Return the document of a line of JSON, or the problem with it."""
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
    if isinstance(body, list):
        body = article_text(body)
    if not isinstance(body, str):
        names = ", ".join(record) or "no field"
        return Line(path, line_no, None, f"no text in {' or '.join(TEXT_FIELDS)} (found {names})")
    title = record.get("title") or ""
    if not isinstance(title, str):
        return Line(path, line_no, None, f"title is {title!r}, expected a string")
    return Line(path, line_no, Document(docid, title, body))


def _first(record: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)
