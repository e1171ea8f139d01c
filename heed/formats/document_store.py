"""Document store: the documents of a collection in one SQLite file, read by docid and in docid order.

SQLite (standard library) gives crash-safe building, sorting beyond memory and random access in
microseconds. Lucene keeps no text: with stored text every hit would carry its whole document.
Documents are numbered in docid order, so that counting and splitting them into ranges reads none.
Each is compressed on its own by Zstandard, so that reading one unpacks no other, with a dictionary of what the
documents have in common: a few hundred words hold too little repetition to compress well on their own, and the
dictionary is as if each came after typical ones (RFC 8878, section 5).

A folder of indexes notes where its documents are from, so that no other collection of its name overwrites it. Documents
that were edited in place are built again; other documents from another place are another collection.
"""

import json
import os
import re
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from hashlib import sha256
from heapq import merge
from itertools import accumulate, chain
from pathlib import Path
from threading import local
from typing import Any, NamedTuple, overload
from weakref import finalize
from zlib import crc32

import numpy as np
import zstandard
from numpy.typing import NDArray

from heed.errors import SHOWN, DataError, HeedError, fail
from heed.files import digest, digest_json, on_disk, read_lines, unpacked_name
from heed.formats.documents import SUFFIXES, DocumentLine, Files, Source, is_trec_documents, leaving_out
from heed.languages import Language
from heed.progress import bar, log, number_of
from heed.reuse import NOTE, SOURCE, Note, Recipe, ensure_folder, read_note, recipe_version, unchanged_note, write_note
from heed.types import Document

LEVEL = 3  # 6 saves a twentieth more and takes four times as long
DOCUMENTS, LONGEST = 2000, 1 << 13  # of the sample that a dictionary is made from, and bytes of each
LARGEST = 1 << 16  # bytes of a dictionary; twice as many save a hundredth more
SEGMENT = 537  # bytes; what zstd finds best for tables and English, in four times as long: a twentieth less at most
LEAST = 1 << 18  # bytes of a sample below which a dictionary would save less than it takes
BETWEEN = b"\xff"  # in no text of UTF-8
CHANGES = "changes"  # in the note: since each of the earlier states the documents added, changed or removed
MOST_CHANGES = 200_000  # docids and states in the note, of the last states, of which an index can be brought up to date
MOST_CHANGED = 0.2  # of the documents: where more have changed, all is made at once
DIGESTS = re.compile(r'"[0-9a-f]{64}( articles)?"(, )?')  # of files, in a recipe


def dictionary_of(db: sqlite3.Connection) -> bytes:
    """Return a dictionary for the documents of ``staged``; empty where it would not pay.

    It is made from a sample, the same in whatever order the documents came: those of least hash.
    """
    db.create_function("hashed", 1, lambda docid: crc32(docid.encode()), deterministic=True)
    chosen = "SELECT rowid FROM early.staged ORDER BY hashed(docid), docid DESC LIMIT ?"
    query = f"SELECT substr(body, 1, ?) FROM early.staged WHERE rowid IN ({chosen}) ORDER BY hashed(docid) DESC, docid"  # noqa: S608
    bodies: list[bytes | bytearray | memoryview] = [body for (body,) in db.execute(query, (LONGEST, DOCUMENTS))]
    if sum(map(len, bodies)) < LEAST:
        return b""
    return zstandard.train_dictionary(LARGEST, bodies, k=SEGMENT, d=8).as_bytes()


class Unpacker(local):
    """Reads compressed documents in any thread: each has a decompressor of its own."""

    def __init__(self, dictionary: bytes) -> None:
        self._decompressor = zstandard.ZstdDecompressor(dict_data=_trained(dictionary))

    def texts(self, content: bytes) -> list[str]:
        """Return the texts that were packed; raises ZstdError or ValueError for damaged bytes."""
        return [text.decode() for text in self._decompressor.decompress(content).split(BETWEEN)]


def _trained(dictionary: bytes) -> zstandard.ZstdCompressionDict | None:
    return zstandard.ZstdCompressionDict(dictionary) if dictionary else None


VERSION = recipe_version("store")
FILE = "documents.sqlite"
STAGED = "staged.sqlite"  # the documents in the order of their files, while the store is built
CACHE = 16  # MiB that SQLite holds of each file while it builds, and sorts at once
PAGE = 1 << 14  # bytes: of SQLite's 4096, documents that fit badly would leave a tenth empty
UNPACKED = 4  # bytes of text for each of a compressed file
BATCH = 1_000  # documents written at once
MAPPED = 1 << 40  # bytes of the file that are read without a copy: as many as SQLite maps, 2 GiB
FIRST_WORDS = 80  # characters, where a document has no title
MARKUP = re.compile(r"<[^>]*>|[|#]|-{3,}")  # of tables
LINES = "lines.npy"  # in a store's folder: the hashes of each document's line and file, in the order of docids
INSERT = "INSERT INTO documents (docid, body) VALUES (?, ?)"
COPY = (
    "INSERT INTO documents (docid, body) "
    "SELECT docid, body FROM earlier.documents WHERE place > ? AND place <= ? ORDER BY place"
)

Row = tuple[str, bytes, int, int]  # a document's id, its packed texts, the hashes of its line and its file


class DocumentStore:
    """An open document store; ``digest`` identifies its inputs, ``tabular`` is true if it holds tables."""

    def __init__(self, folder: Path, inputs: str) -> None:
        """Open the store in ``folder``; ``inputs`` is the digest for the recipes of indexes and runs.

        Raises :class:`DataError` for a store of another version. A damaged one raises it here or when read.
        """
        self.digest, self.folder, self._path = inputs, folder, folder / FILE
        address = f"{self._path.resolve().as_uri()}?mode=ro"
        # a statement of the cache may be given to two threads at once (Python 3.12 and later): each then loses rows
        self._db = sqlite3.connect(address, uri=True, check_same_thread=False, cached_statements=0)
        finalize(self, self._db.close)  # Python 3.13 and later warn of a connection that nobody closed
        self._db.execute(f"PRAGMA mmap_size = {MAPPED}")
        [[version]] = self._select("PRAGMA user_version")
        if version != VERSION:
            raise DataError(f"{self._path}: made by another version of Heed; run the command that made it again")
        [[tabular, dictionary]] = self._select("SELECT tabular, dictionary FROM form")
        [[count]] = self._select("SELECT MAX(place) FROM documents")
        self.count: int = count
        self.tabular = bool(tabular)
        self._unpacker = Unpacker(dictionary)

    def __iter__(self) -> Iterator[Document]:
        """Yield all documents by docid, so that the order of the input files never matters."""
        return self.within(0, self.count)

    def within(self, start: int, end: int) -> Iterator[Document]:
        """Yield documents number ``start`` to ``end - 1`` in the order of docids, from 0."""
        query = "SELECT docid, body FROM documents WHERE place > ? AND place <= ? ORDER BY place"
        return self._unpacked(self._select(query, (start, end)))

    def docids(self) -> Iterator[str]:
        """Return all docids, in their order."""
        return (docid for (docid,) in self._select("SELECT docid FROM documents ORDER BY docid"))

    def get(self, docids: Sequence[str]) -> list[Document]:
        """Return the documents of ``docids``, in that order; raises :class:`DataError` for one that is missing."""
        documents = self.find(docids)
        fail(f"document {docid}: not in the collection" for docid in docids if docid not in documents)
        return [documents[docid] for docid in docids]

    def find(self, docids: Sequence[str]) -> dict[str, Document]:
        """Return those of ``docids`` that the collection holds, by docid."""
        return {document.docid: document for document in self.those_of(docids)}

    def those_of(self, docids: Sequence[str]) -> Iterator[Document]:
        """Yield those of ``docids`` that the collection holds, in any order."""
        return self._unpacked(self._among("docid, body", docids))

    def missing(self, docids: Sequence[str]) -> list[str]:
        """Return those of ``docids`` that the collection does not hold."""
        here = {docid for (docid,) in self._among("docid", docids)}
        return [docid for docid in docids if docid not in here]

    def changed_since(self, earlier: Note | None, recipe: Recipe) -> list[str] | None:
        """Return the docids added, changed or removed since something was made of the documents.

        ``earlier`` is its note, ``recipe`` the one by which it is to be made. None where that differs in more than
        the documents, and where the changes are not known or too many.
        """
        note = read_note(self.folder / NOTE)
        changes = note.facts.get(CHANGES, []) if note else []
        states = [state for state, _ in changes]
        recipe = json.loads(json.dumps({**recipe, "documents": ""}))
        if not earlier or {**earlier.recipe, "documents": ""} != recipe or earlier.recipe["documents"] not in states:
            return None
        since = changes[states.index(earlier.recipe["documents"]) :]
        changed = sorted({docid for _, touched in since for docid in touched})
        return changed if len(changed) <= MOST_CHANGED * self.count else None

    def _among(self, columns: str, docids: Sequence[str]) -> Iterator[Any]:
        """Return ``columns`` of those of ``docids`` that are there."""
        query = f"SELECT {columns} FROM json_each(?) CROSS JOIN documents ON docid = value"  # noqa: S608
        return self._select(query, [json.dumps(sorted(docids))])

    def _unpacked(self, rows: Iterable[tuple[str, bytes]]) -> Iterator[Document]:
        texts = self._unpacker.texts
        for docid, body in rows:
            try:
                yield Document(docid, *texts(body))
            except (zstandard.ZstdError, ValueError, TypeError) as error:
                raise self._damaged(f"document {docid}: {error}") from error

    def _select(self, query: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        try:
            yield from self._db.execute(query, values)
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error

    def _damaged(self, why: object) -> DataError:
        return DataError(f"{self._path}: damaged ({why}); remove its folder and run the command that made it again")


def hash_of(content: bytes) -> int:
    """Return 64 bits of a hash of a document's line, or of its texts where they are not from a line."""
    return _as_number(sha256(content).digest())


def _hashes_of_files(source: Source) -> dict[Path, int]:
    """Return 64 bits of the digest of each file; none of another source, whose documents' paths may be their ids."""
    paths = source.paths if isinstance(source, Files) else ()
    return {path: _as_number(bytes.fromhex(digest(path))) for path in paths}


def _as_number(sha256_: bytes) -> int:
    return int.from_bytes(sha256_[:8], "little", signed=True)


class EarlierStore:
    """The documents of a store, and which of them were read again."""

    def __init__(self, of_files: Mapping[Path, int], path: Path | None = None) -> None:
        """Take the hashes of files that are read now, and the file of a store; without one there are no documents.

        A store has the hashes of its lines and files beside it.
        """
        self.of_files, self.path = of_files, path
        self._lines: NDArray[np.int64] = np.load(path.with_name(LINES)) if path else np.empty((0, 2), dtype=np.int64)
        self._files = self._lines[:, 1].copy()  # as they were
        self._order = np.argsort(self._lines[:, 0])
        self._sorted = self._lines[self._order, 0]
        self._kept = np.zeros(len(self._lines), dtype=bool)
        self.is_used = False  # whether any document is kept
        self.is_doubtful = False  # whether a document came twice, of which reading all lines names both

    def holds_file(self, path: Path) -> bool:
        """Return whether the documents of a file are here; they are kept then."""
        places = np.flatnonzero((self._files == self.of_files.get(path, 0)) & (self._files != 0))
        self._keep(places)
        return len(places) > 0

    def holds(self, path: Path, lines: Sequence[bytes]) -> NDArray[np.bool_]:
        """Return which of the ``lines`` of a file are here; their documents are kept then."""
        joined = b"".join([sha256(line.rstrip(b"\r\n")).digest()[:8] for line in lines])
        hashes = np.frombuffer(joined, dtype="<i8")
        index = np.minimum(np.searchsorted(self._sorted, hashes), len(self._sorted) - 1)
        is_here: NDArray[np.bool_] = self._sorted[index] == hashes
        places = self._order[index[is_here]]
        self.is_doubtful = self.is_doubtful or len(np.unique(places)) < len(places)
        self._keep(places)
        self._lines[places, 1] = self.of_files.get(path, 0)
        return is_here

    def _keep(self, places: NDArray[np.intp]) -> None:
        self.is_doubtful = self.is_doubtful or bool(self._kept[places].any())
        self._kept[places] = True
        self.is_used = self.is_used or len(places) > 0

    def copy_to(self, db: sqlite3.Connection, rows: Iterator[Row]) -> tuple[NDArray[np.int64], list[str]]:
        """Write the documents that are kept, and the new ``rows``, in the order of docids.

        ``db`` has this store attached as ``earlier``. Returns the hashes of all lines and files, and the docids of
        documents that are new, changed or gone, none where nothing is kept.
        """
        size = len(self._lines) if self.is_used else 0
        gone = np.flatnonzero(~self._kept[:size]).tolist()
        select = "SELECT docid FROM earlier.documents WHERE place = ?"
        touched = {db.execute(select, (place + 1,)).fetchone()[0] for place in gone}
        hashes, start = array("q"), 0
        row: Row | None
        changes = merge(((place, None) for place in gone), self._placed(db, rows), key=lambda change: change[0])
        for place, row in chain(changes, [(size, None)]):
            if place > start:
                db.execute(COPY, (start, place))
                hashes.frombytes(self._lines[start:place].tobytes())
                start = place
            if row is None:
                start += 1
            else:
                db.execute(INSERT, row[:2])
                hashes.extend(row[2:])
                touched.update(row[:1] if size else ())
        return np.frombuffer(hashes, dtype=np.int64).reshape(-1, 2), sorted(touched)

    def _placed(self, db: sqlite3.Connection, rows: Iterator[Row]) -> Iterator[tuple[int, Row]]:
        """Yield each row with the place of the document before which it comes."""
        following = "SELECT place - 1, docid FROM earlier.documents WHERE docid >= ? ORDER BY docid LIMIT 1"
        for row in rows:
            before = db.execute(following, row[:1]).fetchone() if self.is_used else (0, "")
            place, docid = before or (len(self._lines), "")
            self.is_doubtful = self.is_doubtful or (docid == row[0] and bool(self._kept[place]))
            yield place, row


class StoredDocuments(Sequence[Document]):
    """Chosen documents of a store, read when the first of them is looked at."""

    def __init__(
        self,
        store: DocumentStore,
        docids: Sequence[str],
        read: Callable[[Sequence[str]], list[Document]] | None = None,
    ) -> None:
        """Choose ``docids``, in that order; ``read`` reads them all, by default from the store."""
        self.docids, self._store, self._read = docids, store, read or store.get

    @property
    def digest(self) -> str:
        """The digest of the store's documents."""
        return self._store.digest

    def chosen(self, places: Sequence[int]) -> list[Document]:
        """Return the documents at ``places``, and read no other."""
        return self._store.get([self.docids[position] for position in places])

    def __reduce__(self) -> tuple[Any, ...]:
        """Take the documents along where these are sent elsewhere."""
        return list, (self._documents,)

    @cached_property
    def _documents(self) -> list[Document]:
        return self._read(self.docids)

    @overload
    def __getitem__(self, index: int) -> Document: ...
    @overload
    def __getitem__(self, index: slice) -> list[Document]: ...
    def __getitem__(self, index: int | slice) -> Document | list[Document]:
        return self._documents[index]

    def __len__(self) -> int:
        return len(self.docids)


def chosen(documents: Sequence[Document], places: Sequence[int]) -> list[Document]:
    """Return the documents at ``places``; of a store these alone are read."""
    if isinstance(documents, StoredDocuments):
        return documents.chosen(places)
    return [documents[position] for position in places]


def docids_of(documents: Sequence[Document]) -> Sequence[str]:
    """Return the docids of ``documents``, without reading those of a store."""
    return documents.docids if isinstance(documents, StoredDocuments) else [document.docid for document in documents]


def open_store(folder: Path, source: Source) -> DocumentStore:
    """Return the store of ``source`` in ``folder``, built unless it is there with the same inputs.

    Raises :class:`DataError` naming file and line of every document without an id or text and of
    every docid that comes twice, and when there is no document at all.
    """
    inputs = source.recipe
    recipe: Recipe = {"store": VERSION, "documents": inputs}

    def build(part: Path) -> Recipe:
        note = unchanged_note(folder)
        fits = note and _settings(note.recipe) == _settings(recipe) and (folder / LINES).exists()
        of_files = _hashes_of_files(source)
        earlier = EarlierStore(of_files, folder / FILE if fits else None)
        with on_disk(folder, _unpacked_bytes(source) * (1 if fits else 2)):  # documents unsorted, and the store
            touched = _build(part, source, earlier)
            if earlier.is_doubtful:  # a document comes twice, which reading all lines names
                (part / FILE).unlink()
                earlier = EarlierStore(of_files)
                _build(part, source, earlier)
        if source.recipe != inputs:
            raise DataError(f"{source}: changed while it was read; wait until whatever writes it ends, then run again")
        if not note or not earlier.is_used:
            return {}
        log.info(f"{folder}: {number_of(len(touched), 'document')} added, changed or removed; the others are kept")
        changes = [*note.facts.get(CHANGES, []), [digest_json(note.recipe["documents"]), touched]]
        sizes = accumulate(1 + len(docids) for _, docids in reversed(changes))
        return {CHANGES: changes[-max(sum(size <= MOST_CHANGES for size in sizes), 1) :]}

    ensure_folder(folder, recipe, build)
    return DocumentStore(folder, digest_json(inputs))


def _unpacked_bytes(source: Source) -> int:
    """Return about how many bytes of text are in files, packed ones unpacked; 0 of another source."""
    paths = source.paths if isinstance(source, Files) else ()
    return sum(path.stat().st_size * (1 if unpacked_name(path) == path.name else UNPACKED) for path in paths)


def _settings(recipe: Recipe) -> str:
    """Return a recipe without the digests of files: how they are read."""
    return DIGESTS.sub("", json.dumps(recipe, sort_keys=True))


def title_of(document: Document) -> str:
    """Return a document's title, a table's caption, or else the first words of the text."""
    if title := document.title or document.caption:
        return title
    beginning = " ".join(MARKUP.sub(" ", document.text[: 4 * FIRST_WORDS]).split())
    cut = beginning[:FIRST_WORDS]
    return cut if cut == beginning else f"{cut}…"


def existing_store(folder: Path, documents: str) -> DocumentStore | None:
    """Return the store in ``folder`` if it is there and of the documents with this digest, else None."""
    note = read_note(folder / NOTE)
    if not note or note.recipe.get("store") != VERSION or digest_json(note.recipe.get("documents")) != documents:
        return None
    try:
        return DocumentStore(folder, documents)
    except (HeedError, sqlite3.Error):
        return None


def _build(part: Path, source: Source, earlier: EarlierStore) -> list[str]:
    """Build a store, of an ``earlier`` one if it can; return the docids that are new, changed or gone."""
    staged = part / STAGED
    with closing(sqlite3.connect(part / FILE, isolation_level=None)) as db:
        # another file, since a dropped table leaves its space in the file
        db.execute("ATTACH ? AS early", (str(staged),))
        for name in ("main", "early"):
            # the whole folder is renamed into place when complete: a journal would only cost time
            db.executescript(f"PRAGMA {name}.journal_mode = OFF; PRAGMA {name}.synchronous = OFF;")
            db.execute(f"PRAGMA {name}.cache_size = -{CACHE << 10}")
            db.execute(f"PRAGMA {name}.page_size = {PAGE}")
        db.execute("ATTACH ? AS earlier", (str(earlier.path or ""),))
        db.execute("PRAGMA temp_store = FILE")
        db.execute("CREATE TABLE early.staged (docid, body, file INT, line INT, hash INT)")
        files, tabular = _stage(db, source, earlier)
        db.execute("BEGIN")
        db.execute("CREATE TABLE main.form (tabular INT, dictionary BLOB)")
        db.execute("CREATE TABLE main.documents (place INTEGER PRIMARY KEY, docid TEXT, body BLOB)")
        db.execute("CREATE INDEX main.docids ON documents (docid)")
        form = "SELECT tabular, dictionary FROM earlier.form"
        was_tabular, dictionary = db.execute(form).fetchone() if earlier.is_used else (False, dictionary_of(db))
        settings = zstandard.ZstdCompressionParameters.from_level(LEVEL, write_checksum=True, write_dict_id=False)
        pack = zstandard.ZstdCompressor(compression_params=settings, dict_data=_trained(dictionary)).compress
        ordered = db.execute("SELECT docid, body, hash, file FROM staged ORDER BY docid")
        of_files = [earlier.of_files.get(path, 0) for path in files]
        rows = ((docid, pack(body), line_hash, of_files[file]) for docid, body, line_hash, file in ordered)
        hashes, touched = earlier.copy_to(db, rows)
        db.execute("INSERT INTO main.form VALUES (?, ?)", (tabular or was_tabular, dictionary))
        db.execute(f"PRAGMA main.user_version = {VERSION}")
        db.execute("COMMIT")
        fail(_duplicates(db, files))
        if not len(hashes):
            raise DataError(f"{source}: no document in it; expected one JSON object a line")
    np.save(part / LINES, hashes)
    staged.unlink()
    return touched


def _stage(db: sqlite3.Connection, source: Source, earlier: EarlierStore) -> tuple[list[Path], bool]:
    """Write every document, with its file's number and line, that ``earlier`` does not hold.

    Returns the files by number, and whether one of these documents is a table.
    """
    problems: list[str] = []
    rows: list[tuple[str, bytes, int, int, int]] = []
    number: dict[Path, int] = {}
    tabular = False
    insert = "INSERT INTO early.staged VALUES (?, ?, ?, ?, ?)"
    db.execute("BEGIN")
    with leaving_out(earlier if earlier.path else None):
        for line in bar(source.lines(), 0, "documents", "documents"):
            if line.document is None:
                if len(problems) == SHOWN:
                    fail([*problems[:-1], "… and more; reading stopped here"])
                problems.append(f"{line.path}, line {line.line_no}: {line.problem}")
                continue
            body = BETWEEN.join([text.encode() for text in line.document[1:]])
            content = line.text.encode() or BETWEEN.join([line.document.docid.encode(), body])
            if earlier.path and earlier.holds(line.path, [content])[0]:  # of other files than lines of JSON in UTF-8
                continue
            tabular = tabular or line.document.is_table
            place = number.setdefault(line.path, len(number)), line.line_no
            rows.append((line.document.docid, body, *place, hash_of(content)))
            if len(rows) == BATCH:
                db.executemany(insert, rows)
                rows.clear()
    db.executemany(insert, rows)
    db.execute("COMMIT")
    fail(problems)
    return list(number), tabular


def _duplicates(db: sqlite3.Connection, files: list[Path]) -> Iterator[str]:
    several = "SELECT docid FROM main.documents GROUP BY docid HAVING COUNT(*) > 1"
    if db.execute(f"{several} LIMIT 1").fetchone() is None:
        return  # saves reading every text once more
    twice = f"SELECT docid, file, line FROM staged WHERE docid IN ({several}) ORDER BY docid, file, line"  # noqa: S608
    first: tuple[str, int, int] = ("", 0, 0)
    for docid, file, line in db.execute(twice):
        if docid == first[0]:
            first_place = f"{files[first[1]]}, line {first[2]}"
            yield f"{files[file]}, line {line}: document {docid} was already at {first_place}; keep one of them"
        else:
            first = (docid, file, line)


ANY = "latin-1"  # an encoding of files that are not UTF-8 and of which only the ids count, which are ASCII


def read_docids(path: Path) -> Iterator[str]:
    """Yield the ids of ``path``: documents, a folder of them, ``indexes/…/documents``, or a list of one docid a line.

    Raises :class:`heed.errors.DataError` naming each bad line.
    """
    if (path / FILE).is_file():
        yield from DocumentStore(path, "").docids()
        return
    problems = []
    for line in _listed(path) if _is_list(path) else Files([path], ANY).lines():
        if line.document:
            yield line.document.docid
        else:
            problems.append(f"{line.path}, line {line.line_no}: {line.problem}")
            if len(problems) > SHOWN:
                break
    fail(problems)


def _is_list(path: Path) -> bool:
    """Whether a file holds neither TREC's documents nor JSON, which documents may be whatever the file's suffix."""
    if not path.is_file() or unpacked_name(path).endswith(SUFFIXES) or is_trec_documents(path):
        return False
    first = next((text for _, text in read_lines(path) if text.strip()), "")
    return not (first.lstrip().startswith(("{", "[")) or "\t" in first.strip())


def _listed(path: Path) -> Iterator[DocumentLine]:
    for line_no, text in read_lines(path):
        words = text.split()
        if len(words) > 1:
            yield DocumentLine(path, line_no, None, f"found {text.strip()[:60]!r}, expected one docid a line")
        elif words:
            yield DocumentLine(path, line_no, Document(words[0], "", ""))


def open_documents(source: Source, index: Path) -> DocumentStore:
    """Return the documents of ``source``, stored below ``index``, which notes where they are from.

    Raises :class:`DataError`, before anything is written, if it is of other documents from other places. Sources
    without ``places`` (files and folders, or the id of a data set), and an index that names none, are taken as they
    come.
    """
    note, places = read_note(index / SOURCE), _relative(source, index)
    earlier: Recipe = note.recipe if note else {"documents": "", "places": []}
    is_elsewhere = places and earlier["places"] and not _meet(earlier["places"], places)
    if is_elsewhere and digest_json(source.recipe) != earlier["documents"]:
        parent = os.pardir
        others = (os.path.normpath(index / name) if name.startswith(parent) else name for name in earlier["places"])
        raise DataError(
            f"{index}: is of another collection of this name, whose documents are {', '.join(others)}; asked for are "
            f"those of {source}; give this collection another name (name=NAME), or another folder, indexes=DIR, or "
            "remove this one"
        )
    store = open_store(index / "documents", source)
    if store.digest == earlier["documents"]:
        places = sorted({*places, *earlier["places"]})
    recipe = {"documents": store.digest, "places": places}
    if places and recipe != earlier:
        write_note(index / SOURCE, Note(recipe, {}))
    return store


def _relative(source: Source, folder: Path) -> list[str]:
    """Return the places as seen from ``folder``, so that a project can be moved as a whole; links stay links."""
    places: list[str] = getattr(source, "places", [])
    return sorted(os.path.relpath(path, folder) if Path(path).exists() else path for path in places)


def _meet(before: list[str], now: list[str]) -> bool:
    """Whether a file or folder is among both, or in one of the other's."""
    pairs = [(Path(earlier), Path(path)) for earlier in before for path in now]
    return any(path.is_relative_to(earlier) or earlier.is_relative_to(path) for earlier, path in pairs)


class Corpus(NamedTuple):
    """The documents of a collection, their language, and the folder where their indexes go."""

    folder: Path
    documents: DocumentStore
    language: Language
