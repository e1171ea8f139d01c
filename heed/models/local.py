"""A model of this machine: loaded at its first use, unloaded, and its texts divided into batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

from heed.compute import Compute
from heed.errors import ModelError, first_line
from heed.models.files import fingerprint, runs_remote_code
from heed.models.registry.entries import Model
from heed.process import free_memory
from heed.progress import log, stepped
from heed.types import Config, System

TOKENS = 32 * 512  # a batch's rows times its longest: sentence-transformers' 32 texts, at a BERT's full length
TOKENS_CPU = 1024  # the same on a CPU, so that results stay in its cache: a seventh less time than 4096 for BERTs
NEXT_WORD_TOKENS = 8192  # of language models' prompts; keeps a GPU busy with 7 billion weights within 4 GB

Value = TypeVar("Value")


class LocalModel(System):
    """A model of this machine: its name and ``config``, loading at its first use, and unloading."""

    config: Config

    def __init__(self, model: Model, compute: Compute) -> None:
        """Find the files of ``model``, or fetch them; it is loaded when first used.

        Only safetensors weights are loaded, and code of the model's repository is run only where the user allowed it.
        Raises :class:`ModelError` for code that is not allowed, and if the model cannot be found.
        """
        runs_remote_code(model)  # checked before anything is fetched
        self.name = model.name
        self._model, self._compute = model, compute
        self.config = {**self._identity(), **self._recipe()}

    def _identity(self) -> Config:
        """Return the files and the precision of the model."""
        return {**fingerprint(self._model), "precision": precision(self._model, self._compute)}

    def _recipe(self) -> Config:
        """Return versions and constants of the code, which decide scores too."""
        return {}

    def _load(self) -> Any:
        """Return the loaded model, with all that refers to its network."""
        raise NotImplementedError

    @cached_property
    def _loaded(self) -> Any:
        return self._load()

    def load(self) -> None:
        """Load the model."""
        _ = self._loaded

    def close(self) -> None:
        """Unload the model and free its memory; a later use loads it again."""
        self.__dict__.pop("_loaded", None)
        free_memory()


def precision(model: Model, compute: Compute) -> str:
    """Return the name of the precision of weights: the user's, else float32 on a CPU, else the entry's.

    ``auto`` is that in which the weights are stored.
    """
    if compute.dtype != "auto":
        return compute.dtype
    return "float32" if compute.torch_device == "cpu" else model.dtype or "auto"


class Batches:
    """How the texts of one model are divided into batches; the division is halved when memory was too small once."""

    def __init__(self, name: str, device: Any, compute: Compute, tokens: int | None = None) -> None:
        """Bound a batch to the user's size and to ``tokens``, by default what suits ``device``, a torch device."""
        self._name, self._texts = name, compute.batch_size
        self._size = 0  # of the last batch
        self._tokens = tokens or (TOKENS_CPU if device.type == "cpu" else TOKENS)
        self._halved = False

    def read(self, lengths: Sequence[int], read: Callable[[list[int]], Iterable[Value]]) -> list[Value]:
        """Return a value for each text of ``lengths`` tokens, from what ``read`` returns for the texts of a batch.

        Longer texts are read first. Raises :class:`ModelError` where memory is too small for half of a batch too, and
        where the network cannot compute one.
        """
        values: dict[int, Value] = {}
        while missing := [position for position in range(len(lengths)) if position not in values]:
            problem = self._read(missing, lengths, read, values)
            if problem:
                self._halve(problem)
        return [values[position] for position in range(len(lengths))]

    def _read(
        self,
        missing: list[int],
        lengths: Sequence[int],
        read: Callable[[list[int]], Iterable[Value]],
        values: dict[int, Value],
    ) -> str:
        """Add the values of ``missing`` texts; return the error of a GPU whose memory is full, else an empty text."""
        from torch import OutOfMemoryError

        share = len(lengths) / max(sum(lengths), 1)  # of texts a token: the first batches are of the longest
        for batch in batches([lengths[position] for position in missing], self._tokens, self._texts):
            positions = [missing[index] for index in batch]
            self._size = len(positions)
            try:
                values.update(zip(positions, read(positions), strict=True))
                stepped(share * sum(lengths[position] for position in positions))
            except OutOfMemoryError as error:  # no more of it, as its frames hold tensors
                return f"{self._name}: {first_line(error).partition('. ')[0]}"
            except (RuntimeError, IndexError, ValueError) as error:  # torch's, for settings that it cannot compute
                raise ModelError(
                    f"{self._name}: the network cannot compute {self._size} texts of up to {lengths[positions[0]]} "
                    f"tokens ({first_line(error).partition('. ')[0]}); check config.json, or give another dtype=NAME"
                ) from error
        return ""

    def _halve(self, problem: str) -> None:
        import torch

        if self._halved or self._size == 1:
            raise ModelError(f"{problem}, for {self._size} texts at once; give a smaller batch_size=N or max_length=N")
        self._halved, self._texts, self._tokens = True, self._size // 2, self._tokens // 2
        torch.cuda.empty_cache()
        log.info(f"{problem}; batches are halved, to at most {self._texts} texts")


def batches(lengths: Sequence[int], tokens: int, most: int | None = None) -> Iterator[list[int]]:
    """Yield the positions in ``lengths`` that are read together, longest first.

    A batch has at most ``tokens`` with padding, and at most ``most`` texts; one longer than ``tokens`` is read alone.
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda position: -lengths[position]):
        if batch and ((len(batch) + 1) * lengths[batch[0]] > tokens or len(batch) == most):
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch
