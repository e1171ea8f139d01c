"""The collection of ``benchmarks.scale``: as large as wanted, the same for the same size, and larger ones begin alike.

Documents are numbered; number n is written in script n mod 4 (Latin, Han, Arabic, Cyrillic) with words drawn by
Zipf's law (the k-th word of 200,000 as 1 / k) and has a length drawn log-normally, median 250 words and mean 283,
about that of news. The 100 topics are made from the first 20,000 documents, so every size has the same ones.
"""

import json
import uuid
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.files import finished
from heed.reuse import ensure_folder

VERSION = 1  # raise when other documents are made
SEED = 7
PART = 20_000  # documents of a file
WORDS = 200_000  # of each script
MEDIAN, SPREAD, SHORTEST, LONGEST = 250, 0.5, 10, 5000  # words of a document
TITLE = 8  # words
TOPICS, QUERY, INSTRUCTION, CHANGE = 100, 3, 30, 15  # topics, words of a query, of its instruction, of the changed part
COMMON, RARE = 100, 20_000  # ranks between which the words of queries lie
JUDGED = 60  # documents a topic
AT_ONCE = 2000  # documents
RECIPE = {
    "scale": VERSION,
    "seed": SEED,
    "words": [WORDS, MEDIAN, SPREAD, SHORTEST, LONGEST, TITLE],
    "topics": [TOPICS, QUERY, INSTRUCTION, CHANGE, COMMON, RARE, JUDGED],
}
SYLLABLES = (
    [a + b for a, b in product("bdfgklmnprstvz", "aeiou")],
    [chr(code) for code in range(0x4E00, 0x4E00 + 2000)],
    [a + b for a, b in product("بتدرسشفقکلمنهی", "اوی")],
    [a + b for a, b in product("бвгдзклмнпрст", "аеиоу")],
)


class Drawn(NamedTuple):
    """A document as it was drawn: the ranks of its words in the vocabulary of its script."""

    docid: str
    script: int
    ranks: NDArray[np.int64]


def vocabulary(syllables: Sequence[str]) -> NDArray[np.object_]:
    """``WORDS`` different words, the shortest first."""
    found: list[str] = []
    for length in range(1, 9):
        for parts in product(syllables, repeat=length):
            found.append("".join(parts))
            if len(found) == WORDS:
                return np.array(found, dtype=object)
    raise AssertionError(syllables)


def drawn(part: int, count: int) -> Iterator[Drawn]:
    """The first ``count`` documents of a part."""
    cumulative = np.cumsum(1 / np.arange(1, WORDS + 1))
    cumulative /= cumulative[-1]
    for start in range(0, count, AT_ONCE):
        chance = np.random.default_rng([SEED, part, start])
        lengths = np.exp(chance.normal(np.log(MEDIAN), SPREAD, AT_ONCE)).astype(int).clip(SHORTEST, LONGEST)
        ends = np.cumsum(lengths)
        ranks = np.searchsorted(cumulative, chance.random(ends[-1]))
        ids = chance.bytes(16 * AT_ONCE)
        for at in range(min(AT_ONCE, count - start)):
            docid = str(uuid.UUID(bytes=ids[16 * at : 16 * at + 16]))
            yield Drawn(docid, at % len(SYLLABLES), ranks[ends[at] - lengths[at] : ends[at]])


def write_documents(folder: Path, count: int) -> list[Path]:
    """Files of ``count`` documents, those of an earlier run where they are the same."""
    words: list[NDArray[np.object_]] = []
    files = []
    for part in range(-(-count // PART)):
        size = min(PART, count - part * PART)
        name = f"{part:04}" if size == PART else f"{part:04}-{size}"

        def build(into: Path, part: int = part, size: int = size) -> None:
            words.extend(vocabulary(one) for one in SYLLABLES[len(words) :])
            _write(into / "docs.jsonl", words, drawn(part, size))

        made = ensure_folder(folder / name, RECIPE | {"part": part, "documents": size}, build)
        files.append(made / "docs.jsonl")
    return files


def _write(path: Path, words: Sequence[NDArray[np.object_]], documents: Iterator[Drawn]) -> None:
    with finished(path) as stream:
        for one in documents:
            text = words[one.script][one.ranks].tolist()
            record = {"id": one.docid, "title": " ".join(text[:TITLE]), "text": " ".join(text[TITLE:])}
            stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def write_topics(folder: Path, count: int) -> Path:
    """A folder with ``topics.jsonl``, ``original.qrels`` and ``changed.qrels`` for collections of ``count`` or more."""
    size = min(PART, count)
    return ensure_folder(folder, RECIPE | {"documents": size}, lambda into: _write_topics(into, size))


def _write_topics(folder: Path, size: int) -> None:
    documents, words = list(drawn(0, size)), [vocabulary(one) for one in SYLLABLES]
    holding = [(one.docid, one.script, frozenset(one.ranks.tolist())) for one in documents]
    chance = np.random.default_rng([SEED, 1 << 30])
    with (
        finished(folder / "topics.jsonl") as topics,
        finished(folder / "original.qrels") as original,
        finished(folder / "changed.qrels") as changed,
    ):
        for number in range(TOPICS):
            qid = f"{number + 1:03}"
            source = _with_query_words(documents, number, chance)
            query = chance.choice(_middle(source.ranks), QUERY, replace=False)
            told = chance.choice(source.ranks, INSTRUCTION)
            more = chance.choice(source.ranks, CHANGE)
            record = {"qid": qid, "lang": "eng", "query": _text(words[source.script], query)}
            instruction = _text(words[source.script], told)
            record["instructions"] = {
                "original": instruction,
                "changed": f"{instruction}. Not {_text(words[source.script], more)}",
            }
            topics.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            for at, (docid, overlap) in enumerate(_judged(holding, source.script, query)):
                original.write(f"{qid} 0 {docid} {int(overlap > 1)}\n".encode())
                changed.write(f"{qid} 0 {docid} {int(overlap > 1 and at % 2 == 0)}\n".encode())


def _with_query_words(documents: Sequence[Drawn], number: int, chance: np.random.Generator) -> Drawn:
    while True:
        found = documents[int(chance.integers(len(documents)))]
        if found.script == number % len(SYLLABLES) and len(_middle(found.ranks)) >= QUERY:
            return found


def _middle(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(ranks[(ranks >= COMMON) & (ranks < RARE)])


def _text(words: NDArray[np.object_], ranks: NDArray[np.int64]) -> str:
    return " ".join(words[ranks].tolist())


def _judged(
    documents: Sequence[tuple[str, int, frozenset[int]]], script: int, query: NDArray[np.int64]
) -> list[tuple[str, int]]:
    """The documents with most of a query's words, and how many each has."""
    wanted = set(query.tolist())
    found = [(docid, len(wanted & ranks)) for docid, written, ranks in documents if written == script]
    return sorted(found, key=lambda one: (-one[1], one[0]))[:JUDGED]
