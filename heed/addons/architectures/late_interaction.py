"""Late interaction (ColBERT, ColBERT-X, PLAID-X): a vector for every token, and MaxSim over a pool or a collection.

Models are sentence-transformers' own, and ColBERT's checkpoints, which are read as ColBERT's code reads them.
"""

import logging
import math
import string
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.compute import Compute
from heed.errors import ModelError
from heed.formats.document_store import Corpus
from heed.models.encoders import PrefixedText, SentenceEncoder
from heed.models.files import local_copy, read_object
from heed.models.registry.entries import Model
from heed.models.registry.families import FAMILIES, LATE
from heed.models.sentence_models import check_network, device_of, lengths, options
from heed.models.weights import POOLER, positions_of, weights_in
from heed.progress import bar, logging_only
from heed.ranking import top
from heed.retrieval.dense.vectors import Vectors, begins, embed, folder_of, split
from heed.reuse import recipe_version
from heed.types import Config, Document, Encoder, Matrix, Query, Reranker, Retriever, Run

METADATA = "artifact.metadata"
COLBERT = "HF_ColBERT"  # the class that ColBERT's and PLAID-X's code save
PLACE = ". "  # ColBERT's tokenizers put this before a text and write the marker over its first token
MARKERS = {"query": ("query_token_id", "[unused0]"), "document": ("doc_token_id", "[unused1]")}

KEPT = 4 * 2**30  # bytes of a pool's vectors in memory: 46,000 documents of 180 tokens of 128 numbers
BLOCK = 2**24  # products at a time: 64 MB


def load_late_model(model: Model, compute: Compute) -> tuple[Any, dict[str, int]]:
    """Return the ``MultiVectorEncoder`` of ``model``, and its marker tokens' ids if it is ColBERT's own.

    Raises :class:`ModelError` for a folder that holds no late-interaction model, and for missing weights.
    """
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Transformer

    folder = local_copy(model)
    _check_files(folder)
    metadata = _metadata(folder) if _is_colbert(folder) else None
    # without transformers' report of weights, for which the projection is unexpected; missing ones are an error
    with logging_only("transformers", logging.ERROR):
        encoder = MultiVectorEncoder(str(folder), device=device_of(compute), **options(model, compute))
    if not isinstance(encoder[0], Transformer):
        raise ModelError(f"{model.source}: begins with a {type(encoder[0]).__name__}, expected a transformer")
    _set_lengths(model, encoder[0])
    check_network(folder, encoder, (POOLER,))
    if metadata is None:
        return encoder, {}
    if model.padding == "left":
        raise ModelError(f"{model.source}: padding left, but {COLBERT} has its marker as a text's second token")
    return encoder, _as_colbert(folder, metadata, encoder)


def _check_files(folder: Path) -> None:
    config = read_object(folder / "config_sentence_transformers.json")
    saved = config.get("model_type") in FAMILIES[LATE].saved_as or "query_prefix" in config
    if _is_colbert(folder) or (saved and (folder / "modules.json").is_file()):  # without: a random projection
        return
    raise ModelError(
        f"{folder}: no late-interaction model; expected the class {COLBERT} in its config.json, or what "
        "MultiVectorEncoder.save or pylate left (a copy by another class has lost the projection of its tokens)"
    )


def _is_colbert(folder: Path) -> bool:
    """Whether ColBERT's own code saved this; sentence-transformers' own form, if it is there too, has precedence."""
    return not (folder / "modules.json").is_file() and COLBERT in (
        read_object(folder / "config.json").get("architectures") or []
    )


def _metadata(folder: Path) -> dict[str, Any]:
    path = folder / METADATA
    if not path.is_file():
        raise ModelError(f"{path}: is missing, but it says how {COLBERT} reads texts; copy the whole model")
    metadata: dict[str, Any] = read_object(path)
    for field, default in MARKERS.values():
        if not isinstance(metadata.setdefault(field, default), str):
            raise ModelError(f"{path}: {field} is {metadata[field]!r}, expected the marker's token, mostly {default!r}")
    if "linear.weight" not in weights_in(folder):
        raise ModelError(f"{folder}: no linear.weight, the projection of {COLBERT}; copy the whole model")
    return metadata


def _set_lengths(model: Model, transformer: Any) -> None:
    """Set the entry's lengths; queries get mask tokens up to the checkpoint's own query length.

    This is what ColBERT's ``full_length_search`` does with one query; a fixed length would cut them
    all or fill them all with masks. Raises :class:`ModelError` for a length that the model cannot read.
    """
    most = positions_of(transformer.model, transformer.tokenizer) or math.inf
    expansion = transformer.query_expansion
    transformer.query_expansion = None  # its setter refuses a query_length below it
    stored = expansion["length"] if expansion and expansion["strategy"] == "fixed" else transformer.query_length
    transformer.query_length = model.query_length or model.max_length or stored
    transformer.document_length = model.document_length or model.max_length or transformer.document_length
    for task in MARKERS:
        length = getattr(transformer, f"{task}_length")
        if length and length > most:
            raise ModelError(f"{model.source}: {task}_length {length}, but the model reads {most} tokens at most")
    if expansion:
        least = min(expansion["length"], transformer.query_length or expansion["length"])
        transformer.query_expansion = {**expansion, "strategy": "min", "length": least}


def _as_colbert(folder: Path, metadata: dict[str, Any], encoder: Any) -> dict[str, int]:
    """Make ``encoder`` read texts as ColBERT's code does; return the id of each task's marker.

    sentence-transformers puts the marker before the text. ColBERT's tokenizers (``query_tokenization.py``,
    ``doc_tokenization.py``) overwrite the first token of ``". "`` with it, which leaves a full stop
    where that is two tokens, as in XLM-R's vocabulary; and they skip the first token of each punctuation mark
    (``colbert.py``), which for XLM-R is mostly the mark that begins a word. Models were trained so.
    """
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    tokenizer, network = encoder.tokenizer, encoder[0].model
    names = {task: metadata[field] for task, (field, _) in MARKERS.items()}
    known = tokenizer.get_vocab()
    tokenizer.add_tokens([name for name in names.values() if name not in known])  # the query's first, as PLAID-X does
    markers = {task: int(tokenizer.convert_tokens_to_ids(name)) for task, name in names.items()}
    rows = network.get_input_embeddings().num_embeddings
    if max(markers.values()) >= rows:
        raise ModelError(
            f"{folder}: no embedding for the markers {' and '.join(names.values())}: the model has {rows}, and its "
            f"tokenizer puts them at {' and '.join(map(str, markers.values()))}; use the tokenizer it was saved with"
        )
    encoder.prompts |= dict.fromkeys(MARKERS, PLACE)
    tokenizer.padding_side = "right"
    for module in encoder:
        if isinstance(module, MultiVectorMask) and module.skiplist_words:
            firsts = [tokenizer.encode(mark, add_special_tokens=False)[:1] for mark in string.punctuation]
            module.skiplist_words = tokenizer.convert_ids_to_tokens([token for first in firsts for token in first])
            module.resolve_with_tokenizer(tokenizer)
    return markers


class LateEncoder(SentenceEncoder):
    """A MultiVectorEncoder whose matrices are *packed*: a row for each token that is compared.

    Column 0 is 1 where a text begins, else 0; the others are the token's vector. The markers of
    queries and documents are the model's own, before the filled templates of the entry.
    """

    def __init__(self, model: Model, compute: Compute) -> None:
        super().__init__(model, compute)
        self.config["late"] = recipe_version("late")
        self._markers: dict[str, int] = {}

    def _similarity(self) -> str:
        return ""

    def _network(self) -> Any:
        encoder, self._markers = load_late_model(self._model, self._compute)
        return encoder

    def _vectors(self, inputs: Sequence[PrefixedText], task: str) -> Matrix:
        limit = self._encoder.limit(task)
        counts = lengths(self._encoder, [text.whole for text in inputs])
        shortened = [min(count, limit or count) for count in counts]
        texts = self._encoder.batches.read(
            shortened, lambda batch: self._tokens([inputs[index] for index in batch], task)
        )
        if not all(len(text) and np.isfinite(text).all() for text in texts):
            raise ModelError(f"{self.name}: a {task} without a token to compare, or with a vector that is not finite")
        if task == "query" and self._encoder.whole.similarity_fn_name == "meanmaxsim":
            texts = [text / np.float32(len(text)) for text in texts]  # then the sum of the best products is their mean
        return packed(texts)

    def _tokens(self, inputs: Sequence[PrefixedText], task: str) -> list[Matrix]:
        """Return the vectors of each text's tokens that are compared, mask tokens of queries included."""
        import torch
        from sentence_transformers.util import batch_to_device

        encoder = self._encoder.whole
        features = encoder.preprocess([text.text for text in inputs], prompt=inputs[0].prefix, task=task)
        if self._markers:
            features["input_ids"][:, 1] = self._markers[task]
        with torch.inference_mode():
            output = encoder(batch_to_device(features, encoder.device), task=task)
        vectors = output["token_embeddings"].float().cpu().numpy()
        masks = output["attention_mask"].bool().cpu().numpy()
        return [rows[mask] for rows, mask in zip(vectors, masks, strict=True)]


def packed(texts: Sequence[Matrix]) -> Matrix:
    """Return one packed matrix of the token vectors of ``texts``, each of which has a token."""
    rows = np.zeros((sum(map(len, texts)), 1 + texts[0].shape[1]), dtype=np.float32)
    np.concatenate(texts, out=rows[:, 1:])
    rows[np.cumsum([0, *map(len, texts[:-1])]), 0] = 1
    return rows


def maxsim(queries: Matrix, documents: Matrix) -> NDArray[np.float64]:
    """Return the score of each query and document of two packed matrices, shape ``(queries, documents)``.

    The sum over a query's tokens of the best inner product with a token of the document (Khattab and
    Zaharia 2020, section 3.3). Products are float32 as the vectors are; their sum is float64, because in
    float32 two of a thousand documents would now and then get the same sum of 500 tokens.
    """
    tokens, starts, ends = queries[:, 1:], begins(queries), np.append(begins(documents), len(documents))
    scores = np.empty((len(starts), len(ends) - 1))
    first = 0
    while first < scores.shape[1]:
        most = int(np.searchsorted(ends, ends[first] + BLOCK // len(tokens), side="right")) - 1
        last = max(first + 1, most)  # whole documents
        products = tokens @ np.asarray(documents[ends[first] : ends[last], 1:]).T
        best = np.maximum.reduceat(products, ends[first:last] - ends[first], axis=1)
        scores[:, first:last] = np.add.reduceat(best, starts, axis=0, dtype=np.float64)
        first = last
    return scores


class LateReranker(Reranker):
    """MaxSim over a pool as a :class:`heed.types.Reranker`.

    Vectors of documents are computed once for all queries and conditions of a process, as long as
    all of them fit into ``KEPT`` bytes; later ones are computed each time.
    """

    independent = True

    ENCODER: type[SentenceEncoder] = LateEncoder  # of packed matrices
    VERSION = "maxsim"

    def __init__(self, model: Model, compute: Compute) -> None:
        """Find the files of ``model``, or fetch them; it is loaded when first used.

        Raises :class:`heed.errors.ModelError` as :class:`heed.models.encoders.SentenceEncoder` does.
        """
        self._encoder = self.ENCODER(model, compute)
        self.name = self._encoder.name
        self.config: Config = {self.VERSION: recipe_version(self.VERSION), "encoder": self._encoder.config}
        self._alone = compute.encoder_reads == "query"
        if self._alone:
            self.config["reads"] = "query"
        self._queries: dict[Query, Matrix] = {}
        self._documents: dict[tuple[str, int], Matrix] = {}  # by docid and hash
        self._room = KEPT

    def load(self) -> None:
        """Load the model."""
        self._encoder.load()

    def close(self) -> None:
        """Unload the model and forget the vectors; a later score loads it again."""
        self._queries, self._documents, self._room = {}, {}, KEPT
        self._encoder.close()

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Encode all queries, so that the message about long ones covers them all."""
        self._encode(queries)

    def finish(self) -> None:
        """Forget the queries."""
        self._queries.clear()

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the score of each document."""
        if not documents:
            return []
        if query not in self._queries:
            self._encode([query])
        scores: list[float] = self.compare(self._queries[query], self._vectors(documents)).tolist()
        return scores

    def compare(self, query: Matrix, documents: Matrix) -> NDArray[np.float64]:
        """Return the score of each document of a packed matrix for a packed query."""
        scores: NDArray[np.float64] = maxsim(query, documents)[0]
        return scores

    def _encode(self, queries: Sequence[Query]) -> None:
        if queries:
            read = [query.alone for query in queries] if self._alone else queries
            vectors = split(self._encoder.encode_queries(read))
            self._queries |= zip(queries, vectors, strict=True)

    def _vectors(self, documents: Sequence[Document]) -> Matrix:
        keys = [(document.docid, hash(document)) for document in documents]
        missing = {key: document for key, document in zip(keys, documents, strict=True) if key not in self._documents}
        new: dict[tuple[str, int], Matrix] = {}
        if missing:
            new = dict(zip(missing, split(self._encoder.encode_documents(list(missing.values()))), strict=True))
        rows = np.concatenate([new[key] if key in new else self._documents[key] for key in keys])
        for key, matrix in new.items():
            if matrix.nbytes <= self._room:
                self._room -= matrix.nbytes
                self._documents[key] = matrix.copy()  # a copy, so that the matrix it is a part of is freed
        return rows


class LateRetriever(Retriever):
    """MaxSim over every document of a collection as a :class:`heed.types.Retriever`.

    Exact: no token is pruned, clustered or quantised, as PLAID's index does, so results differ
    from PLAID's only by what PLAID misses. It costs disk and time: a token of 128 numbers takes 516
    bytes, where PLAID's one bit a number takes 20, and each search reads every one of them. A million
    documents of 180 tokens are 93 GB; above some hundred thousand, rerank a pool instead.
    """

    VERSION = "maxsim"

    def __init__(self, encoder: Encoder, corpus: Corpus) -> None:
        """Search with ``encoder``, of packed matrices; vectors of documents go to a folder of its name."""
        self.name = encoder.name
        self._encoder, self._corpus = encoder, corpus
        self._vectors: Vectors | None = None
        self.config: Config = {self.VERSION: recipe_version(self.VERSION), "system": encoder.config}

    def load(self) -> None:
        """Embed the documents unless their vectors are there."""
        self._embedded()

    def _embedded(self) -> Vectors:
        if self._vectors is None:
            self._vectors = embed(self._folder / "vectors", self._corpus.documents, self._encoder)
        return self._vectors

    @property
    def _folder(self) -> Path:
        """The folder of what is made of the documents."""
        return folder_of(self._corpus.folder, self._encoder, self.name)

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the ``depth`` best documents of each query, searched shard by shard."""
        best: Run = {query.qid: {} for query in queries}
        if not queries:
            return best
        query_vectors, vectors = self._encoder.encode_queries(queries), self._embedded()
        docids, shards = iter(vectors.docids), len(vectors.shards)
        for part in bar(vectors.parts(), shards, f"{self.name}.{queries[0].condition}", "shards"):
            scores = maxsim(query_vectors, part)
            here = list(islice(docids, scores.shape[1]))
            for qid, row in zip(best, scores.tolist(), strict=True):
                best[qid] = top({**best[qid], **dict(zip(here, row, strict=True))}, depth)
        return best

    def close(self) -> None:
        """Forget the vectors, and close the model."""
        self._vectors = None
        self._encoder.close()
