"""What a system has loaded is let go after its last run, so that there is one model at a time in memory."""

import gc
import sys
from functools import cached_property
from typing import Any


def release(system: Any) -> None:
    """Forget what ``system`` and the systems it is made of have loaded; asked again, they load it again.

    A system is what has a ``recipe``; what it loads is held by its ``cached_property`` attributes.
    """
    _forget(system)
    free_memory()


def free_memory() -> None:
    """Give what nothing refers to back to the system, and to the GPU."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _forget(system: Any) -> None:
    held = vars(system)
    for name in [name for name in held if isinstance(getattr(type(system), name, None), cached_property)]:
        del held[name]
    for part in list(held.values()):
        if hasattr(part, "recipe") and hasattr(part, "__dict__"):
            _forget(part)
