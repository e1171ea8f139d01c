"""Collections of files: the user's own, a pool's, those of an entry of the catalogue; and of any id of ir_datasets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated

from heed.data import FILES, Data
from heed.datasets import documents_file, irds
from heed.datasets.catalogue import CatalogueEntry, Named
from heed.datasets.collection import Collection, Layout, Option, given_judgements, given_topics, with_warnings
from heed.datasets.fetchable import Repository, folder_names, part_files, roots_of
from heed.datasets.irds import CODES, IrDataset, language_of
from heed.errors import DataError, UsageError, fail
from heed.files import unpacked_name
from heed.formats.data_set_folders import collection_name, data_set_in, is_data_set
from heed.formats.data_sets import (
    config_files,
    is_mfollowir,
    is_paired,
    qrels_files,
    read_candidates,
    read_columns,
    read_mfollowir,
    read_pairs,
    test_qrels,
)
from heed.formats.documents import SUFFIXES, TSV, Documents, Files, Source, corpus_files, is_trec_documents
from heed.formats.judgements import read_judgements
from heed.formats.topic_ids import number_hint
from heed.languages import LANGUAGES, language
from heed.measures.evaluate import Judging
from heed.progress import log, warn
from heed.tables.documents import TABLE_SUFFIXES, Tables
from heed.types import Qrels, Topic

IGNORED = Path(__file__).with_name("mteb_own_ids.txt")  # owner, then data sets whose tasks in MTEB 2.26.24 do so


def ignores_own_ids(name: str) -> bool:
    """Whether MTEB's task of a data set, of the hub or ``beir/…`` of ir_datasets, looks at the ids alone."""
    owner, data_set = ("mteb" if part == "beir" else part for part in f"{name}/".split("/")[:2])
    return any(owner == line.split()[0] and data_set in line.split() for line in IGNORED.read_text().splitlines())


@with_warnings
def ir_dataset(dataset: str, data: Data) -> Collection:
    """Return a collection of ir_datasets; files of ``data`` replace its documents, topics or judgements."""
    code = documents_language((dataset,), data.lang)
    qrels = given_judgements(data, code)
    topics = given_topics(data, code) if data.topics else irds.read_queries(dataset, code, data.fields)
    published = {} if "original" in qrels else irds.read_judgements(dataset)
    if any(topic.qid in published for topic in topics):
        qrels["original"] = published
    elif published:
        log.info(f"{dataset}: {_unused(published, topics)}")
    source = source_of(data.docs, data.encoding or code) if data.docs else IrDataset(dataset)
    collection = plain_collection(data.name or dataset.replace("/", "-"), code, source, topics, qrels)
    return replace(collection, own_ids=ignores_own_ids(dataset) and not data.docs)


@with_warnings
def own_collection(data: Data) -> Collection:
    """Return the collection of the user's own documents, topics and judgements, see :func:`read_own`."""
    code = documents_language(data.docs, data.lang)
    topics, qrels, candidates = read_own(data, code)
    source = source_of(data.docs, data.encoding or code)
    return replace(plain_collection(data.name or _name(data.docs), code, source, topics, qrels), candidates=candidates)


def _read_own(members: Sequence[Named], data: Data) -> list[Collection]:
    """Return the collection of an entry that :func:`own_entry` makes."""
    dataset = members[0].entry.id
    return [ir_dataset(dataset, data) if dataset else own_collection(data)]


OWN = Layout(_read_own, (*FILES, "lang", "fields"))


def own_entry(dataset: str) -> Named:
    """Return the entry of an id of ir_datasets that no catalogue has; of files of the user's own for an empty one."""
    name = dataset or "files of your own"
    return Named(name, "", "", CatalogueEntry(holds=name, id=dataset, layout=f"{__name__}:OWN"))


def judged_topics(topics: list[Topic], qrels: Mapping[str, Qrels]) -> list[Topic]:
    """Return the topics that are judged under some condition, or all if none is."""
    judged = {qid for grades in qrels.values() for qid in grades}
    return [topic for topic in topics if topic.qid in judged] or topics


def read_own(
    data: Data, lang: str, only_language: str | None = None
) -> tuple[list[Topic], dict[str, Qrels], dict[str, list[str]]]:
    """Return topics, judgements by condition and candidates; what ``data`` does not name is taken from its data set.

    A folder in FollowIR's form brings both instructions. Of another's topics those that are judged are taken, as BEIR
    does: its queries are those of all splits. Raises :class:`UsageError` without topics, and for a data set of several
    splits without ``test``.
    """
    qrels, folder, encoding = given_judgements(data, lang, only_language), data_set_in(data.docs), data.encoding or lang
    if not data.topics and not folder:
        raise UsageError("topics: none are given for these docs; name a TREC, JSONL or TSV file")
    if folder and not data.topics and config_files(folder, "queries") and is_paired(folder, encoding):
        topics, published, candidates, _ = read_pairs(folder, str, lang, encoding)
        log.info(f"{folder}: in FollowIR's form; {len(topics)} topics with original and changed instructions")
        return topics, {condition: grades for condition, grades in published.items() if grades} | qrels, candidates
    candidates = read_candidates(folder) if folder else {}
    topics = given_topics(data, lang)
    if folder and not data.qrels:
        known = [*chain(*qrels_files(folder).values())]
        unread = sorted(str(path.relative_to(folder)) for path in folder.glob("qrels/**/*.*") if path not in known)
        say = log.info if known else warn
        if unread:
            say(f"{folder}: found and not read: {', '.join(unread)}; give judgements as qrels=PATH")
    if folder and not data.qrels and (paths := test_qrels(folder)):
        grades = read_judgements(folder, only_language, encoding)
        if not data.topics or any(topic.qid in grades for topic in topics):
            qrels["original"] = grades
            log.info(f"{folder}: in BEIR's or MTEB's layout; judgements of {paths[0].relative_to(folder)}")
        else:
            log.info(f"{folder}: {_unused(grades, topics)}")
    if data.topics:
        return topics, qrels, candidates
    judged = judged_topics(topics, qrels)
    of_judged = f"{len(judged)} of {len(topics)} topics, those that are judged" if judged != topics else "all topics"
    log.info(f"{folder}: documents of its corpus alone, {of_judged}")
    return judged, qrels, candidates


def _unused(qrels: Qrels, topics: Sequence[Topic]) -> str:
    hint = number_hint(qrels, [topic.qid for topic in topics])
    return f"its judgements are of none of the {len(topics)} topics given, and not used{hint}"


def plain_collection(name: str, code: str, source: Source, topics: list[Topic], qrels: dict[str, Qrels]) -> Collection:
    """Return a collection in one language, measured by the usual measures."""
    return Collection(
        name=name, subset=code, language=language(code), source=source, topics=topics, judging=Judging(qrels)
    )


def source_of(docs: Sequence[str], encoding: str | None = None) -> Source:
    """Return the documents of files and folders, or of one id of ir_datasets."""
    if len(docs) == 1 and not Path(docs[0]).exists():
        return IrDataset(docs[0])
    return Files([Path(path) for path in docs], encoding)


def documents_language(docs: Sequence[str], lang: str) -> str:
    """Return the code of ``lang``, without it of the language of the first id of ir_datasets in ``docs``, else eng."""
    ids = [path for path in docs if not Path(path).exists()]
    if lang or not ids:
        return language(lang or "eng").code
    short = language_of(ids[0])
    if short not in CODES:
        raise DataError(f"{ids[0]}: its language is {short!r}, expected one of {', '.join(LANGUAGES)}")
    return CODES[short]


def _name(docs: Sequence[str]) -> str:
    first = Path(docs[0] if docs else "pool")
    return collection_name(first) if first.exists() else str(first).replace("/", "-")


@with_warnings
def pool_texts(data: Data, translation: str = "") -> Collection:
    """Return the topics, documents and judgements that ``data`` names as a collection; each may be missing.

    ``translation`` chooses among those of NeuCLIR's topics (human or machine); mFollowIR's bring their documents along.
    The language defaults to the one that ir_datasets names, else to English. Raises as the readers of the files do.
    """
    lang = documents_language(data.docs, data.lang)
    topics, corpus = _pool_topics(data, lang, translation or "any") if data.topics else ([], [])
    docs = data.docs or [*map(str, corpus)]
    source = documents_of(docs, data.encoding or lang) if docs else Documents([])
    return plain_collection(data.name or _name(docs), lang, source, topics, given_judgements(data, lang, lang))


def _pool_topics(data: Data, lang: str, translation: str) -> tuple[list[Topic], Sequence[Path]]:
    """Return the topics over documents in ``lang``, and the documents that belong to them if they are mFollowIR's."""
    path, known, query_lang = Path(data.topics), irds.parse_id(data.topics), data.queries_in(lang)
    if known:
        return irds.judged(known.source, [known.part], lang, query_lang, data.fields, translation)[0], []
    if is_mfollowir(path, lang):
        read = read_mfollowir(path, lang, query_lang)
        return read.topics, read.corpus
    return given_topics(data, query_lang, lang, translation), []


def documents_of(docs: Sequence[str], encoding: str) -> Source:
    """Return the documents of files and folders, or of one id of ir_datasets; tables where there are no records."""
    paths = [*map(Path, docs)]
    known = irds.parse_id(docs[0])
    if not known and len(docs) == 1 and not paths[0].exists():
        return IrDataset(docs[0])
    if known:
        paths = [documents_file(known.source, known.lang)]
        if not paths[0].exists():
            raise DataError(f"{paths[0]}: no documents of {docs[0]}; heed fetch says how to get them")
    files = corpus_files(paths, TABLE_SUFFIXES)
    suffixes = (*SUFFIXES, *[TSV for path in paths if path.is_file()])  # a table, where it is not named itself
    records = [file for file in files if unpacked_name(file).endswith(suffixes) or is_trec_documents(file)]
    return Files(records, encoding) if records else Tables(files, "raw", encoding=encoding)


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
        alone = [member for member in members if len(roots_of(member, Repository(member.entry.hub, ""), copy)) == 1]
        fail(
            f"{copy}: no folder {folder_names(member)}; {name} is several data sets, with one each" for member in alone
        )
    # one dimension of InfoSearch's sample is in several languages
    read = _read_entry if members[0].entry.embedded else with_warnings(_read_entry)
    return [read(member, request, copy) for member in members]


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


DESCRIBED = Layout(read_described, (*FILES, "fields"))


def _of_folder(named: Named, request: Data, copy: Path | None) -> Collection:
    """Return the collection of a data set in MTEB's or BEIR's layout."""
    entry = named.entry
    folders = roots_of(named, Repository(entry.hub, entry.revision), copy)
    folder = next((folder for folder in folders if is_data_set(folder)), None)
    if folder is None:
        raise DataError(
            f"{folders[-1]}: neither MTEB's nor BEIR's layout (corpus beside queries or qrels), nor "
            f"{folder_names(named)} in it; say in an entry of a catalogue which files are what"
        )
    collection = own_collection(replace(request, docs=(str(folder),), lang=entry.lang))
    encoding = request.encoding or collection.language.code
    return replace(collection, source=source_of(request.docs, encoding)) if request.docs else collection


def _of_parts(named: Named, request: Data, copy: Path | None) -> Collection:
    entry, code = named.entry, language(named.entry.lang).code
    encoding, only = request.encoding or code, None if code == "eng" else code
    lang, columns = language(entry.query_lang or code).code, None if request.topics_format else entry.columns
    paths = [Path(request.topics)] if request.topics else part_files(named, entry.topics, copy)
    qrels, excluded = dict[str, Qrels](), dict[str, set[str]]()
    if not columns:
        topics = [topic for path in paths for topic in given_topics(replace(request, topics=str(path)), lang)]
    elif request.fields != "title":
        raise UsageError(f"{named.name}: its topics have one text, no {request.fields}; expected fields=title")
    else:
        topics, qrels["original"], excluded = read_columns(paths, lang, columns, request.encoding or lang)
    published = {name: part for name, part in entry.qrels.items() if name not in request.judged}
    qrels |= {name: read_judgements(part_files(named, part, copy), only, encoding) for name, part in published.items()}
    qrels = {name: grades for name, grades in qrels.items() if grades} | given_judgements(request, code)
    docs = request.docs or [str(path) for path in part_files(named, entry.corpus, copy)]
    collection = plain_collection("", code, source_of(docs, encoding), judged_topics(topics, qrels), qrels)
    return replace(collection, judging=Judging(qrels, excluded=excluded))
