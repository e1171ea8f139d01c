"""Causal language models in vLLM's offline engine, where the user asks for it; in transformers otherwise."""

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from heed.errors import HeedError
from heed.io.artifacts import Recipe
from heed.models.language_models import (
    ADAPTER,
    adapter_folder,
    base_of,
    load_config,
    place,
    precision,
    tokenizer_folder,
)
from heed.models.model_files import local_copy, runs_remote_code, unusable
from heed.models.registry import Model

INFERENCE = ("transformers", "vllm")
FAMILIES = ("causal", "reasoning", "listwise")  # what vLLM runs of those that transformers runs; no seq2seq
VERSION = 1  # raise when scores change
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # of LoRA adapters, as vLLM 0.32's LoRAConfig takes them
CPU_CACHE = 4 << 30  # bytes of keys and values on a CPU; without a figure vLLM takes 92% of all memory
FREE = 0.9  # of a GPU's memory that is free: vLLM counts in all of it, other models included
SETTINGS = {  # of vLLM's process, read when it is imported; what the user has set stays
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # nothing is left running when this process is killed
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # stdout has our tables
    "VLLM_NO_USAGE_STATS": "1",  # else it tells its makers' server what runs here
}
_inference = INFERENCE[0]
_opened: "VllmModel | None" = None  # an engine takes a GPU's memory, so there is one at a time


def set_inference(name: str) -> None:
    """Let rerankers made from now on run causal models by ``name``, one of ``INFERENCE``.

    Raises :class:`HeedError` where vLLM is asked for and not installed.
    """
    global _inference
    if name not in INFERENCE:
        raise HeedError(f"inference {name!r}, expected one of {', '.join(INFERENCE)}")
    if name == "vllm" and find_spec("vllm") is None:
        raise HeedError(
            "--inference vllm: vllm is not installed; install it with pip install 'heed[vllm]', or leave the option out"
        )
    _inference = name


def close_engine() -> None:
    """End the engine that is open, if one is; its memory is free for another model."""
    if _opened:
        _opened.close()


def by_vllm(model: Model) -> bool:
    """Whether ``model`` is run by vLLM: the user asked for it, and its family is one of ``FAMILIES``."""
    return _inference == "vllm" and model.family in FAMILIES


def recipe(model: Model) -> Recipe:
    """What :func:`by_vllm` adds to the recipe of a reranker: nothing for transformers."""
    return {"inference": ["vllm", VERSION]} if by_vllm(model) else {}


class Wanted(NamedTuple):
    """How an answer is written: tokens at least and at most, ids that end it, and a text that does."""

    least: int
    most: int
    ends: list[int]
    stop: str | None = None


class VllmModel:
    """A causal model in an engine of this process, opened when first asked.

    Prompts go in as the ids that Heed made of them. What several begin with vLLM reads once
    (automatic prefix caching), and it chooses its batches itself; answers keep the prompts' order.
    """

    def __init__(self, model: Model, device: str, length: int) -> None:
        """Take prompts that have with their answer at most ``length`` tokens."""
        self._model, self._device, self._length = model, device, length
        self._engine: Any = None
        self._adapter: Any = None

    def differences(self, prompts: Sequence[list[int]], entries: tuple[int, int]) -> list[float]:
        """``logit(yes) − logit(no)`` of the vocabulary ``entries`` no and yes after each prompt.

        ``logprob_token_ids`` gives just these two, however unlikely they are. With ``raw_logits``
        they come before any softmax, and the output layer is multiplied in float32, so that half
        precision makes no ties.
        """
        no, yes = entries
        settings = _vllm("SamplingParams")(temperature=0.0, max_tokens=1, logprob_token_ids=[no, yes], detokenize=False)
        found = [answer.logprobs[0] for answer in self._answers(prompts, settings)]
        return [float(logits[yes].logprob) - float(logits[no].logprob) for logits in found]

    def written(self, prompts: Sequence[list[int]], wanted: Wanted) -> list[list[int]]:
        """What the model writes after each prompt, always the likeliest token; what ended it is included."""
        settings = _vllm("SamplingParams")(
            temperature=0.0,
            min_tokens=wanted.least,
            max_tokens=wanted.most,
            stop_token_ids=wanted.ends,
            ignore_eos=True,  # those of the model's files; wanted.ends says which
            stop=wanted.stop,
            detokenize=wanted.stop is not None,
            skip_special_tokens=False,
        )
        return [list(answer.token_ids) for answer in self._answers(prompts, settings)]

    def open(self) -> Any:
        """The engine; that of another model is closed before."""
        global _opened
        if _opened is not self:
            close_engine()
            with _quiet():
                self._engine = self._start()
            _opened = self
        return self._engine

    def close(self) -> None:
        """End the engine and give its memory back."""
        global _opened
        self._engine.llm_engine.engine_core.shutdown()
        self._engine = _opened = None
        _vllm("cleanup_dist_env_and_memory", ".distributed")()

    def _answers(self, prompts: Sequence[list[int]], settings: Any) -> list[Any]:
        engine = self.open()
        asked = [{"prompt_token_ids": prompt} for prompt in prompts]
        try:
            with _quiet():
                found = engine.generate(asked, settings, lora_request=self._adapter, use_tqdm=False)
        except _errors() as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise HeedError(
                f"{self._model.source}: vLLM failed ({reason}); lower max_length, or use --inference transformers"
            ) from error
        for prompt, one in zip(prompts, found, strict=True):
            if list(one.prompt_token_ids) != prompt:
                raise HeedError(
                    f"{self._model.source}: vLLM read another prompt than was sent; use --inference transformers"
                )
        return [one.outputs[0] for one in found]

    def _start(self) -> Any:
        base = base_of(self._model)
        told = _on_device(self._device) | (self._adapted() if base else {})
        try:
            engine = _vllm("LLM")(
                str(local_copy(base or self._model)),
                tokenizer=str(tokenizer_folder(self._model)),
                skip_tokenizer_init=self._model.family != "reasoning",  # the only ones that stop at a text
                trust_remote_code=runs_remote_code(self._model),
                dtype=self._dtype(),
                hf_overrides=self._overrides(),
                load_format="safetensors",
                config_format="hf",
                generation_config="vllm",  # so that nothing of the model's own samples
                max_model_len=self._length,
                logprobs_mode="raw_logits",
                enable_prefix_caching=True,
                use_tqdm_on_load=False,
                **told,
            )
            if self._adapter:
                engine.llm_engine.add_lora(self._adapter)
        except _errors() as error:
            raise unusable(self._model.source, error) from error
        return engine

    def _dtype(self) -> str:
        """As transformers has it: vLLM's own ``auto`` makes half precision of float32 weights."""
        wanted = precision(self._model, self._device)
        weights = str(load_config(self._model).dtype or "float32").removeprefix("torch.")
        return weights if wanted == "auto" else wanted

    def _overrides(self) -> dict[str, Any]:
        """Changes of the configuration: a float32 output layer, and one token more than there are positions.

        vLLM counts the answer's last token in, which is never read.
        """
        positions = getattr(load_config(self._model), "max_position_embeddings", None) or 0
        longer = {"model_max_length": self._length} if self._length == positions + 1 else {}
        return {"head_dtype": "float32", **longer}

    def _adapted(self) -> dict[str, Any]:
        """Settings for an adapter, which is not merged; :class:`HeedError` for one that vLLM does not take."""
        folder = adapter_folder(self._model)
        told = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
        most = max([told.get("r") or 0, *(told.get("rank_pattern") or {}).values()])
        rank = next((rank for rank in RANKS if rank >= most), None)
        if rank is None:
            raise HeedError(
                f"{folder}: an adapter of rank {most}, vLLM takes {RANKS[-1]}; use --inference transformers"
            )
        self._adapter = _vllm("LoRARequest", ".lora.request")(self._model.name, 1, str(folder))
        return {"enable_lora": True, "max_lora_rank": rank}


def _on_device(device: str) -> dict[str, Any]:
    """Settings for ``device``; :class:`HeedError` where the vLLM that is installed was built for another."""
    import torch

    built = _vllm("current_platform", ".platforms").device_type
    if place(device) != built:
        raise HeedError(f"--device {device}: the vLLM that is installed runs on {built}; use --inference transformers")
    if built == "cpu":  # compiling takes a minute and a C++ compiler, and saves little there
        return {"kv_cache_memory_bytes": CPU_CACHE, "enforce_eager": True}
    free, total = torch.cuda.mem_get_info()
    return {"gpu_memory_utilization": FREE * free / total}


def _vllm(name: str, part: str = "") -> Any:
    """What vLLM, or a part of it, calls ``name``; before the first import its process's settings are made."""
    for variable, value in SETTINGS.items():
        os.environ.setdefault(variable, value)
    try:
        with _quiet():
            return getattr(import_module(f"vllm{part}"), name)
    except (ImportError, AttributeError) as error:
        raise HeedError(
            f"vllm {name}: cannot be imported ({error}); install it with pip install 'heed[vllm]'"
        ) from error


def _errors() -> tuple[type[Exception], ...]:
    return OSError, ValueError, RuntimeError, ImportError, _vllm("VLLMError", ".exceptions")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of vLLM about itself: nothing that a user could do about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
