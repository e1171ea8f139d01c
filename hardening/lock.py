"""Write ``locks/`` again from constraints.txt: the digest of every file that may be installed.

``python -m hardening.lock python3.11 python3.12`` asks pip of both Pythons what it would install (a report of
``pip install --dry-run --report`` does too), works out what each supported machine needs, and takes the digests
from the package index. A package without a pin in constraints.txt is an error that gives the line to add.
``--check`` reads files alone: locks and constraints.txt must name the same versions.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from hardening.machines import MACHINES, Machine, marker

ROOT = Path(__file__).parent.parent
CONSTRAINTS, LOCKS = ROOT / "constraints.txt", ROOT / "locks"
BUILD = ("hatchling", "editables", "setuptools", "wheel")  # of Heed, and of pyserini, which has no wheel
EXTRAS = {"run": "", "tools": "test,check", "bench": "bench"}  # extras of pyproject.toml in each file
CUDA = ("cuda-", "nvidia-", "triton")  # what torch asks for on Linux unless it is built for the CPU alone
PRESENT = "pip"  # every environment has one
# a wheel that the index does not have: for Python 3.11 on Linux x86-64, as PyTorch publishes it. pip would take a file
# whose digest the index tells before one without, so it stands in a lock of its own
OTHERS = {("torch", "2.13.0+cpu"): "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"}
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)\s*(?:;\s*([^\\]+?))?\s*\\?$", re.MULTILINE)

Pin = tuple[str, str]  # canonical name and version


def main() -> int:
    """Write the locks, or check them."""
    parser = argparse.ArgumentParser(prog="python -m hardening.lock", description=__doc__)
    parser.add_argument(
        "source", nargs="*", help="a Python with pip, or a report of pip's; one for each of 3.11 and 3.12"
    )
    parser.add_argument("--index", default=_usual_index(), metavar="URL", help="a package index (default: pip's)")
    parser.add_argument("--check", action="store_true", help="hold the locks against constraints.txt")
    options = parser.parse_args()
    if options.check:
        problems = check(CONSTRAINTS, LOCKS)
        print("\n".join(problems) or f"{LOCKS.name}/ and {CONSTRAINTS.name} name the same versions")
        return 1 if problems else 0
    needs = _needs([_report(source) for source in options.source])
    wanted = _wanted(needs)
    with ThreadPoolExecutor(4) as pool:
        names = sorted({name for pins in wanted.values() for name, _ in pins})
        files = dict(zip(names, pool.map(lambda name: _files(options.index, name), names), strict=True))
    LOCKS.mkdir(exist_ok=True)
    for name, pins in wanted.items():
        text = "".join(_entry(pin, machines, files[pin[0]]) for pin, machines in sorted(pins.items()))
        (LOCKS / f"{name}.txt").write_text(
            f"# Made of {CONSTRAINTS.name} by python -m hardening.lock; not edited.\n{text}"
        )
    own = "".join(f"{name}=={version} \\\n    --hash=sha256:{digest}\n" for (name, version), digest in OTHERS.items())
    (LOCKS / "cpu.txt").write_text(
        f"# Made by python -m hardening.lock; tried first, for where such a wheel is at hand.\n{own}"
    )
    return 0


def _usual_index() -> str:
    from pip._internal.models.index import PyPI

    return str(PyPI.simple_url)


def check(constraints: Path, locks: Path) -> list[str]:
    """Where pins and locks differ, and where a pin has no digest."""
    pinned = {(canonicalize_name(name), version) for name, version, _ in PIN.findall(constraints.read_text())}
    locked: set[Pin] = set()
    problems = []
    for path in sorted(locks.glob("*.txt")):
        for name, version, digests in entries(path.read_text()):
            locked.add((name, version.partition("+")[0]))
            problems += [] if digests else [f"{path.name}: {name}=={version} has no digest"]
    problems += [
        f"{locks.name}/: no {name}=={version}, as {constraints.name} has it" for name, version in pinned - locked
    ]
    problems += [
        f"{constraints.name}: no {name}=={version}, as {locks.name}/ has it" for name, version in locked - pinned
    ]
    hint = "write them again with python -m hardening.lock python3.11 python3.12"
    return [*sorted(problems), hint] if problems else []


def entries(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Name, version and digests of each pin of a lock."""
    for block in re.split(r"\n(?=\S)", text):
        if found := PIN.match(block):
            yield canonicalize_name(found[1]), found[2], re.findall(r"--hash=sha256:([0-9a-f]{64})\b", block)


def _report(source: str) -> list[dict[str, Any]]:
    """The metadata of all that pip would install on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(source)
        if path.suffix != ".json":
            path = Path(folder) / "report.json"
            asked = [f"{ROOT}[{','.join(filter(None, EXTRAS.values()))}]", *BUILD]
            pip = [source, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--use-feature=fast-deps"]
            subprocess.run([*pip, "--report", str(path), "--constraint", str(CONSTRAINTS), *asked], check=True)
        found = json.loads(path.read_text())["install"]
    return [one["metadata"] for one in found]


def _needs(reports: Iterable[list[dict[str, Any]]]) -> dict[Pin, list[Requirement]]:
    """What each version of each package asks for; what only one report's wheel asks for is asked for."""
    needs: dict[Pin, dict[str, None]] = {}
    for metadata in (one for report in reports for one in report):
        pin = canonicalize_name(metadata["name"]), Version(metadata["version"]).public
        needs.setdefault(pin, {}).update(dict.fromkeys(metadata.get("requires_dist", ())))
    return {pin: [Requirement(one) for one in asked] for pin, asked in needs.items()}


def _wanted(needs: Mapping[Pin, list[Requirement]]) -> dict[str, dict[Pin, list[Machine]]]:
    """The pins of each file with the machines that need them; none is in two files."""
    [heed] = [pin for pin in needs if pin[0] == "heed"]
    torch = [one for pin, asked in needs.items() if pin[0] == "torch" for one in asked]
    cuda = [one for one in torch if one.name.startswith(CUDA)]
    if not cuda:
        raise SystemExit("no report has a torch with CUDA; give one of a Python that finds no other")
    others = {pin: [one for one in asked if pin[0] != "torch" or one not in cuda] for pin, asked in needs.items()}
    roots = {"build": [Requirement(one) for one in BUILD]}
    roots |= {name: [Requirement(f"heed[{extras}]" if extras else "heed")] for name, extras in EXTRAS.items()}
    roots["cuda"] = cuda
    wanted: dict[str, dict[Pin, list[Machine]]] = {name: {} for name in roots}
    for machine in MACHINES:
        pins = _pins(machine)
        taken: set[str] = {PRESENT, heed[0]}
        for name, asked in roots.items():
            for one in sorted(_closure(asked, others, {**pins, heed[0]: heed[1]}, machine) - taken):
                taken.add(one)
                wanted[name].setdefault((one, pins[one]), []).append(machine)
    return wanted


def _pins(machine: Machine) -> dict[str, str]:
    found = PIN.findall(CONSTRAINTS.read_text())
    requirements = [
        Requirement(f"{name}=={version}" + (f"; {marker}" if marker else "")) for name, version, marker in found
    ]
    held = [one for one in requirements if one.marker is None or one.marker.evaluate(machine.markers())]
    return {canonicalize_name(one.name): next(iter(one.specifier)).version for one in held}


def _closure(
    roots: Iterable[Requirement], needs: Mapping[Pin, list[Requirement]], pins: Mapping[str, str], machine: Machine
) -> set[str]:
    """The names of all that ``roots`` bring on a machine, themselves too."""
    waiting = [
        (canonicalize_name(one.name), extra) for one in roots if _asked(one, "", machine) for extra in ("", *one.extras)
    ]
    seen = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        if name not in pins and name != PRESENT:
            versions = [version for one, version in needs if one == name]
            raise SystemExit(f"{CONSTRAINTS}: no pin; add {name}=={' or '.join(versions) or 'VERSION'}")
        for one in needs.get((name, pins.get(name, "")), ()):
            if _asked(one, extra, machine):
                further = {(canonicalize_name(one.name), more) for more in ("", *one.extras)} - seen
                seen |= further
                waiting += further
    return {name for name, _ in seen}


def _asked(one: Requirement, extra: str, machine: Machine) -> bool:
    return one.marker is None or one.marker.evaluate({**machine.markers(), "extra": extra})


def _files(index: str, name: str) -> list[dict[str, Any]]:
    import requests

    form = {"Accept": "application/vnd.pypi.simple.v1+json"}
    answer = requests.get(f"{index}/{name}/", headers=form, timeout=60)
    answer.raise_for_status()
    found: list[dict[str, Any]] = answer.json()["files"]
    return found


def _entry(pin: Pin, machines: list[Machine], files: list[dict[str, Any]]) -> str:
    """The lines of one pin; its source too where a machine has no wheel."""
    name, version = pin
    digests: list[str] = []
    served: set[Machine] = set()
    sources = []
    for one in files:
        filename, digest = one["filename"], one["hashes"]["sha256"]
        if filename.endswith(".whl") and f"-{version}-" in filename:
            takers = {machine for machine in machines if machine.takes(filename)}
            served |= takers
            digests += [digest] if takers else []
        elif filename.endswith(f"-{version}.tar.gz"):
            sources.append(digest)
    digests += sources if set(machines) - served else []
    if not digests:
        raise SystemExit(f"{name}=={version}: the index has no file of it")
    told = marker(machines)
    head = f"{name}=={version}" + (f" ; {told}" if told else "")
    return " \\\n".join([head, *(f"    --hash=sha256:{digest}" for digest in sorted(set(digests)))]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
