"""Open an annotation: its database is made from files at the first start, and later compared with what is given."""

import json
from dataclasses import replace
from itertools import chain
from pathlib import Path

from heed.addons.judging.annotate.assessors import parse_names, read_assigned
from heed.addons.judging.annotate.database import create, is_annotation
from heed.addons.judging.annotate.joining import add_annotations
from heed.addons.judging.annotate.pooled_documents import read_pooled
from heed.addons.judging.annotate.sources import (
    Sources,
    complete,
    corpus_of,
    judgements_of_pool,
    make_task,
    topics_of_pool,
)
from heed.addons.judging.annotate.store import Store
from heed.addons.judging.annotate.task import (
    Task,
    dump_task,
    join_pools,
    load_task,
    new_in,
    parse_scale,
    task_differences,
)
from heed.errors import DataError, UsageError, fail
from heed.files import unpacked_name
from heed.formats.pools import Pool, read_pool
from heed.languages import language
from heed.progress import brief, log


def open_annotation(sources: Sources, database: Path | None = None, *, must_exist: bool = False) -> tuple[Task, Store]:
    """Return the task and its open database, by default the one beside the pool.

    A database that was made with other pools gets this pool's documents too, after those already there; other databases
    are added by :func:`heed.addons.judging.annotate.joining.add_annotations`. Raises
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
