"""Where the files of each entry of the catalogue come from, and where they go."""

from collections.abc import Sequence
from glob import glob
from pathlib import Path

from heed.datasets.catalogue import Catalogue, CatalogueEntry, EntryFiles, Named
from heed.datasets.hub import Repository
from heed.datasets.irds import home, known_file
from heed.downloads import Download, File, fetch
from heed.errors import UsageError
from heed.files import unpacked_name
from heed.formats.data_set_folders import SUFFIXES
from heed.languages import code_of, suggestion


class Holding(Named):
    """One collection of the catalogue, in one language where it has several, and its files."""

    @property
    def title(self) -> str:
        """What it is called, with its language."""
        return f"{self.name} {self.lang}".rstrip()

    @property
    def use(self) -> str:
        """The command that runs it."""
        return self.entry.use or f"heed trec --dataset {self.name}"

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
        known = [Download("files that ir_datasets knows", home(), files, fetch)] if files else []
        return known + ([Download("files at addresses of their own", pages_home(), pages, fetch)] if pages else [])


def files_of(lang: str) -> tuple[str, ...]:
    """Return the patterns of one language's files, in all layouts of the hub."""
    return (f"*-{lang}/*", f"*-{lang}.*", f"*{lang}-*")


def repository_of(entry: CatalogueEntry, part: EntryFiles) -> Repository:
    """Return the hub data set of a part, with the patterns of the part's files."""
    hub, revision = (part.hub, part.revision or "main") if part.hub else (entry.hub, part.revision or entry.revision)
    return Repository(hub, revision, tuple(pattern for name in part.files for pattern in _patterns(name, part.split)))


def _patterns(name: str, split: str) -> tuple[str, ...]:
    """Return the patterns of a file, or of the files of a config; see :mod:`heed.formats.data_set_folders`."""
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
            raise UsageError(f"--lang: found {lang!r}, {_expected(name, languages, lang)}")
    if languages and not langs:
        raise UsageError(f"{name}: comes by language; give --lang {', --lang '.join(languages)}, or several of them")
    return [Holding(*named) for named in members]


def _expected(name: str, languages: Sequence[str], lang: str) -> str:
    if not languages:
        return f"but {name} does not come by language; leave --lang out"
    return f"expected one of {', '.join(languages)}{suggestion(lang, languages)}"
