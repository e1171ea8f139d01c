"""Run sequences of commands in one folder of results: ``python -m hardening.sequences``.

After every command of :mod:`hardening.sequence_list` no finished run may be lost, and the summary, the report and the
comparison must be of the runs that are there. Each command is also killed before some of its writes and repeated, which
must end with the bytes of the undisturbed one. The same commands in another order must give the same summary. Exit
status 1 if a problem was found.
"""

import argparse
import importlib
import itertools
import random
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from hardening.growing_folder import BM25, OWN, GrowingFolder
from hardening.sequence_list import NONE, OVER, SEQUENCES, SHORT, TEN, WORDS

MODULES = ("pipelines.trec", "pipelines.compare", "pipelines.report", "pipelines.check", "heed.report.page")
PERMUTED = ((*BM25, *OVER, *TEN), (*WORDS, *NONE), (*BM25, *SHORT), (*BM25, *NONE, "--condition", "original"))
RANDOM = (
    *(
        (*retriever, *reranker, *depth)
        for retriever in (BM25, WORDS, (*BM25, *WORDS))
        for reranker in (OVER, SHORT, NONE)
        for depth in ((), TEN)
        if not (reranker == NONE and depth)  # which is refused
    ),
    (*BM25, *OVER, "--condition", "changed"),
    (*WORDS, *NONE, "--condition", "original"),
    (*BM25, "--reranker", "again=own:Over"),
)


class Outcome(NamedTuple):
    """Numbers of a sequence, and its problems."""

    name: str
    commands: int
    kills: int
    refused: int
    problems: list[str]


def main() -> int:
    """Run all sequences, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m hardening.sequences", description=__doc__)
    parser.add_argument("--only", action="append", help="name of a sequence; repeatable")
    parser.add_argument("--kills", type=int, default=1, help="kills of each command (default 1)")
    parser.add_argument(
        "--random", type=int, default=2, metavar="N", help="N random sequences of six commands (default 2)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2, help="sequences at once (default 2)")
    options = parser.parse_args()
    named = {each.__name__: each for each in SEQUENCES} | {"permuted": permuted}
    named |= {f"random-{options.seed + number}": at_random for number in range(options.random)}
    for module in MODULES:  # once, before the processes fork
        importlib.import_module(module)
    with (
        tempfile.TemporaryDirectory() as place,
        ProcessPoolExecutor(options.processes, get_context("fork"), max_tasks_per_child=None) as pool,
    ):
        wanted = options.only or list(named)
        asked = [pool.submit(_outcome, name, Path(place) / name, options.kills, options.seed) for name in wanted]
        outcomes = []
        for future in asked:
            outcomes.append(outcome := future.result())
            print(
                f"{outcome.name}: {outcome.commands} commands, {outcome.kills} kills, {len(outcome.problems)} problems",
                flush=True,
            )
            print("".join(f"    {problem}\n" for problem in outcome.problems), end="", flush=True)
    commands, kills, refused = (sum(counts) for counts in zip(*(each[1:4] for each in outcomes), strict=True))
    problems = sum(len(each.problems) for each in outcomes)
    print(f"{len(outcomes)} sequences, {commands} commands, {kills} kills, {refused} refused while another one wrote")
    print(f"{problems} problems")
    return 1 if problems else 0


def _outcome(name: str, folder: Path, kills: int, seed: int) -> Outcome:
    chooser = random.Random(f"{seed} {name}")
    steps: dict[str, Callable[[GrowingFolder], None]] = {each.__name__: each for each in SEQUENCES} | {
        "permuted": permuted
    }
    place = GrowingFolder(folder, kills, chooser)
    try:
        (at_random if name.startswith("random-") else steps[name])(place)
    except Exception as error:  # the next step needs what is missing
        place.problem(f"ended by {type(error).__name__}: {error}")
    return Outcome(name, place.commands, place.killed, place.refused, list(place.problems))


def permuted(place: GrowingFolder) -> None:
    """The same commands in another order give the same summary and figures."""
    seen: dict[str, bytes] = {}
    for number, order in enumerate(place.chooser.sample([*itertools.permutations(PERMUTED)], 3)):
        other = GrowingFolder(place.folder / str(number), 0, place.chooser)
        for options in order:
            other.run(*OWN, *options)
        place.add(other)
        for name in ("summary.json", "per_topic.json"):
            content = (other.results / name).read_bytes()
            if seen.setdefault(name, content) != content:
                place.problem(f"{name} is another one after {' | '.join(map(' '.join, order))}")


def at_random(place: GrowingFolder) -> None:
    """Six commands with edits between them; each writes the runs that it writes in a fresh folder."""
    edits: list[Callable[[], None]] = [
        lambda: place.edit("own.py", "document.text", "document.text[9:]"),
        lambda: place.edit("own.py", "query, document.text", "query, document.text[9:]"),
        lambda: place.edit("own.py", "len(document", "2 * len(document"),
        lambda: place.edit("own.py", "class Over:", "# an edit\n\n\nclass Over:"),
        lambda: place.edit("changed.qrels", " 3\n", " 0\n"),
        lambda: place.delete("over.*.run"),
    ]
    for number, options in enumerate(place.chooser.choices(RANDOM, k=6)):
        fresh = GrowingFolder(place.folder / str(number), 0, place.chooser, place.work)
        fresh.quietly(*OWN, *options)
        place.run(*OWN, *options)
        for path in fresh.results.glob("*.run"):
            if path.read_bytes() != (place.results / path.name).read_bytes():
                place.problem(f"{path.name} is another one in a fresh folder")
        place.chooser.choice(edits)()


if __name__ == "__main__":
    sys.exit(main())
