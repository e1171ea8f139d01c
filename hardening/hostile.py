"""Put Heed before what somebody means to harm it with: ``python -m hardening.hostile``.

Each case of ``hostile_files``, ``hostile_commands`` and ``hostile_models`` runs in a process of its own with
``MEMORY`` of address space (``LARGE_MEMORY`` with Java or torch) and ``SECONDS``. Prints each case and what
was wrong; exit status 1 if anything was.
"""

import argparse
import logging
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

from hardening import hostile_commands, hostile_files, hostile_models

SECONDS = 180
ENDING = 5  # seconds for a process to end by itself after its answer
MEMORY = 4 << 30  # bytes
LARGE_MEMORY = 32 << 30  # Java and torch reserve address space that they do not use

Case = Callable[[Path], list[str]]  # does its work in an empty folder; gives back what was wrong

CASES: dict[str, Case] = {**hostile_files.CASES, **hostile_commands.CASES, **hostile_models.CASES}


def main() -> int:
    """Run all cases, or those that the options name."""
    parser = argparse.ArgumentParser(prog="python -m hardening.hostile", description=__doc__)
    parser.add_argument("--case", action="append", choices=[*CASES], help="repeatable")
    parser.add_argument("--processes", type=int, default=2, help="cases at once (default 2)")
    options = parser.parse_args()
    names = options.case or [*CASES]
    with ThreadPoolExecutor(options.processes) as pool:
        told = dict(zip(names, pool.map(_in_a_process, names), strict=True))
    problems = [f"{name}: {problem}" for name, found in told.items() for problem in found]
    print("\n".join([f"{len(names)} hostile cases, {len(problems)} faults found", *problems]))
    return 1 if problems else 0


def _in_a_process(name: str) -> list[str]:
    here, there = multiprocessing.Pipe(duplex=False)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        process = multiprocessing.get_context("spawn").Process(target=_work, args=(name, Path(folder), there))
        process.start()
        there.close()
        try:
            found: list[str] = here.recv() if here.poll(SECONDS) else [f"no end within {SECONDS} s"]
        except EOFError:
            process.join()
            found = [f"the process died ({process.exitcode})"]
        process.join(ENDING)
        process.kill()
        process.join()
    print(f"{name}: {'; '.join(found) or 'harmless'} ({time.monotonic() - begun:.1f} s)", flush=True)
    return found


def _work(name: str, folder: Path, out: Connection) -> None:

    logging.getLogger("heed").setLevel(logging.ERROR)
    limit = MEMORY if name in hostile_files.CASES else LARGE_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        out.send(CASES[name](folder))
    except BaseException as error:
        out.send([f"{type(error).__name__}: {str(error)[:300]}"])


if __name__ == "__main__":
    sys.exit(main())
