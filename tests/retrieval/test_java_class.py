"""Heed's compiled Java classes: that they are those of their sources, and that no others are loaded.

Set HEED_OTHER_JAR to the jar of another release of pyserini (2.4.0 has anserini-2.3.0-fatjar.jar) to load it there too.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from heed.errors import JavaError
from heed.retrieval.lucene import jvm

FOLDER = Path(jvm.__file__).parent / "java"
CLASSES = sorted((FOLDER / "heed").glob("*.class"))
OTHER_JAR = os.environ.get("HEED_OTHER_JAR", "")


def test_the_digest_is_that_of_the_classes() -> None:
    assert hashlib.sha256(b"".join(path.read_bytes() for path in CLASSES)).hexdigest() == jvm.DIGEST
    assert jvm.classpath() == [str(jvm.jar()), str(FOLDER)]


def test_the_sources_compile_to_the_classes(tmp_path: Path) -> None:
    """As ``make java`` does; another version of javac orders the same classes in another way."""
    version = subprocess.run(["javac", "-version"], capture_output=True, text=True) if shutil.which("javac") else None
    if version is None or not version.stdout.startswith("javac 17."):
        pytest.skip("no javac 17")
    if jvm.anserini_version() != "1.7.1":
        pytest.skip("javac 17 reads only the jar of Python 3.11")
    command = ["javac", "--release", "17", "-cp", str(jvm.jar()), "-d", str(tmp_path)]
    sources = map(str, FOLDER.glob("heed/*.java"))
    assert subprocess.run([*command, *sources], capture_output=True, text=True, timeout=60).stderr == ""
    compiled = {path.name: path.read_bytes() for path in (tmp_path / "heed").iterdir()}
    assert compiled == {path.name: path.read_bytes() for path in CLASSES}


@pytest.mark.parametrize("there", [True, False])
def test_another_class_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    shutil.copytree(FOLDER, tmp_path / "java")
    path = tmp_path / "java" / "heed" / "Bulk.class"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    if not there:
        path.unlink()
    monkeypatch.setattr(jvm, "_CLASSES", tmp_path / "java")
    found = f"SHA-256 of the classes: found [0-9a-f]{{64}}, expected {jvm.DIGEST}; install Heed"
    with pytest.raises(JavaError, match=f"java: {found}"):
        jvm.classpath()


@pytest.mark.skipif(not OTHER_JAR, reason="HEED_OTHER_JAR names no other jar")
def test_the_classes_do_the_same_under_the_jar_of_another_release(tmp_path: Path) -> None:
    """The classes export the postings and search them."""
    package = tmp_path / "packages" / "pyserini"
    (package / "resources" / "jars").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "resources" / "jars" / Path(OTHER_JAR).name).symlink_to(OTHER_JAR)
    runs = []
    for name, path in (("other", f"{package.parent}{os.pathsep}{ROOT}"), ("installed", str(ROOT))):
        folder = tmp_path / name
        folder.mkdir()
        command = [sys.executable, "-m", "pipelines.trec", "--retriever", "bm25", "--retriever", "bm25+rm3", "--quiet"]
        subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, timeout=300, check=True)
        runs.append({run.name: run.read_bytes() for run in folder.rglob("*.run")})
    assert len(runs[0]) == 9 and runs[0] == runs[1]
