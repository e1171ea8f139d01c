"""InfoSearch in its hub layout: queries with a wanted variant of the documents, and the same negated.

The repositories of the paper's Keyword dimension are called Clarity. The released code pins Length
to the revision of Language, which the repository of Length cannot have: it has no known revision.
"""

from pathlib import Path
from typing import NamedTuple

from heed.datasets.hub import Row, config_files, judgements, parsed, read_topics, rows, tell_blank
from heed.errors import HeedError, fail
from heed.progress import log
from heed.types import Qrels, Topic

COLUMNS = {"original": "instruction_changed", "reversed": "instruction_reversed"}
QRELS = {"query": "qrels_og", "original": "qrels_changed", "reversed": "qrels_reversed"}


class Dimension(NamedTuple):
    """Where one dimension lies on the hub; ``revision`` is None where none is known."""

    repository: str
    revision: str | None


# Revisions: EIT-NLP/InfoSearch, mteb_infosearch/mteb/tasks/InstructionRetrieval/eng
DIMENSIONS = {
    "audience": Dimension("jianqunZ/Audience-v1", "9bc73db6f3ca419c3fdb4d98e1f0864411756fc8"),
    "keyword": Dimension("jianqunZ/Clarity-v1", "4c1892c874d09877c00243fac16452f3353039aa"),
    "format": Dimension("jianqunZ/Format-v1", "63b53c9e117fa16a469026650861db77f25ab823"),
    "language": Dimension("jianqunZ/Language-v1", "d4915806662132e118e8df242aee059ef5669578"),
    "length": Dimension("jianqunZ/Length-v1", None),
    "source": Dimension("jianqunZ/Source-v1", "67dad8949d168785706d82f93e6794e88c8fcd2e"),
}


class InfoSearch(NamedTuple):
    """One dimension: topics with original and reversed instructions, qrels by condition, the corpus's files."""

    topics: list[Topic]
    qrels: dict[str, Qrels]
    corpus: list[Path]


def read_infosearch(folder: Path, dimension: str) -> InfoSearch:
    """Read one of ``DIMENSIONS`` from its own folder, or from the sub-folder of ``folder`` that is named after it.

    The sub-folder may have the dimension's name or the hub's (``keyword`` or ``Clarity-v1``). The
    condition ``query`` is the query alone, as in the paper; how many rows have an ``instruction_og``
    is told, and how many have a blank instruction. Raises :class:`HeedError` for a missing config
    and bad rows.
    """
    place = _place(folder, dimension)
    topics = read_topics(place, "queries", "eng", COLUMNS)
    tell_blank(place, topics, COLUMNS)
    # the released evaluation adds instruction_og to the query; the paper's original mode has no instruction
    dropped = sum(parsed(rows(place, "queries"), _has_query_instruction))
    if dropped:
        log.info(f"{place}: {dropped} of {len(topics)} rows have an instruction_og, left out: the query is put alone")
    qrels = {condition: judgements(place, config) for condition, config in QRELS.items()}
    corpus = config_files(place, "corpus")
    fail([] if corpus else [f"{place}: no corpus; expected Parquet or JSONL files of that name"])
    return InfoSearch(topics, qrels, corpus)


def _has_query_instruction(row: Row) -> bool:
    return "instruction_og" in row.fields and bool(row.string("instruction_og"))


def dimensions_in(folder: Path) -> list[str]:
    """The dimensions that have a sub-folder with queries in ``folder``."""
    return [name for name in DIMENSIONS if any(config_files(one, "queries") for one in _below(folder, name))]


def _below(folder: Path, dimension: str) -> list[Path]:
    hub_name = DIMENSIONS[dimension].repository.rpartition("/")[2]
    return [folder / dimension, folder / dimension.capitalize(), folder / hub_name]


def _place(folder: Path, dimension: str) -> Path:
    if dimension not in DIMENSIONS:
        raise HeedError(f"{dimension}: no dimension of InfoSearch; expected one of {', '.join(DIMENSIONS)}")
    place = next((one for one in (folder, *_below(folder, dimension)) if config_files(one, "queries")), None)
    if place is None:
        hub_name = DIMENSIONS[dimension].repository.rpartition("/")[2]
        raise HeedError(
            f"{folder}: no queries of InfoSearch; give the folder of {hub_name}, or one with it in "
            f"{dimension}/ or {hub_name}/"
        )
    return place
