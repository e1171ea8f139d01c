"""Late-interaction models of sentence-transformers, and ColBERT's own checkpoints read as ColBERT's code reads them."""

import logging
import math
import string
from pathlib import Path
from typing import Any

from heed.compute import Compute
from heed.errors import ModelError
from heed.models.files.model_files import local_copy, read_object
from heed.models.local.network_checks import POOLER, positions_of
from heed.models.local.sentence_models import check_network, device_of, options
from heed.models.local.tensors import weights_in
from heed.models.registry.entries import Model
from heed.models.registry.families import FAMILIES, LATE
from heed.progress import logging_only

METADATA = "artifact.metadata"
COLBERT = "HF_ColBERT"  # the class that ColBERT's and PLAID-X's code save
PLACE = ". "  # ColBERT's tokenizers put this before a text and write the marker over its first token
MARKERS = {"query": ("query_token_id", "[unused0]"), "document": ("doc_token_id", "[unused1]")}


def load_late_model(model: Model, compute: Compute) -> tuple[Any, dict[str, int]]:
    """Return the ``MultiVectorEncoder`` of ``model``, and for a checkpoint of ColBERT's own code its markers' ids.

    Raises :class:`ModelError` for a folder that holds no late-interaction model, and for missing weights.
    """
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Transformer

    folder = local_copy(model)
    _check_files(folder)
    metadata = _metadata(folder) if _is_colbert(folder) else None
    # without transformers' report of weights, for which the projection is unexpected; missing ones are an error
    with logging_only("transformers", logging.ERROR):
        encoder = MultiVectorEncoder(str(folder), device=device_of(compute), **options(model, compute))
    if not isinstance(encoder[0], Transformer):
        raise ModelError(f"{model.source}: begins with a {type(encoder[0]).__name__}, expected a transformer")
    _set_lengths(model, encoder[0])
    check_network(folder, encoder, (POOLER,))
    if metadata is None:
        return encoder, {}
    if model.padding == "left":
        raise ModelError(f"{model.source}: padding left, but {COLBERT} has its marker as a text's second token")
    return encoder, _as_colbert(folder, metadata, encoder)


def _check_files(folder: Path) -> None:
    config = read_object(folder / "config_sentence_transformers.json")
    saved = config.get("model_type") in FAMILIES[LATE].saved_as or "query_prefix" in config
    if _is_colbert(folder) or (saved and (folder / "modules.json").is_file()):  # without: a random projection
        return
    raise ModelError(
        f"{folder}: no late-interaction model; expected the class {COLBERT} in its config.json, or what "
        "MultiVectorEncoder.save or pylate left (a copy by another class has lost the projection of its tokens)"
    )


def _is_colbert(folder: Path) -> bool:
    """Whether ColBERT's own code saved this; sentence-transformers' own form, if it is there too, has precedence."""
    return not (folder / "modules.json").is_file() and COLBERT in (
        read_object(folder / "config.json").get("architectures") or []
    )


def _metadata(folder: Path) -> dict[str, Any]:
    path = folder / METADATA
    if not path.is_file():
        raise ModelError(f"{path}: is missing, but it says how {COLBERT} reads texts; copy the whole model")
    metadata: dict[str, Any] = read_object(path)
    for field, default in MARKERS.values():
        if not isinstance(metadata.setdefault(field, default), str):
            raise ModelError(f"{path}: {field} is {metadata[field]!r}, expected the marker's token, mostly {default!r}")
    if "linear.weight" not in weights_in(folder):
        raise ModelError(f"{folder}: no linear.weight, the projection of {COLBERT}; copy the whole model")
    return metadata


def _set_lengths(model: Model, transformer: Any) -> None:
    """Set the entry's lengths; queries get mask tokens up to the checkpoint's own query length.

    This is what ColBERT's ``full_length_search`` does with one query; a fixed length would cut them
    all or fill them all with masks. Raises :class:`ModelError` for a length that the model cannot read.
    """
    most = positions_of(transformer.model, transformer.tokenizer) or math.inf
    expansion = transformer.query_expansion
    transformer.query_expansion = None  # its setter refuses a query_length below it
    stored = expansion["length"] if expansion and expansion["strategy"] == "fixed" else transformer.query_length
    transformer.query_length = model.query_length or model.max_length or stored
    transformer.document_length = model.document_length or model.max_length or transformer.document_length
    for task in MARKERS:
        length = getattr(transformer, f"{task}_length")
        if length and length > most:
            raise ModelError(f"{model.source}: {task}_length {length}, but the model reads {most} tokens at most")
    if expansion:
        least = min(expansion["length"], transformer.query_length or expansion["length"])
        transformer.query_expansion = {**expansion, "strategy": "min", "length": least}


def _as_colbert(folder: Path, metadata: dict[str, Any], encoder: Any) -> dict[str, int]:
    """Make ``encoder`` read texts as ColBERT's code does; return the id of each task's marker.

    sentence-transformers puts the marker before the text. ColBERT's tokenizers (``query_tokenization.py``,
    ``doc_tokenization.py``) overwrite the first token of ``". "`` with it, which leaves a full stop
    where that is two tokens, as in XLM-R's vocabulary; and they skip the first token of each punctuation mark
    (``colbert.py``), which for XLM-R is mostly the mark that begins a word. Models were trained so.
    """
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    tokenizer, network = encoder.tokenizer, encoder[0].model
    names = {task: metadata[field] for task, (field, _) in MARKERS.items()}
    known = tokenizer.get_vocab()
    tokenizer.add_tokens([name for name in names.values() if name not in known])  # the query's first, as PLAID-X does
    markers = {task: int(tokenizer.convert_tokens_to_ids(name)) for task, name in names.items()}
    rows = network.get_input_embeddings().num_embeddings
    if max(markers.values()) >= rows:
        raise ModelError(
            f"{folder}: no embedding for the markers {' and '.join(names.values())}: the model has {rows}, and its "
            f"tokenizer puts them at {' and '.join(map(str, markers.values()))}; use the tokenizer it was saved with"
        )
    encoder.prompts |= dict.fromkeys(MARKERS, PLACE)
    tokenizer.padding_side = "right"
    for module in encoder:
        if isinstance(module, MultiVectorMask) and module.skiplist_words:
            firsts = [tokenizer.encode(mark, add_special_tokens=False)[:1] for mark in string.punctuation]
            module.skiplist_words = tokenizer.convert_ids_to_tokens([token for first in firsts for token in first])
            module.resolve_with_tokenizer(tokenizer)
    return markers
