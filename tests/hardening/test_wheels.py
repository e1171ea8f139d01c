"""Wheels are made here: what is taken of them, and what is refused."""

import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from hardening.real import fetch
from hardening.wheels.folders import Wheel, make_folder, wheels
from heed.errors import ModelError

FILES = {"config.json": b"{}", "1_Pooling/config.json": b'{"a": 1}'}
BESIDE = {"heads.pt": b"a pickle", "__init__.py": b"raise SystemExit", "../../outside.json": b"{}"}


def wheel(folder: Path, **changed: bytes) -> tuple[Wheel, Path]:
    """A wheel of FILES and BESIDE, and its entry of the table, whose digests are those of FILES."""
    path = folder / "a_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**FILES, **BESIDE, **changed}.items():
            archive.writestr(f"a_model/{name}", content)
    digests = {name: sha256(content).hexdigest() for name, content in FILES.items()}
    whole = sha256(path.read_bytes()).hexdigest()
    return Wheel("a-model==1.0", "3.11", whole, "MIT", "a model", "copied", "a_model", digests), path


def test_only_the_files_of_the_table_are_taken(tmp_path: Path) -> None:
    entry, path = wheel(tmp_path)
    make_folder(entry, path, tmp_path / "models" / "a")
    taken = {str(each.relative_to(tmp_path / "models" / "a")) for each in (tmp_path / "models").rglob("*.*")}
    assert taken - {"../.lock"} == set(FILES)
    assert not (tmp_path / "outside.json").exists() and "a_model" not in sys.modules


def test_a_wheel_or_a_file_with_another_digest_is_an_error_and_nothing_is_left(tmp_path: Path) -> None:
    entry, path = wheel(tmp_path)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ModelError, match=r"a_model-1.0-py3-none-any.whl: its SHA-256 is \w{64}, expected \w{64}"):
        make_folder(entry, path, tmp_path / "models" / "a")
    entry, path = wheel(tmp_path, **{"config.json": b'{"architectures": []}'})
    with pytest.raises(ModelError, match=r"a_model/config.json: its SHA-256 is"):
        make_folder(entry, path, tmp_path / "models" / "a")
    assert not list((tmp_path / "models").glob("a*"))


def test_a_wheel_that_cannot_be_fetched_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, path = wheel(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert fetch(entry, tmp_path) == ""  # it is there
    path.unlink()
    assert "No matching distribution found for a-model==1.0" in fetch(entry, tmp_path)


def test_names_of_the_table_stay_in_the_folder() -> None:
    for name, each in wheels().items():
        paths = [Path(name), Path(each.folder), *map(Path, each.files)]
        assert not any(path.is_absolute() or ".." in path.parts for path in paths)
        assert all(len(digest) == 64 for digest in (each.sha256, *each.files.values()))
        assert not any(file.endswith((".pt", ".pkl", ".py")) for file in each.files)
