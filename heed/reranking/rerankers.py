"""Second-stage systems by name: ``polarity``, models by family, ``decompose:NAME``, ``polarity+NAME``."""

from collections.abc import Callable, Collection, Sequence

from heed.errors import HeedError
from heed.io.document_store import DocumentStore, open_store
from heed.models.cross_encoder import CrossEncoderReranker
from heed.models.late_interaction import FAMILY, LateReranker
from heed.models.listwise_api import api_listwise
from heed.models.listwise_local import local_listwise
from heed.models.reasoning import ReasoningReranker
from heed.models.registry import Model, named
from heed.models.yes_no import YesNoReranker
from heed.progress import timed
from heed.reranking.decompose import Decompose
from heed.reranking.fusion import Fusion
from heed.reranking.passages import Cut, MaxP, Passages
from heed.reranking.polarity import Polarity
from heed.reranking.rescoring import Reranker
from heed.retrieval.retrievers import Bm25, Shelf, encoder
from heed.workers.spread import SpreadReranker

BUILT_IN = ("polarity",)
DECOMPOSE, FUSED = "decompose:", "polarity+"
FAMILIES: dict[str, Callable[[Model, DocumentStore, str], Reranker]] = {
    "": CrossEncoderReranker,
    "cross-encoder": CrossEncoderReranker,
    "causal": YesNoReranker,
    "seq2seq": YesNoReranker,
    "reasoning": ReasoningReranker,
    FAMILY: LateReranker,
    "listwise": local_listwise,
    "api-chat": api_listwise,
}
# families that no worker can take, and why
ALONE = {"api-chat": "it runs at a service", FAMILY: "it keeps the vectors of documents from topic to topic"}


def reranker(name: str, shelf: Shelf) -> Reranker:
    """The system called ``name``; :class:`heed.errors.HeedError` if there is none."""
    if name == "polarity":
        _tell_alone(name, shelf, "it is no model")
        return Polarity(Bm25("bm25", shelf))
    if name.startswith(FUSED):
        return Fusion(reranker("polarity", shelf), reranker(name.removeprefix(FUSED), shelf))
    if name.startswith(DECOMPOSE):
        _tell_alone(name, shelf, ALONE[FAMILY])
        return Decompose(encoder(name.removeprefix(DECOMPOSE), shelf.device), shelf.store)
    model = named(name, BUILT_IN)
    if model.family not in FAMILIES:
        raise HeedError(
            f"{name}: of family {model.family}, no reranker; use it as --retriever, or as --reranker {DECOMPOSE}{name}"
        )
    make = FAMILIES[model.family]
    if shelf.crew is None or model.family in ALONE:
        _tell_alone(name, shelf, ALONE.get(model.family, ""))
        return make(model, shelf.store, shelf.device)
    device = shelf.crew.device(shelf.device)
    return SpreadReranker(make(model, shelf.store, device), model, device, shelf.store, shelf.crew)


def _tell_alone(name: str, shelf: Shelf, why: str) -> None:
    if shelf.crew:
        shelf.crew.alone(name, why)


def over_passages(names: Sequence[str], shelf: Shelf, docids: Collection[str], cut: Cut) -> list[Reranker]:
    """The systems called ``names`` with MaxP, over the passages of ``docids``."""
    folder = shelf.folder / "passages"
    with timed("passages"):
        store = open_store(folder / "documents", Passages(shelf.store, list(docids), cut))
    over = shelf._replace(folder=folder, store=store)
    return [MaxP(reranker(name, over), store) for name in names]
