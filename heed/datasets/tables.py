"""Where FollowTable, the sample and other tables lie on this machine, and how each is read."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from heed.collection import Collection
from heed.datasets.followtable import JOIN, TYPES, is_followtable, read_followtable
from heed.datasets.sample import sample_root
from heed.errors import HeedError
from heed.evaluation.evaluate import Judging, Pair
from heed.io.topic_files import given_qrels, read_listed, read_topics
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


def find_tables(options: argparse.Namespace) -> Collection:
    """The collection that the options of ``python -m pipelines.tables`` describe.

    Raises :class:`HeedError` for data that are not here, saying how to get them.
    """
    if options.docs:
        if not options.topics:
            raise HeedError("--docs without --topics: name the topics of these tables")
        paths = [Path(path) for path in options.docs]
        return _collection(options, paths[0].resolve().name.partition(".")[0], options.lang or "eng", paths, [], {})
    if options.data or options.subset in (None, "sample"):
        return _of_folder(options, options.data) if options.data else _sample(options)
    return _of_folder(options, _fetched(options.subset))


def _fetched(subset: str) -> Path:
    """A subset in the clone that ``python -m pipelines.fetch followtable`` tells to make."""
    places = [CLONE / "FollowTable" / subset, CLONE / subset]
    found = next((place for place in places if place.is_dir()), None)
    if found is None:
        raise HeedError(
            f"FollowTable {subset}: not in {places[1]}; python -m pipelines.fetch followtable says how to get it, "
            "or give its folder with --data"
        )
    return found


def _of_folder(options: argparse.Namespace, folder: Path) -> Collection:
    if not is_followtable(folder):
        raise HeedError(
            f"{folder}: neither only_queries.jsonl nor query_instruction.json in it; expected a subset of FollowTable, "
            "or name your own files with --docs, --topics and --qrels"
        )
    read = read_followtable(folder)
    return _collection(options, FOLLOWTABLE, folder.resolve().name, read.tables, read.topics, read.qrels)


def _sample(options: argparse.Namespace) -> Collection:
    log.info("this is the embedded sample, invented tables for a first try")
    root = sample_root()
    qrels = {name: read_qrels(root / "qrels" / SAMPLE / f"{name}.qrels") for name in ("query", "original")}
    topics = read_topics(root / "topics" / SAMPLE / "eng.jsonl", "eng", "title")
    traps = read_listed(root / "qrels" / SAMPLE / "traps.jsonl")
    return _collection(options, SAMPLE, "eng", [root / "documents" / SAMPLE], topics, qrels, traps)


def _qrels(options: argparse.Namespace, published: dict[str, Qrels]) -> dict[str, Qrels]:
    """The judgements by condition; own ones replace those of query and original, own topics all published ones."""
    kept = {} if options.topics else published
    if options.qrels:
        kept = {name: one for name, one in kept.items() if name != "query"}  # original's are taken for it
    return {**kept, **given_qrels(options)}


def _collection(
    options: argparse.Namespace,
    name: str,
    subset: str,
    paths: list[Path],
    topics: list[Topic],
    qrels: dict[str, Qrels],
    traps: Mapping[str, set[str]] | None = None,
) -> Collection:
    lang = options.lang or "eng"
    own = read_topics(Path(options.topics), lang, "title", options.topics_format) if options.topics else topics
    form = "" if options.serialise == "raw" else f"-{options.serialise}"
    return Collection(
        name=name,
        subset=f"{subset}{form}",
        index=f"{subset}{form}",
        language=language(lang),
        source=Tables(paths, options.serialise, titles=bool(options.docs) or name != FOLLOWTABLE),
        topics=own,
        judging=Judging(
            qrels=_qrels(options, qrels),
            measures=MEASURES,
            pairs=PAIRS,
            traps=read_listed(options.traps) if options.traps else {} if options.topics else traps or {},
            types=KINDS,
        ),
        join=JOIN,
    )
