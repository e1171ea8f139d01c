"""Write ``constraints.txt`` and ``locks/`` with uv: ``python -m hardening.lock``, or ``make locks``.

uv resolves pyproject.toml for all Pythons and systems together and keeps the present versions where it can;
``--upgrade`` takes the newest. ``--check`` needs no network: each requirement of pyproject.toml must be locked, each
locked version must have a digest, and the locks and constraints.txt must name the same versions.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCKS = ROOT / "locks"
BUILD = ("hatchling", "editables", "setuptools", "wheel")  # of Heed, and of pyserini, which has no wheel
EXTRAS = {  # the extras of pyproject.toml in each lock
    "run": (),
    "models": ("models", "data"),
    "tools": ("models", "data", "plots", "test", "check"),
    "real": ("models", "data", "real"),
    "bench": ("models", "data", "bench"),
    "docs": ("docs",),
}
EARLIER = {  # locks that are installed before, not repeated
    "run": ("build",),
    "models": ("build", "run"),
    "tools": ("build", "run", "models"),
    "real": ("build", "run", "models"),
    "bench": ("build", "run", "models"),
    "docs": ("build", "run"),
}
WHOLE = "--no-config"  # for the benchmarks, which import pyserini: with its own requirements (pyproject.toml, tool.uv)
CUDA = ("cuda-", "nvidia-", "triton")  # what torch requires on Linux unless it is built for the CPU alone
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
ENVIRONMENTS = [
    {"python_version": python, "python_full_version": f"{python}.9", "sys_platform": system}
    for python, system in product(PYTHONS, ("linux", "darwin"))
]
HEADER = "# Written by make locks; do not edit.\n"
PURPOSE = "# Exact versions of all that Heed, its tests, checks and benchmarks install; locks/ has their digests.\n"
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)\s*(?:;\s*([^\\\n]+?))?\s*\\?$", re.MULTILINE)


class Pin(NamedTuple):
    """A locked version of a package, the environments that it is for, and the digests of its files."""

    name: str
    version: str
    marker: str
    digests: tuple[str, ...]

    def applies(self, environment: dict[str, str]) -> bool:
        """Return whether the pin is for an environment."""
        return not self.marker or Marker(self.marker).evaluate(environment)


def main() -> int:
    """Write the locks or check them; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hardening.lock", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare locks, constraints.txt and pyproject.toml")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows")
    options = parser.parse_args()
    if not options.check:
        write(ROOT, options.upgrade)
        return 0
    problems = check(ROOT)
    print("\n".join(problems) or "locks/ and constraints.txt fit pyproject.toml")
    return 1 if problems else 0


def write(root: Path, upgrade: bool) -> None:
    """Write constraints.txt, then each lock with what no earlier lock has."""
    constraints = root / "constraints.txt"
    extras = [extra for names in EXTRAS.values() for extra in names]
    # uv keeps the versions that its output file has
    _compile(root, BUILD, extras, f"--output-file={constraints}", WHOLE, *(["--upgrade"] if upgrade else []))
    constraints.write_text(HEADER + PURPOSE + constraints.read_text())
    fixed = ("--constraint", str(constraints), "--generate-hashes")
    blocks = {"build": _blocks(_compile(None, BUILD, (), *fixed))}
    for lock, names in EXTRAS.items():
        blocks[lock] = _blocks(_compile(root, (), names, *fixed, *([WHOLE] if lock == "bench" else [])))
    cuda = [block for block in blocks["models"] if block.startswith(CUDA)]
    for lock, own in blocks.items():
        earlier = {block for name in EARLIER.get(lock, ()) for block in blocks[name]}.union(cuda)
        _write_lock(root / "locks" / f"{lock}.txt", [block for block in own if block not in earlier])
    _write_lock(root / "locks" / "cuda.txt", cuda)


def _compile(root: Path | None, names: Sequence[str], extras: Sequence[str], *options: str) -> str:
    """Return the pins that uv finds for ``names`` and for the pyproject.toml under ``root``."""
    sources = [str(root / "pyproject.toml"), *(f"--extra={extra}" for extra in extras)] if root else []
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version=3.11"]
    command += ["--no-header", "--no-annotate", "--no-emit-package=pip", *options, *sources, *(["-"] if names else [])]
    done = subprocess.run(command, input="\n".join(names), stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    return done.stdout


def _write_lock(path: Path, blocks: list[str]) -> None:
    path.write_text(HEADER + "".join(f"{block}\n" for block in blocks))


def _blocks(text: str) -> list[str]:
    """Return a lock's pins as text, each with its digests."""
    return [block.rstrip("\n") for block in re.split(r"\n(?=\S)", text) if PIN.match(block)]


def read_pins(text: str) -> list[Pin]:
    """Return the pins of a lock, or of constraints.txt."""
    return [
        Pin(
            canonicalize_name(pin[1]), pin[2], pin[3] or "", tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})\b", block))
        )
        for block in _blocks(text)
        if (pin := PIN.match(block))
    ]


def check(root: Path) -> list[str]:
    """Return where pyproject.toml, constraints.txt and the locks differ, and which pins have no digest."""
    locks = {path.stem: read_pins(path.read_text()) for path in sorted((root / "locks").glob("*.txt"))}
    constraints = {(pin.name, pin.version) for pin in read_pins((root / "constraints.txt").read_text())}
    locked = {(pin.name, pin.version.partition("+")[0]) for pins in locks.values() for pin in pins}
    problems = [
        f"locks/{lock}.txt: {pin.name}=={pin.version} has no digest"
        for lock, pins in locks.items()
        for pin in pins
        if not pin.digests
    ]
    problems += [f"locks/: no {name}=={version}, which constraints.txt has" for name, version in constraints - locked]
    problems += [f"constraints.txt: no {name}=={version}, which locks/ has" for name, version in locked - constraints]
    for lock, requirements in _required(root):
        pins = [pin for name in (*EARLIER.get(lock, ()), lock) for pin in locks.get(name, ())]
        problems += [f"locks/{lock}.txt: {problem}" for problem in _unlocked(requirements, pins)]
    return [*sorted(problems), "write them again with make locks"] if problems else []


def _required(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each lock's name and the requirements of pyproject.toml that it and the earlier locks must hold."""
    document = tomllib.loads((root / "pyproject.toml").read_text())
    project = document["project"]
    yield "build", document["build-system"]["requires"]
    for lock, extras in EXTRAS.items():
        optional = (requirement for extra in extras for requirement in project["optional-dependencies"][extra])
        yield lock, [*project["dependencies"], *optional]


def _unlocked(requirements: list[str], pins: list[Pin]) -> Iterator[str]:
    """Yield a line for each requirement that no pin meets in one of the environments."""
    for requirement, environment in product(map(Requirement, requirements), ENVIRONMENTS):
        name = canonicalize_name(requirement.name)
        versions = [pin.version for pin in pins if pin.name == name and pin.applies(environment)]
        due = not requirement.marker or requirement.marker.evaluate(environment)
        if due and not any(requirement.specifier.contains(version) for version in versions):
            where = f"Python {environment['python_version']} on {environment['sys_platform']}"
            yield f"no {requirement} for {where}; found {', '.join(versions) or 'none'}"


if __name__ == "__main__":
    sys.exit(main())
