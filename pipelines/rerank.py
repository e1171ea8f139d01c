"""Rescore one run, or a pool, under one condition with one reranker, and write a run."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heed.errors import DataError, UsageError, fail
from heed.formats.topics import FIELDS
from heed.progress import brief, log
from heed.reranking.rescore import PoolDocuments
from heed.types import CONDITIONS
from pipelines.command import run_command
from pipelines.options import engine_options, log_options, machine_options, model_options, positive

if TYPE_CHECKING:
    from heed.formats.document_store import DocumentStore
    from heed.formats.pools import Pool
    from heed.retrieval.corpus import Corpus
    from heed.types import Reranker, Topic
    from heed.workers.pool import WorkerPool


def parser() -> argparse.ArgumentParser:
    """The command line of ``python -m pipelines.rerank``."""
    made = argparse.ArgumentParser(prog="python -m pipelines.rerank", description=__doc__)
    made.add_argument("run", type=Path, metavar="RUN", help="TREC run, or a pool (.jsonl): what is rescored")
    data = made.add_argument_group("data")
    data.add_argument("--topics", required=True, metavar="PATH", help="topics; the format is recognised")
    data.add_argument("--topics-format", choices=("heed", "neuclir", "tsv", "trec"), help="read the topics as this")
    data.add_argument("--fields", choices=FIELDS, default="title", help="what of a topic is the query (default title)")
    data.add_argument(
        "--docs", nargs="+", required=True, metavar="PATH", help=".jsonl[.gz], folders, or an ir_datasets id"
    )
    data.add_argument("--name", metavar="NAME", help="what the collection of --docs is called (default: as its file)")
    data.add_argument("--subset", metavar="NAME", help="subset of MTEB predictions, where RUN holds several")
    data.add_argument("--lang", metavar="LANG", help="ISO 639 code such as deu or de (default: the data set's or eng)")
    systems = made.add_argument_group("system")
    systems.add_argument(
        "--reranker",
        required=True,
        metavar="NAME",
        help="polarity, a model by name, path or hub id, decompose:ENCODER, polarity+NAME, mteb:NAME, or "
        "package.module:Class",
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
    log_options(output)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from heed.datasets.trec import given_files
    from heed.experiment.run_files import rescore_to_file
    from heed.files import locked
    from heed.formats.origin import noted_documents
    from heed.formats.trec_files import as_tag
    from heed.languages import language
    from heed.progress import timed
    from heed.retrieval.corpus import Corpus
    from heed.workers.pool import open_pool
    from pipelines.launch import machine_of

    name, code, source, read = given_files(
        options.docs, options.topics, lang=options.lang, fields=options.fields, topics_format=options.topics_format
    )
    condition = options.condition or _condition(read)
    topics = [topic for topic in read if topic.has(condition)]
    fail([] if topics else [f"{options.topics}: no topic carries an instruction for condition {condition}"])
    indexes, machine = options.indexes / (options.name or name) / code, machine_of(options)
    machine.check()
    with locked(options.out.parent), locked(indexes), open_pool(machine.workers, machine.device) as workers:
        with timed("documents") as work:
            store = noted_documents(source, indexes)
            work.did(store.count, "documents")
        pooled = _pool(options, topics, store)
        queries = [topic.under(condition) for topic in topics if topic.qid in pooled]
        reranker = _reranker(options, Corpus(indexes, store, language(code)), workers, pooled)
        tag = options.tag or as_tag(f"{reranker.name}.{condition}")
        file = rescore_to_file(options.out, reranker, queries, PoolDocuments(pooled, store), tag)
        made = "used again" if file.reused else "written"
        log.info(f"{options.out}: {made}; {len(queries)} topics under {condition}")


def _condition(topics: "Sequence[Topic]") -> str:
    return "original" if any("original" in topic.instructions for topic in topics) else "query"


def _reranker(options: argparse.Namespace, corpus: "Corpus", workers: "WorkerPool", pooled: "Pool") -> "Reranker":
    from heed.reranking.maxp import parse_cut
    from heed.systems.settings import Search, systems_of
    from pipelines.launch import machine_of, registry_of

    systems = systems_of(corpus, Search(), machine_of(options), registry_of(options), workers, options.indexes / "api")
    reranker = systems.reranker(options.reranker)
    if not options.maxp:
        return reranker
    docids = {docid for listed in pooled.values() for docid in listed}
    return systems.maxp(reranker, docids, parse_cut(options.maxp))


def _pool(options: argparse.Namespace, topics: "Sequence[Topic]", store: "DocumentStore") -> "Pool":
    """Return the docids to be rescored by qid: each topic's best, all of them among the documents."""
    from heed.formats.pools import read_pool
    from heed.formats.run_formats import read_any_run
    from heed.ranking import ranked

    is_pool = options.run.name.endswith((".jsonl", ".jsonl.gz"))
    if is_pool:
        fail(["--subset: names a part of MTEB predictions, RUN is a pool"] if options.subset else [], UsageError)
        lists = read_pool(options.run)
    else:
        lists = {qid: ranked(scores) for qid, scores in read_any_run(options.run, options.subset).items()}
    # FollowTable asks a query (3) under several instructions (3_0, 3_1); its one list serves them all
    pooled = {
        topic.qid: lists[topic.qid if topic.qid in lists else topic.base][: options.depth]
        for topic in topics
        if topic.qid in lists or topic.base in lists
    }
    unused = sorted(lists.keys() - {qid for topic in topics for qid in (topic.qid, topic.base)})
    if not pooled:
        raise DataError(f"{options.run}: none of its topics ({brief(unused)}) is asked in {options.topics}")
    if unused:
        log.info(f"{options.run}: {len(unused)} topics are not asked here and left out: {brief(unused)}")
    missing = store.missing(sorted({docid for docids in pooled.values() for docid in docids}))
    fail([f"{options.run}: {len(missing)} of its documents are not in --docs: {brief(missing)}"] if missing else [])
    return pooled


if __name__ == "__main__":
    sys.exit(main())
