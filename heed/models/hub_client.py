"""The client of the Hugging Face hub as Heed uses it: where its cache is, what it says, what it leaves behind."""

import logging
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from heed.progress import logging_only, quiet


def cache_of(name: str, kind: str) -> Path:
    """The folder of a ``model`` or ``dataset`` in the hub's cache, as ``HF_HOME`` or ``HF_HUB_CACHE`` place it."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE).expanduser() / f"{kind}s--{name.replace('/', '--')}"


def quiet_hub() -> AbstractContextManager[None]:
    """Keep the client's own retry messages away: its last error says it all."""
    return logging_only("huggingface_hub", logging.CRITICAL)


@contextmanager
def fetching(name: str, kind: str) -> Iterator[None]:
    """A download of a ``model`` or ``dataset``: progress on terminals only, and nothing half-fetched stays."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if quiet() or not sys.stderr.isatty():
        disable_progress_bars()
    try:
        with quiet_hub():
            yield
    finally:
        _sweep(cache_of(name, kind))


def _sweep(folder: Path) -> None:
    """Remove what killed downloads left, which the client never does.

    The client holds a lock for each file that it downloads, so what another process downloads now stays.
    """
    from filelock import FileLock, Timeout

    for path in folder.glob("blobs/*.incomplete"):
        lock = folder.parent / ".locks" / folder.name / f"{path.name.partition('.')[0]}.lock"
        if lock.exists():
            with suppress(Timeout), FileLock(lock, timeout=0):
                path.unlink(missing_ok=True)
