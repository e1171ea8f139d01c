"""What systems have loaded is let go, and loaded again where it is asked for again; recipes tell the precision."""

from pathlib import Path

import pytest
from conftest import write_jsonl
from tiny_language_models import LLAMA, causal

from heed.io.document_store import DocumentStore, open_store
from heed.io.documents import Files
from heed.models.cross_encoder import CrossEncoderReranker
from heed.models.encoders import SentenceEncoder
from heed.models.listwise_local import LocalChat
from heed.models.registry import Model
from heed.release import release
from heed.reranking.decompose import Decompose
from heed.reranking.fusion import Fusion
from heed.types import Topic

TOPIC = Topic("1", "eng", "a", {"original": "only b"})
DOCIDS = ["d0", "d1", "d2"]


@pytest.fixture
def store(tmp_path: Path) -> DocumentStore:
    records = [{"id": docid, "title": "", "text": text} for docid, text in zip(DOCIDS, "abc", strict=True)]
    return open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))


def test_models_are_let_go_also_inside_of_other_systems(
    store: DocumentStore, tiny_encoder: Path, tiny_cross_encoder: Path
) -> None:
    cross = CrossEncoderReranker(Model(str(tiny_cross_encoder)), store, "cpu")
    encoder = SentenceEncoder(Model(str(tiny_encoder)), "cpu")
    both = Fusion(cross, Decompose(encoder, store))
    before = both.score(TOPIC, "original", DOCIDS)
    assert "_encoder" in vars(cross) and "_encoder" in vars(encoder)
    release(both)
    assert "_encoder" not in vars(cross) and "_tokens" not in vars(cross) and "_encoder" not in vars(encoder)
    assert both.score(TOPIC, "original", DOCIDS) == before


@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_recipes_tell_the_precision_of_a_gpu_from_that_of_a_cpu(
    store: DocumentStore, tmp_path: Path, tiny_encoder: Path, tiny_cross_encoder: Path, dtype: str | None
) -> None:
    chat = Model(str(causal("Llama", tmp_path / "chat")), "listwise", prompt=LLAMA, dtype=dtype)
    for make in (
        lambda device: CrossEncoderReranker(Model(str(tiny_cross_encoder), dtype=dtype), store, device),
        lambda device: SentenceEncoder(Model(str(tiny_encoder), dtype=dtype), device),
        lambda device: LocalChat(chat, device),
    ):
        cpu, cuda = make("cpu").recipe, make("cuda").recipe
        assert cpu["precision"] == "float32" and cuda == cpu | {"precision": dtype or "auto"}
