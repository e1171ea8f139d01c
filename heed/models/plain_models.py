"""Bi-encoders and cross-encoders read from their files alone, on a CPU: what sentence-transformers computes, sooner.

Networks of BERT's form (:mod:`heed.models.unpadded`), of DeBERTa's (:mod:`heed.models.deberta`), of ModernBERT's,
Llama's and T5's (:mod:`heed.models.prenorm`) are read without transformers' networks too, and without padding.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import torch
from torch.nn.functional import layer_norm, linear, normalize

from heed.models import deberta
from heed.models.language_models import INT8, merged
from heed.models.own_networks import tensors_in
from heed.models.padded import is_known, padded_network, taken
from heed.models.plain_files import POOLING, PlainFiles, Tensors, plain_files, pooling_of
from heed.models.prenorm import ACTIVATIONS, FORMS, UnpaddedPreNorm, shape_of
from heed.models.products import Int8Product, Product, Weights
from heed.models.registry import Model
from heed.models.sentence_models import set_up_tokenizer
from heed.models.unpadded import DEBERTA, KINDS, Unpadded, UnpaddedBert, can_read, inner_weights, normal

HEADS = {  # the two layers of a classifier; BERT's first is the network's
    "bert": ("bert.pooler.dense", "classifier"),
    DEBERTA: ("pooler.dense", "classifier"),
    "modernbert": ("head.dense", "classifier"),
    "roberta": ("classifier.dense", "classifier.out_proj"),
}


class Parts(NamedTuple):
    """What a model is loaded as: the files' settings, a network of transformers or :class:`Unpadded`, its tokenizer."""

    files: PlainFiles
    network: Any
    tokenizer: Any


class PlainModel:
    """A network and its tokenizer, with the lengths that entry and files give."""

    device = torch.device("cpu")

    def __init__(self, model: Model, parts: Parts) -> None:
        """Set the longest text as sentence-transformers does: the entry's, the files', the network's."""
        self._files, self.network, self.tokenizer = parts
        saved = self._files.settings.get("max_seq_length")
        positions = getattr(self.network.config, "max_position_embeddings", -1)
        most = self.tokenizer.model_max_length
        most = most if positions == -1 else min(most, positions)
        self.tokenizer.model_max_length = model.max_length or (most if saved is None else saved)
        self.tokenizer.truncation_side = "right"

    @property
    def max_seq_length(self) -> int | None:
        """How many tokens a text may have."""
        length: int | None = self.tokenizer.model_max_length
        return length


class PlainEncoder(PlainModel):
    """A bi-encoder with mean, first-token or last-token pooling."""

    def __init__(self, model: Model, parts: Parts, pooling: str) -> None:
        """Set it up as entry and files say; ``pooling`` is one of ``POOLING``'s values.

        Raises :class:`ModelError` for an end-of-text token that cannot be appended.
        """
        super().__init__(model, parts)
        set_up_tokenizer(model, self.tokenizer)
        settings, modules = self._files.settings, self._files.modules or {}
        saved = {name: text for name, text in settings.get("prompts", {}).items() if text is not None}
        self.prompts: dict[str, str] = {"query": "", "document": "", **saved}
        self._pooling, self._truncate = pooling, settings.get("truncate_dim")
        self._pools_prompt = _pools_prompt(model, self._files)
        self._layer_norm = model.layer_norm and model.pooling is not None
        self._dense = _dense(modules["Dense"]) if "Dense" in modules else None
        self._normalize = "Normalize" in modules and model.normalize is not False
        lengths = {"query": model.query_length, "document": model.document_length}
        self._lengths = {
            task: length or model.max_length or settings.get(f"{task}_length") for task, length in lengths.items()
        }

    def limit(self, task: str) -> int | None:
        """Return how many tokens a ``query`` or ``document`` may have; None without a limit."""
        limit = self._lengths[task] or self.max_seq_length
        return int(limit) if limit and limit < 1e9 else None  # transformers writes 1e30 for no limit

    def tokens(self, texts: list[str], prompt: str, task: str) -> Mapping[str, Any]:
        """Return ids, types and masks of each text after ``prompt``, not padded; how long a prompt to leave out is."""
        longest = {"max_length": self._lengths[task]} if self._lengths[task] else {}
        found = dict(self.tokenizer([prompt + text for text in texts], truncation=True, **longest))
        if prompt and not self._pools_prompt:
            ids = self.tokenizer(prompt, truncation=True)["input_ids"]
            found["prompt_length"] = len(ids) - (ids[-1] in self.tokenizer.all_special_ids)  # less its end
        return found

    def vectors(self, features: Mapping[str, Any], task: str) -> torch.Tensor:
        """Return one vector a text, as sentence-transformers' modules behind the network compute them."""
        states = self.network(**taken(self.network, features)).last_hidden_state
        vectors = self._pooled(states, _without_prompt(features["attention_mask"], features.get("prompt_length", 0)))
        if self._layer_norm:
            vectors = layer_norm(vectors, vectors.shape[-1:])
        if self._dense:
            vectors = self._dense(vectors)
        if self._normalize:
            vectors = normalize(vectors)
        return vectors[:, : self._truncate]

    def _pooled(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self._pooling == "mean":
            weights = mask.unsqueeze(-1).to(states.dtype)
            return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-9)
        if states.shape[1] == 1:  # the first alone was computed
            return states[:, 0]
        at = mask.argmax(dim=1) if self._pooling == "cls" else mask.shape[1] - 1 - mask.flip(1).argmax(dim=1)
        return states[torch.arange(len(states)), at]


def _pools_prompt(model: Model, files: PlainFiles) -> bool:
    return bool(model.pool_prefix and (files.modules or {}).get("Pooling", {}).get("include_prompt", True))


def _without_prompt(mask: torch.Tensor, length: int) -> torch.Tensor:
    """Return ``mask`` without each text's first ``length`` tokens; padding may be on either side."""
    begins = mask.argmax(dim=1, keepdim=True)
    return mask * (torch.arange(mask.shape[1]) >= begins + length) if length else mask


def _dense(settings: dict[str, Any]) -> torch.nn.Module:
    """Return the linear layer behind the pooling with its activation."""
    layer = torch.nn.Linear(settings["in_features"], settings["out_features"], bias=settings.get("bias", True))
    layer.load_state_dict(tensors_in(settings["folder"], "linear."))
    if settings.get("activation_function", "Tanh").endswith("Tanh"):
        return torch.nn.Sequential(layer, torch.nn.Tanh())
    return layer


class PlainCrossEncoder(PlainModel):
    """A classifier of pairs without padding: two layers over the first token, or over the mean of ModernBERT's."""

    def __init__(self, model: Model, parts: Parts, head: Weights) -> None:
        """``head`` has the classifier's layers; raises :class:`KeyError` with the name of one that is not there."""
        super().__init__(model, parts)
        config = self.network.config
        self._modern = config.model_type == "modernbert"
        first, last = HEADS.get(config.model_type, HEADS["roberta"])
        self._dense = head.linear(first, not self._modern or config.classifier_bias)
        self._labels = head.linear(last)
        self._norm = head.linear("head.norm", config.norm_bias) if self._modern else None
        name = config.pooler_hidden_act if config.model_type == DEBERTA else "gelu" if self._modern else "tanh"
        self._activation = ACTIVATIONS[name]
        self.num_labels = len(self._labels.bias)

    def logits(self, features: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return ``(pairs, labels)``."""
        states = self.network(**features).last_hidden_state
        mask = features["attention_mask"].unsqueeze(-1)
        pooled = states[:, 0] if states.shape[1] == 1 else (states * mask).sum(dim=1) / mask.sum(dim=1)
        active = self._activation(linear(pooled, *self._dense))
        if self._norm:
            active = normal(active, self._norm, self.network.config.norm_eps)
        return linear(active, *self._labels)


class PaddedCrossEncoder(PlainModel):
    """A classifier of pairs by transformers' own class."""

    def __init__(self, model: Model, parts: Parts) -> None:
        """Take the number of labels that the network has."""
        super().__init__(model, parts)
        self.num_labels: int = self.network.config.num_labels

    def logits(self, features: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return ``(pairs, labels)``."""
        logits: torch.Tensor = self.network(**taken(self.network, features)).logits
        return logits


def plain_encoder(model: Model, device: str, base: Model | None = None) -> PlainEncoder | None:
    """Return the bi-encoder of ``model``, where its files are plain; else None.

    ``base`` is the model that ``model`` adapts; raises :class:`ModelError` for an adapter of another.
    """
    files = plain_files(base or model, device, "SentenceTransformer")
    pooling = (model.pooling or pooling_of(files)) if files else None
    if files is None or pooling is None or pooling not in POOLING.values() or not is_known(files, classifier=False):
        return None
    # an entry with pooling or a template says what the model reads, so that a chat template has no part in it
    tokenizer = _tokenizer(files, model.pooling is not None or model.query is not None)
    if tokenizer is None:
        return None
    network: Any = None
    # padding at the left moves the places of networks of BERT's form, so that a vector depends on the batch
    if base is None and (files.config["model_type"] in FORMS or (pooling != "lasttoken" and model.padding != "left")):
        network = _unpadded(model, files, pooling == "cls" and _pools_prompt(model, files))
    if network is None and model.dtype != INT8:
        network = padded_network(base or model, files, classifier=False)
    if network is None:
        return None
    if base:
        network = merged(model, lambda: network).eval()
    return PlainEncoder(model, Parts(files, network, tokenizer), pooling)


def plain_cross_encoder(model: Model, device: str) -> PlainCrossEncoder | PaddedCrossEncoder | None:
    """Return the cross-encoder of ``model``, where its files are plain; else None."""
    files = plain_files(model, device, "CrossEncoder")
    if files is None or not is_known(files, classifier=True):
        return None
    if files.settings.get("prompts") or set(files.modules or {}) - {"Transformer"}:
        return None
    architectures = files.config.get("architectures") or [""]
    tokenizer = _tokenizer(files, False) if architectures[0].endswith("ForSequenceClassification") else None
    if tokenizer is None or tokenizer.pad_token is None:
        return None
    network, modern = None, files.config["model_type"] == "modernbert"
    if files.config["model_type"] in KINDS or (modern and files.config.get("classifier_activation", "gelu") == "gelu"):
        network = _unpadded(model, files, not modern or files.config.get("classifier_pooling", "cls") == "cls")
    if network:
        with suppress(KeyError):  # a head of another form
            return PlainCrossEncoder(model, Parts(files, network, tokenizer), Weights(Tensors(files.folder)))
    padded = None if model.dtype == INT8 else padded_network(model, files, classifier=True)
    return PaddedCrossEncoder(model, Parts(files, padded, tokenizer)) if padded else None


def _tokenizer(files: PlainFiles, chats: bool) -> Any:
    """Return the tokenizer; None for a slow one, and for one with a chat template unless ``chats``."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(files.folder, trust_remote_code=False)
    return tokenizer if tokenizer.is_fast and (chats or tokenizer.chat_template is None) else None


def _unpadded(model: Model, files: PlainFiles, first: bool) -> Unpadded | None:
    """Return the network without padding; None where it is of another form, or something is missing."""
    from transformers import AutoConfig

    kind = files.config["model_type"]
    if kind not in (*KINDS, *FORMS):
        return None
    config = AutoConfig.from_pretrained(files.folder, trust_remote_code=False)
    if model.bidirectional:
        config.is_causal = False
    tensors, rounded = Tensors(files.folder), model.dtype == INT8
    try:
        if can_read(config) and (kind != DEBERTA or deberta.is_known(config)):
            network = deberta.UnpaddedDeberta if kind == DEBERTA else UnpaddedBert
            return network(config, inner_weights(kind, tensors), first, Int8Product if rounded else Product)
        shape = None if rounded else shape_of(config)
        return UnpaddedPreNorm(config, shape, tensors, first) if shape else None
    except KeyError:  # names of another time
        return None
