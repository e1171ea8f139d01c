"""TREC-style collections: any id of ir_datasets, the user's own files, and the English sample."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from heed.datasets import sample_root
from heed.datasets.collection import Collection, warn_of_unchanged, with_warnings
from heed.datasets.followir import docno, is_paired, read_pairs
from heed.datasets.irds import CODES, IrDataset, language_of, load, read_judgements, read_queries
from heed.errors import DataError
from heed.formats.configs import read_candidates
from heed.formats.documents import Files, Source
from heed.formats.layouts import collection_name, config_files
from heed.formats.topic_files import NO_FILES, OwnFiles, read_own, read_topics
from heed.formats.topics import read_jsonl_topics
from heed.formats.trec_files import read_qrels
from heed.languages import LANGUAGES, language
from heed.measures.evaluate import Judging
from heed.progress import log
from heed.types import Qrels, Topic

SAMPLE = "neuclir-sample"


def of_documents(collection: Collection) -> Collection:
    """Return a collection of passages as one whose documents are searched whole, FollowIR's table of full retrieval."""
    qrels = {
        condition: {qid: _grades_of_documents(grades) for qid, grades in judged.items()}
        for condition, judged in collection.judging.qrels.items()
    }
    subset = f"{collection.subset}-full"
    return replace(
        collection,
        subset=subset,
        index=subset,
        judging=collection.judging._replace(qrels=qrels),
        candidates={qid: list(dict.fromkeys(map(docno, docids))) for qid, docids in collection.candidates.items()},
    )


def _grades_of_documents(grades: Mapping[str, int]) -> dict[str, int]:
    """Return the judgements of passages as those of their documents; the best one counts where there are several."""
    of_documents: dict[str, int] = {}
    for docid, grade in grades.items():
        of_documents[docno(docid)] = max(grade, of_documents.get(docno(docid), grade))
    return of_documents


@with_warnings
def ir_dataset(
    dataset: str, files: OwnFiles = NO_FILES, *, lang: str | None = None, fields: str = "title"
) -> Collection:
    """Return a collection of ir_datasets; ``files`` replace its documents, topics or judgements."""
    code = _language([dataset], lang)
    qrels = files.judgements()
    published = {} if "original" in qrels else read_judgements(dataset)
    if files.topics:
        topics = read_topics(Path(files.topics), code, fields, files.topics_format)
    else:
        topics = read_queries(dataset, code, fields)
    if any(topic.qid in published for topic in topics):
        qrels["original"] = published
    elif published:
        log.info(f"{dataset}: its judgements are of none of the {len(topics)} topics given, and not used")
    source = source_of(files.docs) if files.docs else IrDataset(dataset)
    return _collection(files.name or dataset.replace("/", "-"), code, source, topics, qrels)


@with_warnings
def own_collection(files: OwnFiles, *, lang: str | None = None, fields: str = "title") -> Collection:
    """Return the collection of the user's own documents, topics and judgements.

    A folder in BEIR's or MTEB's layout brings topics and judgements along, see
    :func:`heed.formats.topic_files.read_own`. One in FollowIR's form brings both instructions, their
    judgements and candidates.
    """
    code = _language([path for path in files.docs if not Path(path).exists()], lang)
    name, folder = files.name or _name(files.docs), files.data_set
    candidates: dict[str, list[str]]
    if folder and not files.topics and config_files(folder, "queries") and is_paired(folder):
        paired = read_pairs(folder, str, code)
        topics, candidates = paired.topics, paired.candidates
        qrels = {condition: grades for condition, grades in paired.qrels.items() if grades} | files.judgements()
        log.info(f"{folder}: in FollowIR's form; {len(topics)} topics with original and changed instructions")
    else:
        topics, qrels = read_own(files, code, fields)
        candidates = read_candidates(folder) if folder else {}
    return replace(_collection(name, code, source_of(files.docs), topics, qrels), candidates=candidates)


def given_files(
    docs: Sequence[str],
    topics: str,
    *,
    lang: str | None = None,
    fields: str = "title",
    topics_format: str | None = None,
) -> tuple[str, str, Source, list[Topic]]:
    """Return a name for ``docs``, their language, the documents and the topics.

    ``docs`` are files and folders, or one id of ir_datasets. ``lang`` defaults to the language that ir_datasets
    names, else to English. Raises :class:`UsageError` for an unknown language.
    """
    code = _language([path for path in docs if not Path(path).exists()], lang)
    read = read_topics(Path(topics), code, fields, topics_format)
    warn_of_unchanged(read)
    return _name(docs), code, source_of(docs), read


def english_sample(fields: str = "title") -> Collection:
    """Return the embedded sample of invented news in English."""
    root = sample_root()
    topics = read_jsonl_topics(root / "topics" / SAMPLE / "eng.jsonl", "eng", fields)
    qrels = {name: read_qrels(root / "qrels" / SAMPLE / f"{name}.qrels") for name in ("original", "changed")}
    return _collection(SAMPLE, "eng", Files([root / "documents" / SAMPLE / "eng.jsonl"]), topics, qrels)


def _collection(name: str, code: str, source: Source, topics: list[Topic], qrels: dict[str, Qrels]) -> Collection:
    return Collection(
        name=name, subset=code, language=language(code), source=source, topics=topics, judging=Judging(qrels)
    )


def _name(docs: Sequence[str]) -> str:
    first = Path(docs[0])
    return collection_name(first) if first.exists() else docs[0].replace("/", "-")


def source_of(docs: Sequence[str]) -> Source:
    """Return the documents of files and folders, or of one id of ir_datasets."""
    if len(docs) == 1 and not Path(docs[0]).exists():
        load(docs[0])
        return IrDataset(docs[0])
    return Files([Path(path) for path in docs])


def _language(ids: Sequence[str], lang: str | None) -> str:
    """Return ``lang``, else the language of the first of ``ids`` in ir_datasets, else English."""
    if lang or not ids:
        return language(lang or "eng").code
    short = language_of(ids[0])
    if short not in CODES:
        raise DataError(f"{ids[0]}: its language is {short!r}, expected one of {', '.join(LANGUAGES)}")
    return CODES[short]
