"""Heed's one compiled Java class: that it is the one of its source, and that no other is loaded.

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

SOURCE = Path(jvm.__file__).parent / "java" / "heed" / "Bulk.java"
CLASS = SOURCE.with_suffix(".class")
OTHER_JAR = os.environ.get("HEED_OTHER_JAR", "")


def test_the_digest_is_that_of_the_class() -> None:
    assert hashlib.sha256(CLASS.read_bytes()).hexdigest() == jvm.DIGEST
    assert jvm.classpath() == [str(jvm.jar()), str(SOURCE.parents[1])]


def test_the_source_compiles_to_the_class(tmp_path: Path) -> None:
    """As ``make java`` does; another version of javac orders the same class in another way."""
    version = subprocess.run(["javac", "-version"], capture_output=True, text=True) if shutil.which("javac") else None
    if version is None or not version.stdout.startswith("javac 17."):
        pytest.skip("no javac 17")
    if jvm.anserini_version() != "1.7.1":
        pytest.skip("javac 17 reads only the jar of Python 3.11")
    command = ["javac", "--release", "17", "-cp", str(jvm.jar()), "-d", str(tmp_path), str(SOURCE)]
    assert subprocess.run(command, capture_output=True, text=True, timeout=60).stderr == ""
    assert (tmp_path / "heed" / "Bulk.class").read_bytes() == CLASS.read_bytes()


@pytest.mark.parametrize("there", [True, False])
def test_another_class_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    path = tmp_path / "heed" / "Bulk.class"
    path.parent.mkdir()
    if there:
        path.write_bytes(CLASS.read_bytes()[:-1] + b"x")
    monkeypatch.setattr(jvm, "_CLASSES", tmp_path)
    found = "[0-9a-f]{64}" if there else "no file"
    with pytest.raises(JavaError, match=f"Bulk.class: SHA-256: found {found}, expected {jvm.DIGEST}; install Heed"):
        jvm.classpath()


@pytest.mark.skipif(not OTHER_JAR, reason="HEED_OTHER_JAR names no other jar")
def test_the_class_exports_the_same_under_the_jar_of_another_release(tmp_path: Path) -> None:
    """BM25 scores postings that the class exports, feedback is Lucene's own search."""
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
