"""Second-stage systems by name: ``polarity``, models by family, ``decompose:NAME``, ``polarity+NAME``."""

from collections.abc import Callable

from pipelines.crossencoder import CrossEncoderReranker
from pipelines.decompose import Decompose
from pipelines.docstore import Docstore
from pipelines.errors import HeedError
from pipelines.fusion import Fusion
from pipelines.listwise_api import api_listwise
from pipelines.listwise_local import local_listwise
from pipelines.polarity import Polarity
from pipelines.reasoning import ReasoningReranker
from pipelines.registry import Model, named
from pipelines.rerank import Reranker
from pipelines.retrievers import Bm25, Shelf, encoder
from pipelines.truefalse import TrueFalseReranker

BUILT_IN = ("polarity",)
DECOMPOSE, FUSED = "decompose:", "polarity+"
FAMILIES: dict[str, Callable[[Model, Docstore, str], Reranker]] = {
    "": CrossEncoderReranker,
    "cross-encoder": CrossEncoderReranker,
    "causal": TrueFalseReranker,
    "seq2seq": TrueFalseReranker,
    "reasoning": ReasoningReranker,
    "listwise": local_listwise,
    "api-chat": api_listwise,
}


def reranker(name: str, shelf: Shelf) -> Reranker:
    """The system called ``name``; :class:`pipelines.errors.HeedError` if there is none."""
    if name == "polarity":
        return Polarity(Bm25("bm25", shelf))
    if name.startswith(FUSED):
        return Fusion(reranker("polarity", shelf), reranker(name.removeprefix(FUSED), shelf))
    if name.startswith(DECOMPOSE):
        return Decompose(encoder(name.removeprefix(DECOMPOSE), shelf.device), shelf.store)
    model = named(name, BUILT_IN)
    if model.family not in FAMILIES:
        raise HeedError(
            f"{name}: of family {model.family}, no reranker; use it as --retriever, or as --reranker {DECOMPOSE}{name}"
        )
    return FAMILIES[model.family](model, shelf.store, shelf.device)
