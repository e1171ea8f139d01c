"""Vectors of documents that other tools wrote: which form a folder has, and its vectors with their docids.

==========  ============================================================================================
npy         ``*.npy``, in the order of their names, with ``docids.txt``, a docid a line: Heed's own folders
Parquet     columns ``id``, ``_id`` or ``docid``, and ``vector`` or ``embedding``
FAISS       ``index``, a flat one, with ``docid``: Pyserini's
JSON lines  ``id`` and ``vector``: Pyserini's ``encode`` without a FAISS index
pickle      a pair of vectors and docids: Tevatron's ``encode``, one file or several
==========  ============================================================================================
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.errors import DataError
from heed.files import parse_json, read_lines
from heed.models.pickles import unpickle

IDS, VECTORS = ("id", "_id", "docid"), ("vector", "embedding")
FLAT_KINDS = (b"IxFI", b"IxF2", b"IxFl")  # of FAISS: flat by inner product, by L2, by another metric
# faiss/impl/index_write.cpp: kind, dimensions, vectors, two unused numbers, is_trained, metric, count of numbers
FLAT = struct.Struct("<4siqqq?iQ")

Numbers = NDArray[np.floating[Any]]


class VectorPart(NamedTuple):
    """Vectors of one file, one a row and perhaps mapped from disk, and their docids."""

    path: Path
    docids: list[str]
    rows: Numbers


class VectorForm(NamedTuple):
    """A form that vectors come in: ``patterns`` of its files in a folder, and how they are read."""

    name: str
    patterns: tuple[str, ...]
    read: Callable[[list[Path], Path], Iterable[VectorPart]]

    def files(self, folder: Path) -> list[Path]:
        """Return the files of this form, by their names."""
        return sorted(path for pattern in self.patterns for path in folder.glob(pattern) if path.is_file())


def form_of(folder: Path) -> VectorForm:
    """Return the form of the vectors in ``folder``; :class:`DataError` where there are none, or of several forms."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; expected one with vectors and docids")
    forms = [form for form in FORMS if form.files(folder)]
    if len(forms) != 1:
        names = ", ".join(form.name for form in forms or FORMS)
        raise DataError(
            f"{folder}: vectors of {len(forms)} forms ({names}); expected one of them"
            if forms
            else f"{folder}: no vectors; expected one of {names}"
        )
    return forms[0]


def read_parts(folder: Path, scratch: Path) -> list[VectorPart]:
    """Return the vectors in ``folder``; what cannot be mapped there is written to ``scratch`` first.

    Raises :class:`DataError` for what cannot be read, and for another number of docids than of vectors.
    """
    form = form_of(folder)
    parts = []
    for part in form.read(form.files(folder), scratch):
        if part.rows.ndim != 2 or part.rows.dtype.kind != "f":
            raise DataError(
                f"{part.path}: {part.rows.dtype} of shape {part.rows.shape}, expected floating-point numbers with one "
                "vector a row"
            )
        if len(part.docids) != len(part.rows):
            raise DataError(f"{part.path}: {len(part.rows)} vectors and {len(part.docids)} docids; expected as many")
        parts.append(part)
    return parts


def _read_npy(files: list[Path], scratch: Path) -> Iterator[VectorPart]:
    path = files[0].with_name("docids.txt")
    if not path.is_file():
        raise DataError(
            f"{path}: not there; expected the docids of all .npy files in the order of their names, one a line"
        )
    docids, taken = _docids(path), 0
    for each in files:
        try:
            rows = np.lib.format.open_memmap(each, mode="r").view(np.ndarray)
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"{each}: no array of numbers in numpy's form ({error})") from error
        yield VectorPart(each, docids[taken : taken + len(rows)], rows)
        taken += len(rows)
    if taken < len(docids):
        raise DataError(f"{path}: {len(docids)} docids for {taken} vectors; expected as many")


def _docids(path: Path) -> list[str]:
    return [line.strip() for _, line in read_lines(path)]


def _read_parquet(files: list[Path], scratch: Path) -> Iterator[VectorPart]:
    for path in files:
        yield _copied(path, _parquet_batches(path), scratch)


def _parquet_batches(path: Path) -> Iterator[VectorPart]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as content:
            columns = [_named(path, names, content.schema_arrow.names) for names in (IDS, VECTORS)]
            for batch in content.iter_batches(columns=columns):
                docids = [str(docid) for docid in batch.column(columns[0]).to_pylist()]
                yield VectorPart(path, docids, _matrix(path, batch.column(columns[1])))
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"{path}: cannot be read as Parquet ({error})") from error


def _named(path: Path, names: Iterable[str], columns: list[str]) -> str:
    column = next((name for name in names if name in columns), None)
    if column is None:
        raise DataError(f"{path}: columns {', '.join(columns)}; expected one of {', '.join(names)}")
    return column


def _matrix(path: Path, column: Any) -> Numbers:
    """Return a column of lists as a matrix; lists of several lengths, and missing ones, are an error."""
    values = column.flatten()
    width = len(values) // max(len(column), 1)
    lengths = set(column.value_lengths().to_pylist()) if len(column) else set()
    if column.null_count or values.null_count or lengths - {width}:
        raise DataError(f"{path}: missing values or vectors of several lengths; expected as many numbers in each")
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float32).reshape(-1, width)


def _read_json(files: list[Path], scratch: Path) -> Iterator[VectorPart]:
    for path in files:
        yield _copied(path, (_record(path, line_no, line) for line_no, line in read_lines(path)), scratch)


def _record(path: Path, line_no: int, line: str) -> VectorPart:
    source = Path(f"{path}, line {line_no}")
    try:
        record = parse_json(line)
        docid = next(record[name] for name in IDS if name in record)
        vector = np.array([next(record[name] for name in VECTORS if name in record)], dtype=np.float32)
        if vector.ndim != 2 or not isinstance(docid, str | int):
            raise ValueError
    except (ValueError, TypeError, StopIteration) as error:
        raise DataError(f"{source}: expected a JSON object with id and vector, a list of numbers") from error
    return VectorPart(source, [str(docid)], vector)


def _copied(path: Path, batches: Iterable[VectorPart], scratch: Path) -> VectorPart:
    """Return the vectors of a file that cannot be mapped, whose ``batches`` are written to ``scratch``."""
    docids: list[str] = []
    width = 0
    with (scratch / path.name).open("wb") as out:
        for batch in batches:
            here = batch.rows.shape[1]
            if width and len(batch.rows) and here != width:
                raise DataError(f"{batch.path}: a vector of {here} numbers, expected {width} as before it")
            batch.rows.tofile(out)
            docids += batch.docids
            width = width or here
    return VectorPart(path, docids, _mapped(scratch / path.name, width))


def _mapped(path: Path, width: int, start: int = 0) -> Numbers:
    if path.stat().st_size == start:
        return np.empty((0, width), dtype=np.float32)
    return np.memmap(path, dtype="<f4", mode="r", offset=start).view(np.ndarray).reshape(-1, width)


def _read_faiss(files: list[Path], scratch: Path) -> Iterator[VectorPart]:
    """Map the vectors from the file; FAISS itself, which reads many kinds of index, is not asked."""
    path = files[0]
    with path.open("rb") as stream:
        header = stream.read(FLAT.size)
    if len(header) < FLAT.size or header[:4] not in FLAT_KINDS:
        raise DataError(f"{path}: of kind {header[:4]!r}, expected a flat FAISS index, which holds vectors as they are")
    if not path.with_name("docid").is_file():
        raise DataError(f"{path}: no file docid beside it; expected one with a docid a line, as Pyserini writes it")
    _, width, count, *_, numbers = FLAT.unpack(header)
    if width < 1 or count < 0 or numbers != width * count or path.stat().st_size != FLAT.size + 4 * numbers:
        raise DataError(f"{path}: {count} vectors of {width} numbers do not fill the file; fetch it again")
    yield VectorPart(path, _docids(path.with_name("docid")), _mapped(path, width, FLAT.size))


def _read_pickled(files: list[Path], scratch: Path) -> Iterator[VectorPart]:
    """Let a process of its own read the pickles, which can run code, with a reader that makes arrays only."""
    outs = [(path, scratch / f"{path.name}.npy", scratch / f"{path.name}.json") for path in files]
    unpickle("vectors", outs, DataError)
    for path, rows, docids in outs:
        yield VectorPart(
            path,
            parse_json(docids.read_text(encoding="utf-8")),
            np.lib.format.open_memmap(rows, mode="r").view(np.ndarray),
        )


FORMS = (
    VectorForm("npy", ("*.npy",), _read_npy),
    VectorForm("Parquet", ("*.parquet",), _read_parquet),
    VectorForm("a flat FAISS index with docid", ("index",), _read_faiss),
    VectorForm("JSON lines", ("*.jsonl", "*.jsonl.*z*"), _read_json),  # packed by gzip, bzip2, xz or zstd too
    VectorForm("pickles", ("*.pkl", "*.pickle", "*.pt"), _read_pickled),
)
