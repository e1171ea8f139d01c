"""NeuCLIR, HC4 and mFollowIR: Chinese, Persian or Russian news, with instructions."""

import argparse
import sys
from collections.abc import Sequence

from pipelines.errors import HeedError
from pipelines.options import collection_options, run_command
from pipelines.topics import FIELDS


def parser() -> argparse.ArgumentParser:
    """The command line of ``python -m pipelines.neuclir``."""
    made = argparse.ArgumentParser(prog="python -m pipelines.neuclir", description=__doc__)
    made.add_argument("--lang", required=True, metavar="LANG", help="language of the documents: zho, fas or rus")
    made.add_argument(
        "--collection",
        choices=("auto", "sample", "neuclir1", "hc4"),
        default="auto",
        help="auto: the real collection where its documents are on this machine, else the sample",
    )
    made.add_argument(
        "--year",
        action="append",
        choices=("2022", "2023"),
        help="NeuCLIR topics of this year; repeatable (default 2022)",
    )
    made.add_argument(
        "--query-lang",
        choices=("native", "eng"),
        default="native",
        help="queries in the documents' language (default) or English",
    )
    made.add_argument(
        "--translation",
        choices=("human", "machine"),
        help="take only this translation (default: human where there is one)",
    )
    made.add_argument(
        "--docs-lang",
        choices=("native", "eng"),
        default="native",
        help="documents as they are (default) or machine-translated to English",
    )
    made.add_argument(
        "--fields",
        choices=FIELDS,
        default="title",
        help="which text of a topic is the query (default title)",
    )
    collection_options(made)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives back the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from pipelines.bm25 import Weights
    from pipelines.files import write_json
    from pipelines.flow import Settings, run
    from pipelines.jvm import set_heap
    from pipelines.models import add_models
    from pipelines.neuclir_collections import find_collection
    from pipelines.progress import say, set_quiet
    from pipelines.summary import table

    set_quiet(options.quiet)
    set_heap(options.heap)
    if options.lang not in ("zho", "fas", "rus"):
        raise HeedError(f"--lang: found {options.lang!r}, expected zho, fas or rus{_hint(options.lang)}")
    if options.models:
        add_models(options.models)
    collection = find_collection(options)
    documents = ", ".join(map(str, collection.documents))
    say(f"collection {collection.name}, {collection.subset}: {len(collection.topics)} topics; documents {documents}")
    settings = Settings(
        retrievers=options.retriever or ["bm25", "lsa"],
        rerankers=options.reranker or ["polarity"],
        conditions=options.condition or [],
        depth=options.depth,
        weights=Weights(options.k1, options.b),
        faiss=options.faiss,
        device=options.device,
        threads=options.threads,
        published_pool=options.pool == "published",
        indexes=options.indexes,
        out=options.out,
    )
    rows = run(collection, settings)
    print(table(rows, f"{collection.name} {collection.subset}: {len(collection.topics)} topics, values ×100"))
    say(f"{options.out / collection.name / collection.subset}/: runs, summary.json, report.html, manifest.yml and more")
    if options.json:
        write_json(options.json, {"collection": collection.name, "subset": collection.subset, "rows": rows})


def _hint(found: str) -> str:
    from pipelines.languages import LANGUAGES

    return next((f"; did you mean {one.code}?" for one in LANGUAGES.values() if one.short == found), "")


if __name__ == "__main__":
    sys.exit(main())
