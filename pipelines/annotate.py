"""Judge a pool in the browser, edit narratives, and export qrels and topics. Nothing leaves this machine."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heed.errors import HeedError
from heed.io.topics import FIELDS
from pipelines.options import run_command, talk_options

if TYPE_CHECKING:
    from heed.annotation.store import Store
    from heed.annotation.task import Task


def parser() -> argparse.ArgumentParser:
    """The command line of ``python -m pipelines.annotate``."""
    made = argparse.ArgumentParser(prog="python -m pipelines.annotate", description=__doc__)
    made.add_argument("pool", type=Path, metavar="POOL", help="pool file; its order is the order of judging")
    data = made.add_argument_group("data", "read at the first start and kept in the database")
    data.add_argument("--topics", metavar="PATH", help="topics of any form, or an ir_datasets id")
    data.add_argument(
        "--topics-format", choices=("heed", "neuclir", "tsv", "trec"), help="read the topics as this form"
    )
    data.add_argument(
        "--docs", nargs="+", metavar="PATH", help="documents: .jsonl[.gz], folders, tables, or an ir_datasets id"
    )
    data.add_argument("--lang", metavar="LANG", help="language of the documents: zho, fas, rus or eng")
    data.add_argument("--query-lang", choices=("native", "eng"), default="native", help="language of the topics")
    data.add_argument("--translation", choices=("human", "machine"), help="take only this translation of topics")
    data.add_argument("--fields", choices=FIELDS, default="title", help="which text of a topic is the query")
    data.add_argument("--qrels", type=Path, metavar="QRELS", help="judgements under the original narratives")
    data.add_argument("--grades", metavar="LIST", help="0,1,3 or 0=off topic,1=on topic (default 0,1,2,3)")
    judging = made.add_argument_group("judging")
    judging.add_argument(
        "--only-relevant",
        action="store_true",
        help="show what is relevant in --qrels, to be judged again as changed; exported, the others keep their grades",
    )
    judging.add_argument("--assessor", metavar="NAME", help="who judges (the page asks), or whose export it is")
    judging.add_argument("--database", type=Path, metavar="FILE", help="judgements (default: POOL with .db)")
    judging.add_argument("--port", type=int, default=0, metavar="N", help="port (default 0: the last one, or any)")
    judging.add_argument("--no-browser", action="store_true", help="print the address and open nothing")
    judging.add_argument(
        "--export", type=Path, metavar="DIR", help="write qrels, changed qrels, topics and agreement, and end"
    )
    talk_options(made)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives back the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from heed.annotation.opening import opened

    if not 0 <= options.port <= 65535:
        raise HeedError(f"--port {options.port}: expected a number from 0 to 65535")
    task, store = opened(options)
    try:
        if options.export:
            _export(options, task, store)
        else:
            _serve(options, task, store)
    finally:
        store.close()


def _export(options: argparse.Namespace, task: "Task", store: "Store") -> None:
    from heed.annotation.export import export

    for line in export(task, store, options.export, options.assessor):
        print(line)


def _serve(options: argparse.Namespace, task: "Task", store: "Store") -> None:
    import threading
    import webbrowser

    from heed.annotation.events import check_name, refuse_reserved
    from heed.annotation.server import LOCAL, Server, listen, serve
    from heed.progress import log

    assessor = refuse_reserved(check_name(options.assessor)) if options.assessor else ""
    kept = store.kept()
    sock = listen(options.port, int(kept.get("port", 0)))
    port = sock.getsockname()[1]
    store.keep("port", str(port))  # so that open pages find the server again when it is started anew
    count = sum(len(task.shown(qid)) for qid in task.pool)
    log.info(f"{len(task.pool)} topics, {count} documents to judge; every judgement is kept in {store.path}")
    address = f"http://{LOCAL}:{port}/?token={kept['token']}"
    print(address, flush=True)
    if not options.no_browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()  # one in a terminal would wait
    try:
        serve(Server(task, store, assessor), sock, kept["token"])
    except KeyboardInterrupt:
        log.info(f"stopped; go on with the same command; with --export DIR, {store.path} becomes qrels and topics")


if __name__ == "__main__":
    sys.exit(main())
