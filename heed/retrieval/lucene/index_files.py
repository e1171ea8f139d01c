"""The files of a Lucene index: its reader, documents written to it, postings exported from it."""

import os
import shutil
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
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

PART, SHARE = 15.0, 1 / 15  # seconds of indexing, and share of the time so far, that are kept together
ADDED = "added"  # in an index that was made of an earlier one, an index of the documents added to that
UPDATED = "updated"  # in its note: the recipe of the earlier index, and the documents that were taken out of it

Row = Sequence[str]  # a document's id, then the text of each field


def postings_folder(index: Path) -> Path:
    """Return the folder of the postings of an index, as arrays."""
    return index.with_name(f"{index.name}-postings")


def open_reader(folder: Path) -> Any:
    """Return the index in ``folder`` as Lucene's ``IndexReader``."""
    with java_errors(f"{folder}: opening the index"):
        directory = _directory((folder / "lucene").resolve())
        return cast(READER, java(f"{LUCENE}.index.DirectoryReader").open(directory))


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

    A field without text is left out of its document. Where ``folder`` has some of the documents, of an earlier call
    that was stopped, they are the first ones: it goes on behind them.
    """
    with _writing(folder, analyzer) as writer, ThreadPoolExecutor(threads) as pool:
        count, start = int(writer.getDocStats().numDocs), time.monotonic()
        rest = islice(rows, count, None)
        while True:
            added = _add_documents(writer, _for_a_while(rest, start), fields, pool, threads)
            # the buffer of each thread is written by a thread of its own; commit would write one after the other
            for flush in [pool.submit(writer.flushNextBuffer) for _ in range(threads)]:
                flush.result()
            writer.commit()
            if not added:
                return count
            count += added


def replace_documents(folder: Path, docids: Iterable[str], added: Path, analyzer: Any) -> None:
    """Remove documents from the index in ``folder``, and add those of the index in ``added``.

    Lucene counts removed ones until it merges their files; postings are exported without them.
    """
    with _writing(folder, analyzer) as writer:
        java(BULK).replaceDocuments(writer, java("java.util.Arrays").asList(*docids), _directory(added))


def link_index(folder: Path, target: Path) -> None:
    """Make ``target`` an index of the same files, which Lucene never changes, as the one in ``folder``."""
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("write.lock"), copy_function=_link)


def _link(path: str, target: str) -> None:
    try:
        os.link(path, target)
    except OSError:  # of a file system without hard links
        shutil.copyfile(path, target)


def _for_a_while(rows: Iterator[Row], start: float) -> Iterator[Row]:
    """Yield as many rows as may be lost: those of ``PART`` seconds, or of a share of the time since ``start``."""
    now = time.monotonic()
    end = now + max(PART, (now - start) * SHARE)
    for row in rows:
        yield row
        if time.monotonic() >= end:
            return


@contextmanager
def _writing(folder: Path, analyzer: Any) -> Iterator[Any]:
    """Yield Lucene's writer of an index, which is committed and closed after the block."""
    settings = java(f"{LUCENE}.index.IndexWriterConfig")(analyzer)
    heap = java("java.lang.Runtime").getRuntime().maxMemory() / (1 << 20)
    settings.setRAMBufferSizeMB(min(BUFFER, heap / 2))
    settings.setUseCompoundFile(False)
    writer = java(f"{LUCENE}.index.IndexWriter")(_directory(folder), settings)
    try:
        yield writer
        writer.commit()
        writer.close()
    except BaseException:
        writer.rollback()
        raise


def _directory(folder: Path) -> Any:
    return java(f"{LUCENE}.store.FSDirectory").open(java("java.nio.file.Paths").get(str(folder.absolute())))


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


def write_postings(folder: Path, name: str, reader: Any, field: str) -> tuple[int, int]:
    """Write the terms and postings of ``field`` into ``folder``, without those of removed documents.

    Return how many terms the documents have, repeats included, and the largest frequency; both are 0, and there may be
    no file, where no document has a term.

    ``name.sizes`` holds the length in bytes and the number of documents of each term, in the order of the
    terms' bytes, ``name.texts`` those bytes, ``name.pairs`` a document's number and the term's frequency in
    it, term after term. Numbers are of 32 bits, little-endian.

    Read by calls from Python, a posting costs 5 µs; as Lucene's plain text (SimpleTextCodec) it takes 65 bytes and two
    seconds a million to write, before it can be read. By the loop in ``java/heed/Bulk.java`` it takes 8 bytes and
    0.1 µs.
    """
    occurrences, largest = java(BULK).writePostings(reader, field, str(folder.absolute()), name)
    return occurrences, largest


def write_norms(path: Path, reader: Any, field: str, count: int) -> None:
    """Write Lucene's one byte for the length of ``field`` in each of ``count`` documents; 0 where there is none."""
    java(BULK).writeNorms(reader, field, str(path.parent.absolute()), path.name, count)
