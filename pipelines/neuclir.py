"""NeuCLIR, HC4 and mFollowIR: Chinese, Persian or Russian news, or all three, with instructions."""

import argparse
import sys
from collections.abc import Sequence

from heed.formats.topics import FIELDS
from pipelines.command import refuse, run_command
from pipelines.options import collection_options, own_files


def parser() -> argparse.ArgumentParser:
    """Return the command line of ``python -m pipelines.neuclir``."""
    command = argparse.ArgumentParser(prog="python -m pipelines.neuclir", description=__doc__)
    command.add_argument(
        "--lang",
        required=True,
        metavar="LANG",
        help="language of the documents: zho, fas or rus (or zh, fa, ru); or mlir: all three, in one ranked list",
    )
    command.add_argument(
        "--merge",
        choices=("score", "rank", "reranker"),
        help="how the languages' lists of mlir become one: by score, each list's brought to [0, 1] (default); by rank; "
        "or by the reranker, over a pool of all languages (with --query-lang eng)",
    )
    command.add_argument(
        "--collection",
        choices=("auto", "sample", "neuclir1", "hc4"),
        default="auto",
        help="auto: the real collection where its documents are on this machine, else the sample",
    )
    command.add_argument(
        "--year",
        action="append",
        choices=("2022", "2023"),
        help="NeuCLIR topics of this year; repeatable (default 2022)",
    )
    command.add_argument(
        "--query-lang",
        choices=("native", "eng"),
        default="native",
        help="queries in the documents' language (default) or English",
    )
    command.add_argument(
        "--translation",
        choices=("human", "machine"),
        help="take only this translation (default: human where there is one)",
    )
    command.add_argument(
        "--docs-lang",
        choices=("native", "eng"),
        default="native",
        help="documents as they are (default) or machine-translated to English",
    )
    command.add_argument(
        "--fields",
        choices=FIELDS,
        default="title",
        help="which text of a topic is the query (default title)",
    )
    collection_options(command)
    return command


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from heed.datasets.multilingual import MLIR, find_multilingual
    from heed.datasets.neuclir import NewsSettings, find_news
    from pipelines.launch import finish, launch
    from pipelines.multilingual import launch_multilingual

    if not options.docs:
        refuse(options, ["name"], "it names a collection of --docs")
    settings = NewsSettings(
        lang=options.lang,
        collection=options.collection,
        years=tuple(options.year or ()),
        query_lang=options.query_lang,
        translation=options.translation,
        docs_lang=options.docs_lang,
        fields=options.fields,
    )
    if options.lang == MLIR:
        finish(options, [launch_multilingual(options, find_multilingual(settings, own_files(options)))])
        return
    refuse(options, ["merge"], "it makes one list of the languages of --lang mlir")
    collection = find_news(settings, own_files(options))
    finish(options, [launch(options, collection)])


if __name__ == "__main__":
    sys.exit(main())
