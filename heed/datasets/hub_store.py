"""Data sets of the Hugging Face hub: what a revision holds, fetched to the hub's own cache, ready to be checked."""

import re
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from heed.datasets.downloads import File, Store
from heed.errors import HeedError
from heed.models.hub_client import cache_of, fetching, quiet_hub
from heed.progress import log


class Repository(NamedTuple):
    """A data set: ``revision`` is a commit or ``main``; of its files those that match any of ``patterns``, or all."""

    name: str
    revision: str
    patterns: tuple[str, ...] = ()

    @property
    def cache(self) -> Path:
        """Its folder in the hub's cache, as ``HF_HOME`` or ``HF_HUB_CACHE`` place it."""
        return cache_of(self.name, "dataset")

    @property
    def snapshot(self) -> Path:
        """Where the files of the revision lie once they are fetched; ``main`` as it was then."""
        ref = self.cache / "refs" / self.revision
        return self.cache / "snapshots" / (ref.read_text() if ref.is_file() else self.revision)

    def files_here(self) -> list[Path]:
        """The files of the revision that are on this machine."""
        found = [path for path in self.snapshot.rglob("*") if path.is_file()]
        return [path for path in found if self.has(path.relative_to(self.snapshot).as_posix())]

    def has(self, name: str) -> bool:
        """Whether a file is among those wanted."""
        return not self.patterns or any(fnmatch(name, pattern) for pattern in self.patterns)


def hub_store(repository: Repository) -> Store:
    """What the hub says of the files of ``repository``: sizes, and the digests that the files must have.

    Raises :class:`HeedError` when the hub is out of reach, saying how to bring the data over by hand.
    """
    from huggingface_hub import HfApi

    log.info(f"{repository.name}: asking the hub what it holds")
    try:
        with quiet_hub():
            info = HfApi().dataset_info(repository.name, revision=repository.revision, files_metadata=True)
    except Exception as error:  # the hub client raises its HTTP library's errors, which changed between releases
        raise _unreachable(repository, error) from error
    commit = info.sha or repository.revision
    folder = repository.cache / "snapshots" / commit
    files = [
        File(
            one.rfilename,
            folder / one.rfilename,
            one.size,
            f"sha256:{one.lfs.sha256}" if one.lfs else f"git:{one.blob_id or ''}",
        )
        for one in info.siblings or []
        if repository.has(one.rfilename)
    ]
    if not files:
        wanted = " or ".join(repository.patterns) or "any file"
        raise HeedError(f"{repository.name} at {commit}: the hub has nothing like {wanted}; the data set has changed")
    title = f"{repository.name}, hub data set at {commit}"
    return Store(title, repository.cache.parent, files, lambda _: _fetch(repository))


def _fetch(repository: Repository) -> None:
    """Fetch what is missing; if it is interrupted, complete files stay (the hub's client starts the others anew)."""
    from huggingface_hub import snapshot_download

    try:
        with fetching(repository.name, "dataset"):
            snapshot_download(
                repository.name,
                repo_type="dataset",
                revision=repository.revision,
                allow_patterns=list(repository.patterns) or None,
            )
    except Exception as error:  # as above
        raise _unreachable(repository, error) from error


def _unreachable(repository: Repository, error: Exception) -> HeedError:
    from huggingface_hub.constants import ENDPOINT

    reason = re.sub(r"\s+", " ", str(error)).strip()[:300] or type(error).__name__
    include = "".join(f" --include '{pattern}'" for pattern in repository.patterns)
    here = len(repository.files_here())
    kept = f"; {here} of its files are here, not checked, in {repository.snapshot}" if here else ""
    return HeedError(
        f"{repository.name} at {repository.revision}: cannot be fetched from {ENDPOINT} ({reason}){kept}\n"
        "run again to go on with the files that are missing; or, on a machine with a network, run "
        f"'hf download --repo-type dataset {repository.name} --revision {repository.revision}{include}' "
        f"and copy {repository.cache.name} from its ~/.cache/huggingface/hub to {repository.cache.parent} here"
    )
