"""MaxP: documents cut into overlapping passages, each document scored by its best one."""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import NamedTuple

from heed.errors import UsageError
from heed.files import digest_json
from heed.formats.document_store import Corpus, DocumentStore, open_store
from heed.formats.documents import DocumentLine
from heed.languages import counted, words_in
from heed.progress import timed
from heed.reranking.rescore import Pair, Wrapper
from heed.reuse import recipe_version
from heed.types import Config, Document, Query, Reranker

UNIT = counted()
MAXP = "+maxp"  # at the end of the names of its systems


class Cut(NamedTuple):
    """How documents are cut, in words; FollowIR, section 3, has passages of 400 words that overlap by 200."""

    words: int = 400
    overlap: int = 200


def parse_cut(text: str) -> Cut:
    """Return ``400/200`` as a :class:`Cut`; :class:`UsageError` for anything else."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    cut = Cut(int(match[1]), int(match[2])) if match else Cut(0, 0)
    if cut.overlap >= cut.words:
        raise UsageError(f"maxp: found {text!r}, expected words/overlap such as 400/200, the overlap being smaller")
    return cut


def passages(text: str, cut: Cut) -> list[str]:
    """Return the passages of ``text``; a text that is not longer than a passage is the only one.

    Words are separated by spaces. Chinese, Japanese and Thai have none: there characters count as parts of words, so
    that 400 words are 695 Chinese characters, and 1600 Thai ones.
    """
    units = list(UNIT.finditer(text))
    ends = list(accumulate(words_in(unit[0]) for unit in units))
    total = ends[-1] if ends else 0.0
    parts = []
    start = 0.0
    while True:
        # half a word of slack: sums of fractions must not move a boundary by a character
        first, last = bisect_left(ends, start + 0.5), bisect_left(ends, start + cut.words + 0.5)
        parts.append(text[units[first].start() : units[last - 1].end()] if units else "")
        if start + cut.words + 0.5 > total:
            return parts
        start += cut.words - cut.overlap


def cut_documents(documents: Iterable[Document], cut: Cut) -> Iterator[Document]:
    """Yield the passages of each document, ``docid_0``, ``docid_1`` …, each with its document's title."""
    for document in documents:
        for number, text in enumerate(passages(document.text, cut)):
            yield Document(f"{document.docid}_{number}", document.title, text)


class Passages:
    """The passages of chosen documents, a :class:`heed.formats.documents.Source`, for rerankers that need an index."""

    def __init__(self, store: DocumentStore, docids: Iterable[str], cut: Cut) -> None:
        """Read nothing before :meth:`lines`."""
        self._store, self._docids, self._cut = store, sorted(docids), cut

    @property
    def recipe(self) -> Config:
        """The documents and how they are cut."""
        return {
            "passages": [recipe_version("passages"), *self._cut],
            "documents": self._store.digest,
            "chosen": digest_json(self._docids),
        }

    def lines(self) -> Iterator[DocumentLine]:
        """Yield every passage."""
        for docid in self._docids:
            for number, passage in enumerate(cut_documents(self._store.get([docid]), self._cut)):
                yield DocumentLine(Path(docid), number, passage)


class MaxP(Wrapper):
    """A reranker of passages as one of documents: the best passage's score is the document's."""

    def __init__(self, reranker: Reranker, cut: Cut) -> None:
        """Let ``reranker`` score the passages of documents, as ``cut`` makes them."""
        super().__init__(reranker)
        self.name, self._cut = f"{reranker.name}{MAXP}", cut
        if not 0 <= cut.overlap < cut.words:
            raise UsageError(f"passages: found {cut}, expected an overlap from 0 and below the words")
        config = reranker.config
        if config is not None:
            self.config: Config = {"maxp": [recipe_version("passages"), *cut], "of": config}

    def announce(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Let the reranker of passages log what all of them will cost."""
        super().announce(queries, lambda query: list(cut_documents(documents(query), self._cut)))

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Let the reranker of passages log what they will cost."""
        super().begin(queries, lambda query: list(cut_documents(documents(query), self._cut)))

    def score_all(self, pairs: Iterable[Pair]) -> Iterator[Sequence[float]]:
        """Yield the scores of each query's documents, in their order."""
        counts: deque[list[int]] = deque()  # passages of each document, of the queries that are being scored

        def cut() -> Iterator[Pair]:
            for query, documents in pairs:
                parts = [list(cut_documents([document], self._cut)) for document in documents]
                counts.append(list(map(len, parts)))
                yield query, list(chain.from_iterable(parts))

        for passage_scores in self._inner.score_all(cut()):
            scores = iter(passage_scores)
            yield [max(islice(scores, count)) for count in counts.popleft()]


def maxp(reranker: Reranker, cut: Cut, corpus: Corpus, docids: Iterable[str]) -> MaxP:
    """Return ``reranker`` over the passages of ``docids``, documents of ``corpus``.

    One that reads an index gets one of these passages, in the folder ``passages`` of the corpus.
    """

    def of_passages() -> Corpus:
        folder = corpus.folder / "passages"
        with timed("passages"):
            passages = open_store(folder / "documents", Passages(corpus.documents, docids, cut))
        return Corpus(folder, passages, corpus.language)

    over_passages = reranker.over(of_passages)
    over_passages.name = reranker.name
    return MaxP(over_passages, cut)
