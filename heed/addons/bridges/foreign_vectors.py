"""Vectors of documents that another tool wrote: read, compared with the collection and with the model, then taken.

==========  ============================================================================================
npy         ``*.npy``, in the order of their names, with ``docids.txt``, a docid a line: Heed's own folders
Parquet     columns ``id``, ``_id`` or ``docid``, and ``vector`` or ``embedding``
FAISS       ``index``, a flat one, with ``docid``: Pyserini's
JSON lines  ``id`` and ``vector``: Pyserini's ``encode`` without a FAISS index
pickle      a pair of vectors and docids: Tevatron's ``encode``, one file or several
==========  ============================================================================================
"""

import shutil
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import compress, pairwise
from math import isqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.errors import DataError, fail
from heed.files import digest, digest_json, parse_json, read_lines, write_bytes
from heed.formats.document_store import DocumentStore
from heed.models.pickles import unpickle
from heed.progress import bar, brief, escaped, log, timed, warn
from heed.retrieval.dense.vectors import SHARD, Vectors, document_config, write_matrix
from heed.reuse import NOTE, Recipe, ensure_folder, folder_note, recipe_version
from heed.types import Document, Encoder, Matrix

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


SAMPLE = 100  # documents that the model encodes again, at least
SHOWN = 6  # docids kept for messages, which show five
# of the cosine between a document's vector and the model's: half precision gives 0.999 and more, another prefix,
# pooling or length limit less than the first; above the second the difference is that of the order of additions
LEAST, SAME = 0.99, 0.9999
UNEVEN = 0.01  # by which a length may differ from what it should be: eight times the rounding of half precision


class VectorComparison(NamedTuple):
    """How vectors fit: their number and dimension, docids the collection lacks, the lowest cosine with the model."""

    vectors: int
    dimensions: int
    unknown: int
    unknown_examples: list[str]
    compared: int
    cosine: float


class ForeignVectors:
    """A folder of vectors made elsewhere; nothing is written there."""

    def __init__(self, path: Path) -> None:
        """Recognise the form, and read all files for the digest; :class:`DataError` where there are no vectors."""
        self.path, self.form = path, form_of(path).name
        self.sha256 = digest_json({file.name: digest(file) for file in path.iterdir() if file.is_file()})
        self.label = self.sha256[:16]

    def vectors(self, folder: Path, store: DocumentStore, encoder: Encoder) -> Vectors:
        """Return the vectors of ``store`` as Heed keeps its own, in ``folder``, written there unless they are.

        Some documents are encoded again by ``encoder`` to see that the vectors are its. Raises :class:`DataError`
        for documents without a vector, with two, or with one that is not finite, for another dimension, and for
        vectors or lengths that are not the model's. Vectors of other documents are left out with a warning.
        """
        recipe: Recipe = {
            "vectors made elsewhere": recipe_version("vectors made elsewhere"),
            "sha256": self.sha256,
            "shard": SHARD,
            "documents": store.digest,
            "encoder": document_config(encoder),
        }
        ensure_folder(folder, recipe, partial(self._build, store, encoder))
        self.log_comparison(folder)
        return Vectors(folder)

    def log_comparison(self, folder: Path) -> None:
        """Log how the vectors fit the collection and the model, if they were taken into ``folder``."""
        if not (folder / NOTE).is_file():
            return
        facts = VectorComparison(**folder_note(folder).facts)
        log.info(
            f"{self.path}: {facts.vectors} vectors of {facts.dimensions} dimensions ({self.form}), "
            f"SHA-256 {self.label}…; "
            f"of {facts.compared} documents that the model encoded again the lowest cosine is {facts.cosine:.6f}"
        )
        if facts.cosine < SAME:
            warn(
                f"{self.path}: vectors differ from the model's (cosine down to {facts.cosine:.4f} in {facts.compared} "
                "documents), as those of half precision or another length limit do; runs differ from the model's own"
            )
        if facts.unknown:
            warn(
                f"{self.path}: {facts.unknown} of {facts.vectors} vectors are of documents that are not in the "
                f"collection, left out: {escaped(brief(facts.unknown_examples))}"
            )

    def _build(self, store: DocumentStore, encoder: Encoder, folder: Path) -> Recipe:
        scratch = folder / "scratch"
        scratch.mkdir()
        with timed("vectors", encoder.name) as work:
            vectors = _Numbered(self.path, read_parts(self.path, scratch))
            order, unknown = vectors.ordered(store)
            chosen = sample(store, order, vectors.starts)
            ours = encoder.encode_documents([document for _, document in chosen])
            theirs = vectors.pick(order[[number for number, _ in chosen]])
            cosine = _check_model(self.path, ours, theirs)
            unit = bool(np.allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-3))
            _write(folder, vectors, order, store, unit)
            work.did(store.count, "documents")
        count = int(vectors.starts[-1])
        shutil.rmtree(scratch)
        examples = unknown[:SHOWN]
        return VectorComparison(count, ours.shape[1], len(unknown), examples, len(chosen), cosine)._asdict()


class _Numbered:
    """The vectors of all parts, numbered through."""

    def __init__(self, path: Path, parts: list[VectorPart]) -> None:
        """Take ``parts`` of the folder ``path``; :class:`DataError` where their dimensions differ."""
        widths = {part.rows.shape[1] for part in parts}
        if len(widths) != 1:
            raise DataError(f"{path}: vectors of {', '.join(map(str, sorted(widths)))} dimensions, expected one kind")
        self.path, self.parts = path, parts
        self.starts = np.cumsum([0, *(len(part.docids) for part in parts)])

    def ordered(self, store: DocumentStore) -> tuple[NDArray[np.int64], list[str]]:
        """Return the number of each document's vector in the order of docids, and docids that are not in ``store``."""
        numbers: dict[str, int] = {}
        twice: list[str] = []
        for number, docid in enumerate(docid for part in self.parts for docid in part.docids):
            if docid in numbers:
                twice.append(docid)
            numbers[docid] = number
        if twice:
            raise DataError(f"{self.path}: {len(twice)} docids come twice: {escaped(brief(twice))}; keep one of each")
        order = np.fromiter((numbers.pop(docid, -1) for docid in store.docids()), dtype=np.int64, count=store.count)
        if (order < 0).any():
            missing = [docid for docid, number in zip(store.docids(), order, strict=True) if number < 0]
            others = f"; {len(numbers)} vectors are of other documents: {escaped(brief(sorted(numbers)))}"
            raise DataError(
                f"{self.path}: {len(missing)} of {store.count} documents have no vector: {escaped(brief(missing))}"
                f"{others if numbers else ''}; encode the documents that are searched"
            )
        return order, sorted(numbers)

    def pick(self, numbers: NDArray[np.int64]) -> Matrix:
        """Return the vectors of some numbers, in that order, as float32; as float16 where all parts are that."""
        half = all(part.rows.dtype == np.float16 for part in self.parts)
        picked = np.empty((len(numbers), self.parts[0].rows.shape[1]), dtype=np.float16 if half else np.float32)
        homes = np.searchsorted(self.starts, numbers, side="right") - 1
        for home in np.unique(homes).tolist():
            here = homes == home
            picked[here] = self.parts[home].rows[numbers[here] - self.starts[home]]
        return picked


def sample(store: DocumentStore, order: NDArray[np.int64], starts: NDArray[np.int64]) -> list[tuple[int, Document]]:
    """Return documents with text and their numbers: a random one of each of n equal stretches of the files' vectors.

    ``order`` holds the vector of each document, ``starts`` the first of each file, which has a stretch at least; n is
    ``SAMPLE`` or, of more than 10,000 documents, the square root of their number. If a share f of the vectors is wrong,
    none of these is compared with a probability of (1 - f)^n at most: 0.02 % if one in twelve is.
    """
    by_row, chooser, numbers = np.argsort(order), np.random.default_rng(0), list[int]()
    for begin, end in pairwise(np.searchsorted(order[by_row], starts).tolist()):
        stretches = min(end - begin, -(-max(SAMPLE, isqrt(len(order))) * (end - begin) // len(order)))
        edges = np.linspace(begin, end, stretches + 1).astype(int)
        numbers += by_row[chooser.integers(edges[:-1], edges[1:])].tolist()
    documents = [(number, document) for number in sorted(numbers) for document in store.within(number, number + 1)]
    return [(number, document) for number, document in documents if document.contents().strip()] or documents[:1]


def _check_model(path: Path, ours: Matrix, theirs: Matrix) -> float:
    """Return the lowest cosine between the model's vectors and those of the folder; :class:`DataError` for a misfit."""
    if ours.shape[1] != theirs.shape[1]:
        raise DataError(f"{path}: vectors of {theirs.shape[1]} dimensions, the model's have {ours.shape[1]}")
    if not np.isfinite(theirs).all():
        raise DataError(f"{path}: vectors that are not finite numbers (NaN or infinite); encode the documents again")
    wide = ours.astype(np.float64), theirs.astype(np.float64)
    lengths, their_lengths = (np.linalg.norm(each, axis=1) for each in wide)
    cosines = np.vecdot(*wide) / np.maximum(lengths * their_lengths, np.finfo(np.float32).tiny)
    cosine = float(cosines.min())
    if cosine < LEAST:
        raise DataError(
            f"{path}: not this model's vectors: of {len(ours)} documents that it encoded again {sum(cosines < LEAST)} "
            f"differ, the cosine is down to {cosine:.4f}, expected {LEAST} at least; another model, prefix, pooling or "
            "length limit made them, or docids are in another order than the files: emb_10 is read before emb_2"
        )
    if not np.allclose(their_lengths, lengths, rtol=UNEVEN):
        raise DataError(
            f"{path}: vectors of other lengths than the model's: {their_lengths.min():.3g} to "
            f"{their_lengths.max():.3g}, expected "
            f"{lengths.min():.3g} to {lengths.max():.3g}; normalise them as the model does, or not at all"
        )
    return cosine


def _write(folder: Path, vectors: _Numbered, order: NDArray[np.int64], store: DocumentStore, unit: bool) -> None:
    docids = list(store.docids())
    lengths = np.empty(len(order))
    starts = range(0, len(order), SHARD)
    for number, start in enumerate(bar(starts, len(starts), "taking vectors", "shards")):
        picked = vectors.pick(order[start : start + SHARD])
        lengths[start : start + SHARD] = np.linalg.norm(picked.astype(np.float64), axis=1)
        write_matrix(folder / f"shard-{number:05}.npy", picked)
    uneven = unit & (np.abs(lengths - 1) > UNEVEN)
    problems = (
        ("are not finite (NaN or infinite): {}", ~np.isfinite(lengths)),
        ("are not of length 1, as the model's are: {}; normalise them as the model does", uneven),
    )
    fail(
        f"{vectors.path}: {misfits.sum()} vectors {problem.format(escaped(brief(list(compress(docids, misfits)))))}"
        for problem, misfits in problems
        if misfits.any()
    )
    write_bytes(folder / "docids.txt", "\n".join(docids).encode())
