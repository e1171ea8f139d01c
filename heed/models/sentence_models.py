"""Models of sentence-transformers: loaded, checked, set up as their entries say, and their texts as tokens."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from heed.addon_table import BROUGHT, brought
from heed.compute import Compute
from heed.errors import ModelError
from heed.extras import named_object
from heed.models.files import ROUTES, SAVED, architecture_of, local_copy, read_object, runs_remote_code
from heed.models.local import Batches, precision
from heed.models.registry.entries import Model
from heed.models.registry.families import BI_ENCODER
from heed.models.weights import POOLER, check_weights, positions_of, warn_of_batches
from heed.progress import log

# what an entry can say only of a model that begins with a transformer
OF_TRANSFORMERS = ("max_length", "query_length", "document_length", "padding", "append_eos", "bidirectional")
SIMILARITIES = ("cosine", "dot")  # those of sentence-transformers that a search of vectors knows


def load_sentence_model(model: Model, compute: Compute) -> Any:
    """Return the ``SentenceTransformer`` of ``model``: its own modules, or those that the entry's pooling makes."""
    folder = local_copy(model)
    if (of_add_on := f"{BI_ENCODER} {architecture_of(folder)}") in BROUGHT:
        return brought(of_add_on)(model, folder, compute)
    return load_sentence_files(model, folder, compute)


def load_sentence_files(model: Model, folder: Path, compute: Compute) -> Any:
    """Return the ``SentenceTransformer`` in ``folder``, whose network transformers' classes know."""
    from sentence_transformers import SentenceTransformer

    if model.pooling is not None:
        encoder = SentenceTransformer(modules=modules(model, folder, compute), device=device_of(compute))
    else:
        encoder = SentenceTransformer(str(folder), device=device_of(compute), **options(model, compute))
    check_network(folder, encoder, (POOLER,))
    return encoder


def modules(model: Model, folder: Path, compute: Compute) -> list[Any]:
    """Return transformer, pooling and layer norm as the entry says, whatever the model's files say."""
    from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling, Transformer

    transformer = Transformer(str(folder), **_options(model, compute))
    width = transformer.get_embedding_dimension()
    pooling: Any
    if model.pooling and ":" in model.pooling:
        pooling = named_object(model.pooling)(width)
        width = pooling.get_embedding_dimension() if hasattr(pooling, "get_embedding_dimension") else width
    else:
        pooling = Pooling(width, pooling_mode=model.pooling or "mean")
    return [transformer, pooling, *([LayerNorm(width)] if model.layer_norm else [])]


def device_of(compute: Compute) -> str | None:
    """Return the device of sentence-transformers' classes; None where they choose it."""
    return None if compute.device == "auto" else compute.device


def options(model: Model, compute: Compute) -> dict[str, Any]:
    """Return the arguments with which a whole model of sentence-transformers is loaded."""
    return {
        **_options(model, compute),
        "trust_remote_code": runs_remote_code(model),
        "local_files_only": True,
    }


def _options(model: Model, compute: Compute) -> dict[str, Any]:
    """Return the arguments with which the network, its tokenizer and its configuration are loaded."""
    code = {"trust_remote_code": runs_remote_code(model)}
    weights = {"use_safetensors": True, "dtype": precision(model, compute)}
    return {"model_kwargs": {**code, **weights}, "processor_kwargs": dict(code), "config_kwargs": dict(code)}


def check_network(folder: Path, encoder: Any, unused: Sequence[str] = ()) -> None:
    """Check the network of a loaded model of sentence-transformers, or of its modules.

    Raises :class:`ModelError` as :func:`heed.models.weights.check_weights` does, and the tokenizer's own
    error where it cannot read every text; warns of scores that depend on the batch.
    """
    from transformers import PreTrainedModel

    for path, module in _input_modules(folder, encoder):
        if callable(tokenizer := getattr(module, "tokenizer", None)):
            tokenizer(ANY_TEXT)
        network = getattr(module, "model", None)
        if isinstance(network, PreTrainedModel):
            check_weights(path, network, unused)
            warn_of_batches(folder.name, network, module.tokenizer.padding_side)


def _input_modules(folder: Path, encoder: Any) -> list[tuple[Path, Any]]:
    """Return folder and module of each part of a loaded ``encoder`` that reads texts: one, or one for each route."""
    if not _has_routes(encoder):
        return [(folder, encoder[0])]
    routes = (read_object(folder / ROUTES) or read_object(folder / "config.json"))["structure"]
    return [(folder / routes[route][0], modules[0]) for route, modules in encoder[0].sub_modules.items()]


def _has_routes(encoder: Any) -> bool:
    from sentence_transformers.base.modules import Router

    return isinstance(encoder[0], Router)


def input_module(encoder: Any, task: str) -> Any:
    """Return the module of a loaded ``encoder`` that reads a ``query`` or ``document``."""
    first = encoder[0]
    return first.sub_modules[first._resolve_route(task, "text")][0] if _has_routes(encoder) else first


def similarity_of(model: Model, otherwise: str = "cosine") -> str:
    """Return how vectors are compared, ``cosine`` or ``dot``: as the entry says, else as the model's files do.

    ``otherwise`` is sentence-transformers' default. Raises :class:`ModelError` for another similarity.
    """
    if model.similarity == "cos" or model.normalize:
        return "cosine"
    if model.similarity == "dot" or model.normalize is False:
        return "dot"
    path = local_copy(model) / SAVED
    whole = model.pooling is None and (path.parent / "modules.json").is_file()  # else the library reads no settings
    similarity = (whole and read_object(path).get("similarity_fn_name")) or otherwise
    if similarity not in SIMILARITIES:
        raise ModelError(
            f"{path}: similarity_fn_name is {similarity!r}, but vectors are searched by cosine or inner product alone; "
            'say "similarity": "cos" or "dot" in the model\'s entry'
        )
    return str(similarity)


def set_up(model: Model, encoder: Any) -> None:
    """Set the entry's lengths, sides and tokens of a loaded ``encoder``; :class:`ModelError` where it has none."""
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    for index in reversed([index for index, module in enumerate(encoder) if isinstance(module, Normalize)]):
        if model.normalize is False:
            encoder.pop(index)
    pools = [module for module in encoder if isinstance(module, Pooling)]
    if not model.pool_prefix:
        if not pools:
            raise ModelError(f"{model.source}: has no pooling of tokens, so pool_prefix cannot be false")
        encoder.set_pooling_include_prompt(False)
    readers = {id(module): module for task in ("query", "document") for module in [input_module(encoder, task)]}
    transformers = [module for module in readers.values() if isinstance(module, Transformer)]
    for transformer in transformers:
        _set_up_transformer(model, transformer)
    if transformers:
        return
    unusable = [field for field in OF_TRANSFORMERS if getattr(model, field)]
    if unusable:
        raise ModelError(f"{model.source}: begins with a {type(encoder[0]).__name__}, so it can have no {unusable[0]}")


def _set_up_transformer(model: Model, transformer: Any) -> None:
    set_longest(model, transformer)
    transformer.query_length = model.query_length or model.max_length or transformer.query_length
    transformer.document_length = model.document_length or model.max_length or transformer.document_length
    # with templates a text is the whole prompt, so the tokenizer's chat template is not applied to it
    if model.pooling is not None or model.query is not None:
        transformer.modality_config.pop("message", None)
    if model.bidirectional:
        transformer.model.config.is_causal = False  # transformers' attention masks of decoders follow it
    tokenizer = transformer.tokenizer
    if model.padding:
        tokenizer.padding_side = model.padding
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token  # never seen: it is masked
    if model.append_eos:
        append_eos(model.source, tokenizer)


def set_longest(model: Model, transformer: Any) -> None:
    """Set the most tokens of an input: the entry's, else the files', and no more than the network has positions.

    Raises :class:`ModelError` for an entry that asks for more.
    """
    network = transformer.model
    most = positions_of(network, transformer.tokenizer) if hasattr(network, "base_model") else None
    for field in ("max_length", "query_length", "document_length"):
        length = getattr(model, field)
        if most and length and length > most:
            raise ModelError(f"{model.source}: {field} {length}, but the model reads {most} tokens at most")
    longest = model.max_length or transformer.max_seq_length
    transformer.max_seq_length = min(longest, most) if longest and most else longest or most


def append_eos(source: str, tokenizer: Any) -> None:
    """Make ``tokenizer`` end every text with its end-of-text token, even one that it cuts.

    Raises :class:`ModelError` for a tokenizer without such a token, or that is not a fast one.
    """
    from tokenizers import processors

    if tokenizer.eos_token is None or not tokenizer.is_fast:
        lacks = "is not a fast one" if tokenizer.eos_token else "has no end-of-text token"
        raise ModelError(f"{source}: append_eos is set, but its tokenizer {lacks}")
    if tokenizer("a")["input_ids"][-1] == tokenizer.eos_token_id:
        return
    end = tokenizer.eos_token
    template = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A $B {end}", special_tokens=[(end, tokenizer.eos_token_id)]
    )
    backend = tokenizer.backend_tokenizer
    before = [backend.post_processor] if backend.post_processor else []
    backend.post_processor = processors.Sequence([*before, template])


ANY_TEXT = "\U00013000 a"  # with a hieroglyph, which is in hardly any vocabulary
IDS = ("input_ids", "token_type_ids", "attention_mask")
AS_LISTS = {"text": {"padding": False}, "common": {"return_tensors": None}}


class SentenceModel:
    """A ``SentenceTransformer`` set up as its entry says."""

    def __init__(self, model: Model, encoder: Any, compute: Compute) -> None:
        """Set ``encoder`` up; raises as :func:`set_up` does."""
        set_up(model, encoder)
        self._name, self._compute = model.name, compute
        self.whole, self.source = encoder.eval(), model.source
        self.prompts, self.tokenizer, self.device = encoder.prompts, encoder.tokenizer, encoder.device

    @cached_property
    def batches(self) -> Batches:
        """How its texts are divided."""
        return batches_of(self._name, self, self._compute)

    def limit(self, task: str) -> int | None:
        """Return how many tokens a ``query`` or ``document`` may have; None without a limit."""
        first = input_module(self.whole, task)
        limit: float | None = getattr(first, f"{task}_length", None) or getattr(first, "max_seq_length", None)
        return int(limit) if limit and limit < 1e9 else None  # transformers writes 1e30 for no limit

    def vectors(self, features: Any, task: str) -> Any:
        """Return one vector a text."""
        from sentence_transformers.util import batch_to_device

        output = self.whole(batch_to_device(features, self.device), task=task)
        if "sentence_embedding" not in output:
            raise ModelError(f"{self.source}: its modules give no vector of a text; copy all files of the model")
        return output["sentence_embedding"][:, : self.whole.truncate_dim]


class TokenisedTexts:
    """Texts with one prompt before them, tokenised for any batches."""

    def __init__(self, encoder: SentenceModel, texts: list[str], prompt: str, task: str) -> None:
        """Tokenise ``texts`` once, where a text's tokens are the same in every batch."""
        self._encoder, self._texts, self._prompt, self._task = encoder, texts, prompt, task
        self._features: dict[str, Any] = {}
        if _tokenises_each_alone(encoder.whole):
            self._features = self._preprocessed(texts, processing_kwargs=AS_LISTS)

    def _preprocessed(self, texts: list[str], **options: Any) -> dict[str, Any]:
        named = {"prompt": self._prompt, "task": self._task, **options}
        return preprocessed(self._encoder.source, self._encoder.whole, texts, named)

    def lengths(self, limit: int | None) -> list[int]:
        """Return how many tokens each text has, at most ``limit``; 1 of static embeddings, which are not padded."""
        from sentence_transformers.sentence_transformer.modules import StaticEmbedding

        if isinstance(self._encoder.whole[0], StaticEmbedding):
            return [1] * len(self._texts)
        if self._features:
            return list(map(len, self._features["input_ids"]))
        counts = lengths(self._encoder, [self._prompt + text for text in self._texts])
        return [min(count, limit or count) for count in counts]

    def batch(self, indices: Sequence[int]) -> Any:
        """Return the model's input for the texts at ``indices``."""
        if not self._features:
            return self._preprocessed([self._texts[index] for index in indices])
        return padded_batch(self._encoder.tokenizer, self._features, indices)


def preprocessed(source: str, encoder: Any, inputs: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a loaded ``encoder``'s tokens of texts or pairs; :class:`ModelError` where its tokenizer cannot."""
    try:
        return dict(encoder.preprocess(inputs, **options))
    except (ValueError, IndexError) as error:
        raise ModelError(f"{source}: its tokenizer cannot read the texts ({str(error).partition('. ')[0]})") from error


def padded_batch(tokenizer: Any, features: dict[str, Any], indices: Sequence[int]) -> dict[str, Any]:
    """Return the model's input for some texts of ``features``, lists of tokens that are not padded yet."""
    ids = {name: [features[name][index] for index in indices] for name in IDS if name in features}
    rest = {name: value for name, value in features.items() if name not in IDS}
    longest = max(map(len, ids["input_ids"]))
    if len(indices) == 1 and longest:  # a tokenizer without a token for padding can give one text
        return {**tokenizer.pad(ids, padding=False, return_tensors="pt"), **rest}
    # a text without any token is all padding, as in a batch with others
    return {**tokenizer.pad(ids, padding="max_length", max_length=max(longest, 1), return_tensors="pt"), **rest}


def batches_of(name: str, encoder: Any, compute: Compute) -> Batches:
    """Return how the texts of a loaded ``encoder`` are divided; one by one where nothing can pad them."""
    if getattr(encoder.tokenizer, "pad_token", "") is not None:
        return Batches(name, encoder.device, compute)
    return one_by_one(name, encoder, "its tokenizer has no token for padding")


def one_by_one(name: str, encoder: Any, reason: str) -> Batches:
    """Return batches of one text each, and log the ``reason``."""
    log.info(f"{name}: {reason}, so texts are read one by one")
    return Batches(name, encoder.device, Compute(batch_size=1))


def lengths(encoder: Any, texts: list[str]) -> list[int]:
    """Return how many tokens the texts have, special tokens included."""
    tokenizer = encoder.tokenizer
    if not texts or not callable(tokenizer):  # static embeddings' tokenizer is not; they have no limit
        return list(map(len, texts))
    return list(map(len, tokenizer(texts, verbose=False)["input_ids"]))


def _tokenises_each_alone(encoder: Any) -> bool:
    """Whether a text's tokens are the same in every batch: without chat template and mask tokens."""
    from sentence_transformers.sentence_transformer.modules import Transformer

    first = encoder[0]
    return isinstance(first, Transformer) and set(first.modality_config) == {"text"} and not first.query_expansion
