"""Tiny models whose weights are made by arithmetic, so that another program's environment reads the same numbers.

``python tests/support/golden_models.py FOLDER`` writes them all, for the scripts in ``tests/data/golden/``.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from conftest import tiny_tokenizer
from tiny_language_models import SIZES, llama_tokenizer, save

HASH, MASK = 0x45D9F3B, 0xFFFFFFFF  # of Thomas Mueller's integer hash: whole numbers, the same everywhere
POSITIONS = 600


def ruled(network: Any, only: str = "", scale: float = 0.5) -> Any:
    """Give weights whose name has ``only`` a number between ``-scale`` and ``scale`` by their place; norms: near 1."""
    with torch.no_grad():
        for at, (name, weight) in enumerate(sorted(network.named_parameters())):
            places = torch.arange(weight.numel(), dtype=torch.int64) + (at << 20)
            for _ in range(2):
                places = ((places ^ (places >> 16)) * HASH) & MASK
            numbers = ((places ^ (places >> 16)).double() / 2**31 - 1) * scale
            if "norm" in name.lower() and name.endswith("weight"):
                numbers = 1 + numbers / 5
            if only in name:
                weight.copy_(numbers.reshape(weight.shape))
    return network


def unigram() -> Any:
    """A tokenizer as T5 has it; its words are given, for a trained one is not the same in every process."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = [f"▁{word}" for word in ("true", "false", "yes", "no", "river", "a", "Query:", "Document:", "Relevant:")]
    letters = [chr(code) for code in range(33, 127)]
    special = ["<pad>", "</s>", "<unk>", "▁"]
    scores = {**dict.fromkeys(special, 0.0), "▁": -2.0, **dict.fromkeys(words, -4.0), **dict.fromkeys(letters, -8.0)}
    tokenizer = Tokenizer(models.Unigram(list(scores.items()), unk_id=2))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=512
    )


def bert(folder: Path) -> Path:
    """An encoder over single letters, of two layers."""
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=200, max_position_embeddings=POSITIONS, **_sizes())
    return save(folder, ruled(BertModel(config)), tiny_tokenizer(512))


def pairs(folder: Path) -> Path:
    """The same with a head of one label."""
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(vocab_size=200, max_position_embeddings=1100, num_labels=1, type_vocab_size=1, **_sizes())
    return save(folder, ruled(BertForSequenceClassification(config)), tiny_tokenizer(1024))


def both_ways(folder: Path) -> Path:
    """An encoder, which attends both ways by nature, with the tokenizer of a decoder: ``<s>`` first, nothing last."""
    from transformers import BertConfig, BertModel

    tokenizer = llama_tokenizer()
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=POSITIONS, **_sizes())
    return save(folder, ruled(BertModel(config)), tokenizer)


def decoder(folder: Path) -> Path:
    """A Mistral without a head."""
    from transformers import MistralConfig, MistralModel

    tokenizer = llama_tokenizer()
    return save(folder, ruled(MistralModel(MistralConfig(vocab_size=len(tokenizer), **SIZES))), tokenizer)


def llama(folder: Path) -> Path:
    """A Llama without a head, as RepLLaMA's base."""
    from transformers import LlamaConfig, LlamaModel

    tokenizer = llama_tokenizer()
    return save(folder, ruled(LlamaModel(LlamaConfig(vocab_size=len(tokenizer), **SIZES))), tokenizer)


def adapter(folder: Path) -> Path:
    """A LoRA adapter of a Llama without a head, which lies beside it, as RepLLaMA's."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModel

    base = llama(folder.with_name("llama"))
    settings = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"])
    ruled(get_peft_model(AutoModel.from_pretrained(base), settings), only="lora_").save_pretrained(folder)
    return folder


def causal(folder: Path) -> Path:
    """A Llama with a head, for texts of more than 2048 tokens."""
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = llama_tokenizer()
    tokenizer.model_max_length = 4096
    config = LlamaConfig(vocab_size=len(tokenizer), **SIZES | {"max_position_embeddings": 4096})
    return save(folder, ruled(LlamaForCausalLM(config)), tokenizer)


def seq2seq(folder: Path) -> Path:
    """A T5 whose tokenizer cuts at 512 tokens."""
    from transformers import T5ForConditionalGeneration

    tokenizer = unigram()
    return save(folder, ruled(T5ForConditionalGeneration(_t5(len(tokenizer)))), tokenizer)


def instructor(folder: Path) -> Path:
    """The encoder of a T5 with INSTRUCTOR's modules after it: the mean, a dense layer, unit length."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from transformers import T5EncoderModel

    tokenizer = unigram()
    plain = save(folder / "plain", ruled(T5EncoderModel(_t5(len(tokenizer)))), tokenizer)
    dense = Dense(32, 16, bias=False, activation_function=torch.nn.Identity())
    modules = [Transformer(str(plain), max_seq_length=512), Pooling(32, "mean"), ruled(dense), Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder))
    return folder


def colbert(folder: Path) -> Path:
    """A checkpoint as ColBERT's own code saves it, of 16 numbers a token."""
    import tiny_late_models as tiny
    from transformers import BertConfig, BertModel

    tokenizer = tiny.bert_tokenizer()
    tokenizer.model_max_length = 512
    network = ruled(BertModel(BertConfig(vocab_size=len(tokenizer), **_sizes())))
    linear = ruled(torch.nn.Linear(32, tiny.WIDTH, bias=False)).weight.detach()
    told = {"query_maxlen": 64, "doc_maxlen": 180}
    return tiny.saved(folder, tiny.Made(folder, network, linear, tokenizer, set()), "bert", told).folder


def _t5(words: int) -> Any:
    from transformers import T5Config

    return T5Config(
        vocab_size=words, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0
    )  # fmt: skip


def _sizes() -> dict[str, int]:
    return {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


MAKERS: tuple[Callable[[Path], Path], ...] = (
    bert,
    pairs,
    both_ways,
    decoder,
    adapter,
    causal,
    seq2seq,
    instructor,
    colbert,
)

if __name__ == "__main__":
    for make in MAKERS:
        print(make(Path(sys.argv[1]) / make.__name__))
