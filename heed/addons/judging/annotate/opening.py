"""Open an annotation: its database is made from a collection at the first start, and later compared with one."""

import re
from collections.abc import Collection as Docids
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path

from heed.addons.judging.annotate.store import Store, create, is_annotation
from heed.addons.judging.annotate.task import (
    PooledDocument,
    Task,
    dump_task,
    join_pools,
    load_task,
    new_in,
    parse_scale,
    task_differences,
)
from heed.datasets.collection import Collection
from heed.errors import DataError, UsageError, fail
from heed.files import unpacked_name
from heed.formats.documents import DocumentLine, Source
from heed.formats.pools import Pool
from heed.formats.topic_ids import number_hint
from heed.progress import bar, brief, log
from heed.tables.recognition import as_table
from heed.types import Qrels, Topic

USUAL_SCALE = "0,1,2,3"
DATES = ("time", "date", "published", "timestamp")  # NeuCLIR1 and HC4 have time, Patapsco and the guidelines date
DAY = re.compile(r"\d{4}-\d\d-\d\d")
LONGEST_DATE = 40


def path_beside(pool: Path) -> Path:
    """Return the pool's path with the suffix ``.db`` in place of ``.jsonl`` or ``.jsonl.gz``."""
    return pool.with_name(unpacked_name(pool)).with_suffix(".db")


def stored_task(database: Path) -> Task | None:
    """Return the task of a database, None if there is none; :class:`DataError` for a file of another kind."""
    if not is_annotation(database):
        return None
    with closing(Store(database)) as store:
        return load_task(store.properties())


def open_annotation(
    pool: Pool, collection: Collection | None, database: Path, *, grades: str = "", only_relevant: bool = False
) -> tuple[Task, Store]:
    """Return the task and the open database, which is made from ``collection`` unless it is there.

    The collection's original judgements, if it has any, are those to be judged again with ``only_relevant``. ``grades``
    is a text for :func:`.task.parse_scale`, by default 0,1,2,3. A database that is there needs no collection, but for
    documents that are new in ``pool``, which come after those already there; topics and judgements that a collection
    has must be those that it was made with.

    Raises :class:`DataError` for topics and documents of the pool that the collection lacks, and :class:`UsageError` if
    the database belongs to other topics, judgements or grades, and for ``only_relevant`` without judgements.
    """
    created = None
    if not is_annotation(database):
        if collection is None:
            raise DataError(f"{database}: no annotation yet; give the topics and documents of the pool")
        task = Task(
            pool=pool,
            topics=_topics(collection, pool),
            lang=collection.language.code,
            scale=parse_scale(grades or USUAL_SCALE),
            qrels=_judgements(collection, pool),
            only_relevant=only_relevant,
        )
        _check_judged(task)
        created = task if create(database, task, read_pooled(collection.source, task.docids())) else None
    store = Store(database)
    try:
        task = created or _stored(store, pool, collection, grades, only_relevant)
    except BaseException:
        store.close()
        raise
    if only_relevant:
        _log_gaps(task)
    return task, store


def _topics(collection: Collection, pool: Iterable[str]) -> dict[str, Topic]:
    """Return the pool's topics, and the bare queries that FollowTable's topics belong to."""
    topics = {topic.qid: topic for topic in collection.topics}
    lacking = "of the pool is not there; give the topics that were pooled"
    fail(f"topics: topic {qid} {lacking}{number_hint([qid], topics)}" for qid in pool if qid not in topics)
    qids = {*pool, *(topics[qid].base for qid in pool)}
    return {qid: topic for qid, topic in topics.items() if qid in qids}


def _judgements(collection: Collection, pool: Pool) -> Qrels:
    """Return the judgements of the pool's topics; :class:`DataError` if there are only others."""
    qrels = collection.judging.of("original")
    judged = {qid: qrels[qid] for qid in pool if qid in qrels}
    missing = [qid for qid in pool if qid not in judged]
    if qrels and not judged:
        raise DataError(f"qrels: no judgement of a topic of the pool ({brief(missing)})")
    if qrels and missing:
        log.info(f"qrels: no judgement for {len(missing)} of the pool's {len(pool)} topics: {brief(missing)}")
    return judged


def _check_judged(task: Task) -> None:
    if task.only_relevant and not task.qrels:
        raise UsageError("only_relevant: needs the judgements that say what is relevant; give qrels")


def _stored(store: Store, pool: Pool, collection: Collection | None, grades: str, only_relevant: bool) -> Task:
    """Return the stored task, with the documents that are new in ``pool``."""
    task = load_task(store.properties(), only_relevant)
    judged = _judgements(collection, task.pool) if collection else {}
    is_first = bool(judged and not task.qrels)  # judged so far without any, now to be judged again
    task = replace(task, qrels=task.qrels or judged)
    _check_judged(task)
    other = replace(task, pool=pool, scale=parse_scale(grades) if grades else task.scale)
    if collection:
        other = replace(other, lang=collection.language.code)
        if judged:  # topics that it lacks differ too
            other = replace(other, qrels={qid: {} for qid in task.qrels} | judged)
        if collection.topics and other.lang == task.lang:  # in another language they would differ too
            other = replace(other, topics=_topics(collection, [qid for qid in pool if qid in task.pool]))
    narratives = {qid: [text] for qid, (text, _) in store.narratives().items()}
    advice = "give what it was made with, or name another database"
    fail(
        (f"{store.path}: {difference}; {advice}" for difference in task_differences(task, other, narratives)),
        UsageError,
    )
    if is_first:
        store.set_property("given", dump_task(task)["given"])
    return _extended(store, task, pool, collection)


def _extended(store: Store, task: Task, pool: Pool, collection: Collection | None) -> Task:
    """Return the task with the documents that are new in ``pool``, which are added to the database."""
    new = new_in(pool, task.pool)
    if not new:
        return task
    known = {*task.docids()}
    missing = [docid for docid in chain.from_iterable(new.values()) if docid not in known]
    if missing and collection is None:
        raise DataError(
            f"{store.path}: lacks documents {brief(missing)} of the pool; give the collection they are from"
        )
    store.add_pool(new, [*read_pooled(collection.source, missing)] if collection and missing else [])
    judged = {(judgement.qid, judgement.docid) for judgement in store.judgements() if judgement.grade is not None}
    count = sum((qid, docid) in judged for qid, docids in pool.items() for docid in docids)
    log.info(f"{store.path}: {sum(map(len, new.values()))} documents new in this pool, {count} already judged")
    return replace(task, pool=join_pools(task.pool, pool))


def _log_gaps(task: Task) -> None:
    """Log which relevant documents cannot be judged again."""
    without = [qid for qid in task.pool if not task.to_judge(qid)]
    if without:
        log.info(f"{len(without)} of {len(task.pool)} topics have no relevant document in the pool: {brief(without)}")
    for qid, grades in task.qrels.items():
        missing = sorted({docid for docid, grade in grades.items() if grade > 0} - set(task.pool[qid]))
        if missing:
            log.info(f"topic {qid}: {len(missing)} relevant documents are not in the pool: {brief(missing)}")


def read_pooled(source: Source, docids: Docids[str]) -> Iterator[PooledDocument]:
    """Yield the documents ``docids`` of ``source``, each once, in reading order.

    Reading stops when none is left to find. Raises :class:`DataError` naming all missing documents, and the lines that
    could not be read.
    """
    missing = dict.fromkeys(docids)
    problems = []
    for line in bar(source.lines(), 0, "documents", "documents"):
        if not missing:
            break
        if line.document is None:
            problems.append(f"{line.path}, line {line.line_no}: {line.problem}")
        elif line.document.docid in missing:
            docid, title, text = line.document[:3]
            del missing[docid]
            title = title or str(line.record.get("title") or "")  # a table's stands in its text
            tabular = line.document.is_table or as_table(text) is not None
            yield PooledDocument(docid, title, _date(line), text, tabular)
    lost = [f"document {docid} of the pool: not in {source}; give the documents it is from" for docid in missing]
    fail([*lost, *problems] if lost else [])


def _date(line: DocumentLine) -> str:
    """Return the day of a record's date if it is in ISO 8601, else the date as it is written."""
    dates = (value.strip() for name in DATES if isinstance(value := line.record.get(name), str))
    date = next(filter(None, dates), "")
    day = DAY.match(date)
    return day[0] if day else date[:LONGEST_DATE]
