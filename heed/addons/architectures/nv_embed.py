"""NV-Embed's network, of its own repository's layout: Mistral whose tokens see each other, then latent attention.

Each token's state asks a fixed set of learned vectors, the latents, and the answers are added to it; what follows is
a mean over tokens (Lee et al., NV-Embed, 2025, https://arxiv.org/abs/2405.17428, section 3.2). Computed in
transformers' own classes instead of the code that comes with the weights, which needs transformers 4.42.
"""

from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention
from transformers import AutoConfig, AutoModel, MistralConfig, MistralModel, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from heed.compute import Compute
from heed.models.registry.entries import Model
from heed.models.sentence_models import load_sentence_files

TYPE = "nvembed"  # model_type in config.json
LATENT = {"num_latents_value": 512, "latent_dim": 4096, "num_cross_heads": 8, "cross_dim_head": 4096}  # by default
WIDER = 4  # the feed-forward layer's inner width, times that of a state


class NvEmbedConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """``config.json`` of NV-Embed: Mistral's own configuration, and the sizes of the latent attention."""

    model_type = TYPE

    def __init__(
        self,
        text_config: dict[str, Any] | None = None,
        latent_attention_config: dict[str, Any] | None = None,
        hidden_size: int = 4096,
        **others: Any,
    ) -> None:
        """Read Mistral's configuration as one whose tokens attend to all others."""
        super().__init__(**others)
        # their model_type is a name of their own
        settings = {key: value for key, value in (text_config or {}).items() if key != "model_type"}
        # transformers' masks follow is_causal; the authors' mask has no sliding window
        self.text_config = MistralConfig(**settings | {"is_causal": False, "sliding_window": None})
        self.latent_attention_config = LATENT | (latent_attention_config or {})
        self.hidden_size = hidden_size


class LatentAttention(nn.Module):
    """The states of tokens after attention to the latents; its parts have the names of the weights in the file."""

    def __init__(self, width: int, sizes: dict[str, Any]) -> None:
        """``width`` is that of a state; ``sizes`` are ``latent_attention_config``."""
        super().__init__()
        self._heads = int(sizes["num_cross_heads"])
        inner = self._heads * int(sizes["cross_dim_head"])
        self.latents = nn.Parameter(torch.empty(int(sizes["num_latents_value"]), int(sizes["latent_dim"])))
        attention = nn.ModuleDict(
            {
                "to_q": nn.Linear(width, inner, bias=False),
                "to_kv": nn.Linear(width, 2 * inner, bias=False),
                "to_out": nn.Linear(inner, width, bias=False),
            }
        )
        forward = nn.ModuleDict({"0": nn.Linear(width, 2 * WIDER * width), "2": nn.Linear(WIDER * width, width)})
        norms = {"norm": nn.LayerNorm(width), "norm_context": nn.LayerNorm(width)}
        second = {"norm": nn.LayerNorm(width), "fn": nn.ModuleDict({"net": forward})}
        self.cross_attend_blocks = nn.ModuleList([nn.ModuleDict({**norms, "fn": attention}), nn.ModuleDict(second)])

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return ``(texts, tokens, width)`` of the same shape; a token sees latents only, so padding changes none."""
        first, second = cast(list[dict[str, Any]], list(self.cross_attend_blocks))
        states = self._attended(first, states) + states
        up, down = second["fn"]["net"].values()
        values, gates = up(second["norm"](states)).chunk(2, dim=-1)
        return cast(torch.Tensor, down(values * gelu(gates)) + states)

    def _attended(self, block: dict[str, Any], states: torch.Tensor) -> torch.Tensor:
        parts, texts = block["fn"], len(states)
        queries = self._split(parts["to_q"](block["norm"](states)))
        both = parts["to_kv"](block["norm_context"](self.latents[None])).chunk(2, dim=-1)
        keys, values = (self._split(rows).expand(texts, -1, -1, -1) for rows in both)
        heads = scaled_dot_product_attention(queries, keys, values)
        return cast(torch.Tensor, parts["to_out"](heads.transpose(1, 2).flatten(2)))

    def _split(self, rows: torch.Tensor) -> torch.Tensor:
        """Return ``(texts, heads, tokens, width of a head)`` of ``(texts, tokens, heads * width of a head)``."""
        return rows.view(*rows.shape[:2], self._heads, -1).transpose(1, 2)


class NvEmbedModel(PreTrainedModel):  # type: ignore[no-untyped-call]
    """NV-Embed up to the mean over tokens, which is left to who pools."""

    config_class = NvEmbedConfig
    _supports_sdpa = True

    def __init__(self, config: NvEmbedConfig) -> None:
        super().__init__(config)
        self.embedding_model = MistralModel(config.text_config)
        self.latent_attention_model = LatentAttention(config.hidden_size, config.latent_attention_config)
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, return_dict: bool = True
    ) -> BaseModelOutput:
        """Return the states of tokens, ``(texts, tokens, width)``, as an object whatever ``return_dict`` says."""
        states = self.embedding_model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return BaseModelOutput(last_hidden_state=self.latent_attention_model(states))


def load_nv_embed(model: Model, folder: Path, compute: Compute) -> Any:
    """Return the ``SentenceTransformer`` in ``folder``, whose layout transformers' ``Auto`` classes then know."""
    AutoConfig.register(TYPE, NvEmbedConfig, exist_ok=True)
    AutoModel.register(NvEmbedConfig, NvEmbedModel, exist_ok=True)
    return load_sentence_files(model, folder, compute)
