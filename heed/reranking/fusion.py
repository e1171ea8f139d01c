"""``polarity+NAME``: the lexical reranker that reads instructions and another reranker, their scores added."""

from collections.abc import Mapping, Sequence

from heed.io.artifacts import Recipe
from heed.reranking.rescoring import Announcing, Reranker
from heed.types import Topic

VERSION = 1  # raise when scores change
# Of the other reranker; chosen on WTR and IndusTR alone, with decompose over all-MiniLM-L6-v2 as the other: from 0.2 on
# nDCG@10 rises further and IRS falls: python -m benchmarks.decompose
WEIGHT = 0.1


class Fusion:
    """``polarity`` and another reranker over the same documents, as a :class:`heed.reranking.rescoring.Reranker`.

    A document's score is ``p + w·o``: the two systems' scores, each brought to [0, 1] among the
    documents that are scored together for a topic, by ``(score − lowest) / (highest − lowest)``;
    scores that are all the same become 0.
    """

    def __init__(self, polarity: Reranker, other: Reranker, weight: float = WEIGHT) -> None:
        """Add ``weight`` times the scores of ``other`` to those of ``polarity``."""
        self.name = f"{polarity.name}+{other.name}"
        self.recipe: Recipe = {"fusion": [VERSION, weight], "of": [polarity.recipe, other.recipe]}
        self._polarity, self._other, self._weight = polarity, other, weight

    def prepare(self) -> None:
        """Prepare both."""
        self._polarity.prepare()
        self._other.prepare()

    def begin(self, topics: Sequence[Topic], condition: str, pooled: Mapping[str, list[str]]) -> None:
        """Let both parts tell what their work will cost."""
        for part in self._announcing():
            part.begin(topics, condition, pooled)

    def finish(self) -> None:
        """Let them tell what they had to mend."""
        for part in self._announcing():
            part.finish()

    def _announcing(self) -> list[Announcing]:
        return [part for part in (self._polarity, self._other) if isinstance(part, Announcing)]

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        """``p + w·o`` for each document."""
        ours, theirs = (scaled(one.score(topic, condition, docids)) for one in (self._polarity, self._other))
        return [our + self._weight * their for our, their in zip(ours, theirs, strict=True)]


def scaled(scores: Sequence[float]) -> list[float]:
    """Scores brought to [0, 1], the lowest 0 and the highest 1; all 0 where they are all the same."""
    lowest, highest = min(scores, default=0.0), max(scores, default=0.0)
    if lowest == highest:
        return [0.0] * len(scores)
    return [(score - lowest) / (highest - lowest) for score in scores]
