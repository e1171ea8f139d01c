"""What is installed: digests for every pin, a bill of materials, licences, known vulnerabilities."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hardening.lock import CONSTRAINTS, LOCKS, check, entries
from hardening.machines import MACHINES, Machine
from hardening.sbom import bill, parts

DIGEST = "a" * 64


def test_locks_and_constraints_name_the_same_versions() -> None:
    assert check(CONSTRAINTS, LOCKS) == []


def test_a_pin_without_a_lock_a_lock_without_a_pin_and_a_lock_without_a_digest_are_told(tmp_path: Path) -> None:
    constraints, locks = tmp_path / "constraints.txt", tmp_path / "locks"
    locks.mkdir()
    constraints.write_text(
        "# pins\nNumPy==2.4.6\nzope.x==1; python_version < '3.12'\nzope.x==2; python_version >= '3.12'\n"
    )
    digest = f"    --hash=sha256:{DIGEST}\n"
    whole = f'numpy==2.4.6 \\\n{digest}zope-x==1 ; python_version < "3.12" \\\n{digest}zope-x==2 \\\n{digest}'
    (locks / "run.txt").write_text(whole)
    assert check(constraints, locks) == []
    (locks / "run.txt").write_text(whole.replace("2.4.6", "2.4.7"))
    assert check(constraints, locks)[:2] == [
        "constraints.txt: no numpy==2.4.7, as locks/ has it",
        "locks/: no numpy==2.4.6, as constraints.txt has it",
    ]
    (locks / "run.txt").write_text(whole.replace(digest, "", 1))
    assert check(constraints, locks)[0] == "run.txt: numpy==2.4.6 has no digest"


@pytest.mark.parametrize(
    ("machine", "wheel", "taken"),
    [
        (("3.11", "linux", "x86_64"), "a-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
        (("3.11", "linux", "x86_64"), "a-1-cp312-cp312-manylinux_2_17_x86_64.whl", False),
        (("3.11", "linux", "x86_64"), "a-1-cp311-cp311-musllinux_1_2_x86_64.whl", False),
        (("3.12", "linux", "aarch64"), "a-1-cp39-abi3-manylinux_2_28_aarch64.whl", True),
        (("3.11", "linux", "aarch64"), "a-1-cp312-abi3-manylinux_2_28_aarch64.whl", False),
        (("3.12", "darwin", "arm64"), "a-1-cp312-cp312-macosx_10_13_universal2.whl", True),
        (("3.12", "darwin", "arm64"), "a-1-cp312-cp312-macosx_10_13_x86_64.whl", False),
        (("3.12", "darwin", "arm64"), "a-1-py2.py3-none-any.whl", True),
        (("3.12", "linux", "x86_64"), "a-1-py311-none-any.whl", True),
        (("3.11", "linux", "x86_64"), "a-1-py312-none-any.whl", False),
        (("3.11", "linux", "x86_64"), "a-1-py2-none-any.whl", False),
        (("3.12", "darwin", "arm64"), "a-1-cp314-cp314t-macosx_14_0_arm64.whl", False),
    ],
)
def test_a_wheel_is_for_its_machine(machine: tuple[str, str, str], wheel: str, taken: bool) -> None:
    """Names as PEP 425 and PEP 600 define them; pip's own answer for each is the same."""
    assert Machine(machine[0], machine[1:]).takes(wheel) is taken


def test_what_pyproject_asks_for_is_locked_on_every_machine() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for lock, asked in (("run", project["dependencies"]), ("tools", project["optional-dependencies"]["test"])):
        text = "".join((LOCKS / f"{name}.txt").read_text() for name in {"run", lock})
        heads = [Requirement(line.rstrip(" \\")) for line in re.findall(r"^[\w.-]+==.*", text, re.MULTILINE)]
        for machine in MACHINES:
            held = {
                canonicalize_name(one.name): one
                for one in heads
                if not one.marker or one.marker.evaluate(machine.markers())
            }
            for one in map(Requirement, asked):
                if not one.marker or one.marker.evaluate(machine.markers()):
                    [version] = held[canonicalize_name(one.name)].specifier
                    assert one.specifier.contains(version.version), f"{one} on {machine}"


def test_every_pin_is_on_the_page_of_licences() -> None:
    page = (ROOT / "docs" / "licences.md").read_text()
    pinned: dict[str, list[str]] = {}
    for path in sorted(LOCKS.glob("*.txt")):
        for name, version, _ in entries(path.read_text()):
            pinned.setdefault(name, []).append(version)
    for name, versions in pinned.items():  # pyserini has a version for each Python; one of them is installed
        read = any(f"| {name} | {version} |" in page for version in versions)
        assert read or re.search(rf"not read: .*\b{name}[,.]", page), f"{name}: run make sbom"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_bill_of_materials_is_valid_cyclonedx() -> None:
    """By the schema that OWASP's library brings."""
    validation = pytest.importorskip("cyclonedx.validation.json")
    from cyclonedx.schema import SchemaVersion

    made = bill(list(parts()))
    assert validation.JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(made)) is None
    named = {one["name"]: one for one in made["components"]}
    assert named["numpy"]["licenses"][0].get("expression") or named["numpy"]["licenses"][0]["license"]["name"]
    known = {one["ref"] for one in made["dependencies"]}
    assert all(ref in known for one in made["dependencies"] for ref in one["dependsOn"])


class Osv(BaseHTTPRequestHandler):
    """As much of OSV's API as pip-audit asks: numpy has one vulnerability."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        package = {"name": asked["package"]["name"], "ecosystem": "PyPI"}
        ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.0"}]}]
        wrong = {
            "id": "GHSA-1111-2222-3333",
            "aliases": ["CVE-2099-1"],
            "summary": "bad",
            "published": "2026-01-01T00:00:00Z",
            "affected": [{"package": package, "ranges": ranges}],
        }
        body = json.dumps({"vulns": [wrong]} if package["name"] == "numpy" else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def osv() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Osv)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/query"
    server.shutdown()
    server.server_close()


def audit(url: str, *options: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "hardening.audit", "--osv-url", url, *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_a_known_vulnerability_fails_until_its_reason_is_given(osv: str, tmp_path: Path) -> None:
    pytest.importorskip("pip_audit")
    status, told = audit(osv)
    assert status == 1 and "1 known vulnerabilities, 0 accepted" in told
    assert re.search(r"^numpy \S+: CVE-2099-1 GHSA-1111-2222-3333, fixed in 99.0$", told, re.MULTILINE), told
    accepted = tmp_path / "accepted.toml"
    accepted.write_text('"CVE-2099-1" = "reason"\n"CVE-2098-1" = "reason"\n')
    status, told = audit(osv, "--accepted", str(accepted))
    assert status == 1 and "CVE-2098-1 is found no more" in told and "numpy" not in told


def test_an_audit_without_a_source_says_that_nothing_was_looked_for() -> None:
    pytest.importorskip("pip_audit")
    status, told = audit("http://127.0.0.1:9/v1/query")
    assert (status, told) == (0, "audit: left out, no source of known vulnerabilities can be reached from here\n")
