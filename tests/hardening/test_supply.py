"""What is installed and given away: locks with digests, bill of materials, audit, import contracts, wheel."""

import json
import re
import shutil
import subprocess
import sys
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import ROOT

from hardening.lock import LOCKS, PYTHONS, check, read_pins

BIN = Path(sys.executable).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the locks are checked by."""
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(LOCKS, tmp_path / "locks")
    return tmp_path


def replace(path: Path, old: str, new: str) -> None:
    """Replace the first ``old`` in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_locks_and_constraints_fit_pyproject() -> None:
    assert check(ROOT) == []


def test_a_pin_without_a_lock_and_a_lock_without_a_pin_are_problems(checkout: Path) -> None:
    [numpy] = [pin for pin in read_pins((LOCKS / "run.txt").read_text()) if pin.name == "numpy"]
    replace(checkout / "locks" / "run.txt", f"numpy=={numpy.version} ", "numpy==3.0.0 ")
    assert check(checkout) == [
        "constraints.txt: no numpy==3.0.0, which locks/ has",
        f"locks/: no numpy=={numpy.version}, which constraints.txt has",
        "write them again with make locks",
    ]


def test_a_pin_without_a_digest_is_a_problem(checkout: Path) -> None:
    path = checkout / "locks" / "run.txt"
    text = path.read_text()
    first = read_pins(text)[0]
    path.write_text(re.sub(r" \\\n    --hash=\S+", "", text, count=len(first.digests)))
    assert check(checkout)[0] == f"locks/run.txt: {first.name}=={first.version} has no digest"


@pytest.mark.parametrize(
    ("lock", "old", "new", "name"),
    [
        ("run", '"lxml>=5"', '"lxml>=99"', "lxml>=99"),
        ("run", '"lxml>=5"', '"zope.interface>=7"', "zope.interface>=7"),
        ("tools", '"ray>=2.60,<2.61",\n]', '"ray>=3",\n]', "ray>=3"),
        ("build", '["hatchling"]', '["flit-core"]', "flit-core"),
    ],
)
def test_a_requirement_that_no_lock_meets_is_a_problem(
    checkout: Path, lock: str, old: str, new: str, name: str
) -> None:
    replace(checkout / "pyproject.toml", old, new)
    for python in PYTHONS:
        assert any(line.startswith(f"locks/{lock}.txt: no {name} for Python {python} on ") for line in check(checkout))


def test_a_requirement_of_one_python_alone_is_checked_there(checkout: Path) -> None:
    """pyserini is locked in one version for Python 3.11 and in another for later ones."""
    path = checkout / "locks" / "run.txt"
    text = path.read_text()
    blocks = [block for block in re.split(r"\n(?=\S)", text) if not block.startswith("pyserini==2")]
    path.write_text("\n".join(blocks))
    problems = [line for line in check(checkout) if line.startswith("locks/run.txt: no pyserini")]
    assert problems and all("found none" in line for line in problems)
    assert {python for python in PYTHONS for line in problems if f"for Python {python} on " in line} == {*PYTHONS[1:]}


@pytest.mark.disturbance
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_bill_of_materials_is_valid_reproducible_and_whole(tmp_path: Path) -> None:
    """By the command of the Makefile, which validates against the schema; here for a small environment."""
    pytest.importorskip("cyclonedx_py")
    [target] = re.findall(r"cyclonedx-py (environment(?:.*\\\n)?.*)", (ROOT / "Makefile").read_text())
    command = [str(BIN / "cyclonedx-py"), *target.replace("\\\n", " ").split()]
    command[command.index("--output-file") + 1] = "bill.json"
    small = subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "small")], check=False)
    assert small.returncode == 0
    packages = next((tmp_path / "small" / "lib").glob("python3*")) / "site-packages"
    installed = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    for info in ("numpy", "ray", "lxml"):
        shutil.copytree(
            next(installed.glob(f"{info}-*.dist-info")), packages / next(installed.glob(f"{info}-*.dist-info")).name
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    bills = []
    for _ in range(2):
        subprocess.run([*command, str(tmp_path / "small" / "bin" / "python")], check=True, cwd=tmp_path, timeout=60)
        bills.append((tmp_path / "bill.json").read_bytes())
    assert bills[0] == bills[1]
    bill = json.loads(bills[0])
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", PROJECT["name"])
    assert {part["name"] for part in bill["components"]} == {"numpy", "ray", "lxml"}
    assert all(part["licenses"] and part["purl"].startswith("pkg:pypi/") for part in bill["components"])


def build(target: str, root: Path, out: Path) -> Path:
    """Return the distribution that ``make dist`` builds from the sources under ``root``."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(out)]
    subprocess.run(command, check=True, cwd=root, capture_output=True, timeout=60)
    [path] = out.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_types_samples_data_and_the_console_script(wheel_file: Path) -> None:
    path = wheel_file
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        [scripts] = [wheel.read(name).decode() for name in names if name.endswith("entry_points.txt")]
    assert path.name.startswith("heed_ir-")
    assert {
        "heed/py.typed",
        "heed/models/registry/registry.json",
        "heed/datasets/catalogue.json",
        "heed/instructions/weights/card.json",
    } <= names
    assets = {file for name in ("heed", "pipelines") for file in (ROOT / name).rglob("*") if file.is_file()}
    assets = {str(file.relative_to(ROOT)) for file in assets if file.suffix not in {".pyc", ".so"}}
    assert assets <= names and any(name.endswith(".jinja") for name in assets)
    assert {"heed/addons/judging/annotate/page/index.html", "heed/addons/explorer/page/explorer.js"} <= names
    for folder in ("documents", "topics", "qrels"):
        for file in (ROOT / folder).rglob("*"):
            assert file.is_dir() or f"heed/sample/{file.relative_to(ROOT)}" in names
    assert scripts == "[console_scripts]\nheed = pipelines.__main__:main\n"
    assert not {name.split("/")[0] for name in names} - {
        "heed",
        "pipelines",
        path.name[: -len("-py3-none-any.whl")] + ".dist-info",
    }


def test_the_source_distribution_has_no_tests_and_builds_the_same_wheel(wheel_file: Path, tmp_path: Path) -> None:
    archive = build("sdist", ROOT, tmp_path / "archive")
    assert archive.stat().st_size < 42 * 2**20  # of which the weights of the reader are 40
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path], check=True)
    [root] = tmp_path.glob("heed_ir-*")
    assert not {path.name for path in root.iterdir()} & {"tests", "docs", "hardening", "locks", "shared"}
    assert (root / "constraints.txt").is_file()
    assert build("wheel", root, tmp_path / "wheel").read_bytes() == wheel_file.read_bytes()


def test_the_citation_names_this_version() -> None:
    import yaml

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])


def test_docker_gets_what_the_dockerfile_copies_and_no_more() -> None:
    copied = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert sorted(line[1:] for line in lines if line.startswith("!")) == sorted(" ".join(copied).split())
    assert lines.index("*") < min(number for number, line in enumerate(lines) if line.startswith("!"))


def test_no_text_installs_another_projects_heed() -> None:
    """The package index's ``heed`` is not this one."""
    files = [
        path
        for name in ("heed", "pipelines", "examples", "docs", "benchmarks", "hardening")
        for path in (ROOT / name).rglob("*")
    ]
    for path in [*files, *ROOT.glob("*.*"), ROOT / "Makefile", ROOT / "Dockerfile"]:
        if path.is_file() and path.suffix != ".pyc":
            assert not re.search(r"pip install\s+['\"]?heed", path.read_text(errors="replace")), path


class Osv(BaseHTTPRequestHandler):
    """The part of OSV's API that pip-audit uses: numpy has one vulnerability."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        package = {"name": request["package"]["name"], "ecosystem": "PyPI"}
        ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.0"}]}]
        vulnerability = {
            "id": "GHSA-1111-2222-3333",
            "aliases": ["CVE-2099-1"],
            "summary": "bad",
            "published": "2026-01-01T00:00:00Z",
            "affected": [{"package": package, "ranges": ranges}],
        }
        body = json.dumps({"vulns": [vulnerability]} if package["name"] == "numpy" else {}).encode()
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


@pytest.mark.disturbance
def test_a_known_vulnerability_fails_until_its_reason_is_given(osv: str, tmp_path: Path) -> None:
    pytest.importorskip("pip_audit")
    status, output = audit(osv)
    assert status == 1 and "1 known vulnerabilities, 0 accepted" in output
    assert re.search(r"^numpy \S+: CVE-2099-1 GHSA-1111-2222-3333, fixed in 99.0$", output, re.MULTILINE), output
    accepted = tmp_path / "accepted.toml"
    accepted.write_text('"CVE-2099-1" = "reason"\n"CVE-2098-1" = "reason"\n')
    status, output = audit(osv, "--accepted", str(accepted))
    assert status == 1 and "CVE-2098-1 is no longer reported" in output and "numpy" not in output


def test_an_audit_without_a_source_says_that_it_was_skipped() -> None:
    pytest.importorskip("pip_audit")
    status, output = audit("http://127.0.0.1:9/v1/query")
    assert (status, output) == (0, "audit: skipped, no source of known vulnerabilities can be reached from here\n")
