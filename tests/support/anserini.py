"""Anserini's own searcher over an index of Heed's, for golden comparisons."""

from pathlib import Path

from heed.retrieval.lucene.jvm import java


def anserini_hits(index: Path, language: str, query: str, depth: int, feedback: str = "") -> dict[str, float]:
    """The hits of Anserini's ``SimpleSearcher``, best first; ``language`` as its analysers name it, such as ``zh``."""
    searcher = java("io.anserini.search.SimpleSearcher")(str(index / "lucene"))
    if language != "en":
        searcher.set_language(language)
    searcher.set_bm25(0.9, 0.4)
    if feedback:
        getattr(searcher, f"set_{feedback}")()
    return {hit.docid: float(f"{hit.score:f}") for hit in searcher.search(query, depth)}  # as its run files have it
