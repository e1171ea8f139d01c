"""InfoSearch and its sample: which dimensions are on this machine.

Queries come with a wanted variant of the documents, and the same negated. The catalogue says how they are read and
measured.
"""

from collections.abc import Sequence
from pathlib import Path

from heed.datasets import sample_root
from heed.datasets.catalogue import Catalogue
from heed.datasets.collection import Collection
from heed.datasets.described import find_entries
from heed.datasets.fetchable import holdings
from heed.errors import DataError, UsageError, fail
from heed.formats.documents import Files
from heed.formats.layouts import config_files
from heed.formats.topics import read_jsonl_topics
from heed.formats.trec_files import read_qrels
from heed.languages import language
from heed.measures.evaluate import Judging
from heed.progress import log

NAME, SAMPLE = "infosearch", "infosearch-sample"
DIMENSIONS = tuple(Catalogue().entries[NAME].subsets)


def find_dimensions(
    dimensions: Sequence[str] = (), *, data: Path | None = None, collection: str = "auto"
) -> list[Collection]:
    """Return a collection for each of ``dimensions``, by default for all of them.

    They come from the local copy ``data``, else, as ``collection`` says, from what was fetched before
    (``infosearch``), from the ``sample``, or from whichever of them is here (``auto``). Raises
    :class:`UsageError` for an unknown dimension and :class:`DataError` for missing data.
    """
    names = list(dict.fromkeys(dimensions))
    fail(map(_unknown, (name for name in names if name not in DIMENSIONS)), UsageError)
    if data:
        names = names if len(names) == 1 else _several(data, names)
        return [read_infosearch(data, name) for name in names]
    names = names or list(DIMENSIONS)
    fetched = {one.subset: one.repositories()[0].snapshot for one in holdings(NAME, []) if one.subset in names}
    copies = {name: fetched[name] for name in names if collection != "sample" and fetched[name].is_dir()}
    if len(copies) == len(names):
        return [read_infosearch(copy, name) for name, copy in copies.items()]
    if copies or collection == NAME:
        missing = ", ".join(name for name in names if name not in copies)
        raise DataError(
            f"InfoSearch: {', '.join(copies) or 'nothing'} on this machine, but not {missing}; run "
            "python -m pipelines.fetch infosearch, or name those to run with --dimension"
        )
    log.info("no InfoSearch on this machine: this is the embedded sample, invented texts for a first try")
    return [_sample(name) for name in names]


def _unknown(dimension: str) -> str:
    return f"{dimension}: no dimension of InfoSearch; expected one of {', '.join(DIMENSIONS)}"


def _several(folder: Path, names: list[str]) -> list[str]:
    """Return ``names``, or without any those of all dimensions in ``folder``."""
    if config_files(folder, "queries"):
        raise UsageError(f"{folder}: the folder of one dimension; name that one with --dimension")
    hubs = {one.subset: one.entry.hub.rpartition("/")[2] for one in holdings(NAME, [])}
    inside = {path.name.lower() for path in folder.glob("*") if config_files(path, "queries")}
    names = names or [name for name, hub in hubs.items() if inside & {name, hub.lower()}]
    if not names:
        raise DataError(f"{folder}: no dimension of InfoSearch in it; expected folders such as audience or Audience-v1")
    return names


def read_infosearch(folder: Path, dimension: str) -> Collection:
    """Read a dimension from its own folder, or from that of its name or the hub's in ``folder``."""
    fail([] if dimension in DIMENSIONS else [_unknown(dimension)], UsageError)
    return find_entries(f"{NAME}/{dimension}", Catalogue(), data=folder)[0]


def _sample(dimension: str) -> Collection:
    root, entry = sample_root(), Catalogue().entries[NAME]
    qrels = {name: read_qrels(root / "qrels" / SAMPLE / f"{dimension}.{name}.qrels") for name in entry.qrels}
    return Collection(
        name=SAMPLE,
        subset=dimension,
        language=language("eng"),
        source=Files([root / "documents" / SAMPLE / f"{dimension}.jsonl"]),
        topics=read_jsonl_topics(root / "topics" / SAMPLE / f"{dimension}.jsonl", "eng", "title"),
        judging=Judging(qrels, measures=entry.measures, pairs=entry.pairs, robust=entry.robust),
    )
