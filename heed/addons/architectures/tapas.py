"""Dense table retrieval by TAPAS (DTR): the weights of its two networks under the names that Google's files give them.

Herzig et al., Open Domain Question Answering over Tables via Dense Retrieval, 2021, https://arxiv.org/abs/2103.12011.
A folder is one of Google's archives, its TensorFlow checkpoint copied tensor by tensor into ``model.safetensors``.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import TapasConfig, TapasModel, TapasTokenizer

from heed.errors import ModelError
from heed.models.weights import check_names, tensors_in

CONFIG, VOCABULARY = "bert_config.json", "vocab.txt"
TABLES, QUERIES = "bert", "bert_1"  # in this order Google's program makes its networks
PROJECTIONS = {TABLES: "table_projection", QUERIES: "text_projection"}
COLUMNS, ROWS = 1, 2  # of the seven types of a token
RENAMED = {"LayerNorm/weight": "LayerNorm/gamma", "LayerNorm/bias": "LayerNorm/beta", "/weight": "/kernel"}
FIELDS = (  # those that Google's configuration shares with transformers'
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    "max_position_embeddings",
)


class Tower(NamedTuple):
    """One network and its projection; a vector is the projected output of the pooler, TAPAS's state of ``[CLS]``."""

    network: Any
    projection: Any

    def vectors(self, ids: Any, types: Any, mask: Any) -> Any:
        """Return ``(texts, dimensions)``; ``types`` is ``(texts, tokens, 7)``."""
        pooled = self.network(input_ids=ids, token_type_ids=types, attention_mask=mask).pooler_output
        return pooled @ self.projection.T


class TableModel(NamedTuple):
    """The two networks and their tokenizer; ``sizes`` are how many columns and rows a table may have."""

    tables: Tower
    queries: Tower
    tokenizer: Any
    positions: int
    sizes: tuple[int, int]


def load_tapas(folder: Path, device: str, dtype: Any) -> TableModel:
    """Return the model in ``folder``; :class:`ModelError` for weights that are not exactly a dual encoder's."""
    config = _config(folder)
    with torch.device("meta"):
        names = list(TapasModel(config).state_dict())
    expected = [*(tf_name(scope, name) for scope in PROJECTIONS for name in names), *PROJECTIONS.values()]
    check_names(folder, "a table retriever with projections", expected)
    tensors = tensors_in(folder, "")
    towers = {}
    for scope in (TABLES, QUERIES):
        network: Any = TapasModel(config)
        weights = {name: _as_torch(tensors[tf_name(scope, name)], name) for name in names}
        network.load_state_dict(weights)
        projection = tensors[PROJECTIONS[scope]].to(device, dtype)
        towers[scope] = Tower(network.to(device, dtype).eval(), projection)
    tokenizer = TapasTokenizer(str(folder / VOCABULARY), model_max_length=config.max_position_embeddings)
    sizes = (config.type_vocab_sizes[COLUMNS] - 1, config.type_vocab_sizes[ROWS] - 1)  # 0 is for no cell
    return TableModel(towers[TABLES], towers[QUERIES], tokenizer, config.max_position_embeddings, sizes)


def _config(folder: Path) -> TapasConfig:
    path = folder / CONFIG
    content = json.loads(path.read_text(encoding="utf-8"))
    lacking = [field for field in (*FIELDS, "type_vocab_size") if field not in content]
    if lacking or content.get("softmax_temperature", 1.0) != 1.0 or content.get("hidden_act", "gelu") != "gelu":
        difference = f"without {', '.join(lacking)}" if lacking else "with another softmax_temperature or hidden_act"
        raise ModelError(f"{path}: a configuration {difference}, expected that of one of Google's table retrievers")
    fields = {field: content[field] for field in FIELDS}
    return TapasConfig(
        **fields,
        type_vocab_sizes=content["type_vocab_size"],
        hidden_act="gelu_new",  # Google's GELU is the one by tanh
        reset_position_index_per_cell=False,  # as Google's table_retriever_model.py leaves it
    )


def tf_name(scope: str, name: str) -> str:
    """Return TensorFlow's name, below ``scope``, of the weights that transformers' TapasModel calls ``name``."""
    path = re.sub(r"^encoder/layer/(\d+)", r"encoder/layer_\1", name.replace(".", "/"))
    if path.startswith("embeddings/") and "LayerNorm" not in path:
        return f"{scope}/{path.removesuffix('/weight')}"
    ending = next((ending for ending in RENAMED if path.endswith(ending)), None)
    return f"{scope}/{path.removesuffix(ending) + RENAMED[ending] if ending else path}"


def _as_torch(tensor: Any, name: str) -> Any:
    """Return a tensor as torch has it; TensorFlow has layers as inputs by outputs, torch as outputs by inputs."""
    return tensor.T.contiguous() if tf_name("", name).endswith("/kernel") else tensor
