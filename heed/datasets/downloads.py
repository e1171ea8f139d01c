"""Files that are to be had: whether they are here, what their source says of them, fetched with resume."""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from heed.errors import HeedError, fail
from heed.io.files import locked
from heed.progress import bar, log

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
        """Where :func:`fetch` keeps what has come so far."""
        return self.path.with_name(f".{self.path.name}.part")

    @property
    def started(self) -> int:
        """How many bytes of an interrupted download are here."""
        return self.part.stat().st_size if self.part.is_file() else 0

    def is_right(self) -> bool:
        """Whether the bytes on disk have the digest that the source gives."""
        kind, _, expected = self.digest.partition(":")
        return not expected or file_digest(self.path, kind) == expected


class Store(NamedTuple):
    """Files of one source, and how those that are missing come to ``root``."""

    title: str
    root: Path
    files: list[File]
    fetch: Callable[[Sequence[File]], None]

    @property
    def missing(self) -> list[File]:
        """The files that are not here."""
        return [one for one in self.files if not one.path.is_file()]


def file_digest(path: Path, kind: str) -> str:
    """The hex digest of a file; of kind ``git`` as git names a blob."""
    found = hashlib.new(ALGORITHMS[kind], usedforsecurity=False)
    if kind == "git":
        found.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as stream:
        while piece := stream.read(CHUNK):
            found.update(piece)
    return found.hexdigest()


def check(store: Store) -> list[str]:
    """Delete the files whose digest is wrong, and tell each; files that are not here are told too."""
    problems = []
    for one in store.files:
        if not one.path.is_file():
            problems.append(f"{one.path}: still not here; run again")
        elif not one.is_right():
            _discard(one.path, store.root)
            problems.append(
                f"{one.path}: its digest is not {one.digest}, so it was deleted; run again to fetch it anew"
            )
    return problems


def _discard(path: Path, root: Path) -> None:
    """Delete a file, and as far as they lie under ``root`` the links and the file that it stands for."""
    while path.is_symlink() and path.is_relative_to(root):
        link, path = path, Path(os.path.normpath(path.parent / path.readlink()))
        link.unlink()
    if path.is_relative_to(root):
        path.unlink(missing_ok=True)


def fetch(missing: Sequence[File]) -> None:
    """Fetch files from the first of their addresses that answers; what was interrupted goes on where it stopped.

    ir_datasets, whose files these are, starts anew each time. Raises :class:`HeedError` that tells
    each address that was tried, and how to bring over by hand what is still missing.
    """
    for at, one in enumerate(missing):
        tried = _fetch_one(one)
        if tried:
            rest = [f"{file.urls[0]} to {file.path} ({told(file.size)}, {file.digest})" for file in missing[at:]]
            fail(
                [
                    f"{one.name}: cannot be fetched: {'; '.join(tried)}",
                    "run again to go on where it stopped; or fetch these on a machine with a network, "
                    "copy them here, and run again to have them checked:",
                    *rest,
                ]
            )


def _fetch_one(one: File) -> list[str]:
    """Fetch ``one``; gives back what went wrong at each address, nothing once the file is here."""
    tried = []
    with locked(one.path.parent):
        for url in one.urls:
            log.info(f"{one.name}: fetching {url}")
            problem = _download(url, one)
            if not problem:
                one.part.replace(one.path)
                return []
            tried.append(f"{url}: {problem}")
    return tried


def _download(url: str, one: File) -> str:
    """Fetch ``url`` to the part file, and go on after a cut as long as bytes come; gives back the problem, if any."""
    import requests

    while True:
        before = one.started
        try:
            _append(url, one)
        except requests.RequestException as error:
            if one.started <= before:
                return _reason(error)
            continue
        if one._replace(path=one.part).is_right():
            return ""
        one.part.unlink()
        return f"the digest is not {one.digest}, so what came was deleted"


def _reason(error: Exception) -> str:
    """What lies behind an error of requests, without the story of its retries."""
    first = error.args[0] if error.args else error
    return " ".join(str(getattr(first, "reason", first)).split())


def _append(url: str, one: File) -> None:
    import requests

    # identity: what is digested and counted is the file's own bytes, not a packed form
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={one.started}-"} if one.started else {})
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == requests.codes.requested_range_not_satisfiable:
            return  # all of it is here: the digest decides
        answer.raise_for_status()
        resumed = answer.status_code == requests.codes.partial_content
        left = (one.size or 0) - (one.started if resumed else 0)
        with one.part.open("ab" if resumed else "wb") as stream:
            for piece in bar(answer.iter_content(CHUNK), -(-left // CHUNK), one.path.name, "MiB"):
                stream.write(piece)


def told(size: int | None) -> str:
    """A size in bytes, and in KiB, MiB or GiB from 1 KiB on."""
    if size is None:
        return "size unknown"
    power = min((size.bit_length() - 1) // 10, 4) if size else 0
    short = f" ({size / 1024**power:,.1f} {'KMGT'[power - 1]}iB)" if power else ""
    return f"{size:,} bytes{short}"


def free_space(place: Path) -> tuple[int, int]:
    """The device that ``place`` is or will be on, and the bytes free there."""
    import shutil

    found = next(one for one in (place, *place.parents) if one.exists())
    return found.stat().st_dev, shutil.disk_usage(found).free


def check_space(stores: Sequence[Store]) -> None:
    """Raise :class:`HeedError` where a disk has less space than what is missing there."""
    needs: dict[int, int] = {}
    for store in stores:
        device, free = free_space(store.root)
        needs[device] = needs.get(device, 0) + to_come(store.missing)
        if needs[device] > free:
            raise HeedError(
                f"{store.root}: {told(needs[device])} are to come and {told(free)} are free; make room, or put "
                "HF_HOME or IR_DATASETS_HOME on another disk"
            )


def to_come(missing: Sequence[File]) -> int:
    """The bytes that are still to be fetched, as far as their sizes are known."""
    return sum(max((one.size or 0) - one.started, 0) for one in missing)
