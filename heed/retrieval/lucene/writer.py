"""Write a Lucene index from Python's strings: documents as Anserini's generator makes them, without JSON between."""

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

from heed.process import batches
from heed.retrieval.lucene.jvm import BULK, java

LUCENE = "org.apache.lucene"
BATCH = 1_000  # documents handed to Java at once, or fewer with so many characters
CHARACTERS_AT_ONCE = 4_000_000
BUFFER = 2048.0  # MiB that Lucene fills before it writes, as Anserini has it; no more than half of Java's heap

Row = Sequence[str]  # a document's id, then the text of each field


def write_index(
    folder: Path, rows: Iterable[Row], fields: Sequence[str], analyzer: Any, threads: int, vectors: bool
) -> int:
    """Index documents, each an id and the text of every one of ``fields``; return how many.

    A field without text is left out of its document. ``vectors`` keeps each document's terms.
    """
    writer = _open(folder, analyzer)
    try:
        with ThreadPoolExecutor(threads) as pool:
            count = _add_documents(writer, rows, fields, vectors, pool, threads)
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
    writer: Any, rows: Iterable[Row], fields: Sequence[str], vectors: bool, pool: ThreadPoolExecutor, threads: int
) -> int:
    add, as_list, count = java(BULK).addDocuments, java("java.util.Arrays").asList, 0
    names = as_list(*fields)
    waiting: deque[Future[Any]] = deque()
    for batch in batches(rows, CHARACTERS_AT_ONCE, lambda row: sum(map(len, row)), BATCH):
        count += len(batch)
        # made here and not in the threads: pyjnius mixes up objects of one class that two threads make
        texts = as_list(*chain.from_iterable(batch))
        waiting.append(pool.submit(add, writer, names, texts, vectors))
        if len(waiting) > threads:
            waiting.popleft().result()
    for future in waiting:
        future.result()
    return count
