"""Networks of transformers' architectures with odd settings, every parameter random."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

ODD = 0.25  # how often a setting is not the usual one
LAYERS, WIDTH, HEADS, INNER = 2, 48, 4, 96
POSITIONS = 512
SCALE = 0.15
BERT = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": INNER,
}


class Draw:
    """Settings drawn at random: the usual one stands first; the others are in ``odd`` by name, for the report."""

    def __init__(self, number: int) -> None:
        """Draw the settings of case ``number``."""
        self.random, self.odd = random.Random(number), dict[str, Any]()

    def __call__(self, name: str, *options: Any, odd: float = ODD) -> Any:
        """Return the first of ``options``, or with a probability of ``odd`` another."""
        usual, *others = options
        if not others or self.random.random() >= odd:
            return usual
        chosen = self.random.choice(others)
        if chosen != usual:
            self.odd[name] = chosen
        return chosen


class Architecture(NamedTuple):
    """The tokenizer that a network is trained with, its odd settings, and what its class is called."""

    tokenizer: str
    settings: Callable[[Draw], dict[str, Any]]
    uses: str  # letters of the families: b bi-encoder, c cross-encoder, l late interaction, y yes/no, s seq2seq yes/no


def _bert(draw: Draw) -> dict[str, Any]:
    return {
        **BERT,
        "layer_norm_eps": draw("layer_norm_eps", 1e-12, 1e-5, 1e-2),
        "hidden_act": draw("hidden_act", "gelu", "gelu_new", "relu", "silu"),
    }


def _typed(draw: Draw) -> dict[str, Any]:
    return {**_bert(draw), "type_vocab_size": draw("type_vocab_size", 2, 4)}


def _roberta(draw: Draw) -> dict[str, Any]:
    positions = POSITIONS + draw("further positions", 2, 90)
    return {**_bert(draw), "type_vocab_size": 1, "max_position_embeddings": positions}


def _distilbert(draw: Draw) -> dict[str, Any]:
    sizes = {"dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": INNER}
    sinusoidal = draw("sinusoidal_pos_embds", False, True)
    return {**sizes, "activation": draw("activation", "gelu", "relu"), "sinusoidal_pos_embds": sinusoidal}


def _mpnet(draw: Draw) -> dict[str, Any]:
    return {**_bert(draw), "max_position_embeddings": POSITIONS + 2}


def _electra(draw: Draw) -> dict[str, Any]:
    return {**_typed(draw), "embedding_size": draw("embedding_size", WIDTH, 24)}


def _albert(draw: Draw) -> dict[str, Any]:
    return {**_typed(draw), "embedding_size": 24, "num_hidden_groups": draw("num_hidden_groups", 1, 2)}


def _deberta(draw: Draw) -> dict[str, Any]:
    return {
        **_bert(draw),
        "type_vocab_size": draw("type_vocab_size", 0, 2),
        "relative_attention": draw("relative_attention", True, False),
        "max_relative_positions": draw("max_relative_positions", -1, 64),
        "position_biased_input": draw("position_biased_input", True, False),
        "pos_att_type": draw("pos_att_type", ["p2c", "c2p"], ["c2p"]),
        "pooler_hidden_size": WIDTH,
        "pooler_hidden_act": draw("pooler_hidden_act", "gelu", "tanh"),
    }


def _deberta_v2(draw: Draw) -> dict[str, Any]:
    return {
        **_deberta(draw),
        "position_buckets": draw("position_buckets", 32, 16, 256),
        "share_att_key": draw("share_att_key", True, False),
        "norm_rel_ebd": draw("norm_rel_ebd", "layer_norm", "none"),
        "conv_kernel_size": draw("conv_kernel_size", 0, 3),
    }


def _modernbert(draw: Draw) -> dict[str, Any]:
    biases = {f"{name}_bias": draw(f"{name}_bias", False, True) for name in ("norm", "attention", "mlp", "classifier")}
    return {
        **BERT,
        **biases,
        "num_hidden_layers": 3,
        "global_attn_every_n_layers": draw("global_attn_every_n_layers", 2, 3),
        "local_attention": draw("local_attention", 32, 16, 128),
        "classifier_pooling": draw("classifier_pooling", "cls", "mean"),
        "classifier_activation": draw("classifier_activation", "gelu", "silu", "relu"),
        "hidden_activation": draw("hidden_activation", "gelu", "gelu_pytorch_tanh"),
        "max_position_embeddings": 1024,
    }


def _decoder(draw: Draw) -> dict[str, Any]:
    """Return what all decoders with rotary embeddings have: sizes, grouped keys, rope forms."""
    return {
        **BERT,
        "num_key_value_heads": draw("num_key_value_heads", 2, 4, 1),
        "max_position_embeddings": 1024,
        "rms_norm_eps": draw("rms_norm_eps", 1e-6, 1e-3),
        "rope_parameters": {"rope_theta": draw("rope_theta", 10000.0, 500.0), **draw("rope", *ROPES)},
    }


ROPES = (
    {"rope_type": "default"},
    {"rope_type": "linear", "factor": 2.0},
    {"rope_type": "dynamic", "factor": 2.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256},
    {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 256,
    },
)


def _llama(draw: Draw) -> dict[str, Any]:
    biases = {f"{name}_bias": draw(f"{name}_bias", False, True) for name in ("attention", "mlp")}
    return {**_decoder(draw), **biases, "head_dim": draw("head_dim", WIDTH // HEADS, 16)}


def _mistral(draw: Draw) -> dict[str, Any]:
    return {**_decoder(draw), "sliding_window": draw("sliding_window", None, 16, 64)}


def _qwen(draw: Draw) -> dict[str, Any]:
    window = draw("sliding_window", None, 16, 64)
    windows = {"use_sliding_window": True, "sliding_window": window, "max_window_layers": 1} if window else {}
    return {**_decoder(draw), **windows, "tie_word_embeddings": draw("tie_word_embeddings", False, True)}


def _qwen3(draw: Draw) -> dict[str, Any]:
    return {**_qwen(draw), "head_dim": draw("head_dim", WIDTH // HEADS, 16)}


def _gemma(draw: Draw) -> dict[str, Any]:
    settings = {**BERT, "num_key_value_heads": draw("num_key_value_heads", 2, 4, 1), "max_position_embeddings": 1024}
    return {**settings, "head_dim": draw("head_dim", WIDTH // HEADS, 16)}


def _gemma2(draw: Draw) -> dict[str, Any]:
    caps = {f"{name}_softcapping": draw(f"{name}_softcapping", 5.0, None) for name in ("attn_logit", "final_logit")}
    return {**_gemma(draw), **caps, "sliding_window": draw("sliding_window", 32, 128), "query_pre_attn_scalar": 12}


def _gemma3(draw: Draw) -> dict[str, Any]:
    return {**_gemma(draw), "sliding_window": draw("sliding_window", 32, 128), "query_pre_attn_scalar": 12}


def _phi3(draw: Draw) -> dict[str, Any]:
    settings = {**_decoder(draw), "sliding_window": draw("sliding_window", None, 32)}
    settings["rope_parameters"] = {"rope_type": "default", "rope_theta": 10000.0}
    return {**settings, "original_max_position_embeddings": 1024}


def _neox(draw: Draw) -> dict[str, Any]:
    parallel = draw("use_parallel_residual", True, False)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": draw("partial_rotary", 0.5, 1.0)}
    return {**BERT, "use_parallel_residual": parallel, "max_position_embeddings": 1024, "rope_parameters": rope}


def _gpt2(draw: Draw) -> dict[str, Any]:
    sizes = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_inner": INNER, "n_positions": 1024}
    return {**sizes, "scale_attn_by_inverse_layer_idx": draw("scale_attn_by_inverse_layer_idx", False, True)}


def _t5(draw: Draw) -> dict[str, Any]:
    return {
        **{"d_model": WIDTH, "d_ff": INNER, "num_layers": LAYERS, "num_heads": HEADS, "decoder_start_token_id": 0},
        "d_kv": draw("d_kv", WIDTH // HEADS, 16),
        "feed_forward_proj": draw("feed_forward_proj", "relu", "gated-gelu", "gated-silu", "gelu"),
        "relative_attention_num_buckets": draw("relative_attention_num_buckets", 32, 16),
        "relative_attention_max_distance": draw("relative_attention_max_distance", 128, 64),
        "tie_word_embeddings": draw("tie_word_embeddings", True, False),
    }


ARCHITECTURES = {
    "Bert": Architecture("wordpiece", _typed, "bcl"),
    "DistilBert": Architecture("wordpiece", _distilbert, "bc"),
    "Roberta": Architecture("bytes", _roberta, "bcl"),
    "XLMRoberta": Architecture("unigram", _roberta, "bcl"),
    "Camembert": Architecture("unigram", _roberta, "bc"),
    "MPNet": Architecture("bytes", _mpnet, "bc"),
    "Electra": Architecture("wordpiece", _electra, "bc"),
    "Albert": Architecture("wordpiece", _albert, "bc"),
    "Deberta": Architecture("wordpiece", _deberta, "bc"),
    "DebertaV2": Architecture("wordpiece", _deberta_v2, "bc"),
    "ModernBert": Architecture("bytes", _modernbert, "bcl"),
    "Llama": Architecture("llama", _llama, "bcy"),
    "Mistral": Architecture("llama", _mistral, "bcy"),
    "Qwen2": Architecture("qwen", _qwen, "bcy"),
    "Qwen3": Architecture("qwen", _qwen3, "bcly"),
    "Gemma": Architecture("llama", _gemma, "bcy"),
    "Gemma2": Architecture("llama", _gemma2, "bcy"),
    "Gemma3Text": Architecture("llama", _gemma3, "bcy"),
    "Phi3": Architecture("llama", _phi3, "bcy"),
    "GPTNeoX": Architecture("qwen", _neox, "cy"),
    "GPT2": Architecture("qwen", _gpt2, "cy"),
    "T5": Architecture("t5", _t5, "bs"),
    "MT5": Architecture("t5", _t5, "bs"),
    "UMT5": Architecture("t5", _t5, "bs"),
}
HEADED = {"c": "AutoModelForSequenceClassification", "y": "AutoModelForCausalLM", "s": "AutoModelForSeq2SeqLM"}


def network(draw: Draw, name: str, use: str, tokenizer: Any, settings: dict[str, Any]) -> Any:
    """Return a network of the architecture ``name`` with a head for ``use``; ``settings`` replace drawn ones."""
    import transformers

    ids = {f"{one}_token_id": getattr(tokenizer, f"{one}_token_id") for one in ("pad", "bos", "eos")}
    rows = len(tokenizer) + draw("rows without a token", 0, 5)
    config = getattr(transformers, f"{name}Config")
    made = config(**{"vocab_size": rows, **ids, **ARCHITECTURES[name].settings(draw), **settings})
    if use in HEADED:
        return randomised(getattr(transformers, HEADED[use]).from_config(made), draw)
    if ARCHITECTURES[name].tokenizer == "t5":
        return randomised(getattr(transformers, f"{name}EncoderModel")(made), draw)
    masked = draw("head of a masked language model", False, name in MASKED)
    kind = transformers.AutoModelForMaskedLM if masked else transformers.AutoModel
    return randomised(kind.from_config(made), draw)


MASKED = ("Bert", "DistilBert", "Roberta", "XLMRoberta", "MPNet", "DebertaV2", "ModernBert")


def randomised(network: Any, draw: Draw, names: tuple[str, ...] = ("",)) -> Any:
    """Return ``network`` for inference, each parameter with one of ``names`` in its own random.

    Norms and biases too, and all of a size that makes attention uneven.
    """
    import torch

    made = torch.Generator().manual_seed(draw.random.getrandbits(32))
    with torch.no_grad():
        for name, weight in network.named_parameters():
            numbers = torch.randn(weight.shape, generator=made)
            norm = "norm" in name.lower() and name.endswith("weight")
            if any(one in name for one in names):
                weight.copy_(1 + 0.2 * numbers if norm else SCALE * numbers)
    return network.eval()
