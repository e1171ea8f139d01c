"""FollowIR over passages or whole documents, and mFollowIR, which has the same form with the language in its names."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from heed.data import DOCUMENTS, Data
from heed.datasets.catalogue import Catalogue, Named
from heed.datasets.collection import Collection, Layout
from heed.datasets.fetchable import Repository, files_of, snapshot
from heed.datasets.own_files import LocalCopy, read_described
from heed.types import ABLATIONS

NAME, OLDER = "followir", "followir-older"  # entries of the catalogue
CROSS_LINGUAL = "mfollowir-crosslingual"  # the entry of mFollowIR with English queries


def _read(
    members: Sequence[Named], request: Data, *, data: LocalCopy = None, condition: Sequence[str] = ()
) -> list[Collection]:
    """Return the collections; documents of the user's own are searched whole.

    The shorter instructions are in the older form alone, which is taken where such a ``condition`` is to be run.
    FollowIR's tables average the main measure, MAP of two collections and nDCG@5 of the third.
    """
    name = members[0].group
    if name == NAME and not data and not set(ABLATIONS).isdisjoint(condition):
        members = [older for member in members for older in Catalogue().find(f"{OLDER}/{member.subset}")]
    collections = read_described(members, request, data=data)
    if request.docs:
        collections = [of_documents(collection) for collection in collections]
    return [
        replace(
            collection,
            name=request.name or name,
            averaged=str(collection.judging.measures[0]) if name == NAME else "",
        )
        for collection in collections
    ]


FOLLOWIR = Layout(_read, (*DOCUMENTS, "fields"))


def of_documents(collection: Collection) -> Collection:
    """Return a collection of passages as one whose documents are searched whole, FollowIR's table of full retrieval."""
    qrels = {
        condition: {qid: _grades_of_documents(grades) for qid, grades in judged.items()}
        for condition, judged in collection.judging.qrels.items()
    }
    subset = f"{collection.subset}-full"
    return replace(
        collection,
        subset=subset,
        index=subset,
        judging=collection.judging._replace(qrels=qrels),
        candidates={qid: list(dict.fromkeys(map(docno, docids))) for qid, docids in collection.candidates.items()},
    )


def _grades_of_documents(grades: Mapping[str, int]) -> dict[str, int]:
    """Return the judgements of passages as those of their documents; the best one counts where there are several."""
    of_documents: dict[str, int] = {}
    for docid, grade in grades.items():
        of_documents[docno(docid)] = max(grade, of_documents.get(docno(docid), grade))
    return of_documents


def docno(docid: str) -> str:
    """Return the TREC document of a FollowIR passage: ``FBIS3-40368`` for ``FBIS3-40368_3``."""
    stem, _, passage = docid.rpartition("_")
    return stem if stem and passage.isdecimal() else docid


def download(repository: str, lang: str) -> Path:
    """Return a local copy of one language of a hub data set, fetched at most once, at the catalogue's revision.

    Raises :class:`DataError` that says how to go on when the hub is out of reach.
    """
    revisions = {entry.hub: entry.revision for entry in Catalogue().entries.values()}
    return snapshot(Repository(repository, revisions.get(repository, "main"), files_of(lang)))
