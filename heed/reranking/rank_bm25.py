"""``rank_bm25``: BM25 over each query's candidates alone, as FollowIR and InfoSearch ran the system they call BM25.

The library rank_bm25's ``BM25Okapi``, with its own k1 1.5, b 0.75 and floor of negative idf, is fitted on the documents
that are scored together, so that a score depends on the others. Words are those between blanks: lower-case, without
NLTK's English stop words, stemmed by NLTK's Porter, then without ASCII punctuation (FollowIR's ``evaluate_bm25.py``).
"""

import string
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from importlib.metadata import version
from importlib.resources import files
from itertools import chain

from heed.errors import UsageError
from heed.types import Config, Document, Query, Reranker

PACKAGES = ("rank-bm25", "nltk")
PUNCTUATION = str.maketrans("", "", string.punctuation)
WORDS = 1 << 18  # whose terms are kept, since stemming takes 50 times as long as all else
LONGEST = 40  # characters of words, on average, in texts whose words are kept: a Chinese text is one word


class RankBm25(Reranker):
    """The reranker, as a :class:`heed.types.Reranker`."""

    name = "rank_bm25"

    def __init__(self) -> None:
        """Raise :class:`UsageError` where its packages are missing."""
        try:
            self.config: Config = {"rank_bm25": {package: version(package) for package in PACKAGES}}
        except ModuleNotFoundError as error:
            raise UsageError(f"rank_bm25: needs pip install {' '.join(PACKAGES)}") from error

    @cached_property
    def _terms_of(self) -> Callable[[str], Iterable[tuple[str, ...]]]:
        """The function from a text to the terms of each of its words, none of a stop word."""
        from nltk.stem import PorterStemmer  # type: ignore[import-untyped]

        stemmer = PorterStemmer()
        stop_words = {*(files("heed.reranking") / "stop_words.txt").read_text(encoding="utf-8").split()}

        def terms_of(word: str) -> tuple[str, ...]:
            stems = () if word in stop_words else stemmer.stem(word).translate(PUNCTUATION).split(" ")
            return tuple(filter(None, stems))

        known_terms_of = lru_cache(WORDS)(terms_of)
        return lambda text: map(known_terms_of if text.count(" ") * LONGEST > len(text) else terms_of, text.split(" "))

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text``, repeats included."""
        return [*chain.from_iterable(self._terms_of(text.lower()))]

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return BM25 of query and instruction for each document; all 0 where no document has a term."""
        from rank_bm25 import BM25Okapi  # type: ignore[import-untyped]

        terms = [self.terms(f"{document.title} {document.text}".strip()) for document in documents]
        if not any(terms):
            return [0.0] * len(documents)
        query_terms = [*self.terms(query.query), *self.terms(query.instruction.strip())]
        scores: list[float] = BM25Okapi(terms).get_scores(query_terms).tolist()
        return scores
