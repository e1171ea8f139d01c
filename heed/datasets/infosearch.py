"""Where InfoSearch and its sample lie on this machine, and what its dimensions are judged by."""

import argparse
from pathlib import Path

from heed.collection import Collection
from heed.datasets.hub import cached, config_files
from heed.datasets.infosearch_data import DIMENSIONS, QRELS, InfoSearch, dimensions_in, read_infosearch
from heed.datasets.sample import sample_root
from heed.errors import HeedError
from heed.evaluation.evaluate import Judging, Pair
from heed.io.documents import Files
from heed.io.topics import read_jsonl_topics
from heed.io.trec_files import read_qrels
from heed.languages import language
from heed.progress import log

NAME, SAMPLE = "infosearch", "infosearch-sample"
PAIR = Pair("query", "original", ("p-MRR", "WISE", "SICR"), reverse="reversed")


def find_dimensions(options: argparse.Namespace) -> list[Collection]:
    """The dimensions that the options of ``python -m pipelines.infosearch`` describe, a collection each.

    Raises :class:`HeedError` for data that are not here.
    """
    asked = list(dict.fromkeys(options.dimension or ()))
    if options.data:
        wanted = asked if len(asked) == 1 else _listed(options.data, asked)
        return [_collection(NAME, name, read_infosearch(options.data, name)) for name in wanted]
    wanted = asked or list(DIMENSIONS)
    places = {} if options.collection == "sample" else {name: cached(*DIMENSIONS[name]) for name in wanted}
    here = {name: place for name, place in places.items() if place}
    if len(here) == len(wanted):
        return [_collection(NAME, name, read_infosearch(place, name)) for name, place in here.items()]
    if here:
        absent = ", ".join(name for name in wanted if name not in here)
        raise HeedError(
            f"InfoSearch: {', '.join(here)} on this machine, but not {absent}; run "
            "python -m pipelines.fetch infosearch, or name those to run with --dimension"
        )
    log.info("no InfoSearch on this machine: this is the embedded sample, invented texts for a first try")
    return [_collection(SAMPLE, name, _sample(name)) for name in wanted]


def _listed(folder: Path, asked: list[str]) -> list[str]:
    """Those of several dimensions that are ``asked`` for, or all that are there."""
    if config_files(folder, "queries"):
        raise HeedError(f"{folder}: the folder of one dimension; name that one with --dimension")
    if asked:
        return asked
    found = dimensions_in(folder)
    if not found:
        raise HeedError(f"{folder}: no dimension of InfoSearch in it; expected folders such as audience or Audience-v1")
    return found


def _sample(dimension: str) -> InfoSearch:
    root = sample_root()
    qrels = {name: read_qrels(root / "qrels" / SAMPLE / f"{dimension}.{name}.qrels") for name in QRELS}
    topics = read_jsonl_topics(root / "topics" / SAMPLE / f"{dimension}.jsonl", "eng", "title")
    return InfoSearch(topics, qrels, [root / "documents" / SAMPLE / f"{dimension}.jsonl"])


def _collection(name: str, dimension: str, data: InfoSearch) -> Collection:
    return Collection(
        name=name,
        subset=dimension,
        index=dimension,
        language=language("eng"),
        source=Files(data.corpus),
        topics=data.topics,
        judging=Judging(qrels=data.qrels, measures=("nDCG@10",), pairs=(PAIR,), robust=True),
    )
