"""InfoSearch and its sample: queries with a wanted variant of the documents, and the same negated.

The catalogue says how they are read and measured; here is which dimensions are on this machine.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from heed.datasets import sample_root
from heed.datasets.catalogue import Catalogue, Named
from heed.datasets.collection import Collection
from heed.datasets.described import read_described
from heed.datasets.hub import Repository
from heed.datasets.layout import Layout, Settings, check_settings
from heed.datasets.own_files import OWN_FILES, own_collection
from heed.errors import DataError, UsageError
from heed.formats.documents import Files
from heed.formats.topics import read_jsonl_topics
from heed.formats.trec_files import read_qrels
from heed.languages import language
from heed.measures.evaluate import Judging
from heed.progress import log
from heed.types import Qrels

NAME, SAMPLE = "infosearch", "infosearch-sample"


def dimensions() -> tuple[str, ...]:
    """Return the names of InfoSearch's dimensions."""
    return tuple(Catalogue().entries[NAME].subsets)


def _read(members: Sequence[Named], settings: Settings) -> list[Collection]:
    """Return the dimensions, or the documents of the user's own as one collection, measured as InfoSearch is.

    Raises :class:`UsageError` for settings that belong to the other of the two.
    """
    is_one = len(members) == 1
    if not settings.files.docs:
        check_settings(members[0].name if is_one else members[0].group, DIMENSIONS, settings)
        return DIMENSIONS.read(members, settings)
    if is_one:
        raise UsageError(f"{members[0].name}: not used with --docs, which names other documents; expected {NAME}")
    check_settings("--docs", OWN_FILES, settings)
    collection = own_collection(settings)
    return [replace(collection, judging=_judging(collection.judging.qrels))]


def _read_dimensions(members: Sequence[Named], settings: Settings) -> list[Collection]:
    """Return the dimensions, of a local copy, or fetched, or of the sample."""
    if members[0].group == SAMPLE:
        return [_sample(member.subset) for member in members]
    if settings.data:
        return read_described(members, settings)
    missing = [member.subset for member in members if not _snapshot(member).is_dir()]
    if settings.or_sample and len(missing) == len(members):
        log.info("no InfoSearch on this machine: this is the embedded sample, invented texts for a first try")
        return [_sample(member.subset) for member in members]
    if settings.or_sample and missing:
        here = ", ".join(member.subset for member in members if member.subset not in missing)
        raise DataError(
            f"InfoSearch: {here} on this machine, but not {', '.join(missing)}; run "
            "heed fetch infosearch, or name those to run with --dimension"
        )
    return read_described(members, settings)


DIMENSIONS = Layout(_read_dimensions, ("subsets", "data"))
INFOSEARCH = Layout(_read, ("files", "lang", "subsets", "data"))


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
        topics=read_jsonl_topics(root / "topics" / SAMPLE / f"{dimension}.jsonl", "eng", "title"),
        judging=_judging(qrels),
    )


def _judging(qrels: dict[str, Qrels]) -> Judging:
    entry = Catalogue().entries[NAME]
    return Judging(qrels, measures=entry.measures, pairs=entry.pairs, robust=entry.robust)
