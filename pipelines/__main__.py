"""List the commands (``python -m pipelines`` or ``heed``), or run one (``heed COMMAND …``)."""

import difflib
import importlib
import sys
from collections.abc import Sequence

from heed import __version__
from pipelines import missing_package, started_as_heed

COMMANDS = {
    "neuclir": "NeuCLIR, HC4 and mFollowIR: Chinese, Persian or Russian news, with instructions",
    "trec": "any TREC-style collection: ir_datasets ids, your own files, FollowIR's Robust04, News21, Core17",
    "tables": "FollowTable, or any tables: HTML, Markdown, CSV; results by constraint type",
    "infosearch": "InfoSearch's six dimensions: query, instruction, reversed instruction",
    "pool": "pools for judging, from any runs: budgets, samples, orders for assessors, statistics, exports",
    "annotate": "judge a pool in the browser: grades by keyboard, edited narratives, agreement, qrels and topics",
    "judge": "a pool judged by a model, apart from people's judgements, with agreement (κ, τ); cost first",
    "rerank": "one run or pool rescored under one condition by one reranker",
    "check": "runs as NIST tests them, and more; corrected copies; a track's package with form and manifest",
    "judgements": "results of annotation tools back to qrels: Label Studio, doccano, Relevation, CSV, Excel",
    "compare": "two or three runs pairwise, or all systems of a folder: p-MRR, selectivity, IRS, NFR, WISE, SICR",
    "report": "tables and plots of results folders: text, Markdown, LaTeX, CSV, one HTML page",
    "explore": "see why, in the browser: topics, narratives, whole runs, and a playground for changed instructions",
    "models": "every registered model: what it is, what it needs, what is missing here, and what it sees",
    "published": "the papers' figures, as these lay them out, with what is doubtful",
    "reproduce": "published rows again: what can run here does, with a verdict on each figure",
    "train": "a reranker of your own: FollowIR's recipe (LoRA) on query, instruction, document, label",
    "fetch": "collections: what can be downloaded is, with sizes told first; how to get the rest",
}


def main(argv: Sequence[str] | None = None) -> int:
    """List the commands, or run the one that ``argv`` names, else the process's arguments; return the exit status."""
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments or arguments[0] in ("-h", "--help"):
        print("Heed: does a search system do what the user asked?\n")
        prefix = "heed " if started_as_heed() else "python -m pipelines."
        for name, description in COMMANDS.items():
            print(f"  {prefix}{name:<12}{description}")
        print("\nEach answers --help.")
        return 0
    if arguments[0] == "--version":
        print(f"heed {__version__}")
        return 0
    name = arguments[0]
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=3, cutoff=0.4) or list(COMMANDS)
        print(f"error: no command {name!r}; did you mean {' or '.join(near)}?", file=sys.stderr)
        return 2
    try:
        command = importlib.import_module(f"pipelines.{name}")
    except ModuleNotFoundError as error:
        message = missing_package(error)
        if message is None or "--debug" in sys.argv:
            raise
        print(f"error: {message}", file=sys.stderr)
        return 1
    if argv is None:
        del sys.argv[1]  # the command parses the rest, and the process ends with it
    status: int = command.main(None if argv is None else arguments[1:])
    return status


if __name__ == "__main__":
    sys.exit(main())
