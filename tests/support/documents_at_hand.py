"""A source of documents for tests that have them at hand, and documents drawn by chance."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from heed.formats.documents import DocumentLine
from heed.types import Document


class Given(NamedTuple):
    """Documents at hand, as a source."""

    documents: tuple[Document, ...]

    @property
    def recipe(self) -> Any:
        return self.documents

    def lines(self) -> Iterator[DocumentLine]:
        return (DocumentLine(Path("given"), number, one) for number, one in enumerate(self.documents, 1))


def drawn_documents(seed: int, words: int, count: int) -> list[Document]:
    """Few words and short texts, so that many documents tie; fields that some lack; texts of stop words, and none."""
    chooser = random.Random(seed)
    vocabulary = [f"w{number}" for number in range(words)] + ["the", "of"]
    weights = [1 / (1 + rank) for rank in range(len(vocabulary))]

    def text(longest: int) -> str:
        return " ".join(chooser.choices(vocabulary, weights, k=chooser.randrange(longest)))

    documents = [
        Document(f"{chooser.choice('abZ9é中')}{at}", "", f"{text(3 + 60 * (at % 3))} w0", *map(text, (4, 3, 9)))
        for at in range(count)
    ]
    twins = [Document(f"twin{at}", "", "w0 w1 w1") for at in range(40)]
    return [*documents, *twins, Document("words", "", "the"), Document("none", "", " ")]
