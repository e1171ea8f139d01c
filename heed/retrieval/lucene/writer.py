"""A Lucene index written from Python's strings: documents as Anserini's generator makes them, without JSON between."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from heed.retrieval.lucene.jvm import java
from heed.retrieval.lucene.method_handles import (
    STRING,
    arguments,
    as_type,
    bound,
    constructor,
    fed,
    handles,
    in_turn,
    kind,
    method,
    taking,
    types,
)

LUCENE = "org.apache.lucene"
WRITER, DOCUMENT = f"{LUCENE}.index.IndexWriter", f"{LUCENE}.document.Document"
FIELD, BYTES, STORE = f"{LUCENE}.document.Field", f"{LUCENE}.util.BytesRef", f"{LUCENE}.document.Field$Store"
INDEXABLE, CHARACTERS, LIST = f"{LUCENE}.index.IndexableField", "java.lang.CharSequence", "java.util.List"
ID = "id"
BATCH = 1_000  # documents handed to Java at once, or fewer with so many characters
CHARACTERS_AT_ONCE = 4_000_000
BUFFER = 2048.0  # MiB that Lucene fills before it writes, as Anserini has it; no more than half of Java's heap

Row = Sequence[str]  # a document's id, then the text of each field


def write_index(
    folder: Path, rows: Iterable[Row], fields: Sequence[str], analyzer: Any, threads: int, vectors: bool
) -> int:
    """Index documents, each an id and the text of every one of ``fields``; gives back how many.

    A field without text is left out of its document. ``vectors`` keeps each document's terms.
    """
    writer = _open(folder, analyzer)
    try:
        with ThreadPoolExecutor(threads) as pool:
            count = _add(writer, rows, _loop(tuple(fields), vectors), pool, threads)
            # what each thread has gathered is written by all threads too; commit would do it one after the other
            for flushed in [pool.submit(writer.flushNextBuffer) for _ in range(threads)]:
                flushed.result()
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
    return java(WRITER)(directory, settings)


def _add(writer: Any, rows: Iterable[Row], loop: Any, pool: ThreadPoolExecutor, threads: int) -> int:
    listed, count = java("java.util.Arrays").asList, 0
    waiting: deque[Future[Any]] = deque()
    for batch in _batches(rows):
        count += len(batch)
        # made here and not in the threads: pyjnius tells objects of one class apart only where nobody else calls
        columns = arguments(writer, *(listed(*column) for column in zip(*batch, strict=True)))
        waiting.append(pool.submit(loop.invokeWithArguments, columns))
        if len(waiting) > threads:
            waiting.popleft().result()
    for left in waiting:
        left.result()
    return count


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    characters = 0
    for row in rows:
        batch.append(row)
        characters += sum(map(len, row))
        if len(batch) == BATCH or characters >= CHARACTERS_AT_ONCE:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _loop(fields: tuple[str, ...], vectors: bool) -> Any:
    """``(writer, ids, texts of the first field, …)``: adds a document for every one of ``ids``."""
    columns = (LIST,) * (1 + len(fields))
    add = as_type(method(WRITER, "addDocument", "long", "java.lang.Iterable"), "void", WRITER, DOCUMENT)
    add = fed(add, 1, _document(fields, vectors))
    text = as_type(method(LIST, "get", "java.lang.Object", "int"), STRING, LIST, "int")
    for at in range(len(columns)):
        add = fed(add, 1 + 2 * at, text)  # (writer, list, place, list, place, …)
    shape = ("int", WRITER, *columns)
    body = taking(add, shape, 1, *(place for at in range(len(columns)) for place in (2 + at, 0)))
    return handles().countedLoop(taking(method(LIST, "size", "int"), shape[1:], 1), None, body)


def _document(fields: tuple[str, ...], vectors: bool) -> Any:
    """``(id, text of the first field, …)``: a document as Anserini's ``DefaultLuceneDocumentGenerator`` makes it."""
    shape = (DOCUMENT, *(STRING,) * (1 + len(fields)))
    stored = bound(constructor(f"{LUCENE}.document.StringField", STRING, STRING, STORE), 2, java(STORE).YES)
    name = as_type(constructor(BYTES, CHARACTERS), BYTES, STRING)
    ordered = fed(constructor(f"{LUCENE}.document.BinaryDocValuesField", STRING, BYTES), 1, name)
    kept = f"{LUCENE}.index.IndexableFieldType"
    indexed = bound(constructor(FIELD, STRING, CHARACTERS, kept), 2, _indexed(vectors))
    steps = [taking(_adding(field, ID), shape, 0, 1) for field in (stored, ordered)]
    for at, field in enumerate(fields, 2):
        nothing = handles().empty(types("void", DOCUMENT, STRING))
        is_empty = taking(method(STRING, "isEmpty", "boolean"), (DOCUMENT, STRING), 1)
        step = handles().guardWithTest(is_empty, nothing, _adding(indexed, field))
        steps.append(taking(step, shape, 0, at))
    steps.append(taking(handles().identity(kind(DOCUMENT)), shape, 0))
    return fed(in_turn(*steps), 0, constructor(DOCUMENT))


def _adding(field: Any, name: str) -> Any:
    """``(document, text)``: adds to a document what ``field`` makes of ``name`` and the text."""
    made = as_type(bound(field, 0, java(STRING)(name)), INDEXABLE, STRING)
    return fed(method(DOCUMENT, "add", "void", INDEXABLE), 1, made)


def _indexed(vectors: bool) -> Any:
    made = java(f"{LUCENE}.document.FieldType")()
    made.setIndexOptions(java(f"{LUCENE}.index.IndexOptions").DOCS_AND_FREQS)
    made.setStoreTermVectors(vectors)
    made.setStoreTermVectorPositions(vectors)
    return made
