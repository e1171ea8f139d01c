from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from mfollowir_copy import FILES, hub_copy

from heed.datasets.followir import download
from heed.errors import HeedError
from heed.formats.data_sets import is_mfollowir, read_mfollowir


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_the_hub_layout_is_read_from_a_local_copy(tmp_path: Path, form: str) -> None:
    folder = hub_copy(tmp_path / "hub", form)
    assert is_mfollowir(folder, "zho") and not is_mfollowir(folder, "rus")
    read = read_mfollowir(folder, "zho", "zho")
    [topic] = read.topics
    assert topic[:4] == ("12", "zho", "内容", {"original": "要文本", "changed": "要文本，不要标题"})
    assert read.qrels == {"original": {"12": {"u0": 1, "u1": 1}}, "changed": {"12": {"u0": 0, "u1": 1}}}
    assert read.candidates == {"12": ["u0", "u1", "u2", "gone"]}
    assert [path.parent.name for path in read.corpus] == ["corpus-zho"]


@pytest.mark.parametrize("given", ["--year 2023", "--collection hc4", "--translation machine", "--docs-lang eng"])
def test_options_that_mfollowir_does_not_know_are_refused(tmp_path: Path, heed: Heed, given: str) -> None:
    folder = hub_copy(tmp_path / "hub", "jsonl")
    result = heed("pipelines.neuclir", "--lang", "zho", "--topics", folder, *given.split())
    assert result.returncode == 1 and "not used here; mFollowIR has its own" in result.stderr


def test_queries_in_another_language_than_asked_for_are_refused(tmp_path: Path, heed: Heed) -> None:
    """The cross-lingual data set has the names of the other one; fewer than 100 letters would tell nothing."""
    english = [one | {"text": "what it holds, in words of English " * 4} for one in FILES["queries-zho"]]
    folder = hub_copy(tmp_path / "hub", "jsonl", **{"queries_zho": english})
    told = ("--lang", "zho", "--topics", folder, "--retriever", "bm25", "--reranker", "none")
    wrong = heed("pipelines.neuclir", *told)
    assert wrong.returncode == 1 and "its queries are in eng, expected zho; give --query-lang eng" in wrong.stderr
    assert heed("pipelines.neuclir", *told, "--query-lang", "eng").returncode == 0
    assert (tmp_path / "runs/mfollowir/eng-zho/summary.json").exists()


def test_other_documents_have_a_folder_of_their_own(tmp_path: Path, heed: Heed) -> None:
    folder = hub_copy(tmp_path / "hub", "jsonl")
    write_jsonl(tmp_path / "mine.jsonl", [{"id": "u1", "text": "内容文本"}])
    told = ("--topics", folder, "--docs", "mine.jsonl", "--retriever", "bm25", "--reranker", "none")
    assert heed("pipelines.neuclir", "--lang", "zho", *told).returncode == 0
    assert (tmp_path / "runs/mfollowir-mine/zho/summary.json").exists()


@pytest.mark.parametrize("naming", ["{}-zho", "zho-{}", "eng-zho-{}"])
def test_mirrors_with_the_instruction_beside_the_query_are_read(tmp_path: Path, naming: str) -> None:
    # mteb/mFollowIR and mteb/mFollowIRCrossLingual: ids in id, no config instruction
    told = {row["query-id"]: row["instruction"] for row in FILES["instruction-zho"]}
    files = {
        "corpus": [{"id": row["_id"], "text": row["text"], "title": row["title"]} for row in FILES["corpus-zho"]],
        "queries": [{"id": qid, "text": "内容", "instruction": text} for qid, text in told.items()],
        "qrels": FILES["default-zho"],
        "top_ranked": FILES["top_ranked-zho"],
    }
    for config, rows in files.items():
        write_jsonl(tmp_path / "hub" / naming.format(config) / "test.jsonl", rows)
    hub_copy(tmp_path / "full", "jsonl")
    assert is_mfollowir(tmp_path / "hub", "zho") and not is_mfollowir(tmp_path / "hub", "fas")
    read, full = (read_mfollowir(tmp_path / folder, "zho", "zho") for folder in ("hub", "full"))
    assert read[:3] == full[:3] and [path.parent.name for path in read.corpus] == [naming.format("corpus")]


def test_a_missing_config_is_named_with_its_language(tmp_path: Path) -> None:
    with pytest.raises(HeedError, match="no queries-rus; expected Parquet or JSONL"):
        read_mfollowir(hub_copy(tmp_path, "jsonl"), "rus", "rus")


def test_a_query_without_its_instruction_is_an_error(tmp_path: Path) -> None:
    files = hub_copy(tmp_path, "jsonl", instruction_zho=[{"query-id": "12-og", "instruction": "x"}])
    with pytest.raises(HeedError, match="query 12-changed has no row in instruction-zho"):
        read_mfollowir(files, "zho", "zho")


def test_the_hub_out_of_reach_says_what_to_do() -> None:
    with pytest.raises(HeedError, match="hf download --repo-type dataset nobody/mFollowIR"):
        download("nobody/mFollowIR", "zho")


@pytest.mark.parametrize("pool", ["retrieved", "published"])
def test_the_command_runs_on_it(tmp_path: Path, heed: Heed, pool: str) -> None:
    hub_copy(tmp_path / "hub", "parquet")
    result = heed("pipelines.neuclir", "--lang", "zho", "--topics", "hub", "--retriever", "bm25", "--pool", pool)
    assert result.returncode == 0, result.stderr
    lines = (tmp_path / "runs/mfollowir/zho/polarity.changed.run").read_text().splitlines()
    assert len(lines) == (3 if pool == "published" else 6)
    assert ("1 of 4 candidates are not in the collection" in result.stderr) == (pool == "published")
    assert (tmp_path / "runs/mfollowir/zho/summary.json").exists()
