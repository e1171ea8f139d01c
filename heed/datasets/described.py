"""Collections whose entry says which files are what: parts, folders in MTEB's or BEIR's layout, ids of ir_datasets."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from heed.datasets.catalogue import EntryFiles, Named
from heed.datasets.collection import Collection, with_warnings
from heed.datasets.fetchable import page_files, repository_of
from heed.datasets.hub import Repository, snapshot
from heed.datasets.irds import find_topics
from heed.datasets.layout import Layout, Settings
from heed.datasets.own_files import ir_dataset, own_collection, source_of
from heed.datasets.own_ids import ignores_own_ids
from heed.downloads import fetch
from heed.errors import DataError, UsageError, fail
from heed.files import unpacked_name
from heed.formats.data_set_folders import is_data_set, split_files
from heed.formats.data_set_rows import grades_of, listed_of, read_rows, topics_of, warn_blank
from heed.formats.user_files import ROWS, judged_topics, read_judgements
from heed.languages import language
from heed.measures.evaluate import Judging
from heed.progress import log
from heed.types import Qrels, Topic


def read_described(members: Sequence[Named], settings: Settings) -> list[Collection]:
    """Return the collections of entries that say themselves which files are what.

    ``data`` of the settings is a local copy: the files of the entry, of several repositories together or each in a
    folder of its name. Without it they are fetched.
    """
    name = members[0].name if len(members) == 1 else members[0].group
    data = settings.data
    if data and len({member.entry.hub for member in members}) > 1:
        alone = [member for member in members if len(_roots(member, Repository(member.entry.hub, ""), data)) == 1]
        fail(f"{data}: no folder {_inside(member)}; {name} is several data sets, with one each" for member in alone)
    return [_read_entry(member, settings) for member in members]


@with_warnings
def _read_entry(named: Named, settings: Settings) -> Collection:
    entry, files = named.entry, settings.files
    if entry.id and settings.data:
        raise UsageError(f"{named.name}: comes from ir_datasets, which keeps its files itself; leave the copy out")
    language(entry.lang)  # an unknown one is told before anything is fetched
    if entry.note:
        log.info(f"{named.name}: {entry.note}")
    if entry.id:
        collection = ir_dataset(entry.id, settings)
    elif entry.parts:
        collection = _of_parts(named, settings)
    else:
        collection = _of_folder(named, settings)
    subset = named.subset or collection.subset
    return replace(
        collection,
        name=files.name or named.group,
        subset=subset,
        index=subset,
        judging=collection.judging._replace(measures=entry.measures, robust=entry.robust, pairs=entry.pairs),
        reranked=entry.reranked and not files.docs,
        join=entry.join,
        own_ids=ignores_own_ids(entry.hub or entry.id) and not files.docs,
    )


DESCRIBED = Layout(read_described, ("files", "fields", "data"))


def _of_folder(named: Named, settings: Settings) -> Collection:
    """Return the collection of a data set in MTEB's or BEIR's layout."""
    entry, files = named.entry, settings.files
    folders = _roots(named, Repository(entry.hub, entry.revision), settings.data)
    folder = next((folder for folder in folders if is_data_set(folder)), None)
    if folder is None:
        raise DataError(
            f"{folders[-1]}: neither MTEB's nor BEIR's layout (corpus beside queries or qrels), nor {_inside(named)} "
            "in it; say in an entry of a catalogue which files are what"
        )
    collection = own_collection(replace(settings, files=replace(files, docs=(str(folder),)), lang=entry.lang))
    encoding = files.encoding or collection.language.code
    return replace(collection, source=source_of(files.docs, encoding)) if files.docs else collection


def _of_parts(named: Named, settings: Settings) -> Collection:
    entry, known = named.entry, language(named.entry.lang)
    files, data, encoding = settings.files, settings.data, settings.files.encoding or known.code
    topics, listed, excluded = _topics(named, settings)
    qrels = {
        condition: _judged(_paths(named, part, data), None if known.code == "eng" else known.code, encoding)
        for condition, part in entry.qrels.items()
        if not (files.qrels and condition == "original")
    }
    qrels = ({"original": listed} if listed else {}) | qrels | files.judgements(known.code)
    docs = files.docs or [str(path) for path in _paths(named, entry.corpus, data)]
    return Collection(
        name="",
        subset=known.code,
        language=known,
        source=source_of(docs, encoding),
        topics=judged_topics(topics, qrels),
        judging=Judging(qrels, excluded={qid: set(grades) for qid, grades in excluded.items() if grades}),
    )


def _judged(paths: Sequence[Path], only_language: str | None, encoding: str) -> Qrels:
    if len(paths) > 1 or unpacked_name(paths[0]).endswith(ROWS):
        return grades_of(read_rows(paths, encoding))
    return read_judgements(paths[0], only_language, encoding)


def _topics(named: Named, settings: Settings) -> tuple[list[Topic], Qrels, Qrels]:
    """Return the topics, and what their rows list as relevant and as excluded."""
    entry, files, fields = named.entry, settings.files, settings.fields
    lang = language(entry.query_lang or entry.lang).code
    paths = [Path(files.topics)] if files.topics else _paths(named, entry.topics, settings.data)
    if files.topics_format or not entry.columns:
        read = (find_topics(path, lang, fields, files.topics_format, files.encoding) for path in paths)
        return [topic for topics in read for topic in topics], {}, {}
    if fields != "title":
        raise UsageError(f"{named.name}: its topics have one text, no {fields}; expected fields title")
    columns, rows = entry.columns, list(read_rows(paths, files.encoding or lang))
    topics = topics_of(rows, lang, columns)
    warn_blank(paths[0], topics, columns.instructions)
    relevant = listed_of(rows, columns, columns.relevant) if columns.relevant else {}
    excluded = listed_of(rows, columns, columns.excluded) if columns.excluded else {}
    return topics, relevant, excluded


def _paths(named: Named, part: EntryFiles | None, data: Path | None) -> list[Path]:
    """Return the files of a part, from a local copy, or fetched at most once."""
    if part is None:
        raise DataError(f"{named.name}: not all of it can be fetched, name files of your own; {named.entry.note}")
    if part.url:
        pages = page_files(part)
        if data:
            return [path for page in pages for path in _files_of(named, [data], page.path.name, "")]
        fetch([page for page in pages if not page.path.is_file()])
        return [page.path for page in pages]
    roots = _roots(named, repository_of(named.entry, part), data)
    return [path for name in part.files for path in _files_of(named, roots, name, part.split)]


def _roots(named: Named, repository: Repository, data: Path | None) -> list[Path]:
    """Return the folders in which the files of a data set may be: those called as it or the subset first."""
    if not data:
        fail([] if repository.name else [f"{named.name}: no address of its files is known; give a local copy"])
        return [snapshot(repository)]
    names = (repository.name.rpartition("/")[2].lower(), named.subset.lower())
    inside = sorted(data.iterdir()) if data.is_dir() else []
    return [*(path for path in inside if path.is_dir() and path.name.lower() in names), data]


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
