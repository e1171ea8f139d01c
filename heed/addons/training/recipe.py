"""Train a reranker with FollowIR's recipe: from lines of examples to a folder with an adapter."""

import shutil
from array import array
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from heed.addons.training.trainer import WEIGHTS, EncodedExample, Trainer, TrainingSettings
from heed.compute import Compute
from heed.errors import DataError, ModelError, fail
from heed.files import digest, digest_json, finished_folder, locked, read_objects
from heed.models.files.model_files import fingerprint, local_copy
from heed.models.local.language_models import ADAPTER, entry_ids, load_config, load_tokenizer, precision
from heed.models.registry.entries import Model
from heed.models.text.prompts import Prompts
from heed.models.text.templates import query_text
from heed.progress import log
from heed.reuse import Note, Recipe, rebuild_reason, recipe_version, write_note
from heed.types import Document

NOTE, CHECKPOINT = "training.json", "checkpoint.pt"
# the fields that scoring must share with training
TEMPLATE = ("family", "query", "document", "prompt", "bare", "task", "tokens")
TEXTS = ("query", "instruction", "document")  # with label the fields of jhu-clsp/FollowIR-train, which is read as it is
MAY_BE_EMPTY = "instruction"
LABELS = {"true": True, "1": True, "false": False, "0": False}


class Example(NamedTuple):
    """One line of training data; ``origin`` is its file and line."""

    origin: str
    query: str
    instruction: str
    document: str
    label: bool


def read_examples(path: Path) -> list[Example]:
    """Read the examples of a file of JSON lines; other fields are ignored.

    ``label`` is true or false, as such, as 1 or 0, or as text. Raises :class:`DataError` that names
    each line with other fields, or the first that is no JSON object, and for a file without examples.
    """
    examples, problems = [], []
    for line_no, record in read_objects(path):
        origin = f"{path}, line {line_no}"
        problem = _problem(record)
        if problem:
            problems.append(f"{origin}: {problem}")
        else:
            query, instruction, document = (record[field] for field in TEXTS)
            examples.append(Example(origin, query, instruction, document, LABELS[str(record["label"]).lower()]))
    fail(problems)
    if not examples:
        raise DataError(f"{path}: no examples; expected JSON lines with {', '.join(TEXTS)} and label")
    return examples


def _problem(record: dict[str, Any]) -> str:
    """Return the problem of a line's record, empty for a good one."""
    missing = [field for field in (*TEXTS, "label") if field not in record]
    if missing:
        return f"no {', '.join(missing)}; expected {', '.join(TEXTS)} and label"
    for field in TEXTS:
        text = record[field]
        if not isinstance(text, str) or not (text.strip() or field == MAY_BE_EMPTY):
            return f"{field} is {text!r}, expected text"
    label = record["label"]
    if not isinstance(label, str | int) or str(label).lower() not in LABELS:
        return f"label is {label!r}, expected true or false, 1 or 0"
    return ""


def encode(examples: Sequence[Example], template: Model, tokenizer: Any, limit: int) -> list[EncodedExample]:
    """Return the examples in ``template``'s prompt, at most ``limit`` tokens each, with its token for yes or no.

    The ids are those that :class:`heed.models.rerankers.yes_no.YesNoReranker` reads: of a prompt that is too long the
    document is cut. Raises :class:`heed.errors.ModelError` with the line where the rest leaves no room for one, and
    for a ``template`` of one token.
    """
    if template.tokens is not None and len(template.tokens) != 2:
        raise ModelError(f"{template.source}: tokens {template.tokens}, expected two to train with, for no and yes")
    answers = entry_ids(template, tokenizer)
    prompts = Prompts(template, tokenizer, limit)
    encoded = []
    for example in examples:
        query = query_text(template, example.query, example.instruction)
        [ids] = prompts.ids(example.origin, query, [Document(example.origin, "", example.document)])
        encoded.append(EncodedExample(array("I", ids), answers[example.label]))
    return encoded


def train(data: Path, base: Model, template: Model, settings: TrainingSettings, out: Path) -> None:
    """Train an adapter of ``base`` on the examples of ``data`` and write it to the folder ``out``, all or nothing.

    ``template`` gives templates, prompt and tokens. A folder with the same data and settings is used
    again. After a kill training resumes after the last complete epoch and, on a CPU with the same
    number of threads, ends with the same bytes. Raises :class:`DataError` for bad lines and an ``out``
    with other content, :class:`ModelError` for a base that cannot be trained and a prompt that leaves
    no room for a document.
    """
    out = out.resolve()
    if out.exists() and not (out / NOTE).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out}: exists without {NOTE}, so training did not write it; give --out a new folder")
    examples = read_examples(data)
    base = base._replace(source=str(Path(base.source).resolve())) if Path(base.source).is_dir() else base
    config = _causal_config(base)
    recipe = _recipe(data, base, template, settings)
    reason = rebuild_reason(out / NOTE, recipe, lambda: _digests(out))
    if reason is None:
        log.info(f"{out}: used again, data and settings are the same")
        return
    log.info(f"{out}: {reason}; {len(examples)} examples, {sum(example.label for example in examples)} of them true")
    tokenizer = load_tokenizer(base)
    positions = getattr(config.get_text_config(decoder=True), "max_position_embeddings", None)
    limit = int(min(settings.max_length, tokenizer.model_max_length, positions or settings.max_length))
    encoded = encode(examples, template._replace(source=base.source), tokenizer, limit)
    entry = _entry(base, limit, recipe)
    work = out.with_name(f".{out.name}.training")
    with locked(work):
        trainer = Trainer(base, settings)
        losses = trainer.train(encoded, work / CHECKPOINT, digest_json(recipe))
        with finished_folder(out) as part:
            trainer.save(part, entry["base"], entry.get("base_revision"))
            facts = {"examples": len(examples), "loss": losses, "model": entry}
            write_note(part / NOTE, Note(recipe, _digests(part), facts))
        shutil.rmtree(work, ignore_errors=True)
    log.info(f"{out}/: {WEIGHTS}, {ADAPTER}, {NOTE}; run it with --reranker {out}")


def _digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the adapter's files; any other file is the user's."""
    return {name: digest(folder / name) for name in (WEIGHTS, ADAPTER) if (folder / name).is_file()}


def _causal_config(base: Model) -> Any:
    """Return the configuration of ``base``; :class:`ModelError` if it is not a complete causal language model."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    if (local_copy(base) / ADAPTER).is_file():
        raise ModelError(f"{base.source}: is an adapter; give its base, or merge the two and give that")
    config = load_config(base)
    has_code = "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {})
    architectures = config.architectures or []
    names = ", ".join(architectures) or "no architecture named"
    if not has_code and MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(config.model_type) not in architectures:
        # transformers would load a BERT as causal too, and a model without its output layer with a random one
        raise ModelError(
            f"{base.source}: is a {config.model_type} ({names}), expected a "
            "causal language model with its output layer, such as mistralai/Mistral-7B-Instruct-v0.2"
        )
    return config


def _recipe(data: Path, base: Model, template: Model, settings: TrainingSettings) -> Recipe:
    return {
        "train": recipe_version("train"),
        "data": digest(data),
        "settings": {**settings._asdict(), "device": Compute(settings.device).torch_device},
        "frame": {field: getattr(template, field) for field in TEMPLATE},
        "base": {"source": base.source, **fingerprint(base), "dtype": precision(base, Compute(settings.device))},
        "versions": {name: version(name) for name in ("torch", "transformers", "peft")},
    }


def _entry(base: Model, limit: int, recipe: Recipe) -> Recipe:
    """Return the adapter as an entry of ``registry.json``, so that it is scored as it was trained."""
    entry = {
        **recipe["frame"],
        "max_length": limit,
        "dtype": base.dtype,
        "base": base.source,
        "base_revision": recipe["base"].get("commit"),  # None for a local folder
        "remote_code": base.remote_code or None,
    }
    return {field: value for field, value in entry.items() if value is not None}
