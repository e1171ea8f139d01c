"""FollowTable, the embedded sample and other tables: where they are on this machine, and how each is read."""

from pathlib import Path
from typing import NamedTuple

from heed.collection import Collection
from heed.datasets.followtable import JOIN, TYPES, is_followtable, read_followtable
from heed.datasets.sample import sample_root
from heed.errors import DataError, UsageError
from heed.evaluation.evaluate import Judging, Pair
from heed.io.topic_files import NO_FILES, OwnFiles, read_listed, read_topics
from heed.io.trec_files import read_qrels
from heed.languages import language
from heed.progress import log
from heed.tables.documents import Tables
from heed.types import Qrels, Topic

FOLLOWTABLE, SAMPLE = "followtable", "tables-sample"
CLONE = Path("FollowTable/data")
MEASURES = ("nDCG@10", "AP", "R@100", "R@1000")
PAIRS = (Pair("query", "original", ("p-MRR", "IRS", "NFR")),)
KINDS = tuple(dict.fromkeys(TYPES.values()))


class Published(NamedTuple):
    """A collection of tables as published: files of tables, topics, qrels by condition, trap tables by qid."""

    name: str
    subset: str
    tables: list[Path]
    topics: list[Topic]
    qrels: dict[str, Qrels]
    traps: dict[str, set[str]]


def find_tables(
    files: OwnFiles = NO_FILES,
    *,
    data: Path | None = None,
    subset: str | None = None,
    lang: str = "eng",
    form: str = "raw",
    traps: Path | None = None,
) -> Collection:
    """Return the tables of ``files``, of the folder ``data``, of a ``subset`` fetched before, or else the sample.

    Topics and judgements of ``files``, and ``traps`` for NFR, replace the published ones; ``form`` is how a table
    is written for systems. Raises :class:`DataError` for missing data, saying how to get them.
    """
    if files.docs:
        if not files.topics:
            raise UsageError("--docs without --topics: name the topics of these tables")
        paths = [Path(path) for path in files.docs]
        published = Published(paths[0].resolve().name.partition(".")[0], lang, paths, [], {}, {})
    elif data or subset not in (None, "sample"):
        published = _followtable(data or _clone(str(subset)))
    else:
        published = _sample()
    topics, listed = published.topics, published.traps
    if files.topics:
        topics, listed = read_topics(Path(files.topics), lang, "title", files.topics_format), {}
    return Collection(
        name=published.name,
        subset=published.subset if form == "raw" else f"{published.subset}-{form}",
        language=language(lang),
        source=Tables(published.tables, form, titles=bool(files.docs) or published.name != FOLLOWTABLE),
        topics=topics,
        judging=Judging(
            qrels=_qrels(files, published.qrels),
            measures=MEASURES,
            pairs=PAIRS,
            traps=read_listed(traps) if traps else listed,
            types=KINDS,
        ),
        join=JOIN,
    )


def _qrels(files: OwnFiles, published: dict[str, Qrels]) -> dict[str, Qrels]:
    """Return judgements by condition: ``--qrels`` replace those of query and original, own topics all of them."""
    kept = {} if files.topics else published
    if files.qrels:
        kept = {name: qrels for name, qrels in kept.items() if name != "query"}  # those of original are used for it
    return {**kept, **files.judgements()}


def _clone(subset: str) -> Path:
    """Return the folder of a subset in the clone that ``python -m pipelines.fetch followtable`` asks for."""
    folders = [CLONE / "FollowTable" / subset, CLONE / subset]
    folder = next((folder for folder in folders if folder.is_dir()), None)
    if folder is None:
        raise DataError(
            f"FollowTable {subset}: not in {folders[1]}; python -m pipelines.fetch followtable says how to get it, "
            "or give its folder with --data"
        )
    return folder


def _followtable(folder: Path) -> Published:
    if not is_followtable(folder):
        raise DataError(
            f"{folder}: neither only_queries.jsonl nor query_instruction.json in it; expected a subset of FollowTable, "
            "or name your own files with --docs, --topics and --qrels"
        )
    subset = read_followtable(folder)
    return Published(FOLLOWTABLE, folder.resolve().name, subset.tables, subset.topics, subset.qrels, {})


def _sample() -> Published:
    log.info("this is the embedded sample, invented tables for a first try")
    root = sample_root()
    topics = read_topics(root / "topics" / SAMPLE / "eng.jsonl", "eng", "title")
    qrels = {name: read_qrels(root / "qrels" / SAMPLE / f"{name}.qrels") for name in ("query", "original")}
    traps = read_listed(root / "qrels" / SAMPLE / "traps.jsonl")
    return Published(SAMPLE, "eng", [root / "documents" / SAMPLE], topics, qrels, traps)
