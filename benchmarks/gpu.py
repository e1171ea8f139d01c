"""Heed compared with sentence-transformers and transformers on a GPU: ``python -m benchmarks.gpu``.

Needs what ``heed.models`` imports, and neither Java nor a hub: weights are random, in the shapes of published models,
but those of a bi-encoder's folder that ``--folder`` names. Both sides read the same texts, one side after the other,
the libraries with the best of three sizes of batches. The share of the peak is that of the arithmetic of every text
read once, whole and without padding: what Heed reads once for many prompts counts for each. Kendall's tau compares
Heed's order in bfloat16 with that in float32. What does not fit, and what the time does not suffice for, is left out by
name. Ends within eight minutes on one card.
"""

import argparse
import gc
import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch

from benchmarks.gpu_card import Card
from benchmarks.gpu_dense import dense
from benchmarks.gpu_models import (
    BATCHES,
    SHAPES,
    Heed,
    Library,
    Scores,
    Shape,
    Work,
    kendall,
    make,
    of_folder,
    opened,
    operations,
    parameters,
    shrunk,
    words,
)
from benchmarks.neural_models import word_pieces
from benchmarks.page import renew, table
from benchmarks.timing import machine, origin

DTYPES = {"float32": 4, "bfloat16": 2}  # bytes of a number
ROOM = 1.2  # of the weights' bytes, with a batch's states
BATCH_ROOM = 2 << 30  # bytes
TEXTS = 200  # that a tokenizer is learnt from
HEAD = (
    *("model", "dtype", "Heed /s", "library /s", "batch of library", "ratio"),
    *("Heed, of peak", "library, of peak", "Heed GiB", "library GiB", "tau", "apart"),
)
ABOUT = (
    "Documents or pairs a second, a query after another, of texts of 20 to 400 words: 2000 a query for bi-encoders, 48 "
    "for Qwen3-8B, 500 for others. The library is sentence-transformers, or transformers for Qwen3, with the best of "
    "three sizes of batches. all-MiniLM-L6-v2 has its weights, the others random ones. *tau* compares Heed's order in "
    "bfloat16 with that in float32, *apart* is the largest difference between both sides' scores."
)


@dataclass
class Row:
    """A model in one precision: documents or pairs a second of both sides, and what they took."""

    model: str
    dtype: str
    heed: float | None = None
    library: float | None = None
    batch: int | None = None
    heed_share: float | None = None
    library_share: float | None = None
    heed_bytes: int | None = None
    library_bytes: int | None = None
    tau: float | None = None
    apart: float | None = None
    note: str = ""

    def cells(self) -> list[str]:
        """Return what a table shows, as ``HEAD`` has it."""
        if self.heed is None or self.library is None:
            return [self.model, self.dtype, self.note]
        shares = (f"{share:.1%}" for share in (self.heed_share, self.library_share) if share is not None)
        memory = (f"{size / 2**30:.1f}" if size else "-" for size in (self.heed_bytes, self.library_bytes))
        rates = [f"{self.heed:.4g}", f"{self.library:.4g}", str(self.batch), f"{self.heed / self.library:.2f}"]
        tau, apart = "" if self.tau is None else f"{self.tau:.4f}", "" if self.apart is None else f"{self.apart:.0e}"
        return [self.model, self.dtype, *rates, *shares, *memory, tau, apart]


def main() -> None:
    """Measure all shapes, then search, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="tiny shapes, on a CPU if there is no GPU: does it run?")
    parser.add_argument("--model", action="append", choices=SHAPES, help="this shape; repeatable")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="a bi-encoder with its weights, before the shapes")
    parser.add_argument("--seconds", type=float, default=360, help="nothing is begun after these (default 360)")
    parser.add_argument("--measure", type=float, default=6, help="seconds of each measurement at least (default 6)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="renew benchmarks.json and benchmarks.md in it")
    options = parser.parse_args()
    if not options.tiny and not torch.cuda.is_available():
        parser.error(f"torch {torch.__version__} finds no GPU; try --tiny, or benchmarks --only neural on a CPU")
    quiet()
    start = time.perf_counter()
    end = time.monotonic() + options.seconds
    card = Card("cuda" if torch.cuda.is_available() else "cpu", 1024 if options.tiny else 8192)
    where = f"{machine()}; {', '.join(f'{name} {value}' for name, value in card.described().items())}"
    print(where, flush=True)
    searches = dense(card, 2_000 if options.tiny else 1_000_000)
    print("\n".join(searches), flush=True)
    bench, rows = Bench(card, end, 0.01 if options.tiny else options.measure), []
    shapes = {name: SHAPES[name] for name in options.model or SHAPES}
    if options.folder:
        shapes = {options.folder.name: of_folder(options.folder), **shapes}
    for name, shape in shapes.items():
        for row in bench.rows(name, shrunk(shape) if options.tiny else shape):
            rows.append(row)
            print("  ".join(row.cells()), flush=True)
    shown = table(HEAD, ([*row.cells(), *[""] * (len(HEAD) - len(row.cells()))] for row in rows))
    print(shown)
    if options.out:
        found = {
            **origin(" ".join(["python -m benchmarks.gpu", *sys.argv[1:]]), start),
            "machine": where,
            "about": ABOUT,
        }
        renew(
            options.out, "gpu", {**found, "models": [asdict(row) for row in rows], "search": searches, "table": shown}
        )


class Bench:
    """Measures shapes on a card until a moment is reached."""

    def __init__(self, card: Card, end: float, measure: float) -> None:
        """Begin nothing after ``end``; a measurement takes ``measure`` seconds at least."""
        self._card, self._end, self._seconds = card, end, measure
        self._tokenizer = word_pieces(words(TEXTS))

    def rows(self, name: str, shape: Shape) -> Iterator[Row]:
        """Yield a row for each precision; the model is written for both, and deleted afterwards."""
        total, multiplied = parameters(shape)
        with tempfile.TemporaryDirectory() as place:
            reason = self._reason(total * DTYPES["bfloat16"], Path(place))
            if reason:
                yield Row(name, "", note=reason)
                return
            work = opened(shape) if shape.folder else make(shape, Path(place), self._card.device, self._tokenizer)
            gc.collect()
            arithmetic, order = operations(work, multiplied), dict[str, Scores]()
            for dtype, size in DTYPES.items():
                row = Row(name, dtype, note=self._reason(total * size))
                if not row.note:
                    try:
                        self._measure(row, work, arithmetic, order)
                    except torch.OutOfMemoryError:
                        row.note = "out of memory"
                yield row

    def _reason(self, size: int, folder: Path | None = None) -> str:
        """Return why a model of ``size`` bytes is left out, empty if it is not."""
        needed, free = ROOM * size + BATCH_ROOM, self._card.free()
        if time.monotonic() > self._end:
            return "not run: the time is over"
        if needed > free:
            return f"does not fit: {needed / 2**30:.0f} GiB needed, {free / 2**30:.0f} free"
        disk = shutil.disk_usage(folder).free if folder else size * 2
        return f"not run: {size / 2**30:.0f} GiB of disk needed" if disk < size * 1.1 else ""

    def _measure(self, row: Row, work: Work, arithmetic: float, order: dict[str, Scores]) -> None:
        count, peak = len(work.texts), self._card.peak(row.dtype)
        self._card.begin()
        heed = Heed(work, row.dtype, self._card.device)
        for _ in range(1 + len(BATCHES)):  # calls that are not counted, as many as the library has
            order[row.dtype] = heed.scores(0)
        row.heed = self._rate(heed.scores, count)
        row.heed_bytes = self._card.most()
        heed.close()
        self._card.begin()
        library = Library(work, row.dtype, self._card.device)
        row.batch = self._best(library, count)
        if work.shape.family != "causal":  # whose libraries cut a prompt's end, where Heed cuts the document
            scores = library.scores(0, row.batch)
            row.apart = max(abs(one - other) for one, other in zip(order[row.dtype], scores, strict=True))
        row.library = self._rate(partial(library.scores, batch=row.batch), count)
        row.library_bytes = self._card.most()
        library.close()
        gc.collect()
        row.heed_share, row.library_share = (rate / count * arithmetic / peak for rate in (row.heed, row.library))
        if row.dtype != "float32" and "float32" in order:
            row.tau = kendall(order["float32"], order[row.dtype])

    def _best(self, library: Library, count: int) -> int:
        """Return the size of batches with which the library is fastest; larger ones that do not fit are left out."""
        library.scores(0, BATCHES[0])
        took: dict[int, float] = {}
        for batch in [one for one in BATCHES if one < 2 * count] or BATCHES[:1]:
            begun = self._card.now()
            try:
                library.scores(0, batch)
            except torch.OutOfMemoryError:
                break
            took[batch] = self._card.now() - begun
        return min(took, key=lambda batch: took[batch])

    def _rate(self, scores: Callable[[int], Scores], count: int) -> float:
        """Return how many documents a second are scored, a query after another."""
        begun, calls = self._card.now(), 0
        while not calls or self._card.now() - begun < self._seconds:
            calls += 1
            scores(calls)
        return calls * count / (self._card.now() - begun)


def quiet() -> None:
    """Show neither progress nor reports of loading."""
    from transformers.utils import logging as transformers_logging

    for name in ("heed", "sentence_transformers"):
        logging.getLogger(name).setLevel(logging.ERROR)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


if __name__ == "__main__":
    main()
