"""Lucene's postings, terms and norms written to files in bulk.

Read by calls from Python, a posting costs 5 µs; as Lucene's plain text (SimpleTextCodec) it takes 65 bytes and two
seconds a million to write, before it can be read. By a loop inside Java it takes 8 bytes and 0.3 µs.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from heed.retrieval.lucene.jvm import cast, java
from heed.retrieval.lucene.method_handles import (
    arguments,
    bound,
    fed,
    getter,
    handles,
    in_turn,
    kind,
    method,
    number,
    static,
    taking,
    types,
)

LUCENE = "org.apache.lucene"
TERMS, POSTINGS = f"{LUCENE}.index.TermsEnum", f"{LUCENE}.index.PostingsEnum"
NORMS, BYTES = f"{LUCENE}.index.NumericDocValues", f"{LUCENE}.util.BytesRef"
OUTPUT = f"{LUCENE}.store.DataOutput"
FREQUENCIES = 8  # PostingsEnum.FREQS: documents and how often a term is in each


def write_postings(folder: Path, name: str, reader: Any, field: str) -> bool:
    """Write the terms and postings of ``field`` into ``folder``; False where no document has the field.

    ``name.sizes`` holds the length in bytes and the number of documents of each term, in the order of the
    terms' bytes, ``name.texts`` those bytes, ``name.pairs`` a document's number and the term's frequency in
    it, term after term. Numbers are of 32 bits, little-endian.
    """
    terms = _terms(reader, field)
    if terms is None:
        return False
    with _outputs(folder, [f"{name}.{part}" for part in ("sizes", "texts", "pairs")]) as outputs:
        _terms_loop().invokeWithArguments(arguments(terms.iterator(), *outputs))
    return True


def count_postings(reader: Any, fields: Sequence[str]) -> int:
    """How many postings there are in ``fields`` together."""
    found = (_terms(reader, field) for field in fields)
    return sum(terms.getSumDocFreq() for terms in found if terms is not None)


def write_norms(path: Path, reader: Any, field: str, count: int) -> None:
    """Write Lucene's one byte for the length of ``field`` in each of ``count`` documents; 0 where there is none."""
    norms = java(f"{LUCENE}.index.MultiDocValues").getNormValues(_any(reader), field)
    with _outputs(path.parent, [path.name]) as [output]:
        _norms_loop().invokeWithArguments(arguments(norms, output, number(count)))


def _terms(reader: Any, field: str) -> Any:
    return java(f"{LUCENE}.index.MultiTerms").getTerms(_any(reader), field)


def _any(reader: Any) -> Any:
    return cast(f"{LUCENE}.index.IndexReader", reader)


@contextmanager
def _outputs(folder: Path, names: Sequence[str]) -> Iterator[list[Any]]:
    directory = java(f"{LUCENE}.store.FSDirectory").open(java("java.nio.file.Paths").get(str(folder.absolute())))
    context = java(f"{LUCENE}.store.IOContext").DEFAULT
    with ExitStack() as stack:
        stack.enter_context(closing(directory))
        yield [stack.enter_context(closing(directory.createOutput(name, context))) for name in names]


@cache
def _terms_loop() -> Any:
    """``(terms, sizes, texts, pairs)``: of every term its two sizes, its bytes and its postings."""
    shape = (BYTES, TERMS, OUTPUT, OUTPUT, OUTPUT)  # the term at hand goes before the loop's own arguments
    write_int = method(OUTPUT, "writeInt", "void", "int")
    length = fed(write_int, 1, getter(BYTES, "length", "int"))
    documents = fed(write_int, 1, method(TERMS, "docFreq", "int"))
    text = method(OUTPUT, "writeBytes", "void", "[B", "int", "int")
    for at, part in enumerate((("bytes", "[B"), ("offset", "int"), ("length", "int")), 1):
        text = fed(text, at, getter(BYTES, *part))
    following = method(TERMS, "next", BYTES)
    body = in_turn(
        taking(length, shape, 2, 0),
        taking(documents, shape, 2, 1),
        taking(text, shape, 3, 0, 0, 0),
        taking(_pairs_loop(), shape, 4, 1),
        taking(following, shape, 1),
    )
    is_term = static("java.util.Objects", "nonNull", "boolean", "java.lang.Object").asType(types("boolean", BYTES))
    return handles().whileLoop(taking(following, shape[1:], 0), taking(is_term, shape, 0), body)


def _pairs_loop() -> Any:
    """``(pairs, terms)``: document and frequency of every posting of the term at which ``terms`` stands."""
    write_int = method(OUTPUT, "writeInt", "void", "int")
    document = fed(write_int, 1, method(POSTINGS, "nextDoc", "int"))
    frequency = fed(write_int, 1, method(POSTINGS, "freq", "int"))
    shape = (OUTPUT, POSTINGS, "int")
    count = taking(handles().identity(kind("int")), shape, 2)
    loop = handles().countedLoop(count, None, taking(in_turn(document, frequency), ("int", *shape), 1, 2))
    begin = bound(method(TERMS, "postings", POSTINGS, POSTINGS, "int"), 2, number(FREQUENCIES))
    begin = fed(begin, 1, handles().constant(kind(POSTINGS), None))
    loop = fed(fed(loop, 1, begin), 2, method(TERMS, "docFreq", "int"))
    return taking(loop, (OUTPUT, TERMS), 0, 1, 1)


@cache
def _norms_loop() -> Any:
    """``(norms, output, count)``: a byte for each of ``count`` documents."""
    shape = ("int", NORMS, OUTPUT, "int")  # the document at hand goes before the loop's own arguments
    write_byte = method(OUTPUT, "writeByte", "void", "byte")
    norm = handles().explicitCastArguments(method(NORMS, "longValue", "long"), types("byte", NORMS))
    body = handles().guardWithTest(
        taking(method(NORMS, "advanceExact", "boolean", "int"), shape, 1, 0),
        taking(fed(write_byte, 1, norm), shape, 2, 1),
        taking(bound(write_byte, 1, java("java.lang.Byte")(0)), shape, 2),
    )
    return handles().countedLoop(taking(handles().identity(kind("int")), shape[1:], 2), None, body)
