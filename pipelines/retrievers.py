"""First-stage systems by name: ``bm25``, with feedback or over a table's fields, ``lsa``, or an encoder."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

from pipelines import bm25
from pipelines.api_encoder import ApiEncoder
from pipelines.bm25 import Searcher, Weights
from pipelines.dense import DenseIndex, open_index
from pipelines.docstore import Docstore
from pipelines.encoders import SentenceEncoder
from pipelines.errors import HeedError
from pipelines.feedback import FEEDBACK, search_with_feedback
from pipelines.jvm import anserini_version
from pipelines.languages import Language
from pipelines.lsa import SETTINGS as LSA_SETTINGS
from pipelines.lsa import build_lsa
from pipelines.made import Recipe
from pipelines.peft_encoder import PeftEncoder
from pipelines.registry import Model, named
from pipelines.topics import Topic
from pipelines.trec_files import Run
from pipelines.vectors import Encoder, embed

FIELDS = "bm25+fields"  # of tables: caption, header and cells weighted apart
ENCODERS: dict[str, Callable[[Model, str], Encoder]] = {
    "": SentenceEncoder,
    "bi-encoder": SentenceEncoder,
    "peft": PeftEncoder,
    "api-embedding": ApiEncoder,
}
BUILT_IN = ("bm25", FIELDS, *(f"bm25+{method}" for method in FEEDBACK), "lsa")


class Shelf(NamedTuple):
    """Where a collection's indexes lie and how they are searched."""

    folder: Path
    store: Docstore
    language: Language
    join: str
    weights: Weights
    faiss: str
    device: str
    threads: int


class Retriever(Protocol):
    """Finds documents for topics under a condition."""

    @property
    def name(self) -> str:
        """What its runs are called."""

    @property
    def recipe(self) -> Recipe:
        """Everything that decides its runs."""

    def prepare(self) -> None:
        """Build and open what searching needs, so that it can be timed alone."""

    def search(self, topics: Sequence[Topic], condition: str, depth: int) -> Run:
        """The ``depth`` best documents of each topic."""


def retriever(name: str, shelf: Shelf) -> Retriever:
    """The system called ``name``; :class:`pipelines.errors.HeedError` if there is none."""
    if name in BUILT_IN and name != "lsa":
        return Bm25(name, shelf)
    return Dense(None if name == "lsa" else encoder(name, shelf.device), shelf)


def encoder(name: str, device: str) -> Encoder:
    """The bi-encoder called ``name``; :class:`HeedError` if there is none, or if it is a reranker."""
    model = named(name, BUILT_IN)
    if model.family not in ENCODERS:
        raise HeedError(f"{name}: of family {model.family}, no bi-encoder; use it as --reranker")
    return ENCODERS[model.family](model, device)


class Bm25:
    """BM25, with feedback or over fields where the name says so."""

    def __init__(self, name: str, shelf: Shelf) -> None:
        """Nothing is built or started before the first search."""
        self.name, self._shelf = name, shelf
        self.tabular = shelf.store.tabular
        self._feedback = name.partition("+")[2].removeprefix("fields")
        self._fields = shelf.weights.fields() if name == FIELDS else None
        if self._fields == {} or min((self._fields or {"": 1.0}).values()) < 0:
            raise HeedError(f"--field-weights: found {shelf.weights[2:]}, expected none below 0 and one above")
        if self._fields and not self.tabular:
            raise HeedError(f"{name}: these documents are no tables with caption, header and cells; use bm25")
        self.recipe: Recipe = {
            "system": name,
            "anserini": anserini_version(),
            "language": shelf.language.short,
            "documents": shelf.store.digest,
            "join": shelf.join,
            "k1": shelf.weights.k1,
            "b": shelf.weights.b,
            "fields": self._fields,
        }

    def prepare(self) -> None:
        """Build the index if need be, and open it."""
        _ = self.searcher

    @cached_property
    def searcher(self) -> Searcher:
        """The open index, built first if need be."""
        shelf = self._shelf
        folder = shelf.folder / ("bm25-vectors" if self._feedback else "bm25")
        bm25.build(folder, shelf.store, shelf.language, shelf.threads, vectors=bool(self._feedback))
        return Searcher(folder, shelf.language, shelf.weights)

    def search(self, topics: Sequence[Topic], condition: str, depth: int) -> Run:
        """The ``depth`` best documents of each topic."""
        texts = {topic.qid: topic.text(condition, self._shelf.join) for topic in topics}
        if self._feedback:
            return search_with_feedback(self.searcher, texts, depth, self._feedback)
        return self.searcher.search(texts, depth, self._shelf.threads, self._fields)


class Dense:
    """An encoder's vectors behind FAISS."""

    def __init__(self, encoder: Encoder | None, shelf: Shelf) -> None:
        """Search with ``encoder``, or with LSA if it is None."""
        self._loaded, self._shelf = encoder, shelf
        self.name = encoder.name if encoder else "lsa"
        self.recipe: Recipe = {
            "system": encoder.recipe if encoder else LSA_SETTINGS,
            "documents": shelf.store.digest,
            "faiss": shelf.faiss,
        }

    def prepare(self) -> None:
        """Embed the documents if need be, and open the index."""
        _ = self._index

    @cached_property
    def _encoder(self) -> Encoder:
        return self._loaded or build_lsa(self._shelf.folder / "lsa" / "model", self._shelf.store)

    def search(self, topics: Sequence[Topic], condition: str, depth: int) -> Run:
        """The ``depth`` best documents of each topic."""
        pairs = [(topic.query, topic.instructions.get(condition, "")) for topic in topics]
        return self._index.search([topic.qid for topic in topics], self._encoder.queries(pairs), depth)

    @cached_property
    def _index(self) -> DenseIndex:
        shelf, folder = self._shelf, self._shelf.folder / self.name
        vectors = embed(folder / "vectors", shelf.store, self._encoder)
        return open_index(folder / shelf.faiss, vectors, self.recipe, shelf.faiss, shelf.device)
