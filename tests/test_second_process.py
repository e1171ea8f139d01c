"""A second process shares topics with this one: real processes, a real index."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from conftest import write_jsonl

from heed.io.document_store import StoredDocuments, docids_of, open_store
from heed.io.documents import Files
from heed.languages import language
from heed.reranking import polarity as module
from heed.reranking.best_cpu import BestCpu
from heed.reranking.polarity import Polarity
from heed.reranking.rescore import Pair
from heed.retrieval.bm25 import Bm25, Lucene
from heed.retrieval.bm25_index import Bm25Settings
from heed.retrieval.corpus import Corpus
from heed.types import Document, Query, Topic

WORDS = ["harm", "recall", "brake", "engine", "fire", "price", "wheel", "court"]
TEXTS = {f"d{number}": " ".join(WORDS[number % 5 : 3 + number % 7] * (1 + number % 3)) for number in range(40)}
TOPICS = 40


@pytest.fixture
def bm25(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bm25:
    monkeypatch.setattr(module, "MANY", 1)
    return index(tmp_path, threads=2)


def index(folder: Path, threads: int) -> Bm25:
    write_jsonl(folder / "d.jsonl", [{"id": docid, "text": text} for docid, text in TEXTS.items()])
    corpus = Corpus(folder, open_store(folder / "documents", Files([folder / "d.jsonl"])), language("eng"))
    return Bm25("bm25", corpus, Bm25Settings(), Lucene(threads))


def pairs(bm25: Bm25) -> list[Pair]:
    """Return topics whose queries, instructions and pools differ."""
    made = []
    for number in range(TOPICS):
        wanted, not_wanted = WORDS[number % 8], WORDS[(3 + number) % 8]
        query, instruction = f"{wanted} {WORDS[(1 + number) % 8]}", f"{wanted}. Leave out {not_wanted}."
        topic = Topic(str(number), "eng", query, {"original": instruction})
        documents = StoredDocuments(bm25.corpus.documents, sorted(TEXTS)[number % 9 :])
        made.append((topic.under("original"), documents))
    return made


class Slow(Polarity):
    """Scores slowly in the process that has it, which is not the second one."""

    scored = 0

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        self.scored += 1
        time.sleep(0.02)
        return super().score(query, documents)


def begun(polarity: Polarity, topics: Sequence[Pair]) -> Iterator[Sequence[float]]:
    """Yield scores; the first when the second process has scored its first topics."""
    scores = polarity.score_many(topics)
    yield next(scores)
    until = time.monotonic() + 60
    while not polarity._second._child.ready and time.monotonic() < until:
        time.sleep(0.02)
    yield from scores


@pytest.mark.parametrize("kind", [Polarity, BestCpu])
def test_two_processes_give_the_scores_of_one(bm25: Bm25, kind: type[Polarity]) -> None:
    topics, alone = pairs(bm25), kind(bm25)
    expected = [alone.score(*topic) for topic in topics]
    slow = type("SlowKind", (Slow, kind), {})(bm25)
    assert list(begun(slow, topics)) == expected
    child = slow._second._child
    assert list(slow.score_many(topics)) == expected  # another condition
    assert slow.scored < 2 * TOPICS
    assert slow._second._child is child
    pid = child._program.pid
    slow.close()
    assert not Path(f"/proc/{pid}").exists()


def test_a_second_process_that_is_lost_costs_no_topic(bm25: Bm25, caplog: pytest.LogCaptureFixture) -> None:
    topics, slow = pairs(bm25), Slow(bm25)
    expected = [Polarity(bm25).score(*topic) for topic in topics]
    with caplog.at_level("INFO", "heed"):
        scores = begun(slow, topics)
        found = [next(scores)]
        os.kill(slow._second._child._program.pid, signal.SIGKILL)
        found += scores
    assert found == expected
    assert "scored by this process alone from here on: a process beside this one ended with status -9" in caplog.text


def test_scores_come_without_waiting_for_the_second_process(bm25: Bm25) -> None:
    """It is stopped: neither its topics nor more than a few others are late."""
    topics, plain = pairs(bm25), Polarity(bm25)
    expected = [plain.score(*topic) for topic in topics]
    scores = plain.score_many(topics)
    found = [next(scores)]
    os.kill(plain._second._child._program.pid, signal.SIGSTOP)
    assert [*found, *scores] == expected
    plain.close()


@pytest.mark.parametrize(("threads", "many"), [(1, 1), (2, 40 * TOPICS)])
def test_one_process_scores_where_one_thread_or_little_work_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, many: int
) -> None:
    monkeypatch.setattr(module, "MANY", many)
    bm25 = index(tmp_path, threads)
    polarity = Polarity(bm25)
    assert len(list(polarity.score_many(pairs(bm25)))) == TOPICS
    assert polarity.__dict__.get("_second") is None


def test_texts_that_are_given_are_scored_here_one_topic_after_the_other(bm25: Bm25) -> None:
    """As passages are: the second process has none but the store's, and all topics' may be more than memory holds."""
    store, plain = bm25.corpus.documents, Polarity(bm25)
    taken: list[str] = []

    def given() -> Iterator[Pair]:
        for query, documents in pairs(bm25):
            taken.append(query.qid)
            yield query, [*store.get(docids_of(documents)), Document("elsewhere", "", "engine")]

    expected = [plain.score(*topic) for topic in given()]
    taken.clear()
    scores = plain.score_many(given())
    found = [next(scores)]
    assert taken == ["0"]
    assert [*found, *scores] == expected
    assert "_second" not in plain.__dict__
