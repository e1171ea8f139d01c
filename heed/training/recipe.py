"""Train a reranker with FollowIR's recipe: from lines of examples to a folder with an adapter."""

import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

from heed.errors import DataError, ModelError
from heed.io.artifacts import Recipe, rebuild_reason
from heed.io.files import digest, digest_json, finished_folder, locked, write_json
from heed.models.language_models import ADAPTER, load_tokenizer, place, precision
from heed.models.model_files import fingerprint, local_copy, runs_remote_code, unusable
from heed.models.registry import Model
from heed.progress import log
from heed.training.data import encode, read_examples
from heed.training.trainer import WEIGHTS, Trainer, TrainingSettings

NOTE, CHECKPOINT = "training.json", "checkpoint.safetensors"
TEMPLATE = (
    "family",
    "query",
    "document",
    "prompt",
    "bare",
    "task",
    "tokens",
)  # the fields that scoring must share with training
VERSION = 1  # raise when the adapter changes


def train(data: Path, base: Model, template: Model, settings: TrainingSettings, out: Path) -> None:
    """Train an adapter of ``base`` on the examples of ``data`` and write it to the folder ``out``, all or nothing.

    ``template`` gives templates, prompt and tokens. A folder with the same data and settings is used
    again. After a kill training resumes after the last complete epoch and, on a CPU with the same
    number of threads, ends with the same bytes. Raises :class:`DataError` for bad lines and an ``out``
    with other content, :class:`ModelError` for a base that cannot be trained and a prompt that leaves
    no room for a document.
    """
    out = out.resolve()
    _refuse_other_content(out)
    examples = read_examples(data)
    base = base._replace(source=str(Path(base.source).resolve())) if Path(base.source).is_dir() else base
    config = _causal_config(base)
    recipe = _recipe(data, base, template, settings)
    reason = rebuild_reason(out / NOTE, recipe, lambda stored: _digests(out) == stored["files"])
    if reason is None:
        log.info(f"{out}: used again, data and settings are the same")
        return
    log.info(f"{out}: {reason}; {len(examples)} examples, {sum(example.label for example in examples)} of them true")
    tokenizer = load_tokenizer(base)
    limit = _limit(settings.max_length, tokenizer, config)
    encoded = encode(examples, template._replace(source=base.source), tokenizer, limit)
    entry = _entry(base, limit, recipe)
    work = out.with_name(f".{out.name}.training")
    with locked(work):
        trainer = Trainer(base, settings)
        losses = trainer.train(encoded, work / CHECKPOINT, digest_json(recipe))
        with finished_folder(out) as part:
            trainer.save(part, entry["base"], entry.get("base_revision"))
            note = {"recipe": recipe, "examples": len(examples), "loss": losses, "model": entry}
            write_json(part / NOTE, {**note, "files": _digests(part)})
        shutil.rmtree(work, ignore_errors=True)
    log.info(f"{out}/: {WEIGHTS}, {ADAPTER}, {NOTE}; run it with --reranker {out} --family causal")


def _digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the adapter's files; any other file is the user's."""
    return {name: digest(folder / name) for name in (WEIGHTS, ADAPTER) if (folder / name).is_file()}


def _refuse_other_content(out: Path) -> None:
    """Raise :class:`DataError` if ``out`` is a file, or a folder that training did not write."""
    if out.exists() and not (out / NOTE).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out}: exists without {NOTE}, so training did not write it; give --out a new folder")


def _causal_config(base: Model) -> Any:
    """Return the configuration of ``base``; :class:`ModelError` if it is not a complete causal language model."""
    from transformers import AutoConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    folder = local_copy(base)
    if (folder / ADAPTER).is_file():
        raise ModelError(f"{base.source}: is an adapter; give its base, or merge the two and give that")
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=runs_remote_code(base))
    except (OSError, ValueError) as error:
        raise unusable(base.source, error) from error
    own = "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {})
    architectures = config.architectures or []
    names = ", ".join(architectures) or "no architecture named"
    if not own and MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(config.model_type) not in architectures:
        # transformers would load a BERT as causal too, and a model without its output layer with a random one
        raise ModelError(
            f"{base.source}: is a {config.model_type} ({names}), expected a "
            "causal language model with its output layer, such as mistralai/Mistral-7B-Instruct-v0.2"
        )
    return config


def _limit(max_length: int, tokenizer: Any, config: Any) -> int:
    """Return how many tokens a prompt may have: ``max_length``, or fewer if the base allows fewer."""
    positions = getattr(config.get_text_config(decoder=True), "max_position_embeddings", None)
    return int(min(max_length, tokenizer.model_max_length, positions or max_length))


def _recipe(data: Path, base: Model, template: Model, settings: TrainingSettings) -> Recipe:
    return {
        "train": VERSION,
        "data": digest(data),
        "settings": {**settings._asdict(), "device": place(settings.device)},
        "frame": {field: getattr(template, field) for field in TEMPLATE},
        "base": {"source": base.source, **fingerprint(base), "dtype": precision(base, settings.device)},
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
