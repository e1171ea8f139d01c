"""Second-stage systems by name: ``polarity``, or a cross-encoder."""

from pipelines.crossencoder import CrossEncoderReranker
from pipelines.models import model
from pipelines.polarity import Polarity
from pipelines.rerank import Reranker
from pipelines.retrievers import Bm25, Shelf


def reranker(name: str, shelf: Shelf) -> Reranker:
    """The system called ``name``; :class:`pipelines.errors.HeedError` if there is none."""
    if name == "polarity":
        return Polarity(Bm25("bm25", shelf))
    return CrossEncoderReranker(model(name), shelf.store, shelf.device)
