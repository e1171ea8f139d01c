"""Captions and headers of few tables are indexed where a system reads them, and no figure moves by it."""

from pathlib import Path

import pytest
from conftest import call, stranger

from heed.datasets.tables import find_tables
from heed.experiment import Experiment
from heed.reranking.polarity.reranker import Polarity
from heed.retrieval.bm25 import Bm25

ALL = {"caption", "contents", "header"}


def fields(indexes: Path) -> set[str]:
    paths = (indexes / "tables-sample/eng/bm25-postings").glob("*.starts.npy")
    return {path.name.removesuffix(".starts.npy") for path in paths}


def run(folder: Path, reranker: str, out: str) -> tuple[dict[str, bytes], str]:
    """Return the runs of BM25 and a reranker, and the log."""
    options = ("--retriever", "bm25", "--reranker", reranker, "--out", out)
    result = call("pipelines.tables", folder, stranger(folder / "home"), *options)
    assert result.returncode == 0, result.stderr
    return {path.name: path.read_bytes() for path in (folder / out).rglob("*.run")}, result.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A folder with an index of all fields, and the runs of BM25 and polarity over it."""
    folder = tmp_path_factory.mktemp("whole")
    runs, _ = run(folder, "polarity", "runs")
    assert fields(folder / "indexes") == ALL
    return folder, runs


def test_bm25_alone_indexes_texts_alone_and_a_reranker_that_comes_later_the_rest(
    tmp_path: Path, whole: tuple[Path, dict[str, bytes]]
) -> None:
    alone, _ = run(tmp_path, "none", "alone")
    assert fields(tmp_path / "indexes") == {"contents"}
    later, said = run(tmp_path, "polarity", "later")
    assert fields(tmp_path / "indexes") == ALL
    assert 'fields was ["contents"] and is now ["contents", "caption", "header"]' in said
    assert later == whole[1]
    assert alone == {name: run for name, run in later.items() if name.startswith("bm25")}


def test_an_index_of_all_fields_is_used_by_bm25_alone(whole: tuple[Path, dict[str, bytes]]) -> None:
    folder, runs = whole
    alone, said = run(folder, "none", "alone")
    assert fields(folder / "indexes") == ALL
    assert "bm25: used again, inputs and settings are the same" in said
    assert alone == {name: run for name, run in runs.items() if name.startswith("bm25")}


def test_in_python_the_index_is_whole_since_a_reranker_may_come(tmp_path: Path) -> None:
    with Experiment(find_tables(), indexes=tmp_path / "indexes", out=tmp_path / "runs") as experiment:
        experiment.retrieve("bm25")
        assert fields(tmp_path / "indexes") == ALL


def test_the_retriever_and_rerankers_share_one_index(tmp_path: Path) -> None:
    with Experiment(find_tables(), indexes=tmp_path / "indexes", out=tmp_path / "runs") as experiment:
        retriever, reranker = experiment.retriever("bm25"), experiment.reranker("polarity")
        assert isinstance(retriever, Bm25)
        assert isinstance(reranker, Polarity)
        assert reranker._bm25 is retriever
        assert retriever.reads_fields
