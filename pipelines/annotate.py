"""Judge a pool in the browser, edit narratives, and export qrels and topics. Nothing leaves this machine."""

import argparse
import sys
from dataclasses import fields
from pathlib import Path

from heed.addons.judging.annotate.store import Store
from heed.addons.judging.annotate.task import Task
from heed.addons.judging.exchange.judgements import RULES
from heed.datasets.news import NEWS
from heed.languages import language
from heed.progress import log, number_of
from pipelines import as_started
from pipelines.command import main_of, refuse
from pipelines.options.data import data_options, layout_options
from pipelines.options.output import log_options
from pipelines.options.parser import command_parser
from pipelines.serving import check_server_options, serve_page, server_options
from pipelines.stopping import Terminated

EXAMPLES = (
    "pool.jsonl",
    "pool.jsonl --topics topics.jsonl --docs news.jsonl --qrels original.qrels --only-relevant",
    "pool.jsonl --add bob.db --as Bob=Bob --assessor Ann",
    "pool.jsonl --assign assessors.tsv",
    "pool.jsonl --export judged --unjudged -1",
)


def parser() -> argparse.ArgumentParser:
    """Return the command line of ``heed annotate``."""
    command = command_parser("annotate", "POOL", __doc__, EXAMPLES)
    command.add_argument("pool", type=Path, metavar="POOL", help="pool file, judged in its order")
    data = command.add_argument_group("data", "read at the first start, then stored in the database")
    more = {"topics": ", or an id of ir_datasets", "docs": "; also tables"}
    data_options(data, "topics", "encoding", "docs", "lang", "topics_format", "topic_ids", "fields", more=more)
    data_options(data, "query_lang")
    layout_options(data, NEWS, {"translation": "--translation"})
    data.add_argument("--qrels", type=Path, metavar="QRELS", help="judgements under the original narratives")
    data.add_argument("--grades", default="", metavar="LIST", help="0,1,3 or 0=off topic,1=on topic (default 0,1,2,3)")
    judging = command.add_argument_group("judging")
    judging.add_argument(
        "--only-relevant",
        action="store_true",
        help="judge the relevant documents of --qrels again, under changed narratives; others keep their grades",
    )
    judging.add_argument(
        "--assessor", metavar="NAME", help="who judges (default: the page asks), or whose judgements are exported"
    )
    judging.add_argument(
        "--assign",
        type=Path,
        metavar="FILE",
        help="lines of a topic, a tab and an assessor, who sees only these topics; several may judge a topic, blind",
    )
    judging.add_argument(
        "--database", type=Path, metavar="FILE", help="database of judgements (default: POOL, ending in .db)"
    )
    judging.add_argument(
        "--add",
        action="append",
        type=Path,
        default=[],
        metavar="PATH",
        help="add judgements from PATH: another assessor's database or export folder, or a result file of "
        "Label Studio, doccano, CSV, Excel or JSON lines; PATH is only read; repeatable",
    )
    judging.add_argument(
        "--as",
        dest="names",
        action="append",
        default=[],
        metavar="THERE=HERE",
        help="name here of an assessor in an added database: Ann=Ann if both are one person; repeatable",
    )
    server_options(judging, "the port of the last start, or any free one")
    judging.add_argument(
        "--export", type=Path, metavar="DIR", help="write qrels, changed qrels, topics and agreement, then exit"
    )
    judging.add_argument(
        "--unjudged",
        choices=("leave", "-1", "0", "error"),
        help="what --export does with documents without a grade: leave them out (default), write -1 or 0, or stop",
    )
    judging.add_argument(
        "--resolve",
        choices=RULES,
        help="where assessors differ and nobody has decided, --export leaves the document out (default), stops, takes "
        "the grade of most assessors (in a tie the highest), or the highest",
    )
    log_options(command)
    return command


def open_given(options: argparse.Namespace) -> tuple[Task, Store]:
    """Return the task and the open database that ``options`` name."""
    from heed.addons.judging.annotate.opening import open_annotation
    from heed.addons.judging.annotate.sources import Sources

    sources = Sources(**{field.name: getattr(options, field.name) for field in fields(Sources)})
    return open_annotation(sources, options.database, must_exist=options.export is not None and not options.add)


def _run(options: argparse.Namespace) -> None:
    check_server_options(options)
    if not options.export:
        refuse(options, ["unjudged", "resolve"], "it says what --export writes")
    task, store = open_given(options)
    try:
        if options.export:
            from heed.addons.judging.annotate.export import export

            unjudged, resolve = options.unjudged or "leave", options.resolve or ""
            print(*export(task, store, options.export, options.assessor, unjudged, resolve), sep="\n")
        else:
            _serve(options, task, store)
    finally:
        store.close()


def _serve(options: argparse.Namespace, task: Task, store: Store) -> None:
    from heed.addons.judging.annotate.assessor_progress import progress_lines
    from heed.addons.judging.annotate.assessors import check_name, refuse_reserved
    from heed.addons.judging.annotate.site import AnnotationServer
    from heed.retrieval.lucene.analysis import Analysis
    from heed.web.guard import Access
    from heed.web.listening import listen

    assessor = refuse_reserved(check_name(options.assessor)) if options.assessor else ""
    properties = store.properties()
    sock = listen(options.port, int(properties.get("port", 0)))
    store.set_property("port", str(sock.getsockname()[1]))  # so that open pages find the server when started again
    count = sum(len(task.to_judge(qid)) for qid in task.pool)
    topics, documents = number_of(len(task.pool), "topic"), number_of(count, "document")
    log.info(f"{topics}, {documents} to judge; judgements are saved in {store.path}")
    if task.assigned:
        narratives = {qid: text for qid, (text, _) in store.narratives().items()}
        for line in progress_lines(task, store.judgements(), narratives):
            log.info(line)
    access = Access(properties["token"], as_started("heed annotate"), options.allow_host)
    try:
        server = AnnotationServer(task, store, assessor, Analysis(language(task.lang)).tokens_of_each)
        serve_page(options, server.application(), sock, access)
    except (KeyboardInterrupt, Terminated) as stop:
        message = f"stopped; the same command goes on; with --export DIR, {store.path} becomes qrels and topics"
        if isinstance(stop, Terminated):
            raise Terminated(message) from None
        log.info(message)


main = main_of(parser, _run)

if __name__ == "__main__":
    sys.exit(main())
