"""What systems have loaded is freed by ``close`` and loaded again when it is used again; configs name the precision."""

import gc
from pathlib import Path

import pytest
from model_inputs import CPU
from tiny_language_models import LLAMA, causal
from transformers import PreTrainedModel

from heed.compute import Compute
from heed.models.encoders import SentenceEncoder
from heed.models.registry.entries import Model
from heed.models.rerankers.cross_encoder import CrossEncoderReranker
from heed.models.rerankers.listwise_local import LocalChat
from heed.models.rerankers.yes_no import YesNoReranker
from heed.reranking.fusion import Fusion
from heed.reranking.similarity import Decompose
from heed.types import Document, Query

QUERY = Query("1", "a only b", "a", "only b", condition="original")
DOCUMENTS = [Document(f"d{number}", "", text) for number, text in enumerate("abc")]


def networks() -> int:
    """Return the number of networks in memory."""
    gc.collect()
    return sum(issubclass(type(thing), PreTrainedModel) for thing in gc.get_objects())


def test_models_are_freed_also_inside_of_other_systems(tiny_encoder: Path, tiny_cross_encoder: Path) -> None:
    cross = CrossEncoderReranker(Model(str(tiny_cross_encoder)), CPU)
    encoder = SentenceEncoder(Model(str(tiny_encoder)), CPU)
    both = Fusion(cross, Decompose(encoder))
    unloaded = networks()
    scores = both.score(QUERY, DOCUMENTS)
    assert networks() > unloaded
    both.close()
    assert networks() == unloaded
    assert both.score(QUERY, DOCUMENTS) == scores


def test_documents_of_two_collections_with_one_docid_are_two(tiny_cross_encoder: Path, tmp_path: Path) -> None:
    yes_no = Model(str(causal("Llama", tmp_path / "m")), "causal", prompt=LLAMA, tokens=("false", "true"))
    for make, model in ((CrossEncoderReranker, Model(str(tiny_cross_encoder))), (YesNoReranker, yes_no)):
        used = make(model, CPU)
        for text in ("a river " * 60, "a house " * 60):  # of one length, and longer than the models read
            documents = [Document("1", "", text)]
            assert used.score(QUERY, documents) == make(model, CPU).score(QUERY, documents)


@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_configs_distinguish_the_precision_of_a_gpu_from_that_of_a_cpu(
    tmp_path: Path, tiny_encoder: Path, tiny_cross_encoder: Path, dtype: str | None
) -> None:
    chat = Model(str(causal("Llama", tmp_path / "chat")), "listwise", prompt=LLAMA, dtype=dtype)
    for make, model in (
        (CrossEncoderReranker, Model(str(tiny_cross_encoder), dtype=dtype)),
        (SentenceEncoder, Model(str(tiny_encoder), dtype=dtype)),
        (LocalChat, chat),
    ):
        cpu, cuda = (make(model, Compute(device)).config for device in ("cpu", "cuda"))
        assert cpu["precision"] == "float32" and cuda == cpu | {"precision": dtype or "auto"}
