"""Models by MTEB's own code as systems of Heed, and Heed's rerankers and encoders as models of MTEB 2.

``mteb:NAME`` or ``mteb:NAME@REVISION`` is run by ``mteb.get_model``. Queries and documents reach a model in the columns
that MTEB's evaluation makes of them: a query's ``text`` is query and instruction, with both alone beside it; a
document's is title, space, text. The prompts are those of MTEB's task ``Core17InstructionRetrieval``. One column is
added: MTEB's own reranker classes (MonoT5, FLAN-T5, Llama, Mistral, FollowIR-7B, BGE, Jina in 2.26) take the queries'
instructions only where the *documents* have a column ``instruction``, which MTEB's evaluation does not make; here they
have one, so that the instruction arrives.

For ``mteb.evaluate``, :func:`as_mteb` makes a model of a system of Heed. MTEB's instruction tasks then reach it with
the instruction, in Heed's form of it: ``predict`` gets the queries' columns ``query`` and ``instruction``. The scores
are those of :class:`heed.Experiment` over the same documents.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from heed.compute import Compute
from heed.errors import ModelError, UsageError, in_one_line
from heed.extras import installed_version
from heed.files import digest_json
from heed.formats.document_store import DocumentStore
from heed.formats.topic_ids import ENDINGS
from heed.models.registry.entries import Registry
from heed.process import free_memory
from heed.reranking.similarity import Similarity
from heed.systems.make import Place, make
from heed.types import Config, Document, Encoder, Matrix, Query, Reranker, Run

PREFIX = "mteb:"
TASK = "Core17InstructionRetrieval"  # whose prompts a model gets
BATCH = 32  # MTEB's default
QUIET = {"batch_size": BATCH, "show_progress_bar": False}


class MtebModel:
    """A model of MTEB: an entry in its registry, or a repository of the hub that MTEB reads."""

    def __init__(self, name: str, meta: Any, device: str) -> None:
        """Take the ``meta`` that MTEB has of the model; nothing is loaded."""
        self.source, _, revision = name.removeprefix(PREFIX).partition("@")
        self.name = PREFIX + re.sub(r"[^A-Za-z0-9._+-]", "-", self.source.rpartition("/")[2])
        self.config: Config = {"mteb": installed_version("mteb"), "model": self.source, "revision": meta.revision}
        self._revision, self._device = revision or None, None if device == "auto" else device
        self._cosine = meta.similarity_fn_name is None or meta.similarity_fn_name == "cosine"

    @cached_property
    def _model(self) -> Any:
        try:
            return require_mteb(self.name).get_model(self.source, self._revision, device=self._device)
        except Exception as error:
            raise ModelError(f"{self.name}: MTEB cannot load it ({in_one_line(error)})") from error

    def load(self) -> None:
        """Load the model; :class:`ModelError` where MTEB cannot."""
        _ = self._model

    def close(self) -> None:
        """Forget the model and give its memory back."""
        self.__dict__.pop("_model", None)
        free_memory()

    def _called(self, method: str, *loaders: Any, **options: Any) -> Any:
        """Return the result of ``predict`` or ``encode`` of the model for the ``loaders``."""
        return getattr(self._model, method)(*loaders, **_task(), **options, **QUIET)


class MtebReranker(MtebModel):
    """A cross-encoder of MTEB, as a :class:`heed.types.Reranker`."""

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the model's score for each document."""
        if not documents:
            return []
        pairs = _loader(_query_columns([query] * len(documents)))
        instructions = {"instruction": [query.instruction] * len(documents)} if query.instruction else {}
        shown = _loader({**_document_columns(documents), **instructions})
        scores: list[float] = _array(self._called("predict", pairs, shown)).reshape(-1).tolist()
        return scores


class MtebEncoder(MtebModel):
    """A bi-encoder of MTEB, as a :class:`heed.types.Encoder`; vectors that MTEB compares by cosine have length 1."""

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        """Return the vectors of documents, shape ``(len(documents), d)``."""
        return self._vectors(_document_columns(documents), "document")

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """Return the vectors of queries, shape ``(len(queries), d)``."""
        return self._vectors(_query_columns(queries), "query")

    def _vectors(self, columns: dict[str, list[str]], kind: str) -> Matrix:
        prompt_type = import_module("mteb.types").PromptType(kind)
        vectors: Matrix = _array(self._called("encode", _loader(columns), prompt_type=prompt_type))
        if self._cosine:
            lengths: Matrix = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors /= np.where(lengths, lengths, 1)
        return vectors


class MtebRetriever(MtebModel):
    """A model of MTEB that searches by itself (late interaction, sparse, BM25), with all documents in memory."""

    def index(self, documents: DocumentStore) -> None:
        """Keep ``documents`` in memory for the model."""
        ids, titles, texts = map(list, zip(*(document[:3] for document in documents), strict=True))
        self._documents = _dataset({"id": ids, "title": titles, "text": texts})

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the ``depth`` best documents of each query, as the model scores them.

        The model indexes the documents anew: MTEB's classes may forget them after a search.
        """
        columns = {"id": [query.qid for query in queries], "text": [query.query for query in queries]}
        if any(query.instruction for query in queries):
            columns["instruction"] = [query.instruction for query in queries]
        options = {**_task(), "encode_kwargs": QUIET, "num_proc": None}
        self._model.index(self._documents, **options)
        run: Run = self._model.search(_dataset(columns), top_k=depth, top_ranked=None, **options)
        return run


def mteb_model(name: str, place: Place) -> MtebReranker | MtebEncoder | MtebRetriever:
    """Return the model ``name``, with the prefix ``mteb:``, on the device of ``place``; nothing is loaded.

    Raises :class:`UsageError` where mteb 2 is not installed, and where the entry runs code of the model's repository
    but the registry of ``place`` does not trust it, and :class:`ModelError` for a model that MTEB does not find.
    """
    mteb = require_mteb(name)
    source, _, revision = name.removeprefix(PREFIX).partition("@")
    try:
        meta = mteb.get_model_meta(source, revision or None, fetch_from_hf=True)
    except Exception as error:
        raise ModelError(f"{name}: MTEB does not find this model ({in_one_line(error)})") from error
    if meta.loader_kwargs.get("trust_remote_code") and not place.registry.trusted:
        raise UsageError(
            f"{name}: MTEB runs code of this model's repository; read it, then give trust_remote_code=True"
        )
    dense = MtebEncoder if "dense" in meta.model_type else MtebRetriever
    return (MtebReranker if "cross-encoder" in meta.model_type else dense)(name, meta, place.compute.device)


def require_mteb(name: str) -> Any:
    """Return the package mteb, which ``name`` needs; :class:`UsageError` where version 2 is not installed."""
    major = installed_version("mteb").partition(".")[0]
    if not major.isdigit() or int(major) < 2:
        raise UsageError(f"{name}: needs mteb 2; install it with pip install 'mteb>=2'")
    return import_module("mteb")


@cache
def _task() -> dict[str, Any]:
    task = require_mteb(TASK).get_task(TASK)
    return {"task_metadata": task.metadata, "hf_split": "test", "hf_subset": "default"}


def _query_columns(queries: Sequence[Query]) -> dict[str, list[str]]:
    columns = {
        "id": [query.qid for query in queries],
        "text": [query.text for query in queries],
        "query": [query.query for query in queries],
    }
    if any(query.instruction for query in queries):
        columns["instruction"] = [query.instruction for query in queries]
    return columns


def _document_columns(documents: Sequence[Document]) -> dict[str, list[str]]:
    return {
        "id": [document.docid for document in documents],
        "text": [f"{document.title} {document.text}".strip() for document in documents],
        "body": [document.text for document in documents],
        "title": [document.title for document in documents],
    }


def _dataset(columns: dict[str, list[str]]) -> Any:
    return import_module("datasets").Dataset.from_dict(columns)


def _loader(columns: dict[str, list[str]]) -> Any:
    from torch.utils.data import DataLoader

    return DataLoader(_dataset(columns), batch_size=BATCH)


def _array(values: Any) -> Any:
    """Return scores or vectors, which may be a tensor in half precision on a GPU, as float32."""
    import torch

    return torch.as_tensor(values).float().cpu().numpy()


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
