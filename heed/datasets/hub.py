"""Data sets of the Hugging Face hub: what a revision holds, and downloads to the hub's cache."""

import re
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from heed.downloads import TIMEOUT, Download, File, cache_of, fetching, quiet_hub
from heed.errors import DataError
from heed.progress import log


class Repository(NamedTuple):
    """A data set: ``revision`` is a commit or ``main``; of its files those that match any of ``patterns``, or all."""

    name: str
    revision: str
    patterns: tuple[str, ...] = ()

    @property
    def cache(self) -> Path:
        """Its folder in the hub's cache, as ``HF_HOME`` or ``HF_HUB_CACHE`` say."""
        return cache_of(self.name, "dataset")

    @property
    def snapshot(self) -> Path:
        """The folder of the revision's files once they are fetched; of ``main`` as it was then."""
        ref = self.cache / "refs" / self.revision
        return self.cache / "snapshots" / (ref.read_text() if ref.is_file() else self.revision)

    def local_files(self) -> list[Path]:
        """Return the files of the revision that are on this machine."""
        paths = [path for path in self.snapshot.rglob("*") if path.is_file()]
        return [path for path in paths if self.has(path.relative_to(self.snapshot).as_posix())]

    def has(self, name: str) -> bool:
        """Return whether a file matches the patterns."""
        return not self.patterns or any(fnmatch(name, pattern) for pattern in self.patterns)


def snapshot(repository: Repository) -> Path:
    """Return a local copy of a data set, fetched at most once.

    After an interruption complete files stay; the hub's client starts the others again. Raises :class:`DataError` that
    says how to go on when the hub is out of reach.
    """
    from huggingface_hub import snapshot_download

    name, revision, patterns = repository
    try:
        with fetching(name, "dataset"):
            return Path(
                snapshot_download(name, repo_type="dataset", revision=revision, allow_patterns=list(patterns) or None)
            )
    except Exception as error:  # the hub client raises its HTTP library's errors, which changed between releases
        raise _unreachable(repository, error) from error


def hub_download(repository: Repository) -> Download:
    """Return the files of ``repository`` with the sizes and digests that the hub gives.

    Raises :class:`DataError` as :func:`snapshot` does.
    """
    try:
        info = _info(repository.name, repository.revision)
    except Exception as error:  # as above
        raise _unreachable(repository, error) from error
    commit = info.sha or repository.revision
    folder = repository.cache / "snapshots" / commit
    files = [
        File(
            entry.rfilename,
            folder / entry.rfilename,
            entry.size,
            f"sha256:{entry.lfs.sha256}" if entry.lfs else f"git:{entry.blob_id or ''}",
        )
        for entry in info.siblings or []
        if repository.has(entry.rfilename)
    ]
    if not files:
        patterns = " or ".join(repository.patterns) or "any file"
        raise DataError(f"{repository.name} at {commit}: the hub has nothing like {patterns}; the data set has changed")
    title = f"{repository.name}, hub data set at {commit}"
    return Download(title, repository.cache.parent, files, lambda _: snapshot(repository))


@cache
def _info(name: str, revision: str) -> Any:
    """Return the hub's description of a data set, of which several entries may take files."""
    from huggingface_hub import HfApi

    log.info(f"{name}: asking the hub what it holds")
    with quiet_hub():
        return HfApi().dataset_info(name, revision=revision, timeout=TIMEOUT[1], files_metadata=True)


def _unreachable(repository: Repository, error: Exception) -> DataError:
    from huggingface_hub.constants import ENDPOINT

    reason = re.sub(r"\s+", " ", str(error)).strip()[:300] or type(error).__name__
    include = "".join(f" --include '{pattern}'" for pattern in repository.patterns)
    return DataError(
        f"{repository.name} at {repository.revision}: cannot be fetched from {ENDPOINT} ({reason})\n"
        "run again to go on with the files that are missing; or, on a machine with a network, run "
        f"'hf download --repo-type dataset {repository.name} --revision {repository.revision}{include}' "
        f"and copy {repository.cache.name} from its ~/.cache/huggingface/hub to {repository.cache.parent} here"
    )
