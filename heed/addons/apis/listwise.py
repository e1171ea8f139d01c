"""List-wise reranking by a chat model behind an API; every answer is stored, so that none is paid twice."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from heed.addons.apis.client import AtServer, RefusedError, endpoint
from heed.addons.apis.cost import Bill, about
from heed.models.registry.entries import Model
from heed.models.registry.families import ANSWERS, FAMILIES
from heed.models.rerankers.listwise import CONTEXT, Answer, Chat, ListwiseReranker, Message, pieces, read_answer
from heed.progress import log
from heed.types import Config, Document

PATH = "chat/completions"
BAD_REQUEST = 400
CUT = ("length", "content_filter")  # why an answer stopped before its end
Check = Callable[[str, str], bool]  # one of the expected answers, and what may be an answer


def api_listwise(model: Model, answers: Path = ANSWERS) -> ListwiseReranker:
    """Return the reranker of family ``api-chat``; :class:`heed.errors.ServiceError` for a missing key or address."""
    prompt = FAMILIES["api-chat"].prompt
    form = pieces(model, prompt).form
    return ListwiseReranker(model, ApiChat(model, answers, lambda *texts: read_answer(form, *texts).is_one), prompt)


class ApiChat(AtServer, Chat):
    """A model of the chat completions API as a :class:`heed.models.rerankers.listwise.Chat`."""

    def __init__(self, model: Model, answers: Path, is_answer: Check, needs_key: bool = True) -> None:
        """Read key and address from the environment; nothing can be sent without ``needs_key``."""
        super().__init__(model, endpoint(model, needs_key=needs_key), answers)
        self._is_answer, self._takes_temperature = is_answer, True

    def shortened(self, document: Document) -> Document:
        """Return the document: its tokens cannot be counted here, so ``longest`` cuts it to as many words."""
        return document

    def fits(self, conversation: list[Message], ranking: str) -> bool:
        """Whether both fit into the entry's ``max_length``, by :func:`heed.addons.apis.cost.about`."""
        texts = [*(message["content"] for message in conversation), ranking]
        return sum(map(about, texts)) <= (self._model.max_length or CONTEXT)

    def answer(self, conversation: list[Message], ranking: str) -> str:
        """Return the model's answer, at temperature 0 where it takes one; a stored one is not requested again."""
        key, request = self._key(conversation), partial(self._request, self._body(conversation))
        return self._answers.answer(key, request, partial(self._is_answer, ranking))

    def stored(self, conversation: list[Message], ranking: str) -> str | None:
        """Return the answer if it is stored."""
        return self._answers.stored(self._key(conversation), partial(self._is_answer, ranking))

    def estimate(self) -> tuple[Callable[[str], str], Callable[[], Answer]]:
        """Return a bill's line, and what begins a query: a function that returns stored answers and adds others to it.

        Questions after one without an answer depend on it: they count as paid, though some may be stored.
        """
        bill = Bill(self._model.price)

        def begun() -> Answer:
            is_known = True

            def answer(conversation: list[Message], ranking: str) -> str | None:
                nonlocal is_known
                stored = self.stored(conversation, ranking) if is_known else None
                is_known = stored is not None
                if stored is None:
                    bill.add([message["content"] for message in conversation], ranking)
                else:
                    bill.free += 1
                return stored

            return answer

        return partial(bill.line, bound="at most "), begun

    def _body(self, conversation: list[Message]) -> Config:
        return {"model": self._endpoint.model, "messages": conversation, "temperature": 0}

    def _key(self, conversation: list[Message]) -> str:
        return self._endpoint.digest(PATH, self._body(conversation))

    def _request(self, body: Config) -> str:
        if not self._takes_temperature:
            body = {name: value for name, value in body.items() if name != "temperature"}
        try:
            return self._client.post(PATH, body, _content)
        except RefusedError as error:
            if "temperature" not in body or error.status != BAD_REQUEST or "temperature" not in error.reason:
                raise
        log.info(f"{self._model.name}: takes no temperature, so another run without its cache can give other answers")
        self._takes_temperature = False
        return self._request(body)


def _content(answer: Any) -> str:
    """Return the text of the first choice; empty where there is none, or only its beginning."""
    choice = answer["choices"][0]
    content = choice["message"]["content"]
    if content is not None and not isinstance(content, str):
        raise TypeError("its content is no text")
    return "" if content is None or choice.get("finish_reason") in CUT else content
