"""List-wise reranking by a chat model behind an API; every answer is kept, so that none is paid twice."""

from typing import Any

from heed.io.artifacts import Recipe
from heed.io.document_store import DocumentStore
from heed.models.api_cache import Answers
from heed.models.api_client import Client, RefusedError
from heed.models.api_cost import Bill, about
from heed.models.api_providers import endpoint, settings
from heed.models.listwise import CONTEXT, ListwiseReranker
from heed.models.listwise_prompt import Message
from heed.models.registry import Model
from heed.progress import log

PATH = "chat/completions"
PROMPT = "rank_gpt"
BAD_REQUEST = 400


def api_listwise(model: Model, store: DocumentStore, device: str) -> ListwiseReranker:
    """The reranker of family ``api-chat``; :class:`heed.errors.HeedError` for a missing key or address."""
    return ListwiseReranker(model, store, ApiChat(model), PROMPT)


class ApiChat:
    """A model of the chat completions API as a :class:`heed.models.listwise.Chat`."""

    def __init__(self, model: Model) -> None:
        """Find key and address in the environment; nothing is asked yet."""
        where = endpoint(model)
        self.recipe: Recipe = {**settings(model), **where.recipe}
        self._model, self._client, self._answers = model, Client(where), Answers()
        self._takes_temperature = True

    def prepare(self) -> None:
        """Nothing is to be loaded here."""

    def fits(self, conversation: list[Message], ranking: str) -> bool:
        """Whether both fit into the entry's ``max_length``, by :func:`heed.models.api_cost.about`."""
        texts = [*(message["content"] for message in conversation), ranking]
        return sum(map(about, texts)) <= (self._model.max_length or CONTEXT)

    def answer(self, conversation: list[Message], ranking: str) -> str:
        """What the model says, at temperature 0 where it takes one; from the cache if it was asked before."""
        kept = self.kept(conversation)
        if kept is not None:
            return kept
        said = self._ask(self._body(conversation))
        self._answers.put({self._key(conversation): said.encode()})
        return said

    def kept(self, conversation: list[Message]) -> str | None:
        """The answer if it is in the cache."""
        key = self._key(conversation)
        found = self._answers.get([key]).get(key)
        return None if found is None else found.decode()

    def quote(self) -> "ChatQuote":
        """What answers will cost."""
        return ChatQuote(self, self._client.where.model, self._model.price)

    def _body(self, conversation: list[Message]) -> Recipe:
        return {"model": self._client.where.model, "messages": conversation, "temperature": 0}

    def _key(self, conversation: list[Message]) -> str:
        return self._client.where.digest(PATH, self._body(conversation))

    def _ask(self, body: Recipe) -> str:
        if not self._takes_temperature:
            body = {name: value for name, value in body.items() if name != "temperature"}
        try:
            return self._client.post(PATH, body, _content)
        except RefusedError as error:
            if "temperature" not in body or error.status != BAD_REQUEST or "temperature" not in error.reason:
                raise
        log.info(f"{self._model.name}: takes no temperature, so another run without its cache can give other answers")
        self._takes_temperature = False
        return self._ask(body)


class ChatQuote:
    """A :class:`heed.models.listwise.Quote` for an API."""

    def __init__(self, chat: ApiChat, model: str, price: tuple[float, float] | None) -> None:
        """Count for the API's ``model``."""
        self._chat, self._bill = chat, Bill(model, price)

    def ask(self, conversation: list[Message], ranking: str) -> str | None:
        """The answer if it is in the cache, else None: it is put on the bill."""
        kept = self._chat.kept(conversation)
        if kept is None:
            self._bill.add([message["content"] for message in conversation], ranking)
        else:
            self._bill.free += 1
        return kept

    def told(self, label: str) -> str:
        """The bill in one line."""
        return self._bill.told(label)


def _content(answer: Any) -> str:
    """The text of the first choice; empty where the model would not speak, which is an answer too."""
    content = answer["choices"][0]["message"]["content"]
    if content is not None and not isinstance(content, str):
        raise TypeError
    return content or ""
