"""Documents as compressed bytes: Zstandard, with a dictionary of what the documents of a collection have in common.

On their own, documents of a few hundred words hold too little repetition to compress well; the dictionary is as
if each came after typical ones (RFC 8878, section 5).
"""

from collections.abc import Callable, Sequence
from heapq import heappush, heappushpop
from threading import local
from zlib import crc32

import zstandard

LEVEL = 3  # 6 saves a twentieth more and takes four times as long
DOCUMENTS, LONGEST = 2000, 1 << 13  # of the sample that a dictionary is made from, and bytes of each
LARGEST = 1 << 16  # bytes of a dictionary; twice as many save a hundredth more
SEGMENT = 537  # bytes; what zstd finds best for tables and English, in four times as long: a twentieth less at most
LEAST = 1 << 18  # bytes of a sample below which a dictionary would save less than it takes
BETWEEN = b"\xff"  # in no text of UTF-8


class Sample:
    """A sample of documents in bounded memory, the same in whatever order they come: those of least hash."""

    def __init__(self) -> None:
        """Begin without a document."""
        self._heap: list[tuple[int, str, bytes]] = []  # negated hash, docid, beginning of the document

    def add(self, docid: str, body: bytes) -> None:
        """Take a document, if it is one of the sample."""
        key = -crc32(docid.encode())
        if len(self._heap) < DOCUMENTS:
            heappush(self._heap, (key, docid, body[:LONGEST]))
        elif key >= self._heap[0][0]:
            heappushpop(self._heap, (key, docid, body[:LONGEST]))

    def dictionary(self) -> bytes:
        """Return a dictionary for documents like these; empty where it would not pay."""
        bodies: list[bytes | bytearray | memoryview] = [body for _, _, body in sorted(self._heap)]
        if sum(map(len, bodies)) < LEAST:
            return b""
        return zstandard.train_dictionary(LARGEST, bodies, k=SEGMENT, d=8).as_bytes()


def joined(texts: Sequence[str]) -> bytes:
    """Return texts as the bytes that are compressed; raises UnicodeEncodeError for half of a surrogate pair."""
    return BETWEEN.join([text.encode() for text in texts])


def separated(body: bytes) -> list[str]:
    """Return the texts that :func:`joined` joined."""
    return [text.decode() for text in body.split(BETWEEN)]


def packer(dictionary: bytes) -> Callable[[bytes], bytes]:
    """Return a function that compresses bytes and adds a checksum, for one thread."""
    settings = zstandard.ZstdCompressionParameters.from_level(LEVEL, write_checksum=True, write_dict_id=False)
    return zstandard.ZstdCompressor(compression_params=settings, dict_data=_trained(dictionary)).compress


class Unpacker(local):
    """Reverses :func:`packer`'s function, in any thread: each has a decompressor of its own."""

    def __init__(self, dictionary: bytes) -> None:
        """Called in each thread that uses the object."""
        self._decompressor = zstandard.ZstdDecompressor(dict_data=_trained(dictionary))

    def unpack(self, content: bytes) -> bytes:
        """Return the bytes that were packed; raises ValueError for damaged bytes."""
        try:
            return self._decompressor.decompress(content)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from error


def _trained(dictionary: bytes) -> zstandard.ZstdCompressionDict | None:
    return zstandard.ZstdCompressionDict(dictionary) if dictionary else None
