"""Tiny late-interaction checkpoints of the real architectures, and what ColBERT's code makes of a text, written out."""

import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from model_inputs import CPU
from safetensors.torch import save_file

from heed.addons.architectures.late_interaction import LateReranker
from heed.models.registry.entries import Model
from heed.types import Document, Topic

MARKERS = ("[unused0]", "[unused1]")
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "initializer_range": 0.2,  # wide weights, so that different inputs give visibly different scores
}
WIDTH = 16  # numbers of a token's vector
LETTERS = [*string.ascii_lowercase, *string.digits, *"的一是不了人在有我他这中大来上国"]
# the first tokens of XLM-R's punctuation marks below: a mark in its vocabulary as a word of its own, else "▁"
XLMR_SKIPS = {"▁", "▁!", "▁?", "▁(", "▁-"}


LEAST, MOST, DOCUMENT = 16, 48, 30  # tokens: the checkpoints' query length, the entry's, the entry's for documents
TEXTS = ["river", "a longer text; with 12 numbers (and 大 中 国 in it)!", "x, y. z?", "z " * 100, "the river - africa"]
DOCIDS = ["d4", "d2", "d0", "d3", "d1"]  # mixed lengths, not in their order; d3 is longer than the limit
TOPIC = Topic(
    "1", "eng", "a river", {"original": "only africa!", "changed": "only africa, and none of those in 大 中 国"}
)
CONDITIONS = ("query", "original", "changed")


class Made(NamedTuple):
    """A checkpoint's folder with the network, projection and tokenizer that it was made of, and what it skips."""

    folder: Path
    network: Any
    linear: torch.Tensor
    tokenizer: Any
    skips: set[int]
    attend: bool = False


def bert_tokenizer() -> Any:
    from transformers import BertTokenizer

    special = ["[PAD]", *MARKERS, "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*special, *string.punctuation, *LETTERS, *(f"##{letter}" for letter in LETTERS), "river", "africa"]
    return BertTokenizer(vocab={word: at for at, word in enumerate(words)}, model_max_length=64)


def xlmr_tokenizer(markers: bool = True) -> Any:
    """As XLM-R's, which splits a full stop that stands alone into ``▁`` and ``.`` (ids 6 and 5 of its vocabulary)."""
    from transformers import XLMRobertaTokenizer

    special = ["<s>", "<pad>", "</s>", "<unk>"]
    words = [f"▁{word}" for word in ("river", "africa", "the", "!", "?", "(", "-")]
    scores = {**dict.fromkeys(special, 0.0), **dict.fromkeys([",", ".", "▁"], -3.0), **dict.fromkeys(words, -5.0)}
    scores |= {one: -8.0 for one in [*LETTERS, *string.punctuation] if one not in scores}
    tokenizer = XLMRobertaTokenizer(vocab=list(scores.items()), model_max_length=62)
    if markers:
        tokenizer.add_tokens(list(MARKERS))
    return tokenizer


def bert(parent: Path, **told: Any) -> Made:
    """``told`` goes into ``artifact.metadata``."""
    from transformers import BertConfig, BertModel

    folder, tokenizer = parent / "tiny-bert", bert_tokenizer()
    torch.manual_seed(0)
    network = BertModel(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **SIZES)).eval()
    skips = set(tokenizer.convert_tokens_to_ids(list(string.punctuation)))
    return saved(folder, Made(folder, network, torch.randn(WIDTH, 32), tokenizer, skips), "bert", told)


def xlmr(parent: Path, saves_markers: bool = True, rows: int = 2, **told: Any) -> Made:
    """``rows``: embeddings for how many markers; ``saves_markers``: whether the saved tokenizer knows them."""
    from transformers import XLMRobertaConfig, XLMRobertaModel

    folder, plain, tokenizer = parent / "tiny-xlmr", xlmr_tokenizer(markers=False), xlmr_tokenizer()
    config = XLMRobertaConfig(
        vocab_size=len(plain) + rows, max_position_embeddings=64, pad_token_id=1, type_vocab_size=1, **SIZES
    )
    torch.manual_seed(1)
    network = XLMRobertaModel(config).eval()
    skips = set(tokenizer.convert_tokens_to_ids(list(XLMR_SKIPS)))
    made = Made(folder, network, torch.randn(WIDTH, 32), tokenizer if saves_markers else plain, skips)
    return saved(folder, made, "roberta", told)._replace(tokenizer=tokenizer)


def saved(folder: Path, made: Made, prefix: str, told: dict[str, Any]) -> Made:
    """As ColBERT's ``HF_ColBERT.save_pretrained`` and ``ColBERTConfig.save_for_checkpoint`` leave it."""
    made.network.config.save_pretrained(folder)
    made.tokenizer.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["HF_ColBERT"]}))
    metadata = {
        "query_token_id": "[unused0]",
        "doc_token_id": "[unused1]",
        "query_maxlen": 16,
        "doc_maxlen": 24,
        "attend_to_mask_tokens": False,
        "mask_punctuation": True,
        **told,
    }
    (folder / "artifact.metadata").write_text(json.dumps(metadata))
    weights = {f"{prefix}.{name}": weight.contiguous() for name, weight in made.network.state_dict().items()}
    save_file({**weights, "linear.weight": made.linear}, folder / "model.safetensors", metadata={"format": "pt"})
    return made._replace(
        attend=metadata["attend_to_mask_tokens"], skips=made.skips if metadata["mask_punctuation"] else set()
    )


def query(made: Made, text: str, least: int, most: int) -> torch.Tensor:
    """The token vectors of one query, so without padding: mask tokens up to ``least``, cut at ``most``."""
    ids = _ids(made, text, MARKERS[0], most)
    masks = max(0, least - len(ids))
    return vectors(made, ids + [made.tokenizer.mask_token_id] * masks, [1] * len(ids) + [int(made.attend)] * masks)


def document(made: Made, text: str, most: int) -> torch.Tensor:
    ids = _ids(made, text, MARKERS[1], most)
    kept = [at for at, one in enumerate(ids) if one not in made.skips]
    return vectors(made, ids, [1] * len(ids))[kept]


def _ids(made: Made, text: str, marker: str, most: int) -> list[int]:
    ids: list[int] = made.tokenizer(f". {text}", truncation=True, max_length=most)["input_ids"]
    return [ids[0], made.tokenizer.convert_tokens_to_ids(marker), *ids[2:]]


def vectors(made: Made, ids: list[int], mask: list[int]) -> torch.Tensor:
    with torch.no_grad():
        states = made.network(input_ids=torch.tensor([ids]), attention_mask=torch.tensor([mask])).last_hidden_state[0]
    return torch.nn.functional.normalize(states @ made.linear.T, dim=1)


def score(asked: torch.Tensor, found: torch.Tensor) -> float:
    return float((asked @ found.T).max(dim=1).values.double().sum())


def entry(folder: Path, **fields: Any) -> Model:
    return Model(str(folder), **{"query_length": MOST, "document_length": DOCUMENT, **fields})


def documents(docids: Sequence[str]) -> list[Document]:
    return [Document(docid, "T", TEXTS[int(docid[1:])]) for docid in docids]


def reranker_of(folder: Path, **fields: Any) -> LateReranker:
    return LateReranker(entry(folder, **fields), CPU)


def asked(condition: str) -> str:
    return f"a river {TOPIC.instructions.get(condition, '')}".strip()


def plain(made: Made, condition: str, most: int = MOST, documents: int = DOCUMENT) -> list[float]:
    """The scores of ``DOCIDS`` by plain transformers, a text at a time."""
    rows = query(made, asked(condition), min(LEAST, most), most)
    return [score(rows, document(made, f"T {TEXTS[int(docid[1:])]}", documents)) for docid in DOCIDS]
