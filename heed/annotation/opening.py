"""An annotation's task and database: made at the first start, afterwards checked against what is given."""

import argparse
from dataclasses import replace
from pathlib import Path

from heed.annotation.database import create, is_made
from heed.annotation.documents import read_shown
from heed.annotation.sources import corpus_of, find_sources, make_task, read_given, topics_of_pool
from heed.annotation.store import Store
from heed.annotation.task import Task, dump_task, load_task, parse_scale
from heed.errors import HeedError, fail
from heed.io.files import digest_json
from heed.io.pools import Pool, read_pool
from heed.progress import brief, log


def opened(options: argparse.Namespace) -> tuple[Task, Store]:
    """The task and the open database that the options of ``python -m pipelines.annotate`` name.

    Raises :class:`HeedError` where the database is of another pool or other topics, judgements or grades, and for
    an export without a database.
    """
    pooled = read_pool(options.pool)
    path = options.database or beside(options.pool)
    task = None if is_made(path) else _made(options, path, pooled)
    store = Store(path)
    try:
        task = task or _same_task(options, store, pooled)
    except BaseException:
        store.close()
        raise
    if task.only_relevant:
        _tell_gaps(task)
    return task, store


def _made(options: argparse.Namespace, path: Path, pooled: Pool) -> Task | None:
    """The task of a database made now; None where another process has made one meanwhile."""
    if options.export:
        raise HeedError(f"{path}: no judgements yet; judge first, or name their file with --database")
    sources = find_sources(options, pooled)
    task = make_task(options, sources, pooled)
    return task if create(path, task, read_shown(corpus_of(sources), task.docids())) else None


def beside(pool: Path) -> Path:
    """The pool's path with the suffix ``.db``, ``.gz`` and what stands before it taken off."""
    plain = pool.with_suffix("") if pool.suffix == ".gz" else pool
    return plain.with_suffix(".db")


def _same_task(options: argparse.Namespace, store: Store, pooled: Pool) -> Task:
    kept = store.kept()
    if kept["pool"] != digest_json(pooled):
        raise HeedError(
            f"{store.path}: judgements of another pool than {options.pool}; name the pool that it was made with, or "
            "another file with --database"
        )
    task = load_task(kept, pooled, options.only_relevant)
    if options.qrels and not task.given:  # judged so far without any, now to be judged again
        task = replace(task, given=read_given(options.qrels, task.lang, pooled))
        store.keep("given", dump_task(task)["given"])
    if options.only_relevant and not task.given:
        raise HeedError("--only-relevant: name the judgements that say what is relevant with --qrels")
    fail(_differences(options, store, task))
    if options.docs:
        log.info(f"the documents are in {store.path} since the first start; --docs is not read again")
    return task


def _differences(options: argparse.Namespace, store: Store, task: Task) -> list[str]:
    """What is given now and not as the database was made with."""
    problems = []
    other = f"than {store.path} was made with; leave it out, or name another file with --database"
    spoken = not options.lang or options.lang == task.lang
    if options.topics and not _same_topics(options, task, spoken):
        problems.append(f"--topics {options.topics}: other topics {other}")
    if options.qrels and read_given(options.qrels, task.lang, task.pool) != task.given:
        problems.append(f"--qrels {options.qrels}: other judgements {other}")
    if options.grades and parse_scale(options.grades) != task.scale:
        problems.append(f"--grades {options.grades}: other grades {other}")
    if not spoken:
        problems.append(f"--lang {options.lang}: another language {other}")
    return problems


def _same_topics(options: argparse.Namespace, task: Task, spoken: bool) -> bool:
    """Whether --topics are the task's; where another language is asked for there may be none in the task's own."""
    try:
        return topics_of_pool(options, options.topics, task.lang, task.pool) == task.topics
    except HeedError:
        if spoken:
            raise
        return False


def _tell_gaps(task: Task) -> None:
    """What stands in the way of judging all relevant documents again."""
    none = [qid for qid in task.pool if not task.shown(qid)]
    if none:
        log.info(f"{len(none)} of {len(task.pool)} topics have no relevant document in the pool: {brief(none)}")
    for qid, grades in task.given.items():
        absent = sorted({docid for docid, grade in grades.items() if grade > 0} - set(task.pool[qid]))
        if absent:
            log.info(f"topic {qid}: {len(absent)} relevant documents are not in the pool: {brief(absent)}")
