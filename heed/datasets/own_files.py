"""Collections of files of the user's own, and of any id of ir_datasets."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain
from pathlib import Path

from heed.data import Data
from heed.datasets.collection import Collection, with_warnings
from heed.datasets.irds import CODES, IrDataset, find_topics, language_of, read_judgements, read_queries
from heed.errors import DataError, UsageError
from heed.formats.data_sets import (
    collection_name,
    config_files,
    data_set_in,
    given_judgements,
    is_paired,
    judged_topics,
    qrels_files,
    read_candidates,
    read_pairs,
    test_qrels,
)
from heed.formats.data_sets import read_judgements as read_judgements_file
from heed.formats.document_store import DocumentStore
from heed.formats.documents import Files, Source
from heed.formats.topic_ids import number_hint
from heed.languages import LANGUAGES, language
from heed.measures.evaluate import Judging
from heed.progress import brief, log, warn
from heed.types import Qrels, Topic

Scores = Mapping[str, Mapping[str, float]]  # qid -> docid -> score
IGNORED = Path(__file__).with_name("mteb_own_ids.txt")  # owner, then data sets whose tasks in MTEB 2.26.24 do so


def ignores_own_ids(name: str) -> bool:
    """Whether MTEB's task of a data set, of the hub or ``beir/…`` of ir_datasets, looks at the ids alone."""
    owner, data_set = ("mteb" if part == "beir" else part for part in f"{name}/".split("/")[:2])
    return any(owner == line.split()[0] and data_set in line.split() for line in IGNORED.read_text().splitlines())


def own_documents(topics: Sequence[Topic], store: DocumentStore, by_id: bool) -> AbstractSet[str]:
    """Return the queries that are documents: of the same id and, unless ``by_id``, the same title, text or both.

    They are logged, and so are those that have the id of a document alone.
    """
    documents, left_out = store.find([topic.qid for topic in topics]), {}
    for topic in (topic for topic in topics if topic.qid in documents):
        query, title, text = (part.casefold().split() for part in (topic.query, *documents[topic.qid][1:3]))
        if by_id or query in (title, text, title + text):
            left_out[topic.qid] = topic
    if left_out:
        why = "by their ids, as in MTEB" if by_id else "id and text are a document's"
        log.info(
            f"{len(left_out)} queries left out of their lists, {why} (keep_own_id keeps them): {brief([*left_out])}"
        )
    if len(left_out) < len(documents):
        log.info(f"{len(documents) - len(left_out)} queries have the id of a document with another text; it is kept")
    return left_out.keys()


def without_own(run: Scores, left_out: AbstractSet[str]) -> Scores:
    """Return the run without each query of ``left_out`` in its own list."""
    return {
        **run,
        **{qid: {docid: run[qid][docid] for docid in run[qid] if docid != qid} for qid in left_out & run.keys()},
    }


@with_warnings
def ir_dataset(dataset: str, data: Data) -> Collection:
    """Return a collection of ir_datasets; files of ``data`` replace its documents, topics or judgements."""
    code = documents_language([dataset], data.lang)
    qrels = given_judgements(data, code)
    topics = given_topics(data, code) if data.topics else read_queries(dataset, code, data.fields)
    published = {} if "original" in qrels else read_judgements(dataset)
    if any(topic.qid in published for topic in topics):
        qrels["original"] = published
    elif published:
        log.info(f"{dataset}: {_unused(published, topics)}")
    source = source_of(data.docs, data.encoding or code) if data.docs else IrDataset(dataset)
    collection = plain_collection(data.name or dataset.replace("/", "-"), code, source, topics, qrels)
    return replace(collection, own_ids=ignores_own_ids(dataset) and not data.docs)


@with_warnings
def own_collection(data: Data) -> Collection:
    """Return the collection of the user's own documents, topics and judgements, see :func:`read_own`.

    A folder in FollowIR's form brings both instructions, their judgements and candidates.
    """
    texts, folder = _documents(data), data_set_in(data.docs)
    code = texts.language.code
    candidates: dict[str, list[str]] = {}
    if folder and not data.topics and config_files(folder, "queries") and is_paired(folder, data.encoding or code):
        topics, judged, candidates, _ = read_pairs(folder, str, code, data.encoding or code)
        qrels = {condition: grades for condition, grades in judged.items() if grades} | given_judgements(data, code)
        log.info(f"{folder}: in FollowIR's form; {len(topics)} topics with original and changed instructions")
    else:
        topics, qrels = read_own(data, code)
        candidates = read_candidates(folder) if folder else {}
    return replace(texts, topics=topics, judging=Judging(qrels), candidates=candidates)


def _documents(data: Data) -> Collection:
    """Return the documents of ``data`` as a collection without topics.

    Its language defaults to the one that ir_datasets names, else to English.
    """
    code = documents_language([path for path in data.docs if not Path(path).exists()], data.lang)
    first = Path(data.docs[0])
    name = data.name or (collection_name(first) if first.exists() else data.docs[0].replace("/", "-"))
    return plain_collection(name, code, source_of(data.docs, data.encoding or code), [], {})


def given_topics(data: Data, lang: str) -> list[Topic]:
    """Return the topics that ``data`` names, a file, a folder or an id of ir_datasets, in ``lang``."""
    return find_topics(Path(data.topics or data.docs[0]), lang, data.fields, data.topics_format, data.encoding)


def read_own(data: Data, lang: str, only_language: str | None = None) -> tuple[list[Topic], dict[str, Qrels]]:
    """Return topics and judgements by condition; what ``data`` does not name is taken from its data set.

    Of a data set's topics those that are judged are taken, as BEIR does: its queries are those of all splits. Raises
    :class:`UsageError` without topics, and for a data set of several splits without ``test``.
    """
    qrels, folder = given_judgements(data, lang, only_language), data_set_in(data.docs)
    if not data.topics and not folder:
        raise UsageError("topics: none are given for these docs; name a TREC, JSONL or TSV file")
    topics = given_topics(data, lang)
    if folder and not data.qrels:
        known = [*chain(*qrels_files(folder).values())]
        unread = sorted(str(path.relative_to(folder)) for path in folder.glob("qrels/**/*.*") if path not in known)
        say = log.info if known else warn
        if unread:
            say(f"{folder}: found and not read: {', '.join(unread)}; name judgements as qrels")
    if folder and not data.qrels and (paths := test_qrels(folder)):
        grades = read_judgements_file(folder, only_language, data.encoding or lang)
        if not data.topics or any(topic.qid in grades for topic in topics):
            qrels["original"] = grades
            log.info(f"{folder}: in BEIR's or MTEB's layout; judgements of {paths[0].relative_to(folder)}")
        else:
            log.info(f"{folder}: {_unused(grades, topics)}")
    if data.topics:
        return topics, qrels
    judged = judged_topics(topics, qrels)
    of_judged = f"{len(judged)} of {len(topics)} topics, those that are judged" if judged != topics else "all topics"
    log.info(f"{folder}: documents of its corpus alone, {of_judged}")
    return judged, qrels


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


def documents_language(ids: Sequence[str], lang: str) -> str:
    """Return ``lang``, else the language of the first of ``ids`` in ir_datasets, else English."""
    if lang or not ids:
        return language(lang or "eng").code
    short = language_of(ids[0])
    if short not in CODES:
        raise DataError(f"{ids[0]}: its language is {short!r}, expected one of {', '.join(LANGUAGES)}")
    return CODES[short]
