"""Rescoring a pool: each topic once, whatever is killed, and never by a journal of other inputs."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from heed.errors import ModelError
from heed.measures.pairwise import p_mrr
from heed.progress import recording
from heed.reranking.rescore import PoolDocuments, ReadOnce, rescore
from heed.types import Document, Query, Reranker, Run, Topic
from pipelines.resources import resource_report

TOPICS = [Topic(str(number), "eng", f"query {number}", {"original": "a", "changed": "b"}) for number in range(4)]
POOL = {topic.qid: [f"{topic.qid}-d{number}" for number in range(5)] for topic in TOPICS}


class Texts:
    """A store in which every document is there, with its id as its text."""

    def __init__(self) -> None:
        self.read = list[Sequence[str]]()

    def get(self, docids: Sequence[str]) -> list[Document]:
        self.read.append(docids)
        return [Document(docid, "", docid) for docid in docids]


def rerank(
    reranker: Reranker,
    topics: Sequence[Topic],
    condition: str,
    pool: Mapping[str, Sequence[str]],
    journal: Path,
    digest: str = "documents",
) -> Run:
    queries = [topic.under(condition) for topic in topics]
    return rescore(reranker, queries, PoolDocuments(pool, Texts()), journal, digest)  # type: ignore[arg-type]


class Counting(Reranker):
    """A reranker with known scores that counts its calls and can be made to die."""

    name = "counting"

    def __init__(self, version: int = 1, die_at: int = 99, score: float = 0.1) -> None:
        self.config = {"version": version}
        self.calls: list[str] = []
        self._die_at, self._score = die_at, score

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        if len(self.calls) == self._die_at:
            raise KeyboardInterrupt
        self.calls.append(query.qid)
        return [self._score * (len(query.condition) + place) / 3 for place, _ in enumerate(documents)]


def test_a_topics_documents_are_read_once_for_all_conditions_and_rerankers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reading(Counting):
        def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
            return [float(len(document.text)) for document in documents]

    monkeypatch.setattr("heed.reranking.rescore.ROOM", 3 * 5 * sys.getsizeof("0-d0"))  # the texts of three topics
    store = Texts()
    read = ReadOnce(store)  # type: ignore[arg-type]
    for number in range(2):
        documents = PoolDocuments(POOL, store, read)  # type: ignore[arg-type]
        for condition in ("original", "changed"):
            queries = [topic.under(condition) for topic in TOPICS]
            run = rescore(Reading(number), queries, documents, tmp_path / f"{number}.{condition}", "documents")
            assert run == {qid: dict.fromkeys(docids, 4.0) for qid, docids in POOL.items()}
    assert store.read == [*POOL.values(), POOL["3"], POOL["3"], POOL["3"]]
    mixed = [POOL["2"][1], "new", POOL["0"][0]]  # of two topics that were read, and of none
    assert [document.docid for document in read.get(mixed)] == mixed and store.read[-1] == ["new"]
    store.read.clear()
    documents = PoolDocuments(POOL, store, ReadOnce(store))  # type: ignore[arg-type]
    for condition in ("original", "changed"):  # of which an earlier run has the first scores
        rest = documents.without({topic.qid: POOL[topic.qid][:4] for topic in TOPICS})
        assert [rest(topic.under(condition))[0].text for topic in TOPICS] == ["0-d4", "1-d4", "2-d4", "3-d4"]
    assert store.read == [docids[4:] for docids in POOL.values()]


def test_the_time_that_reranking_takes_is_logged_after_a_second(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 100.0, 100.5, 120.0, 200.0])  # timed's start, rerank's, two topics done, timed's end
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    with recording([]) as timings:
        rerank(Counting(), TOPICS, "changed", POOL, tmp_path / "journal")
    # 10 pairs in 20 s: 20 pairs take 40 s
    assert "counting.changed: 20 pairs at 0.5 a second, about 40 s" in capsys.readouterr().err
    assert [(one["stage"], one["system"], one["count"], one["unit"]) for one in timings] == [
        ("run", "counting.changed", 20, "pairs")
    ]
    [_, told, _] = resource_report(timings).splitlines()
    assert told.split()[:-1] == ["run", "counting.changed", "3", "min", "20", "s", "20", "pairs,", "0.1/s"]


def test_what_was_done_before_is_in_no_rate(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        rerank(Counting(die_at=3), TOPICS, "changed", POOL, tmp_path / "journal")
    with recording([]) as timings:
        rerank(Counting(), TOPICS, "changed", POOL, tmp_path / "journal")
    assert [one["count"] for one in timings] == [5]


def test_a_killed_reranking_repeats_no_finished_topic(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with pytest.raises(KeyboardInterrupt):
        rerank(Counting(die_at=2), TOPICS, "changed", POOL, journal)
    second = Counting()
    resumed = rerank(second, TOPICS, "changed", POOL, journal)
    assert second.calls == ["2", "3"]
    assert resumed == rerank(Counting(), TOPICS, "changed", POOL, tmp_path / "other")
    assert list(resumed) == [topic.qid for topic in TOPICS]


def test_a_line_cut_by_a_kill_is_done_again(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    whole = rerank(Counting(), TOPICS, "changed", POOL, journal)
    journal.write_bytes(journal.read_bytes()[:-9])
    again = Counting()
    assert rerank(again, TOPICS, "changed", POOL, journal) == whole
    assert again.calls == ["3"]
    assert len([json.loads(line) for line in journal.read_text().splitlines()]) == 5


@pytest.mark.parametrize("what", ["reranker", "pool", "topics", "condition", "documents"])
def test_a_journal_of_other_inputs_is_not_used(tmp_path: Path, what: str) -> None:
    rerank(Counting(), TOPICS, "changed", POOL, tmp_path / "journal")
    second = Counting(version=2 if what == "reranker" else 1)
    pooled = POOL | {"0": ["other"]} if what == "pool" else POOL
    topics = [TOPICS[0]._replace(query="other"), *TOPICS[1:]] if what == "topics" else TOPICS
    condition = "original" if what == "condition" else "changed"
    digest = "other documents" if what == "documents" else "documents"
    rerank(second, topics, condition, pooled, tmp_path / "journal", digest)
    assert len(second.calls) == 4


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_not_finite_stops_the_run(tmp_path: Path, score: float) -> None:
    with pytest.raises(ModelError, match="counting: topic 0, document 0-d"):
        rerank(Counting(score=score), TOPICS, "changed", POOL, tmp_path / "journal")


def test_a_constant_reranker_follows_no_instruction(tmp_path: Path) -> None:
    class Constant(Counting):
        def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
            return [1.0 for _ in documents]

    runs = [rerank(Constant(), TOPICS, name, POOL, tmp_path / name) for name in ("original", "changed")]
    changed = {qid: docids[1:3] for qid, docids in POOL.items()}
    assert p_mrr(*runs, changed) == dict.fromkeys(POOL, 0)
