"""Models of real architecture with random weights, small enough to be killed often."""

from pathlib import Path
from typing import Any

LENGTH = 512
WORDS = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]"),
    *map(chr, range(33, 127)),
    *map(chr, range(0x4E00, 0x4E00 + 2000)),
]
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def tiny_models(folder: Path) -> None:
    """Write ``bi`` and ``cross``, two BERTs of two layers, into ``folder``."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel

    for name, kind in (("bi", BertModel), ("cross", BertForSequenceClassification)):
        torch.manual_seed(0)
        config = BertConfig(vocab_size=len(WORDS), max_position_embeddings=LENGTH, num_labels=1, **SIZES)
        kind(config).save_pretrained(folder / name)
        tokenizer().save_pretrained(folder / name)


def tiny_causal(folder: Path) -> None:
    """Write a Llama of two layers into ``folder``; a letter is a token."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=len(WORDS), max_position_embeddings=LENGTH, **SIZES)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)


def tokenizer() -> Any:
    """Every letter a token, of Latin and some Chinese."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    letters = pre_tokenizers.Split(Regex("."), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), letters])
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        model_max_length=LENGTH,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )
