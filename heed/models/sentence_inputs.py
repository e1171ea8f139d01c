"""Texts as a model of sentence-transformers reads them: tokenised once, and without padding where that is faster."""

from collections.abc import Sequence
from typing import Any

IDS = ("input_ids", "token_type_ids", "attention_mask")
AS_LISTS = {"text": {"padding": False}, "common": {"return_tensors": None}}


class Texts:
    """Texts with one prompt before them, tokenised for any batches."""

    def __init__(self, encoder: Any, texts: list[str], prompt: str, task: str) -> None:
        """Tokenise ``texts`` once, where the model's own batches would get the same tokens."""
        self._encoder, self._texts, self._prompt, self._task = encoder, texts, prompt, task
        self._features: dict[str, Any] = {}
        if _tokenises_each_alone(encoder):
            self._features = dict(encoder.preprocess(texts, prompt=prompt, task=task, processing_kwargs=AS_LISTS))

    def lengths(self, limit: int | None) -> list[int]:
        """Return how many tokens each text has, at most ``limit``."""
        if self._features:
            return list(map(len, self._features["input_ids"]))
        counts = lengths(self._encoder, [self._prompt + text for text in self._texts])
        return [min(count, limit or count) for count in counts]

    def batch(self, indices: Sequence[int]) -> Any:
        """Return the model's input for the texts at ``indices``."""
        if not self._features:
            texts = [self._texts[index] for index in indices]
            return self._encoder.preprocess(texts, prompt=self._prompt, task=self._task)
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


def unpad(encoder: Any, int8: bool) -> bool:
    """Replace the network of ``encoder`` by one without padding, if pooling follows it; return whether it was."""
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    from heed.models.unpadded import unpadded

    parts = list(encoder)
    if len(parts) < 2 or not isinstance(parts[0], Transformer) or not isinstance(parts[1], Pooling):
        return False
    first = parts[1].pooling_mode in ("cls", ("cls",)) and parts[1].include_prompt
    replacement = unpadded(parts[0].model, first, int8)
    if replacement:
        parts[0].model = replacement
    return replacement is not None
