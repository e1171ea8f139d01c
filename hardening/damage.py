"""Flipped bytes, cut files and vectors of another shape under a finished command's feet."""

import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hardening.jobs import OTHER, Job, results, run

Outcome = tuple[str, list[str]]
EACH = 3  # files of each kind of damage, chosen at random


class Damage(NamedTuple):
    """What is harmed, and whether the runs are taken away too, or an index would not even be opened."""

    what: str
    harm: Callable[[], None]
    without_runs: bool


# a release, or a file beside results, that somebody has changed is not overwritten
REFUSALS = ("is there already and not empty", "is not overwritten", "would be overwritten")


def damages(job: Job, folder: Path, expected: dict[str, str], chooser: random.Random, most: int) -> Iterator[Outcome]:
    """What was done and what was wrong, at most ``most`` times; ``folder`` holds the finished command's files."""
    made = [path for path in (folder / "indexes").rglob("*") if path.is_file() and path.stat().st_size]
    indexes = sorted(path for path in made if path.name not in OTHER)
    runs = sorted(folder / name for name in expected if name.endswith((".run", ".jsonl", ".safetensors")))
    planned = []
    for kind, harm in (("flipped byte", _flip), ("cut file", _cut)):
        for paths, number, without_runs in ((indexes, EACH, True), (runs, 1, False)):
            for path in chooser.sample(paths, min(number, len(paths))):
                planned.append(Damage(f"{kind} in {path.name}", partial(_harmed, harm, path, chooser), without_runs))
    for path in [one for one in indexes if one.suffix == ".npy"][:1]:
        planned.append(Damage("vectors of another shape", partial(_reshape, path), True))
    for damage in chooser.sample(planned, min(most, len(planned))):
        damage.harm()
        if damage.without_runs:
            shutil.rmtree(folder / "runs")
        yield damage.what, _again(job, folder, expected)


def _again(job: Job, folder: Path, expected: dict[str, str]) -> list[str]:
    done = run(job, folder)
    if any(refusal in done.stderr for refusal in REFUSALS):
        return []
    if done.returncode:
        return [f"status {done.returncode}, {done.stderr[-300:]}"]
    found = {name: value for name, value in results(folder).items() if "/earlier/" not in name}  # changed runs go there
    return [] if found == expected else ["used: the results differ"]


def _harmed(harm: Callable[[bytes, random.Random], bytes], path: Path, chooser: random.Random) -> None:
    path.write_bytes(harm(path.read_bytes(), chooser))


def _flip(content: bytes, chooser: random.Random) -> bytes:
    at = chooser.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << chooser.randrange(8)]) + content[at + 1 :]


def _cut(content: bytes, chooser: random.Random) -> bytes:
    return content[: chooser.randrange(len(content))]


def _reshape(path: Path) -> None:
    import numpy as np

    shape = np.load(path).shape
    np.save(path, np.zeros((shape[0], shape[-1] + 1), dtype=np.float32))
