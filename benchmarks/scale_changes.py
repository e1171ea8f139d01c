"""What changes of a large collection cost: ``python -m benchmarks.scale_changes --documents 500000 --work DIR``.

The collection of ``benchmarks.scale``, in two files: its first documents, of which a thousand are removed, added again,
changed and changed back, and the rest. Docids are random, so that they are spread over the whole of an index. Then the
index is made anew of the collection without the thousand, killed in the middle and made to its end. Each step is one
``heed trec`` of BM25 for 100 topics under two conditions, in a process of its own. The runs of a step must be those of
the step that it names, byte for byte. What is written under DIR is used again, and so are the figures of steps that
were measured before (``DIR/SIZE/steps.json``): remove that file to measure anew.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.scale import CONDITIONS, DEPTH, HEAP, machine, run
from benchmarks.scale_input import PART, write_documents, write_topics
from heed.files import finished, write_json
from heed.measures.summary import aligned
from heed.reuse import digests, ensure_folder

CHANGED = 1000  # documents
INDEXING = ("documents", "index", "matrix")  # stages of ``timings.json``
POSITION = 0.6  # of the seconds of indexing, at which it is killed
ANEW, TOPIC = "made anew", "one topic changed"


class Step(NamedTuple):
    """A command: its name, the documents it reads, where its runs go, and the step whose runs are the same."""

    name: str
    first: str  # name of the file of the first documents
    out: str
    equal: str = ""
    reranker: str = "none"


STEPS = (
    Step(ANEW, "whole", "anew"),
    Step("the same again", "whole", "anew"),
    Step(TOPIC, "whole", "anew"),
    Step("polarity too", "whole", "polarity", reranker="polarity"),
    Step("1,000 removed", "less", "removed"),
    Step("1,000 added", "whole", "added", equal=ANEW),
    Step("1,000 changed", "changed", "changed"),
    Step("1,000 changed back", "whole", "back", equal=ANEW),
)
KILLED = Step("made anew after a kill", "less", "killed", equal="1,000 removed")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure each size and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_changes", description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", required=True, metavar="N", help="sizes of collections")
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="14 GB for a million documents")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="of the commands (default 2)")
    parser.add_argument("--heap", default=HEAP, metavar="SIZE", help=f"Java's largest heap (default {HEAP})")
    options = parser.parse_args(argv)
    rows = [["documents", "step", "processor s", "share", "of that indexing", "share", "wall s", "MiB", ""]]
    for count in options.documents:
        rows += _rows(count, _measured(options, count))
    print(machine())
    print(aligned(rows, left=2))
    return 0


def _rows(count: int, steps: dict[str, dict[str, Any]]) -> list[list[str]]:
    whole = steps[ANEW]
    return [
        [
            f"{count:,}",
            name,
            f"{step['processor']:.1f}",
            f"1/{whole['processor'] / step['processor']:.1f}",
            f"{step['indexing']:.1f}",
            f"1/{whole['indexing'] / step['indexing']:.1f}" if step["indexing"] else "",
            f"{step['seconds']:.1f}",
            f"{step['own_mib']:.0f}",
            step["note"],
        ]
        for name, step in steps.items()
    ]


def _measured(options: argparse.Namespace, count: int) -> dict[str, dict[str, Any]]:
    place: Path = options.work / str(count)
    place.mkdir(parents=True, exist_ok=True)
    _write_collection(options.work, place, count)
    known, steps = place / "steps.json", dict[str, dict[str, Any]]()
    if known.exists():
        steps = json.loads(known.read_text())
    for step in [*STEPS, KILLED]:
        if step.name in steps:
            continue
        note = _killed(step, place, options, steps[ANEW]["index"]) if step is KILLED else ""
        done = steps[step.name] = {**_step(step, place, options), "note": note}
        if step.equal:
            equal = "are those of" if done["runs"] == steps[step.equal]["runs"] else "DIFFER from those of"
            done["note"] += f"the runs {equal} {step.equal}"
        write_json(known, steps)
    return steps


def _step(step: Step, place: Path, options: argparse.Namespace) -> dict[str, Any]:
    used = run(_command(step, options), place)
    [results] = (path.parent for path in (place / "runs" / step.out).rglob("summary.json"))
    stages = [stage for stage in json.loads((results / "timings.json").read_text()) if stage["stage"] in INDEXING]
    return {
        **used._asdict(),
        "indexing": sum(stage["processor_seconds"] for stage in stages),
        "index": sum(stage["seconds"] for stage in stages if stage["stage"] == "index"),
        "runs": {name: sha256 for name, sha256 in digests(results).items() if name.endswith(".run")},
    }


def _command(step: Step, options: argparse.Namespace) -> list[str]:
    topics = "topic" if step.name == TOPIC else "topics"
    command = ["pipelines.trec", "--docs", f"docs/{step.first}.jsonl", "docs/rest.jsonl", "--lang", "eng"]
    command += ["--topics", f"docs/{topics}.jsonl", "--qrels", "docs/original.qrels"]
    command += ["--changed-qrels", "docs/changed.qrels", "--depth", str(DEPTH), "--name", "news"]
    command += [word for one in CONDITIONS for word in ("--condition", one)]
    command += ["--retriever", "bm25", "--reranker", step.reranker, "--threads", str(options.threads)]
    return [*command, "--heap", options.heap, "--out", f"runs/{step.out}", "--indexes", "indexes"]


def _killed(step: Step, place: Path, options: argparse.Namespace, seconds: float) -> str:
    """Begin to index anew, kill that when it has taken a part of the ``seconds`` of before; return what is lost."""
    shutil.rmtree(place / "indexes", ignore_errors=True)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    command = [sys.executable, "-m", *_command(step, options)]
    with (place / "told.txt").open("wb") as told:
        process = subprocess.Popen(command, cwd=place, env=environment, stdout=told, stderr=told)  # noqa: S603 (our own)
        while not (begun := list(place.glob("indexes/*/*/.bm25.part/lucene"))):
            time.sleep(0.1)
            assert process.poll() is None, (place / "told.txt").read_text()
        start = time.time()
        time.sleep(POSITION * seconds)
        process.send_signal(signal.SIGKILL)
        end = time.time()
        process.wait()
    kept = max((path.stat().st_mtime for path in begun[0].glob("segments_*")), default=start)
    return f"killed after {end - start:.0f} s of indexing, of which the last {end - kept:.0f} s are lost; "


def _write_collection(work: Path, place: Path, count: int) -> None:
    """Write documents, with their changes, topics and judgements into ``docs`` of ``place``."""

    def build(into: Path) -> None:
        first, *rest = write_documents(work / "data" / "documents", count)
        with finished(into / "rest.jsonl") as stream:
            for path in rest:
                with path.open("rb") as part:
                    shutil.copyfileobj(part, stream)
        lines, every = first.read_bytes().splitlines(keepends=True), PART // CHANGED
        variants: dict[str, Callable[[bytes], bytes]] = {"whole": bytes, "less": lambda _: b"", "changed": _reversed}
        for name, change in variants.items():
            changed = (line if number % every else change(line) for number, line in enumerate(lines))
            (into / f"{name}.jsonl").write_bytes(b"".join(changed))
        topics = write_topics(work / "data" / "topics", count)
        for path in topics.glob("*.*"):
            shutil.copyfile(path, into / path.name)
        one, rest_of_topics = (topics / "topics.jsonl").read_text(encoding="utf-8").split("\n", 1)
        topic = json.loads(one)
        topic["query"] = " ".join(topic["query"].split()[::-1][:2])
        (into / "topic.jsonl").write_text(f"{json.dumps(topic)}\n{rest_of_topics}", encoding="utf-8")

    ensure_folder(place / "docs", {"documents": count, "changed": CHANGED}, build)


def _reversed(line: bytes) -> bytes:
    """Return a document with half of its words, in the other order."""
    record = json.loads(line)
    words = record["text"].split()
    record["text"] = " ".join(words[: len(words) // 2 : -1])
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


if __name__ == "__main__":
    sys.exit(main())
