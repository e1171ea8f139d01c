import json
import shutil
from pathlib import Path
from typing import Any

import golden_models
import numpy as np
import pytest
import torch
from model_inputs import CPU, queries

from heed.errors import HeedError
from heed.models.encoders import PeftEncoder
from heed.models.files import local_copy
from heed.models.registry.entries import Model
from heed.types import Document

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft's
LIMIT = 32
QUERY, DOCUMENT = "query:  {query}{mark} {instruction}", "passage:  {title} {text}"
TEXTS = ["no", "Relevant: document with numbers", "an instruction: only documents that name a river " * 8, "a b"]
ASKED = [("true", "only documents that name a river"), ("is it?", "yes"), ("a much longer text with numbers 12", "no")]
LORA = {"r": 4, "lora_alpha": 8, "init_lora_weights": False}  # random, so that the adapter changes something


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return golden_models.llama(tmp_path_factory.mktemp("m") / "llama")


@pytest.fixture(scope="module")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA adapter of the base without a head, as RepLLaMA's is; it has no tokenizer of its own."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModel

    torch.manual_seed(1)
    targets = ["q_proj", "v_proj", "down_proj"]
    adapted = get_peft_model(AutoModel.from_pretrained(base), LoraConfig(target_modules=targets, **LORA))
    folder = tmp_path_factory.mktemp("m") / "tiny-repllama"
    adapted.save_pretrained(folder)
    return folder


def entry(adapter: Path, **fields: Any) -> Model:
    settings = {"query": QUERY, "document": DOCUMENT, "max_length": LIMIT, **fields}
    return Model(str(adapter), family="peft", **settings)


def plain(base: Path, adapter: Path, texts: list[str], merge: bool = True) -> np.ndarray:
    """The same by transformers and peft, a text at a time, so without padding."""
    from peft import PeftModel
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base)
    network = PeftModel.from_pretrained(AutoModel.from_pretrained(base), str(adapter)).eval()
    network = network.merge_and_unload() if merge else network
    rows = []
    for text in texts:
        ids = [*tokenizer(text, truncation=True, max_length=LIMIT - 1)["input_ids"], tokenizer.eos_token_id]
        with torch.no_grad():
            rows.append(network(input_ids=torch.tensor([ids])).last_hidden_state[0, -1])
    return torch.nn.functional.normalize(torch.stack(rows), dim=1).numpy()


def documents() -> list[Document]:
    return [Document(str(at), "", text) for at, text in enumerate(TEXTS)]


@pytest.mark.golden(program="peft 0.21.2", compared="vectors", systems=("peft",))
@pytest.mark.parametrize(("side", "names_base"), [(None, True), ("left", True), (None, False)])
def test_vectors_equal_transformers_and_peft(base: Path, adapter: Path, side: str | None, names_base: bool) -> None:
    """Without a base in the entry the adapter's own file names it."""
    assert json.loads((adapter / "adapter_config.json").read_text())["base_model_name_or_path"] == str(base)
    encoder = PeftEncoder(entry(adapter, base=str(base) if names_base else None, padding=side), CPU)
    ours = encoder.encode_documents(documents())
    texts = [f"passage:  {text}".strip() for text in TEXTS]
    np.testing.assert_allclose(ours, plain(base, adapter, texts), atol=1e-5)
    np.testing.assert_allclose(ours, plain(base, adapter, texts, merge=False), atol=1e-5)
    texts = ["query:  true? only documents that name a river", "query:  is it? yes"]
    texts.append("query:  a much longer text with numbers 12? no")
    np.testing.assert_allclose(encoder.encode_queries(queries(ASKED)), plain(base, adapter, texts), atol=1e-5)


def test_another_base_is_another_recipe(base: Path, adapter: Path, tmp_path: Path) -> None:
    before = PeftEncoder(entry(adapter, base=str(base)), CPU).config
    shutil.copytree(base, tmp_path / "llama")
    weights = bytearray((tmp_path / "llama" / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (tmp_path / "llama" / "model.safetensors").write_bytes(weights)
    after = PeftEncoder(entry(adapter, base=str(tmp_path / "llama")), CPU).config
    assert before["base"]["files"] != after["base"]["files"]


def test_mean_pooling_takes_no_end(base: Path, adapter: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModel, AutoTokenizer

    network = PeftModel.from_pretrained(AutoModel.from_pretrained(base), str(adapter)).eval()
    ids = AutoTokenizer.from_pretrained(base)("query:  true? yes")["input_ids"]
    with torch.no_grad():
        expected = network(input_ids=torch.tensor([ids])).last_hidden_state[0].mean(dim=0)[None].numpy()
    encoder = PeftEncoder(entry(adapter, base=str(base), pooling="mean", similarity="dot"), CPU)
    np.testing.assert_allclose(encoder.encode_queries(queries([("true", "yes")])), expected, atol=1e-5)


@pytest.mark.parametrize("task", [None, "CAUSAL_LM"])
def test_an_adapter_of_another_network_is_refused(base: Path, tmp_path: Path, task: str | None) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    causal = AutoModelForCausalLM.from_pretrained(base)
    folder = tmp_path / "causal"
    get_peft_model(causal, LoraConfig(target_modules=["q_proj"], task_type=task, **LORA)).save_pretrained(folder)
    with pytest.raises(HeedError, match="causal: its weights do not fit LlamaModel"):
        PeftEncoder(entry(folder, base=str(base)), CPU).encode_queries(queries(ASKED))


def test_what_is_no_adapter_or_without_weights_is_refused(base: Path, adapter: Path, tmp_path: Path) -> None:
    with pytest.raises(HeedError, match="llama: no adapter_config.json, so it is no adapter; leave the family out"):
        PeftEncoder(entry(base), CPU)
    shutil.copytree(adapter, tmp_path / "none", ignore=shutil.ignore_patterns("*.safetensors"))
    with pytest.raises(
        HeedError, match="none: no adapter_model.safetensors, the weights of an adapter; copy the whole"
    ):
        PeftEncoder(entry(tmp_path / "none", base=str(base)), CPU)


def test_a_gated_base_says_that_access_must_be_granted_and_how(adapter: Path) -> None:
    gated = "access to it must be granted first: request it .* https://huggingface.co/some/llama, .* 'hf auth login'"
    with pytest.raises(HeedError, match=f"some/llama: cannot be loaded .* {gated}"):
        PeftEncoder(entry(adapter, base="some/llama", gated=True), CPU)
    with pytest.raises(HeedError) as refused:  # the gate is the base's, not the adapter's
        local_copy(Model("some/adapter", base="some/llama", gated=True))
    assert "granted" not in str(refused.value)
