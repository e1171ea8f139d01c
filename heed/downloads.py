"""Downloads: files with the sizes and digests of their source, fetched with resume and checked; the hub's cache."""

import hashlib
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError, fail, request_reason
from heed.files import free_space, locked, size_text
from heed.progress import bar, log, logging_only, quiet

CHUNK = 1 << 20
TIMEOUT = (10, 60)  # seconds to connect, and between two pieces
ALGORITHMS = {"md5": "md5", "sha256": "sha256", "git": "sha1"}  # git: the id of a blob


class File(NamedTuple):
    """One file: ``digest`` is as ``md5:…``, ``sha256:…`` or ``git:…``; empty where its source gives none."""

    name: str
    path: Path
    size: int | None
    digest: str
    urls: tuple[str, ...] = ()

    @property
    def part(self) -> Path:
        """The file in which :func:`fetch` keeps what has been fetched so far."""
        return self.path.with_name(f".{self.path.name}.part")

    @property
    def fetched(self) -> int:
        """The number of bytes of an interrupted download on this machine."""
        return self.part.stat().st_size if self.part.is_file() else 0

    def is_intact(self) -> bool:
        """Return whether the bytes on disk have the digest that the source gives."""
        kind, _, expected = self.digest.partition(":")
        return not expected or file_digest(self.path, kind) == expected


class Download(NamedTuple):
    """Files of one source under ``root``, and the function that fetches those that are missing."""

    title: str
    root: Path
    files: list[File]
    fetch: Callable[[Sequence[File]], object]

    @property
    def missing(self) -> list[File]:
        """The files that are not on this machine."""
        return [file for file in self.files if not file.path.is_file()]


def file_digest(path: Path, kind: str) -> str:
    """Return the hex digest of a file; of kind ``git`` as git names a blob."""
    hashed = hashlib.new(ALGORITHMS[kind], usedforsecurity=False)
    if kind == "git":
        hashed.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashed).hexdigest()


def check(download: Download) -> list[str]:
    """Delete the files whose digest is wrong; return the problems with these and with missing files."""
    problems = []
    for file in download.files:
        if not file.path.is_file():
            problems.append(f"{file.path}: still not here; run again")
        elif not file.is_intact():
            _discard(file.path, download.root)
            problems.append(
                f"{file.path}: its digest is not {file.digest}, so it was deleted; run again to fetch it anew"
            )
    return problems


def _discard(path: Path, root: Path) -> None:
    """Delete a file, and, as far as they are under ``root``, the links that lead to it."""
    while path.is_symlink() and path.is_relative_to(root):
        link, path = path, Path(os.path.normpath(path.parent / path.readlink()))
        link.unlink()
    if path.is_relative_to(root):
        path.unlink(missing_ok=True)


def fetch(missing: Sequence[File]) -> None:
    """Fetch files from the first of their addresses that answers; interrupted downloads go on where they stopped.

    ir_datasets, whose files these are, starts again each time. Raises :class:`DataError` that names
    each address that was tried, and how to copy by hand what is still missing.
    """
    for number, file in enumerate(missing):
        problems = _fetch_file(file)
        if problems:
            rest = [
                f"{left.urls[0]} to {left.path} ({', '.join(filter(None, (size_text(left.size), left.digest)))})"
                for left in missing[number:]
            ]
            fail(
                [
                    f"{file.name}: cannot be fetched: {'; '.join(problems)}",
                    "run again to go on where it stopped; or fetch these on a machine with a network, "
                    "copy them here, and run again to have them checked:",
                    *rest,
                ]
            )


def _fetch_file(file: File) -> list[str]:
    """Fetch ``file``; return the problem with each address, nothing once the file is here."""
    problems = []
    with locked(file.path.parent):
        for url in file.urls:
            log.info(f"{file.name}: fetching {url}")
            problem = _download(url, file)
            if not problem:
                file.part.replace(file.path)
                return []
            problems.append(f"{url}: {problem}")
    return problems


def _download(url: str, file: File) -> str:
    """Fetch ``url`` to the part file, and retry after a cut as long as bytes come; return the problem, if any."""
    import requests

    while True:
        before = file.fetched
        try:
            _append(url, file)
        except requests.RequestException as error:
            if file.fetched <= before:
                return request_reason(error)
            continue
        if file._replace(path=file.part).is_intact():
            return ""
        file.part.unlink()
        return f"the digest is not {file.digest}, so what came was deleted"


def _append(url: str, file: File) -> None:
    import requests

    # identity: what is digested and counted is the file's own bytes, not a packed form
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={file.fetched}-"} if file.fetched else {})
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == requests.codes.requested_range_not_satisfiable:
            return  # all of it is here: the digest decides
        answer.raise_for_status()
        resumed = answer.status_code == requests.codes.partial_content
        left = (file.size or 0) - (file.fetched if resumed else 0)
        with file.part.open("ab" if resumed else "wb") as stream:
            for piece in bar(answer.iter_content(CHUNK), -(-left // CHUNK), file.path.name, "MiB"):
                stream.write(piece)


def check_space(downloads: Sequence[Download]) -> None:
    """Raise :class:`DataError` where a disk has less space than what is to be fetched to it."""
    needs: dict[int, int] = {}
    for download in downloads:
        device, free = free_space(download.root)
        needs[device] = needs.get(device, 0) + bytes_to_fetch(download.missing)
        if needs[device] > free:
            raise DataError(
                f"{download.root}: {size_text(needs[device])} are to come and {size_text(free)} are free; make room, "
                "or put HF_HOME or IR_DATASETS_HOME on another disk"
            )


def bytes_to_fetch(missing: Sequence[File]) -> int:
    """Return the number of bytes still to be fetched, as far as sizes are known."""
    return sum(max((file.size or 0) - file.fetched, 0) for file in missing)


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
