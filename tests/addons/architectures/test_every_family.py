"""What holds for every family that runs here, on a tiny model of each."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import golden_models
import numpy as np
import pytest
import tiny_language_models as tiny
import tiny_late_models as late
import tiny_sparse_models as sparse
from conftest import Heed
from model_inputs import CPU
from safetensors.numpy import load_file, save_file
from tiny_published_models import enc_t5, nv_embed, tapas

from heed.errors import HeedError
from heed.models.files import with_family
from heed.models.listing import EXAMPLE, EXAMPLE_DOCUMENT, EXAMPLE_QUERY
from heed.models.registry.entries import Model, Registry
from heed.models.registry.families import ENCODER, FAMILIES, ROWS, SERVICE
from heed.models.rerankers import yes_no as reasoning
from heed.types import Document, Query

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft's
CHAT = "{%- for one in messages %}{{ one.role }}:{{ one.content }}\n{%- endfor %}"
INSTRUCTIONS = ("", "only documents that name a river", "no documents that name the longest nile")
TEXTS = ["a short one", "with numbers 12 and a river.", "true or false, yes or no, " * 3]
DOCUMENTS = [Document(f"d{number}", "", text) for number, text in enumerate(TEXTS)]
Change = Callable[[dict[str, Any]], dict[str, Any]]
LOCAL = [row.name for row in ROWS if row.library not in ("", SERVICE)]


def yes_no(family: str, folder: Path) -> Model:
    return Model(str(folder), family, prompt=tiny.QWEN, tokens=("no", "yes"))


MODELS: dict[str, Callable[[Path], Model]] = {
    "bi-encoder": lambda folder: Model(str(golden_models.bert(folder)), "bi-encoder"),
    "NV-Embed": lambda folder: Registry().find("nvidia/NV-Embed-v2")._replace(source=str(nv_embed(folder))),
    "peft": lambda folder: Model(str(golden_models.adapter(folder)), "peft"),
    "cross-encoder": lambda folder: Model(str(golden_models.pairs(folder)), "cross-encoder"),
    "cross-encoder with a chat template": lambda folder: Model(
        str(tiny.chat_cross_encoder(folder, CHAT)), "cross-encoder"
    ),
    "TART-full": lambda folder: Model(str(enc_t5(folder)), "cross-encoder", label=1),
    "causal": lambda folder: yes_no("causal", tiny.causal("Qwen3", folder)),
    "seq2seq": lambda folder: Model(str(tiny.seq2seq(folder)), "seq2seq", prompt=tiny.T5, tokens=("▁false", "▁true")),
    "reasoning": lambda folder: yes_no("reasoning", tiny.causal("Qwen2", folder, max_position_embeddings=2048)),
    "block": lambda folder: Model(str(tiny.block_model(folder)), "block"),
    "late-interaction": lambda folder: late.entry(late.bert(folder).folder)._replace(family="late-interaction"),
    "learned-sparse": lambda folder: Model(str(sparse.splade(folder)), "learned-sparse"),
    "table-encoder": lambda folder: Registry().find("Tapas-DTR")._replace(source=str(tapas(folder))),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("families")


@pytest.fixture
def system(root: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(reasoning, "THOUGHT", 5)  # a random model writes thoughts without an end
    folder = root / request.param.replace(" ", "-")
    if request.param == "late-interaction":
        folder.mkdir(exist_ok=True)
    model = MODELS[request.param](folder)
    return FAMILIES[model.family].make(model, CPU)


every_model = pytest.mark.parametrize("system", MODELS, indirect=True)


def scores(system: Any, instruction: str, documents: list[Document] = DOCUMENTS, text: str = "a river?") -> list[float]:
    query = Query("1", f"{text} {instruction}".strip(), text, instruction)
    if hasattr(system, "score"):
        return list(system.score(query, documents))
    products: list[float] = (system.encode_documents(documents) @ system.encode_queries([query])[0]).tolist()
    return products


def test_no_family_is_left_out() -> None:
    """Of list-wise ones, whose scores are ranks, tests/addons/apis/test_listwise.py tells the same."""
    assert {*MODELS, "listwise"} >= set(LOCAL)


@every_model
def test_two_instructions_give_two_scores_whatever_was_read_before(system: Any) -> None:
    found = [scores(system, instruction) for instruction in INSTRUCTIONS]
    assert all(len({round(score, 6) for score in of_document}) == 3 for of_document in zip(*found, strict=True))
    assert all(np.isfinite(found).ravel()) and json.dumps(system.config)
    system.close()  # its memory is free; it is loaded again
    assert scores(system, INSTRUCTIONS[1]) == pytest.approx(found[1], abs=1e-5)
    if hasattr(system, "score"):
        assert {type(score) for score in found[0]} == {float} and scores(system, "", []) == []
    system.close()


@pytest.mark.parametrize("name", MODELS)
def test_the_page_of_a_model_tells_what_decides_its_scores_and_the_score_of_its_example(
    tmp_path: Path, heed: Heed, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(reasoning, "THOUGHT", 5)
    model = MODELS[name](tmp_path / "m")
    entry = {field: value for field, value in model._asdict().items() if value != Model._field_defaults.get(field)}
    (tmp_path / "mine.json").write_text(json.dumps({"mine": entry}))
    told = heed("pipelines.models", "mine", "--models", "mine.json", "--example", "--device", "cpu", "--json", "f.json")
    assert told.returncode == 0, told.stderr
    facts = json.loads((tmp_path / "f.json").read_text())
    assert facts["problem"] is None and facts["class"] == FAMILIES[model.family].class_name
    assert facts["dtype"] == "float32" and (facts["max_length"] or name == "TART-full")  # T5 has no limit
    if FAMILIES[model.family].system == ENCODER:
        assert facts["similarity"] in ("cosine", "dot") and (facts["pooling"] or name == "table-encoder")
    [expected] = scores(FAMILIES[model.family].make(model, CPU), EXAMPLE["original"], [EXAMPLE_DOCUMENT], EXAMPLE_QUERY)
    assert facts["example"] == pytest.approx(expected, abs=1e-5)


def lost(part: str) -> Change:
    return lambda weights: {name: weight for name, weight in weights.items() if part not in name}


def added(name: str) -> Change:
    return lambda weights: {**weights, name: next(iter(weights.values()))}


def shaped(name: str) -> Change:
    return lambda weights: {**weights, name: np.zeros(3, dtype=np.float32)}


LAYER = "encoder.layer.1."
NV_EMBED = "latent_attention_model."


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("bi-encoder", lost(LAYER), "missing weights: 16, such as encoder.layer.1"),
        ("bi-encoder", added("encoder.layer.7.output.dense.bias"), "unexpected weights: 1, such as encoder.layer.7"),
        ("cross-encoder", lost(LAYER), "missing weights: 16, such as bert.encoder.layer.1"),
        ("cross-encoder", lost("classifier"), "missing weights: 2, such as classifier.bias; expected all that BertFor"),
        ("cross-encoder", added("bert.encoder.layer.7.x.bias"), "unexpected weights: 1, such as bert.encoder.layer.7"),
        ("causal", lost("lm_head"), "missing weights: 1, such as lm_head.weight; expected all that Qwen3ForCausalLM"),
        ("NV-Embed", lost(f"{NV_EMBED}latents"), f"missing weights: 1, such as {NV_EMBED}latents"),
        ("NV-Embed", added(f"{NV_EMBED}gate"), f"unexpected weights: 1, such as {NV_EMBED}gate"),
        ("NV-Embed", shaped(f"{NV_EMBED}latents"), "cannot be loaded as a model .*ignore_mismatched_sizes"),
        ("TART-full", lost("classifier.bias"), "missing weights: 1, such as classifier.bias; expected all that EncT5"),
        (
            "TART-full",
            added("decoder.x.weight"),
            "unexpected weights: 1, such as decoder.x.weight; which EncT5",
        ),
        ("TART-full", shaped("classifier.bias"), r"cannot be loaded as a model \(Error.* in loading state_dict"),
        ("block", lost("projector.2.weight"), "no projector.0.weight and projector.2.weight in its weights"),
        ("late-interaction", lost("linear.weight"), "no linear.weight, the projection of HF_ColBERT; copy the whole"),
        ("late-interaction", lost("layer.1.attention.self.key"), "missing weights: 2, .* expected all that BertModel"),
        ("learned-sparse", lost("predictions.transform"), "missing weights: 4, .* expected all that BertForMaskedLM"),
        (
            "table-encoder",
            lost("text_projection"),
            "missing weights: 1, such as text_projection; expected all that a table",
        ),
        ("table-encoder", added("bert/x"), "unexpected weights: 1, such as bert/x; which a table retriever"),
    ],
)
def test_weights_that_do_not_fit_are_named(tmp_path: Path, name: str, change: Change, message: str) -> None:
    (tmp_path / "m").mkdir()
    model = MODELS[name](tmp_path / "m")
    path = Path(model.source) / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})
    with pytest.raises(HeedError, match=message):
        FAMILIES[model.family or "bi-encoder"].make(model, CPU).load()


@pytest.mark.parametrize(("name", "family"), [("TART-full", "cross-encoder"), ("table-encoder", "table-encoder")])
def test_the_family_of_a_papers_folder_is_read_from_it(tmp_path: Path, name: str, family: str) -> None:
    assert with_family(Model(MODELS[name](tmp_path / "m").source), "late-interaction").family == family


@pytest.mark.parametrize("family", LOCAL)
def test_a_hub_model_says_what_to_do_about_its_code_before_it_is_fetched_and_out_of_reach(family: str) -> None:
    prompt = None if family == "listwise" else "{query}{document}"
    model = Model("nobody/nothing", family, prompt=prompt, tokens=("a", "b"))
    with pytest.raises(HeedError, match="trust_remote_code"):
        FAMILIES[family].make(model._replace(revision="0" * 40, remote_code=True), CPU)
    with pytest.raises(HeedError, match="no revision is pinned, so its code could change"):
        FAMILIES[family].make(model._replace(remote_code=True, trusted=True), CPU)
    with pytest.raises(
        HeedError, match="give the path of a local copy .* 'hf download nobody/nothing --local-dir DIR'"
    ):
        FAMILIES[family].make(model, CPU)
