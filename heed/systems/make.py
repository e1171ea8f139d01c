"""From a name or an object to a system: what every kind of name means, by one table.

A name is one of ``MAKERS``, else a model's: an entry of the registry, a hub id, a path. ``NAME=SYSTEM`` gives any of
them another name, for its runs; what it computes, vectors and answers of APIs are those of the system.
"""

import os
import shlex
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from heed.addon_table import BROUGHT, brought
from heed.compute import Compute
from heed.errors import UsageError, fail
from heed.extras import OBJECT, require
from heed.formats.document_store import Corpus
from heed.instructions.reader import Reader, reader_at
from heed.models.files import with_family
from heed.models.registry.entries import Model, Registry
from heed.models.registry.families import ANSWERS, BI_ENCODER, CROSS_ENCODER, ENCODER, FAMILIES, RERANKER, SERVICE
from heed.models.text import warn_unread
from heed.reranking.fusion import Fusion
from heed.reranking.polarity import Polarity
from heed.reranking.rank_bm25 import RankBm25
from heed.reranking.similarity import Decompose, Similarity
from heed.retrieval.bm25.index import Bm25, Bm25Settings
from heed.retrieval.dense.search import KINDS, Dense
from heed.retrieval.fused import FusedRetriever
from heed.systems.user_objects import FILE_NAME, Alone, class_name, load_object, wrapped
from heed.types import Encoder, Reranker, Retriever, System, of_heed

S = TypeVar("S", bound=System)


class Search(NamedTuple):
    """How documents are searched: BM25, and the kind of dense index.

    ``faiss`` is ``exact``, ``hnsw`` or ``ivfpq``. BM25 searches ``lucene_index``, a folder with an index of Anserini or
    Pyserini or the name of one that they give away, instead of building its own. ``vectors`` is a folder with a
    bi-encoder's vectors of the documents, of one of the forms in :mod:`heed.addons.bridges.foreign_vectors`.
    """

    bm25: Bm25Settings = Bm25Settings()
    faiss: str = KINDS[0]
    lucene_index: str | Path | None = None
    vectors: str | Path | None = None

    def check(self) -> None:
        """Raise :class:`UsageError` for an unknown kind of index, and for what BM25 cannot have."""
        fail(self.bm25.problems(), UsageError)
        if self.faiss not in KINDS:
            raise UsageError(f"faiss: found {self.faiss!r}, expected one of {', '.join(KINDS)}")


SEARCH = Search()


@dataclass(frozen=True)
class Place:
    """Where systems are made: of which models, run how, over which documents if there are any, and searched how.

    Answers of paid APIs are kept in the folder ``answers``. Where queries are ``instructed``, a model whose template
    has no place for the instruction is a warning.
    """

    registry: Registry
    compute: Compute
    corpus: Corpus | None = None
    search: Search = SEARCH
    answers: Path = ANSWERS
    instructed: bool = False

    def documents(self, name: str) -> Corpus:
        """Return the documents that the system ``name`` needs; :class:`UsageError` where there are none."""
        if self.corpus is None:
            raise UsageError(f"{name}: needs an index of documents; give the object that an experiment makes of it")
        return self.corpus

    @cached_property
    def bm25(self) -> Bm25:
        """BM25 over the documents, one for the retriever and for rerankers that read its index."""
        return self.lucene("bm25")

    @property
    def reader(self) -> Reader:
        """The reader of instructions: Heed's own, or that of the folder that ``compute`` names."""
        return reader_at(self.compute.reader)

    def lucene(self, name: str) -> Bm25:
        """Return a system of BM25, over the index made elsewhere where the search names one."""
        corpus, search = self.documents(name), self.search
        path = search.lucene_index
        index = brought("foreign index")(Path(path), corpus, self.compute.heap) if path else None
        return Bm25(name, corpus, search.bm25, self.compute, index)

    def dense(self, encoder: Encoder | None) -> Dense:
        """Return a retriever by the vectors of ``encoder``, or by LSA's where it is None."""
        corpus = self.documents(encoder.name if encoder else "lsa")
        vectors = Path(self.search.vectors) if self.search.vectors else None
        return Dense(encoder, corpus, self.search.faiss, self.compute.device, vectors)


class Maker(NamedTuple):
    """What names of one kind mean: ``make`` makes their systems, which are of one of ``roles``.

    ``text`` says what they are. ``rest`` is what stands after a prefix, in words.
    """

    make: Callable[[str, Place, type[System]], System]
    roles: tuple[type[System], ...]
    text: str
    rest: str = ""


def _bm25(name: str, place: Place, _: type[System]) -> System:
    return place.bm25 if name == "bm25" else place.lucene(name)


def _polarity(name: str, place: Place, _: type[System]) -> Polarity:
    corpus = place.documents(name)
    if place.search.lucene_index and corpus.documents.tabular:  # it reads fields that only Heed's own index has
        return Polarity(place.bm25.over(corpus), reader=place.reader)
    return Polarity(place.bm25, reader=place.reader)


def _fusion(name: str, place: Place, role: type[System]) -> System:
    other = make(name.partition("+")[2], place, Reranker)
    return Fusion(_polarity(name, place, role), other, place.compute.fusion_weight)


def _fused(name: str, place: Place, role: type[System]) -> FusedRetriever:
    how, _, listed = name.partition(":")
    parts = [make(part, place, Retriever) for part in listed.split(",") if part]
    if len(parts) < 2:
        raise UsageError(f"{name}: one list cannot be fused; name several first stages, as in {how}:bm25,lsa")
    refuse_twins([part.name for part in parts])
    return FusedRetriever(how, parts)


def _decompose(name: str, place: Place, _: type[System]) -> System:
    return Decompose(make(name.partition(":")[2], place, Encoder), corpus=place.corpus, reader=place.reader)


def _of_add_on(name: str, place: Place, role: type[System]) -> System:
    return _users(brought(f"systems {name.partition(':')[0]}:")(name, place), name, place, role)


def _object(name: str, place: Place, role: type[System]) -> System:
    return _users(load_object(name), name, place, role)


def _users(system: object, name: str, place: Place, role: type[System]) -> System:
    """Return an object, called ``name`` by the user, as a system: wrapped once, unless it is one of Heed's own."""
    system = system.system if isinstance(system, Alone) else system
    if isinstance(system, System) and of_heed(system):
        return system
    name, label = name or class_name(system), getattr(system, "name", "")
    if isinstance(label, str) and is_reserved(label):
        raise UsageError(f"{name}: its name is {label!r}, that of a system of Heed's own; give it another")
    return wrapped(system, name, role, place.corpus)


def _model(name: str, place: Place, role: type[System]) -> System:
    model = installed_model(name, place, built_in(role))
    if place.instructed:
        warn_unread(model)
    return system_of(model, place, role)


ANY = (Retriever, Reranker, Encoder)
MODEL, CLASS = "NAME", "package.module:Class"  # how help writes names that are not Heed's own
PROGRAM = "command:"
FOLDERS = ("documents", "passages")  # beside the folders of systems' indexes
MAKERS = {
    "bm25": Maker(_bm25, (Retriever,), "BM25 of Lucene"),
    "bm25+rm3": Maker(_bm25, (Retriever,), "BM25 with feedback by RM3"),
    "bm25+rocchio": Maker(_bm25, (Retriever,), "BM25 with feedback by Rocchio"),
    "bm25+fields": Maker(_bm25, (Retriever,), "BM25 of tables by caption, header and cells"),
    "lsa": Maker(lambda _, place, role: place.dense(None), (Retriever,), "a dense baseline that needs no model"),
    "rrf:": Maker(_fused, (Retriever,), "several fused by reciprocal ranks", "NAME,NAME"),
    "sum:": Maker(
        _fused, (Retriever,), "several fused by the sum of their scores, each list's from 0 to 1", "NAME,NAME"
    ),
    "polarity": Maker(_polarity, (Reranker,), "reads the instruction and needs no download"),
    MODEL: Maker(_model, ANY, "a model by name, path or hub id; an encoder searches, and reranks by similarity"),
    "rank_bm25": Maker(lambda _, place, role: RankBm25(), (Reranker,), "BM25 over each topic's candidates alone"),
    "decompose:": Maker(_decompose, (Reranker,), "an encoder that reads instructions without training", "ENCODER"),
    "polarity+": Maker(_fusion, (Reranker,), "both, their scores added", "NAME"),
    "mteb:": Maker(_of_add_on, ANY, "a model by MTEB's code", "NAME"),
    CLASS: Maker(_object, ANY, "a class of your own"),
    PROGRAM: Maker(_of_add_on, (Reranker,), "a program in any language", "PROGRAM"),
}  # a key that ends in : or + is the beginning of a name


def make(system: object, place: Place, role: type[S]) -> S:
    """Return the system of a name, or an object of Heed's or the user's, in a role; it is not loaded yet.

    An encoder searches by its vectors, and compares by them as a reranker. Raises :class:`UsageError` for an unknown
    name, for one without this role and for an object that lacks something, and :class:`heed.errors.ModelError` for a
    model that cannot be loaded.
    """
    if not isinstance(system, str):
        return _in_role(_users(system, "", place, role), place, role)
    name, source = split_name(system)
    maker = MAKERS[kind_of(source)]
    if role not in maker.roles:
        raise _wrong_role(source, f"a {_words(maker.roles[0])}", role, maker.roles)
    in_role = _in_role(maker.make(source, place, role), place, role)
    if name:
        in_role = copy(in_role)  # one of BM25 is shared
        in_role.name = name
    return in_role


def system_of(model: Model, place: Place, role: type[System]) -> System:
    """Return the system of a model, an encoder for every role where it is one.

    It is of the family that the role suggests where nothing else tells it. Raises :class:`UsageError` for a family
    without this role.
    """
    model = with_family(model, CROSS_ENCODER if role is Reranker else BI_ENCODER)
    family = FAMILIES[model.family]
    if role is Retriever and f"{family.name} retriever" in BROUGHT:
        encoder = brought(f"{family.name} encoder")(model, place.compute)
        retriever: System = brought(f"{family.name} retriever")(encoder, place.documents(model.name))
        return retriever
    roles = {ENCODER: ANY, RERANKER: (Reranker,)}.get(family.system, ())
    if role not in roles:
        raise _wrong_role(model.source, f"of family {family_of(model)}", role, roles)
    system: System = family.make(model, place.compute, place.answers)
    return system


def kind_of(source: str) -> str:
    """Return the key of ``MAKERS`` that has the maker of a name without ``NAME=``."""
    if source in MAKERS:
        return source
    prefix = next((key for key in MAKERS if key[-1] in ":+" and source.startswith(key)), "")
    return prefix or (CLASS if OBJECT.fullmatch(source) else MODEL)


def is_reserved(name: str) -> bool:
    """Return whether the runs or indexes of Heed's own systems may be called so: no system of the user's is."""
    return name.partition("+")[0] in (*MAKERS, *FOLDERS)


def _in_role(system: System, place: Place, role: type[S]) -> S:
    """Return a system as what ``role`` asks for: an encoder has each."""
    if isinstance(system, role):
        return system
    in_role: System = system
    if isinstance(system, Encoder):
        reads = place.compute.encoder_reads
        in_role = Similarity(system, place.corpus, reads) if role is Reranker else place.dense(system)
    if not isinstance(in_role, role):
        roles = [each for each in ANY if isinstance(system, each)]
        raise _wrong_role(system.name, f"a {_words(roles[0])}", role, roles)
    return in_role


def _wrong_role(name: str, kind: str, role: type[System], roles: Sequence[type[System]]) -> UsageError:
    advice = f"; give {_words(roles[0])}={name}" if roles else ""
    if role is Reranker and roles[:1] == (Retriever,):
        advice = f"; it searches; rerankers of Heed's own are {', '.join(built_in(Reranker))}"
    return UsageError(f"{name}: {kind}, no {_words(role)}{advice}")


def _words(role: type[System]) -> str:
    return "bi-encoder" if role is Encoder else role.__name__.lower()


def built_in(role: type[System]) -> list[str]:
    """Return the names of Heed's own systems in a role, which need no download."""
    names = (key for key, maker in MAKERS.items() if role in maker.roles and key not in (MODEL, CLASS))
    return [name for name in names if name[-1] not in ":+"]


def forms(role: type[System]) -> dict[str, str]:
    """Return how names of systems in a role are written, each with what it is, for the commands' help."""
    listed = {f"{key}{maker.rest}": maker.text for key, maker in MAKERS.items() if role in maker.roles}
    return {**listed, "NAME=SYSTEM": "any of these, its runs called NAME"}


def installed_model(name: str, place: Place, built_in: Sequence[str] = ()) -> Model:
    """Return the model of a name, whose inputs have at most the user's ``max_length``.

    Raises :class:`UsageError`, before anything is built, where a package for it is missing.
    """
    model = place.registry.resolve(name, built_in).limited(place.compute.max_length)
    require("huggingface_hub", name)
    if model.status != "api" and (not model.family or FAMILIES[model.family].library not in ("", SERVICE)):
        require("torch", name)
    return model


def family_of(model: Model) -> str:
    """Return the family, and what it was guessed from, so that a wrong guess can be seen and overruled."""
    guess = f" (guessed from {model.guessed_from}; family=NAME overrules it)" if model.guessed_from else ""
    return f"{model.family}{guess}"


def split_name(system: str) -> tuple[str, str]:
    """Return the name and the system of ``NAME=SYSTEM``; the name is empty where there is none.

    A path that exists is a system, whatever is in it. Raises :class:`UsageError` for a name that no run file can have,
    and for that of a system of Heed's which this is not.
    """
    name, _, named = system.partition("=")
    if not named or kind_of(system)[-1] in ":+" or os.path.exists(system):  # noqa: PTH110 (any text)
        return "", system
    if not FILE_NAME.fullmatch(name) or (is_reserved(name) and name != named):
        raise UsageError(
            f"{system}: no file or folder, and its name is {name!r}; in NAME=SYSTEM a name is of letters, digits and "
            ". + @ : _ -, for its run files, and none of Heed's own systems"
        )
    return name, named


def refuse_twins(names: Sequence[str], systems: Sequence[str] = ()) -> None:
    """Raise :class:`UsageError` for systems of one name, whose runs would have the same files.

    ``systems`` are what the user wrote for each, such as ``models/e5``.
    """
    problems = []
    for name in sorted({name for name in names if names.count(name) > 1}):
        written = [system for each, system in zip(names, systems, strict=True) if each == name] if systems else []
        listed = f" ({', '.join(written)})" if written else ""
        advice = "give one of the objects another name, in its attribute name"
        if written:
            source = written[-1].removeprefix(f"{name}=")
            advice = f"name one, as in {shlex.quote(f'{name}-2={source}')}"
        problems.append(f"system {name}: named twice{listed}; {advice}")
    fail(problems, UsageError)


def compute_of(compute: Compute | None, device: str, threads: int | None = None) -> Compute:
    """Return ``compute``, or one of its short form, checked; :class:`UsageError` where both are given."""
    if compute and (device != "auto" or threads is not None):
        raise UsageError("device and threads beside compute: give them as its fields")
    compute = compute or Compute(device, threads=threads)
    compute.check()
    return compute
