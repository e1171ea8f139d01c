"""Files sent to a worker on another machine, in parts, so that neither side holds a large one in memory."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from heed.workers.tasks import Task, Worker, WorkerState, value_of

PART = 1 << 26  # bytes sent at once


class MakeFolder(NamedTuple):
    """A folder to be made."""

    def run(self, _: WorkerState) -> str:
        """Return its path."""
        return mkdtemp(prefix="heed-")


class Append(NamedTuple):
    """Bytes to be appended to a file."""

    path: str
    content: bytes

    def run(self, _: WorkerState) -> None:
        """Append them; the file and its folder are made where they are not there."""
        path = Path(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as stream:
            stream.write(self.content)


def send_files(worker: Worker, folder: Path, names: Iterable[str]) -> Path:
    """Return a new folder at ``worker`` with files of ``folder``; raises :class:`LostError` as ``worker.run`` does."""
    target = str(_run(worker, MakeFolder()))
    for name in names:
        with (folder / name).open("rb") as stream:
            content = stream.read(PART)
            while True:
                _run(worker, Append(f"{target}/{name}", content))
                content = stream.read(PART)
                if not content:
                    break
    return Path(target)


def _run(worker: Worker, task: Task) -> object:
    return value_of(worker.run(task))
