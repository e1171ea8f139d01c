"""A Lucene index that Anserini or Pyserini made: identified, compared with the collection, and only read."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heed.errors import DataError, fail
from heed.files import digest, unreadable
from heed.formats.document_store import Corpus, DocumentStore
from heed.progress import bar, brief, escaped, log, warn
from heed.retrieval.bm25.index import FIELD, ForeignIndex
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.index_files import ID, LUCENE, reading, write_postings
from heed.retrieval.lucene.jvm import anserini_version, cast, java, java_errors, start
from heed.reuse import Recipe, ensure_folder, folder_note, recipe_version
from heed.types import Config, Document

FREQUENCIES = 8  # PostingsEnum.FREQS: documents and how often a term is in each
SEGMENTS = re.compile(r"segments_([0-9a-z]+)")
SAMPLE = 20  # documents whose terms are compared with the index's
LEAST = 0.9  # of a document's terms must be in the index; on English texts, Krovetz's stemmer leaves 0.68 of Porter's
SHOWN = 6  # docids kept for messages, which show five
READ = 10_000  # documents read at once


class IndexComparison(NamedTuple):
    """How documents of the collection are in an index.

    ``missing`` have text and are not in the index; ``compared`` documents were analysed, of which ``equal`` have the
    index's terms, frequencies and length; ``share`` is the mean share of a document's distinct terms that the index
    has.
    """

    documents: int
    missing: int
    missing_examples: list[str]
    compared: int
    equal: int
    share: float


def open_foreign_index(path: Path, corpus: Corpus, heap: str) -> ForeignIndex:
    """Return the Lucene index in ``path`` for searching the documents of ``corpus``; nothing is written to ``path``.

    The first time it is compared with the collection (:class:`IndexComparison`). Documents that the index lacks, and
    documents whose text differs there, are a warning. Raises :class:`DataError` for a folder without an index, an
    index with deleted, repeated or unknown documents, and one whose terms are not those of the language's analyser.
    """
    sha256 = index_digest(path)
    recipe = {
        "index made elsewhere": recipe_version("index made elsewhere"),
        "path": str(path.resolve()),
        "sha256": sha256,
        "anserini": anserini_version(),
        "language": corpus.language.short,
        "documents": corpus.documents.digest,
    }
    folder = ensure_folder(corpus.folder / f"bm25-{sha256[:16]}", recipe, partial(_build, path, corpus, heap))
    facts = IndexComparison(**folder_note(folder).facts)
    _log_comparison(path, sha256, facts, corpus)
    config: Config = {
        "sha256": sha256,
        "documents": facts.documents,
        "missing": facts.missing,
        "documents compared": facts.compared,
        "with the same terms": facts.equal,
    }
    return ForeignIndex(folder, config)


def index_digest(path: Path) -> str:
    """Return the SHA-256 of what tells one Lucene index from another; raises :class:`DataError` where there is none.

    That is the file of its last commit, ``segments_N``: it has the random ids of all segments, which Lucene finds in
    each of their files when it opens them.
    """
    try:
        commits = [entry for entry in path.iterdir() if SEGMENTS.fullmatch(entry.name)]
    except OSError as error:
        raise unreadable(path, error) from error
    if not commits:
        raise DataError(f"{path}: no Lucene index in it; expected a folder with a file segments_N")
    return digest(max(commits, key=lambda commit: int(commit.name.removeprefix("segments_"), 36)))


def _build(path: Path, corpus: Corpus, heap: str, folder: Path) -> Recipe:
    start(heap)
    (folder / "lucene").symlink_to(path.resolve())
    with reading(folder) as reader, java_errors(f"{path}: comparing the index with the collection"):
        fail(f"{path}: {problem}" for problem in index_problems(reader, FIELD))
        return _compared(path, reader, folder, corpus)._asdict()


def _compared(path: Path, reader: Any, scratch: Path, corpus: Corpus) -> IndexComparison:
    store, docids = corpus.documents, docids_of_index(reader, scratch)
    twice = [docid for docid, count in docids.items() if count > 1]
    if twice:
        raise DataError(
            f"{path}: {len(twice)} docids come twice or more: {escaped(brief(twice))}; index each document once "
            "(-uniqueDocid)"
        )
    if unknown := store.missing(list(docids)):
        raise DataError(
            f"{path}: {len(unknown)} of the {reader.numDocs()} documents of the index are not in the collection: "
            f"{escaped(brief(unknown))}; they would change scores and stand in runs; give the documents of which the "
            "index was made, or another index"
        )
    stored = bar(store.docids(), store.count, "comparing docids", "documents")
    missing = [docid for docid in stored if docid not in docids]
    sample = list(_sample(store, set(missing)))
    analysis = Analysis(corpus.language)
    compared = [
        compared_terms(reader, FIELD, document.docid, analysis.terms(document.contents())) for document in sample
    ]
    share = sum(share for share, _ in compared) / max(len(compared), 1)
    if share < LEAST:
        raise DataError(
            f"{path}: the index has {share:.0%} of the terms that the analyser of {corpus.language.code!r} makes of "
            f"{len(compared)} documents, expected {LEAST:.0%} at least; it was made with another analyser, in another "
            "language, of other texts, or for learned weights; name its language, or let Heed build the index"
        )
    unfound = _with_text(store, missing)
    equal = sum(is_equal for _, is_equal in compared)
    return IndexComparison(reader.numDocs(), len(unfound), unfound[:SHOWN], len(compared), equal, share)


def _with_text(store: DocumentStore, docids: list[str]) -> list[str]:
    """Return those of ``docids`` whose documents have text; others are in no index."""
    parts = (docids[start : start + READ] for start in range(0, len(docids), READ))
    return [document.docid for part in parts for document in store.get(part) if document.contents().strip()]


def _sample(store: DocumentStore, missing: set[str]) -> Iterator[Document]:
    """Yield up to ``SAMPLE`` documents, evenly spaced, that the index has."""
    for number in sorted({part * store.count // SAMPLE for part in range(SAMPLE)}):
        for document in store.within(number, number + 1):
            if document.docid not in missing:
                yield document


def _log_comparison(path: Path, sha256: str, facts: IndexComparison, corpus: Corpus) -> None:
    log.info(
        f"{path}: Lucene index of {facts.documents} documents, SHA-256 {sha256[:16]}…; {facts.equal} of "
        f"{facts.compared} compared have the terms of the analyser of {corpus.language.code}"
    )
    if facts.equal < facts.compared:
        warn(
            f"{path}: in {facts.compared - facts.equal} of {facts.compared} documents compared the index has other "
            f"terms, frequencies or lengths than the collection's text gives ({facts.share:.1%} of the terms are "
            "there), so runs are not those of an index of this collection"
        )
    if facts.missing:
        warn(
            f"{path}: {facts.missing} of {corpus.documents.count} documents are not in the index and cannot be "
            f"found: {escaped(brief(facts.missing_examples))}"
        )


def index_problems(reader: Any, field: str) -> Iterator[str]:
    """Yield what keeps an index from being searched in ``field`` with docids from Anserini's field ``id``."""
    terms = java(f"{LUCENE}.index.MultiTerms")
    ids, count = terms.getTerms(reader, ID), reader.maxDoc()
    if reader.numDeletedDocs():
        yield f"{reader.numDeletedDocs()} documents are marked as deleted; merge the index first (-optimize)"
    elif ids is None or ids.getSumDocFreq() != count:
        yield f"{0 if ids is None else ids.getSumDocFreq()} of {count} documents have a docid in the field {ID!r}"
    if terms.getTerms(reader, field) is None:
        yield f"no document has a field {field!r}, which Anserini's indexes for BM25 have"


def docids_of_index(reader: Any, folder: Path) -> dict[str, int]:
    """Return how many documents have each docid of an index, ordered by bytes; ``folder`` holds files meanwhile."""
    raw = folder / "docids"
    raw.mkdir()
    write_postings(raw, ID, reader, ID)
    joined = (raw / f"{ID}.texts").read_bytes()
    lengths, counts = np.fromfile(raw / f"{ID}.sizes", dtype="<i4").reshape(-1, 2).T
    shutil.rmtree(raw)
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).tolist()
    docids = (joined[start:end].decode(errors="replace") for start, end in pairwise(ends))
    return dict(zip(docids, counts.tolist(), strict=True))


def compared_terms(reader: Any, field: str, docid: str, terms: Sequence[str]) -> tuple[float, bool]:
    """Return which share of the distinct ``terms`` of a text are in the document of that docid, and if all fits.

    ``terms`` has repeats: frequencies and length must be the document's too.
    """
    number = _postings(reader, ID, docid).nextDoc()
    ours = Counter(terms)
    theirs = {term: _frequency(_postings(reader, field, term), number) for term in ours}
    share = sum(1 for frequency in theirs.values() if frequency) / len(ours) if ours else 1.0
    norms = java(f"{LUCENE}.index.MultiDocValues").getNormValues(reader, field)
    norms = None if norms is None else cast(f"{LUCENE}.index.NumericDocValues", norms)
    length = int(norms.longValue()) if norms is not None and norms.advanceExact(number) else 0
    expected = int(java(f"{LUCENE}.util.SmallFloat").intToByte4(len(terms)))  # Lucene's one byte for it
    return share, theirs == ours and length == expected


def _frequency(postings: Any, number: int) -> int:
    return postings.freq() if postings is not None and postings.advance(number) == number else 0


def _postings(reader: Any, field: str, text: str) -> Any:
    """Return the documents of all segments with a term; None where there are none."""
    term = java(f"{LUCENE}.index.Term")(field, text).bytes()
    postings = java(f"{LUCENE}.index.MultiTerms").getTermPostingsEnum(reader, field, term, FREQUENCIES)
    return None if postings is None else cast(f"{LUCENE}.index.PostingsEnum", postings)
