"""Open an annotation: its database is created at the first start, and later compared with what is given."""

from dataclasses import replace
from pathlib import Path

from heed.annotation.database import create, is_annotation
from heed.annotation.documents import read_pooled
from heed.annotation.sources import Sources, complete, corpus_of, make_task, read_given, topics_of_pool
from heed.annotation.store import Store
from heed.annotation.task import Task, dump_task, load_task, parse_scale
from heed.errors import DataError, HeedError, UsageError, fail
from heed.io.files import digest_json
from heed.io.pools import Pool, read_pool
from heed.progress import brief, log


def open_annotation(sources: Sources, database: Path | None = None, *, must_exist: bool = False) -> tuple[Task, Store]:
    """Return the task and its open database, by default the one beside the pool.

    Raises :class:`HeedError` if the database belongs to another pool or to other topics, judgements or grades, and
    with ``must_exist`` if there is none.
    """
    pool = read_pool(sources.pool)
    path = database or path_beside(sources.pool)
    task = None if is_annotation(path) else _create(sources, path, pool, must_exist)
    store = Store(path)
    try:
        task = task or _stored_task(sources, store, pool)
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
    return task if create(path, task, read_pooled(corpus_of(sources), task.docids())) else None


def path_beside(pool: Path) -> Path:
    """Return the pool's path with the suffix ``.db`` in place of ``.jsonl`` or ``.jsonl.gz``."""
    plain = pool.with_suffix("") if pool.suffix == ".gz" else pool
    return plain.with_suffix(".db")


def _stored_task(sources: Sources, store: Store, pool: Pool) -> Task:
    stored = store.properties()
    if stored["pool"] != digest_json(pool):
        raise DataError(
            f"{store.path}: judgements of another pool than {sources.pool}; name the pool that it was made with, or "
            "another file with --database"
        )
    task = load_task(stored, pool, sources.only_relevant)
    if sources.qrels and not task.given:  # judged so far without any, now to be judged again
        task = replace(task, given=read_given(sources.qrels, task.lang, pool))
        store.set_property("given", dump_task(task)["given"])
    if sources.only_relevant and not task.given:
        raise UsageError("--only-relevant: name the judgements that say what is relevant with --qrels")
    fail(_differences(sources, store, task), UsageError)
    if sources.docs:
        log.info(f"the documents are in {store.path} since the first start; --docs is not read again")
    return task


def _differences(sources: Sources, store: Store, task: Task) -> list[str]:
    """Return what is given now and differs from what the database was made with."""
    problems = []
    other = f"than {store.path} was made with; leave it out, or name another file with --database"
    same_language = sources.lang in ("", task.lang)
    if sources.topics and not _same_topics(sources, task, same_language):
        problems.append(f"--topics {sources.topics}: other topics {other}")
    if sources.qrels and read_given(sources.qrels, task.lang, task.pool) != task.given:
        problems.append(f"--qrels {sources.qrels}: other judgements {other}")
    if sources.grades and parse_scale(sources.grades) != task.scale:
        problems.append(f"--grades {sources.grades}: other grades {other}")
    if not same_language:
        problems.append(f"--lang {sources.lang}: another language {other}")
    return problems


def _same_topics(sources: Sources, task: Task, same_language: bool) -> bool:
    """Whether the given topics are the task's; those of another language may lack the task's language."""
    try:
        return topics_of_pool(replace(sources, lang=task.lang), task.pool) == task.topics
    except HeedError:
        if same_language:
            raise
        return False


def _log_gaps(task: Task) -> None:
    """Log which relevant documents cannot be judged again."""
    without = [qid for qid in task.pool if not task.to_judge(qid)]
    if without:
        log.info(f"{len(without)} of {len(task.pool)} topics have no relevant document in the pool: {brief(without)}")
    for qid, grades in task.given.items():
        missing = sorted({docid for docid, grade in grades.items() if grade > 0} - set(task.pool[qid]))
        if missing:
            log.info(f"topic {qid}: {len(missing)} relevant documents are not in the pool: {brief(missing)}")
