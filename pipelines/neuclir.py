"""Run NeuCLIR, HC4 or mFollowIR: Chinese, Persian or Russian news, or all three, with instructions."""

import argparse
from functools import partial

from heed.datasets.multilingual import MLIR
from heed.datasets.news import NEWS
from pipelines.command import main_of, refuse
from pipelines.options.collection import collection_options
from pipelines.options.data import data_of, data_options, layout_options, parameters_of
from pipelines.options.parser import command_parser

EXAMPLES = (
    "--lang zho",
    "--lang fas --retriever bm25 lsa --reranker none --measure P@10 RR",
    "--lang rus --docs news.jsonl --topics topics.jsonl --qrels original.qrels --changed-qrels changed.qrels",
    "--lang zho --collection neuclir1 --query-lang eng --retriever intfloat/multilingual-e5-large",
)


def parser() -> argparse.ArgumentParser:
    """Return the command line of ``heed neuclir``."""
    command = command_parser("neuclir", "--lang LANG", __doc__, EXAMPLES)
    data = command.add_argument_group("data")
    data.add_argument(
        "--lang",
        required=True,
        metavar="LANG",
        help="language of the documents: zho, fas or rus (also zh, fa, ru), or mlir for all three in one ranked list",
    )
    data.add_argument(
        "--collection",
        choices=("auto", "sample", "neuclir1", "hc4"),
        default="auto",
        help="auto (default): NeuCLIR 1 or HC4 if their documents are on this machine, else the sample",
    )
    layout_options(data, NEWS, {"years": "--year"})
    reading = collection_options(command, data)
    data_options(reading, "fields", "query_lang")
    layout_options(reading, NEWS, {"translation": "--translation", "docs_lang": "--docs-lang"})
    reading.add_argument(
        "--merge",
        choices=("score", "rank", "reranker"),
        help="how the lists of mlir's languages become one: by score, brought to [0, 1] in each list "
        "(default); by rank; "
        "or by the reranker, over one pool of all languages, which needs --query-lang eng",
    )
    return command


def _run(options: argparse.Namespace) -> None:
    from pipelines.launch import run_named

    name = {"auto": "neuclir1", "sample": "neuclir-sample"}.get(options.collection, options.collection)
    about = name, data_of(options), {**parameters_of(options, NEWS), "or_sample": options.collection == "auto"}
    if options.lang == MLIR:
        from pipelines.multilingual import run_languages

        run_named(options, *about, run=partial(run_languages, merge=options.merge or ""))
    else:
        refuse(options, ["merge"], "it makes one list of the languages of --lang mlir")
        run_named(options, *about)


main = main_of(parser, _run)
