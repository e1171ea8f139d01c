"""Models alone, without an experiment: rerankers that score texts, and encoders that make vectors of them."""

from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from heed.addons.bridges.mteb_models import PREFIX as MTEB
from heed.addons.bridges.mteb_models import mteb_model
from heed.addons.bridges.programs import COMMAND, Program
from heed.compute import Compute
from heed.errors import UsageError
from heed.extras import OBJECT
from heed.files import digest_json
from heed.languages import language
from heed.models.files import with_family
from heed.models.registry.entries import Registry
from heed.models.registry.families import BI_ENCODER, CROSS_ENCODER
from heed.reranking.rescore import score_alone
from heed.reranking.similarity import Similarity
from heed.systems.by_name import DECOMPOSE, FUSED, RERANKERS, RETRIEVERS, renamed, split_name
from heed.systems.registry_models import installed_model, model_without_documents
from heed.systems.settings import Machine, machine_of
from heed.systems.user_objects import OwnReranker, class_name, is_built_in, is_encoder, load_object, own_system
from heed.types import Config, Document, Encoder, Matrix, Query, Reranker


def model_alone(
    system: object, registry: Registry, compute: Compute, otherwise: str = CROSS_ENCODER
) -> Reranker | Encoder:
    """Return the model of a name, or an object as it is, for use outside an experiment: it has no documents.

    ``otherwise`` is the family of a model whose files do not tell it. Raises :class:`UsageError` for names that need an
    index, and as :meth:`heed.systems.by_name.Systems.reranker` does.
    """
    if isinstance(system, Program):
        return OwnReranker(system, system.label)
    if not isinstance(system, str):
        return cast(Reranker | Encoder, system) if is_built_in(system) else own_system(system, class_name(system))
    name, source = split_name(system)
    if source.startswith(COMMAND):
        return model_alone(Program(source.removeprefix(COMMAND), name=name), registry, compute)
    return renamed(_model_named(source, registry, compute, otherwise), name)


def _model_named(system: str, registry: Registry, compute: Compute, otherwise: str) -> Reranker | Encoder:
    if system in (*RETRIEVERS, *RERANKERS) or system.startswith((FUSED, DECOMPOSE)):
        raise UsageError(f"{system}: no model; give the object that an experiment makes of it")
    if system.startswith(MTEB):
        return own_system(mteb_model(system, compute.device, registry.trusted), system)
    if OBJECT.fullmatch(system):
        return own_system(load_object(system), system)
    model = installed_model(system, registry, ())
    return model_without_documents(with_family(model, otherwise), compute)


def as_reranker(model: Reranker | Encoder) -> Reranker:
    """Return a model as a reranker; an encoder compares by its vectors."""
    return Similarity(model) if is_encoder(model) else cast(Reranker, model)


class _Alone:
    """A model that is loaded at its first use; it closes at the end of a ``with`` block."""

    def __init__(self, system: Reranker | Encoder) -> None:
        self._system: Any = system
        self.name = system.name
        self.made_by: Config = getattr(system, "made_by", {})

    @property
    def config(self) -> Config | None:
        """What decides its scores, as JSON data; None where that is not known."""
        config: Config | None = self._system.config
        return config

    def __enter__(self) -> Self:
        """Return the model."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free its memory."""
        self.close()

    def __repr__(self) -> str:
        """Return its kind and name."""
        return f"<{type(self).__name__} {self.name}>"

    def close(self) -> None:
        """Free the model's memory; a later use loads it again."""
        self._system.close()


class TextReranker(_Alone):
    """A reranker that scores texts; an experiment takes it too."""

    def score(
        self, query: str | Query, texts: Sequence[str | Document], instruction: str = "", lang: str = "eng"
    ) -> list[float]:
        """Return one score for each of ``texts``, in their order; higher is better.

        The model reads query and ``instruction`` joined in its own way; both are in the language ``lang``, an ISO 639
        code. A :class:`heed.Query` has its own instruction and language. Raises :class:`heed.ModelError` for a model
        that cannot be loaded, and for a score that is not finite.
        """
        [question] = _queries([query], instruction, lang)
        return score_alone(self._system, question, _documents(texts))


class TextEncoder(_Alone):
    """A bi-encoder that makes vectors of texts; an experiment takes it too."""

    @property
    def cosine(self) -> bool:
        """Whether vectors have length 1, since the model compares by cosine."""
        return bool(getattr(self._system, "cosine", False))

    def encode_queries(self, queries: Sequence[str | Query], instruction: str = "", lang: str = "eng") -> Matrix:
        """Return the vectors of ``queries`` with ``instruction``, shape ``(len(queries), d)``, in float32.

        Instruction and language are those of :meth:`TextReranker.score`.
        """
        vectors: Matrix = self._system.encode_queries(_queries(queries, instruction, lang))
        return vectors

    def encode_documents(self, texts: Sequence[str | Document]) -> Matrix:
        """Return the vectors of ``texts``, shape ``(len(texts), d)``, in float32."""
        vectors: Matrix = self._system.encode_documents(_documents(texts))
        return vectors

    def similarity(self, queries: Matrix, documents: Matrix) -> NDArray[np.float64]:
        """Return the model's similarity of each query's vector with each document's, shape ``(queries, documents)``.

        It is their inner product in double precision. Where the model compares by cosine, its vectors have length 1;
        the score is that of ``heed.reranker`` with the same model.
        """
        products: NDArray[np.float64] = np.asarray(queries, np.float64) @ np.asarray(documents, np.float64).T
        return products


def reranker(
    system: object,
    *,
    device: str = "auto",
    machine: Machine | None = None,
    registry: Registry | None = None,
) -> TextReranker:
    """Return a reranker alone, which scores texts: a name of the registry, a hub id, a folder, or an object.

    A bi-encoder scores by its vectors. ``device`` and ``machine`` are those of :class:`heed.Experiment`; no workers are
    used. ``polarity`` and others that need an index of the documents are given as the object that
    ``experiment.reranker("polarity")`` returns. Raises :class:`UsageError` for an unknown name and invalid settings,
    :class:`heed.ModelError` for files that are missing or damaged.
    """
    compute = machine_of(machine, device).compute
    return TextReranker(as_reranker(model_alone(system, registry or Registry(), compute)))


def encoder(
    system: object, *, device: str = "auto", machine: Machine | None = None, registry: Registry | None = None
) -> TextEncoder:
    """Return a bi-encoder alone, which makes vectors of texts: a name, a hub id, a folder, or an object.

    Arguments and errors are those of :func:`reranker`; :class:`UsageError` for a model that is no bi-encoder.
    """
    compute = machine_of(machine, device).compute
    model = model_alone(system, registry or Registry(), compute, BI_ENCODER)
    if not is_encoder(model):
        raise UsageError(f"{model.name}: no bi-encoder, it has no vectors of single texts; use heed.reranker")
    return TextEncoder(model)


def _queries(queries: Sequence[str | Query], instruction: str, lang: str) -> list[Query]:
    if isinstance(queries, str):
        raise UsageError("queries: found one text, expected a list of texts")
    code = language(lang).code
    if instruction and not all(isinstance(query, str) for query in queries):
        raise UsageError("instruction beside a heed.Query: give it as the query's instruction")
    return [
        Query(str(number), query=query, instruction=instruction, lang=code) if isinstance(query, str) else query
        for number, query in enumerate(queries, 1)
    ]


def _documents(texts: Sequence[str | Document]) -> list[Document]:
    """Return texts as documents, named by what they say: models keep vectors by docid."""
    if isinstance(texts, str):
        raise UsageError("texts: found one text, expected a list of texts")
    return [Document(digest_json(text)[:16], "", text) if isinstance(text, str) else text for text in texts]
