"""Collections whose entry says which files are what: parts, folders in MTEB's or BEIR's layout, ids of ir_datasets."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from heed.data import Data
from heed.datasets.catalogue import EntryFiles, Named
from heed.datasets.collection import Collection, with_warnings
from heed.datasets.fetchable import Repository, page_files, repository_of, snapshot
from heed.datasets.irds import find_topics
from heed.datasets.loading import Layout, Option
from heed.datasets.own_files import ignores_own_ids, ir_dataset, own_collection, source_of
from heed.downloads import fetch
from heed.errors import DataError, UsageError, fail
from heed.formats.data_sets import (
    given_judgements,
    is_data_set,
    judged_topics,
    listed_of,
    read_judgements,
    read_rows,
    split_files,
    topics_of,
    warn_blank,
)
from heed.languages import language
from heed.measures.evaluate import Judging
from heed.progress import log
from heed.types import Qrels, Topic

LocalCopy = Annotated[
    Path | None, Option("local copy of the data set, in place of the hub's", metavar="DIR", type=Path)
]


def read_described(members: Sequence[Named], request: Data, *, data: LocalCopy = None) -> list[Collection]:
    """Return the collections of entries that say themselves which files are what.

    ``data`` is a local copy: the files of the entry, of several repositories together or each in a folder of its name.
    Without it they are fetched.
    """
    copy = Path(data) if data else None
    name = members[0].name if len(members) == 1 else members[0].group
    if copy and len({member.entry.hub for member in members}) > 1:
        alone = [member for member in members if len(_roots(member, Repository(member.entry.hub, ""), copy)) == 1]
        fail(f"{copy}: no folder {_inside(member)}; {name} is several data sets, with one each" for member in alone)
    return [_read_entry(member, request, copy) for member in members]


@with_warnings
def _read_entry(named: Named, request: Data, copy: Path | None) -> Collection:
    entry = named.entry
    if entry.id and copy:
        raise UsageError(f"{named.name}: comes from ir_datasets, which keeps its files itself; leave the copy out")
    language(entry.lang)  # an unknown one is told before anything is fetched
    if entry.note:
        log.info(f"{named.name}: {entry.note}")
    if entry.id:
        collection = ir_dataset(entry.id, request)
    elif entry.parts:
        collection = _of_parts(named, request, copy)
    else:
        collection = _of_folder(named, request, copy)
    subset = named.subset or collection.subset
    return replace(
        collection,
        name=request.name or named.group,
        subset=subset,
        index=subset,
        judging=collection.judging._replace(measures=entry.measures, robust=entry.robust, pairs=entry.pairs),
        reranked=entry.reranked and not request.docs,
        join=entry.join,
        own_ids=ignores_own_ids(entry.hub or entry.id) and not request.docs,
    )


DESCRIBED = Layout(read_described, ("docs", "fields"))


def _of_folder(named: Named, request: Data, copy: Path | None) -> Collection:
    """Return the collection of a data set in MTEB's or BEIR's layout."""
    entry = named.entry
    folders = _roots(named, Repository(entry.hub, entry.revision), copy)
    folder = next((folder for folder in folders if is_data_set(folder)), None)
    if folder is None:
        raise DataError(
            f"{folders[-1]}: neither MTEB's nor BEIR's layout (corpus beside queries or qrels), nor {_inside(named)} "
            "in it; say in an entry of a catalogue which files are what"
        )
    collection = own_collection(replace(request, docs=(str(folder),), lang=entry.lang))
    encoding = request.encoding or collection.language.code
    return replace(collection, source=source_of(request.docs, encoding)) if request.docs else collection


def _of_parts(named: Named, request: Data, copy: Path | None) -> Collection:
    entry, known = named.entry, language(named.entry.lang)
    encoding, only = request.encoding or known.code, None if known.code == "eng" else known.code
    topics, listed, excluded = _topics(named, request, copy)
    qrels = {
        condition: read_judgements(_paths(named, part, copy), only, encoding)
        for condition, part in entry.qrels.items()
        if not (request.qrels and condition == "original")
    }
    qrels = ({"original": listed} if listed else {}) | qrels | given_judgements(request, known.code)
    docs = request.docs or [str(path) for path in _paths(named, entry.corpus, copy)]
    return Collection(
        name="",
        subset=known.code,
        language=known,
        source=source_of(docs, encoding),
        topics=judged_topics(topics, qrels),
        judging=Judging(qrels, excluded={qid: set(grades) for qid, grades in excluded.items() if grades}),
    )


def _topics(named: Named, request: Data, copy: Path | None) -> tuple[list[Topic], Qrels, Qrels]:
    """Return the topics, and what their rows list as relevant and as excluded."""
    entry, fields, form = named.entry, request.fields, request.topics_format
    lang = language(entry.query_lang or entry.lang).code
    paths = [Path(request.topics)] if request.topics else _paths(named, entry.topics, copy)
    if form or not entry.columns:
        read = (find_topics(path, lang, fields, form, request.encoding) for path in paths)
        return [topic for topics in read for topic in topics], {}, {}
    if fields != "title":
        raise UsageError(f"{named.name}: its topics have one text, no {fields}; expected fields title")
    columns, rows = entry.columns, list(read_rows(paths, request.encoding or lang))
    topics = topics_of(rows, lang, columns)
    warn_blank(paths[0], topics, columns.instructions)
    relevant = listed_of(rows, columns, columns.relevant) if columns.relevant else {}
    excluded = listed_of(rows, columns, columns.excluded) if columns.excluded else {}
    return topics, relevant, excluded


def _paths(named: Named, part: EntryFiles | None, copy: Path | None) -> list[Path]:
    """Return the files of a part, from a local copy, or fetched at most once."""
    if part is None:
        raise DataError(f"{named.name}: not all of it can be fetched, name files of your own; {named.entry.note}")
    if part.url:
        pages = page_files(part)
        if copy:
            return [path for page in pages for path in _files_of(named, [copy], page.path.name, "")]
        fetch([page for page in pages if not page.path.is_file()])
        return [page.path for page in pages]
    roots = _roots(named, repository_of(named.entry, part), copy)
    return [path for name in part.files for path in _files_of(named, roots, name, part.split)]


def _roots(named: Named, repository: Repository, copy: Path | None) -> list[Path]:
    """Return the folders in which the files of a data set may be: those called as it or the subset first."""
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
    raise DataError(f"{roots[0]}: no {expected}; expected Parquet or JSONL files of that name, or in {_inside(named)}")


def _inside(named: Named) -> str:
    """Return how the folder of a data set may be called inside a local copy."""
    hub = named.entry.hub.rpartition("/")[2]
    return " or ".join(f"{name}/" for name in dict.fromkeys((hub, named.subset)) if name)
