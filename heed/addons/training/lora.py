"""Train a reranker with FollowIR's recipe: from lines of examples to a folder with a LoRA adapter.

A causal language model learns to answer a prompt with its token for yes or no.
"""

import json
import math
import shutil
import warnings
from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from heed.compute import Compute, described
from heed.errors import DataError, ModelError, UsageError, fail
from heed.files import digest, digest_json, finished, finished_folder, locked, read_objects, write_bytes, write_json
from heed.models.files import ADAPTER, fingerprint, local_copy
from heed.models.language_models import entry_ids, load_config, load_network, load_tokenizer
from heed.models.local import NEXT_WORD_TOKENS, batches, precision
from heed.models.registry.entries import Model
from heed.models.text import Prompts, query_text
from heed.progress import bar, log, timed
from heed.reuse import Note, Recipe, rebuild_reason, recipe_version, write_note
from heed.types import Document

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")  # FollowIR
CLIP = 1.0  # a step's largest gradient norm: that of LLaMA-Factory, with which FollowIR was trained
WEIGHTS = "adapter_model.safetensors"

NOTE, CHECKPOINT = "training.json", "checkpoint.pt"
SEEDS = 2**32
# the fields that scoring must share with training
TEMPLATE = ("family", "query", "document", "prompt", "bare", "task", "tokens")
TEXTS = ("query", "instruction", "document")  # with label the fields of jhu-clsp/FollowIR-train, which is read as it is
MAY_BE_EMPTY = "instruction"
LABELS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class TrainingSettings:
    """How to train; the defaults are FollowIR's (Weller et al., 2024)."""

    epochs: int = described(8, "how often each example is seen", metavar="N")
    lr: float = described(3e-5, "highest learning rate", metavar="RATE", type=float)
    batch: int = described(32, "examples per step", metavar="N")
    max_length: int = described(2048, "most tokens of a prompt; the document is cut", metavar="N")
    rank: int = described(8, "LoRA's r", metavar="N")
    alpha: int = described(16, "LoRA's α", metavar="N")
    seed: int = described(0, "of first weights and order", metavar="SEED", type=int)
    steps: int | None = described(None, "stop after N steps, for a trial", metavar="N")
    device: str = "auto"

    def check(self) -> None:
        """Raise :class:`UsageError` for numbers that training cannot have."""
        if not 0 < self.lr < 1:
            raise UsageError(f"lr: found {self.lr}, expected a number between 0 and 1")
        if not 0 <= self.seed < SEEDS:
            raise UsageError(f"seed: found {self.seed}, expected 0 to {SEEDS - 1}")


class EncodedExample(NamedTuple):
    """An example as vocabulary ids: the prompt's, and the answer's."""

    ids: "array[int]"
    answer: int


class Trainer:
    """A base with an adapter and its optimiser: AdamW without weight decay, with a cosine schedule."""

    def __init__(self, base: Model, settings: TrainingSettings) -> None:
        """Load ``base`` with an adapter that changes nothing yet.

        Raises :class:`ModelError` for a base without the layers that FollowIR adapts.
        """
        import torch

        torch.manual_seed(_seed(settings, 0))
        self._network = _adapted(base, settings).train()
        named = self._network.named_parameters()
        self._weights = {name: weight for name, weight in named if weight.requires_grad}
        self._optimiser = torch.optim.AdamW(self._weights.values(), lr=settings.lr, weight_decay=0.0)
        self._settings = settings

    def train(self, examples: Sequence[EncodedExample], checkpoint: Path, key: str) -> list[float]:
        """Train, and return the mean loss of each epoch.

        ``checkpoint`` is written after each epoch; training resumes from one of the same ``key``.
        """
        losses = self._restore(checkpoint, key)
        per_epoch = math.ceil(len(examples) / self._settings.batch)
        total = min(self._settings.steps or math.inf, self._settings.epochs * per_epoch)
        epochs = math.ceil(total / per_epoch)
        for epoch in range(len(losses), epochs):
            end = min((epoch + 1) * per_epoch, int(total))
            rates = [_rate(self._settings.lr, step / total) for step in range(epoch * per_epoch, end)]
            with timed("train", f"epoch {epoch + 1}") as work:
                losses.append(self._epoch(examples, epoch, rates))
                work.did(len(examples), "examples")
            log.info(f"epoch {epoch + 1} of {epochs}: loss {losses[-1]:.4f}")
            self._write_checkpoint(checkpoint, {"key": key, "losses": losses})
        return losses

    def _epoch(self, examples: Sequence[EncodedExample], epoch: int, rates: Sequence[float]) -> float:
        """Take a step for each of ``rates`` on the examples in a new order, and return their mean loss."""
        import torch

        torch.manual_seed(_seed(self._settings, epoch + 1))  # so that an epoch is the same after a kill
        order = torch.randperm(len(examples)).tolist()
        size = self._settings.batch
        seen, loss = 0, 0.0
        for step, rate in enumerate(bar(rates, len(rates), f"epoch {epoch + 1}", "steps")):
            batch = [examples[i] for i in order[step * size : (step + 1) * size]]
            loss += self._step(batch, rate)
            seen += len(batch)
        return loss / seen

    def _step(self, examples: Sequence[EncodedExample], rate: float) -> float:
        """Take a step of the optimiser on the mean loss of ``examples``, and return their summed loss before it."""
        from torch.nn.utils import clip_grad_norm_

        for group in self._optimiser.param_groups:
            group["lr"] = rate
        total = 0.0
        for batch in batches([len(example.ids) for example in examples], NEXT_WORD_TOKENS):
            loss = self._loss([examples[i] for i in batch])
            (loss / len(examples)).backward()
            total += loss.item()
        if not math.isfinite(total):
            raise ModelError(f"the loss is {total}: training diverged; lower the learning rate (lr)")
        clip_grad_norm_(self._weights.values(), CLIP)
        self._optimiser.step()
        self._optimiser.zero_grad()
        return total

    def _loss(self, examples: Sequence[EncodedExample]) -> Any:
        """Return the summed cross-entropy of the answers, over the whole vocabulary and in float32."""
        import torch

        from heed.models.engine import padded

        ids, mask = padded([example.ids for example in examples], "left", self._network.device)
        logits = self._network(
            input_ids=ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0),
            use_cache=False,
            logits_to_keep=1,
        ).logits[:, -1]
        answers = torch.tensor([example.answer for example in examples], device=ids.device)
        return torch.nn.functional.cross_entropy(logits.float(), answers, reduction="sum")

    def _write_checkpoint(self, path: Path, progress: dict[str, Any]) -> None:
        import torch

        weights = {name: weight.detach() for name, weight in self._weights.items()}
        with finished(path) as stream:
            torch.save({**progress, "weights": weights, "optimiser": self._optimiser.state_dict()}, stream)

    def _restore(self, path: Path, key: str) -> list[float]:
        """Restore weights and optimiser from a checkpoint of ``key`` and return its losses; none without one."""
        import torch

        if not path.exists():
            return []
        stored = torch.load(path, map_location="cpu", weights_only=True)
        if stored["key"] != key:
            return []
        for name, weight in self._weights.items():
            weight.data.copy_(stored["weights"][name])
        self._optimiser.load_state_dict(stored["optimiser"])
        losses: list[float] = stored["losses"]
        log.info(f"resuming after epoch {len(losses)}")
        return losses

    def save(self, folder: Path, base: str, revision: str | None) -> None:
        """Write the adapter and its configuration as PEFT reads them, with the names ``base`` and ``revision``."""
        from peft import get_peft_model_state_dict
        from safetensors.torch import save

        tensors = get_peft_model_state_dict(self._network, save_embedding_layers=False)
        write_bytes(folder / WEIGHTS, save({name: weight.cpu() for name, weight in tensors.items()}, {"format": "pt"}))
        config = self._network.peft_config["default"]
        config.base_model_name_or_path, config.revision, config.inference_mode = base, revision, True
        config.save_pretrained(str(folder))
        written = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
        written["target_modules"].sort()  # PEFT keeps a set, whose order differs between processes
        write_json(folder / ADAPTER, written)


def _adapted(base: Model, settings: TrainingSettings) -> Any:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    network = load_network(base, Compute(settings.device), AutoModelForCausalLM)
    missing = set(PROJECTIONS) - {name.rpartition(".")[2] for name, _ in network.named_modules()}
    if missing:
        raise ModelError(
            f"{base.source}: a {type(network).__name__} has no layers called {', '.join(sorted(missing))}, which "
            "FollowIR's recipe adapts; give a base of the form of Llama, Mistral or Qwen"
        )
    adapter = LoraConfig(
        r=settings.rank, lora_alpha=settings.alpha, target_modules=list(PROJECTIONS), task_type="CAUSAL_LM"
    )
    with warnings.catch_warnings():
        # names that transformers 5.23 is about to change; PEFT 0.21 and transformers 5.0 know no others
        renamed = "`(is_gradient_checkpointing|gradient_checkpointing_enable)`"
        warnings.filterwarnings("ignore", renamed, FutureWarning)
        if network.device.type == "cuda":  # slower, but 7 billion parameters leave little memory for activations
            network.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        return get_peft_model(network, adapter)


def _seed(settings: TrainingSettings, epoch: int) -> int:
    """Return the seed of an epoch from 1, or of the adapter's first weights (0); none depends on those before."""
    return (settings.seed << 16) + epoch


def _rate(highest: float, done: float) -> float:
    """Return the learning rate after the share ``done`` of the steps: a cosine to 0, as in FollowIR's training."""
    return highest * 0.5 * (1 + math.cos(math.pi * done))


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
    no room for a document, :class:`UsageError` for numbers that cannot be.
    """
    settings.check()
    out = out.resolve()
    if out.exists() and not (out / NOTE).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out}: exists without {NOTE}, so training did not write it; give a new folder")
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
    log.info(f"{out}/: {WEIGHTS}, {ADAPTER}, {NOTE}; use {out} as a reranker")


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
        "settings": {**asdict(settings), "device": Compute(settings.device).torch_device},
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
