"""Second-stage systems by name: ``polarity``, or a cross-encoder."""

from pipelines.crossencoder import CrossEncoderReranker
from pipelines.polarity import Polarity
from pipelines.registry import named
from pipelines.rerank import Reranker
from pipelines.retrievers import Bm25, Shelf

BUILT_IN = ("polarity",)


def reranker(name: str, shelf: Shelf) -> Reranker:
    """The system called ``name``; :class:`pipelines.errors.HeedError` if there is none."""
    if name == "polarity":
        return Polarity(Bm25("bm25", shelf))
    return CrossEncoderReranker(named(name, BUILT_IN), shelf.store, shelf.device)
