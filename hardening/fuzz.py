"""Give every reader inputs that nobody would write: ``python -m hardening.fuzz``.

Each reader of :mod:`hardening.readers` begins with its files in ``hardening/corpus``; inputs that reach
lines of Heed that none reached before are changed further. A fault is an exception other than HeedError,
a result that holds text which no file can, time that grows faster than the input, and a process that dies
or asks for more memory than ``MEMORY``. Each distinct fault is told once, and its input is kept. Prints
what was done and found; exit status 1 if a fault was found.
"""

import argparse
import hashlib
import logging
import multiprocessing
import random
import re
import resource
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from hardening.mutate import grown, mutated
from hardening.readers import READERS, Reader
from hardening.trial import LONGEST, Line, attempt

CORPUS = Path(__file__).with_name("corpus")
FOUND = Path("build/fuzz")
MEMORY = 4 << 30  # bytes of address space for a reader; some libraries reserve much and use little
EVERY = 50  # inputs between two that are grown
SIZE = 1 << 17  # bytes of a grown input, then twice and four times as many
SLOW, STEEP = 0.5, 10  # seconds at four times the size; times that of the size (linear: 4, quadratic: 16)
KEPT, SMALL = 12, 600  # inputs that --keep adds to a reader's corpus, and their largest size in bytes
ENDING = 5  # seconds for a process to end by itself after its answer
PATIENCE = 60  # seconds beyond its time after which a reader's process is ended


class Fault(NamedTuple):
    """What went wrong in which function, and the input."""

    problem: str
    place: str
    content: bytes


class Tried(NamedTuple):
    """What one reader came to."""

    inputs: int
    lines: int
    faults: dict[str, Fault]
    reached: list[bytes]


def main() -> int:
    """Run all readers, or those that the options name."""
    parser = argparse.ArgumentParser(prog="python -m hardening.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="for all readers together (default 600)")
    parser.add_argument("--reader", action="append", choices=[one.name for one in READERS], help="repeatable")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2, help="readers at once (default 2)")
    parser.add_argument("--keep", action="store_true", help="add inputs that reached further lines to the corpus")
    options = parser.parse_args()
    readers = [one for one in READERS if not options.reader or one.name in options.reader]
    share = options.seconds * options.processes / len(readers)
    with ThreadPoolExecutor(options.processes) as pool:
        tried = list(pool.map(lambda one: _in_a_process(one, share, options.seed), readers))
    faults = {}
    for reader, told in zip(readers, tried, strict=True):
        print(f"{reader.name}: {told.inputs} inputs, {told.lines} lines reached, {len(told.faults)} faults")
        faults.update({(reader.name, key): fault for key, fault in told.faults.items()})
        if options.keep:
            _keep(CORPUS / reader.name, told.reached)
    print(f"{sum(one.inputs for one in tried)} inputs tried on {len(readers)} readers, {len(faults)} faults found")
    for (name, key), fault in faults.items():
        FOUND.mkdir(parents=True, exist_ok=True)
        path = FOUND / re.sub(r"[^\w.-]+", "-", f"{name}-{key}")[:120]
        path.write_bytes(fault.content)
        print(f"{name}: {fault.problem} in {fault.place}; input {path}")
    return 1 if faults else 0


def _keep(folder: Path, contents: list[bytes]) -> None:
    for content in contents[:KEPT]:
        (folder / hashlib.sha256(content).hexdigest()[:12]).write_bytes(content)


def _in_a_process(reader: Reader, seconds: float, seed: int) -> Tried:
    """Run one reader where it can neither take all memory nor hang for good."""
    here, there = multiprocessing.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        process = multiprocessing.get_context("spawn").Process(
            target=_work, args=(reader.name, seconds, seed, Path(folder), there)
        )
        process.start()
        there.close()
        try:
            told: Tried | None = here.recv() if here.poll(seconds + LONGEST * 3 + PATIENCE) else None
        except EOFError:
            told = None
        process.join(ENDING)
        process.kill()
        process.join()
        if told is None:
            last = (Path(folder) / f"input{reader.suffix}").read_bytes()
            return Tried(0, 0, {"died": Fault(f"the process died or hung ({process.exitcode})", "", last)}, [])
        return told


def _work(name: str, seconds: float, seed: int, folder: Path, out: Connection) -> None:

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    logging.getLogger("heed").setLevel(logging.ERROR)
    [reader] = [one for one in READERS if one.name == name]
    out.send(fuzz(reader, seconds, random.Random(f"{seed} {name}"), folder))


def fuzz(reader: Reader, seconds: float, chooser: random.Random, folder: Path) -> Tried:
    """Try inputs on ``reader`` for ``seconds``, with ``folder`` for its file."""
    pool = [path.read_bytes() for path in sorted((CORPUS / reader.name).iterdir())]
    seen: set[Line] = set()
    faults: dict[str, Fault] = {}
    reached: list[bytes] = []
    end, inputs = time.monotonic() + seconds, 0
    count = len(pool)
    while inputs < count or time.monotonic() < end:
        given = inputs < count  # the corpus first, as it is
        content = pool[inputs] if given else mutated(chooser.choice(pool), pool, chooser)
        found = attempt(reader, content, folder, traced=True)
        inputs += 1
        if found.problem:
            _add(faults, found.problem, found.place, content)
        elif found.lines - seen and not given:
            pool.append(content)
            if len(content) <= SMALL:
                reached.append(content)
        seen |= found.lines
        if inputs % EVERY == 0:
            inputs += _grow(reader, chooser.choice(pool), chooser, folder, faults)
    return Tried(inputs, len(seen), faults, reached)


def _add(faults: dict[str, Fault], problem: str, place: str, content: bytes) -> None:
    key = f"{problem.partition(':')[0]} {place}"
    if key not in faults or len(content) < len(faults[key].content):
        faults[key] = Fault(problem, place, content)


def _grow(reader: Reader, content: bytes, chooser: random.Random, folder: Path, faults: dict[str, Fault]) -> int:
    """Read an input of n, 2n and 4n bytes; a time that grows much faster than they do is measured again."""
    made = grown(mutated(content, [content], chooser) if chooser.random() < 0.5 else content, chooser)
    for times in (1, 2):
        found = [attempt(reader, made(SIZE * factor), folder, traced=False) for factor in (1, 2, 4)]
        wrong = next((at for at, one in enumerate(found) if one.problem), None)
        if wrong is not None:
            _add(faults, found[wrong].problem, found[wrong].place, made(SIZE << wrong))
            return 3 * times
        if found[2].seconds < max(SLOW, STEEP * found[0].seconds):
            return 3 * times
    told = " s, ".join(f"{one.seconds:.2f}" for one in found)
    _add(faults, f"Slow: {told} s at {SIZE}, {2 * SIZE} and {4 * SIZE} bytes", reader.name, made(SIZE))
    return 6


if __name__ == "__main__":
    sys.exit(main())
