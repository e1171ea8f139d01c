"""``decompose``: what an instruction asks for and what it excludes, compared apart by any bi-encoder, without training.

A document's score is ``d·q + α·d·(q + a) − β·d·x``: its similarity to the query, plus that to the
query with the asked part as its instruction, minus that to the excluded part, which an encoder that
reads query and instruction as one text takes for wanted (the parts are :func:`heed.reranking.clauses.split`'s).
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from heed.io.artifacts import Recipe
from heed.io.document_store import DocumentStore
from heed.io.files import digest_json
from heed.reranking.clauses import split
from heed.reranking.cues import DATA
from heed.retrieval.vectors import Encoder
from heed.types import Topic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

VERSION = 1  # raise when scores change


class Weights(NamedTuple):
    """How much the asked and the excluded part weigh beside the query."""

    alpha: float
    beta: float


# Chosen with all-MiniLM-L6-v2 on FollowTable's WTR and IndusTR alone, for nDCG@10 and IRS together:
# python -m benchmarks.decompose. From β = α + 1 on, all that is near the query falls below what is not.
WEIGHTS = Weights(5.0, 5.0)


class Decompose:
    """The reranker over any encoder, as a :class:`heed.reranking.rescoring.Reranker`."""

    def __init__(self, encoder: Encoder, store: DocumentStore, weights: Weights = WEIGHTS) -> None:
        """Compare by ``encoder``, which loads itself at the first score."""
        self.name = f"decompose:{encoder.name}"
        self._encoder, self._store, self._weights = encoder, store, weights
        self._vectors: dict[str, Vector] = {}  # of every document seen: all conditions and topics share them
        self.recipe: Recipe = {
            "decompose": [VERSION, *weights],
            "cues": digest_json(json.loads(DATA.read_text(encoding="utf-8"))),
            "encoder": encoder.recipe,
            "documents": store.digest,
        }

    def prepare(self) -> None:
        """Nothing: an encoder may ask for money, and a text to try it costs some."""

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        """``d·q + α·d·(q + a) − β·d·x`` for each document; an empty part adds nothing, so under ``query`` ``d·q``."""
        import numpy as np

        if not docids:
            return []
        instruction = "" if condition == "query" else topic.instructions[condition]
        found = parts(topic.query, instruction, self._weights)
        wanted = self._encoder.queries([text for _, text in found]).astype(np.float64)
        weights = np.array([weight for weight, _ in found])
        similarities = self._documents(docids).astype(np.float64) @ wanted.T
        scores: list[float] = (similarities @ weights).tolist()
        return scores

    def _documents(self, docids: Sequence[str]) -> "NDArray[np.float32]":
        """The vectors of ``docids``, shape ``(len(docids), d)``; each is embedded once."""
        import numpy as np

        new = [docid for docid in docids if docid not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._encoder.documents(self._store.get(new)), strict=True))
        return np.stack([self._vectors[docid] for docid in docids])


def parts(query: str, instruction: str, weights: Weights) -> list[tuple[float, tuple[str, str]]]:
    """The (query, instruction) pairs that a document is compared with, each with its weight."""
    sides = split(instruction)
    asked, excluded = (query, sides.asked), (sides.excluded, "")
    return [
        (1.0, (query, "")),
        *([(weights.alpha, asked)] if sides.asked else []),
        *([(-weights.beta, excluded)] if sides.excluded else []),
    ]
