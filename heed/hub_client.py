"""The hub's client (huggingface_hub) as Heed uses it: where its cache is, and downloads that leave nothing behind."""

import logging
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from heed.progress import logging_only, quiet


def cache_of(name: str, kind: str) -> Path:
    """Return the folder of a ``model`` or ``dataset`` in the hub's cache, set by ``HF_HOME`` or ``HF_HUB_CACHE``."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE).expanduser() / f"{kind}s--{name.replace('/', '--')}"


def quiet_hub() -> AbstractContextManager[None]:
    """Suppress the client's own retry messages: its last error is enough."""
    return logging_only("huggingface_hub", logging.CRITICAL)


@contextmanager
def fetching(name: str, kind: str) -> Iterator[None]:
    """Show the progress of a download on terminals only, and remove incomplete files after the block."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if quiet() or not sys.stderr.isatty():
        disable_progress_bars()
    try:
        with quiet_hub():
            yield
    finally:
        _sweep(cache_of(name, kind))


def _sweep(folder: Path) -> None:
    """Remove incomplete files of killed downloads, which the client never does.

    The client holds a lock for each file that it downloads, so what another process is downloading stays.
    """
    from filelock import FileLock, Timeout

    for path in folder.glob("blobs/*.incomplete"):
        lock = folder.parent / ".locks" / folder.name / f"{path.name.partition('.')[0]}.lock"
        if lock.exists():
            with suppress(Timeout), FileLock(lock, timeout=0):
                path.unlink(missing_ok=True)
