"""Publish a judged collection as a folder that a stranger can use: texts, judgements, datasheet, for MTEB too."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from heed.errors import UsageError
from heed.formats.trec_files import read_pool
from heed.languages import language
from pipelines.command import main_of
from pipelines.options.data import data_of, data_options
from pipelines.options.parser import command_parser

if TYPE_CHECKING:
    from heed.addons.judging.publishing.annotation import Annotation
    from heed.data import Data
    from heed.datasets.collection import Collection

EXAMPLES = (
    "pool.db --docs news.jsonl --facts facts.yaml --out release",
    "judged/ --docs news.jsonl --facts facts.yaml --runs runs/*.run --out release",
    "--topics topics.jsonl --docs news.jsonl --qrels original.qrels --changed-qrels changed.qrels \\\n"
    "            --lang zho --facts facts.yaml --ids-only --out release",
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``heed publish``."""
    command = command_parser("publish", "[JUDGED] --out FOLDER --facts FILE", __doc__, EXAMPLES)
    command.add_argument(
        "judged", nargs="?", type=Path, metavar="JUDGED", help="database of heed annotate, or the folder of its export"
    )
    command.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="new folder to write")
    command.add_argument(
        "--facts",
        type=Path,
        metavar="FILE",
        help="YAML or JSON: what only people know; without it the command lists the questions",
    )
    more = {"docs": " (default: the pooled documents of the database)", "topics": "; those of JUDGED are its own"}
    data_options(
        command.add_argument_group("data"), "docs", "topics", "qrels", "changed_qrels", "lang", "encoding", more=more
    )
    command.add_argument(
        "--pool", type=Path, metavar="POOL", help="what rerankers are given (default: the judged pool)"
    )
    command.add_argument(
        "--runs",
        nargs="+",
        type=Path,
        default=[],
        metavar="RUN",
        help="runs that were pooled, <system>.<condition>.run: the README then says whether a new system can be judged",
    )
    command.add_argument("--teams", type=Path, metavar="FILE", help="lines of a system of RUN, a tab and its team")
    command.add_argument("--ids-only", action="store_true", help="publish docids, where texts may not be given")
    command.add_argument("--notes", action="store_true", help="publish the assessors' notes too")
    return command


def _run(options: argparse.Namespace) -> None:
    from heed.addons.judging.pools.build import read_runs
    from heed.addons.judging.pools.reusability import read_teams
    from heed.addons.judging.publishing.annotation import open_judged
    from heed.addons.judging.publishing.facts import read_facts
    from heed.addons.judging.publishing.release import Release, publish

    facts = read_facts(options.facts)
    if options.notes and (options.ids_only or not options.judged):
        raise UsageError(
            "notes: they are of an annotation, and may quote its documents; leave ids_only out, name JUDGED"
        )
    if options.judged and (options.topics or options.qrels or options.changed_qrels):
        raise UsageError("topics, qrels, changed_qrels: JUDGED has its own; leave them out")
    annotation, data = None, data_of(options)
    if options.judged:
        annotation = open_judged(options.judged, data.lang and language(data.lang).code)
    runs, pool = read_runs(options.runs), annotation.pool if annotation else None
    release = Release(
        _texts(annotation, data),
        facts,
        annotation,
        pool=read_pool(options.pool) if options.pool else pool,
        runs=runs,
        teams=read_teams(options.teams, runs) if options.teams else {},
        texts=not options.ids_only,
        notes=options.notes,
    )
    print(*publish(release, options.out), sep="\n")


def _texts(annotation: "Annotation | None", data: "Data") -> "Collection":
    """Return the texts that ``data`` names; an annotation has topics, judgements and, if none are named, documents."""
    from heed.datasets.own_files import pool_texts
    from heed.formats.documents import Documents
    from heed.measures.evaluate import Judging

    if annotation is None:
        if not (data.topics and data.docs):
            raise UsageError("topics, docs: needed where no JUDGED is named")
        return pool_texts(data)
    if not data.docs and not annotation.documents:
        raise UsageError("docs: needed, an export holds no documents")
    texts = pool_texts(replace(data, lang=data.lang or annotation.lang))
    source = texts.source if data.docs else Documents(annotation.documents)
    return replace(texts, source=source, topics=annotation.topics, judging=Judging(annotation.qrels))


main = main_of(parser, _run)
