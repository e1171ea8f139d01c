"""Bi-encoders that are LoRA adapters of a causal model: RepLLaMA, Promptriever."""

import warnings
from typing import Any

from heed.errors import ModelError
from heed.models.encoders import SentenceEncoder
from heed.models.language_models import ADAPTER, base_of, no_peft
from heed.models.model_files import fingerprint, local_copy
from heed.models.registry import Model
from heed.models.runtime import DEFAULT, Runtime
from heed.models.sentence_models import modules

WEIGHTS = "adapter_model.safetensors"


class PeftEncoder(SentenceEncoder):
    """An adapter merged into its base as an :class:`heed.types.Encoder`.

    Where the entry does not say otherwise: the hidden state of the end-of-text token, which is
    appended to every text, at length 1, with padding on the right, as MTEB's loader of RepLLaMA and
    Promptriever's own scripts have it.
    """

    def __init__(self, model: Model, runtime: Runtime = DEFAULT) -> None:
        """Find the files of adapter and base, or fetch them; they are loaded when first used.

        Raises :class:`ModelError` for what is no adapter, one without safetensors weights, and a base
        that cannot be fetched; for a gated one it says how access is granted.
        """
        model = _as_trained(model)
        folder, base = local_copy(model), base_of(model)
        if base is None:
            raise ModelError(f"{model.source}: no {ADAPTER}, so it is no adapter; leave the family out")
        if not (folder / WEIGHTS).is_file():
            raise ModelError(f"{folder}: no {WEIGHTS}; save the adapter with safe_serialization")
        super().__init__(model, runtime)
        self.config["base"] = fingerprint(base)
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
    """Return ``network`` with the adapter of ``model`` added to its weights.

    Raises :class:`ModelError` where the adapter was made for another class of network, whose names peft would skip.
    """
    try:
        from peft import PeftModel
    except ImportError as error:
        raise no_peft(model) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft's own use of deprecated names of transformers
        warnings.filterwarnings("error", message=".*missing adapter keys")
        try:
            adapted = PeftModel.from_pretrained(network, str(local_copy(model)), torch_device="cpu")
        except (UserWarning, AttributeError) as error:  # the latter for adapters of models with a head
            kind = type(network).__name__
            raise ModelError(f"{model.source}: its weights do not fit {kind}, so it adapts another model") from error
    return adapted.merge_and_unload()
