"""A pool judged by a model: one question a document, its cost before the first, and the grades in the answers."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from heed.errors import ModelError
from heed.judging.exchange.exported_pool import AT_ONCE, ExportedPool
from heed.judging.model.chats import JudgeChat
from heed.judging.model.judge_prompts import EXPECTED, GRADES, conversation, parse_grade, prompt_text
from heed.models.remote.cost import Bill, about, beginning
from heed.models.rerankers.listwise_prompt import Message
from heed.progress import bar
from heed.types import Document, Qrels, Query


@dataclass
class Judged:
    """What a model said of a pool.

    ``grades`` hold no document whose answer had no grade; these are ``refused``: topic, document and answer.
    ``cut`` documents were too long for the model. ``bill`` counts every question and answer, kept ones too.
    """

    bill: Bill
    grades: Qrels = field(default_factory=dict)
    refused: list[tuple[str, str, str]] = field(default_factory=list)
    cut: int = 0

    @property
    def counts(self) -> dict[int, int]:
        """The number of documents of each grade."""
        counted = Counter(grade for grades in self.grades.values() for grade in grades.values())
        return {grade: counted[grade] for grade in GRADES}


class Judge:
    """Asks ``chat`` about every document of a pool with one of the prompts."""

    def __init__(self, name: str, chat: JudgeChat, prompt: str) -> None:
        """``name`` is the model's, ``prompt`` one of :data:`heed.judging.model.judge_prompts.PROMPTS`."""
        self.name = name
        self._chat, self._prompt = chat, prompt_text(prompt)

    def estimate(self, pool: ExportedPool) -> Bill:
        """Return the cost of judging a checked pool: the questions that are not answered yet."""
        bill = Bill(self.name, self._chat.price)
        for query, document in _pairs(pool):
            question, _ = self._question(query, document)
            if self._chat.cached(question) is None:
                bill.add([message["content"] for message in question], EXPECTED)
            else:
                bill.free += 1
        return bill

    def judge(self, pool: ExportedPool) -> Judged:
        """Return the model's judgements of a checked pool, in its order.

        Answers are kept: a killed process asks no question again. Raises :class:`ModelError` where a query
        leaves no room for a document, and as the model does where it does not answer.
        """
        judged = Judged(Bill(self.name, self._chat.price))
        total = sum(map(len, pool.pool.values()))
        for query, document in bar(_pairs(pool), total, f"{self.name}.{pool.condition}", "documents"):
            question, cut = self._question(query, document)
            answer = self._chat.answer(question)
            judged.bill.add([message["content"] for message in question], answer)
            judged.cut += cut
            grade = parse_grade(answer)
            if grade is None:
                judged.refused.append((query.qid, document.docid, answer))
            else:
                judged.grades.setdefault(query.qid, {})[document.docid] = grade
        return judged

    def _question(self, query: Query, document: Document) -> tuple[list[Message], bool]:
        """Return the question about a document, and whether its text had to be cut, a table between rows."""
        whole = conversation(self._prompt, query.text, document.contents())
        if self._chat.fits(whole):
            return whole, False

        def shortened(room: int) -> list[Message]:
            text = beginning(document, room) if room else ""
            return conversation(self._prompt, query.text, document._replace(text=text).contents())

        rooms = range(1, about(document.text) + 1)
        most = bisect_left(rooms, True, key=lambda room: not self._chat.fits(shortened(room)))
        if not most:
            raise ModelError(
                f"{self.name}: topic {query.qid}: prompt, query and instruction leave no room for document "
                f"{document.docid}; set a larger max_length in the model's entry, or choose another model"
            )
        return shortened(most), True


def _pairs(pool: ExportedPool) -> Iterator[tuple[Query, Document]]:
    """Yield every topic under the pool's condition with each of its documents, a few documents in memory."""
    if pool.documents is None:
        return
    for qid, docids in pool.pool.items():
        query = pool.topics[qid].under(pool.condition)
        for start in range(0, len(docids), AT_ONCE):
            for document in pool.documents.get(docids[start : start + AT_ONCE]):
                yield query, document
