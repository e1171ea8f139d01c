"""Run NeuCLIR, HC4 or mFollowIR: Chinese, Persian or Russian news, or all three, with instructions."""

import argparse
import sys

from pipelines.command import main_of, refuse
from pipelines.options.collection import collection_options
from pipelines.options.data import fields_option, query_language_options
from pipelines.options.parser import command_parser

EXAMPLES = (
    "--lang zho",
    "--lang fas --reranker none --condition original --condition changed",
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
    data.add_argument(
        "--year",
        action="append",
        choices=("2022", "2023"),
        help="NeuCLIR topics of this year; repeatable (default 2022)",
    )
    reading = collection_options(command, data)
    fields_option(reading)
    query_language_options(reading)
    reading.add_argument(
        "--docs-lang",
        choices=("native", "eng"),
        default="native",
        help="documents as they are (default) or machine-translated to English",
    )
    reading.add_argument(
        "--merge",
        choices=("score", "rank", "reranker"),
        help="how the lists of mlir's languages become one: by score, brought to [0, 1] in each list "
        "(default); by rank; "
        "or by the reranker, over one pool of all languages, which needs --query-lang eng",
    )
    return command


def _run(options: argparse.Namespace) -> None:
    from heed.datasets.layout import Settings
    from heed.datasets.loading import find_collections
    from pipelines.launch import finish, run_collections
    from pipelines.multilingual import launch_multilingual
    from pipelines.options.settings import own_files

    settings = Settings(
        own_files(options),
        lang=options.lang,
        query_lang=options.query_lang,
        translation=options.translation,
        years=tuple(options.year or ()),
        docs_lang=options.docs_lang,
        fields=options.fields,
        or_sample=options.collection == "auto",
    )
    name = {"auto": "neuclir1", "sample": "neuclir-sample"}.get(options.collection, options.collection)
    [collection] = find_collections(name, settings)
    if collection.parts:
        finish(options, [launch_multilingual(options, collection)])
        return
    refuse(options, ["merge"], "it makes one list of the languages of --lang mlir")
    run_collections(options, [collection])


main = main_of(parser, _run)

if __name__ == "__main__":
    sys.exit(main())
