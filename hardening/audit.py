"""Ask for known vulnerabilities of every pinned package: ``python -m hardening.audit``.

pip-audit reads ``locks/`` and asks OSV, else the package index. Where neither can be asked the last line says so
and the status is 0: nothing was found, nor was anything looked for. A finding is status 1 unless
``hardening/accepted.toml`` gives the reason why it does no harm here.
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
from typing import NamedTuple

from hardening.lock import LOCKS

ACCEPTED = Path(__file__).with_name("accepted.toml")
SERVICES = ("osv", "pypi")
SECONDS = 300  # for one question to a service
AWAY = re.compile(
    r"ConnectionError|Timeout|HTTPError|SSLError|ServiceError"
)  # what pip-audit says of one it cannot ask


class Finding(NamedTuple):
    """A known vulnerability of a pinned package, with its other names."""

    package: str
    names: frozenset[str]
    fixed: tuple[str, ...]

    def told(self) -> str:
        """One line that says what to do."""
        repair = f"fixed in {', '.join(self.fixed)}" if self.fixed else "no version is without it"
        return f"{self.package}: {' '.join(sorted(self.names))}, {repair}"


def main() -> int:
    """Audit the locks; gives back the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hardening.audit", description=__doc__)
    parser.add_argument("--osv-url", metavar="URL", help="a mirror of OSV")
    parser.add_argument(
        "--accepted", type=Path, default=ACCEPTED, metavar="FILE", help="default hardening/accepted.toml"
    )
    options = parser.parse_args()
    further = ("--osv-url", options.osv_url) if options.osv_url else ()
    services = [("osv", *further)] if further else [(one,) for one in SERVICES]
    service = next((one for one in services if _answers(one)), None)
    if service is None:
        print("audit: left out, no source of known vulnerabilities can be reached from here")
        return 0
    locks = sorted(path for path in LOCKS.glob("*.txt") if path.stem != "cpu")  # the same torch as in run.txt
    told = _ask(service, locks)
    if told is None:
        print(f"audit: {service[0]} stopped answering; run it again")
        return 1
    accepted = tomllib.loads(options.accepted.read_text())
    found = findings(told)
    problems = [one.told() for one in found if not one.names & accepted.keys()]
    stale = accepted.keys() - {name for one in found for name in one.names}
    problems += [f"{options.accepted.name}: {name} is found no more; delete its line" for name in sorted(stale)]
    problems += [f"{one['name']} was not audited: {one['skip_reason']}" for one in told if "skip_reason" in one]
    print(
        "\n".join(
            [f"audit: {len(told)} packages, {len(found)} known vulnerabilities, {len(accepted)} accepted", *problems]
        )
    )
    return 1 if problems else 0


def findings(told: Iterable[dict[str, object]]) -> list[Finding]:
    """What pip-audit's ``dependencies`` say is wrong."""
    found = []
    for one in told:
        vulnerabilities = one.get("vulns", [])
        for wrong in vulnerabilities if isinstance(vulnerabilities, list) else []:
            names = frozenset([wrong["id"], *wrong.get("aliases", [])])
            found.append(Finding(f"{one['name']} {one['version']}", names, tuple(wrong.get("fix_versions", []))))
    return found


def _answers(service: Sequence[str]) -> bool:
    """Whether a service knows the first package of all."""
    first = re.split(r"\n(?=\S)", (LOCKS / "run.txt").read_text())[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "first.txt"
        path.write_text(f"{first}\n")
        told = _ask(service, [path])
    return told is not None and not any("skip_reason" in one for one in told)


def _ask(service: Sequence[str], paths: Sequence[Path]) -> list[dict[str, object]] | None:
    """pip-audit's ``dependencies``, None if it could not ask; SystemExit where it fails for another reason."""
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
        found: list[dict[str, object]] = json.loads(done.stdout)["dependencies"]
        return found
    if AWAY.search(done.stderr):
        return None
    raise SystemExit(f"audit: pip-audit failed: {done.stderr[-500:]}")


if __name__ == "__main__":
    sys.exit(main())
