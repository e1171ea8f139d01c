"""A source of documents for tests that have them at hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from heed.formats.documents import Line
from heed.types import Document


class Given(NamedTuple):
    """Documents at hand, as a source."""

    documents: tuple[Document, ...]

    @property
    def recipe(self) -> Any:
        return self.documents

    def lines(self) -> Iterator[Line]:
        return (Line(Path("given"), number, one) for number, one in enumerate(self.documents, 1))
