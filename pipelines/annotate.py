"""Judge a pool in the browser, edit narratives, and export qrels and topics. Nothing leaves this machine."""

import argparse
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from heed.addons.judging.annotate.store import Store, back_up
from heed.addons.judging.annotate.task import (
    Task,
    check_name,
    in_force,
    load_task,
    parse_names,
    read_assigned,
    read_withdrawn,
    refuse_reserved,
)
from heed.addons.judging.exchange.exports import FORMATS, check_form
from heed.addons.judging.exchange.judgements import RULES
from heed.datasets.collection import Collection
from heed.datasets.news import NEWS
from heed.errors import DataError, UsageError
from heed.files import nearest, read_text
from heed.formats.trec_files import Pool
from heed.languages import LANGUAGES, language
from heed.measures.evaluate import Judging
from heed.progress import brief, log, number_of
from pipelines.command import main_of, refuse
from pipelines.options.data import data_of, data_options, layout_options, topic_ids_option
from pipelines.options.output import export_form
from pipelines.options.parser import MORE, READING, command_parser
from pipelines.serving import check_server_options, serve_page, server_options
from pipelines.stopping import Terminated

if TYPE_CHECKING:
    from heed.web import PersonOf

SAMPLES = {"neuclir-sample": ("eng", "zho", "fas", "rus"), "tables-sample": ("eng",)}
EXAMPLES = (
    "pool.jsonl",
    "pool.jsonl --topics topics.jsonl --docs news.jsonl --qrels original.qrels --only-relevant",
    "pool.jsonl --add bob.db --as Bob=Bob --assessor Ann",
    "pool.jsonl --assign topics.tsv --assessors people.tsv",
    "pool.jsonl --export judged --unjudged -1",
)


def parser() -> argparse.ArgumentParser:
    """Return the command line of ``heed annotate``."""
    command = command_parser("annotate", "POOL", __doc__, EXAMPLES)
    command.add_argument("pool", type=Path, metavar="POOL", help="pool file, judged in its order")
    data = command.add_argument_group("data", "read at the first start, then stored in the database")
    also = {"topics": ", or an id of ir_datasets", "docs": "; also tables"}
    data_options(data, "topics", "docs", "lang", more=also)
    reading = command.add_argument_group(READING)
    data_options(reading, "encoding", "topics_format", "fields", "query_lang")
    topic_ids_option(reading)
    layout_options(reading, NEWS, {"translation": "--translation"})
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
        help="lines of a topic, a tab and an assessor, who sees only these topics; several may judge a topic, blind; "
        "each gets a link of their own",
    )
    judging.add_argument(
        "--assessors",
        type=Path,
        metavar="FILE",
        help="lines of a name, or of a name, a tab and adjudicator: each gets a link of their own, printed once",
    )
    judging.add_argument(
        "--guidelines", type=Path, metavar="FILE", help="Markdown or text that all can read beside the document"
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
    server_options(judging, "the port of the last start, or any free one")
    judging.add_argument(
        "--export",
        metavar="DIR",
        help="write qrels, changed qrels, topics and agreement, then exit; as FORM=PATH what is to be judged, or the "
        f"share of --assessor, for another tool: {', '.join(FORMATS)}",
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
    more = command.add_argument_group(MORE)
    more.add_argument(
        "--update",
        action="store_true",
        help="take topics, narratives and documents that have changed; what was judged before is to be judged again",
    )
    more.add_argument(
        "--withdraw",
        type=Path,
        metavar="FILE",
        help="lines of a topic, or of a topic, a tab and a docid: neither judged nor exported, until a later file",
    )
    more.add_argument(
        "--model-grades",
        action="append",
        default=[],
        metavar="NAME=QRELS",
        help="a model's grades, as heed judge writes them, beside people's on the agreement page; repeatable",
    )
    more.add_argument(
        "--as",
        dest="names",
        action="append",
        default=[],
        metavar="THERE=HERE",
        help="name here of an assessor in an added database: Ann=Ann if both are one person; repeatable",
    )
    more.add_argument(
        "--rename",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="give what OLD has judged, also by a file that was added, to NEW; repeatable",
    )
    ending = more.add_mutually_exclusive_group()
    ending.add_argument("--new-link", metavar="NAME", help="print another link for NAME, in place of the earlier one")
    ending.add_argument("--revoke", metavar="NAME", help="let nobody in any more by the link of NAME")
    ending.add_argument("--backup", type=Path, metavar="FILE", help="copy the database, also while it is in use")
    more.add_argument("--only-open", action="store_true", help="--export FORM=PATH without what is judged already")
    more.add_argument(
        "--leave-out",
        action="append",
        default=[],
        metavar="NAME",
        help="--export without an assessor's judgements; repeatable",
    )
    return command


def open_given(options: argparse.Namespace) -> tuple[Task, Store]:
    """Return the task and the open database that ``options`` name, with what is added and assigned: all or nothing."""
    from heed.addons.judging.annotate.opening import add_annotations, open_annotation, path_beside, rename, stored_task
    from heed.addons.judging.annotate.people import read_people, warn_of_names
    from heed.formats.trec_files import read_pool

    if options.names and not options.add:
        raise UsageError("--as without --add: it names the assessors of a database that is added")
    if not options.pool.exists():
        advice = nearest(options.pool) or f"; heed pool RUN… --out {options.pool} makes a pool"
        raise DataError(f"{options.pool}: no such file{advice}")
    pool, renamed = read_pool(options.pool), parse_names(options.names)
    database = options.database or path_beside(options.pool)
    stored = stored_task(database)
    if options.export and not (options.add or stored or _form_of(options)):
        raise DataError(f"{database}: no judgements yet; judge first, or name their file with --database")
    collection = _collection(options, pool, stored)
    task, store = open_annotation(
        pool,
        collection,
        database,
        grades=options.grades,
        only_relevant=options.only_relevant,
        update=options.update,
        hold=bool(options.update or options.add or options.rename or options.withdraw),
    )
    try:
        if options.add:
            add_annotations(store, options.add, renamed, options.encoding)
        rename(store, parse_names(options.rename))
        if options.add or options.withdraw:
            task = load_task(store.properties(), options.only_relevant)
            if options.withdraw:
                store.withdraw(read_withdrawn(options.withdraw, task.pool))
            task = in_force(task, store.withdrawn())
        if withdrawn := store.withdrawn():
            names = brief([" ".join(each).strip() for each in sorted(withdrawn)])
            log.info(f"withdrawn, neither judged nor exported: {names}")
        if options.assign:
            withdrawn_topics = {qid for qid, docid in withdrawn if not docid}
            task = replace(task, assigned=read_assigned(options.assign, task.pool, withdrawn_topics))
            store.set_property("assigned", json.dumps(task.assigned, ensure_ascii=False))
        nobodys = [qid for qid in task.pool if qid not in task.assigned]
        if task.assigned and nobodys:
            log.info(f"assigned to nobody: {brief(nobodys)}")
        if options.assessors:
            warn_of_names(read_people(options.assessors), task.assigned)
        if not options.export:  # which may be refused, and then nothing is changed
            store.commit()
    except BaseException:
        store.close()
        raise
    return task, store


def _collection(options: argparse.Namespace, pool: Pool, stored: Task | None) -> Collection | None:
    """Return the collection that the options name, or the sample with the pool's topics; None if all is ``stored``."""
    from heed.datasets.collection import given_judgements
    from heed.datasets.own_files import pool_texts
    from heed.formats.data_sets import is_mfollowir

    data = data_of(options)
    lang = language(data.lang).code if data.lang else stored.lang_of(next(iter(pool))) if stored else ""
    is_complete = stored is not None and {*stored.docids()}.issuperset(chain.from_iterable(pool.values()))
    if not is_complete and not data.topics and not data.docs:
        collection = _sample(options, pool, lang)
        judged = given_judgements(data, collection.language.code, collection.language.code)
        return replace(collection, judging=Judging(judged)) if judged else collection
    if not any((data.topics, data.docs, data.qrels, data.lang)):
        return None
    if data.docs and not data.topics and not stored:
        raise UsageError("--docs without --topics: name the topics of the pool, a file or an ir_datasets id")
    if not is_complete and not data.docs and not is_mfollowir(Path(data.topics), lang):
        raise UsageError("--topics without --docs: name the documents of the pool, files or an ir_datasets id")
    # in another language than they are stored in topics differ anyway, or are not there
    differs = stored and all(qid in stored.pool and stored.lang_of(qid) != lang for qid in pool)
    return pool_texts(replace(data, lang=lang, topics="" if differs else data.topics), options.translation)


def _sample(options: argparse.Namespace, pool: Pool, lang: str) -> Collection:
    """Return the embedded sample that has the pool's topics, with its judgements if they are to be judged again."""
    from heed.datasets.loading import load

    folder = options.pool.resolve().parent.name  # runs/<collection>/<language>/pool.jsonl
    lang = lang or (folder if folder in LANGUAGES else "eng")
    for name, languages in SAMPLES.items():
        if lang in languages:
            collection = load(name, lang=lang if len(languages) > 1 else None)
            if pool.keys() <= {topic.qid for topic in collection.topics}:
                log.info(f"no --topics and --docs: this is the embedded sample, {lang}")
                return collection if options.only_relevant else replace(collection, judging=Judging({}))
    raise UsageError(
        f"the pool's topics ({brief([*pool])}) are not those of an embedded sample in {lang}; name their file with "
        "--topics and their documents with --docs"
    )


def _run(options: argparse.Namespace) -> None:
    from heed.addons.judging.annotate.grades import check_export, export

    check_server_options(options)
    form = _form_of(options)
    if not options.export or form:
        refuse(options, ["unjudged", "resolve", "leave_out"], "it says what --export writes")
    if not form:
        refuse(options, ["only_open"], "it is of --export FORM=PATH")
    if options.export:
        refuse(options, ["assessors"], "links are printed when the page is served")
        refuse(options, ["guidelines", "model_grades"], "it is for the page, which is not served now")
    if options.backup or options.new_link or options.revoke:
        return _administer(options)
    if form:
        check_form(*export_form(options.export))
    elif options.export:
        check_export(Path(options.export))
    task, store = open_given(options)
    try:
        if form:
            _hand_out(options, task, store)
        elif options.export:
            unjudged, resolve = options.unjudged or "leave", options.resolve or ""
            without = [check_name(name) for name in options.leave_out]
            print(*export(task, store, Path(options.export), options.assessor, unjudged, resolve, without), sep="\n")
        else:
            _serve(options, task, store)
        store.commit()
    finally:
        store.close()


def _form_of(options: argparse.Namespace) -> str:
    """Return the form of ``--export FORM=PATH``; empty for a folder."""
    form, equals, path = (options.export or "").partition("=")
    if equals and not (form in FORMATS and path) and "/" not in form:
        expected = f"a folder, or FORM=PATH with one of {', '.join(FORMATS)}"
        raise UsageError(f"--export: found {options.export!r}, expected {expected}")
    return form if equals and form in FORMATS else ""


def _hand_out(options: argparse.Namespace, task: Task, store: Store) -> None:
    from heed.addons.judging.annotate.shares import share
    from heed.addons.judging.exchange.exports import export

    form, path = export_form(options.export)
    exported = share(task, store, check_name(options.assessor) if options.assessor else "", options.only_open)
    export(form, path, exported)
    count = number_of(sum(map(len, exported.pool.values())), "document")
    print(f"{path}: {count} of {number_of(len(exported.pool), 'topic')}, {exported.condition}")


def _administer(options: argparse.Namespace) -> None:
    """Do what one does beside a server that runs: a copy, another link, or none any more."""
    from heed.addons.judging.annotate.opening import path_beside, stored_task
    from heed.addons.judging.annotate.people import new_link, revoke

    others = ["export", "add", "rename", "assign", "assessors", "assessor", "guidelines", "model_grades", "update"]
    refuse(options, [*others, "withdraw"], "one thing at a time")
    database = options.database or path_beside(options.pool)
    if options.backup:
        back_up(database, options.backup)
        print(f"{options.backup}: a copy of {database}")
        return
    if not stored_task(database):
        raise DataError(f"{database}: no judgements yet; start it with --assessors FILE first")
    with closing(Store(database)) as store:
        if options.revoke:
            revoke(store, check_name(options.revoke))
            log.info(f"{options.revoke}: the link lets nobody in any more; the judgements stay")
        else:
            name = check_name(options.new_link)
            port = options.port or int(store.properties().get("port", 0))
            _print_links(options, store, {name: new_link(store, name)}, port)


def _print_links(options: argparse.Namespace, store: Store, tokens: Mapping[str, str], port: int) -> None:
    """Print each person's link, under the hosts allowed now or at the last start, or else on this machine."""
    from heed.web import Access

    hosts = options.allow_host or json.loads(store.properties().get("hosts", "[]"))
    here, *allowed = Access("", "", hosts).places(port)
    for name, token in tokens.items():
        for place in allowed or [here]:
            print(f"{name}\t{place}/#token={token}", flush=True)


def _roles(options: argparse.Namespace, task: Task, store: Store) -> dict[str, str]:
    """Return the roles of those who have or get a link, by name; empty where names are typed."""
    from heed.addons.judging.annotate.people import ASSESSOR, read_people

    roles = dict.fromkeys(chain.from_iterable(task.assigned.values()), ASSESSOR) | store.people()
    roles |= read_people(options.assessors) if options.assessors else {}
    if roles and options.assessor:
        raise UsageError(f"--assessor {options.assessor}: assessors are known by their links here; leave it out")
    return roles


def _invite(options: argparse.Namespace, store: Store, roles: Mapping[str, str], port: int) -> "PersonOf | None":
    """Print links for those who have none yet; return whose a token is, None without any people."""
    from heed.addons.judging.annotate.people import ADJUDICATOR, invite, person_of

    if not roles:
        return None
    _print_links(options, store, invite(store, roles), port)
    if ADJUDICATOR not in roles.values():
        log.info("nobody decides where assessors differ: name one in a file for --assessors, NAME, a tab, adjudicator")
    links = number_of(len(store.link_digests()), "name")
    log.info(f"{links}, each with a link that is printed once; --new-link NAME makes another")
    return partial(person_of, store)


def _serve(options: argparse.Namespace, task: Task, store: Store) -> None:
    from heed.addons.judging.annotate.grades import progress_lines
    from heed.addons.judging.annotate.model_grades import read_model_grades
    from heed.addons.judging.annotate.server import AnnotationServer
    from heed.retrieval.lucene.analysis import Analysis
    from heed.web import listen

    assessor = refuse_reserved(check_name(options.assessor)) if options.assessor else ""
    models = read_model_grades(options.model_grades, task)
    if options.guidelines:
        store.set_property("guidelines", read_text(options.guidelines, task.lang))
    roles, properties = _roles(options, task, store), store.properties()
    sock = listen(options.port, int(properties.get("port", 0)))
    store.set_property("hosts", json.dumps(options.allow_host))  # for links that are made beside the server
    store.set_property("port", str(sock.getsockname()[1]))  # so that open pages find the server when started again
    count = sum(len(task.to_judge(qid)) for qid in task.pool)
    topics, documents = number_of(len(task.pool), "topic"), number_of(count, "document")
    log.info(f"{topics}, {documents} to judge; judgements are saved in {store.path}")
    if task.assigned:
        narratives = {qid: text for qid, (text, _) in store.narratives().items()}
        for line in progress_lines(task, store, store.judgements(), narratives):
            log.info(line)
    try:
        people = _invite(options, store, roles, sock.getsockname()[1])
        analysis = cache(lambda lang: Analysis(language(lang)))
        server = AnnotationServer(
            task, store, assessor, lambda lang, texts: analysis(lang).tokens_of_each(texts), models
        )
        serve_page(options, "annotate", properties["token"], server.application(), sock, person_of=people)
    except (KeyboardInterrupt, Terminated) as stop:
        message = f"stopped; the same command goes on; with --export DIR, {store.path} becomes qrels and topics"
        if isinstance(stop, Terminated):
            raise Terminated(message) from None
        log.info(message)


main = main_of(parser, _run)
