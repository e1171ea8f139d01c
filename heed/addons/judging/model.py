"""A pool judged by a language model, apart from people: the question and the grade in its answer, the cost, the report.

UMBRELA's prompt and grades: Upadhyay, Pradeep, Thakur, Craswell and Lin, UMBRELA: UMbrela is the (Open-Source
Reproduction of the) Bing RELevance Assessor, arXiv 2406.06519, 2024. The texts are castorini/umbrela's (Apache-2.0): no
character may change.
"""

import re
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.pool import AsyncResult, ThreadPool
from pathlib import Path
from typing import Any, NamedTuple

from heed.addons.apis.cost import ESTIMATE, Answers, Bill, about, beginning
from heed.addons.apis.listwise import ApiChat
from heed.addons.judging.agreement import Comparison
from heed.addons.judging.annotate.task import Scale
from heed.addons.judging.exchange.exports import ExportedPool, documents
from heed.addons.judging.exchange.judgements import note_path
from heed.compute import Compute
from heed.errors import DataError, HeedError, ModelError, UsageError
from heed.extras import advice
from heed.files import digest, digest_json, parse_json, read_text, unpacked_name, write_json
from heed.formats.trec_files import write_qrels
from heed.measures.summary import aligned
from heed.models.files import with_family
from heed.models.registry.entries import Model
from heed.models.rerankers.listwise import THINK, THOUGHT, Message
from heed.models.rerankers.listwise_local import LocalChat
from heed.progress import bar
from heed.reuse import recipe_version
from heed.types import Document, Qrels, Query, placed

GRADES = (0, 1, 2, 3)
SYSTEM = "You are a helpful assistant."  # umbrela 0.0.7, gpt_judge.py
EXPECTED = "##final score: 0"  # an answer, for the estimate of the cost
# src/umbrela/prompts/qrel_zeroshot_bing.txt at 16cba3e, the paper's zero-shot prompt, without its last line end
PROMPT = read_text(Path(__file__).with_name("umbrela.txt"))
# the names of the score that umbrela 0.0.7 looks for, in its order (common_utils.py), where it wants JSON alone
NAMES = ("o", "overall_score", "overall", "overall score", "final score", "final_score", "score", "o_score")
MARK = r"""["'*#]*"""
ANYWHERE = r"(?<!\w)"  # where a name of two words may stand
BEGINNING = r"""(?:^|["'*#{,(])[ \t]*"""  # of a line, an item or a quotation: "M score: 3" is no final score
SCORES = [
    re.compile(
        (ANYWHERE if re.search("[ _]", name) else BEGINNING)
        + rf"{MARK}{name}{MARK}(?:\s*\(o\))?\s*(?:[:=]|is\b)\s*{MARK}\s*([0-9])"
        + r"(?!\w|[.,]\d|\s*(?:[-–—]|to\b)\s*\d)",  # no 10, 2.5, 1-2
        re.MULTILINE,
    )
    for name in NAMES
]


class Rubric(NamedTuple):
    """What a model is asked, by a name for people, and the grades that it may answer with."""

    name: str
    prompt: str
    grades: Sequence[int]


UMBRELA = Rubric("umbrela", PROMPT, GRADES)
QUERY = "\nQuery:"  # of UMBRELA's prompt, after its scale


def rubric_of(scale: Scale) -> Rubric:
    """Return UMBRELA's prompt with the meanings of another scale, without its advice on its own grades."""
    meanings = "\n".join(f"{grade.grade} = {grade.label}" for grade in scale)
    *others, last = (str(grade.grade) for grade in scale)
    task = f"Given a query and a passage, you must provide a score of {', '.join(others)} or {last} with the following "
    prompt = f"{task}meanings:\n{meanings}\n{PROMPT[PROMPT.index(QUERY) :]}"
    return Rubric("umbrela, with another scale", prompt, [grade.grade for grade in scale])


def conversation(query: str, passage: str, prompt: str = PROMPT) -> list[Message]:
    """Return the question about one passage."""
    user = placed(prompt, query=query, passage=passage)
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}]


def parse_grade(answer: str, scale: Sequence[int] = GRADES) -> int | None:
    """Return the grade of ``scale`` in an answer, None for none; of several the last by the first name that is there.

    So does umbrela's common_utils.py at 16cba3e and later, where 0.0.7 takes the first; where there is none both
    take 0: no grade is not a judgement here.
    """
    text = answer.rpartition(THOUGHT)[2].partition(THINK)[0].strip().lower()
    texts = [[text]] if re.fullmatch("[0-9]", text) else (score.findall(text) for score in SCORES)
    grades = ([int(grade) for grade in by_name if int(grade) in scale] for by_name in texts)
    return next((by_name[-1] for by_name in grades if by_name), None)


MOST = 100  # tokens of a local model's answer: umbrela 0.0.7, max_new_tokens
LOCAL = ("causal", "listwise", "reasoning")  # families of language models that answer conversations


class LocalJudge(LocalChat):
    """A causal language model, decoded greedily, whose answers are kept: what :class:`ApiChat` is of an API's model."""

    def __init__(self, model: Model, compute: Compute, answers: Path) -> None:
        """Find the model's files; they are loaded for the first answer."""
        super().__init__(model, compute)
        self._answers = Answers(answers)
        self.config |= {"answer": [recipe_version("answer"), MOST]}

    def fits(self, conversation: list[Message], _: str) -> bool:
        """Whether there is room for the conversation and an answer."""
        return self.has_room(conversation, MOST)

    def stored(self, conversation: list[Message], _: str) -> str | None:
        """Return the answer if it is stored."""
        return self._answers.stored(digest_json([self.config, conversation]))

    def answer(self, conversation: list[Message], _: str) -> str:
        """Return the model's answer; a stored one is not asked for again."""
        key = digest_json([self.config, conversation])
        return self._answers.answer(key, lambda: self.write(conversation, MOST))


JudgeChat = ApiChat | LocalJudge


def judge_chat(
    model: Model, compute: Compute, answers: Path, scale: Sequence[int] = GRADES, needs_key: bool = True
) -> JudgeChat:
    """Return the model as one that judges on ``scale``; its answers are cached in the folder ``answers``.

    Raises :class:`UsageError` for a model that answers no conversation or has no family and no files, and as its
    family does for one that cannot be found, or lacks the key that it needs.
    """
    try:
        model = with_family(model, "causal")
    except (ModuleNotFoundError, ModelError) as error:
        reason = advice(str(error.name)) if isinstance(error, ModuleNotFoundError) else error
        raise UsageError(
            f"{model.source}: has no entry that names its family; give family=api-chat for a model behind an API; "
            f"one of the hub: {reason}"
        ) from error
    if model.family == "api-chat":
        return ApiChat(model, answers, lambda _, answer: parse_grade(answer, scale) is not None, needs_key)
    if model.family not in LOCAL:
        families = ", ".join(("api-chat", *LOCAL))
        raise UsageError(f"{model.source}: of family {model.family}, which answers no question; expected {families}")
    return LocalJudge(model, compute, answers)


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
    ``cut`` documents were too long for the model. ``bill`` counts every question and answer, kept ones too. ``scale``
    are the grades that were asked for.
    """

    bill: Bill
    scale: Sequence[int]
    grades: Qrels = field(default_factory=dict)
    refused: list[tuple[str, str, str]] = field(default_factory=list)
    cut: int = 0

    @property
    def counts(self) -> dict[int, int]:
        """The number of documents of each grade."""
        counted = Counter(grade for grades in self.grades.values() for grade in grades.values())
        return {grade: counted[grade] for grade in self.scale}


class Judge:
    """Asks ``chat``, which is ``model``, about every document of a pool."""

    def __init__(self, model: Model, chat: JudgeChat, rubric: Rubric = UMBRELA) -> None:
        self.name, self._chat, self._rubric = model.name, chat, rubric
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
            raise UsageError(f"parallel: found {parallel}, expected 1; {self.name} runs here, one document at a time")
        judged = Judged(Bill(self._price), self._rubric.grades)
        total = sum(map(len, pool.pool.values()))
        answered = _answered(self._chat, self._questions(pool), parallel)
        for question, answer in bar(answered, total, f"{self.name}.{pool.condition}", "documents"):
            qid, docid = question.query.qid, question.document.docid
            judged.bill.add([message["content"] for message in question.messages], answer)
            judged.cut += question.cut
            grade = parse_grade(answer, judged.scale)
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
                whole = conversation(query.text, document.contents(), self._rubric.prompt)
                fits = self._chat.fits(whole, EXPECTED)
                yield Asked(query, document, whole if fits else self._shortened(query, document), not fits)

    def _shortened(self, query: Query, document: Document) -> list[Message]:

        def shortened(room: int) -> list[Message]:
            text = beginning(document, room) if room else ""
            return conversation(query.text, document._replace(text=text).contents(), self._rubric.prompt)

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


SHOWN = 200  # characters of a refused answer
JUDGE = "judge"  # the key by which the note beside judgements says that a model made them


def judgements_path(pool: Path, model: str, condition: str) -> Path:
    """Return ``<pool>.<model>.<condition>.qrels`` beside the pool."""
    stem = unpacked_name(pool).removesuffix(".jsonl")
    return pool.with_name(f"{stem}.{model}.{condition}.qrels")


def check_replaceable(path: Path) -> None:
    """Raise :class:`DataError` unless ``path`` is absent, or a model's judgements that nobody has changed."""
    if not path.exists():
        return
    try:
        note = parse_json(read_text(note_path(path)))
        ours = JUDGE in note and note["sha256"] == digest(path)
    except (HeedError, ValueError, KeyError, TypeError):  # no note, or another file
        ours = False
    if not ours:
        raise DataError(
            f"{path}: is there already, and is not what a model judged, or was changed since; name another file"
        )


def write_judgements(path: Path, judged: Judged, note: dict[str, Any]) -> None:
    """Write the judgements and the note beside them; raises as :func:`check_replaceable` does."""
    check_replaceable(path)
    part = path.with_name(f".new.{path.name}")
    try:
        write_qrels(part, judged.grades)
        # a process killed between these leaves a note alone, or nothing, and is started again with the same result
        path.unlink(missing_ok=True)
        write_json(note_path(path), {**note, "sha256": digest(part)})
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def judged_as_data(judged: Judged) -> dict[str, Any]:
    """Return counts, refused answers and the cost of all questions, those of earlier runs too, as JSON data."""
    bill = judged.bill
    return {
        "counts": {
            "documents": bill.calls,
            "judged": bill.calls - len(judged.refused),
            "refused": len(judged.refused),
            "cut": judged.cut,
            "grades": {str(grade): count for grade, count in judged.counts.items()},
        },
        "refused": [{"qid": qid, "docid": docid, "answer": answer[:SHOWN]} for qid, docid, answer in judged.refused],
        "cost": {
            "requests": bill.calls,
            "input_tokens": bill.input,
            "output_tokens": bill.output,
            "dollars": bill.dollars,
            "counted_by": ESTIMATE,
        },
    }


def report_lines(name: str, judged: Judged, comparison: Comparison | None) -> Iterator[str]:
    """Yield the report that is printed, in parts that end a line."""
    counts = ", ".join(f"{count} of grade {grade}" for grade, count in judged.counts.items())
    count = judged.bill.calls
    yield f"{name}: {count - len(judged.refused)} of {count} documents judged, {len(judged.grades)} topics: {counts}"
    if comparison is None:
        return
    yield f"\nagreement with people over {comparison.grades.n} documents of {comparison.topics} topics"
    yield f"grades: {comparison.grades.line()}"
    yield f"above 0 or not: {comparison.relevance.line()}"
    yield "\npeople's grades (rows) by the model's (columns)"
    scale = list(map(str, comparison.scale))
    matrix = zip(scale, comparison.grades.matrix, strict=True)
    yield aligned([["", *scale], *([grade, *map(str, row)] for grade, row in matrix)], left=1)
    yield from _orders(comparison)


def _orders(comparison: Comparison) -> Iterator[str]:
    for measure, order in comparison.orders.items():
        tau = "" if order.tau is None else f", Kendall's tau {order.tau:.3f}"
        yield f"\n{measure} ×100 of the systems by people and by the model{tau}"
        by_people = sorted(order.human, key=lambda run: (-order.human[run], run))
        rows = [[run, f"{100 * order.human[run]:.1f}", f"{100 * order.model[run]:.1f}"] for run in by_people]
        yield aligned([["run", "people", "model"], *rows], left=1)
