"""Judgements that shape a pool: what is judged already, and what is relevant."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from heed.errors import HeedError
from heed.io.trec_files import read_qrels
from heed.progress import brief, log
from heed.types import Qrels


def read_judged(option: str, paths: Sequence[Path]) -> Qrels:
    """The judgements of all ``paths``; a document judged in several files keeps its highest grade.

    A negative grade is trec_eval's mark of a document that is pooled and not judged: it is no judgement.
    ``option`` is what the user gave the files with. Raises :class:`HeedError` if nothing is judged.
    """
    read = [read_qrels(path) for path in paths]
    judged = merged({qid: _judged(grades) for qid, grades in one.items()} for one in read)
    if paths and not any(judged.values()):
        raise HeedError(f"{option} {paths[0]}: every grade is negative, so nothing is judged; give judgements")
    return judged


def _judged(grades: Mapping[str, int]) -> dict[str, int]:
    return {docid: grade for docid, grade in grades.items() if grade >= 0}


def merged(several: Iterable[Qrels]) -> Qrels:
    """All judgements of ``several``; a document that is judged in more than one keeps its highest grade."""
    found: Qrels = {}
    for one in several:
        for qid, grades in one.items():
            mine = found.setdefault(qid, {})
            for docid, grade in grades.items():
                mine[docid] = max(grade, mine.get(docid, grade))
    return found


def tell_strangers(option: str, judged: Qrels, topics: Collection[str], base_of: Mapping[str, str]) -> None:
    """Tell of judged topics that are not among the pool's; :class:`HeedError` if all of them are such."""
    strange = sorted(qid for qid in judged if base_of.get(qid, qid) not in topics)
    if judged and len(strange) == len(judged):
        raise HeedError(
            f"{option}: none of its topics ({brief(strange)}) is pooled ({brief(list(topics))} are); "
            "the ids must be the same, see --by-base"
        )
    if strange:
        log.info(f"{option}: {len(strange)} of {len(judged)} judged topics are not pooled: {brief(strange)}")


def settled(judged: Qrels, narratives: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """``topic -> documents that need no judgement any more``.

    ``narratives`` holds the qids of each topic's runs. A document is settled when it is judged under
    every one of them, or under the topic's own id where that is none of them.
    """
    found = {}
    for topic, qids in narratives.items():
        under = [judged.get(qid, {}).keys() for qid in qids]
        everywhere = set(under[0]).intersection(*under[1:]) if under else set()
        whole = judged.get(topic, {}).keys() if topic not in qids else set()
        found[topic] = everywhere | whole
    return found


def by_topic(judged: Qrels, base_of: Mapping[str, str]) -> Qrels:
    """The judgements under the pool's topics; a document of several narratives keeps its highest grade."""
    return merged({base_of.get(qid, qid): grades} for qid, grades in judged.items())


def relevant(judged: Qrels) -> dict[str, set[str]]:
    """``topic -> documents with a grade above 0``, for the topics that have any."""
    found = {topic: {docid for docid, grade in grades.items() if grade > 0} for topic, grades in judged.items()}
    return {topic: docids for topic, docids in found.items() if docids}
