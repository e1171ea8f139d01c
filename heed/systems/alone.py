"""Models alone, without an experiment: rerankers that score texts, and encoders that make vectors of them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heed.compute import Compute
from heed.errors import UsageError
from heed.files import digest_json
from heed.languages import language
from heed.models.registry.entries import Registry
from heed.reranking.rescore import score_alone
from heed.systems.make import Place, compute_of, make
from heed.systems.user_objects import Alone
from heed.types import Document, Encoder, Matrix, Query, Reranker


class TextReranker(Alone[Reranker]):
    """A reranker that scores texts."""

    def score(
        self, query: str | Query, texts: Sequence[str | Document], instruction: str = "", lang: str = "eng"
    ) -> list[float]:
        """Return one score for each of ``texts``, in their order; higher is better.

        The model reads query and ``instruction`` joined in its own way; both are in the language ``lang``, an ISO 639
        code. A :class:`heed.Query` has its own instruction and language. Raises :class:`heed.ModelError` for a model
        that cannot be loaded, and for a score that is not finite.
        """
        [question] = _queries([query], instruction, lang)
        return score_alone(self.system, question, _documents(texts))


class TextEncoder(Alone[Encoder]):
    """A bi-encoder that makes vectors of texts."""

    @property
    def cosine(self) -> bool:
        """Whether vectors are of length 1."""
        return self.system.cosine

    def encode_queries(self, queries: Sequence[str | Query], instruction: str = "", lang: str = "eng") -> Matrix:
        """Return the vectors of ``queries`` with ``instruction``, shape ``(len(queries), d)``, in float32.

        Instruction and language are those of :meth:`TextReranker.score`.
        """
        return self.system.encode_queries(_queries(queries, instruction, lang))

    def encode_documents(self, texts: Sequence[str | Document]) -> Matrix:
        """Return the vectors of ``texts``, shape ``(len(texts), d)``, in float32."""
        return self.system.encode_documents(_documents(texts))

    def similarity(self, queries: Matrix, documents: Matrix) -> NDArray[np.float64]:
        """Return the model's similarity of each query's vector with each document's, shape ``(queries, documents)``.

        It is their inner product in double precision. Where the model compares by cosine, its vectors have length 1;
        the score is that of ``heed.reranker`` with the same model.
        """
        products: NDArray[np.float64] = np.asarray(queries, np.float64) @ np.asarray(documents, np.float64).T
        return products


def reranker(
    system: object, *, device: str = "auto", compute: Compute | None = None, registry: Registry | None = None
) -> TextReranker:
    """Return a reranker alone, which scores texts: a name of the registry, a hub id, a folder, or an object.

    A bi-encoder scores by its vectors. ``device`` and ``compute`` are those of :class:`heed.Experiment`. ``polarity``
    and others that need an index of the documents are given as the object that ``experiment.reranker("polarity")``
    returns. Raises :class:`UsageError` for an unknown name and invalid settings, :class:`heed.ModelError` for files
    that are missing or damaged.
    """
    place = Place(registry or Registry(), compute_of(compute, device))
    return TextReranker(make(system, place, Reranker))


def encoder(
    system: object, *, device: str = "auto", compute: Compute | None = None, registry: Registry | None = None
) -> TextEncoder:
    """Return a bi-encoder alone, which makes vectors of texts: a name, a hub id, a folder, or an object.

    Arguments and errors are those of :func:`reranker`; :class:`UsageError` for a model that is no bi-encoder.
    """
    place = Place(registry or Registry(), compute_of(compute, device))
    return TextEncoder(make(system, place, Encoder))


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
