"""Files sent to a worker on another machine, in parts, so that neither side holds a large one in memory."""

from collections.abc import Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from heed.addons.cluster.tasks import Worker, WorkerState, value_of

PART = 1 << 26  # bytes sent at once


class Append(NamedTuple):
    """Bytes to be appended to a file of a folder; an empty ``folder`` is a new one."""

    folder: str
    name: str
    content: bytes

    def run(self, _: WorkerState) -> str:
        """Append them, to a new file where there is none, and return the folder."""
        folder = self.folder or mkdtemp(prefix="heed-")
        path = Path(folder, self.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as stream:
            stream.write(self.content)
        return folder


def send_files(worker: Worker, folder: Path, names: Iterable[str]) -> Path:
    """Return a new folder at ``worker`` with files of ``folder``; raises :class:`LostError` as ``worker.run`` does."""
    target = ""
    for name in names:
        with (folder / name).open("rb") as stream:
            for content in chain([b""], iter(partial(stream.read, PART), b"")):  # a file may be empty
                target = value_of(worker.run(Append(target, name, content)))
    return Path(target)
