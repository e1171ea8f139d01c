"""Rescore one run, or a pool, under one condition with one reranker, and write a run."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heed.errors import HeedError, fail
from heed.io.topics import FIELDS
from heed.retrieval.dense import KINDS
from heed.types import CONDITIONS
from pipelines.options import engine_options, machine_options, model_options, positive, run_command, talk_options

if TYPE_CHECKING:
    from heed.io.document_store import DocumentStore
    from heed.io.pools import Pool
    from heed.reranking.rescoring import Reranker
    from heed.retrieval.retrievers import Shelf
    from heed.types import Topic


def parser() -> argparse.ArgumentParser:
    """The command line of ``python -m pipelines.rerank``."""
    made = argparse.ArgumentParser(prog="python -m pipelines.rerank", description=__doc__)
    made.add_argument("run", type=Path, metavar="RUN", help="TREC run, or a pool (.jsonl): what is rescored")
    made.set_defaults(dataset=None)
    data = made.add_argument_group("data")
    data.add_argument("--topics", required=True, metavar="PATH", help="topics; the format is recognised")
    data.add_argument("--topics-format", choices=("heed", "neuclir", "tsv", "trec"), help="read the topics as this")
    data.add_argument("--fields", choices=FIELDS, default="title", help="what of a topic is the query (default title)")
    data.add_argument(
        "--docs", nargs="+", required=True, metavar="PATH", help=".jsonl[.gz], folders, or an ir_datasets id"
    )
    data.add_argument("--subset", metavar="NAME", help="subset of MTEB predictions, where RUN holds several")
    data.add_argument("--lang", metavar="LANG", help="eng, zho, fas, rus (default: the data set's, else eng)")
    systems = made.add_argument_group("system")
    systems.add_argument(
        "--reranker",
        required=True,
        metavar="NAME",
        help="polarity, a model by name, path or hub id, decompose:ENCODER, or polarity+NAME",
    )
    systems.add_argument(
        "--condition",
        choices=CONDITIONS,
        help="what goes with the query (default: original where the topics carry instructions, else query)",
    )
    systems.add_argument("--depth", type=positive, default=1000, metavar="N", help="rescore a topic's N best (1000)")
    systems.add_argument("--maxp", nargs="?", const="400/200", metavar="WORDS/OVERLAP", help="score by best passage")
    model_options(systems)
    machine_options(made)
    engine_options(made)
    output = made.add_argument_group("output")
    output.add_argument("--out", required=True, type=Path, metavar="RUN", help="the new run; gzipped by suffix")
    output.add_argument("--tag", metavar="TAG", help="the run's tag (default: reranker and condition)")
    output.add_argument("--indexes", type=Path, default=Path("indexes"), metavar="DIR", help="default indexes/")
    talk_options(output)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives back the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from heed.datasets.trec import given_files
    from heed.io.document_store import open_store
    from heed.io.files import locked
    from heed.languages import language
    from heed.models.api_cache import set_cache
    from heed.progress import timed
    from heed.retrieval.bm25 import Weights
    from heed.retrieval.retrievers import Shelf
    from heed.types import JOIN, under
    from heed.workers.engine import Engine, crew_of
    from pipelines.launch import begin

    begin(options)
    name, code, source, read = given_files(options)
    condition = options.condition or _condition(read)
    topics = under(read, condition)
    fail([] if topics else [f"{options.topics}: no topic can be asked under condition {condition}"])
    indexes = options.indexes / name / code
    engine = Engine(options.engine, options.workers, options.ray_address)
    with locked(options.out.parent), locked(indexes), crew_of(engine, options.device) as crew:
        with timed("documents") as work:
            store = open_store(indexes / "documents", source)
            work.did(store.count, "documents")
        pooled = _pool(options, topics, store)
        set_cache(options.indexes / "api")
        machine = (options.device, options.threads, crew)
        shelf = Shelf(indexes, store, language(code), JOIN, Weights(), KINDS[0], *machine)
        _write(options, _system(options, shelf, pooled), topics, condition, pooled)


def _condition(topics: "Sequence[Topic]") -> str:
    return "original" if any("original" in topic.instructions for topic in topics) else "query"


def _system(options: argparse.Namespace, shelf: "Shelf", pooled: "Pool") -> "Reranker":
    from heed.reranking.passages import parse_cut
    from heed.reranking.rerankers import over_passages, reranker

    if not options.maxp:
        return reranker(options.reranker, shelf)
    docids = {docid for found in pooled.values() for docid in found}
    return over_passages([options.reranker], shelf, docids, parse_cut(options.maxp))[0]


def _pool(options: argparse.Namespace, topics: "Sequence[Topic]", store: "DocumentStore") -> "Pool":
    """What is rescored by qid: each topic's best documents, all of them among the documents."""
    from heed.io.pools import read_pool
    from heed.io.run_formats import read_any_run
    from heed.progress import brief, log
    from heed.ranking import ranked

    is_pool = options.run.name.endswith((".jsonl", ".jsonl.gz"))
    if is_pool:
        fail(["--subset: names a part of MTEB predictions, RUN is a pool"] if options.subset else [])
        lists = read_pool(options.run)
    else:
        lists = {qid: ranked(found) for qid, found in read_any_run(options.run, options.subset).items()}
    # FollowTable asks a query (3) under several instructions (3_0, 3_1); its one list serves them all
    pooled = {
        topic.qid: lists[topic.qid if topic.qid in lists else topic.base][: options.depth]
        for topic in topics
        if topic.qid in lists or topic.base in lists
    }
    unasked = sorted(lists.keys() - {one for topic in topics for one in (topic.qid, topic.base)})
    if not pooled:
        raise HeedError(f"{options.run}: none of its topics ({brief(unasked)}) is asked in {options.topics}")
    if unasked:
        log.info(f"{options.run}: {len(unasked)} topics are not asked here and left out: {brief(unasked)}")
    missing = store.missing(sorted({docid for docids in pooled.values() for docid in docids}))
    fail([f"{options.run}: {len(missing)} of its documents are not in --docs: {brief(missing)}"] if missing else [])
    return pooled


def _write(
    options: argparse.Namespace, system: "Reranker", topics: "Sequence[Topic]", condition: str, pooled: "Pool"
) -> None:
    """Make the run, or find it made, or go on where it was killed."""
    from heed.io.artifacts import Recipe, file_as_made
    from heed.io.files import digest_json
    from heed.io.trec_files import as_tag, write_run
    from heed.progress import log, timed
    from heed.reranking.rescoring import rerank

    asked = [topic for topic in topics if topic.qid in pooled]
    tag = options.tag or as_tag(f"{system.name}.{condition}")
    recipe: Recipe = {
        "system": system.recipe,
        "condition": condition,
        "topics": digest_json(asked),
        "pool": digest_json(pooled),
        "tag": tag,
    }
    journal = options.out.parent / ".made" / f"{options.out.name}.partial"

    def build() -> None:
        with timed("prepare", system.name):
            system.prepare()
        write_run(options.out, rerank(system, asked, condition, pooled, journal), tag)

    used_again = file_as_made(options.out, recipe, build)
    journal.unlink(missing_ok=True)
    log.info(f"{options.out}: {'used again' if used_again else 'written'}; {len(asked)} topics under {condition}")


if __name__ == "__main__":
    sys.exit(main())
