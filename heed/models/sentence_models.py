"""Models of sentence-transformers: loaded, set up as their entries say, and their texts as tokens."""

import json
from collections.abc import Sequence
from typing import Any

from heed.errors import ModelError
from heed.models.language_models import INT8, cannot_round, precision
from heed.models.model_files import local_copy, read_object, runs_remote_code
from heed.models.registry import Model
from heed.models.runtime import on_device

# what an entry can say only of a model that begins with a transformer
OF_TRANSFORMERS = ("query_length", "document_length", "padding", "append_eos", "bidirectional")


def load(model: Model, device: str) -> Any:
    """Return the ``SentenceTransformer`` of ``model``: its own modules, or those that the entry's pooling makes."""
    from sentence_transformers import SentenceTransformer

    folder, target = local_copy(model), None if device == "auto" else device
    if read_object(folder / "config.json").get("model_type") == "nvembed":
        from heed.models import nv_embed

        nv_embed.prepare(folder)
    if model.pooling is not None:
        return SentenceTransformer(modules=modules(model, str(folder), device), device=target)
    code = runs_remote_code(model)
    return SentenceTransformer(str(folder), device=target, trust_remote_code=code, **options(model, device))


def modules(model: Model, folder: str, device: str = "cpu") -> list[Any]:
    """Return transformer, pooling and layer norm as the entry says, whatever the model's files say."""
    from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling, Transformer

    transformer = Transformer(folder, **options(model, device))
    width = transformer.get_embedding_dimension()
    pooling = Pooling(width, pooling_mode=model.pooling or "mean")
    return [transformer, pooling, *([LayerNorm(width)] if model.layer_norm else [])]


def options(model: Model, device: str) -> dict[str, Any]:
    """Return the arguments with which the network, its tokenizer and its configuration are loaded."""
    code = {"trust_remote_code": runs_remote_code(model)}
    weights = {"use_safetensors": True, "dtype": precision(model, device)}
    return {"model_kwargs": {**code, **weights}, "processor_kwargs": dict(code), "config_kwargs": dict(code)}


def compares_by_cosine(model: Model) -> bool:
    """Whether vectors are normalised to length 1: as the entry says, else as sentence-transformers' own file does."""
    if model.similarity is not None or model.normalize is not None:
        return model.similarity == "cos" or bool(model.normalize)
    path = local_copy(model) / "config_sentence_transformers.json"
    if model.pooling is not None or not path.is_file():
        return False
    return bool(json.loads(path.read_text(encoding="utf-8")).get("similarity_fn_name") == "cosine")


def set_up(model: Model, encoder: Any) -> None:
    """Set the entry's lengths, sides and tokens of a loaded ``encoder``; :class:`ModelError` where it has none."""
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    if model.max_length is not None:
        encoder.max_seq_length = model.max_length
    for index in reversed([index for index, module in enumerate(encoder) if isinstance(module, Normalize)]):
        if model.normalize is False:
            encoder.pop(index)
    pools = [module for module in encoder if isinstance(module, Pooling)]
    if not model.pool_prefix:
        if not pools:
            raise ModelError(f"{model.source}: has no pooling of tokens, so pool_prefix cannot be false")
        encoder.set_pooling_include_prompt(False)
    if isinstance(encoder[0], Transformer):
        _set_up_transformer(model, encoder[0])
        return
    unusable = [field for field in OF_TRANSFORMERS if getattr(model, field)]
    if unusable:
        raise ModelError(f"{model.source}: begins with a {type(encoder[0]).__name__}, so it can have no {unusable[0]}")


def _set_up_transformer(model: Model, transformer: Any) -> None:
    transformer.query_length = model.query_length or model.max_length or transformer.query_length
    transformer.document_length = model.document_length or model.max_length or transformer.document_length
    # with templates a text is the whole prompt, so the tokenizer's chat template is not applied to it
    if model.pooling is not None or model.query is not None:
        transformer.modality_config.pop("message", None)
    if model.bidirectional:
        transformer.model.config.is_causal = False  # transformers' attention masks of decoders follow it
    set_up_tokenizer(model, transformer.tokenizer)


def set_up_tokenizer(model: Model, tokenizer: Any) -> None:
    """Set the sides and tokens of a bi-encoder's ``tokenizer`` as the entry says; raises as :func:`append_eos` does."""
    tokenizer.truncation_side = "right"
    if model.padding:
        tokenizer.padding_side = model.padding
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token  # never seen: it is masked
    if model.append_eos:
        append_eos(model.source, tokenizer)


def append_eos(source: str, tokenizer: Any) -> None:
    """Make ``tokenizer`` end every text with its end-of-text token, even one that it cuts.

    Raises :class:`ModelError` for a tokenizer without such a token, or that is not a fast one.
    """
    from tokenizers import processors

    if tokenizer.eos_token is None or not tokenizer.is_fast:
        lacks = "is not a fast one" if tokenizer.eos_token else "has no end-of-text token"
        raise ModelError(f"{source}: append_eos is set, but its tokenizer {lacks}")
    if tokenizer("a")["input_ids"][-1] == tokenizer.eos_token_id:
        return
    end = tokenizer.eos_token
    template = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A $B {end}", special_tokens=[(end, tokenizer.eos_token_id)]
    )
    backend = tokenizer.backend_tokenizer
    before = [backend.post_processor] if backend.post_processor else []
    backend.post_processor = processors.Sequence([*before, template])


IDS = ("input_ids", "token_type_ids", "attention_mask")
AS_LISTS = {"text": {"padding": False}, "common": {"return_tensors": None}}


class SentenceModel:
    """A ``SentenceTransformer`` set up as its entry says, with the methods of a ``PlainEncoder``."""

    def __init__(self, model: Model, encoder: Any) -> None:
        """Set ``encoder`` up; raises as :func:`set_up` does, and :class:`ModelError` for one to be rounded."""
        if model.dtype == INT8:
            raise cannot_round(model)
        set_up(model, encoder)
        self.whole = encoder.eval()
        self.prompts, self.tokenizer, self.device = encoder.prompts, encoder.tokenizer, encoder.device
        self.network = getattr(encoder[0], "model", None)

    def limit(self, task: str) -> int | None:
        """Return how many tokens a ``query`` or ``document`` may have; None without a limit."""
        limit: float | None = getattr(self.whole[0], f"{task}_length", None) or self.whole.max_seq_length
        return int(limit) if limit and limit < 1e9 else None  # transformers writes 1e30 for no limit

    def tokens(self, texts: list[str], prompt: str, task: str) -> dict[str, Any] | None:
        """Return what the model reads of each text after ``prompt``, not padded; None where a batch decides it."""
        if not _tokenises_each_alone(self.whole):
            return None
        return dict(self.whole.preprocess(texts, prompt=prompt, task=task, processing_kwargs=AS_LISTS))

    def batch(self, texts: list[str], prompt: str, task: str) -> Any:
        """Return what the model reads of a batch whose tokens depend on each other."""
        return self.whole.preprocess(texts, prompt=prompt, task=task)

    def vectors(self, features: Any, task: str) -> Any:
        """Return one vector a text."""
        output = self.whole(on_device(features, self.device), task=task)["sentence_embedding"]
        return output[:, : self.whole.truncate_dim]


class Texts:
    """Texts with one prompt before them, tokenised for any batches."""

    def __init__(self, encoder: Any, texts: list[str], prompt: str, task: str) -> None:
        """Tokenise ``texts`` once for a plain or other ``encoder``, where its batches get the same tokens."""
        self._encoder, self._texts, self._prompt, self._task = encoder, texts, prompt, task
        self._features = encoder.tokens(texts, prompt, task) or {}

    def lengths(self, limit: int | None) -> list[int]:
        """Return how many tokens each text has, at most ``limit``."""
        if self._features:
            return list(map(len, self._features["input_ids"]))
        counts = lengths(self._encoder, [self._prompt + text for text in self._texts])
        return [min(count, limit or count) for count in counts]

    def batch(self, indices: Sequence[int]) -> Any:
        """Return the model's input for the texts at ``indices``."""
        if not self._features:
            return self._encoder.batch([self._texts[index] for index in indices], self._prompt, self._task)
        ids = {name: [self._features[name][index] for index in indices] for name in IDS if name in self._features}
        rest = {name: value for name, value in self._features.items() if name not in IDS}
        return {**self._encoder.tokenizer.pad(ids, return_tensors="pt"), **rest}


def lengths(encoder: Any, texts: list[str]) -> list[int]:
    """Return how many tokens the texts have, special tokens included."""
    tokenizer = encoder.tokenizer
    if not texts or not callable(tokenizer):  # static embeddings' tokenizer is not; they have no limit
        return list(map(len, texts))
    return list(map(len, tokenizer(texts, verbose=False)["input_ids"]))


def _tokenises_each_alone(encoder: Any) -> bool:
    """Whether a text's tokens are the same in every batch: without chat template and mask tokens."""
    from sentence_transformers.sentence_transformer.modules import Transformer

    first = encoder[0]
    return isinstance(first, Transformer) and set(first.modality_config) == {"text"} and not first.query_expansion
