"""How Heed grows: index, search, pool and compare generated collections by the real commands; time, memory, disk.

``python -m benchmarks.scale --documents 100000 1000000 --work DIR``. Every command is a process of its own, whose wall
time, processor time and peak memory are measured; the Java machine lives inside it. What is written under DIR is used
again, and so are the figures of sizes that were measured before (``DIR/SIZE/measured.json``), so that a run that was
stopped goes on; ``--again`` measures anew. The table compares the cost of a document with that of the smallest size
and tells, from the line through the two largest, what larger collections would take.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.scale_input import write_documents, write_topics
from benchmarks.scale_table import AGAIN, WHOLE, as_markdown, as_text
from benchmarks.timing import commit
from heed.files import write_bytes, write_json
from heed.reuse import digests

HEAP, DEPTH, POOLED = "768m", 1000, 100
CONDITIONS = ("original", "changed")
EVERY = 0.05  # seconds between two looks at a process's memory


class Used(NamedTuple):
    """What a process took: seconds of wall and processor, MiB at most, and of those what is no file's."""

    seconds: float
    processor: float
    peak_mib: float
    own_mib: float


def main(argv: Sequence[str] | None = None) -> int:
    """Measure each size and print the table; 1 where a command fails."""
    options = parser().parse_args(argv)
    measured = [_measured(options, count) for count in sorted(set(options.documents))]
    print(as_text(measured))
    if options.json:
        write_json(options.json, measured)
    if options.table:
        write_bytes(options.table, as_markdown(measured, _command(options)).encode())
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--documents", type=int, nargs="+", required=True, metavar="N", help="sizes of collections")
    made.add_argument("--work", type=Path, required=True, metavar="DIR", help="11 GB for a million documents, 2 stay")
    made.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    made.add_argument("--table", type=Path, metavar="FILE", help="write the table as Markdown")
    made.add_argument("--threads", type=int, default=2, metavar="N", help="of the commands (default 2)")
    made.add_argument("--heap", default=HEAP, metavar="SIZE", help=f"Java's largest heap (default {HEAP})")
    made.add_argument("--again", action="store_true", help="measure anew what was measured before")
    made.add_argument("--option", action="append", default=[], metavar="TEXT", help="one more for pipelines.trec")
    return made


def _command(options: argparse.Namespace) -> str:
    sizes = " ".join(map(str, sorted(set(options.documents))))
    more = "".join(f" --option={one}" for one in options.option)
    return f"python -m benchmarks.scale --documents {sizes} --threads {options.threads} --heap {options.heap}{more}"


def _measured(options: argparse.Namespace, count: int) -> dict[str, Any]:
    place: Path = options.work / str(count)
    settings = {"documents": count, "heap": options.heap, "threads": options.threads, "options": options.option}
    known = place / "measured.json"
    if known.exists() and not options.again:
        found: dict[str, Any] = json.loads(known.read_text())
        if found["settings"] == settings:
            return found
    documents = write_documents(options.work / "documents", count)
    topics = write_topics(options.work / "topics", count)
    for name in ("indexes", "runs"):
        shutil.rmtree(place / name, ignore_errors=True)
    for name in ("pool.db", "one.run"):
        (place / name).unlink(missing_ok=True)
    found = {"settings": settings, "machine": machine(), **measure(place, documents, topics, options)}
    shutil.rmtree(place / "indexes")
    write_json(known, found)
    return found


def measure(place: Path, documents: Sequence[Path], topics: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run the commands in ``place``; their figures, the stages of the first, and bytes on disk."""
    place.mkdir(parents=True, exist_ok=True)
    collection = ["pipelines.trec", "--docs", *map(str, documents), "--topics", str(topics / "topics.jsonl")]
    collection += ["--qrels", str(topics / "original.qrels"), "--changed-qrels", str(topics / "changed.qrels")]
    collection += ["--lang", "eng", "--retriever", "bm25", "--reranker", "none", "--depth", str(DEPTH)]
    collection += [word for one in CONDITIONS for word in ("--condition", one)]
    collection += ["--threads", str(options.threads), "--heap", options.heap, "--out", "runs", "--indexes", "indexes"]
    collection += options.option
    steps = {WHOLE: run(collection, place)}
    [results] = (path.parent for path in (place / "runs").rglob("summary.json"))
    stages = json.loads((results / "timings.json").read_text())
    files = [str(results.relative_to(place) / f"bm25.{one}.run") for one in CONDITIONS]
    made = digests(results)
    steps[AGAIN] = run(collection, place)
    steps["pool"] = run(["pipelines.pool", *files, "--depth", str(POOLED), "--out", "pool.jsonl"], place)
    judged = ["--qrels", str(topics / "original.qrels"), "--new-qrels", str(topics / "changed.qrels")]
    steps["compare"] = run(["pipelines.compare", *files, *judged], place)
    [docids] = place.glob("indexes/*/*/documents")
    asked = ["--topics", str(topics / "topics.jsonl")]
    read = [*asked, "--docs", *map(str, documents), "--lang", "eng"]
    steps["check"] = run(["pipelines.check", *files, *asked, "--condition", "original", "--docs", str(docids)], place)
    judge = ["pipelines.annotate", "pool.jsonl", *read, "--database", "pool.db", "--no-browser"]
    steps["annotate, first start"] = run(judge, place, until=b"?token=")
    steps["polarity"] = run(["polarity" if word == "none" else word for word in collection], place)
    reranker = ["--reranker", "polarity", "--depth", str(POOLED), "--indexes", "indexes", "--heap", options.heap]
    steps["rerank"] = run(["pipelines.rerank", files[0], *read, *reranker, "--out", "one.run"], place)
    disk = {
        path.name: _size(path) for path in sorted(place.glob("indexes/*/*/*")) if path.is_dir() and path.name[0] != "."
    }
    return {
        "steps": {name: one._asdict() for name, one in steps.items()},
        "stages": stages,
        "disk": {"input": sum(path.stat().st_size for path in documents), **disk},
        "runs": {name: digest for name, digest in made.items() if name.endswith(".run")},
    }


def run(command: Sequence[str], place: Path, until: bytes = b"") -> Used:
    """Run ``python -m command`` in ``place``, to its end or ``until`` it prints that; exits where it fails."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    start = time.perf_counter()
    with (place / "told.txt").open("wb") as told:
        process = subprocess.Popen(  # noqa: S603 (our own command)
            [sys.executable, "-m", *command], cwd=place, env=environment, stdout=told, stderr=told
        )
        watch = Watch(process.pid)
        watch.start()
        while until and watch.is_alive():
            if until in (place / "told.txt").read_bytes():
                process.send_signal(signal.SIGINT)
                break
            time.sleep(EVERY)
        _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    watch.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command[:1])} failed:\n{(place / 'told.txt').read_text()[-3000:]}")
    return Used(seconds, used.ru_utime + used.ru_stime, watch.peak_mib, watch.own_mib)


class Watch(threading.Thread):
    """Looks at a process while it lives: the most memory that it held, in MiB, and the most that no file backs.

    The system keeps the first itself, so that only what a process takes in its last moment can be missed. What
    ``wait4`` tells would begin with the memory of this program, from which the process was forked.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._status, self.peak_mib, self.own_mib = Path(f"/proc/{pid}/status"), 0.0, 0.0

    def run(self) -> None:
        """Look until the process is gone."""
        while held := self._held():
            self.peak_mib, self.own_mib = (max(pair) for pair in zip((self.peak_mib, self.own_mib), held, strict=True))
            time.sleep(EVERY)

    def _held(self) -> tuple[float, float] | None:
        try:
            lines = dict(line.split(":", 1) for line in self._status.read_text().splitlines())
        except OSError:
            return None
        if "VmHWM" not in lines:
            return None  # it has ended and waits to be asked for
        return float(lines["VmHWM"].split()[0]) / 1024, float(lines["RssAnon"].split()[0]) / 1024


def machine() -> str:
    """Commit, versions, cores, memory and load of this machine."""
    names = " ".join(f"{name} {version(name)}" for name in ("pyserini", "numpy"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    versions = (
        f"Commit {commit()}; Python {platform.python_version()}, {names}; {os.cpu_count()} cores, {memory:.0f} GiB"
    )
    return f"{versions}, {platform.machine()}, load before {os.getloadavg()[0]:.1f}"


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(main())
