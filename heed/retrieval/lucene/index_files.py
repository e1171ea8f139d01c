"""The files of a Lucene index: its reader, documents written to it, postings exported from it."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from heed.process import batches
from heed.retrieval.lucene.jvm import BULK, cast, java, java_errors

LUCENE = "org.apache.lucene"
READER = f"{LUCENE}.index.IndexReader"
ID = "id"  # the field of docids, as Anserini names it
BATCH = 1_000  # documents handed to Java at once, or fewer with so many characters
CHARACTERS_AT_ONCE = 4_000_000
BUFFER = 2048.0  # MiB that Lucene fills before it writes, as Anserini has it; no more than half of Java's heap

Row = Sequence[str]  # a document's id, then the text of each field


def postings_folder(index: Path) -> Path:
    """Return the folder of the postings of an index, as arrays."""
    return index.with_name(f"{index.name}-postings")


def open_reader(folder: Path) -> Any:
    """Return the index in ``folder`` as Lucene's ``IndexReader``."""
    path = java("java.nio.file.Paths").get(str((folder / "lucene").resolve()))
    with java_errors(f"{folder}: opening the index"):
        directory = java("org.apache.lucene.store.FSDirectory").open(path)
        return cast(READER, java("org.apache.lucene.index.DirectoryReader").open(directory))


@contextmanager
def reading(folder: Path) -> Iterator[Any]:
    """Yield the same, closed after the block, so that its files leave memory."""
    reader = open_reader(folder)
    try:
        yield reader
    finally:
        reader.close()


def write_index(folder: Path, rows: Iterable[Row], fields: Sequence[str], analyzer: Any, threads: int) -> int:
    """Index documents, each an id and the text of every one of ``fields``; return how many.

    A field without text is left out of its document.
    """
    writer = _open(folder, analyzer)
    try:
        with ThreadPoolExecutor(threads) as pool:
            count = _add_documents(writer, rows, fields, pool, threads)
            # the buffer of each thread is written by a thread of its own; commit would write one after the other
            for flush in [pool.submit(writer.flushNextBuffer) for _ in range(threads)]:
                flush.result()
        writer.commit()
        writer.close()
    except BaseException:
        writer.rollback()
        raise
    return count


def _open(folder: Path, analyzer: Any) -> Any:
    settings = java(f"{LUCENE}.index.IndexWriterConfig")(analyzer)
    heap = java("java.lang.Runtime").getRuntime().maxMemory() / (1 << 20)
    settings.setRAMBufferSizeMB(min(BUFFER, heap / 2))
    settings.setUseCompoundFile(False)
    directory = java(f"{LUCENE}.store.FSDirectory").open(java("java.nio.file.Paths").get(str(folder.absolute())))
    return java(f"{LUCENE}.index.IndexWriter")(directory, settings)


def _add_documents(
    writer: Any, rows: Iterable[Row], fields: Sequence[str], pool: ThreadPoolExecutor, threads: int
) -> int:
    add, as_list, count = java(BULK).addDocuments, java("java.util.Arrays").asList, 0
    names = as_list(*fields)
    waiting: deque[Future[Any]] = deque()
    for batch in batches(rows, CHARACTERS_AT_ONCE, lambda row: sum(map(len, row)), BATCH):
        count += len(batch)
        # made here and not in the threads: pyjnius mixes up objects of one class that two threads make
        texts = as_list(*chain.from_iterable(batch))
        waiting.append(pool.submit(add, writer, names, texts))
        if len(waiting) > threads:
            waiting.popleft().result()
    for future in waiting:
        future.result()
    return count


def write_postings(folder: Path, name: str, reader: Any, field: str) -> bool:
    """Write the terms and postings of ``field`` into ``folder``; return False where no document has the field.

    ``name.sizes`` holds the length in bytes and the number of documents of each term, in the order of the
    terms' bytes, ``name.texts`` those bytes, ``name.pairs`` a document's number and the term's frequency in
    it, term after term. Numbers are of 32 bits, little-endian.

    Read by calls from Python, a posting costs 5 µs; as Lucene's plain text (SimpleTextCodec) it takes 65 bytes and two
    seconds a million to write, before it can be read. By the loop in ``java/heed/Bulk.java`` it takes 8 bytes and
    0.1 µs.
    """
    return bool(java(BULK).writePostings(reader, field, str(folder.absolute()), name))


def write_norms(path: Path, reader: Any, field: str, count: int) -> None:
    """Write Lucene's one byte for the length of ``field`` in each of ``count`` documents; 0 where there is none."""
    java(BULK).writeNorms(reader, field, str(path.parent.absolute()), path.name, count)
