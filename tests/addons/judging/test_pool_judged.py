"""Pools around what is judged already, of several narratives, and what the command refuses."""

import gzip
from pathlib import Path

import pytest
from pool_inputs import RUNS, pooled, refused, write_lists

from heed.formats.trec_files import read_pool
from pipelines.pool import main


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs in the current folder."""
    monkeypatch.chdir(tmp_path)
    write_lists(tmp_path, RUNS)
    return tmp_path


def test_what_is_judged_already_is_left_out_after_ranking(capsys: pytest.CaptureFixture[str]) -> None:
    # grade -1 is trec_eval's "pooled, not judged"; z stands below depth 2 and does not move up for y
    Path("one").write_text("1 0 y 0\n1 0 w -1\n9 0 y 1\n")
    Path("two").write_text("2 0 p 1\n2 0 q 3\n2 0 s 0\n")
    found = pooled(
        "a.run", "b.run", "--depth", 2, "--order", "fused", "--exclude-judged", "one", "--exclude-judged", "two"
    )
    assert found == {"1": ["x", "w"]}
    told = capsys.readouterr().err
    assert "--exclude-judged: 1 of 3 judged topics are not pooled: 9" in told
    assert "1 topic without a document left to judge, left out: 2" in told


@pytest.mark.parametrize(
    "option", [["--qrels"], ["--order", "mtf", "--judged"], ["--exclude-judged"], ["--only-relevant"]]
)
def test_judgements_that_are_not_utf8_are_in_the_encoding_that_is_named(tmp_path: Path, option: list[str]) -> None:
    write_lists(tmp_path, {"a": {"1": ["新闻甲", "b"]}, "b": {"1": ["b", "c"]}})
    Path("q").write_bytes("1 0 新闻甲 1\n".encode("gb18030"))
    assert pooled("a.run", "b.run", *option, "q", "--encoding", "gb18030").keys() == {"1"}


def test_only_relevant_documents_whether_retrieved_or_not(capsys: pytest.CaptureFixture[str]) -> None:
    Path("q").write_text("1 0 z 1\n1 0 x 3\n1 0 y 0\n1 0 unseen 1\n7 0 elsewhere 2\n")
    found = pooled("a.run", "--only-relevant", "q", "--order", "fused")
    assert found == {"1": ["x", "z", "unseen"], "7": ["elsewhere"]}
    told = capsys.readouterr().err
    assert "--only-relevant: 1 of 2 judged topics are not pooled: 7" in told
    assert "--only-relevant: 1 topic of the runs without a relevant document: 2" in told
    Path("again").write_text("1 0 x 0\n")  # what the edited narrative was judged for so far
    assert pooled("--only-relevant", "q", "--exclude-judged", "again", "--topic", 1).keys() == {"1"}
    assert set(read_pool(Path("pool.jsonl"))["1"]) == {"z", "unseen"}


def test_all_relevant_documents_of_the_official_qrels_are_read_again(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # NeuCLIR 2022, Chinese: 1,413 documents of grade 1 and 720 of grade 3 (the track's counts)
    qrels = shared / "neuclir22" / "qrels.neuclir22-zh.txt.gz"
    assert main(["--only-relevant", str(qrels), "--out", str(tmp_path / "pool.jsonl")]) == 0
    assert sum(map(len, read_pool(tmp_path / "pool.jsonl").values())) == 1413 + 720
    assert ": 2133 documents of " in capsys.readouterr().out


NARRATIVES = {
    "s.original": {"12-og": ["a", "b"], "3_0": ["k"]},
    "s.changed": {"12-changed": ["c", "a"], "3_1": ["l"]},
    "s.query": {"12": ["d"], "3": ["m"]},
}


def test_the_narratives_of_a_query_have_a_pool_each_or_one(capsys: pytest.CaptureFixture[str]) -> None:
    paths = write_lists(Path(), NARRATIVES)
    assert pooled(*paths, "--order", "fused") == {
        "3": ["m"],
        "12": ["d"],
        "12-changed": ["c", "a"],
        "12-og": ["a", "b"],
        "3_0": ["k"],
        "3_1": ["l"],
    }
    assert "--by-base makes one pool of each query" in capsys.readouterr().err
    # a 1/61 + 1/62; d and c 1/61, docid descending; b 1/62
    assert pooled(*paths, "--order", "fused", "--by-base") == {"3": ["m", "l", "k"], "12": ["a", "d", "c", "b"]}
    assert "by base: 6 topics make 2 pools" in capsys.readouterr().err


def test_a_document_is_judged_for_a_query_when_it_is_for_all_its_narratives() -> None:
    paths = write_lists(Path(), NARRATIVES)[:2]
    Path("q").write_text("12-og 0 a 1\n12-og 0 b 1\n12-changed 0 a 0\n3 0 k 1\n")
    # a is judged under both narratives, b under one; k under the query itself, which no run asks
    found = pooled(*paths, "--by-base", "--order", "fused", "--exclude-judged", "q")
    assert found == {"3": ["l"], "12": ["c", "b"]}


def test_runs_of_several_conditions_with_the_same_ids_make_one_pool() -> None:
    paths = write_lists(Path(), {"s.original": {"12": ["a", "b"]}, "s.changed": {"12": ["c", "a"]}})
    assert pooled(*paths, "--order", "fused") == {"12": ["a", "c", "b"]}


def test_faults_of_runs_are_told_with_file_and_line_and_the_old_pool_stays(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pooled("a.run")
    before = Path("pool.jsonl").read_bytes()
    Path("bad.run").write_text("1 Q0 x 1 2.0 t\n1 Q0 y 2 t\n1 Q0 x 3 1.0 t\n")
    assert main(["a.run", "bad.run", "--out", "pool.jsonl"]) == 1
    told = capsys.readouterr().err
    assert "bad.run, line 2: 5 columns, expected 6" in told
    assert "bad.run, line 3: document x is listed again for topic 1" in told
    assert Path("pool.jsonl").read_bytes() == before
    assert sorted(path.name for path in files.iterdir()) == ["a.run", "b.run", "bad.run", "pool.jsonl"]


def test_the_same_file_twice_is_an_error_and_the_same_lists_twice_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert "a.run: the same file is given 2 times; give it once" in refused(
        capsys, "a.run", f"./../{Path().resolve().name}/a.run"
    )
    Path("copy.run").write_bytes(Path("a.run").read_bytes())
    pooled("a.run", "copy.run")
    assert "runs a and copy hold the same lists and scores" in capsys.readouterr().err
    Path("pool.jsonl").unlink()
    Path("a.run.gz").write_bytes(gzip.compress(Path("a.run").read_bytes()))
    assert "a.run and a.run.gz: would have one name with another; rename one" in refused(capsys, "a.run", "a.run.gz")
