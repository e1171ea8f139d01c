"""Folders read without sentence-transformers: what it computes, and what is left to it."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import tiny_config, tiny_tokenizer
from model_inputs import CPU, queries
from tiny_language_models import llama_tokenizer, qwen_tokenizer, t5_tokenizer

from heed.models.cross_encoder import CrossEncoderReranker
from heed.models.encoders import SentenceEncoder
from heed.models.plain_models import (
    PaddedCrossEncoder,
    PlainCrossEncoder,
    PlainEncoder,
    PlainModel,
    plain_cross_encoder,
    plain_encoder,
)
from heed.models.registry import Model
from heed.models.unpadded import Unpadded
from heed.types import Document, Query

TEXTS = ["a", "with numbers 12", "b c d", "no more " * 20, "x y z", "大 中 国 " * 30]
DOCUMENTS = [Document(str(at), "", text) for at, text in enumerate(TEXTS)]


def saved(folder: Path, pooling: str = "mean", normal: bool = False, **settings: Any) -> Path:
    """A folder that sentence-transformers saved, with a network of another base name inside."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import BertModel

    torch.manual_seed(3)
    BertModel(tiny_config()).save_pretrained(folder / "network")
    tiny_tokenizer().save_pretrained(folder / "network")  # type: ignore[attr-defined]
    parts = [Transformer(str(folder / "network")), Pooling(32, pooling), *([Normalize()] if normal else [])]
    model = SentenceTransformer(modules=parts, device="cpu", **settings)
    model.save(str(folder / "saved"))
    return folder / "saved"


def theirs(folder: Path, texts: list[str], task: str) -> Any:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    encode = model.encode_query if task == "query" else model.encode_document
    return encode(texts, show_progress_bar=False, normalize_embeddings=model.similarity_fn_name == "cosine")


def changed(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def shards(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = {f"bert.{name}": tensor.half() for name, tensor in load_file(folder / "model.safetensors").items()}
    names = sorted(tensors)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, part in parts.items():
        save_file({name: tensors[name].contiguous() for name in part}, folder / file, metadata={"format": "pt"})
    weight_map = {name: file for file, part in parts.items() for name in part}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    (folder / "model.safetensors").unlink()


def old_names(folder: Path) -> None:
    """Pooling as sentence-transformers 2 to 5 wrote it, modules by the names of that time."""
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps(
            {
                "word_embedding_dimension": 32,
                "pooling_mode_cls_token": True,
                "pooling_mode_mean_tokens": False,
                "pooling_mode_max_tokens": False,
                "pooling_mode_mean_sqrt_len_tokens": False,
            }
        )
    )
    modules = json.loads((folder / "modules.json").read_text())
    for module in modules:
        module["type"] = f"sentence_transformers.models.{module['type'].rpartition('.')[2]}"
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 12, "do_lower_case": False}))


def shorter(folder: Path) -> None:
    changed(folder / "sentence_bert_config.json", query_length=8, document_length=20)
    changed(folder / "config_sentence_transformers.json", truncate_dim=10, similarity_fn_name="dot")


def relu(folder: Path) -> None:
    changed(folder / "config.json", hidden_act="relu")


def own_code(folder: Path) -> None:
    changed(folder / "config.json", auto_map={"AutoModel": "own.Own"})


def text_alone(folder: Path) -> None:
    """Pooling without the prompt before a text."""
    changed(folder / "1_Pooling" / "config.json", include_prompt=False)


@pytest.mark.golden(program="sentence-transformers 6.2.0", compared="vectors", systems=("bi-encoder",))
@pytest.mark.parametrize("change", [None, shards, old_names, shorter, relu, own_code, text_alone])
@pytest.mark.parametrize("form", [{}, {"pooling": "cls", "normal": True, "prompts": {"query": "ask: ", "other": "x"}}])
def test_vectors_of_a_saved_folder_equal_sentence_transformers_own(
    tmp_path: Path, form: dict[str, Any], change: Callable[[Path], None] | None
) -> None:
    folder = saved(tmp_path, **form)
    if change:
        change(folder)
    ours = SentenceEncoder(Model(str(folder)), CPU)
    for task, found in (
        ("document", ours.encode_documents(DOCUMENTS)),
        ("query", ours.encode_queries(queries([(text, "") for text in TEXTS]))),
    ):
        expected = theirs(folder, [text.strip() for text in TEXTS], task)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    assert isinstance(ours._encoder, PlainEncoder)


def dense(folder: Path) -> None:
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["type"] = (
        "sentence_transformers.sentence_transformer.modules.weighted_layer_pooling.WeightedLayerPooling"
    )
    (folder / "modules.json").write_text(json.dumps(modules))


def without_a_tensor(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    del tensors["encoder.layer.1.output.dense.weight"]
    save_file(tensors, folder / "model.safetensors")


OTHERWISE: dict[str, Callable[[Path], None]] = {
    "another module": dense,
    "a tensor is missing": without_a_tensor,
    "another pooling": lambda folder: changed(folder / "1_Pooling" / "config.json", pooling_mode="max"),
    "two poolings": lambda folder: changed(folder / "1_Pooling" / "config.json", pooling_mode=["mean", "cls"]),
    "another architecture": lambda folder: changed(folder / "config.json", model_type="distilbert"),
    "small letters": lambda folder: changed(folder / "sentence_bert_config.json", do_lower_case=True),
    "mask tokens": lambda folder: changed(folder / "sentence_bert_config.json", query_expansion={"length": 32}),
    "a setting to come": lambda folder: changed(folder / "sentence_bert_config.json", sparkle=1),
    "a default prompt": lambda folder: changed(folder / "config_sentence_transformers.json", default_prompt_name="q"),
    "another kind": lambda folder: changed(folder / "config_sentence_transformers.json", model_type="SparseEncoder"),
    "older settings": lambda folder: (folder / "sentence_roberta_config.json").write_text("{}") and None,
    "a chat": lambda folder: changed(folder / "tokenizer_config.json", chat_template="{{ messages }}"),
    "an adapter": lambda folder: (folder / "adapter_config.json").write_text("{}") and None,
}


@pytest.mark.parametrize("what", OTHERWISE)
def test_what_would_be_read_otherwise_is_left_to_sentence_transformers(tmp_path: Path, what: str) -> None:
    folder = saved(tmp_path)
    assert plain_encoder(Model(str(folder)), "cpu")
    OTHERWISE[what](folder)
    assert plain_encoder(Model(str(folder)), "cpu") is None


ENTRIES: dict[str, dict[str, Any]] = {
    "mean": {"pooling": "mean", "similarity": "cos"},
    "first": {"pooling": "cls", "layer_norm": True, "padding": "left"},
    "last": {"pooling": "lasttoken", "append_eos": True, "padding": "left", "max_length": 24},
    "both ways": {"pooling": "mean", "pool_prefix": False, "bidirectional": True, "query": "only a\n{query}"},
}
V3: dict[str, Any] = {  # DeBERTa-v3's settings; half of the buckets are for one distance each
    "relative_attention": True,
    "position_buckets": 8,
    "max_relative_positions": 30,
    "pos_att_type": ["p2c", "c2p"],
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
    "position_biased_input": False,
    "type_vocab_size": 0,
    "max_position_embeddings": 512,
    "pooler_hidden_act": "gelu",
}
KINDS = {  # of a network: the class of its configuration, its tokenizer, how texts are pooled
    "DistilBert": (tiny_tokenizer, {"dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 2}, ("mean", "first")),
    "MPNet": (tiny_tokenizer, {"max_position_embeddings": 70}, ("mean",)),
    "ModernBert": (tiny_tokenizer, {"local_attention": 8, "global_attn_every_n_layers": 2}, ("mean", "first")),
    "NomicBert": (tiny_tokenizer, {}, ("mean",)),
    "Gte": (tiny_tokenizer, {}, ("first",)),
    "DebertaV2": (tiny_tokenizer, V3, ("mean", "first")),
    "Electra": (tiny_tokenizer, {"embedding_size": 32}, ("mean",)),
    "Albert": (tiny_tokenizer, {"embedding_size": 16}, ("mean",)),
    "Bert": (tiny_tokenizer, {}, ("both ways",)),
    "Llama": (llama_tokenizer, {"num_key_value_heads": 1}, ("last",)),
    "Mistral": (llama_tokenizer, {"num_key_value_heads": 1, "sliding_window": None}, ("last", "both ways")),
    "Gemma": (llama_tokenizer, {"num_key_value_heads": 1, "head_dim": 16}, ("last",)),
    "Phi3": (llama_tokenizer, {"num_key_value_heads": 1}, ("last",)),
    "Qwen2": (qwen_tokenizer, {"num_key_value_heads": 1}, ("last", "both ways")),
    "Qwen3": (qwen_tokenizer, {"num_key_value_heads": 1, "head_dim": 16}, ("last",)),
    "T5": (t5_tokenizer, {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4, "num_layers": 2}, ("mean",)),
    "MT5": (t5_tokenizer, {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4, "num_layers": 2}, ("mean",)),
    "UMT5": (t5_tokenizer, {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4, "num_layers": 2}, ("mean",)),
}


OWN = ("Llama", "MT5", "Mistral", "ModernBert", "Qwen2", "Qwen3", "T5", "UMT5")  # as Heed computes them


def network_folder(kind: str, folder: Path, head: str = "Model", **settings: Any) -> Path:
    """A network of ``kind`` with random weights and its tokenizer."""
    import transformers

    torch.manual_seed(5)
    make, sizes, _ = KINDS[kind]
    tokenizer = make()
    words = max(tokenizer.get_vocab().values()) + 2
    common = {**tiny_config().to_dict(), "vocab_size": words, "pad_token_id": 0, **sizes, **settings}  # type: ignore[attr-defined]
    own = ("model_type", "architectures", "transformers_version", "dtype")
    common = {name: value for name, value in common.items() if name not in own and (value is not None or name in sizes)}
    if "d_model" in sizes:
        common, head = {**sizes, "vocab_size": words, "initializer_factor": 3.0}, "EncoderModel"
    config = getattr(transformers, f"{kind}Config")(**common)
    network = getattr(transformers, f"{kind}{head}")(config)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim == 1:  # norms and biases, which begin as ones and zeros
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.golden(program="sentence-transformers 6.2.0", compared="vectors", systems=("bi-encoder",))
@pytest.mark.parametrize(("kind", "form"), [(kind, form) for kind, (_, _, forms) in KINDS.items() for form in forms])
def test_vectors_of_other_networks_equal_sentence_transformers_own(tmp_path: Path, kind: str, form: str) -> None:
    of_bert = kind in ("Bert", "DebertaV2", "DistilBert", "MPNet") and ENTRIES[form].get("padding") != "left"
    same_vectors(network_folder(kind, tmp_path), form, kind in OWN or of_bert)


def same_vectors(folder: Path, form: str, own: bool) -> None:
    """Vectors are sentence-transformers', computed by Heed's ``own`` network or by transformers'."""
    from heed.models.sentence_models import SentenceModel, load

    model = Model(str(folder), document="{text}", **ENTRIES[form])
    ours, theirs = SentenceEncoder(model, CPU), SentenceEncoder(model, CPU)
    theirs.__dict__["_encoder"] = SentenceModel(model, load(model, "cpu"))
    asked = queries([(text, "") for text in TEXTS])
    for found, expected in (
        (ours.encode_documents(DOCUMENTS), theirs.encode_documents(DOCUMENTS)),
        (ours.encode_queries(asked), theirs.encode_queries(asked)),
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=(1e-5 if own else 1e-6) * np.abs(expected).max())
    assert isinstance(ours._encoder, PlainEncoder)
    assert isinstance(ours._encoder.network, Unpadded) == own


FURTHER: dict[str, tuple[str, str, dict[str, Any]]] = {  # kind, entry, settings of its own
    "norms with bias": ("ModernBert", "mean", {"norm_bias": True, "attention_bias": True, "mlp_bias": True}),
    "a window that looks back": ("Mistral", "last", {"sliding_window": 3}),
    "a window in the last layer": (
        "Qwen3",
        "last",
        {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1},
    ),
    "heads of another width": ("Llama", "last", {"head_dim": 20, "attention_bias": True, "mlp_bias": True}),
    "both ways by its files": ("Qwen2", "mean", {"is_causal": False}),
    "a setting that it does not have": ("ModernBert", "mean", {"num_key_value_heads": 1}),
}
LEFT: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a window that looks both ways": ("Mistral", "both ways", {"sliding_window": 3}),
    "stretched turns": (
        "Llama",
        "last",
        {"rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}},
    ),
    "another activation": ("Qwen2", "last", {"hidden_act": "gelu_python"}),
}


@pytest.mark.golden(program="sentence-transformers 6.2.0", compared="vectors", systems=("bi-encoder",))
@pytest.mark.parametrize("what", [*FURTHER, *LEFT])
def test_what_a_configuration_may_say_is_known_or_left_to_transformers(tmp_path: Path, what: str) -> None:
    kind, form, settings = {**FURTHER, **LEFT}[what]
    folder = network_folder(kind, tmp_path, **settings)
    if "is_causal" in settings:
        changed(folder / "config.json", **settings)
    same_vectors(folder, form, what in FURTHER)


@pytest.mark.parametrize("kind", ["DebertaV2", "ModernBert", "Qwen3", "T5"])
def test_a_network_that_lacks_a_tensor_is_left_to_transformers_warning(tmp_path: Path, kind: str) -> None:
    from safetensors.torch import load_file, save_file

    folder = network_folder(kind, tmp_path)
    model = Model(str(folder), pooling="mean")
    assert plain_encoder(model, "cpu")
    tensors = load_file(folder / "model.safetensors")
    name = next(name for name in tensors if ".1." in name and tensors[name].ndim == 1)  # a norm of the last layer
    del tensors[name]
    save_file(tensors, folder / "model.safetensors")
    assert plain_encoder(model, "cpu") is None


@pytest.mark.parametrize("activation", ["Identity", "Tanh"])
def test_a_layer_behind_the_pooling_is_computed(tmp_path: Path, activation: str) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    dense = Dense(32, 16, bias=activation == "Tanh", activation_function=getattr(torch.nn, activation)())
    parts = [Transformer(str(network_folder("T5", tmp_path / "network"))), Pooling(32, "mean"), dense, Normalize()]
    SentenceTransformer(modules=parts, device="cpu").save(str(tmp_path / "saved"))
    ours = SentenceEncoder(Model(str(tmp_path / "saved")), CPU)
    expected = theirs(tmp_path / "saved", [text.strip() for text in TEXTS], "document")
    np.testing.assert_allclose(ours.encode_documents(DOCUMENTS), expected, rtol=0, atol=1e-5)  # as for T5 above
    assert isinstance(ours._encoder, PlainEncoder)


@pytest.mark.golden(program="sentence-transformers 6.2.0", compared="scores", systems=("cross-encoder",))
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        *((kind, {}) for kind in ("DistilBert", "MPNet", "ModernBert", "Gte", "DebertaV2", "Electra", "Qwen2")),
        ("ModernBert", {"classifier_pooling": "mean", "classifier_bias": True, "norm_bias": True}),
        ("ModernBert", {"classifier_activation": "relu"}),
    ],
)
def test_scores_of_other_networks_equal_sentence_transformers_own(
    tmp_path: Path, kind: str, settings: dict[str, Any]
) -> None:
    folder = network_folder(kind, tmp_path, "ForSequenceClassification", num_labels=1, **settings)
    same_scores(folder, kind in ("DebertaV2", "ModernBert", "MPNet") and "classifier_activation" not in settings)


def same_scores(folder: Path, own: bool) -> None:
    """Scores are sentence-transformers', computed by Heed's ``own`` network or by transformers'."""
    from sentence_transformers import CrossEncoder

    whole = CrossEncoder(str(folder), device="cpu", max_length=48)
    cut: Any = {"text": {"padding": True, "truncation": "only_second"}}
    pairs = [("a river", text.strip()) for text in TEXTS]
    expected = whole.predict(pairs, activation_fn=torch.nn.Identity(), processing_kwargs=cut)
    ours = CrossEncoderReranker(Model(str(folder), max_length=48), CPU)
    found = ours.score(Query("1", "a river", "a river"), DOCUMENTS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=(1e-5 if own else 3e-6) * np.abs(expected).max())
    if own:
        alone = [ours.score(Query("1", "a river", "a river"), [document])[0] for document in DOCUMENTS]
        np.testing.assert_allclose(alone, found, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert isinstance(ours._encoder, PlainModel)
    assert isinstance(ours._encoder, PlainCrossEncoder) == own


DEBERTAS: dict[str, dict[str, Any]] = {  # settings beside V3's that Heed's network has
    "queries of distances alone": {"pos_att_type": ["p2c"], "share_att_key": False},
    "keys of distances alone": {"pos_att_type": "c2p", "share_att_key": False},
    "both, of their own": {"pos_att_type": "c2p|p2c", "share_att_key": False, "norm_rel_ebd": "none"},
    "every distance up to 5": {"position_buckets": -1, "max_relative_positions": 5},
    "every distance": {"position_buckets": -1, "max_relative_positions": -1},
    "no vectors of distances": {"pos_att_type": None},
    "places and types": {"position_biased_input": True, "type_vocab_size": 2, "pooler_hidden_act": "tanh"},
    "places alone": {"position_biased_input": True, "relative_attention": False},  # pos_att_type is in the scale
}
OTHER_DEBERTAS: dict[str, dict[str, Any]] = {  # left to transformers
    "a convolution": {"conv_kernel_size": 3},
    "narrow words": {"embedding_size": 16},
    "another activation": {"hidden_act": "relu"},
    "another activation of the classifier": {"pooler_hidden_act": "mish"},
}


@pytest.mark.golden(program="sentence-transformers 6.2.0", compared="scores", systems=("cross-encoder",))
@pytest.mark.parametrize("what", [*DEBERTAS, *OTHER_DEBERTAS])
def test_scores_of_every_deberta_equal_sentence_transformers_own(tmp_path: Path, what: str) -> None:
    settings = {**DEBERTAS, **OTHER_DEBERTAS}[what]
    folder = network_folder("DebertaV2", tmp_path, "ForSequenceClassification", num_labels=1, **settings)
    same_scores(folder, what in DEBERTAS)


@pytest.mark.skipif(not torch.cpu._is_vnni_supported(), reason="this processor has no VNNI instructions")
def test_products_of_a_deberta_can_be_integers(tmp_path: Path) -> None:
    folder = network_folder("DebertaV2", tmp_path, "ForSequenceClassification", num_labels=1, initializer_range=0.1)
    asked = Query("1", "a river", "a river")
    full, rounded = (
        np.array(CrossEncoderReranker(Model(str(folder), dtype=dtype), CPU).score(asked, DOCUMENTS))
        for dtype in (None, "int8")
    )
    assert 1e-6 < np.abs(full - rounded).max() < 0.1 * np.ptp(full)


def test_a_deberta_with_heads_of_another_width_is_left_to_transformers(tmp_path: Path) -> None:
    """Transformers, too, cannot compute it: its layers take as many numbers as the network is wide."""
    folder = network_folder("DebertaV2", tmp_path, "ForSequenceClassification", num_labels=1, attention_head_size=24)
    assert isinstance(plain_cross_encoder(Model(str(folder)), "cpu"), PaddedCrossEncoder)


@pytest.mark.golden(program="sentence-transformers 6.2.0", compared="scores", systems=("cross-encoder",))
@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("kind", ["Bert", "Roberta", "XLMRoberta", "Camembert"])
@pytest.mark.parametrize("as_saved", [False, True])
def test_scores_equal_sentence_transformers_own(tmp_path: Path, kind: str, labels: int, as_saved: bool) -> None:
    import transformers
    from sentence_transformers import CrossEncoder

    torch.manual_seed(5)
    sizes = {**tiny_config().to_dict(), "max_position_embeddings": 70, "pad_token_id": 0}  # type: ignore[attr-defined]
    names = {at: f"label {at}" for at in range(labels)}
    config = getattr(transformers, f"{kind}Config")(**{**sizes, "id2label": names, "label2id": None})
    getattr(transformers, f"{kind}ForSequenceClassification")(config).save_pretrained(tmp_path / "plain")
    tiny_tokenizer().save_pretrained(tmp_path / "plain")  # type: ignore[attr-defined]
    folder = tmp_path / "plain"
    whole = CrossEncoder(str(folder), device="cpu", max_length=48)
    if as_saved:
        folder = tmp_path / "saved"
        whole.save(str(folder))
    model = Model(str(folder), max_length=48, label=1 if labels > 1 else None)
    plain = plain_cross_encoder(model, "cpu")
    assert plain
    assert plain.num_labels == labels
    cut: Any = {"text": {"padding": True, "truncation": "only_second"}}
    pairs = [("a river", text.strip()) for text in TEXTS]
    logits = whole.predict(pairs, activation_fn=torch.nn.Identity(), processing_kwargs=cut).reshape(len(TEXTS), -1)
    expected = logits[:, 0] if labels == 1 else logits[:, 1] - np.logaddexp(logits[:, 0], logits[:, 2])
    found = CrossEncoderReranker(model, CPU).score(Query("1", "a river", "a river"), DOCUMENTS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


def test_neither_sentence_transformers_nor_networks_of_transformers_are_imported(
    tiny_encoder: Path, tiny_cross_encoder: Path, tmp_path: Path
) -> None:
    """They take more seconds than all else that such a command does before its model is loaded."""
    encoders = [network_folder(kind, tmp_path / kind) for kind in ("MPNet", "ModernBert", "Qwen3", "T5")]
    folders = list(map(str, (tiny_encoder, *encoders)))
    kinds = ("ModernBert", "DebertaV2")
    heads = [
        network_folder(kind, tmp_path / f"{kind}-head", "ForSequenceClassification", num_labels=1) for kind in kinds
    ]
    classifiers = list(map(str, (tiny_cross_encoder, *heads)))
    assert "transformers.modeling_utils" in sys.modules  # here, where the models were made
    script = f"""
import sys
from heed.models.cross_encoder import CrossEncoderReranker
from heed.models.encoders import SentenceEncoder
from heed.models.registry import Model
from heed.models.unpadded import Unpadded
from heed.types import Document, Query
texts = [Document("1", "", "a b"), Document("2", "", "c")]
for folder in {folders!r}:
    SentenceEncoder(Model(folder, pooling="mean")).encode_documents(texts)
for folder in {classifiers!r}:
    CrossEncoderReranker(Model(folder)).score(Query("1", "a b", "a", "b"), texts)
print([name for name in ("sentence_transformers", "transformers.modeling_utils", "sklearn") if name in sys.modules])
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
