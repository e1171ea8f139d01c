"""Encoders of tables that read cells: the caption as text, then header and rows with the place of every token."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from heed.errors import ModelError, fail
from heed.models.files import is_tapas, loading, local_copy
from heed.models.local import Batches, LocalModel, precision
from heed.models.text import document_text, query_text
from heed.progress import log
from heed.tables.markup import Table, parse_table
from heed.tables.text import as_fields, column_names
from heed.types import Document, Encoder, Matrix, Query

TYPES = 7  # of a token: segment, column, row, earlier answer, rank, inverse rank, relation to a number of the question
RELATION = 6  # DTR has no question beside a table, so this is 0


class TableInput(NamedTuple):
    """Token ids, and seven types for each."""

    ids: list[int]
    types: list[list[int]]


class TableEncoder(LocalModel, Encoder):
    """Google's dense table retriever as a :class:`heed.types.Encoder`: one network for tables, one for queries."""

    def _load(self) -> Any:
        import torch

        from heed.addons.architectures import tapas

        folder, name = local_copy(self._model), precision(self._model, self._compute)
        if not is_tapas(folder):
            raise ModelError(f"{folder}: no {tapas.CONFIG} of a model that reads tables; {self._model.note}")
        with loading(self._model.source):
            dtype = torch.float32 if name == "auto" else getattr(torch, name)
            return tapas.load_tapas(folder, self._compute.torch_device, dtype)

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
        import pandas as pd

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
        import torch

        batches = Batches(self.name, torch.device(self._compute.torch_device), self._compute)
        counts = [len(text.ids) for text in inputs]
        rows = batches.read(counts, lambda batch: self._read([inputs[position] for position in batch], tower))
        vectors = np.array(rows, dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise ModelError(f"{self.name}: a vector is not finite; the model's precision is too low for a text")
        return vectors

    def _read(self, inputs: Sequence[TableInput], tower: Any) -> list[Any]:
        import torch
        from torch.nn.utils.rnn import pad_sequence

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
