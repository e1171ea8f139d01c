"""Latent semantic analysis of character n-grams: a dense baseline for any language, with no download.

Deerwester et al. (1990) on tf-idf of n-grams inside words. It is computed from the collection itself: exactly of a
few documents, else by a block Krylov method (Musco and Musco 2015, "Randomized block Krylov methods for stronger and
faster approximate singular value decomposition", Algorithm 2), whose blocks make it several times as fast as ARPACK.
"""

import random
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.errors import DataError
from heed.files import finished
from heed.formats.document_store import DocumentStore
from heed.process import batches
from heed.progress import bar
from heed.reuse import ensure_folder, recipe_version
from heed.types import Config, Document, Encoder, Matrix, Query

SETTINGS: Config = {
    "lsa": recipe_version("lsa"),
    "ngrams": [2, 4],
    "features": 2**16,
    "dimensions": 256,
    "characters": 4_000,  # of a document that are read
    "sample": 20_000,  # documents that the model is computed from
    "seed": 0,
}
MODEL = "model.npz"
BLOCK = 32  # columns that are multiplied at once: their rows of single precision fit the processor's caches
# blocks; of news in four languages the smallest singular value is 0.5 to 2.2 % too low, mean nDCG@20 within 0.2 points
STEPS = 20
NOISE = 1e-3  # of the largest singular value: what single precision leaves of a direction that is not there
ROWS = 1024  # documents that are weighted at once
AT_ONCE = 2**19  # characters; their n-grams take some 100 MB
Words = NDArray[np.uint32]
FIRST, SECOND = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)  # MurmurHash3's constants, as those below


class Lsa(Encoder):
    """The model of one collection, as an :class:`heed.types.Encoder`."""

    name = "lsa"
    config: Config

    def __init__(self, config: Config, idf: NDArray[np.float32], components: Matrix) -> None:
        """Take the weight of each feature, and the singular vectors, shape ``(dimensions, features)``."""
        self.config = config
        self._idf, self._components = idf, components

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        """Return unit vectors of documents."""
        return self._project([_text(document) for document in documents])

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """Return unit vectors of query, space, instruction."""
        return self._project([f"{query.query} {query.instruction}".strip() for query in queries])

    def _project(self, texts: list[str]) -> Matrix:
        projected = _weighted(_log_counts(texts), self._idf) @ self._components.T
        lengths = np.sqrt(np.einsum("ij,ij->i", projected, projected))
        lengths[lengths < 10 * np.finfo(float).eps] = 1  # a text without any n-gram of the collection stays zero
        vectors: Matrix = (projected / lengths[:, None]).astype(np.float32)
        return vectors


def build_lsa(folder: Path, store: DocumentStore) -> Lsa:
    """Return the model of ``store``, computed unless it is there for the same documents."""
    recipe: Config = {**SETTINGS, "documents": store.digest}
    ensure_folder(folder, recipe, lambda part: _fit(part / MODEL, store))
    with np.load(folder / MODEL, allow_pickle=False) as model:
        return Lsa(recipe, model["idf"], model["components"])


def _fit(target: Path, store: DocumentStore) -> None:
    texts = [_text(document) for document in _sample(store)]
    counts = _log_counts(bar(texts, len(texts), "lsa/model: n-grams", "documents"))
    if not counts.nnz:
        raise DataError("lsa: no document has any text to compute a model from; look at the documents' text field")
    containing = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log((1 + counts.shape[0]) / (1 + containing)) + 1  # smooth, as scikit-learn's TfidfTransformer has it
    components = _components(_weighted(counts, idf))
    with finished(target) as stream:
        np.savez(stream, idf=idf.astype(np.float32), components=components.astype(np.float32))


def _components(weighted: Any) -> Any:
    """Return the right singular vectors, shape ``(dimensions, features)``, of equal or dependent documents fewer."""
    import scipy.linalg  # noqa: F401 (loaded here, since only libraries that are loaded are limited)
    from threadpoolctl import threadpool_limits

    if weighted.shape[0] == 1:
        return weighted.toarray()
    with threadpool_limits(1):  # sums in another order would give other last bits on another machine
        return _exact(weighted) if weighted.shape[0] <= BLOCK * STEPS else _krylov(weighted)


def _exact(weighted: Any) -> Any:
    """Return the singular vectors of a few documents, from the eigenvectors of the documents' products."""
    from scipy.linalg import eigh

    count = weighted.shape[0]
    dimensions = min(SETTINGS["dimensions"], count - 1)
    squares, vectors = eigh((weighted @ weighted.T).toarray(), subset_by_index=[count - dimensions, count - 1])
    sizes = np.sqrt(np.maximum(squares, np.finfo(float).tiny))  # of dependent documents a square can be below 0
    return (weighted.T @ (vectors / sizes)).T[sizes > 1e-6 * np.max(sizes)]


def _krylov(weighted: Any) -> Any:
    """Return the singular vectors of many documents, as they are inside a Krylov space of their products.

    The space's orthonormal basis, shape ``(documents, BLOCK * STEPS)``, begins with seeded random numbers; each step
    multiplies the last block by the documents' products, and removes what the blocks before it have.
    """
    from scipy.sparse import csr_matrix

    matrix = csr_matrix((weighted.data.astype(np.float32), weighted.indices, weighted.indptr), shape=weighted.shape)
    basis = np.empty((matrix.shape[0], BLOCK * STEPS), np.float32)
    projected = np.zeros((BLOCK * STEPS, BLOCK * STEPS), np.float32)  # the products in this basis; the upper half
    block = np.random.default_rng(SETTINGS["seed"]).standard_normal((len(basis), BLOCK), np.float32)
    block = np.linalg.qr(block).Q
    for start in bar(range(0, BLOCK * STEPS, BLOCK), STEPS, "lsa/model: decomposition", "steps"):
        basis[:, start : start + BLOCK] = block
        before = basis[:, : start + BLOCK]
        block = matrix @ (matrix.T @ block)
        projected[: start + BLOCK, start : start + BLOCK] = before.T @ block
        for _ in range(2):  # twice, since rounding is all that is left of dependent documents after the first time
            block = np.linalg.qr(block - before @ (before.T @ block)).Q
    squares, vectors = np.linalg.eigh(projected.astype(float), UPLO="U")
    largest = slice(-SETTINGS["dimensions"], None)
    sizes, vectors = np.sqrt(np.maximum(squares[largest], 0)), vectors[:, largest]
    clear = sizes > NOISE * sizes[-1]
    return (matrix.T @ (basis @ (vectors[:, clear] / sizes[clear]).astype(np.float32))).T


def _sample(store: DocumentStore) -> list[Document]:
    """Return all documents, or a seeded sample of them in docid order (reservoir, Vitter 1985)."""
    size, chooser = SETTINGS["sample"], random.Random(SETTINGS["seed"])  # noqa: S311 (a sample, no secret)
    sample: list[Document] = []
    for seen, document in enumerate(store):
        if len(sample) < size:
            sample.append(document)
        elif (replaced := chooser.randrange(seen + 1)) < size:
            sample[replaced] = document
    return sorted(sample)


def _log_counts(texts: Iterable[str]) -> Any:
    """Return the sparse matrix of 1 + log counts, shape ``(texts, features)``."""
    smallest, largest = SETTINGS["ngrams"]
    counts = ngram_counts(texts, range(smallest, largest + 1), SETTINGS["features"])
    np.log(counts.data, out=counts.data)
    counts.data += 1
    return counts


def _weighted(counts: Any, idf: Any) -> Any:
    """Return ``counts``, changed in place, as rows of length 1 weighted by ``idf``; an empty one stays empty.

    Some rows at a time: a copy of the model's counts would take some 300 MB.
    """
    from scipy.sparse import csr_matrix

    ones = np.ones(counts.shape[1])
    for row in range(0, counts.shape[0], ROWS):
        ends = counts.indptr[row : row + ROWS + 1]
        here, data = slice(ends[0], ends[-1]), counts.data[ends[0] : ends[-1]]
        data *= idf[counts.indices[here]]
        squares = csr_matrix((data**2, counts.indices[here], ends - ends[0]), shape=(len(ends) - 1, len(ones)))
        data /= np.repeat(np.sqrt(squares @ ones), np.diff(ends))  # sums in the order of the entries
    return counts


def _text(document: Document) -> str:
    return document.contents()[: SETTINGS["characters"]]


def ngram_counts(texts: Iterable[str], sizes: range, columns: int) -> Any:
    """Return the sparse matrix of counts of character n-grams, float64, shape ``(texts, columns)``.

    They are scikit-learn's HashingVectorizer's, without its seconds of imports. Words are what whitespace parts in
    small letters, each with a space on either side; an n-gram's column is the absolute value of MurmurHash3 (x86,
    32 bits, seed 0; Appleby, public domain) of its UTF-8 bytes, modulo the number of columns. All n-grams of as
    many bytes are hashed at once.
    """
    from scipy.sparse import csr_matrix  # takes long, and help needs none

    parts = deque(_counts(some, sizes, columns) for some in batches(texts, AT_ONCE))
    filled = sum(len(part.columns) for part in parts)
    data, indices = np.empty(filled), np.empty(filled, np.int32)
    ends = np.zeros(sum(len(part.ends) - 1 for part in parts) + 1, np.int64)
    row = begin = 0
    while parts:  # each is freed when it is copied: both together would be the most memory that LSA takes
        part = parts.popleft()
        end, rows = begin + len(part.columns), len(part.ends) - 1
        data[begin:end], indices[begin:end] = part.counts, part.columns
        ends[row + 1 : row + rows + 1] = begin + part.ends[1:]
        row, begin = row + rows, end
    return csr_matrix((data, indices, ends), shape=(len(ends) - 1, columns))


class _Counts(NamedTuple):
    """The counts of some texts, in the narrowest type; those of text ``t`` are from ``ends[t]`` to ``ends[t + 1]``."""

    counts: NDArray[np.unsignedinteger[Any]]
    columns: NDArray[np.int32]
    ends: NDArray[np.int64]


def _counts(texts: Sequence[str], sizes: range, columns: int) -> _Counts:
    padded = ["".join(f" {word} " for word in text.lower().split()) for text in texts]
    rows = np.repeat(np.arange(len(texts)), [len(text) for text in padded])
    whole = "".join(padded)
    letters = np.frombuffer(whole.encode("utf-32-le"), dtype=np.uint32)
    words = (np.cumsum(letters == ord(" ")) - 1) // 2  # every second space begins a word
    offsets = np.concatenate([[0], np.cumsum(_utf8_bytes(letters))])
    data = np.frombuffer(whole.encode(), dtype=np.uint8)
    keys = [
        rows[begin] * columns + _column(_murmur(data, offsets[begin], offsets[begin + size]), columns)
        for size in sizes
        for begin in [np.flatnonzero(words[: 1 - size] == words[size - 1 :])]
    ]
    cells, counts = np.unique(np.concatenate(keys), return_counts=True)
    ends = np.searchsorted(cells, np.arange(len(texts) + 1) * columns)
    narrow = np.min_scalar_type(int(counts.max(initial=0)))
    return _Counts(counts.astype(narrow), (cells % columns).astype(np.int32), ends)


def _utf8_bytes(letters: Words) -> NDArray[np.int64]:
    """Return how many bytes each code point takes (RFC 3629)."""
    return 1 + (letters > 0x7F).astype(np.int64) + (letters > 0x7FF) + (letters > 0xFFFF)


def _murmur(data: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64]) -> Words:
    """Return the hash of each range of ``data``."""
    lengths = ends - begins
    hashes = np.empty(len(begins), np.uint32)
    for length in np.unique(lengths).tolist():
        these = lengths == length
        read = data[begins[these][:, None] + np.arange(length)].astype(np.uint32)
        hashes[these] = _murmur_of_one_length(read, length)
    return hashes


def _murmur_of_one_length(read: Words, length: int) -> Words:
    blocks, rest = divmod(length, 4)
    hashes = np.zeros(len(read), np.uint32)
    for block in range(blocks):
        hashes ^= _mixed(_word(read[:, 4 * block : 4 * block + 4]))
        hashes = _rotated(hashes, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    if rest:
        hashes ^= _mixed(_word(read[:, 4 * blocks :]))
    hashes ^= np.uint32(length)
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


def _word(read: Words) -> Words:
    """Return up to four bytes as one number, the first lowest."""
    shifts = np.arange(0, 8 * read.shape[1], 8, dtype=np.uint32)
    word: Words = np.bitwise_or.reduce(read << shifts, axis=1)
    return word


def _mixed(word: Words) -> Words:
    return _rotated(word * FIRST, 15) * SECOND


def _rotated(word: Words, by: int) -> Words:
    return (word << np.uint32(by)) | (word >> np.uint32(32 - by))


def _column(hashes: Words, columns: int) -> NDArray[np.int64]:
    return np.abs(hashes.view(np.int32).astype(np.int64)) % columns
