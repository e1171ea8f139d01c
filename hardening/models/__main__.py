"""Compare Heed's scores of odd models with the libraries' own: ``python -m hardening.models``.

Draws tiny models of real architectures with random weights, odd settings and files, and odd texts; scores a pool by
Heed, and by sentence-transformers or transformers called directly. In float32 scores may differ by ``CLOSE`` of their
standard deviation, or of ``LEAST`` of the largest where they hardly differ from each other. The libraries read each
document alone; so does Heed in half precision, where scores that differ by more must at least be in the same order:
Kendall's tau is at least ``TAU``, of pairs that are further apart than ``ROUNDED`` of the deviation. An error of Heed
is equal to one of the libraries for any document; ``MUST_REFUSE`` and ``MAY_REFUSE`` name what Heed refuses on
purpose; an exception that is no HeedError is always a problem. Prints a line for each problem, whose case ``--case``
repeats, and the number of cases; exit status 1 if there was a problem.
"""

import argparse
import logging
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardening.models.folders import ADAPTER, DISTANCE, PRETRAINED, UNTOLD, Case, make
from hardening.models.scores import document_text, heed_scores, library_scores
from hardening.models.weights import MISSING, UNEXPECTED
from heed.errors import HeedError

Array = NDArray[np.float64]
CLOSE, LEAST, ROUNDED, TAU = 1e-4, 1e-2, 1 / 32, 0.99
SMALLEST = 1e-3  # of a deviation: CLOSE of it is what float32 tells apart of vectors of length 1
A_SEED = 1_000_000  # cases of a seed
MUST_REFUSE = {
    MISSING: "the libraries fill them with random numbers",
    UNEXPECTED: "the file is another network's, of which the libraries read a part",
    PRETRAINED: "the libraries guess a pooling that it was never trained with",
}
MAY_REFUSE = {
    ADAPTER: "Heed may ask for it to be merged first",
    UNTOLD: "Heed cannot tell from its other files what it is",
    DISTANCE: "Heed searches by inner product, so that it may refuse another similarity; its order decides",
}
DTYPES = ("float32", "bfloat16", "float16")


class Outcome(NamedTuple):
    """The scores of one side, and its error."""

    scores: list[float]
    error: Exception | None = None

    def told(self) -> str:
        """Return the error on one line."""
        reason = (str(self.error).strip().splitlines() or [""])[0]
        return f"{type(self.error).__name__}: {reason[:200]}"


def main() -> int:
    """Run cases until the time is over, or the one that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m hardening.models", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="for all cases together (default 600)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="repeat one case; its folder stays in build/models")
    options = parser.parse_args()
    _quiet()
    if options.case is not None:
        place = Path("build/models") / str(options.case)
        shutil.rmtree(place, ignore_errors=True)
        return _repeat(make(options.case, DTYPES, place))
    end, number = time.monotonic() + options.seconds, options.seed * A_SEED
    counts: Counter[str] = Counter()
    while time.monotonic() < end or not counts:
        counts[_tried(number)] += 1
        number += 1
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    print(f"{counts.total()} cases of seed {options.seed}: {told}")
    return 1 if counts["problems"] else 0


def _quiet() -> None:
    import torch
    from transformers.utils import logging as transformers_logging

    torch.set_num_threads(1)  # of tiny networks
    warnings.simplefilter("ignore")
    for name in ("heed", "transformers", "sentence_transformers"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    transformers_logging.set_verbosity(logging.CRITICAL)
    transformers_logging.disable_progress_bar()


def _tried(number: int) -> str:
    """Run one case and return how it ended; print its problem."""
    with tempfile.TemporaryDirectory() as place:
        case = make(number, DTYPES, Path(place))
        ours, theirs = _sides(case)
    problem, ended = judge(case, ours, theirs)
    if problem:
        print(f"case {number}: {problem}; {case.description}", flush=True)
    return ended


def _repeat(case: Case) -> int:
    """Print the scores of both sides of one case."""
    ours, theirs = _sides(case)
    for outcome, side in ((ours, "Heed"), (theirs, "library")):
        if outcome.error:
            print(f"{side}:")
            traceback.print_exception(outcome.error)
    rows = zip(case.texts.documents, ours.scores, theirs.scores, strict=False)
    for document, one, other in rows:
        print(f"{one:12.6f} {other:12.6f}  {document_text(document)[:60]!r}")
    problem, ended = judge(case, ours, theirs)
    print(f"case {case.number}: {problem or ended}; {case.description}; {case.folder}")
    return 1 if problem else 0


def _sides(case: Case) -> tuple[Outcome, Outcome]:
    """Return what Heed and the libraries make of a case; whatever they raise is compared."""
    try:
        ours = Outcome(heed_scores(case))
    except Exception as error:
        ours = Outcome([], error)
    try:
        return ours, Outcome(*library_scores(case))
    except Exception as error:
        return ours, Outcome([], error)


def judge(case: Case, ours: Outcome, theirs: Outcome) -> tuple[str, str]:
    """Return what is wrong, empty if nothing is, and how the case counts."""
    if ours.error and not isinstance(ours.error, HeedError):
        return f"internal error, {ours.told()}", "problems"
    if case.fault in MUST_REFUSE:
        return ("", "refused") if ours.error else (f"{case.fault}: no error; {MUST_REFUSE[case.fault]}", "problems")
    if ours.error:
        if theirs.error or case.fault in MAY_REFUSE:
            return "", "refused"
        return f"Heed refuses ({ours.told()}), the library does not", "problems"
    return (
        _compared(case, np.array(ours.scores), np.array(theirs.scores)) if theirs.scores else ("", "run by Heed alone")
    )


def _compared(case: Case, ours: Array, theirs: Array) -> tuple[str, str]:
    """Compare the scores of documents that the library could read, for which it gave numbers."""
    both = np.flatnonzero(np.isfinite(theirs))
    if not len(both):
        return "", "run by Heed alone"
    apart, spread = np.zeros(len(ours)), max(np.std(theirs[both]), LEAST * np.abs(theirs[both]).max(), SMALLEST)
    apart[both] = np.abs(ours - theirs)[both] / spread
    worst = int(apart.argmax())
    if apart[worst] <= CLOSE:
        return "", "equal"
    tau = _tau(ours[both], theirs[both], ROUNDED * spread if case.dtype != "float32" else 0)
    if tau >= TAU and (case.dtype != "float32" or case.fault == DISTANCE):
        return "", "equal in order"
    text = document_text(case.texts.documents[worst])
    shown = repr(text if len(text) < 60 else f"{text[:57]}… of {len(text.split())} words")
    scores = f"Heed {ours[worst]:.6f}, library {theirs[worst]:.6f} for {shown}"
    return f"{scores}, {apart[worst]:.2g} standard deviations, tau {tau:.3f}", "problems"


def _tau(ours: Array, theirs: Array, least: float) -> float:
    """Return Kendall's tau of the pairs of documents whose scores in ``theirs`` differ by more than ``least``."""
    one, other = (np.subtract.outer(scores, scores) for scores in (ours, theirs))
    apart = np.abs(other) > least
    return float((np.sign(one) * np.sign(other))[apart].mean()) if apart.any() else 1.0


if __name__ == "__main__":
    sys.exit(main())
