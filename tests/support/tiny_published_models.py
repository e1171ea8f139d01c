"""Tiny models in the layout of files that papers' systems have on the hub, with weights that any program can make.

Nothing here needs torch or transformers, so that the programs whose values are recorded in ``data/golden`` read the
same files from environments of their own.
"""

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, processors

WIDTH = 32
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:,?-'"
MISTRAL = {
    "vocab_size": 400,
    "hidden_size": WIDTH,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "sliding_window": 8,  # shorter than the texts: the authors' mask has none
    "rope_theta": 10000.0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LATENT = {"num_latents_value": 6, "latent_dim": WIDTH, "hidden_dim": WIDTH, "num_cross_heads": 2, "cross_dim_head": 12}


def numbers(name: str, *shape: int, scale: float = 0.3, around: float = 0.0) -> np.ndarray:
    """Normal random numbers that depend on ``name`` alone."""
    drawn = np.random.RandomState(zlib.crc32(name.encode())).normal(around, scale, shape)
    return drawn.astype(np.float32)


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def nv_embed(folder: Path) -> Path:
    """NV-Embed-v2's layout of weights and configuration, whose field names are those of transformers 4."""
    folder.mkdir(parents=True, exist_ok=True)
    own = "configuration_nvembed.NVEmbedConfig"
    write_json(
        folder / "config.json",
        {
            "architectures": ["NVEmbedModel"],
            "auto_map": {"AutoConfig": own, "AutoModel": "modeling_nvembed.NVEmbedModel"},
            "model_type": "nvembed",
            "add_eos": True, "add_pad_token": True, "is_mask_instruction": True, "mask_type": "b",
            "padding_side": "right", "hidden_size": WIDTH, "torch_dtype": "float32", "transformers_version": "4.42.4",
            "latent_attention_config": {"model_type": "latent_attention", "output_normalize": False, **LATENT},
            "text_config": {"model_type": "bidir_mistral", "_name_or_path": str(folder), "torch_dtype": "float32",
                            **MISTRAL},
        },
    )  # fmt: skip
    save_file(nv_embed_weights(), folder / "model.safetensors", metadata={"format": "pt"})
    _llama_tokenizer(folder)
    return folder


def nv_embed_weights() -> dict[str, np.ndarray]:
    inner, heads, latents = 48, WIDTH // 2, LATENT["num_cross_heads"] * LATENT["cross_dim_head"]
    shapes: dict[str, tuple[int, ...]] = {"embedding_model.embed_tokens.weight": (400, WIDTH)}
    for number in range(2):
        layer = f"embedding_model.layers.{number}"
        shapes |= {f"{layer}.self_attn.{part}_proj.weight": (WIDTH, WIDTH) for part in "qo"}
        shapes |= {f"{layer}.self_attn.{part}_proj.weight": (heads, WIDTH) for part in "kv"}
        shapes |= {f"{layer}.mlp.{part}_proj.weight": (inner, WIDTH) for part in ("gate", "up")}
        shapes |= {f"{layer}.mlp.down_proj.weight": (WIDTH, inner)}
        shapes |= {f"{layer}.{part}_layernorm.weight": (WIDTH,) for part in ("input", "post_attention")}
    shapes["embedding_model.norm.weight"] = (WIDTH,)
    first, second = (f"latent_attention_model.cross_attend_blocks.{number}" for number in range(2))
    shapes |= {
        "latent_attention_model.latents": (LATENT["num_latents_value"], WIDTH),
        f"{first}.fn.to_q.weight": (latents, WIDTH),
        f"{first}.fn.to_kv.weight": (2 * latents, WIDTH),
        f"{first}.fn.to_out.weight": (WIDTH, latents),
        f"{second}.fn.net.0.weight": (8 * WIDTH, WIDTH),
        f"{second}.fn.net.0.bias": (8 * WIDTH,),
        f"{second}.fn.net.2.weight": (WIDTH, 4 * WIDTH),
        f"{second}.fn.net.2.bias": (WIDTH,),
    }
    for norm in (f"{first}.norm", f"{first}.norm_context", f"{second}.norm"):
        shapes |= {f"{norm}.weight": (WIDTH,), f"{norm}.bias": (WIDTH,)}
    return {name: numbers(name, *shape, around=float("norm" in name)) for name, shape in shapes.items()}


def _llama_tokenizer(folder: Path) -> None:
    """As Mistral's: ``▁`` for a space, which joins the letter after it, bytes for what is unknown, ``<s>`` first."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *LETTERS]
    pieces += [f"▁{letter}" for letter in LETTERS]
    merges = [("▁", letter) for letter in LETTERS]
    vocabulary = {piece: at for at, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "legacy": True, **special})
    write_json(folder / "special_tokens_map.json", special)


T5 = {"d_model": WIDTH, "d_kv": 8, "d_ff": 40, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 4}
WORDS = (
    "solar power which rivers cross the desert a and where do they end cats news on river plants in Africa are relevant"
)


def enc_t5(folder: Path, pickled: bool = False) -> Path:
    """TART-full's layout: an encoder of T5 1.1 and a classifier; SentencePiece's file alone as a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = _sentencepiece(folder / "spiece.model")
    config = {
        "architectures": ["EncT5ForSequenceClassification"], "model_type": "t5", "is_encoder_decoder": True,
        "feed_forward_proj": "gated-gelu", "relative_attention_num_buckets": 8, "tie_word_embeddings": False,
        "vocab_size": vocabulary + 100 + 28, "eos_token_id": 1, "pad_token_id": 0, "decoder_start_token_id": 0,
        "torch_dtype": "float32", "transformers_version": "4.20.1", **T5,
    }  # fmt: skip
    write_json(folder / "config.json", config)
    save_file(enc_t5_weights(config["vocab_size"]), folder / "model.safetensors", metadata={"format": "pt"})
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    extra = [f"<extra_id_{number}>" for number in range(100)]
    write_json(folder / "special_tokens_map.json", {**special, "additional_special_tokens": extra})
    write_json(
        folder / "tokenizer_config.json",
        {"tokenizer_class": "EncT5Tokenizer", "extra_ids": 100, "additional_special_tokens": extra, **special},
    )
    return folder


def enc_t5_weights(vocabulary: int) -> dict[str, np.ndarray]:
    inner, forward = T5["d_kv"] * T5["num_heads"], T5["d_ff"]
    shapes: dict[str, tuple[int, ...]] = {"shared.weight": (vocabulary, WIDTH)}
    for number in range(T5["num_layers"]):
        first, second = (f"encoder.block.{number}.layer.{part}" for part in range(2))
        shapes |= {f"{first}.SelfAttention.{part}.weight": (inner, WIDTH) for part in "qkv"}
        shapes |= {f"{first}.SelfAttention.o.weight": (WIDTH, inner), f"{first}.layer_norm.weight": (WIDTH,)}
        shapes |= {f"{second}.DenseReluDense.wi_{part}.weight": (forward, WIDTH) for part in range(2)}
        shapes |= {f"{second}.DenseReluDense.wo.weight": (WIDTH, forward), f"{second}.layer_norm.weight": (WIDTH,)}
    shapes["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = (8, T5["num_heads"])
    shapes |= {"encoder.final_layer_norm.weight": (WIDTH,), "classifier.weight": (2, WIDTH), "classifier.bias": (2,)}
    return {name: numbers(name, *shape, around=float("norm" in name)) for name, shape in shapes.items()}


def _sentencepiece(path: Path) -> int:
    """Write a unigram model in SentencePiece's form, as T5's: padding, end and unknown first; return its pieces."""
    from sentencepiece import sentencepiece_model_pb2 as form

    model = form.ModelProto()
    kinds = form.ModelProto.SentencePiece
    for piece, kind in (("<pad>", kinds.CONTROL), ("</s>", kinds.CONTROL), ("<unk>", kinds.UNKNOWN)):
        model.pieces.add(piece=piece, score=0.0, type=kind)
    words = [*(f"▁{word}" for word in WORDS.split()), "▁", *LETTERS, "[", "]"]
    for at, word in enumerate(dict.fromkeys(words)):
        model.pieces.add(piece=word, score=-1.0 - at / 10 - (len(word) == 1) * 9, type=kinds.NORMAL)
    model.trainer_spec.model_type = form.TrainerSpec.UNIGRAM
    model.trainer_spec.pad_id, model.trainer_spec.eos_id, model.trainer_spec.unk_id = 0, 1, 2
    model.trainer_spec.bos_id = -1
    model.normalizer_spec.name = "identity"
    path.write_bytes(model.SerializeToString())
    return len(model.pieces)


TAPAS = {
    "vocab_size": 60, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48,
    "max_position_embeddings": 64, "type_vocab_size": [3, 20, 30, 2, 30, 30, 10], "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "initializer_range": 0.02,
}  # fmt: skip
PIECES = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] [EMPTY] river length nile amazon congo 6650 6400 4700 in km longest ##s name the"
)


def tapas(folder: Path) -> Path:
    """Google's table retriever: its configuration and vocabulary, and its checkpoint's names and shapes."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "bert_config.json", TAPAS)
    words = [*PIECES.split(), *"abcdefghijklmnopqrstuvwxyz0123456789|"]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    save_file(tapas_weights(), folder / "model.safetensors")
    return folder


def tapas_weights() -> dict[str, np.ndarray]:
    shapes: dict[str, tuple[int, ...]] = {"table_projection": (8, WIDTH), "text_projection": (8, WIDTH)}
    for tower in ("bert", "bert_1"):
        rows = {"word_embeddings": TAPAS["vocab_size"], "position_embeddings": TAPAS["max_position_embeddings"]}
        rows |= {f"token_type_embeddings_{at}": size for at, size in enumerate(TAPAS["type_vocab_size"])}
        shapes |= {f"{tower}/embeddings/{name}": (size, WIDTH) for name, size in rows.items()}
        norms, dense = [f"{tower}/embeddings"], {f"{tower}/pooler/dense": (WIDTH, WIDTH)}
        for number in range(TAPAS["num_hidden_layers"]):
            layer = f"{tower}/encoder/layer_{number}"
            norms += [f"{layer}/attention/output", f"{layer}/output"]
            dense |= {f"{layer}/attention/self/{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
            dense |= {f"{layer}/attention/output/dense": (WIDTH, WIDTH)}
            dense |= {f"{layer}/intermediate/dense": (WIDTH, 48), f"{layer}/output/dense": (48, WIDTH)}
        shapes |= {f"{name}/LayerNorm/{part}": (WIDTH,) for name in norms for part in ("gamma", "beta")}
        for name, shape in dense.items():
            shapes |= {f"{name}/kernel": shape, f"{name}/bias": shape[1:]}
    return {name: numbers(name, *shape, around=float("gamma" in name)) for name, shape in shapes.items()}
