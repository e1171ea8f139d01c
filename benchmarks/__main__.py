"""Heed beside its peers, all groups in turn: ``python -m benchmarks``, ``--quick`` in under three minutes.

Every group runs alone too: ``python -m benchmarks.lexical`` and so on. Both sides get the same input in one tree of
processes, in turn; a row's ratio is the peer's seconds by Heed's, so that above 1 Heed is faster. The extra ``bench``
brings the peers.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.table import Row, machine, markdown, read_rows

GROUPS = {
    "commands": "Whole commands",
    "lexical": "BM25",
    "neural": "Encoding, reranking, dense search",
    "measures": "Measures, runs, fusion",
    "pools": "Pools",
    "stores": "Documents",
}

GPU = (
    "`python -m benchmarks.gpu` measures models on a GPU, with random weights in the shapes of MiniLM-L6,\n"
    "XLM-R-large, Qwen3-0.6B and Qwen3-8B, beside sentence-transformers and transformers, within eight minutes and\n"
    "without Java or a hub (`python -m benchmarks.gpu --tiny` tries it on a CPU). It has not been run on a GPU for\n"
    "this page.\n"
)


# what a profile says of rows that may miss their target
NOTES = {
    "lexical": (
        "Over 100,000 documents (`benchmarks.scale_input`, 21 million postings; topics of 3 words, then with their "
        "instruction 33), processor seconds on a machine with five times as much work as cores: the first query takes "
        "Heed 0.04 and 0.06 (0.34 and 0.27 before a term's scores were made when it is first asked for; on the clock "
        "0.08 and 0.12), bm25s in numpy 0.02 and 0.03, bm25s with numba 10 and 13, since it compiles first. Asked "
        "again, a query takes Heed 0.5 and 1.5 ms, bm25s in numpy 14 and 20, with numba 0.23 and 0.65: half of ours. "
        "About a third of Heed's is adding up scores, the rest Anserini's order, ties and rounding, which bm25s "
        "does not have. Compiled code would be needed to halve it; for a millisecond of a query that is "
        "not worth a compiler, or seconds of compiling, on every machine.\n"
    ),
    "stores": (
        "Measured with `python -m benchmarks.stores --docs cc-news-zho-1000.jsonl.gz --tables WTR/corpus.jsonl.gz "
        "--tables IndusTR/corpus.jsonl.gz`, where three times as much work as cores disturbed the clock: processor "
        "time is what to compare. A thousand news are few: a twentieth of their store is the dictionary, "
        "which costs larger collections nothing (0.46 of 205 MB generated news). A table's text for its index of "
        "fields repeats its cells; beside the text, in the same compressed document, that is 0.12 of the 0.49.\n"
    ),
}


def main() -> None:
    """Run the groups, each in a process of its own, and write what they found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller input, one repetition")
    parser.add_argument("--only", action="append", choices=GROUPS, help="this group; repeatable")
    parser.add_argument("--json", type=Path, help="write every repetition's seconds to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    options = parser.parse_args()
    told, found = machine(), {}
    print(told, flush=True)
    with tempfile.TemporaryDirectory() as place:
        for group in options.only or GROUPS:
            result = Path(place) / f"{group}.json"
            command = [sys.executable, "-m", f"benchmarks.{group}", "--json", str(result)]
            print(f"\n{GROUPS[group]}", flush=True)
            subprocess.run(command + ["--quick"] * options.quick, check=True)  # noqa: S603 (our own modules)
            found[group] = read_rows(result)
    missed = [f"{row.step} beside {row.peer}" for rows, _ in found.values() for row in rows if not row.met]
    print(f"\n{len(missed)} targets missed{': ' if missed else ''}{', '.join(missed)}")
    if options.json:
        groups = {group: {"input": given, "rows": list(map(asdict, rows))} for group, (rows, given) in found.items()}
        options.json.write_text(json.dumps({"machine": told, "groups": groups}, ensure_ascii=False, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(_page(told, found, options.quick), encoding="utf-8")


def _page(told: str, found: dict[str, tuple[list[Row], str]], quick: bool) -> str:
    parts = [
        "# Heed beside its peers\n",
        f"Written by `python -m benchmarks{' --quick' if quick else ''}`. A ratio is the peer's seconds by Heed's:"
        "\nmedian and range of the repetitions, of wall time and of processor time. Above 1 Heed is faster.\n",
        GPU,
        f"{told}\n",
    ]
    for group, (rows, given) in found.items():
        parts += [f"## {GROUPS[group]}\n", f"{given}\n", markdown(rows), *([NOTES[group]] if group in NOTES else [])]
    return "\n".join(parts)


if __name__ == "__main__":
    main()
