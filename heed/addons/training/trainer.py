"""Train a causal language model with LoRA to answer with its token for yes or no."""

import json
import math
import warnings
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heed.compute import Compute
from heed.errors import ModelError
from heed.files import finished, write_bytes, write_json
from heed.models.local.language_models import ADAPTER, load_network
from heed.models.registry.entries import Model
from heed.models.text.batches import NEXT_WORD_TOKENS, batches
from heed.progress import bar, log, timed

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")  # FollowIR
CLIP = 1.0  # a step's largest gradient norm: that of LLaMA-Factory, with which FollowIR was trained
WEIGHTS = "adapter_model.safetensors"


class TrainingSettings(NamedTuple):
    """How to train; the defaults are FollowIR's (Weller et al., 2024). ``steps``: stop after so many."""

    epochs: int = 8
    lr: float = 3e-5
    batch: int = 32
    max_length: int = 2048
    rank: int = 8
    alpha: int = 16
    seed: int = 0
    steps: int | None = None
    device: str = "auto"


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
            raise ModelError(f"the loss is {total}: training diverged; lower --lr")
        clip_grad_norm_(self._weights.values(), CLIP)
        self._optimiser.step()
        self._optimiser.zero_grad()
        return total

    def _loss(self, examples: Sequence[EncodedExample]) -> Any:
        """Return the summed cross-entropy of the answers, over the whole vocabulary and in float32."""
        import torch

        from heed.models.local.logits import padded

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
