"""InfoSearch and its sample: queries with a wanted variant of the documents, and the same negated.

The catalogue says how they are read and measured; here is which dimensions are on this machine.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from heed.data import Data
from heed.datasets import sample_root
from heed.datasets.catalogue import Catalogue, Named
from heed.datasets.collection import OWN, Collection, Layout, check_data
from heed.datasets.fetchable import Repository
from heed.datasets.own_files import LocalCopy, own_collection, read_described
from heed.errors import DataError, UsageError, fail
from heed.formats.documents import Files
from heed.formats.topics import read_topics
from heed.formats.trec_files import read_qrels
from heed.languages import language
from heed.measures.evaluate import Judging
from heed.progress import log
from heed.types import Qrels

NAME, SAMPLE = "infosearch", "infosearch-sample"


def dimensions() -> tuple[str, ...]:
    """Return the names of InfoSearch's dimensions."""
    return tuple(Catalogue().entries[NAME].subsets)


def _read(
    members: Sequence[Named], request: Data, *, data: LocalCopy = None, or_sample: bool = False
) -> list[Collection]:
    """Return the dimensions, or the documents of the user's own as one collection, measured as InfoSearch is.

    The dimensions are of a local copy ``data``, fetched, or of the sample; with ``or_sample`` it is taken where none is
    on this machine. Raises :class:`UsageError` for what belongs to the other of the two.
    """
    name = members[0].name if len(members) == 1 else members[0].group
    if request.docs:
        if len(members) == 1:
            raise UsageError(f"{name}: not used with docs, which names other documents; expected {NAME}")
        fail(["data: not used with docs, which names other documents"] if data else [], UsageError)
        collection = own_collection(request)
        return [replace(collection, judging=_judging(collection.judging.qrels))]
    check_data(name, (), request, {}, INFOSEARCH.options)
    if members[0].group == SAMPLE:
        return [_sample(member.subset) for member in members]
    missing = [member.subset for member in members if not _snapshot(member).is_dir()]
    if data or not (or_sample and missing):
        return read_described(members, request, data=data)
    if len(missing) == len(members):
        log.info("no InfoSearch on this machine: this is the embedded sample, invented texts for a first try")
        return [_sample(member.subset) for member in members]
    here = ", ".join(member.subset for member in members if member.subset not in missing)
    raise DataError(
        f"InfoSearch: {here} on this machine, but not {', '.join(missing)}; run heed fetch infosearch, or name the "
        "dimensions to run"
    )


INFOSEARCH = Layout(_read, OWN)


def _snapshot(member: Named) -> Path:
    return Repository(member.entry.hub, member.entry.revision).snapshot


def _sample(dimension: str) -> Collection:
    root, conditions = sample_root(), Catalogue().entries[NAME].qrels
    qrels = {name: read_qrels(root / "qrels" / SAMPLE / f"{dimension}.{name}.qrels") for name in conditions}
    return Collection(
        name=SAMPLE,
        subset=dimension,
        language=language("eng"),
        source=Files([root / "documents" / SAMPLE / f"{dimension}.jsonl"]),
        topics=read_topics(root / "topics" / SAMPLE / f"{dimension}.jsonl", "eng", "title", "heed"),
        judging=_judging(qrels),
    )


def _judging(qrels: dict[str, Qrels]) -> Judging:
    entry = Catalogue().entries[NAME]
    return Judging(qrels, measures=entry.measures, pairs=entry.pairs, robust=entry.robust)
