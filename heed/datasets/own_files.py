"""Collections of files of the user's own, and of any id of ir_datasets."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from heed.datasets.catalogue import Named
from heed.datasets.collection import Collection, warn_of_letters, warn_of_unchanged, with_warnings
from heed.datasets.irds import CODES, IrDataset, find_topics, language_of, read_judgements, read_queries
from heed.datasets.layout import Layout, Settings
from heed.datasets.own_ids import ignores_own_ids
from heed.datasets.paired import is_paired, read_pairs
from heed.errors import DataError
from heed.formats.data_set_folders import collection_name, config_files
from heed.formats.data_set_rows import read_candidates
from heed.formats.documents import Files, Source
from heed.formats.topic_ids import number_hint
from heed.formats.user_files import read_own
from heed.languages import LANGUAGES, language
from heed.measures.evaluate import Judging
from heed.progress import log
from heed.types import Qrels, Topic


@with_warnings
def ir_dataset(dataset: str, settings: Settings) -> Collection:
    """Return a collection of ir_datasets; files of ``settings`` replace its documents, topics or judgements."""
    code, files, fields = _language([dataset], settings.lang), settings.files, settings.fields
    qrels = files.judgements(code)
    if files.topics:
        topics = find_topics(Path(files.topics), code, fields, files.topics_format, files.encoding)
    else:
        topics = read_queries(dataset, code, fields)
    published = {} if "original" in qrels else read_judgements(dataset)
    if any(topic.qid in published for topic in topics):
        qrels["original"] = published
    elif published:
        hint = number_hint(published, [topic.qid for topic in topics])
        log.info(f"{dataset}: its judgements are of none of the {len(topics)} topics given, and not used{hint}")
    source = source_of(files.docs, files.encoding or code) if files.docs else IrDataset(dataset)
    collection = plain_collection(files.name or dataset.replace("/", "-"), code, source, topics, qrels)
    return replace(collection, own_ids=ignores_own_ids(dataset) and not files.docs)


@with_warnings
def own_collection(settings: Settings) -> Collection:
    """Return the collection of the user's own documents, topics and judgements.

    A folder in BEIR's or MTEB's layout brings topics and judgements along, see
    :func:`heed.formats.user_files.read_own`. One in FollowIR's form brings both instructions, their
    judgements and candidates.
    """
    files, fields = settings.files, settings.fields
    code = _language([path for path in files.docs if not Path(path).exists()], settings.lang)
    name, folder, encoding = files.name or _name(files.docs), files.data_set, files.encoding or code
    candidates: dict[str, list[str]]
    if folder and not files.topics and config_files(folder, "queries") and is_paired(folder, encoding):
        paired = read_pairs(folder, str, code, encoding)
        topics, candidates = paired.topics, paired.candidates
        qrels = {condition: grades for condition, grades in paired.qrels.items() if grades} | files.judgements(code)
        log.info(f"{folder}: in FollowIR's form; {len(topics)} topics with original and changed instructions")
    else:
        topics, qrels = read_own(files, code, fields, read=find_topics)
        candidates = read_candidates(folder) if folder else {}
    source = source_of(files.docs, encoding)
    return replace(plain_collection(name, code, source, topics, qrels), candidates=candidates)


def given_files(
    docs: Sequence[str],
    topics: str,
    *,
    lang: str | None = None,
    fields: str = "title",
    topics_format: str | None = None,
    encoding: str | None = None,
) -> tuple[str, str, Source, list[Topic]]:
    """Return a name for ``docs``, their language, the documents and the topics.

    ``docs`` and ``topics`` are files and folders, or one id of ir_datasets. ``lang`` defaults to the language that
    ir_datasets names, else to English. Raises :class:`UsageError` for an unknown language.
    """
    code = _language([path for path in docs if not Path(path).exists()], lang)
    read = find_topics(Path(topics), code, fields, topics_format, encoding)
    source = source_of(docs, encoding or code)
    warn_of_unchanged(read)
    warn_of_letters(source, language(code))
    return _name(docs), code, source, read


def plain_collection(name: str, code: str, source: Source, topics: list[Topic], qrels: dict[str, Qrels]) -> Collection:
    """Return a collection in one language, measured by the usual measures."""
    return Collection(
        name=name, subset=code, language=language(code), source=source, topics=topics, judging=Judging(qrels)
    )


def _name(docs: Sequence[str]) -> str:
    first = Path(docs[0])
    return collection_name(first) if first.exists() else docs[0].replace("/", "-")


def source_of(docs: Sequence[str], encoding: str | None = None) -> Source:
    """Return the documents of files and folders, or of one id of ir_datasets."""
    if len(docs) == 1 and not Path(docs[0]).exists():
        return IrDataset(docs[0])
    return Files([Path(path) for path in docs], encoding)


def _language(ids: Sequence[str], lang: str | None) -> str:
    """Return ``lang``, else the language of the first of ``ids`` in ir_datasets, else English."""
    if lang or not ids:
        return language(lang or "eng").code
    short = language_of(ids[0])
    if short not in CODES:
        raise DataError(f"{ids[0]}: its language is {short!r}, expected one of {', '.join(LANGUAGES)}")
    return CODES[short]


def _read_ids(members: Sequence[Named], settings: Settings) -> list[Collection]:
    return [ir_dataset(member.entry.id, settings) for member in members]


IDS = Layout(_read_ids, ("files", "lang", "fields"))
OWN_FILES = Layout(lambda _, settings: [own_collection(settings)], ("files", "lang", "fields"))
