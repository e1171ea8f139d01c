"""Documents in JSON, Parquet, TSV and TREC's SGML (NeuCLIR1, HC4, BEIR, Anserini, TREC disks), and from Python."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from heed.errors import DataError, fail
from heed.files import (
    CONTROL,
    digest,
    digest_json,
    nearest,
    parse_json,
    read_lines,
    read_pieces,
    read_text,
    unpacked_name,
    word_of,
)
from heed.formats.data_set_folders import is_data_set
from heed.formats.data_sets import config_files, read_parquet
from heed.formats.trec_sgml import article_text, trec_documents
from heed.languages import named
from heed.progress import brief, counted, log, setting
from heed.types import Document

ID_FIELDS = ("id", "_id", "docid", "doc_id", "docno", "pid")
TEXT_FIELDS = ("text", "contents", "body", "content", "doc", "passage", "segment", "abstract")  # BRIGHT, MAIR, CSL
RENAME = "rename the field"
OTHERS = (".json", ".jl")  # read in a folder that has none of the usual ones
SUFFIXES = (".jsonl", ".parquet", *OTHERS)
TSV = ".tsv"  # read where they are named: in a folder they may be topics or judgements
WHOLE = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[|\{\s*\n)")  # an array or object of several lines, as Anserini's
MEMORY = Path("documents in memory")  # in place of a file, in messages


class DocumentLine(NamedTuple):
    """One line of a corpus file: the document, and the JSON and line that it was read from, if any; or the problem."""

    path: Path
    line_no: int
    document: Document | None
    problem: str = ""
    record: Mapping[str, Any] = MappingProxyType({})
    text: str = ""


class Earlier(Protocol):
    """Documents that have been read before."""

    def holds_file(self, path: Path) -> bool:
        """Return whether those of a file are among them, all and as they are."""

    def holds(self, path: Path, lines: Sequence[bytes]) -> Iterable[bool]:
        """Return which of the lines of a file, with their ends, are."""


_seen: ContextVar[Earlier | None] = ContextVar("seen", default=None)
leaving_out = partial(setting, _seen)  # read no file and no line of JSON that was seen, where the block reads files


class Source(Protocol):
    """The documents of a collection."""

    @property
    def recipe(self) -> Any:
        """Plain data that is the same only where the documents are the same."""

    def lines(self) -> Iterator[DocumentLine]:
        """Yield every document, or the problem with its line."""


class Files:
    """Documents in ``.jsonl`` and ``.parquet`` files, TREC's SGML, or folders of them; see :func:`read_lines`."""

    def __init__(
        self, paths: Sequence[Path], encoding: str | None = None, suffixes: tuple[str, ...] = SUFFIXES
    ) -> None:
        """Find the files; raises :class:`DataError` for a missing path or a folder without a file of ``suffixes``."""
        self.paths, self.places = corpus_files(paths, suffixes), list(map(str, paths))
        self._encoding = encoding

    def __str__(self) -> str:
        more = f" and {len(self.paths) - 3} more files" if len(self.paths) > 3 else ""
        return ", ".join(map(str, self.paths[:3])) + more

    @property
    def recipe(self) -> Any:
        """The files' digests, whatever their names and order; of the Washington Post's, that all parts are read."""
        digests = sorted(f"{digest(path)} articles" if ".jl" in path.suffixes else digest(path) for path in self.paths)
        return [*digests, *named(self._encoding)]

    def lines(self) -> Iterator[DocumentLine]:
        """Yield every document, file after file, or the problem with its line; files that are seen are left out."""
        seen = _seen.get()
        unseen = (path for path in self.paths if not (seen and seen.holds_file(path)))
        return chain.from_iterable(read_documents(path, self._encoding) for path in unseen)


class Documents:
    """Documents given in Python."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Check the documents; raises :class:`DataError` naming each without a proper id, title or text."""
        self._documents, problems = [], []
        for number, document in enumerate(documents, 1):
            if not isinstance(document, Document):
                raise DataError(
                    f"{MEMORY}: found {type(document).__name__}, expected heed.Document(docid, title, text)"
                )
            line = checked(MEMORY, number, dict(zip(("id", "title", "text"), document[:3], strict=True)))
            if line.document is None:
                problems.append(f"{MEMORY}, number {number}: {line.problem}")
            else:
                self._documents.append(document._replace(docid=line.document.docid))
        fail(problems)

    def __str__(self) -> str:
        return f"{len(self._documents)} {MEMORY}"

    @cached_property
    def recipe(self) -> str:
        """The documents' digest, whatever their order."""
        try:
            return digest_json(sorted(self._documents))
        except UnicodeEncodeError as error:
            raise DataError(f"{MEMORY}: a text holds half of a surrogate pair; remove it") from error

    def lines(self) -> Iterator[DocumentLine]:
        """Yield every document."""
        return (DocumentLine(MEMORY, number, document) for number, document in enumerate(self._documents, 1))


def corpus_files(paths: Sequence[Path], suffixes: tuple[str, ...] = SUFFIXES) -> list[Path]:
    """Return the files of ``paths``, those in folders by ``suffixes`` and sorted by name.

    Of a folder in BEIR's or MTEB's layout they are those of its corpus, of one without such a file TREC's documents,
    whatever their names; what else is in a folder is logged, hidden files aside. Raises :class:`DataError` for a
    missing path, a folder that holds neither, and a file of a form that is known not to be read.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            below = config_files(path, "corpus") if is_data_set(path) else path.rglob("*")
            inside = [file for file in sorted(below) if file.is_file() and "/." not in f"/{file.relative_to(path)}"]
            named_so = [file for file in inside if unpacked_name(file).endswith(suffixes)]
            usual = [file for file in named_so if not unpacked_name(file).endswith(OTHERS)]
            documents = usual or named_so or [file for file in inside if is_trec_documents(file)]
            unread = brief([str(file.relative_to(path)) for file in sorted({*inside} - {*documents})])
            if not documents:
                raise DataError(
                    f"{path}: no {', '.join(suffixes)} file in this folder, and none that begins with TREC's <DOC> "
                    f"(found {unread or 'no file'}); unpack .Z files with gunzip, and name a .tsv file itself"
                )
            if unread:
                log.info(f"{path}: {counted(len(inside) - len(documents), 'file')} not read as documents: {unread}")
            files += documents
        elif unpacked_name(path).endswith(".csv") and ".csv" not in suffixes:
            raise DataError(f"{path}: documents in CSV are not read; expected JSON lines, or id<TAB>text in a .tsv")
        elif path.is_file():
            files.append(path)
        else:
            expected = nearest(path) or f"; documents are {', '.join(suffixes)} files or folders"
            raise DataError(f"{path}: no such file or folder{expected}")
    return files


def read_documents(path: Path, encoding: str | None = None) -> Iterator[DocumentLine]:
    """Yield every document of a file, or the problem with its line."""
    if is_trec_documents(path):
        yield from (DocumentLine(path, *each) for each in trec_documents(path, encoding))
        return
    for number, record, text in _records(path, encoding):
        yield checked(path, number, record)._replace(text=text)


def _records(path: Path, encoding: str | None) -> Iterator[tuple[int, Any, str]]:
    """Yield number and value of every row, line or element, with the text of a line; of what is no JSON the ValueError.

    Lines of JSON that are seen (:func:`leaving_out`) are left out.
    """
    if path.suffix == ".parquet":
        yield from ((number, row, "") for number, row in enumerate(read_parquet(path), 1))
    elif unpacked_name(path).endswith(TSV):
        names = ["id", "text"]
        for line_no, text in read_lines(path, encoding):
            cells = text.split("\t")
            if cells[0] in ID_FIELDS:
                names = cells  # a header, which DPR's passages have and MS MARCO's lack
            elif text.strip():
                fits = len(cells) == len(names)
                yield line_no, dict(zip(names, cells, strict=True)) if fits else {f"{len(cells)} columns": text}, ""
    elif WHOLE.match(head(path)):
        value = _json(read_text(path, encoding))
        yield from ((number, row, "") for number, row in enumerate(value if isinstance(value, list) else [value], 1))
    else:
        seen = _seen.get()
        lines = read_lines(path, encoding, partial(seen.holds, path) if seen else None)
        yield from ((line_no, _json(text), text) for line_no, text in lines if text.strip())


def _json(text: str) -> Any:
    """Return the value of a JSON text, or the ValueError that says why there is none."""
    try:
        return parse_json(text)
    except ValueError as error:
        return error


def checked(path: Path, line_no: int, record: Any) -> DocumentLine:
    """Return the document of a record, or the problem with it, which a ValueError in its place is."""
    if isinstance(record, ValueError):
        return DocumentLine(path, line_no, None, f"not JSON ({record}); expected one JSON object a line")
    if not isinstance(record, dict):
        return DocumentLine(path, line_no, None, f"found {type(record).__name__}, expected a JSON object")
    names = brief(list(record)) or "no field"
    given_id = _first(record, ("pid", *ID_FIELDS) if "passage" in record else ID_FIELDS)  # MS MARCO's is the page's
    if given_id is None:
        return DocumentLine(path, line_no, None, f"found {names}, expected an id in {', '.join(ID_FIELDS)}; {RENAME}")
    docid = word_of(given_id)
    if not docid or CONTROL.search(docid):
        problem = f"id is {given_id!r}, expected a word, no blanks, in {', '.join(ID_FIELDS)}"
        return DocumentLine(path, line_no, None, problem)
    body = _first(record, TEXT_FIELDS)
    if isinstance(body, list):
        body = article_text(body)
    if not isinstance(body, str):
        empty = next((name for name in TEXT_FIELDS if name in record and record[name] is None), "")
        problem, fix = (f"{empty} is null", "give it a text, or leave it out") if empty else (f"found {names}", RENAME)
        return DocumentLine(path, line_no, None, f"{problem}, expected a text in {', '.join(TEXT_FIELDS)}; {fix}")
    title = record.get("title") or ""
    if not isinstance(title, str):
        return DocumentLine(path, line_no, None, f"title is {title!r}, expected a string")
    return DocumentLine(path, line_no, Document(docid, title, body), "", record)


def _first(record: dict[str, Any], names: tuple[str, ...]) -> Any:
    """Return the first value of ``names`` that is not blank, else the first that is there, else None."""
    values = [record[name] for name in names if record.get(name) is not None]
    return next((value for value in values if value != [] and str(value).strip()), values[0] if values else None)


START = re.compile(rb"\s*(?:<[^<>]*>\s*){0,9}?<doc[\s>]", re.IGNORECASE)  # after a declaration, or a root element
HEAD = 1 << 12  # bytes that tell a file's form


def is_trec_documents(path: Path) -> bool:
    """Return whether a file, unpacked, begins with TREC's ``<DOC>``; false for one that cannot be read."""
    return bool(START.match(head(path).removeprefix(b"\xef\xbb\xbf")))


def head(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked; none of one that cannot be read."""
    try:
        return next(read_pieces(path), (1, b""))[1][:HEAD]
    except DataError:
        return b""
