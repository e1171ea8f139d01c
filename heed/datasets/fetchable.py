"""Where the files of each entry of the catalogue come from, and where they go."""

import re
from collections.abc import Sequence
from fnmatch import fnmatch
from functools import cache
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

from heed.datasets import irds_home, sample_root
from heed.datasets.catalogue import Catalogue, CatalogueEntry, EntryFiles, Named
from heed.datasets.irds import known_file
from heed.downloads import TIMEOUT, Download, File, cache_of, fetch, fetching, quiet_hub
from heed.errors import DataError, UsageError, fail
from heed.files import unpacked_name
from heed.formats.data_sets import SUFFIXES, split_files
from heed.languages import code_of, suggestion
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


class Holding(Named):
    """One collection of the catalogue, in one language where it has several, and its files."""

    @property
    def title(self) -> str:
        """What it is called, with its language."""
        return f"{self.name} {self.lang}".rstrip()

    def repositories(self) -> list[Repository]:
        """Return the hub data sets of its files."""
        entry = self.entry
        if not entry.parts:
            files = files_of(self.lang) if self.lang else ()
            return [Repository(entry.hub, entry.revision, files)] if entry.hub else []
        by_revision: dict[tuple[str, str], tuple[str, ...]] = {}
        for part in entry.parts:
            if not part.url and (part.hub or entry.hub):
                repository = repository_of(self.entry, part)
                key = repository.name, repository.revision
                by_revision[key] = (*by_revision.get(key, ()), *repository.patterns)
        return [Repository(*key, tuple(dict.fromkeys(patterns))) for key, patterns in by_revision.items()]

    def files(self) -> list[File]:
        """Return the files that ir_datasets has addresses for."""
        keys_of = self.entry.ir_datasets
        return [known_file(source, key) for source, keys in keys_of.items() for key in keys]

    def pages(self) -> list[File]:
        """Return the files that lie at addresses of their own."""
        return [file for part in self.entry.parts if part.url for file in page_files(part)]

    def file_by_hand(self) -> File | None:
        """Return the file or folder that only the user can get, None where all can be fetched."""
        by_hand = self.entry.by_hand
        if not by_hand:
            return None
        if by_hand.source:
            return known_file(by_hand.source, by_hand.key)
        return File(by_hand.path, Path(by_hand.path), None, "")

    def problem_by_hand(self) -> str:
        """Return the problem with the files that only the user can get, an empty text without any."""
        file, by_hand = self.file_by_hand(), self.entry.by_hand
        if not file or not by_hand:
            return ""
        if not file.path.exists():
            return "not here"
        # as ir_datasets does: Path.glob leaves out linked folders
        count = sum(len(glob(str(file.path / pattern), recursive=True)) for pattern in by_hand.globs)  # noqa: PTH207
        if count != by_hand.expected:
            return f"{count} files of the expected {by_hand.expected} match {', '.join(by_hand.globs)}"
        if file.path.is_file() and not file.is_intact():
            return f"its digest is not {file.digest}"
        return ""

    def known_downloads(self) -> list[Download]:
        """Return the downloads from elsewhere than the hub, which are known without a network."""
        files, pages = self.files(), self.pages()
        known = [Download("files that ir_datasets knows", irds_home(), files, fetch)] if files else []
        return known + ([Download("files at addresses of their own", pages_home(), pages, fetch)] if pages else [])


def files_of(lang: str) -> tuple[str, ...]:
    """Return the patterns of one language's files, in all layouts of the hub."""
    return (f"*-{lang}/*", f"*-{lang}.*", f"*{lang}-*")


def repository_of(entry: CatalogueEntry, part: EntryFiles) -> Repository:
    """Return the hub data set of a part, with the patterns of the part's files."""
    hub, revision = (part.hub, part.revision or "main") if part.hub else (entry.hub, part.revision or entry.revision)
    return Repository(hub, revision, tuple(pattern for name in part.files for pattern in _patterns(name, part.split)))


def _patterns(name: str, split: str) -> tuple[str, ...]:
    """Return the patterns of a file, or of the files of a config; see :mod:`heed.formats.data_sets`."""
    if unpacked_name(Path(name)).endswith((*SUFFIXES, ".txt")):
        return (name,)
    return (f"{name}/{split}[-./]*",) if split else (f"{name}/*", f"{name}.*")


def page_files(part: EntryFiles) -> list[File]:
    """Return the files of a part that lie at addresses, with the places that they are fetched to."""
    base = part.url.removeprefix("https://").strip("/")
    names = [f"{base}/{name}" for name in part.files]
    return [File(name, pages_home() / name, None, "", (f"https://{name}",)) for name in names]


def pages_home() -> Path:
    """Return where files from addresses are kept: in the hub's folder for assets (``HF_ASSETS_CACHE``)."""
    from huggingface_hub.constants import HF_ASSETS_CACHE

    return Path(HF_ASSETS_CACHE) / "heed" / "collections"


def holdings(name: str, langs: Sequence[str], catalogue: Catalogue | None = None) -> list[Holding]:
    """Return the collection ``name``, or all members of a group such as ``followir``, in the languages ``langs``.

    Raises :class:`UsageError` for an unknown name, with the nearest ones, and for languages that are
    missing, unknown, or given for a collection without any.
    """
    members = (catalogue or Catalogue()).find(name, [*dict.fromkeys(map(code_of, langs))])
    languages = members[0].entry.languages
    for lang in langs:
        if code_of(lang) not in languages:
            expected = f"but {name} does not come by language; leave it out"
            if languages:
                expected = f"expected one of {', '.join(languages)}{suggestion(lang, languages)}"
            raise UsageError(f"lang: found {lang!r}, {expected}")
    if languages and not langs:
        raise UsageError(f"{name}: comes by language; lang=LANG is one of {', '.join(languages)}")
    return [Holding(*named) for named in members]


def part_files(named: Named, part: EntryFiles | None, copy: Path | None) -> list[Path]:
    """Return the files of a part, from a local copy, or fetched at most once."""
    if part is None:
        raise DataError(f"{named.name}: not all of it can be fetched, name files of your own; {named.entry.note}")
    if part.url:
        pages = page_files(part)
        if copy:
            return [path for page in pages for path in _files_of(named, [copy], page.path.name, "")]
        fetch([page for page in pages if not page.path.is_file()])
        return [page.path for page in pages]
    roots = roots_of(named, repository_of(named.entry, part), copy)
    return [path for name in part.files for path in _files_of(named, roots, name, part.split)]


def roots_of(named: Named, repository: Repository, copy: Path | None) -> list[Path]:
    """Return the folders in which the files of a data set may be: those called as it or the subset first."""
    if named.entry.embedded:
        return [sample_root()]
    if not copy:
        fail([] if repository.name else [f"{named.name}: no address of its files is known; give a local copy"])
        return [snapshot(repository)]
    names = (repository.name.rpartition("/")[2].lower(), named.subset.lower())
    inside = sorted(copy.iterdir()) if copy.is_dir() else []
    return [*(path for path in inside if path.is_dir() and path.name.lower() in names), copy]


def _files_of(named: Named, roots: Sequence[Path], name: str, split: str) -> list[Path]:
    """Return the file ``name``, or the files of a config's split; raises :class:`DataError` without any."""
    for root in roots:
        if paths := [root / name] if (root / name).is_file() else split_files(root, name, split):
            return paths
    expected = f"{name}, split {split}" if split else name
    raise DataError(
        f"{roots[0]}: no {expected}; expected Parquet or JSONL files of that name, or in {folder_names(named)}"
    )


def folder_names(named: Named) -> str:
    """Return how the folder of a data set may be called inside a local copy."""
    hub = named.entry.hub.rpartition("/")[2]
    return " or ".join(f"{name}/" for name in dict.fromkeys((hub, named.subset)) if name)
