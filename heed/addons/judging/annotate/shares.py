"""A campaign's pool for other tools, or one assessor's share of it, with the campaign's own scale of grades."""

from dataclasses import replace
from itertools import chain

from heed.addons.judging.annotate.grades import current, final_grades, is_changed
from heed.addons.judging.annotate.store import Store
from heed.addons.judging.annotate.task import ADJUDICATED, Task
from heed.addons.judging.exchange.exports import ExportedPool
from heed.errors import DataError, UsageError


def share(task: Task, store: Store, assessor: str = "", only_open: bool = False) -> ExportedPool:
    """Return the documents to judge, of the topics of ``assessor`` if one is named.

    With ``only_open`` those without a grade that counts, by the assessor or else by anybody. They are shown under the
    first condition under which one is left: after edits that may be the changed one, of documents that were relevant.
    Raises :class:`DataError` where nothing is left, and :class:`UsageError` for an assessor without topics.
    """
    narratives = {qid: text for qid, (text, _) in store.narratives().items()}
    judgements = [each for each in store.judgements() if each.assessor in (assessor, ADJUDICATED) or not assessor]
    final = final_grades(replace(task, assigned={}), judgements, narratives).original
    graded = {
        each[1:4]
        for each in current(judgements, narratives)
        if only_open and each.grade is not None and each.assessor == (assessor or each.assessor)
    }

    def left(qid: str, condition: str) -> list[str]:
        docids = task.to_judge(qid)
        if condition == "changed" and not task.only_relevant:
            relevant = final.get(qid, {}) if is_changed(task, qid, narratives[qid]) else {}
            docids = [docid for docid in docids if relevant.get(docid, 0) > 0]
        return [docid for docid in docids if (qid, condition, docid) not in graded]

    qids = task.topics_of(assessor) if assessor else [*task.pool]
    if not qids:
        names = ", ".join(sorted({*chain.from_iterable(task.assigned.values())}))
        raise UsageError(f"{assessor} has no topic; who has: {names}")
    pools = ((condition, {qid: left(qid, condition) for qid in qids}) for condition in task.conditions())
    condition, pool = next((each for each in pools if any(each[1].values())), ("", {}))
    pool = {qid: docids for qid, docids in pool.items() if docids}
    if not pool:
        raise DataError(f"{store.path}: no document is left to judge{f' for {assessor}' if assessor else ''}")
    topics = {qid: task.topics[qid] for qid in pool}
    if condition == "changed":
        topics = {qid: topic.instructed({"changed": narratives[qid]}) for qid, topic in topics.items()}
    elif not all(condition in topic.instructions for topic in topics.values()):
        condition = "query"
    return ExportedPool(pool, topics, condition, store, dict(task.scale), assessor)
