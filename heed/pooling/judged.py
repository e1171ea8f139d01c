"""Judgements that shape a pool: which documents are judged already, and which are relevant."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from heed.errors import DataError
from heed.io.trec_files import read_qrels
from heed.progress import brief, log
from heed.types import Qrels


def read_judged(option: str, paths: Sequence[Path]) -> Qrels:
    """Read the judgements of all ``paths``; a document judged in several files keeps its highest grade.

    A negative grade is trec_eval's mark of a document that is pooled and not judged: it is no judgement.
    ``option`` is the option that named the files. Raises :class:`DataError` if nothing is judged.
    """
    judged = merge_qrels(
        {qid: {docid: grade for docid, grade in grades.items() if grade >= 0} for qid, grades in qrels.items()}
        for qrels in map(read_qrels, paths)
    )
    if paths and not any(judged.values()):
        raise DataError(f"{option} {paths[0]}: every grade is negative, so nothing is judged; give judgements")
    return judged


def merge_qrels(several: Iterable[Qrels]) -> Qrels:
    """Return all judgements of ``several``; a document that is judged more than once keeps its highest grade."""
    merged: Qrels = {}
    for qrels in several:
        for qid, grades in qrels.items():
            highest = merged.setdefault(qid, {})
            for docid, grade in grades.items():
                highest[docid] = max(grade, highest.get(docid, grade))
    return merged


def check_topics(option: str, judged: Qrels, topics: Collection[str], base_of: Mapping[str, str]) -> None:
    """Log judged topics that are not among the pool's ``topics``; raise :class:`DataError` if none is."""
    unknown = sorted(qid for qid in judged if base_of.get(qid, qid) not in topics)
    if judged and len(unknown) == len(judged):
        raise DataError(
            f"{option}: none of its topics ({brief(unknown)}) is pooled ({brief(list(topics))} are); "
            "the ids must be the same, see --by-base"
        )
    if unknown:
        log.info(f"{option}: {len(unknown)} of {len(judged)} judged topics are not pooled: {brief(unknown)}")


def fully_judged(judged: Qrels, narratives: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Return ``topic -> documents that need no further judgement``.

    ``narratives`` holds the qids of each topic's runs. A document needs none when it is judged under
    every one of them, or under the topic's own id where that is none of them.
    """
    documents = {}
    for topic, qids in narratives.items():
        by_narrative = [judged.get(qid, {}).keys() for qid in qids]
        under_all = set(by_narrative[0]).intersection(*by_narrative[1:]) if by_narrative else set()
        under_topic = judged.get(topic, {}).keys() if topic not in qids else set()
        documents[topic] = under_all | under_topic
    return documents


def qrels_by_topic(judged: Qrels, base_of: Mapping[str, str]) -> Qrels:
    """Return the judgements under the pool's topics; a document of several narratives keeps its highest grade."""
    return merge_qrels({base_of.get(qid, qid): grades} for qid, grades in judged.items())


def relevant_documents(judged: Qrels) -> dict[str, set[str]]:
    """Return ``topic -> documents with a grade above 0``, for the topics that have any."""
    relevant = {topic: {docid for docid, grade in grades.items() if grade > 0} for topic, grades in judged.items()}
    return {topic: docids for topic, docids in relevant.items() if docids}
