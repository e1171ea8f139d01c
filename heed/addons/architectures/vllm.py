"""Causal language models in vLLM's offline engine, where the user chooses it; in transformers otherwise."""

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from heed.compute import VLLM, Compute
from heed.errors import ModelError, UsageError, first_line
from heed.models.files import ADAPTER, local_copy, runs_remote_code, unusable
from heed.models.language_models import adapter_folder, base_of, load_config, tokenizer_folder
from heed.models.local import precision
from heed.models.registry.entries import Model

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # of LoRA adapters, as vLLM 0.32's LoRAConfig takes them
CPU_CACHE = 4 << 30  # bytes of keys and values on a CPU; without a figure vLLM takes 92% of all memory
FREE = 0.9  # of a GPU's memory that is free: vLLM counts in all of it, other models included
SETTINGS = {  # environment variables that vLLM reads when it is imported; the user's own values stay
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # nothing is left running when this process is killed
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # stdout is for our tables
    "VLLM_NO_USAGE_STATS": "1",  # else it reports to its makers what runs here
}


class VllmModel:
    """A causal model in an engine of this process, which takes most of a GPU's memory until it is closed.

    Prompts are passed as token ids. vLLM reads what several begin with once (automatic prefix
    caching) and chooses its batches itself; answers keep the prompts' order.
    """

    def __init__(self, model: Model, compute: Compute, length: int) -> None:
        """Open the engine for prompts that have at most ``length`` tokens together with their answer."""
        self._model, self._compute, self._length = model, compute, length
        self._engine: Any = None
        self._adapter: Any = None
        with _quiet():
            self._engine = self._start()

    def logits(self, prompts: Sequence[list[int]], entries: tuple[int, ...]) -> list[list[float]]:
        """Return the logits of the vocabulary ``entries`` after each prompt.

        ``logprob_token_ids`` gives just these, however unlikely they are. With ``raw_logits``
        they precede any softmax, and the output layer is computed in float32, so that half
        precision makes no ties.
        """
        token_ids = list(entries)
        settings = _vllm("SamplingParams")(temperature=0.0, max_tokens=1, logprob_token_ids=token_ids, detokenize=False)
        answers = [answer.logprobs[0] for answer in self._answers(prompts, settings)]
        return [[float(logits[entry].logprob) for entry in entries] for logits in answers]

    def generate(
        self, prompts: Sequence[list[int]], least: int, most: Sequence[int], ends: list[int], stop: str | None = None
    ) -> list[list[int]]:
        """Return ``least`` to ``most`` ids that the model generates after each prompt, greedily.

        The ids ``ends`` and the text ``stop`` end an answer, and are included in it.
        """
        settings = _vllm("SamplingParams")(
            temperature=0.0,
            min_tokens=least,
            max_tokens=max(most),
            stop_token_ids=ends,
            ignore_eos=True,  # those of the model's files; ``ends`` says which
            stop=stop,
            detokenize=stop is not None,
            skip_special_tokens=False,
        )
        answers = self._answers(prompts, settings)
        return [list(answer.token_ids)[:room] for answer, room in zip(answers, most, strict=True)]

    def close(self) -> None:
        """End the engine, if it is open, and give its memory back."""
        if self._engine is not None:
            self._engine.llm_engine.engine_core.shutdown()
            self._engine = self._adapter = None
            _vllm("cleanup_dist_env_and_memory", ".distributed")()

    def _answers(self, prompts: Sequence[list[int]], settings: Any) -> list[Any]:
        inputs = [{"prompt_token_ids": prompt} for prompt in prompts]
        try:
            with _quiet():
                outputs = self._engine.generate(inputs, settings, lora_request=self._adapter, use_tqdm=False)
        except _errors() as error:
            raise ModelError(
                f"{self._model.source}: vLLM failed ({first_line(error)}); give a smaller max_length=N, or "
                "inference=transformers"
            ) from error
        return [output.outputs[0] for output in outputs]

    def _start(self) -> Any:
        base = base_of(self._model)
        options = _device_options(self._compute) | (self._adapter_options() if base else {})
        if self._compute.batch_size:
            options["max_num_seqs"] = self._compute.batch_size
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
                **options,
            )
            if self._adapter:
                engine.llm_engine.add_lora(self._adapter)
        except _errors() as error:
            raise unusable(self._model.source, error) from error
        return engine

    def _dtype(self) -> str:
        """Return transformers' choice: vLLM's own ``auto`` turns float32 weights into half precision."""
        dtype = precision(self._model, self._compute)
        weights = str(load_config(self._model).dtype or "float32").removeprefix("torch.")
        return weights if dtype == "auto" else dtype

    def _overrides(self) -> dict[str, Any]:
        """Return changes of the configuration: a float32 output layer, and one token more than there are positions.

        vLLM counts the answer's last token, which is never read.
        """
        positions = getattr(load_config(self._model), "max_position_embeddings", None) or 0
        longer = {"model_max_length": self._length} if self._length == positions + 1 else {}
        return {"head_dtype": "float32", **longer}

    def _adapter_options(self) -> dict[str, Any]:
        """Return settings for an adapter, which is not merged; :class:`ModelError` for a rank that vLLM refuses."""
        folder = adapter_folder(self._model)
        adapter = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
        most = max([adapter.get("r") or 0, *(adapter.get("rank_pattern") or {}).values()])
        rank = next((rank for rank in RANKS if rank >= most), None)
        if rank is None:
            raise ModelError(f"{folder}: an adapter of rank {most}, vLLM takes {RANKS[-1]}; use transformers")
        self._adapter = _vllm("LoRARequest", ".lora.request")(self._model.name, 1, str(folder))
        return {"enable_lora": True, "max_lora_rank": rank}


def _device_options(compute: Compute) -> dict[str, Any]:
    """Return settings for the device; :class:`UsageError` where the installed vLLM was built for another."""
    import torch

    built = _vllm("current_platform", ".platforms").device_type
    if compute.torch_device != built:
        raise UsageError(
            f"device: found {compute.device}, but the vLLM that is installed runs on {built}; give "
            "inference=transformers"
        )
    if built == "cpu":  # compiling takes a minute and a C++ compiler, and saves little there
        return {"kv_cache_memory_bytes": CPU_CACHE, "enforce_eager": True}
    free, total = torch.cuda.mem_get_info()
    return {"gpu_memory_utilization": FREE * free / total}


def _vllm(name: str, part: str = "") -> Any:
    """Return ``name`` of vLLM, or of a part of it; its environment variables are set before the first import."""
    for variable, value in SETTINGS.items():
        os.environ.setdefault(variable, value)
    try:
        with _quiet():
            return getattr(import_module(f"vllm{part}"), name)
    except (ImportError, AttributeError) as error:
        raise ModelError(f"vllm {name}: cannot be imported ({error}); install it with pip install '{VLLM}'") from error


def _errors() -> tuple[type[Exception], ...]:
    return OSError, ValueError, RuntimeError, ImportError, _vllm("VLLMError", ".exceptions")


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress vLLM's warnings about itself, about which a user can do nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
