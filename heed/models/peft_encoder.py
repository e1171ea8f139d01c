"""Bi-encoders that are LoRA adapters of a causal model: RepLLaMA, Promptriever."""

import warnings
from typing import Any

from heed.errors import HeedError
from heed.models.encoders import SentenceEncoder
from heed.models.language_models import ADAPTER, base_of
from heed.models.model_files import fingerprint, local_copy
from heed.models.registry import Model
from heed.models.sentence_models import modules

WEIGHTS = "adapter_model.safetensors"


class PeftEncoder(SentenceEncoder):
    """An adapter merged into its base as an :class:`heed.retrieval.vectors.Encoder`.

    Where the entry does not say otherwise: the hidden state of the end-of-text token, which is
    appended to every text, at length 1, with padding on the right, as MTEB's loader of RepLLaMA and
    Promptriever's own scripts have it.
    """

    def __init__(self, model: Model, device: str) -> None:
        """Make sure that adapter and base are here; they are loaded on ``device`` when first used.

        Raises :class:`HeedError` for what is no adapter, one without safetensors weights, and a base
        that cannot be had; for a gated one it says how access is granted.
        """
        model = _as_trained(model)
        folder, base = local_copy(model), base_of(model)
        if base is None:
            raise HeedError(f"{model.source}: no {ADAPTER}, so it is no adapter; leave the family out")
        if not (folder / WEIGHTS).is_file():
            raise HeedError(f"{folder}: no {WEIGHTS}; save the adapter with safe_serialization")
        super().__init__(model, device)
        self.recipe["base"] = fingerprint(base)
        self._base = base

    def _loaded(self) -> Any:
        from sentence_transformers import SentenceTransformer

        model, where = self._model, None if self._device == "auto" else self._device
        parts = modules(self._base, str(local_copy(self._base)), self._device)
        parts[0].model = merged(model, parts[0].model)
        return SentenceTransformer(modules=parts, device=where)


def _as_trained(model: Model) -> Model:
    pooling = model.pooling or "lasttoken"
    return model._replace(
        pooling=pooling,
        append_eos=model.append_eos or pooling == "lasttoken",
        normalize=model.similarity != "dot" if model.normalize is None else model.normalize,
        padding=model.padding or "right",
    )


def merged(model: Model, network: Any) -> Any:
    """``network`` with the adapter of ``model`` added to its weights.

    Raises :class:`HeedError` where the adapter was made for another class of network, whose names peft would pass over.
    """
    try:
        from peft import PeftModel
    except ImportError as error:
        raise HeedError(f"{model.source}: is an adapter, which needs peft; install it with pip install peft") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft's own use of names that transformers gives up
        warnings.filterwarnings("error", message=".*missing adapter keys")
        try:
            adapted = PeftModel.from_pretrained(network, str(local_copy(model)), torch_device="cpu")
        except (UserWarning, AttributeError) as error:  # the latter for adapters of models with a head
            kind = type(network).__name__
            raise HeedError(f"{model.source}: its weights do not fit {kind}, so it adapts another model") from error
    return adapted.merge_and_unload()
