"""Draw the folder of a tiny model: what it is, how it was saved, what is missing in it."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from hardening.models.networks import ARCHITECTURES, Draw, network, randomised
from hardening.models.texts import UNLIMITED, Texts, draw_texts, tokenizer
from hardening.models.weights import MISSING, rewrite

USES = {"b": 30, "c": 35, "l": 10, "y": 18, "s": 7}  # how often; see Architecture.uses
FAMILIES = {"b": "bi-encoder", "c": "cross-encoder", "l": "late-interaction", "y": "causal", "s": "seq2seq"}
DECODERS = ("llama", "qwen")  # tokenizers, mostly without a token to pad with
POOLINGS = ("mean", "cls", "lasttoken", "max", "mean_sqrt_len_tokens", "weightedmean", ["cls", "mean"])
ADAPTED = ("Bert", "Roberta", "XLMRoberta", "Llama", "Mistral", "Qwen2", "Qwen3")
ADAPTER = "adapter of a classifier"
DISTANCE = "a distance as similarity"
PRETRAINED = "a masked language model without modules"
UNTOLD = "late interaction that no file names"
SIMILARITIES = ("cosine", "absent", None, "dot", "euclidean")
PROMPTS = (
    "Query: {query}\nDocument: {document}\nRelevant:",
    "Document: {document}\nQuery: {query}\nRelevant:",
    "<s>Relevant yes or no\n{query}\n\n{document}\n\n",
)
T5_PROMPTS = ("Query: {query} Document: {document} Relevant:", "Document: {document} Query: {query} Relevant:")
SETTINGS = "config_sentence_transformers.json"
MAY_LACK = (
    *(SETTINGS, "sentence_bert_config.json", "modules.json", "tokenizer_config.json", "tokenizer.json", "config.json"),
    "model.safetensors",
)


class Case(NamedTuple):
    """A folder, the fields of its entry, the precision, the texts, and what Heed must or may refuse about it.

    ``alone``: Heed too reads each document in a batch of its own, since a score depends on its batch.
    ``reference`` is what the libraries read: ``folder``, or an adapter merged into its base.
    """

    number: int
    use: str
    folder: Path
    reference: Path
    entry: dict[str, Any]
    dtype: str
    fault: str
    alone: bool
    texts: Texts
    description: str


def make(number: int, dtypes: tuple[str, ...], place: Path) -> Case:
    """Write the folder of case ``number`` into ``place``, in one of ``dtypes`` to compute in."""
    draw = Draw(number)
    use = draw.random.choices([*USES], [*USES.values()])[0]
    name = draw.random.choice([name for name, one in ARCHITECTURES.items() if use in one.uses])
    texts = draw_texts(draw.random)
    kind, folder = ARCHITECTURES[name].tokenizer, place / "model"
    reader, settings, entry = _reader(draw, kind), _settings(draw, use, kind), _entry(draw, use, kind)
    if settings.get("num_labels", 1) > 1:
        entry["label"] = draw("label", 0, 1)
    made = network(draw, name, use, reader, settings)
    made.save_pretrained(place / "plain")
    reader.save_pretrained(place / "plain")
    SAVERS[use](draw, place / "plain", folder)
    if use == "c" and draw("adapter", False, name in ADAPTED, odd=0.1):
        fault, reference = ADAPTER, _adapted(draw, made, folder, place)
    else:
        fault, reference = rewrite(draw, folder, use in "cys"), folder
    if draw.odd.get("similarity") == "euclidean":
        fault = fault or DISTANCE
    lacks = draw("missing file", None, *MAY_LACK, odd=0.1)
    if lacks:
        (folder / lacks).unlink(missing_ok=True)
    if use == "l" and lacks in ("modules.json", SETTINGS):
        fault = MISSING if lacks == "modules.json" else fault or UNTOLD  # without modules the projection is a new one
    told = [
        (folder / file).read_text() if (folder / file).is_file() else "" for file in ("modules.json", "config.json")
    ]
    if use == "b" and not told[0] and "ForMaskedLM" in told[1]:
        fault = PRETRAINED
    dtype = draw("dtype", *dtypes)  # last, so that a case is the same for any dtypes but for this
    rope = draw.odd.get("rope") or {}
    # a decoder's classifier looks for the last token that is not the configuration's padding
    looks = use == "c" and kind in DECODERS and settings.get("pad_token_id") == 0
    alone = dtype != "float32" or reader.padding_side == "left" or rope.get("rope_type") == "dynamic" or looks
    odd = ", ".join(f"{key} {value!r}" for key, value in draw.odd.items()) or "nothing odd"
    description = f"{FAMILIES[use]} {name} ({odd})"
    return Case(number, use, folder, reference, entry, dtype, fault, alone, texts, description)


def _reader(draw: Draw, kind: str) -> Any:
    """Return a tokenizer with odd sides, tokens and lengths."""
    options = {
        "model_max_length": draw("model_max_length", 512, 128, 64, UNLIMITED),
        "truncation_side": draw("truncation_side", "right", "left"),
        "padding_side": draw("padding_side", "right", "left", odd=0.15),
    }
    if kind in DECODERS:
        end = "<|endoftext|>" if kind == "qwen" else "</s>"
        options["pad_token"] = draw("pad_token", end, "!", None)
    if kind != "wordpiece" or draw("without token types", False, True):
        options["model_input_names"] = ["input_ids", "attention_mask"]
    return tokenizer(kind, options)


def _settings(draw: Draw, use: str, kind: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if use == "c":
        settings["num_labels"] = draw("num_labels", 1, 2, 3, odd=0.1)
    pad = draw("pad_token_id in config.json", "the tokenizer's", 0, *([None] if kind in DECODERS else []), odd=0.1)
    return settings if pad == "the tokenizer's" else {**settings, "pad_token_id": pad}


def _entry(draw: Draw, use: str, kind: str) -> dict[str, Any]:
    """Return the fields of the registry that a user would set."""
    entry: dict[str, Any] = {"family": FAMILIES[use]} if draw("family said", True, use in "ys") else {}
    if use != "l":
        entry["max_length"] = draw("max_length", None, 96, odd=0.15)
    if use in "ys":
        space = "" if kind == "qwen" else "▁"
        tokens = [f"{space}no", f"{space}yes"]
        entry["tokens"] = draw("tokens", tokens, tokens[1:])
        entry["prompt"] = draw("prompt", *(PROMPTS if use == "y" else T5_PROMPTS))
    return entry


def _save_plain(draw: Draw, plain: Path, folder: Path) -> None:
    plain.rename(folder)


def _save_classifier(draw: Draw, plain: Path, folder: Path) -> None:
    if not draw("saved by CrossEncoder", False, True):
        return _save_plain(draw, plain, folder)
    from sentence_transformers import CrossEncoder

    settings = {"max_length": draw("saved max_length", None, 80)}
    if draw("default prompt", False, True):
        settings |= {"prompts": {"rank": "rank this: "}, "default_prompt_name": "rank"}
    CrossEncoder(str(plain), device="cpu", **settings).save_pretrained(str(folder), create_model_card=False)
    return None


def _save_encoder(draw: Draw, plain: Path, folder: Path) -> None:
    if draw("without modules.json", False, True, odd=0.15):
        return _save_plain(draw, plain, folder)
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling
    from torch.nn import Identity, Tanh

    first = Transformer(
        str(plain),
        max_seq_length=draw("max_seq_length", None, 100),
        do_lower_case=draw("do_lower_case", False, True, odd=0.1),
    )
    width = first.get_embedding_dimension()
    pooling = Pooling(width, draw("pooling", *POOLINGS), include_prompt=draw("include_prompt", True, False))
    parts, width = [first, pooling], pooling.pooling_output_dimension
    if draw("LayerNorm", False, True, odd=0.1):
        parts.append(randomised(LayerNorm(width), draw))
    if draw("Dense", False, True):
        active = Identity() if draw("activation of Dense", True, False) else Tanh()
        parts.append(randomised(Dense(width, 32, activation_function=active), draw))
    if draw("Normalize", False, True):
        parts.append(Normalize())
    whole = SentenceTransformer(modules=parts, device="cpu", truncate_dim=draw("truncate_dim", None, 20, odd=0.1))
    whole.prompts = draw("prompts", {}, {"query": "query: ", "document": "text: "}, {"query": "q: ", "passage": "p: "})
    whole.save_pretrained(str(folder), create_model_card=False)
    similarity = draw("similarity", *SIMILARITIES, odd=0.5)
    _edit(folder / SETTINGS, "similarity_fn_name", similarity)
    return None


def _save_late(draw: Draw, plain: Path, folder: Path) -> None:
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
    from torch.nn import Identity

    lengths = {"query_length": draw("query_length", None, 48), "document_length": draw("document_length", None, 100)}
    first = Transformer(str(plain), **lengths)
    dense = Dense(
        first.get_embedding_dimension(),
        16,
        bias=draw("bias", False, True),
        activation_function=Identity(),
        module_input_name="token_embeddings",
    )
    skipped = draw("skiplist_words", None, list(",.;:!?"))
    parts = [first, randomised(dense, draw), MultiVectorMask(skiplist_words=skipped)]
    parts.append(Normalize(module_input_name="token_embeddings"))
    whole = MultiVectorEncoder(
        modules=parts, device="cpu", similarity_fn_name=draw("similarity", "maxsim", "meanmaxsim")
    )
    whole.prompts = draw("prompts", {}, {"query": "query: ", "document": "text: "})
    whole.save_pretrained(str(folder), create_model_card=False)


def _edit(path: Path, key: str, value: Any) -> None:
    content = {**json.loads(path.read_text(encoding="utf-8")), key: value}
    if value == "absent":
        del content[key]
    path.write_text(json.dumps(content), encoding="utf-8")


def _adapted(draw: Draw, network: Any, folder: Path, place: Path) -> Path:
    """Put an adapter of the classifier ``network`` in its place; return the folder of both merged."""
    from peft import LoraConfig, TaskType, get_peft_model

    base, merged = folder.rename(place / "base"), place / "merged"
    network.name_or_path = str(base)
    kind = LoraConfig(r=2, target_modules=r".*\.(query|value|q_proj|v_proj)", task_type=TaskType.SEQ_CLS)
    adapted = randomised(get_peft_model(network, kind), draw, ("lora_", "modules_to_save"))
    adapted.save_pretrained(folder)
    adapted.merge_and_unload().save_pretrained(merged)
    for path in base.glob("*token*"):
        for copy in (folder, merged):
            (copy / path.name).write_bytes(path.read_bytes())
    return merged


SAVERS = {"b": _save_encoder, "c": _save_classifier, "l": _save_late, "y": _save_plain, "s": _save_plain}
