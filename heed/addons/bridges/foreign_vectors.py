"""Vectors of documents that another tool computed: compared with the collection and with the model, then taken."""

import shutil
from functools import partial
from itertools import compress, pairwise
from math import isqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.addons.bridges.vector_files import VectorPart, form_of, read_parts
from heed.errors import DataError, fail
from heed.files import digest, digest_json, write_bytes
from heed.formats.document_store import DocumentStore
from heed.progress import bar, brief, escaped, log, timed, warn
from heed.retrieval.dense.vectors import SHARD, Vectors, document_config, write_matrix
from heed.reuse import NOTE, Recipe, ensure_folder, folder_note, recipe_version
from heed.types import Document, Encoder, Matrix

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
