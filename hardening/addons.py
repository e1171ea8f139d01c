"""The main job without each add-on in turn: ``python -m hardening.addons [ADDON …]``, part of ``make harden``.

A child process in which one add-on cannot be imported searches the Chinese sample, reports on it and compares its
systems. It must end well, with the runs and summaries of a process that has all add-ons; what the add-on brings must be
missing with one line that names it.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path

from hardening.jobs import ROOT, SAMPLE, environment

ADDONS = "heed.addons"
RESULTS = f"runs/{SAMPLE}/zho"
MAIN = (
    ("neuclir", "--lang", "zho", "--collection", "sample", "--quiet"),
    ("report", RESULTS, "--out", "tables.txt", "--quiet"),
    ("compare", RESULTS, "--json", "compare.json", "--quiet"),
)
SAME = ("*.run", "summary.json", "per_topic.json", "compare.json")  # digests of these files
FIRST_STAGE = ("neuclir", "--lang", "zho", "--reranker", "none", "--quiet", "--device", "cpu")
MODELS = {
    "table": {"source": ".", "family": "table-encoder"},
    "service": {"source": "openai/tiny", "family": "api-embedding", "status": "api"},
}
# what asks for each add-on; the message names it
PROBES: Mapping[str, tuple[str, ...]] = {
    "apis": (*FIRST_STAGE, "--models", "models.json", "--retriever", "service"),
    "architectures": (*FIRST_STAGE, "--models", "models.json", "--retriever", "table"),
    "bridges": ("neuclir", "--lang", "zho", "--reranker", "command:cat", "--quiet"),
    "cluster": (*FIRST_STAGE, "--workers", "2"),
    "explorer": ("explore", RESULTS),
    "judging": ("pool", f"{RESULTS}/bm25.original.run", "--out", "pool.jsonl"),
    "published": ("published", "followir"),
    "submission": ("check", f"{RESULTS}/bm25.original.run"),
    "training": ("train", "examples.jsonl", "--base", "base", "--out", "adapter"),
}


class Missing(MetaPathFinder):
    """Lets ``modules``, and what is in them, be imported no more, as if they were not installed."""

    def __init__(self, *modules: str) -> None:
        """Take the full names, such as ``heed.addons.judging``."""
        self.modules = modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise ModuleNotFoundError for a module that is to be missing; leave all others to the next finder."""
        for module in self.modules:
            if name == module or name.startswith(f"{module}."):
                raise ModuleNotFoundError(f"{name} is not to be imported here", name=name)


def child(addon: str, arguments: Sequence[str]) -> int:
    """Run the command that ``arguments`` name in this process, without ``addon``; return the exit status."""
    from pipelines.__main__ import main

    sys.meta_path.insert(0, Missing(*([f"{ADDONS}.{addon}"] if addon else [])))
    sys.argv = ["heed", *arguments]
    return main()


def run(addon: str, command: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command of Heed in ``folder``, in a process of its own without ``addon``; with all where it is empty."""
    return subprocess.run(
        [sys.executable, "-m", "hardening.addons", "--without", addon, *command],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def main_job(addon: str, folder: Path) -> tuple[dict[str, str], list[str]]:
    """Run the main job without ``addon``; return the digests of its results, and what went wrong."""
    problems = []
    for command in MAIN:
        ended = run(addon, command, folder)
        if ended.returncode:
            problems.append(f"without {addon}: {command[0]} ended with {ended.returncode}: {ended.stderr[-400:]}")
    paths = sorted(path for pattern in SAME for path in folder.rglob(pattern) if ".made" not in path.parts)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}, problems


def missing_clearly(addon: str, folder: Path) -> list[str]:
    """Return what is wrong with the answer of a command that needs ``addon`` where it is missing."""
    (folder / "models.json").write_text(json.dumps(MODELS))
    ended = run(addon, PROBES[addon], folder)
    lines = ended.stderr.strip().splitlines()
    said = lines[-1] if lines else "nothing"
    clear = ended.returncode == 1 and f"{ADDONS}.{addon}" in said and "Traceback" not in ended.stderr
    return [] if clear else [f"without {addon}: {PROBES[addon][0]} ended with {ended.returncode} and said: {said}"]


def main(addons: Sequence[str]) -> int:
    """Try each add-on, print what is wrong and return the exit status."""
    present = sorted(path.name for path in (ROOT / "heed" / "addons").iterdir() if (path / "__init__.py").exists())
    problems = [f"{addon}: no command here needs it; add one to PROBES" for addon in present if addon not in PROBES]
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place, "whole")
        whole.mkdir()
        expected, wrong = main_job("", whole)
        problems += wrong
        for addon in addons or [addon for addon in present if addon in PROBES]:
            folder = Path(place, addon)
            folder.mkdir()
            digests, wrong = main_job(addon, folder)
            wrong += [f"without {addon}: {name} differs" for name in expected if digests.get(name) != expected[name]]
            wrong += missing_clearly(addon, folder)
            print(f"without {addon}: {len(digests)} files of results, {len(wrong)} problems", flush=True)
            problems += wrong
    print("\n".join(problems) or "the main job runs without each add-on")
    return 1 if problems else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--without"]:
        sys.exit(child(sys.argv[2], sys.argv[3:]))
    sys.exit(main(sys.argv[1:]))
