"""Open an annotation, and add other assessors' annotations, exports and tools' results to it.

Its database is made from a collection at the first start, and later compared with one. Of what is added the current
values are, each as a change here, with assessor and time. One that both have, since one database is a copy of the other
or was added before, is one: so adding can be interrupted, repeated, and done again when the other assessor has gone on.
"""

import json
import re
import secrets
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection as Docids
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, product
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from heed.addons.judging.annotate.grades import current
from heed.addons.judging.annotate.store import (
    ADDED,
    CORRECTION,
    EARLIER,
    NARRATIVE,
    Change,
    Event,
    State,
    Store,
    create,
    current_entries,
    extend,
    is_annotation,
    open_read_only,
    read_log,
    read_state,
    stored_properties,
    wording_of,
    write_entry,
)
from heed.addons.judging.annotate.task import (
    ADJUDICATED,
    CONDITIONS,
    Edits,
    Passage,
    PooledDocument,
    Task,
    check_name,
    dump_task,
    in_force,
    join_pools,
    load_task,
    names_here,
    new_in,
    parse_scale,
    refuse_reserved,
    task_differences,
    topic_differences,
)
from heed.addons.judging.exchange.judgements import READERS, Label, read_labels, suffix
from heed.datasets.collection import Collection
from heed.errors import SHOWN, DataError, UsageError, fail
from heed.files import digest_json, nearest, read_objects, unpacked_name
from heed.formats.documents import DocumentLine, Source
from heed.formats.topic_ids import number_hint
from heed.formats.topics import read_topics
from heed.formats.trec_files import Pool, parse_score
from heed.progress import bar, brief, log, number_of, warn
from heed.tables.markup import as_table
from heed.types import Qrels, Topic

USUAL_SCALE = "0,1,2,3"
DATES = ("time", "date", "published", "timestamp")  # NeuCLIR1 and HC4 have time, Patapsco and the guidelines date
DAY = re.compile(r"\d{4}-\d\d-\d\d")
LONGEST_DATE = 40
RENAMED = "renamed"  # the property that has the names of assessors here by those before


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
    pool: Pool,
    collection: Collection | None,
    database: Path,
    *,
    grades: str = "",
    only_relevant: bool = False,
    update: bool = False,
    hold: bool = False,
) -> tuple[Task, Store]:
    """Return the task and the open database, which is made from ``collection`` unless it is there.

    The collection's original judgements, if it has any, are those to be judged again with ``only_relevant``. ``grades``
    is a text for :func:`.task.parse_scale`, by default 0,1,2,3. A database that is there needs no collection, but for
    topics and documents that are new in ``pool``, which come after those already there; topics, documents and
    judgements that a collection has must be those that it was made with. With ``update`` topics and documents that have
    changed are taken, and what was judged before is to be judged again. What is withdrawn is not in the task. With
    ``hold`` all changes to a database that is there wait for :meth:`.store.Store.commit`.

    Raises :class:`DataError` for topics and documents of the pool that the collection lacks, and :class:`UsageError` if
    the database belongs to other topics, judgements or grades, and for ``only_relevant`` without judgements.
    """
    created = None
    if not is_annotation(database):
        if collection is None:
            raise DataError(f"{database}: no annotation yet; give topics=PATH and docs=PATH of the pool")
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
        if hold:
            store.hold()
        task = created or _stored(store, pool, collection, grades, only_relevant, update)
    except BaseException:
        store.close()
        raise
    task = in_force(task, store.withdrawn())
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
        raise UsageError("only_relevant: needs the judgements that say what is relevant; give qrels=QRELS")


def _stored(
    store: Store, pool: Pool, collection: Collection | None, grades: str, only_relevant: bool, update: bool
) -> Task:
    """Return the stored task, with what is new in ``pool``, and what has changed if it is to ``update``."""
    stored = load_task(store.properties(), only_relevant)
    may_change = bool(grades) and not store.first_grades()
    begun = replace(stored, scale=parse_scale(grades)) if may_change else stored
    task = _with_new_topics(begun, pool, collection)
    judged = _judgements(collection, task.pool) if collection else {}
    # of new topics, or of all that were judged so far without any and are now to be judged again
    new_judged = {qid: grades for qid, grades in judged.items() if qid not in stored.pool or not stored.qrels}
    task = replace(task, qrels=task.qrels | new_judged)
    _check_judged(task)
    other = replace(task, pool=pool, scale=parse_scale(grades) if grades else task.scale)
    if collection:
        other = replace(other, lang=collection.language.code, langs={})
        if judged:  # topics that it lacks differ too
            other = replace(other, qrels={qid: {} for qid in task.qrels} | judged)
        same = [qid for qid in pool if task.lang_of(qid) == other.lang]  # in another language they would differ too
        if collection.topics:
            other = replace(other, topics=_topics(collection, [qid for qid in same if qid in task.pool]))
    now, edits = _edited(store, task)
    compared = replace(task, topics=now | other.topics if update else now)
    by_update, instead = ", take corrected topics by update=True,", "give what it was made with"
    problems = (
        f"{store.path}: {text}; {instead}{by_update * text.startswith('topic ')} or name another database"
        for text in task_differences(compared, other, edits)
    )
    fail(problems, UsageError)
    if collection:
        _compare_documents(store, task, collection, update)
    if update:
        task = _corrected(store, task, other.topics)
    if new_judged:
        store.set_property("given", dump_task(task)["given"])
    if task != stored:
        store.set_topics(task)
    return _extended(store, task, pool, collection)


def _with_new_topics(task: Task, pool: Pool, collection: Collection | None) -> Task:
    """Return the task with the topics that are new in ``pool``, as ``collection`` has them, without documents yet."""
    new = [qid for qid in pool if qid not in task.pool]
    if not new or not collection or not collection.topics:
        return task
    topics = task.topics | {qid: topic for qid, topic in _topics(collection, new).items() if qid not in task.topics}
    log.info(f"{number_of(len(new), 'topic')} new in this pool: {brief(new)}")
    lang = collection.language.code
    langs = task.langs | ({} if lang == task.lang else dict.fromkeys(new, lang))
    return replace(task, topics=topics, langs=langs, pool=join_pools(task.pool, {qid: [] for qid in new}))


def _edited(store: Store, task: Task) -> tuple[dict[str, Topic], dict[str, Edits]]:
    """Return the topics with changed narratives as they are now, and those that a file may have: now and before."""
    narratives, topics, edits = store.narratives(), dict(task.topics), dict[str, Edits]()
    counting = current(store.judgements(), {qid: text for qid, (text, _) in narratives.items()})
    graded = Counter(each.qid for each in counting if each.condition == "changed" and each.grade is not None)
    for qid, topic in task.topics.items():
        text, version = narratives.get(qid, ("", 0))
        if version:
            topics[qid] = topic.instructed({**topic.instructions, "changed": text})
        name, count = store.edited_by(version), number_of(graded[qid], "grade")
        by = f", edited on the page by {name}, with {count} under it" if name else ""
        edits[qid] = Edits([text, topic.instructions.get("changed", "")], by)
    return topics, edits


def _corrected(store: Store, task: Task, topics: Mapping[str, Topic]) -> Task:
    """Return the task with ``topics`` in place of its own; log what is another one, and how much is to judge again."""
    corrected = {}
    narratives, (now, edits) = store.narratives(), _edited(store, task)
    for qid, later in topics.items():
        before = task.topics[qid]
        topic = later.instructed({**before.instructions, **later.instructions})
        text, version = narratives.get(qid, ("", 0))
        differing = topic_differences(now[qid], topic, edits[qid])
        if not differing:
            continue
        corrected[qid] = topic
        first, original = (each.instructions.get("original", "") for each in (before, topic))
        count = store.outdate_original(qid) if first.split() != original.split() else 0
        if before.instructions.get("changed", "").split() != topic.instructions.get("changed", "").split():
            edit = topic.instructions["changed"]
        else:
            edit = original if text.split() == first.split() else text  # not edited yet: it stays the original
        if qid in narratives and edit.split() != text.split():
            request = f"{CORRECTION}{secrets.token_hex(8)}"
            store.record(request, ADJUDICATED, request, [Change(NARRATIVE, qid, value=edit, base=version)])
            differing.append("grades under the changed narrative are to be given again")
        again = f"; {number_of(count, 'judgement')} to be given again" if count else ""
        log.info(f"topic {qid} is corrected: {', '.join(differing)}{again}")
    return replace(task, topics={**task.topics, **corrected})


def _compare_documents(store: Store, task: Task, collection: Collection, update: bool) -> None:
    """Compare the pool's documents with those of ``collection``, unless its files are those of an earlier start.

    Raises :class:`DataError` for other texts than were judged, unless they are to ``update``.
    """
    recipe = digest_json(collection.source.recipe)
    if store.properties().get("documents") == recipe:
        return
    documents = read_pooled(collection.source, task.docids(), required=False)
    changed = [new for new in documents if (old := store.document(new.docid)) and new != old._replace(date=new.date)]
    names = brief([document.docid for document in changed])
    if changed and not update:
        raise DataError(
            f"{store.path}: documents {names} have another text than the one that is judged; take it by update=True, "
            "or give the documents of the first start"
        )
    if changed:
        count = sum(map(store.replace_document, changed))
        log.info(f"documents {names} are corrected; {number_of(count, 'judgement')} to be given again")
    store.set_property("documents", recipe)


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
    documents = number_of(sum(map(len, new.values())), "document")
    log.info(f"{store.path}: {documents} new in this pool, {count} already judged")
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


def read_pooled(source: Source, docids: Docids[str], required: bool = True) -> Iterator[PooledDocument]:
    """Yield the documents ``docids`` of ``source``, each once, in reading order.

    Reading stops when none is left to find. Raises :class:`DataError` naming all missing documents, if they are
    ``required``, and the lines that could not be read.
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
    absent = f"{number_of(len(missing), 'document')} of the pool: not in {source}: {brief([*missing])}"
    lost = [f"{absent}; give docs=PATH, the documents that were pooled"] if missing else []
    fail([*lost, *problems] if lost and required else [])


def _date(line: DocumentLine) -> str:
    """Return the day of a record's date if it is in ISO 8601, else the date as it is written."""
    dates = (value.strip() for name in DATES if isinstance(value := line.record.get(name), str))
    date = next(filter(None, dates), "")
    day = DAY.match(date)
    return day[0] if day else date[:LONGEST_DATE]


class ExportedJudgement(msgspec.Struct):
    """A line of an export's ``judgements.jsonl``."""

    qid: str
    docid: str
    condition: str
    assessor: str
    grade: int | None
    note: str
    time: str = msgspec.field(name="at")
    reworded: bool
    decided_by: str = ""
    unsure: bool = False
    passage: Passage | None = None


class Addition(NamedTuple):
    """The task of ``path``, its log, the current entries of what was judged, and the pooled documents.

    An export has no documents, of its log only the last change of each grade and note, and its narratives (by topic)
    apart, since nothing says who edited them.
    """

    path: Path
    task: Task
    entries: list[Event]
    current: list[Event]
    documents: Iterator[PooledDocument] = iter(())
    narratives: Mapping[str, str] = MappingProxyType({})


@contextmanager
def open_addition(
    path: Path, task: Task, narratives: Mapping[str, str], encoding: str | None = None
) -> Iterator[Addition]:
    """Yield what ``path`` adds to the annotation of ``task``: a database, the folder of an export, or a result file.

    ``narratives`` are the changed ones here. What is added is only read. Raises :class:`DataError` for a damaged
    database, and naming every bad line of other files.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file{nearest(path)}")
    if path.is_dir():
        yield _read_export(path, task)
    elif suffix(path) in READERS:
        yield _read_results(path, task, narratives, encoding or task.lang)
    else:
        with closing(open_read_only(path)) as db:
            yield _read_database(path, db)


def _read_database(path: Path, db: sqlite3.Connection) -> Addition:
    try:
        documents = map(PooledDocument._make, db.execute("SELECT docid, title, date, text, tabular FROM documents"))
        logs, task = (read_log(db), current_entries(db).values()), load_task(stored_properties(db))
        entries, current = ([entry._replace(assessor=check_name(entry.assessor)) for entry in log] for log in logs)
        return Addition(path, task, entries, current, documents)
    except sqlite3.DatabaseError as error:
        raise DataError(f"{path}: damaged ({error}); take a copy of it that is whole") from error


def _read_export(folder: Path, task: Task) -> Addition:
    """Read ``judgements.jsonl`` and ``topics.jsonl``; language and grades, which they lack, are those of ``task``."""
    langs = dict.fromkeys(str(record.get("lang")) for _, record in read_objects(folder / "topics.jsonl"))
    by_lang = (read_topics(folder / "topics.jsonl", lang, "title", "heed") for lang in langs)
    topics = {topic.qid: topic for topic in chain.from_iterable(by_lang)}
    narratives = {qid: _narrative(topic) for qid, topic in topics.items()}
    path, problems = folder / "judgements.jsonl", []
    entries: list[Event] = []
    for line_no, record in read_objects(path):
        try:
            judgement = msgspec.convert(record, ExportedJudgement)
        except msgspec.ValidationError as error:
            problems.append(f"{path}, line {line_no}: not a judgement as an export of annotate has it ({error})")
            continue
        if judgement.qid not in narratives:
            problems.append(f"{path}, line {line_no}: topic {judgement.qid} is not in {folder / 'topics.jsonl'}")
        elif judgement.condition not in CONDITIONS or judgement.grade not in (None, *task.grades()):
            problems.append(
                f"{path}, line {line_no}: condition {judgement.condition}, grade {judgement.grade}, expected "
                f"{' or '.join(CONDITIONS)} and a grade of {', '.join(map(str, task.grades()))}"
            )
        else:
            entries += _entries(judgement, narratives[judgement.qid])
    fail(problems)
    topics = {qid: _with_changed(topic, task.topics.get(qid, topic)) for qid, topic in topics.items()}
    return _added_entries(path, replace(task, topics=topics), entries)._replace(path=folder, narratives=narratives)


def _read_results(path: Path, task: Task, narratives: Mapping[str, str], encoding: str) -> Addition:
    """Read the grades and notes in a result file of an annotation tool; all else is that of ``task``.

    Labels are grades of the scale or its words. They are of the file's time, where the tool tells none. Those that name
    no condition are under the original narrative; those under the changed one are about that of their record, else
    about the one that is here. Raises :class:`DataError` naming all others, and two grades by one person.
    """
    time = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="milliseconds")
    words = {grade.label.casefold(): grade.grade for grade in task.scale}
    entries: list[Event] = []
    problems: list[str] = []
    graded: dict[tuple[str, ...], Label] = {}
    without, as_now = 0, 0
    for label in read_labels([path], several=True, encoding=encoding):
        if label.condition not in ("", "query", *CONDITIONS):
            problems.append(f"{label.source}: condition {label.condition!r}, expected {' or '.join(CONDITIONS)}")
            continue
        number = words.get(label.text.casefold(), parse_score(label.text))
        if not label.text or (number is not None and number < 0):
            number = None  # not judged, at most noted
        elif number not in task.grades():
            scale = ", ".join(f"{grade.grade} {grade.label}" for grade in task.scale)
            problems.append(f"{label.source}: label {label.text!r}, expected one of {scale}")
            continue
        condition = "changed" if label.condition == "changed" else "original"
        assessor = label.assessor.replace(str(path), path.name.partition(".")[0])
        grade, moment = None if number is None else int(number), label.time or time
        if grade is None:
            without += not (label.left_out or label.note)
        else:
            other = graded.setdefault((assessor, label.qid, label.docid, condition), label)
            if other.text != label.text and not label.annotation:
                twice = f"{assessor} grades document {label.docid} of topic {label.qid} twice under {condition}"
                problems.append(f"{label.source}: {twice}, {other.text} ({other.source}) and {label.text}; keep one")
        judgement = ExportedJudgement(label.qid, label.docid, condition, assessor, grade, label.note, moment, False)
        as_now += condition == "changed" and grade is not None and not label.instruction
        for entry in _entries(judgement, label.instruction or narratives.get(label.qid, "")):
            state = f"{ADDED}{label.annotation}@{moment}{entry.kind}"  # of one annotation in files of all names
            entries.append(entry._replace(request=state) if label.annotation else entry)
    fail(problems)
    if without:
        log.info(f"{path}: left out: {without} without a grade")
    if as_now:
        log.info(f"{path}: {as_now} under changed without instruction: taken as about the narrative as it is now")
    return _added_entries(path, task, entries)


def _narrative(topic: Topic) -> str:
    return topic.instructions.get("changed") or topic.instructions.get("original", "")


def _added_entries(path: Path, task: Task, entries: list[Event]) -> Addition:
    """Return ``entries`` as an addition without documents."""
    pool: dict[str, dict[str, None]] = {}
    for entry in entries:
        if entry.docid:
            pool.setdefault(entry.qid, {})[entry.docid] = None
    judged = replace(task, pool={qid: [*docids] for qid, docids in pool.items()}, qrels={})
    return Addition(path, judged, entries, entries)


def _with_changed(topic: Topic, here: Topic) -> Topic:
    """Return ``topic`` with the changed narrative of ``here``: an export's is compared as an edit, not as a source."""
    changed = here.instructions.get("changed")
    instructions = {name: text for name, text in topic.instructions.items() if name != "changed"}
    return topic.instructed(instructions | ({"changed": changed} if changed is not None else {}))


def _entries(judgement: ExportedJudgement, narrative: str) -> Iterator[Event]:
    """Yield entries for a line's grade and note; the same line gives the same ones whenever it is read."""
    judged = (judgement.qid, judgement.condition, judgement.docid)
    line = "\t".join([judgement.assessor, *judged, judgement.time, str(judgement.grade), judgement.note])

    def entry(kind: str, after: State) -> Event:
        return Event(line, 0, judgement.time, check_name(judgement.assessor), line, kind, *judged, {}, after)

    if judgement.grade is not None:
        wording = wording_of(narrative) if judgement.condition == "changed" else ""
        after = {"grade": judgement.grade, "wording": EARLIER if judgement.reworded else wording}
        if judgement.decided_by:
            after["by"] = check_name(judgement.decided_by)
        yield entry("grade", after)
    if judgement.note:
        yield entry("note", {"note": judgement.note})
    if judgement.unsure:
        yield entry("unsure", {"unsure": "true"})
    if judgement.passage:
        yield entry("passage", {"passage": msgspec.json.encode(judgement.passage).decode()})


def add_annotations(
    store: Store, others: Sequence[Path], names: Mapping[str, str], encoding: str | None = None
) -> None:
    """Add the annotations ``others``, databases or folders of exports, to that of ``store``, all or none.

    ``names`` says what assessors of the others are called here; a name that both sides have must be in it, as itself if
    it is one person's, unless they have judgements in common. Where an assessor has changed a grade or a note on both
    sides the later one is kept, where a narrative was edited on both sides the one here. ``encoding`` is that of result
    files that are not UTF-8.

    Raises :class:`DataError` for other topics, documents, grades or given judgements, and :class:`UsageError` for names
    that need a decision.
    """
    assessors: set[str] = set()
    reports: list[tuple[str, list[str]]] = []
    path = store.path
    with store.adding() as db:
        for other_path in others:
            task = load_task(stored_properties(db))
            narratives = dict(db.execute("SELECT qid, text FROM narratives").fetchall())
            with open_addition(other_path, task, narratives, encoding) as addition:
                if path.samefile(other_path):
                    raise UsageError(f"{other_path}: is the database itself; name another one to add")
                assessors |= {entry.assessor for entry in addition.entries}
                reports.append(_add(db, path, task, addition, names))
        unknown = [name for name in names if name not in assessors]
        judges = brief(sorted(assessors))
        fail([f"names: {name} has judged nothing there; who has: {judges}" for name in unknown], UsageError)
    for summary, warnings in reports:
        log.info(summary)
        for warning in warnings:
            warn(warning)


def _add(
    db: sqlite3.Connection, path: Path, task: Task, addition: Addition, names: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Add one annotation in the caller's transaction; return a summary and warnings, to be logged after it."""
    log_here = read_log(db)
    edits: dict[str, list[str]] = defaultdict(list)
    for entry in log_here:
        if entry.kind == NARRATIVE:
            edits[entry.qid].append(entry.after["text"])
    differences = task_differences(task, addition.task, {qid: Edits(texts) for qid, texts in edits.items()})
    fail(f"{addition.path}: {difference}" for difference in differences)
    renamed: dict[str, str] = json.loads(stored_properties(db).get(RENAMED, "{}"))
    here = {entry.origin(): renamed.get(entry.assessor, entry.assessor) for entry in log_here}
    before: dict[str, str | None] = {entry.assessor: None for entry in addition.entries}  # their names here
    before |= {entry.assessor: here[entry.origin()] for entry in addition.entries if entry.origin() in here}
    assessors = {entry.assessor for entry in log_here}
    new_names = names_here(addition.path, before, assessors, {**renamed, **names})
    new_documents = new_in(addition.task.pool, task.pool)
    _add_documents(db, path, addition, new_documents)
    if addition.task.qrels and not task.qrels:
        db.execute("UPDATE kept SET value = ? WHERE name = 'given'", (dump_task(addition.task)["given"],))
    warnings = [
        *_other_narratives(db, addition),
        *_similar(addition.path, {*new_names.values()}, assessors.union(*task.assigned.values())),
    ]
    count, of_conflicts = _add_values(db, addition, new_names)
    judged = sum(entry.kind == "grade" and entry.after["grade"] is not None for entry in addition.current)
    counts = f"{number_of(judged, 'judgement')} of {brief(sorted({*new_names.values()}))}, {count} of them new here"
    documents = number_of(sum(map(len, new_documents.values())), "document")
    return f"{addition.path}: {counts if new_names else 'no judgement'}; {documents} new in the pool", [
        *warnings,
        *of_conflicts,
    ]


def _similar(path: Path, names: Set[str], known: Set[str]) -> Iterator[str]:
    """Yield which new names are known ones but for capital letters."""
    for name, other in product(sorted(names - known), sorted(known)):
        if name.casefold() == other.casefold():
            yield f"{path}: {name} is new here, {other} is not; if they are one person, give rename='{name}={other}'"


def rename(store: Store, names: Mapping[str, str]) -> None:
    """Give what assessors have judged to those whom ``names`` has for them, and what is added of them later.

    Of what both have the later counts. Raises :class:`UsageError` for a name that has nothing.
    """
    for old, new in names.items():
        if refuse_reserved(old) == new:
            continue
        request = f"{CORRECTION}{secrets.token_hex(8)}"
        with store.adding() as db:
            entries = {
                key: entry
                for key, entry in current_entries(db).items()
                if entry.kind != NARRATIVE and entry.after[entry.kind] not in (None, "")
            }
            moved = [entry._replace(request=f"{request} {key}") for key, entry in entries.items() if key[1] == old]
            if not moved:
                judges = brief(sorted({key[1] for key in entries} - {ADJUDICATED}))
                raise UsageError(f"rename: {old} has judged nothing; who has: {judges}")
            stored = stored_properties(db)
            count, warnings = _add_values(db, Addition(store.path, load_task(stored), [], moved), {old: new})
            before = {name: new if now == old else now for name, now in json.loads(stored.get(RENAMED, "{}")).items()}
            db.execute("REPLACE INTO kept VALUES (?, ?)", (RENAMED, json.dumps({**before, old: new})))
        nothing = [Change(entry.kind, *entry.key()[2:], None if entry.kind == "grade" else "") for entry in moved]
        store.record(request, old, request, nothing)
        log.info(f"{old} is {new}: {number_of(count, 'judgement')}")
        for warning in warnings:
            warn(warning)


def _add_documents(db: sqlite3.Connection, path: Path, addition: Addition, pool: Pool) -> None:
    """Add the documents of ``pool``; those that are here must have the same text, those of an export must be here."""
    pooled, problems = {*addition.task.docids()}, list[str]()

    def new_documents() -> Iterator[PooledDocument]:
        for document in addition.documents:
            stored = db.execute("SELECT title, text FROM documents WHERE docid = ?", (document.docid,)).fetchone()
            if stored is None and document.docid in pooled:
                yield document
            elif stored not in (None, (document.title, document.text)):
                problems.append(f"{addition.path}: document {document.docid} has another text than in {path}")

    extend(db, pool, new_documents())
    known = {docid for (docid,) in db.execute("SELECT docid FROM documents")}
    absent = [docid for docid in dict.fromkeys(chain.from_iterable(pool.values())) if docid not in known]
    if absent:
        problems.append(
            f"{addition.path}: documents {brief(absent)} are not in {path}; add the pool they are from first"
        )
    fail(problems)


def _other_narratives(db: sqlite3.Connection, addition: Addition) -> list[str]:
    """Take an export's changed narratives that are not edited here; return a warning of those that are another one."""
    topics = []
    for qid, text in addition.narratives.items():
        if qid not in addition.task.pool:
            continue
        before = read_state(db, NARRATIVE, "", qid, "", "")
        if wording_of(text) == wording_of(before["text"]):
            continue
        if before["version"]:
            topics.append(qid)
            continue
        request, now = f"{CORRECTION}{secrets.token_hex(8)}", datetime.now(UTC).isoformat(timespec="milliseconds")
        changed = (NARRATIVE, qid, "", "", before, {**before, "text": text})
        write_entry(db, Event(request, 0, now, ADJUDICATED, request, *changed))
    warning = (
        f"{addition.path}: topics {brief(topics)} have another changed narrative there; the text here is kept, "
        "grades under the other one count as given before an edit"
    )
    return [warning] if topics else []


def _add_values(db: sqlite3.Connection, addition: Addition, names: Mapping[str, str]) -> tuple[int, list[str]]:
    """Write the current grades, notes and narratives that are new here; return the number of grades, and warnings.

    Of grades and notes that were changed on both sides the later one is kept, of narratives the one here.
    """
    known_here, known_there = ({entry.identity() for entry in log} for log in (read_log(db), addition.entries))
    current_here = current_entries(db)
    new_grades, outdated, edited, judged = 0, 0, list[str](), list[str]()
    for entry in sorted(addition.current, key=lambda entry: entry.time):
        identity, kind = entry.identity(), entry.kind
        added = entry._replace(request=identity, part=0, batch=identity, assessor=names[entry.assessor], undoes=None)
        before = read_state(db, *added.key())
        is_same = all(added.after[name] == value for name, value in before.items() if name != "version")
        if identity in known_here or is_same:
            continue
        here = current_here.get(added.key())
        is_later = True
        if here and here.identity() not in known_there:
            is_later = kind != NARRATIVE and added.time > here.time
            if kind == "grade" and added.after["wording"] == EARLIER != before["wording"]:
                continue  # a grade that is to be given again replaces none that counts
            if kind == NARRATIVE and here.origin() != added.origin():
                edited.append(entry.qid)
            elif here.origin() != added.origin() and before[kind] != added.after[kind]:
                state, other = (added.after, before) if is_later else (before, added.after)
                where = f"{added.assessor}, topic {entry.qid}, {entry.docid}, {entry.condition}"
                judged.append(f"{where}: {state[kind]!r}, not {other[kind]!r}")
            elif kind == "grade" and not is_later:
                outdated += before["wording"] == EARLIER
        if is_later:
            write_entry(db, added._replace(before=before))
            new_grades += kind == "grade" and added.after["grade"] is not None
    warnings = []
    if outdated:
        count = number_of(outdated, "grade")
        warnings.append(f"{addition.path}: {count} older than a correction here: to be given again, and not taken")
    if edited:
        warnings.append(
            f"{addition.path}: topics {brief(sorted(edited))}: the changed narrative was edited on both sides; the "
            "text here is kept, grades under the other one count as given before an edit"
        )
    if judged:
        warnings.append(
            f"{addition.path}: {len(judged)} grades or notes that one assessor has changed on both sides, the later is "
            f"kept: {'; '.join(sorted(judged)[:SHOWN])}{'; …' if len(judged) > SHOWN else ''}"
        )
    return new_grades, warnings
