"""Write a trained network as the files that Heed reads: weights in 8 bits, and a graph that points at them.

The graph (ONNX) holds no weights: each of its tensors is a part of the safetensors file, by its place there. Inputs
of a matrix are rounded to 8 bits by ONNX Runtime for each text, weights to 7 bits by column.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper
from safetensors.numpy import save_file

from reader.network import EPSILON, HEADS, WEIGHT_LEVELS, Tagger

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int8): TensorProto.INT8}
Arrays = dict[str, NDArray[np.generic]]


def arrays_of(tagger: Tagger) -> Arrays:
    """Return the weights as the graph reads them: matrices in 8 bits with their ``.scale``, the rest as they are."""
    arrays: Arrays = {}
    for name, value in tagger.state_dict().items():
        weight = value.detach().cpu().numpy().astype(np.float32)
        part = name.removesuffix(".weight")
        if part == "words":
            _add(arrays, part, weight, 127)
        elif weight.ndim == 2 and part.startswith("layers"):
            _add(arrays, part, weight, WEIGHT_LEVELS)
            arrays[part] = np.ascontiguousarray(arrays[part].T)
            arrays[f"{part}.zero"] = np.zeros(len(weight), np.int8)
        else:
            arrays[name] = np.ascontiguousarray(weight.T) if part == "kinds" else weight
    return arrays


def _add(arrays: Arrays, name: str, weight: NDArray[np.float32], levels: int) -> None:
    scale = np.maximum(np.abs(weight).max(axis=1), 1e-8) / levels
    arrays[name] = np.rint(weight / scale[:, None]).astype(np.int8)
    arrays[f"{name}.scale"] = scale.astype(np.float32)


def write(tagger: Tagger, folder: Path) -> str:
    """Write ``weights.safetensors`` and ``graph.onnx``; return the digest of the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays, path = arrays_of(tagger), folder / "weights.safetensors"
    save_file(arrays, path)
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    places = {name: entry["data_offsets"] for name, entry in json.loads(data[8 : 8 + size]).items()}
    tensors = [_tensor(name, array, path.name, 8 + size + places[name][0]) for name, array in arrays.items()]
    onnx.save(_model(len(tagger.layers), tensors), folder / "graph.onnx")
    return hashlib.sha256(data).hexdigest()


def _tensor(name: str, array: NDArray[np.generic], file: str, offset: int) -> TensorProto:
    tensor = TensorProto(name=name, data_type=TYPES[array.dtype], dims=array.shape, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": file, "offset": offset, "length": array.nbytes}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def _model(layers: int, tensors: list[TensorProto]) -> onnx.ModelProto:
    """Return the graph from ``ids``, shape ``(1, tokens)``, to ``scores``, shape ``(1, tokens, kinds)``."""
    nodes = [
        helper.make_node("Gather", ["words", "ids"], ["rows"]),
        helper.make_node("Gather", ["words.scale", "ids"], ["row_scales"]),
        helper.make_node("Cast", ["rows"], ["row_levels"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["row_scales", "last"], ["row_scale"]),
        helper.make_node("Mul", ["row_levels", "row_scale"], ["word_vectors"]),
        helper.make_node("Shape", ["ids"], ["length"], start=1, end=2),
        helper.make_node("Slice", ["places.weight", "zero", "length"], ["place_vectors"]),
        helper.make_node("Add", ["word_vectors", "place_vectors"], ["placed"]),
        helper.make_node("LayerNormalization", ["placed", "norm.weight", "norm.bias"], ["values.0"], epsilon=EPSILON),
    ]
    for number in range(layers):
        nodes += _layer(number)
    nodes += [
        helper.make_node("MatMul", [f"values.{layers}", "kinds.weight"], ["products"]),
        helper.make_node("Add", ["products", "kinds.bias"], ["scores"]),
    ]
    constants = [
        helper.make_tensor("zero", TensorProto.INT64, [1], [0]),
        helper.make_tensor("last", TensorProto.INT64, [1], [2]),
    ]
    graph = helper.make_graph(
        nodes,
        "reader",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "tokens"])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, "tokens", "kinds"])],
        [*constants, *tensors],
    )
    versions = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


def _layer(number: int) -> list[onnx.NodeProto]:
    name, values = f"layers.{number}", f"values.{number}"

    def dense(part: str, source: str, result: str) -> onnx.NodeProto:
        whole = f"{name}.{part}"
        weights = [whole, f"{whole}.scale", f"{whole}.zero", f"{whole}.bias"]
        return helper.make_node("DynamicQuantizeMatMul", [source, *weights], [result], domain="com.microsoft")

    def norm(part: str, sources: list[str], result: str) -> list[onnx.NodeProto]:
        weights = [f"{name}.{part}.weight", f"{name}.{part}.bias"]
        return [
            helper.make_node("Add", sources, [f"{result}.sum"]),
            helper.make_node("LayerNormalization", [f"{result}.sum", *weights], [result], epsilon=EPSILON),
        ]

    parts = [f"{values}.query", f"{values}.key", f"{values}.value"]
    return [
        dense("qkv", values, f"{values}.qkv"),
        helper.make_node("Split", [f"{values}.qkv"], parts, axis=2, num_outputs=3),
        helper.make_node("MultiHeadAttention", parts, [f"{values}.read"], domain="com.microsoft", num_heads=HEADS),
        dense("out", f"{values}.read", f"{values}.out"),
        *norm("norm1", [values, f"{values}.out"], f"{values}.middle"),
        dense("inner", f"{values}.middle", f"{values}.inner"),
        helper.make_node("Gelu", [f"{values}.inner"], [f"{values}.gelu"]),
        dense("outer", f"{values}.gelu", f"{values}.outer"),
        *norm("norm2", [f"{values}.middle", f"{values}.outer"], f"values.{number + 1}"),
    ]
