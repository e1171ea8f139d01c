"""Disturb every command and hold its results against an undisturbed run: ``python -m hardening.faults``.

Each command of :mod:`hardening.jobs` is killed at random moments, some between two writes of their results, and started
again until it ends, asked to stop, run on a full and on a read-only disk, run twice at once, and run again over damaged
files. Afterwards its runs, summaries and reports must be the bytes of the undisturbed run, and nothing
half-written may lie about. Prints what was done and found; exit status 1 if a fault was found.
"""

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from hardening import judging
from hardening.damage import damages
from hardening.disks import disks
from hardening.jobs import AFTER, JOBS, Job, kill, left_over, results, run, size, start, without_note
from hardening.moments import COUNT

ALL = 1_000
ANNOTATE = "annotate"  # a server; it is killed in a way of its own, see hardening.judging
# left out of --quick: slow, or the way of neuclir and tables again
LONG = (*(job.name for job in AFTER[1:]), "train", "trec", "infosearch", "report")
IN_A_ROW = 4  # kills before a command may end


class Found(NamedTuple):
    """What one disturbance came to: how often, how many bytes were compared, what was wrong."""

    what: str
    times: int = 0
    bytes: int = 0
    problems: tuple[str, ...] = ()


class Subject(NamedTuple):
    """A job with its undisturbed results, how long they took, and by how many writes below ``runs/``."""

    job: Job
    given: Path
    results: dict[str, str]
    seconds: float
    writes: int


def main() -> int:
    """Run all, or what the options name."""
    parser = argparse.ArgumentParser(prog="python -m hardening.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="kills over all commands (default 200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=[*(job.name for job in JOBS), ANNOTATE], help="repeatable")
    parser.add_argument("--kills-only", action="store_true", help="nothing but kills")
    parser.add_argument("--quick", action="store_true", help="each command killed, stopped and damaged once")
    parser.add_argument("--processes", type=int, default=2, help="commands at once (default 2)")
    options = parser.parse_args()
    wanted = options.only or [job.name for job in JOBS if not (options.quick and job.name in LONG)]
    jobs = [job for job in JOBS if job.name in wanted]
    serves = not options.only or ANNOTATE in options.only
    share = 1 if options.quick else -(-options.kills // (len(jobs) + serves))
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(options.processes) as pool:
        asked = [pool.submit(disturb, job, Path(place) / job.name, share, options) for job in jobs]
        asked += [pool.submit(_judged, Path(place) / ANNOTATE, share, options)] if serves else []
        found = [one for future in asked for one in future.result()]
    problems = [f"{one.what}: {problem}" for one in found for problem in one.problems]
    kills = sum(one.times for one in found if one.what.endswith(" kill"))
    others = sum(one.times for one in found) - kills
    print(f"{kills} kills survived, {others} other disturbances, {sum(one.bytes for one in found)} bytes compared")
    print("\n".join([f"{len(problems)} faults found", *problems]))
    return 1 if problems else 0


def disturb(job: Job, place: Path, kills: int, options: argparse.Namespace) -> list[Found]:
    """Everything that is done to one command."""
    chooser = random.Random(f"{options.seed} {job.name}")
    given = place / "given"
    given.mkdir(parents=True)
    job.prepare(given)
    whole = _fresh(given, place / "whole")
    started = time.perf_counter()
    done = run(job, whole, 0 if job.moments else None)
    writes = int((whole / COUNT).read_text()) if job.moments and not done.returncode else 0
    subject = Subject(job, given, results(whole), time.perf_counter() - started, writes)
    if done.returncode or not subject.results:
        return [Found(job.name, problems=(f"undisturbed: status {done.returncode}, {done.stderr[-300:]}",))]
    found = []
    while sum(one.times for one in found) < kills and len(found) < 3 * kills:
        found.append(_killed(subject, place / "killed", chooser, min(IN_A_ROW, kills)))
    if not options.kills_only:
        found += _other_faults(subject, whole, place, chooser, options.quick)
    return _told(found)


def _told(found: list[Found]) -> list[Found]:
    for one in found:
        print(f"{one.what}: {one.times}, {'; '.join(one.problems) or 'as undisturbed'}", flush=True)
    return found


def _judged(place: Path, kills: int, options: argparse.Namespace) -> list[Found]:
    """The annotation server, killed while somebody judges."""
    chooser = random.Random(f"{options.seed} {ANNOTATE}")
    rounds = judging.disturb(place, kills, chooser)
    return _told([Found(f"{ANNOTATE} kill", times, length, tuple(wrong)) for times, length, wrong in rounds])


def _other_faults(subject: Subject, whole: Path, place: Path, chooser: random.Random, quick: bool) -> list[Found]:
    job, given, expected = subject.job, subject.given, subject.results
    found = [_asked_to_stop(subject, place / "stopped", chooser)]
    told: list[tuple[str, list[str]]] = []
    if not quick:
        found.append(_twice(subject, place / "twice"))
        told += disks(job, given, expected, place)
    if not job.moments:  # whose earlier runs no command makes again
        told += damages(job, whole, expected, chooser, 1 if quick else ALL)
    return [*found, *(Found(f"{job.name} {name}", 1, size(whole, expected), tuple(wrong)) for name, wrong in told)]


def _fresh(given: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return shutil.copytree(given, folder, symlinks=True)


def _killed(subject: Subject, folder: Path, chooser: random.Random, most: int) -> Found:
    """Killed up to ``most`` times, then run to its end."""
    _fresh(subject.given, folder)
    kills, problems = 0, []
    while kills < most:
        if subject.job.moments:
            process = start(subject.job, folder, chooser.randint(1, subject.writes))
            process.communicate()
            problems += [f"{name} is without its note" for name in without_note(folder)]
            if process.returncode == 0:
                break
            kills += 1
            continue
        process = start(subject.job, folder)
        time.sleep(chooser.uniform(0, subject.seconds))
        if process.poll() is not None:
            process.communicate()
            break
        kill(process)
        process.communicate()
        kills += 1
    return _ended(subject, folder, "kill", kills, tuple(problems))


def _ended(subject: Subject, folder: Path, what: str, times: int, problems: tuple[str, ...] = ()) -> Found:
    """Run once more; the results must be those of the undisturbed run."""
    done = run(subject.job, folder)
    told = list(problems)
    if done.returncode:
        told.append(f"status {done.returncode} when started again: {done.stderr[-300:]}")
    found = results(folder)
    told += [
        f"{name} differs"
        for name in sorted(found.keys() | subject.results.keys())
        if found.get(name) != subject.results.get(name)
    ]
    told += [f"{name} is left over" for name in left_over(folder)]
    return Found(f"{subject.job.name} {what}", times, size(folder, found), tuple(told))


def _asked_to_stop(subject: Subject, folder: Path, chooser: random.Random) -> Found:
    """SIGTERM while it works: status 143, one line that says so, no traceback."""
    for _ in range(IN_A_ROW):  # until it comes while the command works
        _fresh(subject.given, folder)
        process = start(subject.job, folder)
        time.sleep(chooser.uniform(0.2, 0.8) * subject.seconds)
        if process.poll() is None:
            kill(process, signal.SIGTERM)
        told = process.communicate(timeout=60)[1]
        if process.returncode:
            break
    problems = []
    made = (name for name in ("runs", "indexes") if not (subject.given / name).exists())
    begun = bool(told) or any((folder / name).exists() for name in made)  # what was given says nothing
    if process.returncode not in (0, 143) and (begun or process.returncode != -signal.SIGTERM):  # Python itself begins
        problems.append(f"status {process.returncode} after SIGTERM, expected 143")
    if (process.returncode == 143 and not told.rstrip().endswith("is kept and used again")) or "Traceback" in told:
        problems.append(f"after SIGTERM it says {told[-300:]!r}")
    return _ended(subject, folder, "SIGTERM", 1, tuple(problems))


def _twice(subject: Subject, folder: Path) -> Found:
    """Two at once in one folder: one does the work, the other is told, or finds it done."""
    _fresh(subject.given, folder)
    both = [start(subject.job, folder) for _ in range(2)]
    told = [process.communicate()[1] for process in both]
    problems = []
    if 0 not in [process.returncode for process in both]:
        problems.append("neither of two at once came to its end")
    for process, said in zip(both, told, strict=True):
        if process.returncode and "another Heed process is writing here" not in said:
            problems.append(f"one of two at once ended with {process.returncode}: {said[-300:]}")
    return _ended(subject, folder, "two at once", 1, tuple(problems))


if __name__ == "__main__":
    sys.exit(main())
