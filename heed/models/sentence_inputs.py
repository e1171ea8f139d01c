"""Texts as a model of sentence-transformers reads them: tokenised once, and without padding where that is sooner."""

from collections.abc import Sequence
from typing import Any

IDS = ("input_ids", "token_type_ids", "attention_mask")
AS_LISTS = {"text": {"padding": False}, "common": {"return_tensors": None}}


class Texts:
    """Some texts behind one prompt, ready to be read in any batches."""

    def __init__(self, encoder: Any, texts: list[str], prompt: str, task: str) -> None:
        """Tokenise ``texts``, once where the model's own batches would get the same tokens."""
        self._encoder, self._texts, self._prompt, self._task = encoder, texts, prompt, task
        self._made: dict[str, Any] = {}
        if _tokenises_each_alone(encoder):
            self._made = dict(encoder.preprocess(texts, prompt=prompt, task=task, processing_kwargs=AS_LISTS))

    def lengths(self, limit: int | None) -> list[int]:
        """How many tokens each text has, at most ``limit``."""
        if self._made:
            return list(map(len, self._made["input_ids"]))
        found = lengths(self._encoder, [self._prompt + text for text in self._texts])
        return [min(length, limit or length) for length in found]

    def batch(self, places: Sequence[int]) -> Any:
        """What the model reads for the texts at ``places``."""
        if not self._made:
            texts = [self._texts[at] for at in places]
            return self._encoder.preprocess(texts, prompt=self._prompt, task=self._task)
        ids = {name: [self._made[name][at] for at in places] for name in IDS if name in self._made}
        rest = {name: value for name, value in self._made.items() if name not in IDS}
        return {**self._encoder.tokenizer.pad(ids, return_tensors="pt"), **rest}


def lengths(encoder: Any, texts: list[str]) -> list[int]:
    """How many tokens the texts have, those that are always there included."""
    tokenizer = encoder.tokenizer
    if not texts or not callable(tokenizer):  # static embeddings' tokenizer is not; they have no limit
        return list(map(len, texts))
    return list(map(len, tokenizer(texts, verbose=False)["input_ids"]))


def _tokenises_each_alone(encoder: Any) -> bool:
    """Whether a text's tokens are the same in every batch: no chat template around it, no mask tokens behind it."""
    from sentence_transformers.sentence_transformer.modules import Transformer

    first = encoder[0]
    return isinstance(first, Transformer) and set(first.modality_config) == {"text"} and not first.query_expansion


def unpad(encoder: Any, int8: bool) -> bool:
    """Let ``encoder`` read without padding, where it begins with a network that can and then pools; tells whether."""
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    from heed.models.unpadded import unpadded

    parts = list(encoder)
    if len(parts) < 2 or not isinstance(parts[0], Transformer) or not isinstance(parts[1], Pooling):
        return False
    first = parts[1].pooling_mode in ("cls", ("cls",)) and parts[1].include_prompt
    found = unpadded(parts[0].model, first, int8)
    if found:
        parts[0].model = found
    return found is not None
