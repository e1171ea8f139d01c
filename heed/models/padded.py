"""Networks of transformers' own classes, loaded without sentence-transformers, whose import takes seconds."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from heed.models.language_models import precision
from heed.models.plain_files import PlainFiles
from heed.models.registry import Model
from heed.models.unpadded import KINDS

ENCODERS = {"t5": "T5EncoderModel", "mt5": "MT5EncoderModel", "umt5": "UMT5EncoderModel"}  # the half that reads
# model_type of further networks that read text alone
FURTHER = ("albert", "electra", "gte", "modernbert", "nomic_bert")
DECODERS = ("gemma", "llama", "mistral", "phi3", "qwen2", "qwen3")


def is_known(files: PlainFiles, classifier: bool) -> bool:
    """Whether networks of this architecture are read here: without head, or as a ``classifier``."""
    kind = files.config.get("model_type")
    return kind in (*KINDS, *FURTHER, *DECODERS) or (not classifier and kind in ENCODERS)


def padded_network(model: Model, files: PlainFiles, classifier: bool) -> torch.nn.Module | None:
    """Return the network of ``files`` on the CPU, for inference: without head, or as a ``classifier``.

    None where weights other than a pooler's are missing: transformers would use random numbers.
    """
    import transformers

    config = transformers.AutoConfig.from_pretrained(files.folder, trust_remote_code=False)
    config.use_cache = False
    name = "AutoModelForSequenceClassification" if classifier else ENCODERS.get(config.model_type, "AutoModel")
    network, report = getattr(transformers, name).from_pretrained(
        files.folder,
        config=config,
        dtype=precision(model, "cpu"),
        use_safetensors=True,
        trust_remote_code=False,
        output_loading_info=True,
    )
    if any("pooler" not in key or classifier for key in report["missing_keys"]):
        return None
    if model.bidirectional:
        network.config.is_causal = False  # transformers' attention masks of decoders follow it
    loaded: torch.nn.Module = network.eval()
    return loaded


def taken(network: torch.nn.Module, features: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of ``features`` that ``network`` reads."""
    names = inspect.signature(network.forward).parameters
    return {name: value for name, value in features.items() if name in names}
