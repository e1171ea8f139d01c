"""The Lucene indexes that Anserini and Pyserini give away, by name: where each comes from, and fetching it.

``prebuilt.json`` is of the lists in pyserini 1.6.0, the last that carries them; later ones ask GitHub. It is written by
``python -m benchmarks.prebuilt_indexes``.
"""

import json
import os
import re
import shutil
import tarfile
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, cast

from heed.downloads import Download, File, check, check_space, fetch
from heed.errors import DataError, UsageError, did_you_mean, fail
from heed.files import UNREADABLE, finished_folder, locked, size_text, unreadable
from heed.progress import log

DATA = Path(__file__).with_suffix(".json")
PACKED = ".tar.gz"
OF_LUCENE = re.compile(r"_[0-9a-z]+[\w.]*|segments_[0-9a-z]+")  # names of files


class Prebuilt(NamedTuple):
    """A prebuilt index: size in bytes of its archive, and the archive's MD5."""

    name: str
    filename: str
    size: int
    md5: str
    urls: list[str]

    @property
    def stem(self) -> str:
        """The name of its folder."""
        return self.filename.removesuffix(PACKED)


def find_index(name: str, folder: Path) -> Path:
    """Return the folder ``name``, or that of the prebuilt index ``name``, fetched into ``folder`` unless it is here.

    Raises :class:`UsageError` for what is neither, with the nearest names, and :class:`DataError` where the index
    cannot be fetched.
    """
    if Path(name).exists():
        return Path(name)
    known = prebuilt_indexes()
    if name not in known:
        hint = did_you_mean(name, [*known], 3, cutoff=0.5, before="; ")
        raise UsageError(f"{name}: neither a folder nor a prebuilt index of Anserini or Pyserini for BM25{hint}")
    return _present(known[name], folder) or _fetched(known[name], folder)


@cache
def prebuilt_indexes() -> dict[str, Prebuilt]:
    """Return the prebuilt indexes for BM25 by name."""
    entries = json.loads(DATA.read_text(encoding="utf-8"))["indexes"]
    return {name: Prebuilt(name, **entry) for name, entry in entries.items()}


def _present(index: Prebuilt, folder: Path) -> Path | None:
    """Return where the index lies already: fetched by Heed, or by Pyserini."""
    cache = Path(os.environ.get("PYSERINI_CACHE") or Path.home() / ".cache" / "pyserini") / "indexes"
    places = (folder / index.stem, cache / f"{index.stem}.{index.md5}")
    return next((path for path in places if path.is_dir()), None)


def _fetched(index: Prebuilt, folder: Path) -> Path:
    archive = File(index.name, folder / index.filename, index.size, f"md5:{index.md5}", tuple(index.urls))
    download = Download(index.name, folder, [archive], fetch)
    if archive.path.is_file():  # copied here by hand
        fail(check(download))
    else:
        log.info(f"{index.name}: a prebuilt index, {size_text(index.size)} to fetch into {folder}")
        check_space([download])
        fetch([archive])
    with locked(folder):
        _unpack(archive.path, folder / index.stem)
    archive.path.unlink()
    return folder / index.stem


def _unpack(archive: Path, target: Path) -> None:
    """Write the files of Lucene in an archive to ``target``, whatever folders it has; others and links are left out."""
    try:
        with tarfile.open(archive) as content, finished_folder(target) as part:
            for member in content:
                name = PurePosixPath(member.name).name
                if member.isfile() and OF_LUCENE.fullmatch(name):
                    with cast(IO[bytes], content.extractfile(member)) as stream, (part / name).open("xb") as out:
                        shutil.copyfileobj(stream, out)
    except tarfile.TarError as error:
        raise DataError(f"{archive}: cannot be unpacked ({error}); delete it and run again") from error
    except UNREADABLE as error:
        raise unreadable(archive, error) from error
