"""Memory that is given back after a system's last run."""

import gc
import sys


def free_memory() -> None:
    """Give memory that nothing refers to back to the operating system, and to the GPU."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
