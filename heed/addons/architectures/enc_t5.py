"""Encoders of T5 with a linear classifier on their first token: TART-full's class ``EncT5ForSequenceClassification``.

Its pairs are ``<s> query </s> document </s>``; ``<s>``, which T5 does not have, is what the classifier reads (EncT5:
Liu et al., 2021, https://arxiv.org/abs/2110.08426; TART: Asai et al., 2023, https://arxiv.org/abs/2211.09260).
Composed of sentence-transformers' parts instead of the authors' code, which is on no hub.
"""

import logging
from pathlib import Path
from typing import Any

from heed.compute import Compute
from heed.errors import ModelError
from heed.models.local import precision
from heed.models.registry.entries import Model
from heed.models.sentence_models import device_of
from heed.models.weights import check_names, tensors_in
from heed.progress import logging_only

FIRST = "<s>"
HEAD = "classifier.weight"
TIED = "encoder.embed_tokens.weight"  # the same as shared.weight


def load_enc_t5(model: Model, folder: Path, compute: Compute) -> Any:
    """Return the model in ``folder`` as a sentence-transformers ``CrossEncoder``.

    Raises :class:`ModelError` for weights that are not exactly such a model's, and for a tokenizer without room for
    ``<s>`` in the network's vocabulary.
    """
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Dense
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from torch.nn import Identity

    weights = {"use_safetensors": True, "dtype": precision(model, compute)}
    tokenizer = {"tokenizer_type": "t5"}  # whatever class of its own the folder names
    with logging_only("transformers", logging.ERROR):  # the classifier is not the encoder's
        transformer = Transformer(str(folder), model_kwargs=weights, processor_kwargs=tokenizer)
    network = transformer.model
    labels, width = int(network.config.num_labels), int(network.config.d_model)
    expected = [*network.state_dict(), HEAD, "classifier.bias"]
    check_names(folder, "EncT5ForSequenceClassification", expected, may_lack=[TIED])
    dense = Dense(width, labels, activation_function=Identity(), module_output_name="scores").to(network.dtype)
    dense.linear.load_state_dict(tensors_in(folder, "classifier."))
    transformer.max_seq_length = model.max_length or transformer.max_seq_length
    _begin_with_first(str(folder), transformer.tokenizer, network.config.vocab_size)
    return CrossEncoder(modules=[transformer, Pooling(width, "cls"), dense], device=device_of(compute))


def _begin_with_first(source: str, tokenizer: Any, rows: int) -> None:
    """Make ``tokenizer`` begin every text and pair with ``<s>``; ``rows`` are those of the network's vocabulary."""
    from tokenizers import processors

    tokenizer.add_special_tokens({"bos_token": FIRST})
    first, end = tokenizer.bos_token_id, tokenizer.eos_token
    if first >= rows:
        raise ModelError(f"{source}: {FIRST} is token {first}, but the network has {rows}; its tokenizer is another's")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{FIRST} $A {end}",
        pair=f"{FIRST} $A {end} $B {end}",
        special_tokens=[(FIRST, first), (end, tokenizer.eos_token_id)],
    )
    tokenizer.padding_side = tokenizer.truncation_side = "right"
