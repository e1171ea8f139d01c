"""Rerankers behind a server: how servers are asked, as data; every answer is stored, so that none is paid twice."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from heed.addons.apis.client import PROVIDERS, SERVICES, AtServer, Provider, endpoint, environment
from heed.addons.apis.cost import Bill, about, beginning, check_texts, in_requests
from heed.errors import ModelError
from heed.models.registry.entries import Model
from heed.models.registry.families import ANSWERS, API_RERANK
from heed.models.text import document_text, query_text, room_for_document
from heed.progress import log
from heed.reuse import recipe_version
from heed.types import Config, Document, Query, Reranker, conditions_in

PATH = "rerank"
TOKENS = 200_000  # of a request, by our estimate: Contextual takes 400,000, Voyage 600,000 (their API references)


class RerankForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON of a rerank server.

    ``documents`` is the field of the texts; ``results`` that of the answer's list (empty: the answer is the list),
    whose items have ``index`` and ``score``. ``instruction`` is the field of the instruction; where there is none it
    is part of the query, as the entry's template has it. ``extra`` goes into every request; a request has at most
    ``most`` documents, and the model's name if ``names_model``. ``source`` says where this is documented.
    """

    documents: str = "documents"
    results: str = "results"
    score: str = "relevance_score"
    instruction: str = ""
    extra: dict[str, Any] = {}
    most: int = 100
    names_model: bool = True
    source: str = ""


RERANKERS = msgspec.convert(SERVICES["rerankers"], dict[str, Provider])
SERVER = Provider("RERANK_API_KEY", "RERANK_BASE_URL", "")  # a server of one's own
FORMS = msgspec.convert(SERVICES["forms"], dict[str, RerankForm])
PLAIN = "cohere"  # the form of servers whose entry names none: nothing but model, query and documents is sent


def form_name(model: Model) -> str:
    """Return the name of the form that ``model`` is asked in: its entry's ``api``, its service's, or ``PLAIN``.

    Raises :class:`ModelError` for an ``api`` that is none of ``FORMS``.
    """
    owner = model.source.partition("/")[0]
    name = model.api or (owner if owner in RERANKERS and model.status == "api" else PLAIN)
    if name not in FORMS:
        raise ModelError(f"{model.source}: api is {name!r}, expected one of {', '.join(FORMS)}")
    return name


def instruction_field(model: Model) -> str:
    """Return the field that the instruction is sent in; empty where it is part of the query.

    A ``query`` template of the entry is preferred to the field.
    """
    return "" if model.query is not None else FORMS[form_name(model)].instruction


def missing_address(model: Model) -> list[str]:
    """Return the environment variable that ``model`` needs and that is not set, key or address; none where all is set.

    Of models of any family: chat models, embeddings and rerankers.
    """
    owner = model.source.partition("/")[0]
    provider = RERANKERS.get(owner, SERVER) if model.family == API_RERANK else PROVIDERS.get(owner)
    if provider is None or environment(provider.key) or environment(provider.base):
        return []
    return [provider.key if provider.url else provider.base]


def read_scores(form: RerankForm, answer: Any, count: int) -> list[float]:
    """Return the scores of ``count`` documents in their order.

    Raises ValueError, KeyError or TypeError for an answer without one finite number for each document.
    """
    rows = answer[form.results] if form.results else answer
    scores = {row["index"]: row[form.score] for row in rows}
    if len(rows) != count:
        raise ValueError(f"{len(rows)} scores for {count} documents")
    for index in range(count):
        if type(scores.get(index)) not in (int, float) or not math.isfinite(scores[index]):
            raise ValueError(f"score {scores.get(index)!r} at index {index}, expected a finite number")
    return [float(scores[index]) for index in range(count)]


class ApiReranker(AtServer, Reranker):
    """A model of a rerank API as a :class:`heed.types.Reranker`.

    A score is the server's number: a logit where the server is asked for it, see
    :data:`heed.addons.apis.rerank.FORMS`. A document without text is an error, because servers refuse it.
    """

    def __init__(self, model: Model, answers: Path = ANSWERS) -> None:
        """Read key and address from the environment; answers are kept in the folder ``answers``.

        Raises :class:`heed.errors.ServiceError` where these are missing, and :class:`ModelError` for an unknown form.
        """
        name = form_name(model)
        self._form, self._field = FORMS[name], instruction_field(model)
        super().__init__(model, endpoint(model, RERANKERS, SERVER), answers)
        self.config["rerank"] = [recipe_version("rerank"), name, self._form.most, TOKENS]
        self._long = self._scored = 0

    def announce(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Log the estimated cost of scoring ``queries``; raises as :meth:`score` does before anything is sent."""
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
            log.info(bill.line(f"{self.name}.{conditions_in(queries)}"))
            if self._model.max_length is None:
                log.info(f"{self.name}: its entry has no max_length; what is too long is cut or refused by its server")

    begin = announce

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
        """Log the number of documents that were too long, since the last time."""
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
