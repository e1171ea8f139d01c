"""Lucene's postings, terms and norms written to files in bulk.

Read by calls from Python, a posting costs 5 µs; as Lucene's plain text (SimpleTextCodec) it takes 65 bytes and two
seconds a million to write, before it can be read. By a loop inside Java (see
:mod:`heed.retrieval.lucene.method_handles`) it takes 8 bytes and 0.3 µs.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from heed.retrieval.lucene.jvm import cast, java
from heed.retrieval.lucene.method_handles import (
    bind,
    compose,
    convert,
    count_loop,
    getter,
    in_sequence,
    java_int,
    java_list,
    java_type,
    method,
    method_handles,
    signature,
    static_method,
    with_parameters,
)

LUCENE = "org.apache.lucene"
TERMS, POSTINGS = f"{LUCENE}.index.TermsEnum", f"{LUCENE}.index.PostingsEnum"
NORMS, BYTES = f"{LUCENE}.index.NumericDocValues", f"{LUCENE}.util.BytesRef"
OUTPUT = f"{LUCENE}.store.DataOutput"
HOLDER = "java.util.concurrent.atomic.AtomicReference"
FREQUENCIES = 8  # PostingsEnum.FREQS: documents and how often a term is in each


def write_postings(folder: Path, name: str, reader: Any, field: str) -> bool:
    """Write the terms and postings of ``field`` into ``folder``; return False where no document has the field.

    ``name.sizes`` holds the length in bytes and the number of documents of each term, in the order of the
    terms' bytes, ``name.texts`` those bytes, ``name.pairs`` a document's number and the term's frequency in
    it, term after term. Numbers are of 32 bits, little-endian.
    """
    terms = _terms(reader, field)
    if terms is None:
        return False
    with _outputs(folder, [f"{name}.{part}" for part in ("sizes", "texts", "pairs")]) as outputs:
        _terms_loop().invokeWithArguments(java_list(terms.iterator(), *outputs, java(HOLDER)()))
    return True


def count_postings(reader: Any, fields: Sequence[str]) -> int:
    """Return the number of postings in ``fields`` together."""
    field_terms = (_terms(reader, field) for field in fields)
    return sum(terms.getSumDocFreq() for terms in field_terms if terms is not None)


def write_norms(path: Path, reader: Any, field: str, count: int) -> None:
    """Write Lucene's one byte for the length of ``field`` in each of ``count`` documents; 0 where there is none."""
    norms = java(f"{LUCENE}.index.MultiDocValues").getNormValues(_as_reader(reader), field)
    with _outputs(path.parent, [path.name]) as [output]:
        _norms_loop().invokeWithArguments(java_list(norms, output, java_int(count)))


def _terms(reader: Any, field: str) -> Any:
    return java(f"{LUCENE}.index.MultiTerms").getTerms(_as_reader(reader), field)


def _as_reader(reader: Any) -> Any:
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
    """Return a handle with the parameters ``(terms, sizes, texts, pairs, last)``.

    ``last`` holds what reads the postings of a term, for the next one: new for each, it takes half of the time. In
    Java::

        BytesRef term = terms.next();
        while (term != null) {
            sizes.writeInt(term.length);
            sizes.writeInt(terms.docFreq());
            texts.writeBytes(term.bytes, term.offset, term.length);
            writePairs(pairs, terms, last);
            term = terms.next();
        }
    """
    parameters = (BYTES, TERMS, OUTPUT, OUTPUT, OUTPUT, HOLDER)  # of the loop's body: the term, then the loop's own
    term, terms, sizes, texts, pairs, last = range(6)
    write_int = method(OUTPUT, "writeInt", "void", "int")
    write_length = compose(write_int, 1, getter(BYTES, "length", "int"))
    write_documents = compose(write_int, 1, method(TERMS, "docFreq", "int"))
    write_text = method(OUTPUT, "writeBytes", "void", "[B", "int", "int")
    for position, (name, field_type) in enumerate((("bytes", "[B"), ("offset", "int"), ("length", "int")), 1):
        write_text = compose(write_text, position, getter(BYTES, name, field_type))
    next_term = method(TERMS, "next", BYTES)
    body = in_sequence(
        with_parameters(write_length, parameters, sizes, term),
        with_parameters(write_documents, parameters, sizes, terms),
        with_parameters(write_text, parameters, texts, term, term, term),
        with_parameters(_pairs_loop(), parameters, pairs, terms, last),
        with_parameters(next_term, parameters, terms),
    )
    first_term = with_parameters(next_term, parameters[1:], 0)
    is_term = convert(static_method("java.util.Objects", "nonNull", "boolean", "java.lang.Object"), "boolean", BYTES)
    return method_handles().whileLoop(first_term, with_parameters(is_term, parameters, term), body)


def _pairs_loop() -> Any:
    """Return a handle with the parameters ``(pairs, terms, last)``.

    In Java::

        PostingsEnum postings = terms.postings(last.get(), PostingsEnum.FREQS);
        last.set(postings);
        for (int i = 0; i < terms.docFreq(); i++) {
            pairs.writeInt(postings.nextDoc());
            pairs.writeInt(postings.freq());
        }
    """
    write_int = method(OUTPUT, "writeInt", "void", "int")
    write_document = compose(write_int, 1, method(POSTINGS, "nextDoc", "int"))
    write_frequency = compose(write_int, 1, method(POSTINGS, "freq", "int"))
    write_pair = in_sequence(write_document, write_frequency)
    parameters = (OUTPUT, POSTINGS, "int")  # the last: how many postings there are
    count = with_parameters(method_handles().identity(java_type("int")), parameters, 2)
    loop = count_loop(count, with_parameters(write_pair, ("int", *parameters), 1, 2))
    loop = compose(compose(loop, 2, method(TERMS, "docFreq", "int")), 1, _next_postings())
    return with_parameters(loop, (OUTPUT, TERMS, HOLDER), 0, 1, 2, 1)  # of (pairs, terms, last, terms)


def _next_postings() -> Any:
    """Return a handle with the parameters ``(terms, last)``: the postings of the term, which ``last`` then holds."""
    held = convert(method(HOLDER, "get", "java.lang.Object"), POSTINGS, HOLDER)
    hold = convert(method(HOLDER, "set", "void", "java.lang.Object"), "void", HOLDER, POSTINGS)
    postings = compose(bind(method(TERMS, "postings", POSTINGS, POSTINGS, "int"), 2, java_int(FREQUENCIES)), 1, held)
    parameters = (POSTINGS, HOLDER)
    returned = with_parameters(method_handles().identity(java_type(POSTINGS)), parameters, 0)
    kept = in_sequence(with_parameters(hold, parameters, 1, 0), returned)
    return with_parameters(compose(kept, 0, postings), (TERMS, HOLDER), 0, 1, 1)


@cache
def _norms_loop() -> Any:
    """Return a handle with the parameters ``(norms, output, count)``.

    In Java::

        for (int i = 0; i < count; i++) {
            if (norms.advanceExact(i)) output.writeByte((byte) norms.longValue());
            else output.writeByte((byte) 0);
        }
    """
    parameters = ("int", NORMS, OUTPUT, "int")  # of the loop's body: the document, then the loop's own
    document, norms, output, _ = range(4)
    write_byte = method(OUTPUT, "writeByte", "void", "byte")
    norm = method_handles().explicitCastArguments(method(NORMS, "longValue", "long"), signature("byte", NORMS))
    body = method_handles().guardWithTest(
        with_parameters(method(NORMS, "advanceExact", "boolean", "int"), parameters, norms, document),
        with_parameters(compose(write_byte, 1, norm), parameters, output, norms),
        with_parameters(bind(write_byte, 1, java("java.lang.Byte")(0)), parameters, output),
    )
    count = with_parameters(method_handles().identity(java_type("int")), parameters[1:], 2)
    return count_loop(count, body)
