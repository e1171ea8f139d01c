"""Tiny language models of the real architectures, random weights, with real tokenizers trained on a few lines."""

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LINES = [
    "Determine if the following document is relevant to the query (true/false). Answer true or false, yes or no.",
    'Query: a much longer text Document: with numbers 12 and Relevant: "true" or "false", "yes" or "no"',
    "truefalse yesno true false yes no 中国 大 人 在 这 中 上 的",
    "an instruction: only documents that name a river | a | b |",
] * 50
LLAMA = "<s>[INST] Is it relevant (true/false)?\nQuery: {query}\nDocument: {document}\nRelevant: [/INST] "
QWEN = (
    "<|im_start|>yes or no\n{query}\n<Document>: {document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
)
QWEN_SPLIT = (  # of Qwen 2's tokenizer.json
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
T5 = "Query: {query} Document: {document} Relevant:"
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 256,
    "initializer_range": 0.5,  # wide weights, so that different inputs give visibly different scores
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def llama_tokenizer() -> Any:
    """BPE as Llama 2 and Mistral have it: ``▁`` for spaces, bytes for what is unknown, ``<s>`` first."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")  # for training alone: merges stay in words
    fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    special = ["<unk>", "<s>", "</s>", *fallback]
    tokenizer.train_from_iterator(
        LINES, trainers.BpeTrainer(vocab_size=520, special_tokens=special, show_progress=False)
    )
    tokenizer.pre_tokenizer = None
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", model_max_length=128
    )


def qwen_tokenizer() -> Any:
    """Byte-level BPE as Qwen has it, without a token before or after a text."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=letters, show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.add_special_tokens([AddedToken(one, special=True) for one in ("<|im_start|>", "<|im_end|>")])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", model_max_length=128)


def t5_tokenizer() -> Any:
    """Unigram over words as T5 has it, ``</s>`` last."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=150, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.model = models.Unigram(ordered(json.loads(tokenizer.to_str())["model"]["vocab"], len(special)), unk_id=2)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=128
    )


def ordered(vocab: list[list[Any]], special: int) -> list[tuple[str, float]]:
    """Return the trained pieces in one order: the trainer leaves ties as they come, and so the numbers of tokens."""
    pieces = [(piece, round(score, 9)) for piece, score in vocab]
    return pieces[:special] + sorted(pieces[special:], key=lambda piece: (-piece[1], piece[0]))


def save(folder: Path, network: Any, tokenizer: Any) -> Path:
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def causal(kind: str, folder: Path, **settings: Any) -> Path:
    """A causal model of ``kind``, a name of transformers' (``Llama``, ``Mistral``, ``Qwen2``, ``Qwen3``, ``GPT2``)."""
    import transformers

    tokenizer = qwen_tokenizer() if kind.startswith("Qwen") else llama_tokenizer()
    config = getattr(transformers, f"{kind}Config")(vocab_size=len(tokenizer), **SIZES | settings)
    torch.manual_seed(0)
    return save(folder, transformers.AutoModelForCausalLM.from_config(config), tokenizer)


def with_tokens(kind: str, folder: Path, tokens: tuple[str, ...], merges: bool = False) -> Path:
    """A causal model whose vocabulary has ``tokens``; nothing of it is trained or random, but for Mistral's tokenizer.

    So another version of the libraries, or a program beside ours, makes the same model. With ``merges`` Qwen's
    tokenizer is a trained one too.
    """
    import transformers

    qwen = merging_tokenizer if merges else byte_tokenizer
    tokenizer = qwen(tokens) if kind.startswith("Qwen") else llama_tokenizer()
    tokenizer.pad_token = tokenizer.eos_token
    sizes = SIZES | {"max_position_embeddings": 4096, "tie_word_embeddings": False}
    config = getattr(transformers, f"{kind}Config")(vocab_size=len(tokenizer), **sizes)
    network = transformers.AutoModelForCausalLM.from_config(config)
    for number, (_, weight) in enumerate(sorted(network.named_parameters())):
        if weight.dim() > 1:
            weight.data = scattered(*weight.shape, seed=number)
    return save(folder, network, tokenizer)


def byte_tokenizer(tokens: tuple[str, ...]) -> Any:
    """Bytes as Qwen has them, with ``tokens`` and Qwen's special ones; ``!`` is the first as there."""
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([token for token in tokens if token not in letters])
    tokenizer.add_special_tokens([AddedToken(one, special=True) for one in ("<|im_start|>", "<|im_end|>")])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", model_max_length=2000)


def merging_tokenizer(tokens: tuple[str, ...]) -> Any:
    """Byte-level BPE with Qwen 2's own rule of what may become one token: a mark and the line breaks after it do."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=letters, show_progress=False)
    marks = ["a river?\n", "names it.\n", "names it.\n\n", "<think>\n", "</think>\n\n", "Relevance:\n", "of:"] * 50
    tokenizer.train_from_iterator([*LINES, *marks], trainer)
    tokenizer.add_tokens([token for token in tokens if token not in tokenizer.get_vocab()])
    tokenizer.add_special_tokens([AddedToken(one, special=True) for one in ("<|im_start|>", "<|im_end|>")])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", model_max_length=32768)


def scattered(rows: int, columns: int, seed: int) -> torch.Tensor:
    """A matrix of numbers between -0.5 and 0.5 that look random."""
    count = torch.arange(rows * columns, dtype=torch.float64)
    return (torch.sin(12.9898 * count + 78.233 * (seed + 1)) * 43758.5453 % 1 - 0.5).float().reshape(rows, columns)


def chat_cross_encoder(folder: Path, template: str, one_row: bool = False) -> Path:
    """A sentence-transformers CrossEncoder over a tiny Qwen 3 with ``template`` and LogitScore.

    Its score is the logit of yes, without that of no where it has ``one_row``.
    """
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.cross_encoder.modules import LogitScore

    base = causal("Qwen3", folder / "base")
    (base / "chat_template.jinja").write_text(template, encoding="utf-8")
    transformer = Transformer(str(base), transformer_task="text-generation")
    transformer.tokenizer.pad_token = transformer.tokenizer.eos_token
    yes, no = transformer.tokenizer.convert_tokens_to_ids(["yes", "no"])
    encoder = CrossEncoder(modules=[transformer, LogitScore(yes, None if one_row else no)], device="cpu")
    encoder.save_pretrained(str(folder / "model"), create_model_card=False)
    return folder / "model"


def seq2seq(folder: Path) -> Path:
    from transformers import T5Config, T5ForConditionalGeneration

    tokenizer = t5_tokenizer()
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0,
        initializer_factor=1.5,
    )  # fmt: skip
    return save(folder, T5ForConditionalGeneration(config), tokenizer)


def block_model(folder: Path, window: int | None = None) -> Path:
    """A tiny Qwen 3 with the projection and the two tokens of jina-reranker v3; of v3.5 with a sliding ``window``."""
    from safetensors.torch import load_file, save_file
    from transformers import AutoConfig

    with_tokens("Qwen3", folder, ("<|embed_token|>", "<|rerank_token|>"))
    config = AutoConfig.from_pretrained(folder)
    config.architectures = ["JinaForRanking"]
    config.auto_map = {"AutoModel": "modeling.JinaForRanking"}  # code that is neither fetched nor run
    if window:
        config.use_sliding_window, config.sliding_window = True, window
        config.layer_types = ["sliding_attention", "full_attention"]
    config.save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    del weights["lm_head.weight"]
    weights |= {"projector.0.weight": scattered(16, 32, 101), "projector.2.weight": scattered(512, 16, 102)}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder
