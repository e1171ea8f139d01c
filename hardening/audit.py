"""Look up known vulnerabilities of every locked package: ``python -m hardening.audit``.

pip-audit reads ``locks/`` and asks OSV, else the package index. Where neither can be reached the last line says so
and the status is 0, though nothing was looked up. A vulnerability is status 1 unless ``hardening/accepted.toml``
gives the reason why it does no harm here.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hardening.lock import LOCKS

ACCEPTED = Path(__file__).with_name("accepted.toml")
SERVICES = ("osv", "pypi")
SECONDS = 300  # for one question to a service
UNREACHABLE = re.compile(r"ConnectionError|Timeout|HTTPError|SSLError|ServiceError")  # in pip-audit's errors


class Vulnerability(NamedTuple):
    """A known vulnerability of a locked package, with its other names."""

    package: str
    names: frozenset[str]
    fixed: tuple[str, ...]

    def line(self) -> str:
        """Return one line that says what to do."""
        fix = f"fixed in {', '.join(self.fixed)}" if self.fixed else "no version fixes it"
        return f"{self.package}: {' '.join(sorted(self.names))}, {fix}"


def main() -> int:
    """Audit the locks; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hardening.audit", description=__doc__)
    parser.add_argument("--osv-url", metavar="URL", help="a mirror of OSV")
    parser.add_argument(
        "--accepted", type=Path, default=ACCEPTED, metavar="FILE", help="default hardening/accepted.toml"
    )
    options = parser.parse_args()
    mirror = ("--osv-url", options.osv_url) if options.osv_url else ()
    services = [("osv", *mirror)] if mirror else [(name,) for name in SERVICES]
    service = next((service for service in services if _answers(service)), None)
    if service is None:
        print("audit: skipped, no source of known vulnerabilities can be reached from here")
        return 0
    locks = sorted(path for path in LOCKS.glob("*.txt") if path.stem != "cpu")  # the same torch as in run.txt
    packages = _ask(service, locks)
    if packages is None:
        print(f"audit: {service[0]} stopped answering; run it again")
        return 1
    accepted = tomllib.loads(options.accepted.read_text())
    found = vulnerabilities(packages)
    problems = [vulnerability.line() for vulnerability in found if not vulnerability.names & accepted.keys()]
    stale = accepted.keys() - {name for vulnerability in found for name in vulnerability.names}
    problems += [f"{options.accepted.name}: {name} is no longer reported; delete its line" for name in sorted(stale)]
    problems += [
        f"{package['name']} was not audited: {package['skip_reason']}"
        for package in packages
        if "skip_reason" in package
    ]
    counts = f"{len(packages)} packages, {len(found)} known vulnerabilities, {len(accepted)} accepted"
    print("\n".join([f"audit: {counts}", *problems]))
    return 1 if problems else 0


def vulnerabilities(packages: Iterable[dict[str, Any]]) -> list[Vulnerability]:
    """Return the vulnerabilities in pip-audit's ``dependencies``."""
    return [
        Vulnerability(
            f"{package['name']} {package['version']}",
            frozenset([entry["id"], *entry.get("aliases", [])]),
            tuple(entry.get("fix_versions", [])),
        )
        for package in packages
        for entry in package.get("vulns", [])
    ]


def _answers(service: Sequence[str]) -> bool:
    """Return whether a service knows the first locked package."""
    first = re.split(r"\n(?=\S)", (LOCKS / "run.txt").read_text())[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "first.txt"
        path.write_text(f"{first}\n")
        packages = _ask(service, [path])
    return packages is not None and not any("skip_reason" in package for package in packages)


def _ask(service: Sequence[str], paths: Sequence[Path]) -> list[dict[str, Any]] | None:
    """Return pip-audit's ``dependencies``, None if no answer came; raise SystemExit where it fails otherwise."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off"]
    files = [part for path in paths for part in ("--requirement", str(path))]
    try:
        done = subprocess.run(
            [*command, "--format", "json", "--vulnerability-service", *service, *files],
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.stdout.startswith("{"):
        packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
        return packages
    if UNREACHABLE.search(done.stderr):
        return None
    raise SystemExit(f"audit: pip-audit failed: {done.stderr[-500:]}")


if __name__ == "__main__":
    sys.exit(main())
