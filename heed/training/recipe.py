"""From lines of examples to a folder with an adapter that reranks: FollowIR's recipe."""

import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

from heed.errors import HeedError
from heed.io.artifacts import Recipe, difference
from heed.io.files import digest, digest_json, finished_folder, locked, write_json
from heed.models.language_models import ADAPTER, load_tokenizer, place, precision
from heed.models.model_files import fingerprint, local_copy, runs_remote_code, unusable
from heed.models.registry import Model
from heed.progress import log
from heed.training.data import read_examples, rows
from heed.training.learner import WEIGHTS, Learner, Settings

NOTE, CHECKPOINT = "training.json", "checkpoint.safetensors"
FRAME = ("family", "query", "document", "prompt", "bare", "task", "tokens")  # what scoring must share with training
VERSION = 1  # raise when the adapter changes


def train(data: Path, base: Model, frame: Model, settings: Settings, out: Path) -> None:
    """Train an adapter of ``base`` on the examples of ``data`` and leave it in the folder ``out``, whole or not at all.

    ``frame`` gives templates, prompt and tokens. A folder that was made so from the same data is
    left as it is. A run that was killed goes on after its last whole epoch and, on a CPU with as
    many threads, ends with the same bytes. Raises :class:`HeedError` for bad lines, a base that
    cannot be trained, a prompt that leaves no room for a document, and an ``out`` with other content.
    """
    out = out.resolve()
    _refuse_other_content(out)
    examples = read_examples(data)
    base = base._replace(source=str(Path(base.source).resolve())) if Path(base.source).is_dir() else base
    config = _causal_config(base)
    recipe = _recipe(data, base, frame, settings)
    reason = difference(out / NOTE, recipe, lambda made: _files(out) == made["files"])
    if reason is None:
        log.info(f"{out}: used again, data and settings are the same")
        return
    log.info(f"{out}: {reason}; {len(examples)} examples, {sum(one.label for one in examples)} of them true")
    tokenizer = load_tokenizer(base)
    limit = _limit(settings.max_length, tokenizer, config)
    prompts = rows(examples, frame._replace(source=base.source), tokenizer, limit)
    entry = _entry(base, frame, limit, recipe)
    work = out.with_name(f".{out.name}.training")
    with locked(work):
        learner = Learner(base, settings)
        losses = learner.learn(prompts, work / CHECKPOINT, digest_json(recipe))
        with finished_folder(out) as part:
            learner.save(part, entry["base"], entry.get("base_revision"))
            note = {"recipe": recipe, "examples": len(examples), "loss": losses, "model": entry}
            write_json(part / NOTE, {**note, "files": _files(part)})
        shutil.rmtree(work, ignore_errors=True)
    log.info(f"{out}/: {WEIGHTS}, {ADAPTER}, {NOTE}; run it with --reranker {out} --family causal")


def _files(folder: Path) -> dict[str, str]:
    """SHA-256 of the adapter's files; another file beside them is the user's own."""
    return {name: digest(folder / name) for name in (WEIGHTS, ADAPTER) if (folder / name).is_file()}


def _refuse_other_content(out: Path) -> None:
    """Keep a folder, or a file, that this did not make from being replaced."""
    if out.exists() and not (out / NOTE).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise HeedError(f"{out}: is there and holds no {NOTE}, so something else made it; give --out a new folder")


def _causal_config(base: Model) -> Any:
    """The configuration of ``base``; :class:`HeedError` if it is no whole causal language model."""
    from transformers import AutoConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    folder = local_copy(base)
    if (folder / ADAPTER).is_file():
        raise HeedError(f"{base.source}: is an adapter; give its base, or merge the two and give that")
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=runs_remote_code(base))
    except (OSError, ValueError) as error:
        raise unusable(base.source, error) from error
    own = "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {})
    found = config.architectures or []
    if not own and MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(config.model_type) not in found:
        # transformers would load a BERT as causal too, and a model without its output layer with a random one
        raise HeedError(
            f"{base.source}: is a {config.model_type} ({', '.join(found) or 'no architecture named'}), expected a "
            "causal language model with its output layer, such as mistralai/Mistral-7B-Instruct-v0.2"
        )
    return config


def _limit(asked: int, tokenizer: Any, config: Any) -> int:
    """How many tokens a prompt may have: ``asked``, or fewer where the base's tokenizer or positions end before."""
    positions = getattr(config.get_text_config(decoder=True), "max_position_embeddings", None)
    return int(min(asked, tokenizer.model_max_length, positions or asked))


def _recipe(data: Path, base: Model, frame: Model, settings: Settings) -> Recipe:
    return {
        "train": VERSION,
        "data": digest(data),
        "settings": {**settings._asdict(), "device": place(settings.device)},
        "frame": {field: getattr(frame, field) for field in FRAME},
        "base": {**fingerprint(base), "dtype": precision(base, settings.device)},
        "versions": {name: version(name) for name in ("torch", "transformers", "peft")},
    }


def _entry(base: Model, frame: Model, limit: int, recipe: Recipe) -> Recipe:
    """The adapter as an entry of ``registry.json``, so that it is scored as it was trained."""
    entry = {
        **recipe["frame"],
        "max_length": limit,
        "dtype": base.dtype,
        "base": base.source,
        "base_revision": recipe["base"].get("commit"),  # None for a local folder
        "remote_code": base.remote_code or None,
    }
    return {field: value for field, value in entry.items() if value is not None}
