"""A collection of three documents, and retrievers whose scores are the words in common."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from heed import Collection, Document, Documents, Judging, Query, Topic, language

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
