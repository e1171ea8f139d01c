"""Models with random weights in the sizes that are measured, with tokenizers learnt from the texts that are read."""

from pathlib import Path
from typing import Any

from heed.models.registry.entries import Model

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "yes", "no"]
PROMPT = "Instruction and query: {query}\nDocument: {document}\nAnswer:"


def encoder(folder: Path, texts: list[str]) -> Path:
    """A BERT of 6 layers, 384 wide, as MiniLM-L6 is, with mean pooling."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel

    tokenizer = word_pieces(texts)
    torch.manual_seed(0)
    sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    BertModel(BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(folder / "bert")
    tokenizer.save_pretrained(folder / "bert")
    parts = [Transformer(str(folder / "bert")), Pooling(384, "mean")]
    SentenceTransformer(modules=parts, device="cpu").save(str(folder / "whole"))
    return folder / "whole"


def classifier(folder: Path, encoder: Path) -> Path:
    """A cross-encoder on the layers of ``encoder``, with a random head."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()  # that the head is new is no news
    torch.manual_seed(0)
    AutoModelForSequenceClassification.from_pretrained(encoder, num_labels=1).save_pretrained(folder)
    AutoTokenizer.from_pretrained(encoder).save_pretrained(folder)
    return folder


def causal(folder: Path, texts: list[str]) -> Model:
    """A Llama of 4 layers, 256 wide, that is asked for yes or no."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = word_pieces(texts)
    torch.manual_seed(0)
    sizes = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 688}
    LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Model(str(folder), family="causal", prompt=PROMPT, tokens=("no", "yes"), max_length=1024)


def word_pieces(texts: list[str]) -> Any:
    """A tokenizer of BERT's form, learnt from ``texts``."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertTokenizerFast

    made = BertWordPieceTokenizer()
    made.train_from_iterator(texts, vocab_size=8000, special_tokens=SPECIAL, show_progress=False)
    return BertTokenizerFast(tokenizer_object=made._tokenizer, model_max_length=1024)
