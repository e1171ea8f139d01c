"""The postings of a Lucene index as memory-mapped arrays, how they are made, and BM25 over them by a loop inside Java.

Documents are numbered as Lucene has them, without removed ones; their place is that of their docid in the order of
docids, which is the order of ties. The arrays hold what BM25 starts from, term frequencies and Lucene's byte for the
length, so that k1 and b may change.

Lucene computes a term's score in single precision, adds up a document's scores in double precision and
rounds the sum to single precision. While the sum is below 2**29 times its smallest addend, 53 bits hold
it exactly, in whatever order it was made. Beyond that another order can move it by a few 2**-53 of itself,
which rounding to 24 bits shows in one document of 2**27; Lucene's own order depends on the other documents.
"""

import shutil
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial
from itertools import chain, pairwise
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from heed.files import folder_bytes, on_disk
from heed.process import batches
from heed.progress import timed
from heed.retrieval.lucene.index_files import (
    ADDED,
    ID,
    UPDATED,
    postings_folder,
    reading,
    write_norms,
    write_postings,
)
from heed.retrieval.lucene.jvm import BM25, POSTINGS, java, java_errors
from heed.reuse import Recipe, ensure_folder, folder_note, recipe_version, unchanged_note

DOCIDS_IN_MEMORY = 1 << 18  # documents up to which all docids are held as strings, which is quicker than reading them
QUERIES_AT_ONCE = 50  # searched by one call of Java, which cannot be interrupted
TERMS_KEPT = 100_000  # of each open index: where the postings of a term are
NUMBERS = f"{ID}.numbers"  # the array with the number of each document, in the order of docids

Integers = NDArray[np.integer[Any]]
Numbers = NDArray[np.intp]  # of documents, or their places
Clause = tuple[str, str, float]  # field, term as the index holds it, weight; those of a field are together


class ByteStrings:
    """Sorted strings of bytes, one after the other in an array."""

    def __init__(self, joined: NDArray[np.uint8], ends: Integers) -> None:
        """``ends`` begins with a 0: it has one more number than there are strings."""
        self.joined, self.ends = joined, ends
        self._bytes, self._places = joined.data, ends.data  # a tenth of an array's time for one string

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, index: int) -> bytes:
        return self._bytes[self._places[index] : self._places[index + 1]].tobytes()

    def between(self, start: int, end: int) -> list[bytes]:
        """Return those from ``start`` to ``end - 1``; a tenth of the time that reading one after the other takes."""
        ends = self.ends[start : end + 1]
        joined = self.joined[ends[0] : ends[-1]].tobytes()
        return [joined[first:last] for first, last in pairwise((ends - ends[0]).tolist())]

    def decoded(self) -> Iterator[str]:
        """Yield all of them as text."""
        return (string.decode() for string in self.between(0, len(self)))

    def find(self, string: bytes) -> int:
        """Return the index of ``string``, -1 if it is not here."""
        index = bisect_left(self, string)
        return index if index < len(self) and self[index] == string else -1


class FieldPostings(NamedTuple):
    """The postings of a field: those of term ``t`` are from ``starts[t]`` to ``starts[t + 1]``, by document.

    ``lengths`` is Lucene's byte for the length of each document, ``documents_with`` counts the documents
    with any term, ``occurrences`` the terms of all documents, repeats included. Java maps the arrays of its own accord.
    """

    terms: ByteStrings
    starts: Integers
    documents: NDArray[np.int32]
    frequencies: Integers
    lengths: NDArray[np.uint8]
    documents_with: int
    occurrences: int


class Postings:
    """The open postings of an index."""

    def __init__(self, folder: Path) -> None:
        """Open what was built in ``folder``."""
        self.folder = folder
        self.docids = ByteStrings(self._load(folder, f"{ID}.texts"), self._load(folder, f"{ID}.ends"))
        names = (path.name.removesuffix(".starts.npy") for path in sorted(folder.glob("*.starts.npy")))
        self.fields = {name: self._field(folder, name) for name in names}

    @property
    def size(self) -> int:
        """Number of documents."""
        return len(self.docids)

    def docids_of(self, places: Numbers) -> list[str]:
        """Return the docids of documents."""
        if self.size <= DOCIDS_IN_MEMORY:
            docids: list[str] = self._docids[places].tolist()
            return docids
        joined, ends = self.docids.joined.data, self.docids.ends
        edges = zip(ends[places].tolist(), ends[places + 1].tolist(), strict=True)
        return [joined[start:end].tobytes().decode() for start, end in edges]

    def numbers_of(self, docids: Sequence[str]) -> Numbers:
        """Return the number of each of ``docids``, -1 for one that has none."""
        is_small = self.size <= DOCIDS_IN_MEMORY
        places = (self._places.get(docid, -1) if is_small else self.docids.find(docid.encode()) for docid in docids)
        numbers = np.fromiter(places, dtype=np.intp)
        known = numbers >= 0
        numbers[known] = self.numbers[numbers[known]]
        return numbers

    @cached_property
    def _docids(self) -> NDArray[np.object_]:
        return np.array(list(self.docids.decoded()), dtype=object)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {docid: place for place, docid in enumerate(self._docids)}

    @cached_property
    def numbers(self) -> NDArray[np.int32]:
        """The number of each document, in the order of docids."""
        return self._load(self.folder, NUMBERS)

    def _field(self, folder: Path, name: str) -> FieldPostings:
        texts, ends, starts, documents, frequencies, lengths, counts = (
            self._load(folder, f"{name}.{part}")
            for part in ("texts", "ends", "starts", "documents", "frequencies", "lengths", "counts")
        )
        return FieldPostings(ByteStrings(texts, ends), starts, documents, frequencies, lengths, *counts.tolist())

    def _load(self, folder: Path, name: str) -> NDArray[Any]:
        # slices of a memmap cost ten times as much as those of a plain array over it
        return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))


class TermPostings(NamedTuple):
    """Where a term's postings are, how many, and its idf, ``ln(1 + (N − n + 0.5) / (n + 0.5))`` in single precision."""

    first: int
    size: int
    idf: float


class BestDocuments(NamedTuple):
    """The best documents of a query, best first, equal ones by docid.

    ``scores`` are Lucene's, ``in_runs`` those of Anserini's run files: rounded to 1e-4, and a score that is not lower
    than the one before it by more than 1e-4 is lowered by 1e-6 for each such score in a row.
    """

    docids: list[str]
    scores: NDArray[np.float32]
    in_runs: NDArray[np.float64]


class MatrixSearch:
    """BM25 with one choice of k1 and b over the postings of an index.

    Thread-safe. Documents without any term of a field do not count in it, as in Lucene.
    """

    def __init__(self, postings: Postings, k1: float, b: float) -> None:
        """Map the postings; nothing is computed before the first query."""
        self.postings, self._places = postings, {name: place for place, name in enumerate(postings.fields)}
        self.find = lru_cache(TERMS_KEPT)(self._find)
        with java_errors("opening the postings"):
            fields = java("java.util.ArrayList")()
            for name, field in postings.fields.items():
                average = field.occurrences / field.documents_with
                fields.add(java(POSTINGS)(str(postings.folder / name), k1, b, average))
            self._java = java(BM25)(str(postings.folder / f"{NUMBERS}.npy"), fields)

    def search(
        self, queries: Iterable[Sequence[Clause]], depth: int, threads: int, apart: Collection[str] = ()
    ) -> Iterator[BestDocuments]:
        """Yield the ``depth`` best documents of each query.

        The sum of a field that is ``apart`` is rounded before it is added, as Lucene does where a field has a weight.
        """
        rounded = [name in apart for name in self._places]
        for group in batches(map(self._numbers, queries), QUERIES_AT_ONCE, lambda _: 1):
            ends = np.cumsum([len(query) for query in group]).tolist()
            with java_errors("searching"):
                arrays = self._java.search(list(chain.from_iterable(group)), ends, rounded, depth, threads)
            columns = (array.tostring() for array in arrays)  # bytes() takes 2,000 times as long
            for places, scores, in_runs in zip(columns, columns, columns, strict=True):
                docids = self.postings.docids_of(np.frombuffer(places, ">i4"))
                yield BestDocuments(docids, np.frombuffer(scores, ">f4"), np.frombuffer(in_runs, ">f8"))

    def score(self, query: Sequence[Clause], documents: Numbers) -> list[float]:
        """Return the score of each of some documents; 0 where a number is -1, and where a document has no term."""
        with java_errors("scoring documents"):
            scores: list[float] = self._java.scores(self._numbers(query), documents.tolist())
        return scores

    def _numbers(self, query: Sequence[Clause]) -> list[float]:
        """Return a query as Java takes it; terms that no document has are left out."""
        terms = (
            (number, *self.find(field, term), weight)
            for field, term, weight in query
            if (number := self._places.get(field)) is not None
        )
        rows = np.array([row for row in terms if row[2]], dtype=np.float64).reshape(-1, 5)
        rows[:, 3] = rows[:, 3].astype(np.float32) * rows[:, 4].astype(np.float32)
        numbers: list[float] = rows[:, :4].ravel().tolist()
        return numbers

    def idf(self, name: str, terms: Iterable[str]) -> dict[str, float]:
        """Return the idf of terms in a field; empty for a field that no document has."""
        return {term: self.find(name, term).idf for term in terms} if name in self._places else {}

    def _find(self, name: str, term: str) -> TermPostings:
        """Return where a term's postings are; one that no document has has none."""
        field = self.postings.fields[name]
        number = field.terms.find(term.encode())
        first, end = field.starts[number : number + 2].tolist() if number >= 0 else (0, 0)
        size = end - first
        idf = np.float32(log(1 + (field.documents_with - size + 0.5) / (size + 0.5)))
        return TermPostings(first, size, float(idf))


BLOCK = 1 << 20  # postings converted at once
TEMPORARY = 6  # bytes for each of the index, of which about two fifths stay
STRINGS = 1 << 10  # earlier ones that are read at once, where new ones come among them


def open_postings(index: Path, fields: Sequence[str]) -> Postings:
    """Return the postings of an index, made of it unless they are there.

    ``index`` is a folder of :func:`heed.retrieval.bm25.index.build_index`. Java is not needed where they are there.
    """
    recipe: Recipe = {"postings": recipe_version("postings"), "index": folder_note(index).recipe}
    return Postings(ensure_folder(postings_folder(index), recipe, partial(_build, index, fields, recipe)))


def _build(index: Path, fields: Sequence[str], recipe: Recipe, folder: Path) -> None:
    """Write the postings of ``index`` into ``folder``, if that can be of those of an earlier one and what was added."""
    update, there = folder_note(index).facts.get(UPDATED), postings_folder(index)
    earlier = unchanged_note(there) if update else None
    fits = earlier and update and earlier.recipe == {**recipe, "index": update["index"]}
    need = folder_bytes(there) if fits else TEMPORARY * folder_bytes(index / "lucene")
    with timed("matrix", "bm25") as work, on_disk(there, need):
        if update and fits:
            added = folder / ADDED
            added.mkdir()
            work.did(_export(index / ADDED, fields, added), "documents")
            _merge(Postings(there), Postings(added), update["docids"], folder)
            shutil.rmtree(added)
        else:
            work.did(_export(index, fields, folder), "documents")


def _export(index: Path, fields: Sequence[str], folder: Path) -> int:
    """Write the postings of a whole index; return its number of documents."""
    raw = folder / "raw"
    raw.mkdir()
    with reading(index) as reader:
        live = _write_docids(folder, raw, reader)
        for field in fields:
            occurrences, largest = write_postings(raw, field, reader, field)
            if occurrences:  # not of texts of stop words alone
                write_norms(raw / f"{field}.norms", reader, field, len(live))
                _write_field(folder, raw, field, live, (occurrences, np.min_scalar_type(largest)))
            for path in raw.iterdir():  # before the next field: they are larger than the arrays
                path.unlink()
    raw.rmdir()
    return int(np.count_nonzero(live))


def _write_docids(folder: Path, raw: Path, reader: Any) -> NDArray[np.bool_]:
    """Write the docids, in their order, and the number of each; return which of Lucene's documents are not removed."""
    live, documents = np.zeros(reader.maxDoc(), dtype=bool), np.empty(0, dtype=np.int32)
    texts, lengths = np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int32)
    if write_postings(raw, ID, reader, ID)[0]:
        texts, lengths = _read(raw, f"{ID}.texts", np.uint8), _sizes(raw, ID)[:, 0]
        documents = _read(raw, f"{ID}.pairs", np.int32)[::2]
        live[documents] = True
    _save(folder, ID, texts=texts, ends=_ends(lengths), numbers=_numbers_of(live)[documents])
    return live


def _numbers_of(staying: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return a number for each document, from 0 on; that of one that does not stay means nothing."""
    return np.cumsum(staying, dtype=np.int32) - 1


def _write_field(
    folder: Path, raw: Path, field: str, live: NDArray[np.bool_], counts: tuple[int, np.dtype[Any]]
) -> None:
    """Write the postings of a field; ``counts`` are its occurrences and the type that holds each frequency."""
    (occurrences, frequencies), sizes, numbers = counts, _sizes(raw, field), _numbers_of(live)
    with _writing(folder, field, frequencies) as write:
        for block in _blocks(raw / f"{field}.pairs"):
            write(numbers[block[:, 0]], block[:, 1])
    texts, ends = _read(raw, f"{field}.texts", np.uint8), _ends(sizes[:, 0])
    lengths = _read(raw, f"{field}.norms", np.uint8)[live]
    _save(folder, field, texts=texts, ends=ends, starts=_ends(sizes[:, 1]), **_lengths(lengths, occurrences))


def _lengths(lengths: NDArray[np.uint8], occurrences: int) -> dict[str, NDArray[Any]]:
    return {"lengths": lengths, "counts": np.array([np.count_nonzero(lengths), occurrences])}


def _save(folder: Path, field: str, **arrays: NDArray[Any]) -> None:
    for name, array in arrays.items():
        np.save(folder / f"{field}.{name}.npy", array)


@contextmanager
def _writing(folder: Path, field: str, frequencies: DTypeLike) -> Iterator[Callable[[Integers, Integers], None]]:
    """Yield what writes postings, documents and their frequencies, block by block, in the memory of one block."""
    with (
        _array(folder / f"{field}.documents.npy", np.int32) as write_documents,
        _array(folder / f"{field}.frequencies.npy", frequencies) as write_frequencies,
    ):

        def write(documents: Integers, frequencies: Integers) -> None:
            write_documents(documents)
            write_frequencies(frequencies)

        yield write


@contextmanager
def _array(path: Path, dtype: DTypeLike) -> Iterator[Callable[[Integers], None]]:
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False}
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {**header, "shape": (0,)})
        begin = stream.tell()
        yield lambda block: block.astype(dtype).tofile(stream)
        count = (stream.tell() - begin) // np.dtype(dtype).itemsize
        stream.seek(0)
        np.lib.format.write_array_header_1_0(stream, {**header, "shape": (count,)})  # as long as the first


def _blocks(pairs: Path) -> Iterator[NDArray[np.int32]]:
    with pairs.open("rb") as stream:
        while len(block := np.fromfile(stream, dtype="<i4", count=2 * BLOCK)):
            yield block.reshape(-1, 2)


def _sizes(raw: Path, name: str) -> NDArray[np.int32]:
    return _read(raw, f"{name}.sizes", np.int32).reshape(-1, 2)


def _read(raw: Path, name: str, dtype: Any) -> NDArray[Any]:
    return np.fromfile(raw / name, dtype=dtype)


def _ends(lengths: Integers) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


class _Union:
    """Earlier strings and new ones, each once, in their order."""

    def __init__(self, old: ByteStrings, new: ByteStrings) -> None:
        places, known, strings = list[int](), list[bool](), new.between(0, len(new))
        for begin in range(0, len(old), STRINGS):
            end = min(begin + STRINGS, len(old))
            until = bisect_right(strings, old[end - 1], len(places))
            near = old.between(begin, end) if until > len(places) else []
            for string in strings[len(places) : until]:
                place = bisect_left(near, string)
                places.append(begin + place)
                known.append(near[place] == string)
        behind = len(strings) - len(places)
        places, known = [*places, *[len(old)] * behind], [*known, *[False] * behind]
        self._strings, self.places, self.known = (old, new), np.array(places, np.intp), np.array(known, np.bool_)
        self._new = self.places + np.cumsum(~self.known) - ~self.known  # where each of the new ones is

    def values(self, old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        """Return one value of each: that of ``new`` for those among the new ones, that of ``old`` for the others."""
        values = np.insert(old, self.places[~self.known], new[~self.known])
        values[self._new] = new
        return values

    def strings(self, used: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """Return the arrays of those that are ``used``."""
        (old, new), unknown = self._strings, ~self.known
        sizes = np.diff(new.ends)
        before = np.repeat(old.ends[self.places[unknown]], sizes[unknown])
        texts = np.insert(old.joined, before, new.joined[np.repeat(unknown, sizes)])
        lengths = self.values(np.diff(old.ends), sizes)
        return {"texts": texts[np.repeat(used, lengths)], "ends": _ends(lengths[used])}


def _merge(earlier: Postings, added: Postings, removed: Sequence[str], folder: Path) -> None:
    """Write the postings of ``earlier`` documents, but those ``removed``, and of ``added`` ones, behind them."""
    union, gone = _Union(earlier.docids, added.docids), earlier.numbers_of(removed)
    staying = np.ones(earlier.size, dtype=bool)
    staying[gone[gone >= 0]] = False
    old, first_new = _numbers_of(staying), np.count_nonzero(staying)
    used = union.values(staying[earlier.numbers], np.ones(added.size, dtype=bool))
    numbers = union.values(old[earlier.numbers], first_new + added.numbers)[used]
    _save(folder, ID, **union.strings(used), numbers=numbers)
    for name in sorted({*earlier.fields, *added.fields}):
        old_field, new_field = (each.fields.get(name) or _nothing(each.size) for each in (earlier, added))
        _merge_field(folder, name, old_field, new_field, staying)


def _nothing(documents: int) -> FieldPostings:
    """Return the postings of a field that no document has."""
    none, starts = np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    lengths = np.zeros(documents, dtype=np.uint8)
    return FieldPostings(ByteStrings(none, starts), starts, none.astype(np.int32), none, lengths, 0, 0)


def _merge_field(folder: Path, name: str, old: FieldPostings, new: FieldPostings, staying: NDArray[np.bool_]) -> None:
    terms, sizes, new_sizes = _Union(old.terms, new.terms), np.diff(old.starts), np.diff(new.starts)
    behind = np.repeat(old.starts[terms.places + terms.known], new_sizes)  # which of the earlier postings new ones come
    count, done, occurrences = len(old.documents), 0, old.occurrences + new.occurrences
    numbers, new_documents = _numbers_of(staying), new.documents + np.int32(np.count_nonzero(staying))
    dtype = np.promote_types(old.frequencies.dtype, new.frequencies.dtype)
    with _writing(folder, name, dtype) as write:
        for begin in range(0, max(count, 1), BLOCK):
            documents = old.documents[begin : begin + BLOCK]
            frequencies = old.frequencies[begin : begin + BLOCK].astype(dtype)
            gone = np.flatnonzero(~staying[documents])
            np.subtract.at(sizes, np.searchsorted(old.starts, begin + gone, side="right") - 1, 1)
            occurrences -= int(frequencies[gone].sum(dtype=np.int64))
            until = int(np.searchsorted(behind, begin + BLOCK)) if begin + BLOCK < count else len(behind)
            places = behind[done:until] - begin
            places -= np.searchsorted(gone, places)
            write(
                np.insert(np.delete(numbers[documents], gone), places, new_documents[done:until]),
                np.insert(np.delete(frequencies, gone), places, new.frequencies[done:until]),
            )
            done = until
    if not occurrences:
        for path in folder.glob(f"{name}.*.npy"):
            path.unlink()
        return
    new_sizes[terms.known] += sizes[terms.places[terms.known]]
    sizes = terms.values(sizes, new_sizes)
    lengths = np.concatenate([old.lengths[staying], new.lengths])
    strings = terms.strings(sizes > 0)
    _save(folder, name, **strings, starts=_ends(sizes[sizes > 0]), **_lengths(lengths, occurrences))
