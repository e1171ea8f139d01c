"""Systems by name: the one place that knows every retriever and reranker.

A name is ``bm25`` and its variants, ``lsa``, ``polarity``, ``rank_bm25``, a model (an entry of the
registry, a hub id, a path), ``mteb:NAME`` for a model by MTEB's code, ``decompose:ENCODER``, ``polarity+RERANKER``,
``command:PROGRAM`` for a program, or ``package.module:Class`` for an object of the user's own. ``NAME=SYSTEM`` gives
any of them another name, for its runs; what it computes, vectors and answers of APIs are those of the system.
"""

import os
import shlex
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from heed.addons.architectures.late_interaction import LateEncoder
from heed.addons.architectures.late_retriever import LateRetriever
from heed.addons.bridges.foreign_index import ForeignIndex, open_foreign_index
from heed.addons.bridges.mteb_models import PREFIX as MTEB
from heed.addons.bridges.mteb_models import mteb_model
from heed.addons.bridges.programs import COMMAND, Program, program_by_workers
from heed.addons.cluster.pool import WorkerPool
from heed.compute import Compute
from heed.errors import UsageError, fail
from heed.extras import OBJECT
from heed.formats.document_store import open_store
from heed.models.files import with_family
from heed.models.registry.entries import Model, Registry
from heed.models.registry.families import BI_ENCODER, CROSS_ENCODER, ENCODER, FAMILIES, LATE, RERANKER, SERVICE
from heed.models.text import warn_unread
from heed.progress import timed
from heed.reranking.decompose import Decompose
from heed.reranking.fusion import Fusion
from heed.reranking.maxp import Cut, MaxP, Passages
from heed.reranking.polarity.reranker import Polarity
from heed.reranking.rank_bm25 import RankBm25
from heed.reranking.similarity import Similarity
from heed.retrieval.bm25.retriever import NAMES as BM25_NAMES
from heed.retrieval.bm25.retriever import Bm25, Lucene
from heed.retrieval.corpus import Corpus
from heed.retrieval.dense.search import Dense, DenseSearch
from heed.reuse import Recipe
from heed.systems.registry_models import family_of, installed_model, system_by_workers
from heed.systems.settings import Machine, Search
from heed.systems.user_objects import (
    FILE_NAME,
    RESERVED,
    OwnEncoder,
    OwnReranker,
    OwnRetriever,
    class_name,
    is_built_in,
    is_encoder,
    load_object,
)
from heed.types import Encoder, Reranker, Retriever

RETRIEVERS = (*BM25_NAMES, "lsa")
RERANKERS = ("polarity", "rank_bm25")
DECOMPOSE, FUSED = "decompose:", "polarity+"
S = TypeVar("S")


@runtime_checkable
class IndexReader(Protocol):
    """A reranker that reads an index of the documents."""

    def over(self, corpus: Corpus) -> Reranker:
        """Return the same reranker over the index of other documents."""


@dataclass(frozen=True)
class Systems:
    """Builds the systems of one experiment over the documents of ``corpus``; nothing is loaded before it is used.

    Answers of paid APIs are kept in the folder ``answers``.
    Where queries are ``instructed``, a model whose template has no place for the instruction is a warning.
    """

    corpus: Corpus
    registry: Registry
    search: Search
    machine: Machine
    pool: WorkerPool
    answers: Path
    instructed: bool = True

    @cached_property
    def _compute(self) -> Compute:
        return self.machine.compute

    @cached_property
    def _index(self) -> ForeignIndex | None:
        """A Lucene index made elsewhere, which the systems of BM25 search."""
        path = self.search.lucene_index
        return open_foreign_index(Path(path), self.corpus, self.machine.heap) if path else None

    def retriever(self, system: object) -> Retriever:
        """Return the retriever of a name, or an object as it is; an encoder searches by its vectors.

        Raises :class:`UsageError` for an unknown name and for an object that lacks something, and
        :class:`heed.errors.ModelError` for a model that cannot be loaded.
        """
        if not isinstance(system, str):
            return self._retriever_of_object(system)
        name, source = split_name(system)
        return renamed(self._retriever_named(source), name)

    def _retriever_named(self, system: str) -> Retriever:
        if system == "lsa":
            return self._dense(None)
        if system in RETRIEVERS:
            return self._own_bm25 if system == "bm25" and not self._index else self._bm25(system, self._index)
        if system.startswith(COMMAND):
            raise UsageError(f"{system}: a program reranks, it does not search; use it as --reranker")
        if (loaded := self._object_named(system)) is not None:
            return self._user_retriever(loaded, system)
        model = self._resolve(system, RETRIEVERS, BI_ENCODER)
        if model.family == LATE:
            return LateRetriever(
                system_by_workers(model.limited(self.machine.max_length), self._compute, self.pool, LateEncoder),
                self.corpus,
            )
        return self._dense(self._encoder(system, model))

    def reranker(self, system: object) -> Reranker:
        """Return the reranker of a name, or an object as it is; raises as :meth:`retriever` does."""
        if not isinstance(system, str):
            return self._reranker_of_object(system)
        name, source = split_name(system)
        if source.startswith(COMMAND):
            program = Program(source.removeprefix(COMMAND), name=name, config=self.machine.program_version)
            return program_by_workers(program, self.pool)
        return renamed(self._reranker_named(source), name)

    def _reranker_named(self, system: str) -> Reranker:
        if system == "polarity":
            return self._polarity()
        if system == "rank_bm25":
            self.pool.log_local(system, "it reads a pool's documents together")
            return RankBm25()
        if system.startswith(FUSED):
            return Fusion(self._polarity(), self.reranker(system.removeprefix(FUSED)))
        if system.startswith(DECOMPOSE):
            return Decompose(self.encoder(system.removeprefix(DECOMPOSE)), corpus=self.corpus)
        if (loaded := self._object_named(system)) is not None:
            return self._user_reranker(loaded, system)
        if system in RETRIEVERS:
            raise UsageError(f"{system}: a retriever, no reranker; use it as --retriever")
        model = self._resolve(system, RERANKERS, CROSS_ENCODER)
        family = FAMILIES[model.family]
        if family.system == ENCODER:
            return Similarity(self._encoder(system, model), self.corpus)
        if family.system != RERANKER:
            raise UsageError(f"{system}: of family {family_of(model)}, no reranker; use it as --retriever")
        reranker: Reranker = self._system_of_model(system, model)
        return reranker

    def encoder(self, name: str) -> Encoder:
        """Return the bi-encoder of a name; :class:`UsageError` if it is none."""
        if (loaded := self._object_named(name)) is not None:
            return OwnEncoder(loaded, name)
        return self._encoder(name, self._resolve(name, RETRIEVERS, BI_ENCODER))

    def maxp(self, reranker: Reranker, docids: Iterable[str], cut: Cut) -> Reranker:
        """Return ``reranker`` with MaxP over the passages of ``docids``; one that needs an index gets theirs."""
        if isinstance(reranker, IndexReader):
            folder = self.corpus.folder / "passages"
            with timed("passages"):
                source = Passages(self.corpus.documents, docids, cut)
                passages = open_store(folder / "documents", source)
            reranker = renamed(reranker.over(Corpus(folder, passages, self.corpus.language)), reranker.name)
        return MaxP(reranker, cut)

    def _resolve(self, name: str, built_in: tuple[str, ...], otherwise: str) -> Model:
        """Return the model of a name; of the family ``otherwise`` where nothing tells it."""
        model = installed_model(name, self.registry, built_in)
        if self.instructed:
            warn_unread(model)
        return with_family(model, otherwise)

    def _polarity(self) -> Polarity:
        # of tables it reads fields that only Heed's own index has
        foreign = None if self.corpus.documents.tabular else self._index
        return Polarity(self._bm25("bm25", foreign) if foreign else self._own_bm25)

    @cached_property
    def _own_bm25(self) -> Bm25:
        """BM25 over Heed's own index, one for the retriever and rerankers."""
        return self._bm25("bm25", None)

    def _bm25(self, name: str, index: ForeignIndex | None) -> Bm25:
        threads = self.machine.threads or os.cpu_count() or 1
        lucene = Lucene(threads, self.search.shards, self.machine.heap, self.pool)
        return Bm25(name, self.corpus, self.search.bm25, lucene, index)

    def _dense(self, encoder: Encoder | None) -> Dense:
        vectors = Path(self.search.vectors) if self.search.vectors else None
        return Dense(encoder, self.corpus, DenseSearch(self.search.faiss, self.machine.device, self.pool, vectors))

    def _encoder(self, name: str, model: Model) -> Encoder:
        if FAMILIES[model.family].system != ENCODER:
            raise UsageError(f"{name}: of family {family_of(model)}, no bi-encoder; use it as --reranker")
        encoder: Encoder = self._system_of_model(name, model)
        return encoder

    def _system_of_model(self, name: str, model: Model) -> Any:
        """Return the system of a model, by workers unless its family runs in this process, which is logged."""
        family = FAMILIES[model.family]
        reason = family.local
        if reason:
            self.pool.log_local(name, reason)
        if family.library == SERVICE:
            return family.make(model, self._compute, self.answers)
        return system_by_workers(model, self._compute, None if reason else self.pool)

    def _object_named(self, name: str) -> Any:
        """Return the model of MTEB's code, or the object of the user's own, of that name; None for another name."""
        if name.startswith(MTEB):
            self.pool.log_local(name, "it runs by MTEB's code")
            return mteb_model(name, self.machine.device, self.registry.trusted)
        return load_object(name) if OBJECT.fullmatch(name) else None

    def _reranker_of_object(self, system: Any) -> Reranker:
        if isinstance(system, Program):
            return program_by_workers(system, self.pool)
        if not is_built_in(system):
            return self._user_reranker(system, class_name(system))
        reranker: Reranker = Similarity(system, self.corpus) if is_encoder(system) else system
        return reranker

    def _user_reranker(self, system: Any, name: str) -> Reranker:
        if is_encoder(system) and not hasattr(system, "score"):
            return Similarity(OwnEncoder(system, name), self.corpus)
        return OwnReranker(system, name)

    def _retriever_of_object(self, system: Any) -> Retriever:
        if not is_built_in(system):
            return self._user_retriever(system, class_name(system))
        retriever: Retriever = self._dense(system) if is_encoder(system) else system
        return retriever

    def _user_retriever(self, system: Any, name: str) -> Retriever:
        if is_encoder(system):
            return self._dense(OwnEncoder(system, name))
        return OwnRetriever(system, name, self.corpus.documents)


def split_name(system: str) -> tuple[str, str]:
    """Return the name and the system of ``NAME=SYSTEM``; the name is empty where there is none.

    A path that exists is a system, whatever is in it. Raises :class:`UsageError` for a name that no run file can have,
    and for that of a system of Heed's which this is not.
    """
    name, _, named = system.partition("=")
    if not named or system.startswith((COMMAND, DECOMPOSE, FUSED, MTEB)) or os.path.exists(system):  # noqa: PTH110 (any text)
        return "", system
    is_heeds = RESERVED.fullmatch(name) or name in RERANKERS
    if not FILE_NAME.fullmatch(name) or (is_heeds and name != named):
        raise UsageError(
            f"{system}: no file or folder, and its name is {name!r}; in NAME=SYSTEM a name is of letters, digits and "
            ". + @ : _ -, for its run files, and none of Heed's own systems"
        )
    return name, named


def renamed(system: S, name: str) -> S:
    """Return the same system under another name, or itself where ``name`` is empty."""
    if name:
        system = copy(system)  # some are shared
        vars(system)["name"] = name
    return system


def refuse_twins(names: Sequence[str], written: Sequence[str] = ()) -> None:
    """Raise :class:`UsageError` for systems of one name, whose runs would have the same files.

    ``written`` is what the user wrote for each, such as ``models/e5``, or ``--reranker models/e5`` in a command.
    """
    problems = []
    for name in sorted({name for name in names if names.count(name) > 1}):
        texts = [text for each, text in zip(names, written or names, strict=True) if each == name]
        sources = [text.partition(" ")[2] if text.startswith("--") else text for text in texts]
        listed = f" ({', '.join(sources)})" if written else ""
        option, source = texts[-1].removesuffix(sources[-1]), sources[-1].removeprefix(f"{name}=")
        form = shlex.quote(f"{name}-2={source if written else 'SYSTEM'}")
        problems.append(f"system {name}: named twice{listed}; name one, as in {option}{form}")
    fail(problems, UsageError)


def manifest_entry(system: Any) -> Recipe:
    """Return the entry of a system in a manifest."""
    config = system.config
    made_by: Recipe = getattr(system, "made_by", None) or {"class": class_name(system)}
    return made_by if config is None else config
