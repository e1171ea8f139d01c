"""Counts of character n-grams inside words, hashed: scikit-learn's HashingVectorizer without seconds of imports.

Words are what whitespace parts in small letters, each with a space on either side; an n-gram's column is the
absolute value of MurmurHash3 (x86, 32 bits, seed 0; Appleby, public domain) of its UTF-8 bytes, modulo the number of
columns. All n-grams of as many bytes are hashed at once.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from heed.process import batches

AT_ONCE = 2**19  # characters; their n-grams take some 100 MB
Words = NDArray[np.uint32]
FIRST, SECOND = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)  # MurmurHash3's constants, as those below


def ngram_counts(texts: Iterable[str], sizes: range, columns: int) -> Any:
    """Return the sparse matrix of counts, float64, shape ``(texts, columns)``."""
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
