"""Dense table retrieval by TAPAS (DTR): the caption as text, then header and rows with the place of every token.

Herzig et al., Open Domain Question Answering over Tables via Dense Retrieval, 2021, https://arxiv.org/abs/2103.12011.
A folder is one of Google's archives, its TensorFlow checkpoint copied tensor by tensor into ``model.safetensors``: the
weights of the two networks have the names that Google's files give them.
"""

import json
import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import TapasConfig, TapasModel, TapasTokenizer

from heed.errors import ModelError, fail
from heed.models.files import TAPAS, is_tapas, loading, local_copy
from heed.models.local import Batches, LocalModel, precision
from heed.models.text import document_text, query_text
from heed.models.weights import check_names, tensors_in
from heed.progress import log
from heed.tables.markup import Table, as_fields, column_names, parse_table
from heed.types import Document, Encoder, Matrix, Query

TYPES = 7  # of a token: segment, column, row, earlier answer, rank, inverse rank, relation to a number of the question
RELATION = 6  # DTR has no question beside a table, so this is 0
VOCABULARY = "vocab.txt"
TABLES, QUERIES = "bert", "bert_1"  # in this order Google's program makes its networks
PROJECTIONS = {TABLES: "table_projection", QUERIES: "text_projection"}
COLUMNS, ROWS = 1, 2  # of the seven types of a token
RENAMED = {"LayerNorm/weight": "LayerNorm/gamma", "LayerNorm/bias": "LayerNorm/beta", "/weight": "/kernel"}
FIELDS = (  # those that Google's configuration shares with transformers'
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    "max_position_embeddings",
)


class TableInput(NamedTuple):
    """Token ids, and seven types for each."""

    ids: list[int]
    types: list[list[int]]


class TableEncoder(LocalModel, Encoder):
    """Google's dense table retriever as a :class:`heed.types.Encoder`: one network for tables, one for queries."""

    def _load(self) -> Any:
        folder, name = local_copy(self._model), precision(self._model, self._compute)
        if not is_tapas(folder):
            raise ModelError(f"{folder}: no {TAPAS} of a model that reads tables; {self._model.note}")
        with loading(self._model.source):
            dtype = torch.float32 if name == "auto" else getattr(torch, name)
            return load_tapas(folder, self._compute.torch_device, dtype)

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        """Return the vectors of tables, cut between rows; a document that is no table is read as a caption alone.

        Raises :class:`DataError` for a table whose text no longer says which cell is where.
        """
        tables = [self._table(document) for document in documents]
        fail(
            f"document {document.docid}: its text does not hold the cells of its table, which {self.name} reads; write "
            "tables in the form raw, markdown, html or csv"
            for document, table in zip(documents, tables, strict=True)
            if document.is_table and not _holds(document, table)
        )
        return self._vectors([self._input(table) for table in tables], self._loaded.tables)

    def _table(self, document: Document) -> Table:
        if not document.is_table:
            return Table(document_text(self._model, document.title, document.text), [], [])
        table = parse_table(document.text)
        return table._replace(caption=document_text(self._model, document.title, table.caption).strip())

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """Return the vectors of queries with their instructions; logs how many the model must cut at their end."""
        texts = [query_text(self._model, query.query, query.instruction) for query in queries]
        tokens = [self._tokens(text) for text in texts]
        room = self._limit(self._model.query_length) - 2
        cut = sum(len(query) > room for query in tokens)
        if cut:
            log.info(f"{self.name}: {cut} of {len(texts)} queries are longer than {room + 2} tokens: their end is cut")
        return self._vectors([self._text(query[:room]) for query in tokens], self._loaded.queries)

    def _limit(self, length: int | None) -> int:
        most: int = self._loaded.positions
        return min(length or self._model.max_length or most, most)

    def _tokens(self, text: str) -> list[str]:
        """Return the tokens of ``text``, ``[EMPTY]`` for one without words."""
        tokens: list[str] = self._loaded.tokenizer.tokenize(_marked(text))
        return tokens

    def _text(self, tokens: list[str]) -> TableInput:
        tokenizer = self._loaded.tokenizer
        ids = tokenizer.convert_tokens_to_ids([tokenizer.cls_token, *tokens, tokenizer.sep_token])
        return TableInput(ids, [[0] * TYPES for _ in ids])

    def _input(self, table: Table) -> TableInput:
        """Return the caption, then as many whole rows as fit; a caption may take half of the room that rows need.

        Of a table whose header and first row do not fit, their cells lose tokens at their ends, as TAPAS's own
        tokenizer cuts them; where that does not do, columns at the right are left out.
        """
        limit = self._limit(self._model.document_length)
        if not table.header and not table.body:
            return self._text(self._tokens(table.caption)[: limit - 2])
        most_columns, most_rows = self._loaded.sizes
        caption = self._head(table.caption, (limit - 2) // 2)
        room = limit - 2 - len(self._tokens(caption))
        columns = min(len(column_names(table)), most_columns, room // 2)
        names, body = column_names(table)[:columns], [row[:columns] for row in table.body[:most_rows]]
        rows = max(self._fitting(names, body, room), 1)
        cells = [list(map(_marked, row)) for row in body[:rows]]
        frame = pd.DataFrame(cells, columns=list(map(_marked, names)), dtype=object)
        features = self._loaded.tokenizer(frame, _marked(caption), truncation="drop_rows_to_fit", max_length=limit)
        types = [[*token[:RELATION], 0] for token in features["token_type_ids"]]
        return TableInput(features["input_ids"], types)

    def _head(self, text: str, room: int) -> str:
        """Return the first words of ``text`` that have at most ``room`` tokens."""
        words = text.split()
        fitting = sum(length <= room for length in accumulate(len(self._tokens(word)) for word in words))
        return " ".join(words[:fitting])

    def _fitting(self, names: list[str], body: list[list[str]], room: int) -> int:
        """Return how many rows fit into ``room`` beside the header."""
        room -= self._length(names)
        for number, row in enumerate(body):
            room -= self._length(row)
            if room < 0:
                return number
        return len(body)

    def _length(self, cells: list[str]) -> int:
        return sum(len(self._tokens(cell)) for cell in cells)

    def _vectors(self, inputs: Sequence[TableInput], tower: Any) -> Matrix:
        batches = Batches(self.name, torch.device(self._compute.torch_device), self._compute)
        counts = [len(text.ids) for text in inputs]
        rows = batches.read(counts, lambda batch: self._read([inputs[position] for position in batch], tower))
        vectors = np.array(rows, dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise ModelError(f"{self.name}: a vector is not finite; the model's precision is too low for a text")
        return vectors

    def _read(self, inputs: Sequence[TableInput], tower: Any) -> list[Any]:
        ids, types = ([torch.tensor(part) for part in parts] for parts in zip(*inputs, strict=True))
        rows = (pad_sequence(part, batch_first=True) for part in (ids, types, list(map(torch.ones_like, ids))))
        with torch.inference_mode():
            vectors = tower.vectors(*(tensor.to(self._compute.torch_device) for tensor in rows))
        return list(vectors.float().cpu().numpy())


def _marked(text: str) -> str:
    """Return ``text``; TAPAS has a token for an empty one, which transformers' tokenizer gives to a mark alone."""
    return text if text.strip() else "?"


def _holds(document: Document, table: Table) -> bool:
    """Whether ``table`` has the cells of ``document``'s; without a header the first row may have become one."""
    cells = as_fields(table)["cells"]
    return bool(cells) == bool(document.cells) and document.cells.endswith(cells)


class Tower(NamedTuple):
    """One network and its projection; a vector is the projected output of the pooler, TAPAS's state of ``[CLS]``."""

    network: Any
    projection: Any

    def vectors(self, ids: Any, types: Any, mask: Any) -> Any:
        """Return ``(texts, dimensions)``; ``types`` is ``(texts, tokens, 7)``."""
        pooled = self.network(input_ids=ids, token_type_ids=types, attention_mask=mask).pooler_output
        return pooled @ self.projection.T


class TableModel(NamedTuple):
    """The two networks and their tokenizer; ``sizes`` are how many columns and rows a table may have."""

    tables: Tower
    queries: Tower
    tokenizer: Any
    positions: int
    sizes: tuple[int, int]


def load_tapas(folder: Path, device: str, dtype: Any) -> TableModel:
    """Return the model in ``folder``; :class:`ModelError` for weights that are not exactly a dual encoder's."""
    config = _config(folder)
    with torch.device("meta"):
        names = list(TapasModel(config).state_dict())
    expected = [*(tf_name(scope, name) for scope in PROJECTIONS for name in names), *PROJECTIONS.values()]
    check_names(folder, "a table retriever with projections", expected)
    tensors = tensors_in(folder, "")
    towers = {}
    for scope in (TABLES, QUERIES):
        network: Any = TapasModel(config)
        weights = {name: _as_torch(tensors[tf_name(scope, name)], name) for name in names}
        network.load_state_dict(weights)
        projection = tensors[PROJECTIONS[scope]].to(device, dtype)
        towers[scope] = Tower(network.to(device, dtype).eval(), projection)
    tokenizer = TapasTokenizer(str(folder / VOCABULARY), model_max_length=config.max_position_embeddings)
    sizes = (config.type_vocab_sizes[COLUMNS] - 1, config.type_vocab_sizes[ROWS] - 1)  # 0 is for no cell
    return TableModel(towers[TABLES], towers[QUERIES], tokenizer, config.max_position_embeddings, sizes)


def _config(folder: Path) -> TapasConfig:
    path = folder / TAPAS
    content = json.loads(path.read_text(encoding="utf-8"))
    lacking = [field for field in (*FIELDS, "type_vocab_size") if field not in content]
    if lacking or content.get("softmax_temperature", 1.0) != 1.0 or content.get("hidden_act", "gelu") != "gelu":
        difference = f"without {', '.join(lacking)}" if lacking else "with another softmax_temperature or hidden_act"
        raise ModelError(f"{path}: a configuration {difference}, expected that of one of Google's table retrievers")
    fields = {field: content[field] for field in FIELDS}
    return TapasConfig(
        **fields,
        type_vocab_sizes=content["type_vocab_size"],
        hidden_act="gelu_new",  # Google's GELU is the one by tanh
        reset_position_index_per_cell=False,  # as Google's table_retriever_model.py leaves it
    )


def tf_name(scope: str, name: str) -> str:
    """Return TensorFlow's name, below ``scope``, of the weights that transformers' TapasModel calls ``name``."""
    path = re.sub(r"^encoder/layer/(\d+)", r"encoder/layer_\1", name.replace(".", "/"))
    if path.startswith("embeddings/") and "LayerNorm" not in path:
        return f"{scope}/{path.removesuffix('/weight')}"
    ending = next((ending for ending in RENAMED if path.endswith(ending)), None)
    return f"{scope}/{path.removesuffix(ending) + RENAMED[ending] if ending else path}"


def _as_torch(tensor: Any, name: str) -> Any:
    """Return a tensor as torch has it; TensorFlow has layers as inputs by outputs, torch as outputs by inputs."""
    return tensor.T.contiguous() if tf_name("", name).endswith("/kernel") else tensor
