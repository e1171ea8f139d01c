"""Each stage on a file system of a few megabytes, where this machine lets one be mounted."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import write_jsonl
from letter_encoder import LetterCounts

from heed.errors import DataError
from heed.files import FULL, finished, on_disk
from heed.formats.document_store import open_store
from heed.formats.documents import Files
from heed.languages import language
from heed.retrieval.bm25 import index as bm25_index
from heed.retrieval.bm25 import postings
from heed.retrieval.bm25.index import build_index
from heed.retrieval.bm25.postings import open_postings
from heed.retrieval.dense import search, vectors
from heed.retrieval.dense.search import open_index
from heed.retrieval.dense.vectors import Vectors, embed


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if not mount or subprocess.run([mount, "-t", "tmpfs", "-o", "size=12m", "none", folder], check=False).returncode:
        pytest.skip("mounts no file system")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(disk: Path, left: int) -> None:
    """Leave about ``left`` bytes of ``disk``."""
    with (disk / "filler").open("wb") as stream:
        stream.write(bytes(shutil.disk_usage(disk).free - left))


def documents(folder: Path) -> Files:
    words = np.random.default_rng(0).integers(0, 50_000, (2000, 100)).tolist()
    records = [
        {"id": f"d{number:04}", "text": " ".join(f"w{word}" for word in row)} for number, row in enumerate(words)
    ]
    return Files([write_jsonl(folder / "docs.jsonl", records)])


@pytest.mark.parametrize("stage", ["store", "index", "matrix", "vectors", "ivfpq"])
def test_a_stage_says_what_it_needs_before_it_begins_and_where_the_disk_is_full(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    source = documents(tmp_path)
    store = open_store(tmp_path / "store", source)
    folder = tmp_path / "bm25"
    build_index(folder, store, language("eng"), 1)
    embed(tmp_path / "vectors", store, LetterCounts())
    (disk / "bm25").mkdir()
    shutil.copytree(folder, disk / "bm25", dirs_exist_ok=True) if stage == "matrix" else (disk / "bm25").rmdir()
    run = {
        "store": lambda: open_store(disk / "store", source),
        "index": lambda: build_index(disk / "bm25", store, language("eng"), 1),
        "matrix": lambda: open_postings(disk / "bm25", ["contents"]),
        "vectors": lambda: embed(disk / "vectors", store, LetterCounts()),
        "ivfpq": lambda: open_index(disk / "ivfpq", Vectors(tmp_path / "vectors"), {}, "ivfpq", "cpu"),
    }[stage]
    fill(disk, 20_000)
    with pytest.raises(DataError, match=rf"^{disk}.*: about [\d,]+ bytes .*are needed and .* are free; make room"):
        run()
    for module in (bm25_index, postings, search, vectors):
        monkeypatch.setattr(module, "on_disk", lambda path, need: on_disk(path))
    monkeypatch.setattr("heed.formats.document_store.on_disk", lambda path, need: on_disk(path))
    with pytest.raises(DataError, match=rf"^{disk}.*: the disk is full; .* are free; make room"):
        run()
    (disk / "filler").unlink()
    run()


def test_a_file_that_fills_the_disk_is_named_and_does_not_replace_the_earlier_one(disk: Path) -> None:
    (disk / "run").write_bytes(b"earlier")
    with pytest.raises(DataError, match=rf"^{disk}/run: the disk is full; "), finished(disk / "run") as stream:
        stream.write(bytes(13 << 20))
    assert (disk / "run").read_bytes() == b"earlier" and len([*disk.iterdir()]) == 1


@pytest.mark.parametrize(
    "words",
    ["[Errno 28] No space left on device", "database or disk is full", "8192 requested and 4064 written"],
)
def test_a_full_disk_is_known_by_the_words_of_each_program(words: str, tmp_path: Path) -> None:
    assert FULL.search(words)
    with pytest.raises(DataError, match="about 7 bytes of disk are needed"), on_disk(tmp_path, 7):
        raise RuntimeError(words)
