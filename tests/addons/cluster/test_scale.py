"""The collection of the scale benchmark, what it measures, and the figures that its table works out."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import scale, scale_input
from benchmarks.scale_input import drawn, write_documents, write_topics
from benchmarks.scale_table import as_text, missed
from heed.formats.documents import Files
from heed.formats.topics import read_topics
from heed.formats.trec_files import read_qrels, read_run


def test_a_larger_collection_begins_with_the_smaller_one() -> None:
    small, large = list(drawn(0, 70)), list(drawn(0, 90))
    assert [one.docid for one in small] == [one.docid for one in large[:70]]
    assert all(np.array_equal(one.ranks, other.ranks) for one, other in zip(small, large, strict=False))
    assert len({one.docid for one in [*large, *drawn(1, 90)]}) == 180


def test_lengths_and_words_are_distributed_as_told() -> None:
    documents = list(drawn(3, 2000))
    lengths = np.array([len(one.ranks) for one in documents])
    assert np.median(lengths) == pytest.approx(250, rel=0.05)
    assert lengths.mean() == pytest.approx(250 * np.exp(0.5**2 / 2), rel=0.05)  # of a log-normal: median · e^(σ²/2)
    ranks = np.concatenate([one.ranks for one in documents])
    # the k-th of 200,000 words comes with probability 1 / (k · H), H being the sum of all 1 / k, 12.783
    for rank in (1, 2, 10):
        assert np.mean(ranks == rank - 1) == pytest.approx(1 / (rank * 12.783), rel=0.05)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of 120 documents, measured."""
    place = tmp_path_factory.mktemp("scale")
    given = ["--documents", "120", "--work", str(place), "--heap", "300m"]
    assert scale.main([*given, "--json", str(place / "figures.json"), "--table", str(place / "table.md")]) == 0
    return place


@pytest.mark.disturbance
def test_the_real_commands_are_measured(measured: Path) -> None:
    [found] = json.loads((measured / "figures.json").read_text())
    assert found == json.loads((measured / "120" / "measured.json").read_text())
    steps = ["index, search, measure", "the same again", "pool", "compare", "check", "annotate, first start"]
    assert list(found["steps"]) == [*steps, "polarity", "rerank"]
    assert all(one["seconds"] > 0.02 and one["peak_mib"] > one["own_mib"] > 5 for one in found["steps"].values())
    assert {one["stage"] for one in found["stages"]} >= {"documents", "index", "matrix", "run", "measures", "report"}
    assert found["disk"].keys() == {"input", "bm25", "bm25-postings", "documents"}
    assert sorted(found["runs"]) == ["bm25.changed.run", "bm25.original.run"]
    run = read_run(next((measured / "120" / "runs").rglob("bm25.original.run")))
    qrels = read_qrels(measured / "topics" / "original.qrels")
    assert len(run) == 100 and all(any(docid in run[qid] for docid in grades) for qid, grades in qrels.items())
    assert "| index, search, measure |" in (measured / "table.md").read_text()
    assert not (measured / "120" / "indexes").exists()


def test_documents_and_topics_can_be_read_and_are_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scale_input, "PART", 50)
    files = write_documents(tmp_path / "documents", 120)
    assert [path.parent.name for path in files] == ["0000", "0001", "0002-20"]
    assert sum(line.document is not None for line in Files(files).lines()) == 120
    folder = write_topics(tmp_path / "topics", 120)
    topics = read_topics(folder / "topics.jsonl", "eng", "title", "heed")
    assert len(topics) == 100
    assert all(one.instructions["changed"].startswith(f"{one.instructions['original']}. Not ") for one in topics)
    original, changed = (read_qrels(folder / f"{name}.qrels") for name in ("original", "changed"))
    assert all(changed[qid][docid] <= grade for qid, grades in original.items() for docid, grade in grades.items())
    assert sum(map(sum, (one.values() for one in changed.values()))) > 100
    capsys.readouterr()
    write_documents(tmp_path / "documents", 100)
    assert capsys.readouterr().err.count("used again") == 2


def test_a_process_is_measured_with_what_it_holds(tmp_path: Path) -> None:
    held = "import time; held = bytearray(200 << 20); held[::4096] = b'1' * len(held[::4096]); time.sleep(0.5)"
    used = scale.run(["timeit", "-n1", "-r1", held], tmp_path)
    assert 0.5 < used.seconds < 30 and 0 < used.processor < 10
    assert 200 < used.own_mib <= used.peak_mib < 300


def figures(count: int, seconds: float, peak: float, disk: int) -> dict[str, Any]:
    step = {"seconds": seconds, "processor": 1.5 * seconds, "peak_mib": peak, "own_mib": peak / 2}
    small = {"seconds": 3.0, "processor": 3.0, "peak_mib": 90.0, "own_mib": 60.0}
    return {
        "settings": {"documents": count},
        "machine": "a machine",
        "steps": {"index, search, measure": step, "the same again": small, "pool": small, "compare": small},
        "stages": [
            {"stage": "documents", "system": "", "seconds": seconds / 4},
            {"stage": "index", "system": "bm25", "seconds": seconds / 4},
            {"stage": "index", "system": "bm25", "seconds": seconds / 4},
        ],
        "disk": {"input": disk},
    }


def test_larger_collections_are_on_the_line_through_the_two_largest_sizes() -> None:
    # 10 s + 90 s a 100 thousand: ten million take 9010 s, 4,627,543 take 10 + 4164.8 s
    text = as_text([figures(100_000, 100, 400, 10**9), figures(200_000, 190, 500, 2 * 10**9)])
    table = {line.split("  ")[0]: line for line in text[text.index("What larger") :].splitlines()}
    assert table["index, search, measure"].endswith("  2 h 30 min   1 h 09 min")
    assert "10,300" in table["index, search, measure, MiB"]  # 300 + 100 a 100 thousand
    assert table["input and indexes on disk, GB"].split()[-2:] == ["100", "46"]


def test_the_cost_of_a_document_is_told_beside_the_first_sizes() -> None:
    text = as_text([figures(100_000, 100, 400, 1), figures(1_000_000, 1500, 2500, 1)])
    whole = next(line for line in text.splitlines() if line.startswith("index, search, measure"))
    assert whole.split()[-2:] == ["667", "1.50×"]  # 1500 s / 1,000,000 over 100 s / 100,000
    indexed = next(line for line in text.splitlines() if line.startswith("— index bm25"))
    assert " 50 s " in indexed and "12 min 30 s" in indexed  # two shards' stages are one
    assert missed([figures(100_000, 100, 400, 1), figures(1_000_000, 1500, 2500, 1)]) == [
        "a document costs 1.50 times what it costs at 100,000, more than 1.2",
        "index, search, measure: 2,500 MiB, more than 1024",
    ]
    assert missed([figures(100_000, 100, 400, 1), figures(1_000_000, 1150, 900, 1)]) == []
