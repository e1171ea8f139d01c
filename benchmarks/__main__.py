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
    "neural": (
        "Real texts are long: of 200, cut at 512 tokens, 70 % have them all, 465 in the mean (the generated ones 307), "
        "so that little padding can be saved. torch's profiler, one thread, 24 of them: Heed 2.17 s of products and "
        "0.77 s of attention in 3.00 s, sentence-transformers 2.64 and 0.95 in 4.18. What is left is arithmetic: "
        "without less precision (int8, above) no more than these 1.4 can be had there. Another processor of the same "
        "kind gave 1.6.\n\n"
        "OpenVINO 2026.4 and ONNX Runtime beside Heed, each with batches sorted by length, of the same size, "
        "and two at a time (two streams); 80 of the generated texts, float32, processor seconds on a machine "
        "with five times as much work as cores, so that the clock says little: Heed 8.4 to 9.0, OpenVINO 10.3 "
        "to 10.4, ONNX Runtime 12.9; the vectors differ by 1.3e-07. Heed's own network without padding is 1.2 "
        "× sooner than the best of them, so neither is taken as an engine: OpenVINO is 178 MB, and needs each "
        "model exported first.\n\n"
        "A whole command on four documents with a tiny model (rows of `python -m benchmarks.commands`), "
        "processor seconds in pairs on a machine with five to eight times as much work as cores, where "
        "all takes a fifth longer than on a quiet one, before and after: BERT 4.9 and 4.0, XLM-R 5.1 and 4.2, "
        "DistilBERT 5.1 and 4.4, MPNet 5.8 and 4.8, ModernBERT 8.1 and 4.0, Mistral 7.8 and 3.6, T5 7.9 and 3.8; "
        "cross-encoders behind BM25: BERT 5.9 and 4.8, ModernBERT 8.6 and 4.7, DeBERTa 8.3 and 6.8. "
        "Until its weights are opened, which is "
        "held against 4 s: encoders 2.7 to 3.2, cross-encoders behind BM25 3.7 (BERT), 4.6 (ModernBERT) and 7.4 "
        "(DeBERTa); the last two missed it. Since DeBERTa's network is Heed's own too, it takes 4.0 to 4.6 instead of "
        "6.7 to 7.2 until then and 5.1 instead of 7.8 in all (three pairs, twice as much work as cores; 3.8 with "
        "nothing else to do), and 60 pairs "
        "of 20 to 200 words 18.5 instead of 55.5 (6 layers of 768, two threads; scores 3e-07 apart). Garbage is now "
        "collected seldom, and not at the end (0.3 s less after torch alone, 1.8 after transformers' networks), and "
        "networks of ModernBERT's, Llama's, Mistral's, Qwen's and T5's form are Heed's own, without padding; their "
        "scores differed by 2e-06 at most in four runs, all other runs have the same bytes. What is left: "
        "importing torch 1.3, "
        "transformers' tokenizers 0.7. Networks of other forms (ELECTRA, ALBERT, Gemma, Phi 3, NomicBERT, "
        "GTE) and adapters still import transformers' own, nearly 3 s more: these import torch's compiler, its "
        "parts for "
        "several machines, accelerate and scipy whether or not they are used, and no setting leaves them out.\n"
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
        f"{told}\n",
    ]
    for group, (rows, given) in found.items():
        parts += [f"## {GROUPS[group]}\n", f"{given}\n", markdown(rows), *([NOTES[group]] if group in NOTES else [])]
    return "\n".join(parts)


if __name__ == "__main__":
    main()
