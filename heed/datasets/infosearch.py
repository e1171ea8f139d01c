"""InfoSearch and its sample: queries with a wanted variant of the documents, and the same negated.

The catalogue says how they are read and measured; here is which dimensions are on this machine.
"""

from collections.abc import Sequence
from dataclasses import replace

from heed.data import Data
from heed.datasets.catalogue import Catalogue, Named
from heed.datasets.collection import Collection, Layout
from heed.datasets.fetchable import Repository
from heed.datasets.own_files import OWN, LocalCopy, own_collection, read_described
from heed.errors import DataError, UsageError, fail
from heed.measures.evaluate import Judging
from heed.progress import log

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
        collection, entry = own_collection(request), members[0].entry
        judging = Judging(collection.judging.qrels, measures=entry.measures, pairs=entry.pairs, robust=entry.robust)
        return [replace(collection, judging=judging)]
    INFOSEARCH._replace(takes=()).check(name, request, {})
    entries = {member.subset: member.entry for member in members}
    hubs = {name: Repository(entry.hub, entry.revision) for name, entry in entries.items() if entry.hub}
    missing = [name for name, repository in hubs.items() if not repository.snapshot.is_dir()]
    if data or not (or_sample and missing):
        return read_described(members, request, data=data)
    if len(missing) == len(members):
        log.info("no InfoSearch on this machine: this is the embedded sample, invented texts for a first try")
        return read_described([sample for name in entries for sample in Catalogue().find(f"{SAMPLE}/{name}")], request)
    here = ", ".join(name for name in entries if name not in missing)
    raise DataError(
        f"InfoSearch: {here} on this machine, but not {', '.join(missing)}; run heed fetch infosearch, or name the "
        "dimensions to run"
    )


INFOSEARCH = Layout(_read, OWN.takes)
