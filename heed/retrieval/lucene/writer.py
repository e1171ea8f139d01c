"""Write a Lucene index from Python's strings: documents as Anserini's generator makes them, without JSON between."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from heed.retrieval.lucene.jvm import java
from heed.retrieval.lucene.method_handles import (
    STRING,
    bind,
    compose,
    constructor,
    convert,
    count_loop,
    in_sequence,
    java_list,
    java_type,
    method,
    method_handles,
    signature,
    with_parameters,
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
    """Index documents, each an id and the text of every one of ``fields``; return how many.

    A field without text is left out of its document. ``vectors`` keeps each document's terms.
    """
    writer = _open(folder, analyzer)
    try:
        with ThreadPoolExecutor(threads) as pool:
            count = _add_documents(writer, rows, _documents_loop(tuple(fields), vectors), pool, threads)
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
    return java(WRITER)(directory, settings)


def _add_documents(writer: Any, rows: Iterable[Row], loop: Any, pool: ThreadPoolExecutor, threads: int) -> int:
    as_list, count = java("java.util.Arrays").asList, 0
    waiting: deque[Future[Any]] = deque()
    for batch in _batches(rows):
        count += len(batch)
        # made here and not in the threads: pyjnius mixes up objects of one class that two threads make
        columns = java_list(writer, *(as_list(*column) for column in zip(*batch, strict=True)))
        waiting.append(pool.submit(loop.invokeWithArguments, columns))
        if len(waiting) > threads:
            waiting.popleft().result()
    for future in waiting:
        future.result()
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


def _documents_loop(fields: tuple[str, ...], vectors: bool) -> Any:
    """Return a handle with the parameters ``(writer, ids, texts of the first field, …)``.

    In Java::

        for (int i = 0; i < ids.size(); i++)
            writer.addDocument(newDocument((String) ids.get(i), (String) texts.get(i), …));
    """
    columns = (LIST,) * (1 + len(fields))
    add = convert(method(WRITER, "addDocument", "long", "java.lang.Iterable"), "void", WRITER, DOCUMENT)
    add = compose(add, 1, _new_document(fields, vectors))
    text = convert(method(LIST, "get", "java.lang.Object", "int"), STRING, LIST, "int")
    for column in range(len(columns)):
        add = compose(add, 1 + 2 * column, text)  # in the end (writer, list, i, list, i, …)
    parameters = ("int", WRITER, *columns)  # of the loop's body: i, then the loop's own
    lists_and_i = [position for column in range(len(columns)) for position in (2 + column, 0)]
    size = with_parameters(method(LIST, "size", "int"), parameters[1:], 1)
    return count_loop(size, with_parameters(add, parameters, 1, *lists_and_i))


def _new_document(fields: tuple[str, ...], vectors: bool) -> Any:
    """Return a handle with the parameters ``(id, text of the first field, …)`` that returns a document.

    It is what Anserini's ``DefaultLuceneDocumentGenerator`` makes, in Java::

            Document document = new Document();
            document.add(new StringField("id", id, Field.Store.YES));
            document.add(new BinaryDocValuesField("id", new BytesRef(id)));
            if (!text.isEmpty()) document.add(new Field("contents", text, type));  // and so on for each field
            return document;
    """
    parameters = (DOCUMENT, *(STRING,) * (1 + len(fields)))  # the document, then its own
    stored = bind(constructor(f"{LUCENE}.document.StringField", STRING, STRING, STORE), 2, java(STORE).YES)
    as_bytes = convert(constructor(BYTES, CHARACTERS), BYTES, STRING)
    sortable = compose(constructor(f"{LUCENE}.document.BinaryDocValuesField", STRING, BYTES), 1, as_bytes)
    field_type = f"{LUCENE}.index.IndexableFieldType"
    indexed = bind(constructor(FIELD, STRING, CHARACTERS, field_type), 2, _field_type(vectors))
    steps = [with_parameters(_add_field(field, ID), parameters, 0, 1) for field in (stored, sortable)]
    for position, name in enumerate(fields, 2):
        is_empty = with_parameters(method(STRING, "isEmpty", "boolean"), (DOCUMENT, STRING), 1)
        nothing = method_handles().empty(signature("void", DOCUMENT, STRING))
        add_text = method_handles().guardWithTest(is_empty, nothing, _add_field(indexed, name))
        steps.append(with_parameters(add_text, parameters, 0, position))
    steps.append(with_parameters(method_handles().identity(java_type(DOCUMENT)), parameters, 0))
    return compose(in_sequence(*steps), 0, constructor(DOCUMENT))


def _add_field(new_field: Any, name: str) -> Any:
    """Return a handle with the parameters ``(document, text)``: ``document.add(new_field(name, text))``."""
    field = convert(bind(new_field, 0, java(STRING)(name)), INDEXABLE, STRING)
    return compose(method(DOCUMENT, "add", "void", INDEXABLE), 1, field)


def _field_type(vectors: bool) -> Any:
    field_type = java(f"{LUCENE}.document.FieldType")()
    field_type.setIndexOptions(java(f"{LUCENE}.index.IndexOptions").DOCS_AND_FREQS)
    field_type.setStoreTermVectors(vectors)
    field_type.setStoreTermVectorPositions(vectors)
    return field_type
