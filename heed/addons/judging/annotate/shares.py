"""A campaign's pool for other tools, or one assessor's share of it, with the campaign's own scale of grades."""

from heed.addons.judging.annotate.grades import current
from heed.addons.judging.annotate.store import Store
from heed.addons.judging.annotate.task import Task
from heed.addons.judging.exchange.exports import ExportedPool
from heed.errors import DataError


def share(task: Task, store: Store, assessor: str = "", only_open: bool = False) -> ExportedPool:
    """Return the documents to judge, of the topics of ``assessor`` if one is named.

    With ``only_open`` those without a grade that counts, by the assessor or else by anybody. They are shown under the
    first condition that is judged. Raises :class:`DataError` where nothing is left.
    """
    condition = task.conditions()[0]
    narratives = {qid: text for qid, (text, _) in store.narratives().items()}
    graded = {
        judgement[1:4]
        for judgement in current(store.judgements(), narratives)
        if judgement.grade is not None and judgement.assessor == (assessor or judgement.assessor)
    }
    pool = {
        qid: [docid for docid in task.to_judge(qid) if not (only_open and (qid, condition, docid) in graded)]
        for qid in (task.topics_of(assessor) if assessor else task.pool)
    }
    pool = {qid: docids for qid, docids in pool.items() if docids}
    if not pool:
        raise DataError(f"{store.path}: no document is left to judge{f' for {assessor}' if assessor else ''}")
    topics = {qid: task.topics[qid] for qid in pool}
    if condition == "changed":
        topics = {qid: topic.instructed({"changed": narratives[qid]}) for qid, topic in topics.items()}
    elif not all(condition in topic.instructions for topic in topics.values()):
        condition = "query"
    return ExportedPool(pool, topics, condition, store, dict(task.scale))
