"""The postings of a Lucene index written as arrays: exported as a whole, or merged with those of an earlier index."""

import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.files import folder_bytes, on_disk
from heed.progress import timed
from heed.retrieval.bm25.postings import ByteStrings, Integers, Postings
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
            _merge(there, added, update["docids"], folder)
            shutil.rmtree(added)
        else:
            work.did(_export(index, fields, folder), "documents")


def _export(index: Path, fields: Sequence[str], folder: Path) -> int:
    """Write the postings of a whole index; return its number of documents."""
    raw = folder / "raw"
    raw.mkdir()
    with reading(index) as reader:
        numbers = _write_docids(folder, raw, reader)
        for field in fields:
            if write_postings(raw, field, reader, field):
                write_norms(raw / f"{field}.norms", reader, field, len(numbers))
                _write_field(folder, raw, field, numbers)
            for path in raw.iterdir():  # before the next field: they are larger than the arrays
                path.unlink()
    raw.rmdir()
    return len(numbers)


def _write_docids(folder: Path, raw: Path, reader: Any) -> NDArray[np.int32]:
    """Write the docids, in their order; return the number of each of Lucene's documents among them."""
    numbers = np.empty(reader.maxDoc(), dtype=np.int32)
    texts, lengths = np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int32)
    if write_postings(raw, ID, reader, ID):
        texts, lengths = _read(raw, f"{ID}.texts", np.uint8), _sizes(raw, ID)[:, 0]
        numbers[_read(raw, f"{ID}.pairs", np.int32)[::2]] = np.arange(len(numbers), dtype=np.int32)
    np.save(folder / f"{ID}.texts.npy", texts)
    np.save(folder / f"{ID}.ends.npy", _ends(lengths))
    return numbers


def _write_field(folder: Path, raw: Path, field: str, numbers: NDArray[np.int32]) -> None:
    pairs, sizes = raw / f"{field}.pairs", _sizes(raw, field)
    with_any, occurrences, largest = np.zeros(len(numbers), dtype=bool), 0, 0
    for block in _blocks(pairs):
        with_any[numbers[block[:, 0]]] = True
        occurrences += int(block[:, 1].sum(dtype=np.int64))
        largest = max(largest, int(block[:, 1].max()))
    if not occurrences:
        return  # texts of stop words alone
    count = int(sizes[:, 1].sum(dtype=np.int64))
    documents = (numbers[block[:, 0]] for block in _blocks(pairs))
    _write(folder, f"{field}.documents", np.dtype(np.int32), count, documents)
    frequencies = (block[:, 1] for block in _blocks(pairs))
    _write(folder, f"{field}.frequencies", np.min_scalar_type(largest), count, frequencies)
    lengths = np.empty(len(numbers), dtype=np.uint8)
    lengths[numbers] = _read(raw, f"{field}.norms", np.uint8)
    _save_field(
        folder,
        field,
        texts=_read(raw, f"{field}.texts", np.uint8),
        ends=_ends(sizes[:, 0]),
        starts=_ends(sizes[:, 1]),
        lengths=lengths,
        counts=np.array([np.count_nonzero(with_any), occurrences]),
    )


def _save_field(folder: Path, field: str, **arrays: NDArray[Any]) -> None:
    for name, array in arrays.items():
        np.save(folder / f"{field}.{name}.npy", array)


def _write(folder: Path, name: str, dtype: np.dtype[Any], count: int, blocks: Iterable[Integers]) -> None:
    """Write an array of ``count`` numbers block by block, in the memory of one block."""
    with (folder / f"{name}.npy").open("wb") as stream:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
        np.lib.format.write_array_header_1_0(stream, header)
        for block in blocks:
            block.astype(dtype).tofile(stream)


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


class _Field(NamedTuple):
    """All arrays of a field, as :class:`heed.retrieval.bm25.postings.FieldPostings` says them."""

    terms: ByteStrings
    starts: Integers
    documents: NDArray[np.int32]
    frequencies: Integers
    lengths: NDArray[np.uint8]
    documents_with: int
    occurrences: int


class _Numbering(NamedTuple):
    """How the documents of two sets of postings are numbered together.

    ``old`` and ``new`` are the numbers of the earlier documents, -1 of one that is gone, and of the added ones, each of
    which comes before what was at its one of ``places``; ``staying`` says which earlier ones stay.
    """

    old: NDArray[np.int32]
    new: NDArray[np.int32]
    staying: NDArray[np.bool_]
    places: Integers


def _numbering(earlier: Postings, added: Postings, removed: Sequence[str]) -> _Numbering:
    staying, gone = np.ones(earlier.size, dtype=bool), earlier.numbers_of(removed)
    staying[gone[gone >= 0]] = False
    places = _places(earlier.docids, added.docids)
    before = np.concatenate([[0], np.cumsum(staying)])
    old = before[:-1] + np.searchsorted(places, np.arange(earlier.size), side="right")
    old[~staying] = -1
    return _Numbering(old.astype(np.int32), (before[places] + np.arange(added.size)).astype(np.int32), staying, places)


def _merge(there: Path, new: Path, removed: Sequence[str], folder: Path) -> None:
    """Write the postings of earlier documents, in the folder ``there``, but those ``removed``, and of ``new`` ones."""
    earlier, added = Postings(there), Postings(new)
    numbering = _numbering(earlier, added, removed)
    texts, lengths = _spliced_strings(
        earlier.docids, numbering.staying, numbering.places, added.docids, np.ones(added.size, dtype=bool)
    )
    np.save(folder / f"{ID}.texts.npy", texts)
    np.save(folder / f"{ID}.ends.npy", _ends(lengths))
    for name in sorted({*earlier.fields, *added.fields}):
        fields = _read_field(there, name, earlier.size), _read_field(new, name, added.size)
        _merge_field(folder, name, *fields, numbering)


def _merge_field(folder: Path, name: str, old: _Field, new: _Field, numbering: _Numbering) -> None:
    starts, gone_with, gone_occurrences = _without_gone(old, numbering.old)
    occurrences = old.occurrences - gone_occurrences + new.occurrences
    if not occurrences:
        return
    places = _places(old.terms, new.terms)
    known: NDArray[np.bool_] = np.array(
        [place < len(old.terms) and old.terms[place] == term for place, term in zip(places, new.terms, strict=True)],
        dtype=np.bool_,
    )
    sizes, new_sizes = np.diff(starts), np.diff(new.starts)
    sizes[places[known]] += new_sizes[known]
    # a term's new postings come behind its staying ones
    behind = np.repeat(starts[places + known.astype(np.intp)], new_sizes)
    count = int(starts[-1]) + len(new.documents)
    dtype = np.promote_types(old.frequencies.dtype, new.frequencies.dtype)

    def documents(span: slice) -> Integers:
        numbers = numbering.old[old.documents[span]]
        return numbers[numbers >= 0]

    def frequencies(span: slice) -> Integers:
        block = old.frequencies[span].astype(dtype)
        return block[numbering.old[old.documents[span]] >= 0] if gone_with else block

    for part, part_dtype, values, inserted in (
        ("documents", np.dtype(np.int32), documents, numbering.new[new.documents]),
        ("frequencies", dtype, frequencies, new.frequencies),
    ):
        blocks = _spliced_blocks(len(old.documents), values, behind, inserted)
        _write(folder, f"{name}.{part}", part_dtype, count, blocks)
    used = sizes > 0
    texts, lengths = _spliced_strings(old.terms, used, places[~known], new.terms, ~known)
    _save_field(
        folder,
        name,
        texts=texts,
        ends=_ends(lengths),
        starts=_ends(_spliced(sizes, used, places[~known], new_sizes[~known])),
        lengths=_spliced(old.lengths, numbering.staying, numbering.places, new.lengths),
        counts=np.array([old.documents_with - gone_with + new.documents_with, occurrences]),
    )


def _without_gone(field: _Field, numbers: NDArray[np.int32]) -> tuple[Integers, int, int]:
    """Return where each term would start without documents that are gone, and how many these and their terms are."""
    if numbers.min(initial=0) >= 0:
        return field.starts, 0, 0
    gone, occurrences, count = np.zeros(len(numbers), dtype=bool), 0, 0
    starts = np.empty_like(field.starts)
    for begin in range(0, len(field.documents), BLOCK):
        documents = field.documents[begin : begin + BLOCK]
        alive = numbers[documents] >= 0
        here = slice(*np.searchsorted(field.starts, [begin, begin + len(documents)]))
        starts[here] = count + np.concatenate([[0], np.cumsum(alive)])[field.starts[here] - begin]
        gone[documents[~alive]] = True
        occurrences += int(field.frequencies[begin : begin + BLOCK][~alive].sum(dtype=np.int64))
        count += int(np.count_nonzero(alive))
    starts[np.searchsorted(field.starts, len(field.documents)) :] = count
    return starts, int(np.count_nonzero(gone)), occurrences


def _spliced_blocks(
    size: int, values: Callable[[slice], Integers], places: Integers, inserted: Integers
) -> Iterator[Integers]:
    """Yield in blocks the ``values`` of spans of ``size`` postings, and ``inserted`` ones at ``places`` among them."""
    begin, base, done = 0, 0, 0
    while begin < size or done < len(inserted):
        block = values(slice(begin, begin + BLOCK))
        begin, base, first = begin + BLOCK, base + len(block), base
        until = int(np.searchsorted(places, base)) if begin < size else len(inserted)
        yield np.insert(block, places[done:until] - first, inserted[done:until])
        done = until


def _spliced(
    values: NDArray[Any], staying: NDArray[np.bool_], places: Integers, inserted: NDArray[Any]
) -> NDArray[Any]:
    """Return those ``values`` that are ``staying``, and ``inserted`` ones, each before what was at its place."""
    before = np.concatenate([[0], np.cumsum(staying)])
    return np.insert(values[staying], before[places], inserted)


def _spliced_strings(
    old: ByteStrings, staying: NDArray[np.bool_], places: Integers, new: ByteStrings, chosen: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return bytes and lengths of the ``staying`` strings, and of the ``chosen`` of ``new``, each before its place."""
    lengths, new_lengths = np.diff(old.ends), np.diff(new.ends)
    letters, sizes = new.joined[np.repeat(chosen, new_lengths)], new_lengths[chosen]
    before = np.repeat(_ends(lengths * staying)[places], sizes)
    texts = np.insert(old.joined[np.repeat(staying, lengths)], before, letters)
    return texts, _spliced(lengths, staying, places, sizes)


def _places(old: ByteStrings, new: ByteStrings) -> Integers:
    """Return for each of ``new`` the place among ``old`` before which it comes."""
    places, low = list[int](), 0
    for string in new:
        low = bisect_left(old, string, low, high := min(low + NEAR, len(old)))
        low = bisect_left(old, string, low) if low == high else low
        places.append(low)
    return np.array(places, dtype=np.intp)


def _read_field(folder: Path, name: str, documents: int) -> _Field:
    """Return the arrays of a field, without any posting where no document has it."""
    if not (folder / f"{name}.starts.npy").exists():
        nothing, starts = np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
        strings, lengths = ByteStrings(nothing, starts), np.zeros(documents, dtype=np.uint8)
        return _Field(strings, starts, np.empty(0, dtype=np.int32), nothing, lengths, 0, 0)
    parts = ("texts", "ends", *_Field._fields[1:5], "counts")
    paths = (folder / f"{name}.{part}.npy" for part in parts)
    texts, ends, starts, numbers, frequencies, lengths, counts = (np.load(path, mmap_mode="r") for path in paths)
    documents_with, occurrences = counts.tolist()
    return _Field(ByteStrings(texts, ends), starts, numbers, frequencies, lengths, documents_with, occurrences)
