"""A pool judged by a model: one question a document, its cost before the first, and the grades in the answers."""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.pool import AsyncResult, ThreadPool
from typing import NamedTuple

from heed.addons.apis.cost import Bill, about, beginning
from heed.addons.judging.exchange.exported_pool import ExportedPool, documents
from heed.addons.judging.model.chats import JudgeChat, LocalJudge
from heed.addons.judging.model.judge_prompts import EXPECTED, GRADES, conversation, parse_grade
from heed.errors import ModelError, UsageError
from heed.models.registry.entries import Model
from heed.models.rerankers.listwise import Message
from heed.progress import bar
from heed.types import Document, Qrels, Query

AHEAD = 4  # questions for each request at once: one slow answer, in whose place the others wait, stops none of them


class Asked(NamedTuple):
    """The question about a document for a topic, and whether the document had to be cut."""

    query: Query
    document: Document
    messages: list[Message]
    cut: bool


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
    """Asks ``chat``, which is ``model``, about every document of a pool."""

    def __init__(self, model: Model, chat: JudgeChat) -> None:
        self.name, self._chat = model.name, chat
        self._price = (0.0, 0.0) if isinstance(chat, LocalJudge) else model.price

    def estimate(self, pool: ExportedPool) -> Bill:
        """Return the cost of judging a checked pool: the questions that are not answered yet."""
        bill = Bill(self._price)
        for question in self._questions(pool):
            if self._chat.stored(question.messages, EXPECTED) is None:
                bill.add([message["content"] for message in question.messages], EXPECTED)
            else:
                bill.free += 1
        return bill

    def judge(self, pool: ExportedPool, parallel: int = 1) -> Judged:
        """Return the model's judgements of a checked pool, in its order, with up to ``parallel`` requests at once.

        Answers are kept as they come: a killed process asks no question again but those that were being answered.
        Raises :class:`ModelError` where a query leaves no room for a document, and as the model does where it does not
        answer; :class:`UsageError` for several requests at once to a model of this machine.
        """
        if parallel > 1 and isinstance(self._chat, LocalJudge):
            raise UsageError(f"--parallel {parallel}: {self.name} runs on this machine, one document at a time")
        judged = Judged(Bill(self._price))
        total = sum(map(len, pool.pool.values()))
        answered = _answered(self._chat, self._questions(pool), parallel)
        for question, answer in bar(answered, total, f"{self.name}.{pool.condition}", "documents"):
            qid, docid = question.query.qid, question.document.docid
            judged.bill.add([message["content"] for message in question.messages], answer)
            judged.cut += question.cut
            grade = parse_grade(answer)
            if grade is None:
                judged.refused.append((qid, docid, answer))
            else:
                judged.grades.setdefault(qid, {})[docid] = grade
        return judged

    def _questions(self, pool: ExportedPool) -> Iterator[Asked]:
        """Yield the question about every document of the pool; a table that is too long is cut between rows."""
        for qid, docids in pool.pool.items():
            query = pool.topics[qid].under(pool.condition)
            for document in documents(pool, docids):
                whole = conversation(query.text, document.contents())
                fits = self._chat.fits(whole, EXPECTED)
                yield Asked(query, document, whole if fits else self._shortened(query, document), not fits)

    def _shortened(self, query: Query, document: Document) -> list[Message]:

        def shortened(room: int) -> list[Message]:
            text = beginning(document, room) if room else ""
            return conversation(query.text, document._replace(text=text).contents())

        rooms = range(1, about(document.text) + 1)
        most = bisect_left(rooms, True, key=lambda room: not self._chat.fits(shortened(room), EXPECTED))
        if not most:
            raise ModelError(
                f"{self.name}: topic {query.qid}: prompt, query and instruction leave no room for document "
                f"{document.docid}; set a larger max_length in the model's entry, or choose another model"
            )
        return shortened(most)


def _answered(chat: JudgeChat, questions: Iterable[Asked], parallel: int) -> Iterator[tuple[Asked, str]]:
    """Yield each question with its answer, in the questions' order, while up to ``parallel`` are being answered."""
    if parallel == 1:
        yield from ((question, chat.answer(question.messages, EXPECTED)) for question in questions)
        return
    waiting: deque[tuple[Asked, AsyncResult[str]]] = deque()
    threads = ThreadPool(parallel)  # of daemons: a process that is stopped does not wait for them
    try:
        for question in questions:
            waiting.append((question, threads.apply_async(chat.answer, (question.messages, EXPECTED))))
            if len(waiting) == AHEAD * parallel:
                first, result = waiting.popleft()
                yield first, result.get()
        for first, result in waiting:
            yield first, result.get()
    except Exception:  # what is being answered is paid for, and is kept
        threads.terminate()
        threads.join()
        raise
    finally:
        threads.terminate()
