"""A collection of three documents, and retrievers whose scores are the words in common."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from heed import Collection, Document, Documents, Experiment, Judging, Query, Topic, language

DRINKS = Path("runs/drinks/eng")
TEXTS = {"a": "tea with milk", "b": "coffee with milk", "c": "milk"}


class Words:
    """A retriever whose scores are the words in common, times ``weight``."""

    name = "words"

    def __init__(self, weight: float = 1.0, config: Any = 1) -> None:
        self._weight = weight
        if config is not None:
            self.config = {"weight": weight}

    def search(self, queries: Sequence[Query], depth: int) -> Mapping[str, Mapping[str, float]]:
        return {
            query.qid: {
                docid: self._weight * len(set(query.text.split()) & set(text.split())) for docid, text in TEXTS.items()
            }
            for query in queries
        }


class Twice(Words):
    name = "twice"


def collection(**fields: Any) -> Collection:
    documents = Documents([Document(docid, "", text) for docid, text in TEXTS.items()])
    topics = [Topic("1", "eng", "tea", {"original": "milk", "changed": "no milk"})]
    grades = {"1": {"a": 1, "c": 1}}
    judging = Judging({"original": grades, "changed": {"1": {"a": 1, "c": 0}}})
    return replace(Collection("drinks", "eng", language("eng"), documents, topics, judging), **fields)


def experiment(folder: Path, of: Collection | None = None) -> Experiment:
    return Experiment(of or collection(), indexes=folder / "indexes", out=folder / "runs")


def tie_warnings(folder: Path, topics: Sequence[Topic], system: Any) -> list[str]:
    """Return the warnings about ties of a reranker over all three documents, or of LSA."""
    pool = {topic.qid: ["a"] if topic.qid == "single" else [*TEXTS] for topic in topics}
    with experiment(folder, collection(topics=topics)) as asked:
        results = asked.evaluate(asked.retrieve(system) if system == "lsa" else asked.rerank(system, pool))
    return [line for line in results.warnings if "one score" in line]


def assert_ties_are_warned_of(folder: Path, flat: Any) -> None:
    """Rerank by ``flat``, which has one score for all documents, and compare the warnings with those expected."""
    topics = [Topic(qid, "eng", "tea", {"original": "milk"}) for qid in ("1", "2", "single")]
    where = "one score for all documents in 2 of 3 topics (1, 2): their order is lost, the docids decide, as in trec"
    assert [line.partition("_eval")[0] for line in tie_warnings(folder, topics, flat)] == [
        f"flat.query.run: {where}",
        f"flat.original.run: {where}",
    ]
