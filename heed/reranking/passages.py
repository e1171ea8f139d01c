"""MaxP: documents cut into overlapping passages, each document scored by its best one."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from pathlib import Path
from typing import NamedTuple

from heed.errors import HeedError
from heed.io.artifacts import Recipe
from heed.io.document_store import DocumentStore
from heed.io.documents import Line
from heed.io.files import digest_json
from heed.reranking.rescoring import Announcing, Reranker
from heed.types import Document, Topic

VERSION = 1  # raise when documents are cut in another way
# NeuCLIR 1's Chinese documents have 743.1 characters and 427.7 tokens in the mean (neuclir.github.io/neuclir1)
HAN_WORDS = 427.7 / 743.1
HAN = "\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uffef"  # with their punctuation, and kana
UNIT = re.compile(rf"[{HAN}]|[^\s{HAN}]+")


class Cut(NamedTuple):
    """How documents are cut, in words; FollowIR, section 3, has passages of 400 words that overlap by 200."""

    words: int = 400
    overlap: int = 200


def parse_cut(text: str) -> Cut:
    """``400/200`` as a :class:`Cut`; :class:`HeedError` for anything else."""
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    cut = Cut(int(found[1]), int(found[2])) if found else Cut(0, 0)
    if cut.overlap >= cut.words:
        raise HeedError(f"--maxp: found {text!r}, expected words/overlap such as 400/200, the overlap being smaller")
    return cut


def passages(text: str, cut: Cut) -> list[str]:
    """The passages of ``text``; one that is not longer than a passage is its own.

    A word is what stands between spaces. Chinese has none: there a character counts ``HAN_WORDS``
    of a word, so that 400 words are 695 characters.
    """
    units = list(UNIT.finditer(text))
    ends = list(accumulate(HAN_WORDS if re.match(f"[{HAN}]", unit[0]) else 1.0 for unit in units))
    total = ends[-1] if ends else 0.0
    found = []
    start = 0.0
    while True:
        # half a word of slack: sums of fractions must not move a boundary by a character
        first, last = bisect_left(ends, start + 0.5), bisect_left(ends, start + cut.words + 0.5)
        found.append(text[units[first].start() : units[last - 1].end()] if units else "")
        if start + cut.words + 0.5 > total:
            return found
        start += cut.words - cut.overlap


class Passages:
    """The passages of chosen documents, ``docid_0``, ``docid_1`` …, as a :class:`heed.io.documents.Source`."""

    def __init__(self, store: DocumentStore, docids: Sequence[str], cut: Cut) -> None:
        """Nothing is read before :meth:`lines`."""
        self._store, self._docids, self._cut = store, sorted(docids), cut

    @property
    def recipe(self) -> Recipe:
        """The documents and how they are cut."""
        return {
            "passages": [VERSION, *self._cut],
            "documents": self._store.digest,
            "chosen": digest_json(self._docids),
        }

    def lines(self) -> Iterator[Line]:
        """Every passage, each with its document's title."""
        for docid in self._docids:
            [document] = self._store.get([docid])
            for number, text in enumerate(passages(document.text, self._cut)):
                passage = Document(f"{docid}_{number}", document.title, text)
                yield Line(Path(docid), number, passage)


class MaxP:
    """A reranker over passages as one over documents: the best passage's score is the document's."""

    def __init__(self, inner: Reranker, store: DocumentStore) -> None:
        """Take ``inner``, which scores the passages of ``store``."""
        self.name, self._inner = f"{inner.name}+maxp", inner
        self.recipe: Recipe = {"maxp": inner.recipe, "passages": store.digest}
        by_document = groupby(sorted(map(_parted, store.docids())), key=lambda parted: parted[0])
        self._passages = {docid: [f"{docid}_{number}" for _, number in found] for docid, found in by_document}

    def prepare(self) -> None:
        """Prepare the reranker of passages."""
        self._inner.prepare()

    def begin(self, topics: Sequence[Topic], condition: str, pooled: Mapping[str, list[str]]) -> None:
        """Let the reranker of passages tell what they will cost."""
        if isinstance(self._inner, Announcing):
            self._inner.begin(topics, condition, {qid: self._all(docids) for qid, docids in pooled.items()})

    def finish(self) -> None:
        """Let it tell what it had to mend."""
        if isinstance(self._inner, Announcing):
            self._inner.finish()

    def _all(self, docids: Sequence[str]) -> list[str]:
        return [passage for docid in docids for passage in self._passages[docid]]

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        """The best passage's score for each document."""
        wanted = self._all(docids)
        scores = dict(zip(wanted, self._inner.score(topic, condition, wanted), strict=True))
        return [max(scores[passage] for passage in self._passages[docid]) for docid in docids]


def _parted(passage: str) -> tuple[str, int]:
    docid, _, number = passage.rpartition("_")
    return docid, int(number)
