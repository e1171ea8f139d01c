"""A causal language model learns, by LoRA, to answer with its word for yes or no."""

import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import HeedError
from heed.io.files import write_bytes, write_json
from heed.models.language_models import ADAPTER, load_network
from heed.models.registry import Model
from heed.models.yes_no import batches
from heed.progress import bar, log, timed
from heed.training.data import Row

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")  # FollowIR
CLIP = 1.0  # the longest gradient of a step: LLaMA-Factory's, with which FollowIR was trained
WEIGHTS = "adapter_model.safetensors"
MOMENTS = ("exp_avg", "exp_avg_sq")  # what AdamW knows of a weight


class Settings(NamedTuple):
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


class Learner:
    """A base with an adapter and its optimiser: AdamW without weight decay, the rate falling along a cosine."""

    def __init__(self, base: Model, settings: Settings) -> None:
        """Load ``base`` and put an adapter on it that changes nothing yet.

        Raises :class:`HeedError` for a base without the layers that FollowIR adapts.
        """
        import torch

        torch.manual_seed(_seed(settings, 0))
        self._network = _adapted(base, settings).train()
        self._weights = {name: one for name, one in self._network.named_parameters() if one.requires_grad}
        self._optimiser = torch.optim.AdamW(self._weights.values(), lr=settings.lr, weight_decay=0.0)
        self._settings = settings

    def learn(self, data: Sequence[Row], checkpoint: Path, key: str) -> list[float]:
        """Each epoch's loss, a mean over its examples as they came by.

        ``checkpoint`` is written after each epoch, and gone on from if it is one of ``key``.
        """
        losses = self._restore(checkpoint, key)
        per_epoch = math.ceil(len(data) / self._settings.batch)
        total = min(self._settings.steps or math.inf, self._settings.epochs * per_epoch)
        epochs = math.ceil(total / per_epoch)
        for epoch in range(len(losses), epochs):
            end = min((epoch + 1) * per_epoch, int(total))
            rates = [_rate(self._settings.lr, step / total) for step in range(epoch * per_epoch, end)]
            with timed("train", f"epoch {epoch + 1}") as work:
                losses.append(self._epoch(data, epoch, rates))
                work.did(len(data), "examples")
            log.info(f"epoch {epoch + 1} of {epochs}: loss {losses[-1]:.4f}")
            self._keep(checkpoint, {"key": key, "losses": losses, "steps": end})
        return losses

    def _epoch(self, data: Sequence[Row], epoch: int, rates: Sequence[float]) -> float:
        """One step for each of ``rates`` on examples in a new order; gives back their mean loss."""
        import torch

        torch.manual_seed(_seed(self._settings, epoch + 1))  # so that an epoch is the same after a kill
        order = torch.randperm(len(data)).tolist()
        seen, lost = 0, 0.0
        for at, rate in enumerate(bar(rates, len(rates), f"epoch {epoch + 1}", "steps")):
            rows = [data[one] for one in order[at * self._settings.batch : (at + 1) * self._settings.batch]]
            lost += self._step(rows, rate)
            seen += len(rows)
        return lost / seen

    def _step(self, rows: Sequence[Row], rate: float) -> float:
        """One step of the optimiser on the mean loss of ``rows``; gives back its sum before the step."""
        from torch.nn.utils import clip_grad_norm_

        for group in self._optimiser.param_groups:
            group["lr"] = rate
        told = 0.0
        for batch in batches([len(row.ids) for row in rows]):
            loss = self._loss([rows[at] for at in batch])
            (loss / len(rows)).backward()
            told += loss.item()
        if not math.isfinite(told):
            raise HeedError(f"the loss is {told}: training went astray; lower --lr")
        clip_grad_norm_(self._weights.values(), CLIP)
        self._optimiser.step()
        self._optimiser.zero_grad()
        return told

    def _loss(self, rows: Sequence[Row]) -> Any:
        """The summed cross-entropy of the answers, over the whole vocabulary and in float32."""
        import torch

        from heed.models.logits import padded

        ids, mask = padded([row.ids for row in rows], "left", self._network.device)
        logits = self._network(
            input_ids=ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0),
            use_cache=False,
            logits_to_keep=1,
        ).logits[:, -1]
        answers = torch.tensor([row.answer for row in rows], device=ids.device)
        return torch.nn.functional.cross_entropy(logits.float(), answers, reduction="sum")

    def _keep(self, path: Path, told: dict[str, Any]) -> None:
        from safetensors.torch import save

        tensors = {name: one.detach().cpu() for name, one in self._weights.items()}
        for name, one in self._weights.items():
            tensors |= {f"{moment}.{name}": self._optimiser.state[one][moment].cpu() for moment in MOMENTS}
        write_bytes(path, save(tensors, {"training": json.dumps(told)}))

    def _restore(self, path: Path, key: str) -> list[float]:
        """Take weights and optimiser from a checkpoint of ``key``; gives back its losses, none without one."""
        import torch
        from safetensors import safe_open

        if not path.exists():
            return []
        with safe_open(path, "pt") as stored:
            told = json.loads(stored.metadata()["training"])
            if told["key"] != key:
                return []
            state: dict[int, Any] = {}
            for at, (name, one) in enumerate(self._weights.items()):
                one.data.copy_(stored.get_tensor(name))
                moments = {moment: stored.get_tensor(f"{moment}.{name}") for moment in MOMENTS}
                state[at] = {"step": torch.tensor(float(told["steps"])), **moments}
        self._optimiser.load_state_dict({**self._optimiser.state_dict(), "state": state})
        losses: list[float] = told["losses"]
        log.info(f"going on after epoch {len(losses)}, whose weights were kept")
        return losses

    def save(self, folder: Path, base: str, revision: str | None) -> None:
        """Write the adapter and its configuration as PEFT reads them, ``base`` and ``revision`` named in it."""
        from peft import get_peft_model_state_dict
        from safetensors.torch import save

        tensors = get_peft_model_state_dict(self._network, save_embedding_layers=False)
        write_bytes(folder / WEIGHTS, save({name: one.cpu() for name, one in tensors.items()}, {"format": "pt"}))
        config = self._network.peft_config["default"]
        config.base_model_name_or_path, config.revision, config.inference_mode = base, revision, True
        config.save_pretrained(str(folder))
        written = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
        written["target_modules"].sort()  # PEFT keeps a set, whose order differs between processes
        write_json(folder / ADAPTER, written)


def _adapted(base: Model, settings: Settings) -> Any:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # --quiet would not silence it
    network = load_network(base, settings.device, AutoModelForCausalLM)
    missing = set(PROJECTIONS) - {name.rpartition(".")[2] for name, _ in network.named_modules()}
    if missing:
        raise HeedError(
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
        if network.device.type == "cuda":  # time for memory: 7 billion parameters leave little room beside them
            network.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        return get_peft_model(network, adapter)


def _seed(settings: Settings, epoch: int) -> int:
    """A seed for each epoch from 1, and for the adapter's first weights (0), so that none depends on those before."""
    return (settings.seed << 16) + epoch


def _rate(highest: float, done: float) -> float:
    """The learning rate when the share ``done`` of the steps is: a cosine to 0, LLaMA-Factory's choice for FollowIR."""
    return highest * 0.5 * (1 + math.cos(math.pi * done))
