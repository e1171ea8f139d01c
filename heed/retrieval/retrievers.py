"""First-stage systems by name: ``bm25``, with feedback or over fields, ``lsa``, encoders, late interaction."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

from heed.errors import HeedError
from heed.io.artifacts import Recipe
from heed.io.document_store import DocumentStore
from heed.languages import Language
from heed.models.api_encoder import ApiEncoder
from heed.models.encoders import SentenceEncoder
from heed.models.late_interaction import FAMILY, LateRetriever
from heed.models.peft_encoder import PeftEncoder
from heed.models.registry import Model, named
from heed.retrieval import bm25
from heed.retrieval.bm25 import Searcher, Weights
from heed.retrieval.dense import DenseIndex, open_index
from heed.retrieval.lsa import SETTINGS as LSA_SETTINGS
from heed.retrieval.lsa import build_lsa
from heed.retrieval.lucene.feedback import FEEDBACK, search_with_feedback
from heed.retrieval.lucene.jvm import anserini_version
from heed.retrieval.vectors import Encoder, embed, of_documents
from heed.types import Run, Topic
from heed.workers.pool import Crew
from heed.workers.spread import SpreadEncoder

FIELDS = "bm25+fields"  # of tables: caption, header and cells weighted apart
ENCODERS: dict[str, Callable[[Model, str], Encoder]] = {
    "": SentenceEncoder,
    "bi-encoder": SentenceEncoder,
    "peft": PeftEncoder,
    "api-embedding": ApiEncoder,
}
AT_SERVICES = "api-embedding"  # the family whose models run at somebody else's
BUILT_IN = ("bm25", FIELDS, *(f"bm25+{method}" for method in FEEDBACK), "lsa")


class Shelf(NamedTuple):
    """Where a collection's indexes lie, how they are searched, the workers that models may use, and BM25's shards."""

    folder: Path
    store: DocumentStore
    language: Language
    join: str
    weights: Weights
    faiss: str
    device: str
    threads: int
    crew: Crew | None = None
    shards: int = 1


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
    """The system called ``name``; :class:`heed.errors.HeedError` if there is none."""
    if name in BUILT_IN:
        _tell_alone(name, shelf, "it is no model")
        return Dense(None, shelf) if name == "lsa" else Bm25(name, shelf)
    if (late := named(name, BUILT_IN)).family == FAMILY:
        _tell_alone(name, shelf, "late interaction is not spread yet")
        return LateRetriever(late, shelf.store, shelf.folder, shelf.device)
    return Dense(_spread(name, shelf), shelf)


def _spread(name: str, shelf: Shelf) -> Encoder:
    """The bi-encoder called ``name``, at work in the shelf's crew where it is a model that runs at ours."""
    model = named(name, BUILT_IN)
    if shelf.crew is None or model.family == AT_SERVICES:
        _tell_alone(name, shelf, "it runs at a service")
        return encoder(name, shelf.device)
    device = shelf.crew.device(shelf.device)
    return SpreadEncoder(encoder(name, device), model, device, shelf.crew)


def _tell_alone(name: str, shelf: Shelf, why: str) -> None:
    if shelf.crew:
        shelf.crew.alone(name, why)


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
        """Build the index, and the matrix that searches it, if need be, and open them."""
        searcher = self.searcher
        if not self._feedback:
            searcher.prepare()

    @cached_property
    def searcher(self) -> Searcher:
        """The open index, built first if need be."""
        shelf = self._shelf
        folder = shelf.folder / ("bm25-vectors" if self._feedback else "bm25")
        bm25.build(folder, shelf.store, shelf.language, shelf.threads, bool(self._feedback), shelf.shards)
        return Searcher(folder, shelf.language, shelf.weights, shards=shelf.shards)

    def search(self, topics: Sequence[Topic], condition: str, depth: int) -> Run:
        """The ``depth`` best documents of each topic."""
        texts = {topic.qid: topic.under(condition, self._shelf.join).text for topic in topics}
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
        made = {**self.recipe, "system": of_documents(self.recipe["system"])}
        crew = shelf.crew if self._loaded else None
        return open_index(folder / shelf.faiss, vectors, made, shelf.faiss, shelf.device, crew)
