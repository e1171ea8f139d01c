"""How the models of an experiment are run, and how their memory is freed."""

from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import UsageError
from heed.memory import free_memory

DTYPES = ("auto", "float32", "bfloat16", "float16")
BACKENDS = ("torch", "openvino")  # of sentence-transformers
OPENVINO = "optimum-intel 2.2 with transformers 5.0 to 5.5 (docs/installation.md)"


class Runtime(NamedTuple):
    """The settings with which models are run, the same for all models of an experiment.

    ``device`` is ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``; ``inference``, ``transformers`` or ``vllm``, runs
    language models; ``answers`` is the folder with the answers of paid APIs.
    ``dtype``, one of ``DTYPES``, is the precision of weights, ``auto`` float32 on a CPU and the model's own elsewhere.
    ``max_length`` bounds a model's input in tokens. ``backend``, one of ``BACKENDS``, computes bi-encoders and
    cross-encoders. Precision, lengths and backend are part of a model's ``config``. ``batch_size`` is the most texts
    in a batch, None for as many as a number of tokens allows; it changes no score but for rounding.
    """

    device: str = "auto"
    inference: str = "transformers"
    answers: Path = Path("indexes") / "api"
    dtype: str = DTYPES[0]
    max_length: int | None = None
    backend: str = BACKENDS[0]
    batch_size: int | None = None

    def check(self) -> None:
        """Raise :class:`UsageError` for an unknown value, and for settings that do not go together."""
        for name, value, known in (("dtype", self.dtype, DTYPES), ("backend", self.backend, BACKENDS)):
            if value not in known:
                raise UsageError(f"{name}: found {value!r}, expected one of {', '.join(known)}")
        for name, number in (("max_length", self.max_length), ("batch_size", self.batch_size)):
            if number is not None and number < 1:
                raise UsageError(f"{name}: found {number}, expected at least 1")
        if self.backend == BACKENDS[0]:
            return
        if self.inference != "transformers":
            raise UsageError(f"backend {self.backend} with inference {self.inference}: leave one of them out")
        if self.dtype not in ("auto", "float32") or self.device not in ("auto", "cpu"):
            raise UsageError(f"backend {self.backend}: runs in float32 on a CPU; leave dtype and device out")
        _require_openvino()

    def without_numbers(self) -> "Runtime":
        """Return the settings that load a network's layers in torch, without the numbers of its weights."""
        return self._replace(device="meta", backend=BACKENDS[0])


def _require_openvino() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        version("optimum-intel")
        version("openvino")
    except PackageNotFoundError as error:
        raise UsageError(
            f"backend openvino: the package {error.name} is not installed; it needs an environment of its own with "
            f"{OPENVINO}; or leave the backend out"
        ) from error


DEFAULT = Runtime()


def unload(system: Any, *names: str) -> None:
    """Close and drop the attributes ``names`` of ``system``, which hold what it has loaded, and free their memory."""
    if not vars(system).keys() & names:  # nothing was loaded
        return
    for name in names:
        if hasattr(vars(system).get(name), "close"):
            vars(system)[name].close()
        vars(system).pop(name, None)  # no variable may refer to it now
    free_memory()


def on_device(features: Any, device: Any) -> dict[str, Any]:
    """Return a model's input with its tensors on ``device``."""
    return {name: value.to(device) if hasattr(value, "to") else value for name, value in features.items()}
