"""``python -m pipelines``: the commands, one line each; ``python -m pipelines COMMAND …`` runs one."""

import difflib
import importlib
import sys

COMMANDS = {
    "neuclir": "NeuCLIR, HC4 and mFollowIR: Chinese, Persian or Russian news, with instructions",
    "trec": "any TREC-style collection: ir_datasets ids, your own files, FollowIR's Robust04, News21, Core17",
    "tables": "FollowTable, or any tables: HTML, Markdown, CSV; results by constraint type",
    "infosearch": "InfoSearch's six dimensions: query, instruction, reversed instruction",
    "pool": "pools for judging, from any runs: budgets, samples, orders for assessors, statistics, exports",
    "annotate": "judge a pool in the browser: grades by keyboard, edited narratives, agreement, qrels and topics",
    "rerank": "one run or pool rescored under one condition by one reranker",
    "check": "runs as NIST tests them, and more; corrected copies; a track's package with form and manifest",
    "judgements": "results of annotation tools back to qrels: Label Studio, doccano, Relevation, CSV, Excel",
    "compare": "two or three runs pairwise, or all systems of a folder: p-MRR, IRS, NFR, WISE, SICR",
    "report": "tables and plots of results folders: text, Markdown, LaTeX, CSV, one HTML page",
    "models": "every registered model: what it is, what it needs, what is missing here, and what it sees",
    "train": "a reranker of your own: FollowIR's recipe (LoRA) on query, instruction, document, label",
    "fetch": "collections: what can be downloaded is, with sizes told first; how to get the rest",
}


def main() -> int:
    """List the commands, or run the one that the process was started for; 2 for an unknown one."""
    if len(sys.argv) == 1 or sys.argv[1] in ("-h", "--help"):
        print("Heed: does a search system do what the user asked?\n")
        for name, does in COMMANDS.items():
            print(f"  python -m pipelines.{name:<12}{does}")
        print("\nEach answers --help.")
        return 0
    name = sys.argv.pop(1)  # the command reads what is left
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=3, cutoff=0.4) or list(COMMANDS)
        print(f"error: no command {name!r}; did you mean {' or '.join(near)}?", file=sys.stderr)
        return 2
    status: int = importlib.import_module(f"pipelines.{name}").main()
    return status


if __name__ == "__main__":
    sys.exit(main())
