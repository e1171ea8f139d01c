"""The documents of a collection as retrievers see them."""

from pathlib import Path
from typing import NamedTuple

from heed.formats.document_store import DocumentStore
from heed.languages import Language


class Corpus(NamedTuple):
    """The documents of a collection, their language, and the folder where their indexes go."""

    folder: Path
    documents: DocumentStore
    language: Language
