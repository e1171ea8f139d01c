"""Rescore one run or pool by one reranker under one condition, and write a run."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from heed.datasets.own_files import ignores_own_ids
from heed.errors import DataError, UsageError, fail
from heed.files import locked, remembering, unpacked_name, word_of
from heed.formats.document_store import Corpus, DocumentStore
from heed.formats.topic_ids import number_hint
from heed.formats.trec_files import Pool, read_pool
from heed.progress import brief, log, number_of, timed, warn
from heed.ranking import ranked
from heed.reranking.rescore import PoolDocuments
from heed.reuse import RESULTS, queries_digest
from heed.systems.make import forms
from heed.types import CONDITIONS, Reranker, Topic, closed, conditions_of
from pipelines.command import main_of
from pipelines.options.collection import depth_option, keep_own_id_option, maxp_option, program_option
from pipelines.options.data import TEXTS, condition_option, data_options, run_reading_options
from pipelines.options.machine import engine_options, machine_options, model_options
from pipelines.options.output import check_target, indexes_option, verify_option
from pipelines.options.parser import OF_MODELS, READING, command_parser, listed

EXAMPLES = (
    "bm25.run --topics topics.jsonl --docs news.jsonl --reranker polarity --out polarity.run",
    "bm25.run --topics topics.jsonl --docs news.jsonl --reranker ./my-cross-encoder \\\n"
    "              --condition changed --depth 100 --out mine.changed.run",
    "pool.jsonl --topics topics.jsonl --docs tables/ --reranker mine:Careful --out careful.run.gz",
)


def parser() -> argparse.ArgumentParser:
    """Return the command line of ``heed rerank``."""
    command = command_parser("rerank", "RUN --topics PATH --docs PATH… --reranker NAME --out RUN", __doc__, EXAMPLES)
    command.add_argument("run", type=Path, metavar="RUN", help="TREC run or pool (.jsonl) to rescore")
    data_options(command.add_argument_group("data"), *TEXTS, required=True)
    system = command.add_argument_group("system")
    system.add_argument("--reranker", required=True, metavar="NAME", help=f"reranker:{listed(forms(Reranker))}")
    program_option(system)
    condition_option(system, "that of the run by its note, tag or name; else ")
    depth_option(system, "rescore a topic's N best")
    maxp_option(system)
    keep_own_id_option(system)
    output = command.add_argument_group("output")
    output.add_argument("--out", required=True, type=Path, metavar="RUN", help="run to write; .gz by its suffix")
    output.add_argument("--tag", metavar="TAG", help="tag of the run (default: reranker and condition)")
    indexes_option(output)
    verify_option(output)
    reading = command.add_argument_group(READING)
    data_options(reading, "topics_format", "fields", "name")
    run_reading_options(reading)
    model_options(command.add_argument_group(OF_MODELS))
    machine_options(command)
    engine_options(command)
    return command


def _run(options: argparse.Namespace) -> None:
    from heed.experiment.ledger import Ledger, destination, replaced, settle
    from heed.experiment.run_files import rescore_to_file
    from heed.formats.document_store import open_documents
    from heed.formats.trec_files import as_tag
    from pipelines.texts import named_texts

    check_target(options, "out", ".run")
    if options.tag is not None and not word_of(options.tag):
        raise UsageError(f"tag: found {options.tag!r}, expected one word, such as {as_tag(options.tag)}")
    indexes, lang, source, read = named_texts(options)
    condition = _condition(options, read)
    conditions_of(read, [condition])
    topics = [topic for topic in read if topic.has(condition)]
    with locked(options.out.parent), locked(indexes), remembering(indexes, options.verify):
        with timed("documents") as work:
            store = open_documents(source, indexes)
            work.did(store.count, "documents")
        pooled = _pool(options, topics, store)
        name = options.out.name.removesuffix(f".{condition}.run")
        is_result = (options.out.parent / RESULTS).exists() and name != options.out.name
        if is_result:  # whose runs are of all topics, also of those for which nothing was found
            pooled = {topic.qid: pooled.get(topic.qid, []) for topic in topics}
        queries = [topic.under(condition) for topic in topics if topic.qid in pooled]
        reranker = _reranker(options, Corpus(indexes, store, lang), pooled)
        tag = options.tag or as_tag(f"{reranker.name}.{condition}")
        facts = {"depth": options.depth, "documents": sum(map(len, pooled.values()))}
        ledger = Ledger(options.out.parent, store.digest, _digests(read))
        place = partial(destination, options.out)
        if is_result:
            settle(ledger.folder)
        with closed(reranker):
            file = rescore_to_file(place, reranker, queries, PoolDocuments(pooled, store), facts, tag)
        if is_result:  # whose runs of a name move together
            ledger.enter(name, {condition: file}, whole=True, form=f"--out {options.out.parent}/NAME.{condition}.run")
        else:
            replaced(options.out, file)
        state = "used again" if file.reused else "written"
        log.info(f"{options.out}: {state}; {len(queries)} topics under {condition}")


def _condition(options: argparse.Namespace, topics: Sequence[Topic]) -> str:
    """Return the condition to run: the one that is asked for, else that of the run, else the usual one.

    A run's is in its note, else in its tag or name.
    """
    from heed.experiment.run_files import finished_note
    from heed.formats.trec_files import called_as
    from pipelines.texts import usual_condition

    note, called = finished_note(options.run), called_as(options.run)
    known = note.recipe.get("condition", "") if note else called[1].lower().replace("og", "original") if called else ""
    of_run = known if known in CONDITIONS and any(topic.has(known) for topic in topics) else ""
    condition: str = options.condition or of_run or usual_condition(topics)
    source = "note" if note else "tag or name"
    if of_run and not options.condition:
        log.info(f"{options.run}: condition {of_run} by its {source}; --condition names another")
    if of_run not in ("", "query", condition):
        warn(f"{options.run}: is of {of_run} by its {source}, and is rescored under {condition}")
    return condition


def _digests(topics: Sequence[Topic]) -> dict[str, str]:
    """Return the digest of each condition's queries."""
    return {each: queries_digest(topic.under(each) for topic in topics if topic.has(each)) for each in CONDITIONS}


def _reranker(options: argparse.Namespace, corpus: Corpus, pooled: Pool) -> Reranker:
    from heed.reranking.maxp import maxp
    from heed.systems.make import Place, make
    from pipelines.options.settings import machinery_of, maxp_of

    machinery = machinery_of(options)
    machinery.check_version([options.reranker])
    answers = options.indexes / "api"
    place = Place(machinery.registry, machinery.here, corpus, answers=answers, instructed=True)
    reranker = make(machinery.system(options.reranker, Reranker), place, Reranker)
    docids = {docid for of_topic in pooled.values() for docid in of_topic}
    cut = maxp_of(options)
    return maxp(reranker, cut, corpus, docids) if cut else reranker


def _pool(options: argparse.Namespace, topics: Sequence[Topic], store: DocumentStore) -> Pool:
    """Return the docids to be rescored by qid: each topic's best, all of them among the documents."""
    from heed.experiment.run_files import own_documents
    from heed.formats.run_formats import read_any_run

    is_pool = unpacked_name(options.run).endswith(".jsonl")
    if is_pool:
        fail(["--subset: names a part of MTEB predictions, RUN is a pool"] if options.subset else [], UsageError)
        lists = read_pool(options.run)
    else:
        run = read_any_run(options.run, options.subset, options.encoding or options.lang or "")
        lists = {qid: ranked(scores) for qid, scores in run.items()}
    if not options.keep_own_id:
        by_id = not Path(options.docs[0]).exists() and ignores_own_ids(options.docs[0])
        for qid in own_documents(topics, store, by_id) & lists.keys():
            lists[qid] = [docid for docid in lists[qid] if docid != qid]
    # FollowTable asks a query (3) under several instructions (3_0, 3_1); its one list serves them all
    pooled = {
        topic.qid: lists[topic.qid if topic.qid in lists else topic.base][: options.depth]
        for topic in topics
        if topic.qid in lists or topic.base in lists
    }
    lacking = [topic.qid for topic in topics if topic.qid not in pooled]
    unused = sorted(lists.keys() - {qid for topic in topics for qid in (topic.qid, topic.base)})
    if not pooled:
        hint = number_hint(unused, [topic.qid for topic in topics])
        raise DataError(f"{options.run}: none of its topics ({brief(unused)}) is asked in {options.topics}{hint}")
    if unused:
        warn(f"{options.run}: left out {number_of(len(unused), 'topic')} that {options.topics} lacks: {brief(unused)}")
    if lacking:
        warn(f"{options.run}: lacks {len(lacking)} of {len(topics)} topics of {options.topics}: {brief(lacking)}")
    missing = store.missing(sorted({docid for docids in pooled.values() for docid in docids}))
    absent = f"{len(missing)} of its documents are not in --docs: {brief(missing)}; give the documents that it ranks"
    fail([f"{options.run}: {absent}"] if missing else [])
    return pooled


main = main_of(parser, _run)
