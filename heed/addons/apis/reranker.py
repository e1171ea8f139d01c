"""Rerankers behind a server; every answer is stored, so that none is paid twice."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from heed.addons.apis.client import Client
from heed.addons.apis.cost import Answers, Bill, about, beginning, check_texts, in_requests
from heed.addons.apis.endpoints import endpoint
from heed.addons.apis.rerank_forms import FORMS, PATH, SERVER, SERVICES, form_name, instruction_field, read_scores
from heed.models.files.model_files import settings_of
from heed.models.registry.entries import Model
from heed.models.registry.families import ANSWERS
from heed.models.text.fit import room_for_document
from heed.models.text.templates import document_text, query_text
from heed.progress import log
from heed.reuse import recipe_version
from heed.types import Config, Document, Query, Reranker

TOKENS = 200_000  # of a request, by our estimate: Contextual takes 400,000, Voyage 600,000 (their API references)


class ApiReranker(Reranker):
    """A model of a rerank API as a :class:`heed.types.Reranker`.

    A score is the server's number: a logit where the server is asked for it, see
    :data:`heed.addons.apis.rerank_forms.FORMS`. A document without text is an error, because servers refuse it.
    """

    def __init__(self, model: Model, answers: Path = ANSWERS) -> None:
        """Read key and address from the environment; answers are kept in the folder ``answers``.

        Raises :class:`heed.errors.ServiceError` where these are missing, and :class:`ModelError` for an unknown form.
        """
        self.name = model.name
        name = form_name(model)
        self._model, self._form, self._field = model, FORMS[name], instruction_field(model)
        self._endpoint = endpoint(model, SERVICES, SERVER)
        self.config: Config = {
            **settings_of(model),
            **self._endpoint.config,
            "rerank": [recipe_version("rerank"), name, self._form.most, TOKENS],
        }
        self._client, self._answers = Client(self._endpoint), Answers(answers)
        self._long = self._scored = 0

    def close(self) -> None:
        """Close the connections; a later score opens them again."""
        self._client.close()

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Log what scoring ``queries`` will cost; raises as :meth:`score` does for what no request can be made of."""
        bill = Bill(self._model.price, self._model.search_price)
        for query in queries:
            text, fields = self._query(query)
            for texts, _ in self._parts(query, documents(query)):
                key = self._key(self._body(text, fields, texts))
                if self._answers.get([key]):
                    bill.free += 1
                else:
                    bill.add_search(" ".join([text, *fields.values()]), texts)
        if queries:
            log.info(bill.line(f"{self.name}.{queries[0].condition}"))
            if self._model.max_length is None:
                log.info(f"{self.name}: its entry has no max_length; what is too long is cut or refused by its server")

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the server's score of each document.

        Where a pair is longer than the entry's ``max_length``, the document is cut, a table between rows, by the
        server where it says that it does so. Raises :class:`ModelError` where query and instruction leave no room,
        :class:`heed.errors.DataError` for documents without text, and :class:`heed.errors.ServiceError` for
        a server that refuses, or whose answers lack a document's score.
        """
        text, fields = self._query(query)
        scores: list[float] = []
        for texts, long in self._parts(query, documents):
            scores += self._answer(self._body(text, fields, texts), len(texts))
            self._long += long
        self._scored += len(documents)
        return scores

    def finish(self) -> None:
        """Log how many documents were too long since the last time."""
        if self._long:
            cut = "their end is cut there" if self._endpoint.provider.cuts else "their end was cut"
            log.info(
                f"{self.name}: {self._long} of {self._scored} documents seem longer with their query than "
                f"{self._model.max_length} tokens: {cut}"
            )
        self._long = self._scored = 0

    def _query(self, query: Query) -> tuple[str, dict[str, str]]:
        """Return the text of the query, and the instruction in its field."""
        if not self._field:
            return query_text(self._model, query.query, query.instruction), {}
        instruction = query.instruction or self._model.task or ""
        return query.query, {self._field: instruction} if instruction else {}

    def _parts(self, query: Query, documents: Sequence[Document]) -> Iterator[tuple[list[str], int]]:
        """Yield the texts of documents that fit into one request, and how many are longer than the model reads."""
        check_texts(documents, f"{self.name} cannot score")
        text, fields = self._query(query)
        query_tokens = about(" ".join([text, *fields.values()]))
        contents = (self._text(query.qid, query_tokens, document) for document in documents)
        sized = ((content, query_tokens + about(content[0])) for content in contents)
        for part in in_requests(sized, self._form.most, TOKENS):
            yield [content for content, _ in part], sum(is_long for _, is_long in part)

    def _text(self, qid: str, query_tokens: int, document: Document) -> tuple[str, bool]:
        """Return a document's text, cut where it is longer than the model reads, and whether it is."""
        text, limit = document_text(self._model, document.title, document.text), self._model.max_length
        if limit is None:
            return text, False
        if self._endpoint.provider.cuts:
            return text, query_tokens + about(text) > limit
        # tokens are estimated: three quarters leave room for what has three letters a token
        room = room_for_document(
            f"{self.name}: topic {qid}", "query and instruction, by an estimate,", query_tokens, limit * 3 // 4
        )
        if about(text) <= room:
            return text, False
        room -= about(document_text(self._model, document.title, ""))
        return document_text(self._model, document.title, beginning(document, max(room, 0))), True

    def _body(self, text: str, fields: dict[str, str], texts: list[str]) -> Config:
        named = {"model": self._endpoint.model} if self._form.names_model else {}
        return {**named, "query": text, **fields, self._form.documents: texts, **self._form.extra}

    def _key(self, body: Config) -> str:
        # of the whole request: a model may read its documents together, as jina-reranker-v3 does
        return self._endpoint.digest(PATH, body)

    def _answer(self, body: Config, count: int) -> list[float]:
        def read(answer: Any) -> list[float]:
            return read_scores(self._form, answer, count)

        stored = self._answers.answer(self._key(body), lambda: json.dumps(self._client.post(PATH, body, read)))
        scores: list[float] = json.loads(stored)
        return scores
