"""Heed's rerankers and encoders as models of MTEB 2, for ``mteb.evaluate``.

MTEB's instruction tasks then reach a model with the instruction, in Heed's form of it: ``predict`` gets the queries'
columns ``query`` and ``instruction``. The scores are those of :class:`heed.Experiment` over the same documents.
(The other way round, ``mteb:NAME`` is a system of Heed: :mod:`heed.addons.bridges.mteb_models`.)
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from heed.addons.bridges.mteb_models import require_mteb
from heed.compute import Compute
from heed.files import digest_json
from heed.formats.topic_ids import ENDINGS
from heed.models.registry.entries import Registry
from heed.reranking.similarity import Similarity
from heed.systems.make import Place, make
from heed.types import Document, Encoder, Query, Reranker

Numbers = NDArray[np.float64]
CONDITIONS = {ending: condition for condition, ending in ENDINGS.items()}  # by the end of a qid


def as_mteb(
    system: str | Reranker | Encoder, *, registry: Registry | None = None, device: str = "auto"
) -> "MtebCrossEncoder | MtebBiEncoder":
    """Return a reranker or encoder as a model that ``mteb.evaluate`` takes: an entry, a hub id, a path or an object.

    A system that needs an index of the documents, such as ``polarity``, is given as the object that
    ``experiment.reranker("polarity")`` returns. Raises :class:`heed.UsageError` where mteb 2 is not installed, and
    for what is neither a reranker nor an encoder.
    """
    require_mteb("heed.addons.bridges.mteb")
    model = make(system, Place(registry or Registry(), Compute(device)), Reranker)
    return MtebBiEncoder(model.encoder) if isinstance(model, Similarity) else MtebCrossEncoder(model)


class _Described:
    """A system with MTEB's description of it."""

    model_type = ""

    def __init__(self, system: Reranker | Encoder) -> None:
        config = system.config
        described = {
            "name": f"heed/{system.name}",
            # without a config results are never taken for those of an earlier object of this name
            "revision": uuid4().hex if config is None else digest_json(config),
            "model_type": [self.model_type],
            "use_instructions": True,
        }
        self.mteb_model_meta: Any = import_module("mteb.models").ModelMeta.create_empty(overwrites=described)
        self._system = system


class MtebCrossEncoder(_Described):
    """A reranker of Heed, as MTEB's ``CrossEncoderProtocol``."""

    model_type = "cross-encoder"
    _system: Reranker

    def predict(
        self, inputs1: Any, inputs2: Any, *, task_metadata: Any, hf_split: str, hf_subset: str, **_: Any
    ) -> Numbers:
        """Return a score for each pair of a row of ``inputs1``, the queries, and the same one of ``inputs2``.

        The documents of a query are scored together, as list-wise rerankers need it; another id is another query,
        even of the same text.
        """
        self._system.load()
        lang = _language(task_metadata, hf_subset)
        pairs: dict[tuple[str, Query], list[int]] = {}  # by MTEB's id, whose ending a query loses
        for number, row in enumerate(_rows(inputs1)):
            pairs.setdefault((_id(row, number), _query(row, number, lang)), []).append(number)
        documents = [_document(row, number) for number, row in enumerate(_rows(inputs2))]
        scores = np.empty(len(documents))
        for (_qid, query), numbers in pairs.items():
            scores[numbers] = self._system.score(query, [documents[number] for number in numbers])
        return scores


class MtebBiEncoder(_Described):
    """An encoder of Heed, as MTEB's ``EncoderProtocol``; compared by inner product."""

    model_type = "dense"
    _system: Encoder

    def encode(
        self,
        inputs: Any,
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        prompt_type: Any = None,
        **_: Any,
    ) -> Any:
        """Return one vector a row, of queries where ``prompt_type`` is that of queries, else of documents."""
        self._system.load()
        rows = list(_rows(inputs))
        if getattr(prompt_type, "value", prompt_type) == "query":
            lang = _language(task_metadata, hf_subset)
            return self._system.encode_queries([_query(row, number, lang) for number, row in enumerate(rows)])
        return self._system.encode_documents([_document(row, number) for number, row in enumerate(rows)])

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Numbers:
        """Return the inner products in double precision, shape ``(len(embeddings1), len(embeddings2))``.

        That of two single vectors has no dimension: MTEB's summarization tasks make a number of it.
        """
        first, second = (np.asarray(vectors, np.float64) for vectors in (embeddings1, embeddings2))
        products: Numbers = np.atleast_2d(first) @ np.atleast_2d(second).T
        return products.reshape(()) if first.ndim == second.ndim == 1 else products

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Numbers:
        """Return the inner product of each row of one with the same row of the other."""
        products: Numbers = np.vecdot(np.asarray(embeddings1, np.float64), np.asarray(embeddings2, np.float64))
        return products


def _rows(loader: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of MTEB's batches, each of which has its columns as lists."""
    for batch in loader:
        for values in zip(*batch.values(), strict=True):
            yield dict(zip(batch, values, strict=True))


def _id(row: Mapping[str, Any], number: int) -> str:
    return str(row.get("id", number))


def _query(row: Mapping[str, Any], number: int, lang: str) -> Query:
    qid = _id(row, number)
    ending = next((ending for ending in CONDITIONS if qid.endswith(ending)), "")
    query, instruction = row.get("query", row["text"]), row.get("instruction") or ""
    condition = CONDITIONS.get(ending, "original") if instruction else "query"
    return Query(qid.removesuffix(ending), row["text"] if instruction else query, query, instruction, lang, condition)


def _document(row: Mapping[str, Any], number: int) -> Document:
    return Document(_id(row, number), row.get("title") or "", row.get("body", row["text"]))


def _language(task: Any, subset: str) -> str:
    """Return the ISO 639-3 code of the queries: the first language of the subset."""
    languages = task.eval_langs.get(subset) if isinstance(task.eval_langs, Mapping) else task.eval_langs
    return languages[0].partition("-")[0] if languages else "eng"
