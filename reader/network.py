"""The network that is trained: an encoder like BERT with a score for each kind at each token."""

import torch
from torch import Tensor, nn

HIDDEN, HEADS, INNER, EPSILON, LONGEST = 384, 12, 1536, 1e-12, 512
WEIGHT_LEVELS = 63  # of 7 bits: products of 8 and 7 bits never overflow 16, so that all processors add the same numbers


class Dense(nn.Linear):
    """A linear layer that computes as the exported one does where ``quantised``: weights by column, inputs by text."""

    quantised = False

    def forward(self, values: Tensor) -> Tensor:
        """Return ``values · weightᵀ + bias``."""
        if not self.quantised:
            return super().forward(values)
        return nn.functional.linear(rounded_inputs(values), rounded_weights(self.weight), self.bias)


def rounded_weights(weight: Tensor) -> Tensor:
    """Return the weights as they are after rounding to 127 levels a row; gradients pass unchanged."""
    scale = weight.detach().abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / WEIGHT_LEVELS
    return weight + ((weight / scale).round() * scale - weight).detach()


def rounded_inputs(values: Tensor) -> Tensor:
    """Return the inputs as they are after rounding to 256 levels of each text's range; gradients pass unchanged."""
    low = values.detach().amin(dim=(1, 2), keepdim=True).clamp(max=0)
    high = values.detach().amax(dim=(1, 2), keepdim=True).clamp(min=0)
    scale = ((high - low) / 255).clamp(min=1e-8)
    zero = (-low / scale).round()
    levels = ((values / scale).round() + zero).clamp(0, 255)
    return values + ((levels - zero) * scale - values).detach()


class Layer(nn.Module):
    """One layer of BERT."""

    def __init__(self) -> None:
        """Make the four matrices."""
        super().__init__()
        self.qkv, self.out = Dense(HIDDEN, 3 * HIDDEN), Dense(HIDDEN, HIDDEN)
        self.inner, self.outer = Dense(HIDDEN, INNER), Dense(INNER, HIDDEN)
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN, EPSILON), nn.LayerNorm(HIDDEN, EPSILON)
        self.drop = nn.Dropout(0.1)

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        """Return the next layer's input, shape ``(texts, tokens, hidden)``."""
        texts, tokens, _ = values.shape
        query, key, value = self.qkv(values).view(texts, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        read = nn.functional.scaled_dot_product_attention(query, key, value, mask[:, None, None, :])
        read = read.transpose(1, 2).reshape(texts, tokens, HIDDEN)
        values = self.norm1(values + self.drop(self.out(read)))
        return self.norm2(values + self.drop(self.outer(nn.functional.gelu(self.inner(values)))))


class Tagger(nn.Module):
    """Embeddings, layers and the scores of the kinds."""

    def __init__(self, words: int, layers: int, kinds: int = 3) -> None:
        """Make a network with weights at random."""
        super().__init__()
        self.words, self.places = nn.Embedding(words, HIDDEN), nn.Embedding(LONGEST, HIDDEN)
        self.norm, self.drop = nn.LayerNorm(HIDDEN, EPSILON), nn.Dropout(0.1)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.kinds = nn.Linear(HIDDEN, kinds)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return a score for each kind at each token, shape ``(texts, tokens, kinds)``."""
        values = self.drop(self.norm(self.words(ids) + self.places.weight[: ids.shape[1]]))
        for layer in self.layers:
            values = layer(values, mask)
            values = values * mask[..., None]  # what is beyond the end must not widen a text's range
        scores: Tensor = self.kinds(values)
        return scores

    def quantise(self, quantised: bool) -> None:
        """Compute as the exported network does from now on, or exactly."""
        for module in self.modules():
            if isinstance(module, Dense):
                module.quantised = quantised


def from_bert(weights: dict[str, Tensor], kept: list[int], layers: list[int]) -> Tagger:
    """Return a tagger with some words and layers of an encoder by BERT's names; the scores of kinds are at random."""
    tagger = Tagger(len(kept), len(layers))
    state = {
        "words.weight": weights["embeddings.word_embeddings.weight"][kept],
        "places.weight": weights["embeddings.position_embeddings.weight"]
        + weights["embeddings.token_type_embeddings.weight"][0],
    }
    for end in ("weight", "bias"):
        state[f"norm.{end}"] = weights[f"embeddings.LayerNorm.{end}"]
        for number, layer in enumerate(layers):
            old, new = f"encoder.layer.{layer}", f"layers.{number}"
            parts = [weights[f"{old}.attention.self.{part}.{end}"] for part in ("query", "key", "value")]
            state[f"{new}.qkv.{end}"] = torch.cat(parts)
            state[f"{new}.out.{end}"] = weights[f"{old}.attention.output.dense.{end}"]
            state[f"{new}.inner.{end}"] = weights[f"{old}.intermediate.dense.{end}"]
            state[f"{new}.outer.{end}"] = weights[f"{old}.output.dense.{end}"]
            state[f"{new}.norm1.{end}"] = weights[f"{old}.attention.output.LayerNorm.{end}"]
            state[f"{new}.norm2.{end}"] = weights[f"{old}.output.LayerNorm.{end}"]
    tagger.load_state_dict(state, strict=False)
    return tagger
