"""The postings of a Lucene index written as arrays: exported as a whole, or merged with those of an earlier index."""

import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from heed.files import folder_bytes, on_disk
from heed.progress import timed
from heed.retrieval.bm25.postings import ByteStrings, FieldPostings, Integers, Postings
from heed.retrieval.lucene.index_files import (
    ADDED,
    ID,
    UPDATED,
    postings_folder,
    reading,
    write_norms,
    write_postings,
)
from heed.reuse import Recipe, ensure_folder, folder_note, recipe_version, unchanged_note

BLOCK = 1 << 20  # postings converted at once
TEMPORARY = 6  # bytes for each of the index, of which about two fifths stay
NEAR = 64  # strings among which the next one's place is looked for before all others


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
        count, numbers = int(reader.numDocs()), _write_docids(folder, raw, reader)
        for field in fields:
            occurrences, largest = write_postings(raw, field, reader, field)
            if occurrences:  # not of texts of stop words alone
                write_norms(raw / f"{field}.norms", reader, field, len(numbers))
                _write_field(folder, raw, field, numbers, (occurrences, np.min_scalar_type(largest)))
            for path in raw.iterdir():  # before the next field: they are larger than the arrays
                path.unlink()
    raw.rmdir()
    return count


def _write_docids(folder: Path, raw: Path, reader: Any) -> NDArray[np.int32]:
    """Write the docids, in their order; return the number of each of Lucene's documents among them, -1 of removed."""
    numbers = np.full(reader.maxDoc(), -1, dtype=np.int32)
    texts, lengths = np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int32)
    if write_postings(raw, ID, reader, ID)[0]:
        texts, lengths = _read(raw, f"{ID}.texts", np.uint8), _sizes(raw, ID)[:, 0]
        numbers[_read(raw, f"{ID}.pairs", np.int32)[::2]] = np.arange(len(lengths), dtype=np.int32)
    _save(folder, ID, texts=texts, ends=_ends(lengths))
    return numbers


def _write_field(
    folder: Path, raw: Path, field: str, numbers: NDArray[np.int32], counts: tuple[int, np.dtype[Any]]
) -> None:
    """Write the postings of a field; ``counts`` are its occurrences and the type that holds each frequency."""
    (occurrences, frequencies), sizes, present = counts, _sizes(raw, field), numbers >= 0
    with _writing(folder, field, frequencies) as write:
        for block in _blocks(raw / f"{field}.pairs"):
            write(numbers[block[:, 0]], block[:, 1])
    lengths = np.empty(np.count_nonzero(present), dtype=np.uint8)
    lengths[numbers[present]] = _read(raw, f"{field}.norms", np.uint8)[present]
    texts, ends = _read(raw, f"{field}.texts", np.uint8), _ends(sizes[:, 0])
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
        places, low = list[int](), 0
        for string in new:
            low = bisect_left(old, string, low, high := min(low + NEAR, len(old)))
            low = bisect_left(old, string, low) if low == high else low
            places.append(low)
        pairs = zip(places, new, strict=True)
        known = [place < len(old) and old[place] == string for place, string in pairs]
        self._strings, self.places, self.known = (old, new), np.array(places, np.intp), np.array(known, np.bool_)
        self.new = self.places + np.cumsum(~self.known) - ~self.known  # where each of the new ones is
        self.old = np.delete(np.arange(len(old) + np.count_nonzero(~self.known)), self.new[~self.known])

    def values(self, old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        """Return one value of each: that of ``new`` for those among the new ones, that of ``old`` for the others."""
        values = np.insert(old, self.places[~self.known], new[~self.known])
        values[self.new] = new
        return values

    def strings(self, used: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """Return the arrays of those that are ``used``."""
        (old, new), unknown = self._strings, ~self.known
        sizes = np.diff(new.ends)
        before = np.repeat(old.ends[self.places[unknown]], sizes[unknown])
        texts = np.insert(old.joined, before, new.joined[np.repeat(unknown, sizes)])
        lengths = self.values(np.diff(old.ends), sizes)
        return {"texts": texts[np.repeat(used, lengths)], "ends": _ends(lengths[used])}


class _Numbering(NamedTuple):
    """The documents of two sets of postings: which stay, and the numbers of old ones, -1 of those gone, and of new."""

    union: _Union
    used: NDArray[np.bool_]
    old: NDArray[np.int32]
    new: NDArray[np.int32]


def _merge(earlier: Postings, added: Postings, removed: Sequence[str], folder: Path) -> None:
    """Write the postings of ``earlier`` documents, but those ``removed``, and of ``added`` ones."""
    union, gone = _Union(earlier.docids, added.docids), earlier.numbers_of(removed)
    staying = np.ones(earlier.size, dtype=bool)
    staying[gone[gone >= 0]] = False
    used = union.values(staying, np.ones(added.size, dtype=bool))
    numbers = np.cumsum(used, dtype=np.int32) - 1
    numbering = _Numbering(union, used, np.where(staying, numbers[union.old], -1), numbers[union.new])
    _save(folder, ID, **union.strings(used))
    for name in sorted({*earlier.fields, *added.fields}):
        old, new = (each.fields.get(name) or _nothing(each.size) for each in (earlier, added))
        _merge_field(folder, name, old, new, numbering)


def _nothing(documents: int) -> FieldPostings:
    """Return the postings of a field that no document has."""
    none, starts = np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    lengths = np.zeros(documents, dtype=np.uint8)
    return FieldPostings(ByteStrings(none, starts), starts, none.astype(np.int32), none, lengths, 0, 0)


def _merge_field(folder: Path, name: str, old: FieldPostings, new: FieldPostings, numbering: _Numbering) -> None:
    terms, sizes, new_sizes = _Union(old.terms, new.terms), np.diff(old.starts), np.diff(new.starts)
    behind = np.repeat(old.starts[terms.places + terms.known], new_sizes)  # which of the earlier postings new ones come
    count, done, occurrences = len(old.documents), 0, old.occurrences + new.occurrences
    new_documents, dtype = numbering.new[new.documents], np.promote_types(old.frequencies.dtype, new.frequencies.dtype)
    with _writing(folder, name, dtype) as write:
        for begin in range(0, max(count, 1), BLOCK):
            documents = numbering.old[old.documents[begin : begin + BLOCK]]
            frequencies, gone = old.frequencies[begin : begin + BLOCK].astype(dtype), np.flatnonzero(documents < 0)
            np.subtract.at(sizes, np.searchsorted(old.starts, begin + gone, side="right") - 1, 1)
            occurrences -= int(frequencies[gone].sum(dtype=np.int64))
            until = int(np.searchsorted(behind, begin + BLOCK)) if begin + BLOCK < count else len(behind)
            places = behind[done:until] - begin
            places -= np.searchsorted(gone, places)
            write(
                np.insert(np.delete(documents, gone), places, new_documents[done:until]),
                np.insert(np.delete(frequencies, gone), places, new.frequencies[done:until]),
            )
            done = until
    if not occurrences:
        for path in folder.glob(f"{name}.*.npy"):
            path.unlink()
        return
    new_sizes[terms.known] += sizes[terms.places[terms.known]]
    sizes = terms.values(sizes, new_sizes)
    lengths = numbering.union.values(old.lengths, new.lengths)[numbering.used]
    strings = terms.strings(sizes > 0)
    _save(folder, name, **strings, starts=_ends(sizes[sizes > 0]), **_lengths(lengths, occurrences))
