"""``polarity``: a lexical reranker that reads the instruction, with no model.

A document's score is ``q + α·a − β·x``: BM25 of the query's terms, plus that of the terms the
instruction asks for, minus that of the terms it excludes and that neither the query nor the asked
part contains. Statistics are the whole collection's, each part normalised per topic.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pipelines.bm25 import Among, Searcher
from pipelines.clauses import split
from pipelines.cues import DATA, cues, script_language
from pipelines.files import digest_json
from pipelines.made import Recipe
from pipelines.retrievers import Bm25
from pipelines.topics import Topic

VERSION = 1  # raise when scores change
# Chosen on FollowTable's WTR and IndusTR alone: IRS 20.4 and 30.2, nDCG@10 on the instructed queries
# 47.6 and 55.1, both flat around this point (python -m benchmarks.polarity_weights)
ALPHA, BETA = 1.0, 2.0


class Parts(NamedTuple):
    """Weighted index terms of a query and of the two sides of its instruction."""

    query: dict[str, float]
    asked: dict[str, float]
    excluded: dict[str, float]


class Polarity:
    """The reranker over one BM25 index, as a :class:`pipelines.rerank.Reranker`."""

    name = "polarity"

    def __init__(self, bm25: Bm25) -> None:
        """Take analyser and statistics from the index of ``bm25``, opened at the first score."""
        self._bm25 = bm25
        cue_digest = digest_json(json.loads(DATA.read_text(encoding="utf-8")))
        self.recipe: Recipe = {"polarity": [VERSION, ALPHA, BETA], "cues": cue_digest, "bm25": bm25.recipe}

    def prepare(self) -> None:
        """Open the index."""
        self._bm25.prepare()

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        """``q + α·a − β·x`` for each document; under ``query`` its normalised BM25."""
        instruction = "" if condition == "query" else topic.instructions[condition]
        searcher, among = self._bm25.searcher, Among(docids)
        scored = [_of_best(searcher.score(terms, among)) for terms in parts(searcher, topic.query, instruction)]
        return [
            query + ALPHA * asked - BETA * excluded
            for query, asked, excluded in zip(*(_in_order(part, docids) for part in scored), strict=True)
        ]


def parts(searcher: Searcher, query: str, instruction: str) -> Parts:
    """The terms of a topic; words about the task itself ("document", "relevant") are left out."""
    sides = split(instruction)
    task = set(searcher.terms("\n".join(sorted(cues(script_language(instruction)).task))))
    wanted = _weights(searcher.terms(query), set())
    asked = _weights(searcher.terms(sides.asked), task | wanted.keys())
    return Parts(wanted, asked, _weights(searcher.terms(sides.excluded), task | wanted.keys() | asked.keys()))


def _weights(terms: Iterable[str], without: set[str]) -> dict[str, float]:
    return {term: 1.0 for term in terms if term not in without}


def _of_best(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores divided by the topic's best, so that parts of different length weigh the same."""
    best = max(scores.values(), default=0.0)
    return {docid: score / best for docid, score in scores.items()} if best > 0 else dict(scores)


def _in_order(scores: Mapping[str, float], docids: Sequence[str]) -> list[float]:
    return [scores[docid] for docid in docids]
