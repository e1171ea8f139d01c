"""Open an annotation: its database is made from files at the first start, and later compared with what is given."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from heed.addons.judging.annotate.adding import add_annotations
from heed.addons.judging.annotate.database import create, is_annotation
from heed.addons.judging.annotate.store import Store
from heed.addons.judging.annotate.task import (
    PooledDocument,
    Task,
    dump_task,
    join_pools,
    load_task,
    new_in,
    parse_names,
    parse_scale,
    read_assigned,
    task_differences,
)
from heed.datasets import irds, sample_root
from heed.datasets.followir import is_mfollowir, read_mfollowir
from heed.datasets.irds import IrDataset, find_topics
from heed.errors import DataError, UsageError, fail
from heed.files import unpacked_name
from heed.formats.documents import SUFFIXES, DocumentLine, corpus_files, read_with_records
from heed.formats.neuclir_topics import TopicTexts, read_neuclir_topics
from heed.formats.pools import Pool, read_pool
from heed.formats.topic_ids import number_hint
from heed.formats.trec_documents import is_trec_documents
from heed.formats.user_files import read_judgements, read_topics, recognised
from heed.languages import LANGUAGES, language
from heed.progress import bar, brief, log
from heed.tables.documents import ONE_TABLE, TABLE_SUFFIXES, Tables
from heed.tables.recognition import as_table
from heed.types import Qrels, Topic

USUAL_SCALE = "0,1,2,3"
SAMPLES = ("neuclir-sample", "tables-sample")


@dataclass(frozen=True)
class Sources:
    """The files or ids that an annotation is made from; empty or None is not named.

    ``lang`` is the documents' language, ``query_lang`` native (the same) or eng; ``topics_format``, ``translation``
    and ``fields`` say how topics are read; ``grades`` is a text for :func:`.task.parse_scale`.
    ``add`` are other assessors' databases, ``names`` texts for :func:`.assessors.parse_names`,
    ``assign`` a file for :func:`heed.addons.judging.annotate.task.read_assigned`.
    """

    pool: Path
    topics: str = ""
    topics_format: str | None = None
    docs: Sequence[str] = ()
    lang: str = ""
    encoding: str | None = None
    query_lang: str = "native"
    translation: str = "any"
    fields: str = "title"
    qrels: Path | None = None
    grades: str = ""
    only_relevant: bool = False
    add: Sequence[Path] = ()
    names: Sequence[str] = ()
    assign: Path | None = None


def complete(sources: Sources, pool: Pool) -> Sources:
    """Return ``sources`` with language, topics and documents: those given, or of the sample that has the pool's topics.

    Raises :class:`UsageError` saying what to give if neither is there.
    """
    lang = language(sources.lang).code if sources.lang else ""
    if sources.topics:
        lang = lang or "eng"
        if not sources.docs and not is_mfollowir(Path(sources.topics), lang):
            raise UsageError("--topics without --docs: name the documents of the pool, files or an ir_datasets id")
        return replace(sources, lang=lang)
    if sources.docs:
        raise UsageError("--docs without --topics: name the topics of the pool, a file or an ir_datasets id")
    folder = sources.pool.resolve().parent.name  # runs/<collection>/<language>/pool.jsonl
    completed = _from_sample(sources, pool, lang or (folder if folder in LANGUAGES else "eng"))
    log.info(f"no --topics and --docs: this is the embedded sample, {completed.lang}")
    return completed


def _from_sample(sources: Sources, pool: Pool, lang: str) -> Sources:
    root = sample_root()
    for name in SAMPLES:
        topics = root / "topics" / name / f"{lang}.jsonl"
        if topics.exists() and pool.keys() <= {topic.qid for topic in read_topics(topics, lang, "title")}:
            folder = root / "documents" / name
            file = folder / f"{lang}.jsonl"
            qrels = root / "qrels" / name / "original.qrels" if sources.only_relevant else None
            docs = [str(file if file.exists() else folder)]
            return replace(sources, topics=str(topics), docs=docs, qrels=sources.qrels or qrels, lang=lang)
    raise UsageError(
        f"the pool's topics ({brief([*pool])}) are not those of an embedded sample in {lang}; name their file with "
        "--topics and their documents with --docs"
    )


def make_task(sources: Sources, pool: Pool) -> Task:
    """Return the pool with its topics and given judgements; ``sources`` are complete.

    Raises :class:`DataError` naming every topic of the pool that the topics file lacks, and :class:`UsageError` for
    ``only_relevant`` without judgements.
    """
    topics = topics_of_pool(sources, pool)
    if sources.only_relevant and not sources.qrels:
        raise UsageError("--only-relevant: name the judgements that say what is relevant with --qrels")
    qrels = judgements_of_pool(sources.qrels, sources.lang, pool, sources.encoding) if sources.qrels else {}
    scale = parse_scale(sources.grades or USUAL_SCALE)
    return Task(pool, topics, sources.lang, scale, qrels, sources.only_relevant)


def judgements_of_pool(path: Path, lang: str, pool: Pool, encoding: str | None = None) -> Qrels:
    """Return the judgements of the pool's topics; :class:`DataError` if there are none."""
    qrels = read_judgements(path, lang, encoding or lang)
    judged = {qid: qrels[qid] for qid in pool if qid in qrels}
    if not judged:
        raise DataError(f"{path}: no judgement of a topic of the pool ({brief([*pool])})")
    missing = [qid for qid in pool if qid not in judged]
    if missing:
        log.info(f"{path}: no judgement for {len(missing)} of the pool's {len(pool)} topics: {brief(missing)}")
    return judged


def topics_of_pool(sources: Sources, pool: Pool) -> dict[str, Topic]:
    """Return the pool's topics, and the bare queries that FollowTable's topics belong to.

    Raises :class:`DataError` naming every topic of the pool that is missing.
    """
    topics = {topic.qid: topic for topic in _read_topics(sources)}
    missing = [qid for qid in pool if qid not in topics]
    lacking = f"of the pool: not in {sources.topics}; give the topics that were pooled"
    fail(f"topic {qid} {lacking}{number_hint([qid], topics)}" for qid in missing)
    qids = {*pool, *(topics[qid].base for qid in pool)}
    return {qid: topic for qid, topic in topics.items() if qid in qids}


def _read_topics(sources: Sources) -> list[Topic]:
    path, known = Path(sources.topics), irds.parse_id(sources.topics)
    lang = "eng" if sources.query_lang == "eng" else sources.lang
    fields = TopicTexts(lang, sources.lang, sources.translation, sources.fields)
    if known and not path.exists():
        return irds.judged(known.source, [known.part], fields)[0]
    if is_mfollowir(path, sources.lang):
        return read_mfollowir(path, sources.lang, lang).topics
    encoding = sources.encoding or lang
    if path.is_file() and (sources.topics_format or recognised(path, encoding)) == "neuclir":
        return read_neuclir_topics(path, fields, encoding)
    return find_topics(path, lang, sources.fields, sources.topics_format, encoding)


def corpus_of(sources: Sources) -> Sequence[str]:
    """Return the documents' paths or ids; without any, the documents that belong to mFollowIR's topics."""
    if sources.docs:
        return sources.docs
    return [str(path) for path in read_mfollowir(Path(sources.topics), sources.lang, sources.lang).corpus]


DATES = ("time", "date", "published", "timestamp")  # NeuCLIR1 and HC4 have time, Patapsco and the guidelines date
DAY = re.compile(r"\d{4}-\d\d-\d\d")
LONGEST_DATE = 40


def read_pooled(docs: Sequence[str], docids: Collection[str], encoding: str | None = None) -> Iterator[PooledDocument]:
    """Yield the documents ``docids`` of ``docs`` (files, folders or ir_datasets ids), each once, in reading order.

    Reading stops when none is left to find. Raises :class:`DataError` naming all missing documents, and the lines that
    could not be read.
    """
    missing = dict.fromkeys(docids)
    problems = []
    for line, record in bar(_lines(docs, encoding), 0, "documents", "documents"):
        if not missing:
            break
        if line.document is None:
            problems.append(f"{line.path}, line {line.line_no}: {line.problem}")
        elif line.document.docid in missing:
            docid, title, text = line.document[:3]
            del missing[docid]
            tabular = line.document.is_table or as_table(text) is not None
            yield PooledDocument(docid, title, _date(record) if record else "", text, tabular)
    collections = ", ".join(docs)
    lost = [f"document {docid} of the pool: not in {collections}; name its collection with --docs" for docid in missing]
    fail([*lost, *problems] if lost else [])


def _lines(docs: Sequence[str], encoding: str | None) -> Iterator[tuple[DocumentLine, Any]]:
    """Yield every document with the record it was read from, None if it was read from something else."""
    for name in docs:
        path, known = Path(name), irds.parse_id(name)
        if not path.exists() and known is None:
            yield from ((line, None) for line in IrDataset(name).lines())
            continue
        if not path.exists() and known is not None:
            path = irds.documents_file(known[0], known[1])
            if not path.exists():
                raise DataError(f"{path}: no documents of {name}; heed fetch says how to get them")
        files = corpus_files([path], TABLE_SUFFIXES)
        records = [file for file in files if unpacked_name(file).endswith(SUFFIXES) or is_trec_documents(file)]
        for file in records or files:  # a text file beside records is a note on them, not a document
            is_table = not records and unpacked_name(file).endswith(ONE_TABLE)
            if not is_table or unpacked_name(file).endswith(".tsv"):  # whose lines may be documents
                yield from read_with_records(file, encoding)
            if is_table:
                yield from ((line, None) for line in Tables([file], "raw", encoding=encoding).lines())


def _date(fields: dict[str, Any]) -> str:
    """Return the day of a record's date if it is in ISO 8601, else the date as it is written."""
    dates = (fields[name].strip() for name in DATES if isinstance(fields.get(name), str))
    date = next(filter(None, dates), "")
    day = DAY.match(date)
    return day[0] if day else date[:LONGEST_DATE]


def open_annotation(sources: Sources, database: Path | None = None, *, must_exist: bool = False) -> tuple[Task, Store]:
    """Return the task and its open database, by default the one beside the pool.

    A database that was made with other pools gets this pool's documents too, after those already there; other databases
    are added by :func:`heed.addons.judging.annotate.adding.add_annotations`. Raises
    :class:`HeedError` if the database belongs to other topics, judgements or grades, and with ``must_exist`` if there
    is none.
    """
    pool, names = read_pool(sources.pool), parse_names(sources.names)
    if names and not sources.add:
        raise UsageError("--as without --add: it names the assessors of a database that is added")
    path = database or path_beside(sources.pool)
    task = None if is_annotation(path) else _create(sources, path, pool, must_exist)
    store = Store(path)
    try:
        task = task or _stored_task(sources, store, pool)
        if sources.add:
            add_annotations(path, sources.add, names, sources.encoding)
            task = load_task(store.properties(), sources.only_relevant)
        if sources.assign:
            task = replace(task, assigned=read_assigned(sources.assign, task.pool))
            store.set_property("assigned", json.dumps(task.assigned, ensure_ascii=False))
    except BaseException:
        store.close()
        raise
    if task.only_relevant:
        _log_gaps(task)
    return task, store


def _create(sources: Sources, path: Path, pool: Pool, must_exist: bool) -> Task | None:
    """Return the task of a new database; None if another process has created it meanwhile."""
    if must_exist:
        raise DataError(f"{path}: no judgements yet; judge first, or name their file with --database")
    sources = complete(sources, pool)
    task = make_task(sources, pool)
    documents = read_pooled(corpus_of(sources), task.docids(), sources.encoding or sources.lang)
    return task if create(path, task, documents) else None


def path_beside(pool: Path) -> Path:
    """Return the pool's path with the suffix ``.db`` in place of ``.jsonl`` or ``.jsonl.gz``."""
    return pool.with_name(unpacked_name(pool)).with_suffix(".db")


def _stored_task(sources: Sources, store: Store, pool: Pool) -> Task:
    """Return the stored task, with the documents that are new in ``pool``."""
    task = load_task(store.properties(), sources.only_relevant)
    is_first = bool(sources.qrels and not task.qrels)  # judged so far without any, now to be judged again
    if sources.qrels and is_first:
        task = replace(task, qrels=judgements_of_pool(sources.qrels, task.lang, task.pool, sources.encoding))
    if sources.only_relevant and not task.qrels:
        raise UsageError("--only-relevant: name the judgements that say what is relevant with --qrels")
    _check_sources(sources, store, task, pool)
    if is_first:
        store.set_property("given", dump_task(task)["given"])
    new = new_in(pool, task.pool)
    if not new:
        if sources.docs:
            log.info(f"the documents are in {store.path} since the first start; --docs is not read again")
        return task
    known = {*task.docids()}
    missing = [docid for docid in chain.from_iterable(new.values()) if docid not in known]
    docs = sources.docs or (corpus_of(complete(replace(sources, lang=task.lang), pool)) if missing else ())
    store.add_pool(new, [*read_pooled(docs, missing, sources.encoding or task.lang)])
    judged = {(judgement.qid, judgement.docid) for judgement in store.judgements() if judgement.grade is not None}
    count = sum((qid, docid) in judged for qid, docids in pool.items() for docid in docids)
    log.info(f"{sources.pool}: {sum(map(len, new.values()))} documents new in this pool, {count} already judged")
    return replace(task, pool=join_pools(task.pool, pool))


def _check_sources(sources: Sources, store: Store, task: Task, pool: Pool) -> None:
    """Raise :class:`UsageError` for sources that differ from those that the database was made with."""
    lang = language(sources.lang).code if sources.lang else task.lang
    other = replace(task, pool=pool, lang=lang)
    if sources.topics and lang == task.lang:  # in another language they would differ too
        shared = {qid: docids for qid, docids in pool.items() if qid in task.pool}
        other = replace(other, topics=topics_of_pool(replace(sources, lang=lang), shared))
    if sources.qrels:
        judged = judgements_of_pool(sources.qrels, task.lang, task.pool, sources.encoding)
        other = replace(other, qrels={qid: {} for qid in task.qrels} | judged)  # topics that the file lacks differ too
    if sources.grades:
        other = replace(other, scale=parse_scale(sources.grades))
    narratives = {qid: [text] for qid, (text, _) in store.narratives().items()}
    fail(
        (
            f"{store.path}: {difference}; give what it was made with, or name another file with --database"
            for difference in task_differences(task, other, narratives)
        ),
        UsageError,
    )


def _log_gaps(task: Task) -> None:
    """Log which relevant documents cannot be judged again."""
    without = [qid for qid in task.pool if not task.to_judge(qid)]
    if without:
        log.info(f"{len(without)} of {len(task.pool)} topics have no relevant document in the pool: {brief(without)}")
    for qid, grades in task.qrels.items():
        missing = sorted({docid for docid, grade in grades.items() if grade > 0} - set(task.pool[qid]))
        if missing:
            log.info(f"topic {qid}: {len(missing)} relevant documents are not in the pool: {brief(missing)}")
