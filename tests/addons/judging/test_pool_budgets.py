"""How much is judged: budgets over topics and languages, and stratified samples."""

import gzip
import json
import statistics
from fractions import Fraction
from pathlib import Path

import pytest
from conftest import write_jsonl
from hypothesis import given
from hypothesis import strategies as st
from pool_inputs import write_lists

from heed.addons.judging.pools.build import document_languages
from heed.addons.judging.pools.selection import count_strata, draw_sample, parse_strata, spend
from heed.errors import HeedError
from heed.formats.trec_files import read_pool
from heed.ranking import fuse
from pipelines.pool import main

# depth 1 holds x1 | p1 q1; depth 2 adds x2 y2 | p2; depth 3 adds x3 y3 | p3 q3
FOUND = {
    "1": fuse([["x1", "x2", "x3"], ["x1", "y2", "y3"]]),
    "2": fuse([["p1", "p2", "p3"], ["q1", "p2", "q3"]]),
}


@pytest.mark.parametrize(
    ("budget", "chosen"),
    [
        (3, {"1": {"x1"}, "2": {"p1", "q1"}}),
        (6, {"1": {"x1", "x2", "y2"}, "2": {"p1", "q1", "p2"}}),
        # two more than depth 1: of depth 2 p2 has 2/62, y2 and x2 1/62 each and go by docid, descending
        (5, {"1": {"x1", "y2"}, "2": {"p1", "q1", "p2"}}),
        # less than depth 1: x1 has 2/61, q1 and p1 1/61 each
        (2, {"1": {"x1"}, "2": {"q1"}}),
        (10, {"1": {"x1", "x2", "y2", "x3", "y3"}, "2": {"p1", "q1", "p2", "p3", "q3"}}),
    ],
)
def test_a_budget_reads_all_topics_to_the_same_depth(budget: int, chosen: dict[str, set[str]]) -> None:
    assert {topic: set(found) for topic, found in spend(FOUND, budget).items()} == chosen


LISTS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8), min_size=1, max_size=4)


@given(topics=st.dictionaries(st.sampled_from("123"), LISTS, min_size=1), budget=st.integers(1, 30))
def test_a_budget_is_spent_and_no_topic_is_read_deeper_than_another_by_two(
    topics: dict[str, list[list[str]]], budget: int
) -> None:
    found = {topic: fuse(lists) for topic, lists in topics.items()}
    chosen = spend(found, budget)
    assert sum(map(len, chosen.values())) == min(budget, sum(map(len, found.values())))
    deepest = max((one.rank for mine in chosen.values() for one in mine.values()), default=0)
    left = [one.rank for topic, mine in found.items() for docid, one in mine.items() if docid not in chosen[topic]]
    assert min(left, default=deepest) >= deepest


@pytest.fixture
def multilingual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_lists(tmp_path, {"mlir": {"1": ["z1", "z2", "f1", "z3", "f2"], "2": ["f3", "z4"]}})
    (tmp_path / "zho.ids").write_text("z1\nz2\nz3\nz4\nz99\n\n")
    write_jsonl(tmp_path / "fas" / "docs.jsonl", [{"id": f"f{number}", "text": "-"} for number in range(1, 4)])
    return tmp_path


def test_lists_are_split_by_language_before_they_are_pooled(
    multilingual: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["--language", "zho=zho.ids", "--language", "fas=fas"]
    assert main(["mlir.run", *told, "--depth", "1", "--order", "fused", "--out", "p.jsonl"]) == 0
    # f1 is the first Persian document of topic 1, z4 the first Chinese one of topic 2; equal scores: docid descending
    assert read_pool(Path("p.jsonl")) == {"1": ["z1", "f1"], "2": ["z4", "f3"]}
    assert "by language: fas 2, zho 2" in capsys.readouterr().out


def test_budgets_of_languages_and_one_for_all(multilingual: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = ["mlir.run", "--language", "zho=zho.ids", "--language", "fas=fas", "--order", "fused", "--out", "p.jsonl"]
    assert main([*told, "--budget", "zho=2", "--budget", "fas=9"]) == 0
    # Chinese depth 1 is z1 and z4; the three Persian documents are fewer than their budget
    assert read_pool(Path("p.jsonl")) == {"1": ["z1", "f1", "f2"], "2": ["z4", "f3"]}
    assert "budget of 9 in fas: only 3 documents to choose from" in capsys.readouterr().err
    assert main([*told, "--budget", "zho=1", "--budget", "3"]) == 0
    # of z1 (the best fused; topic 1 first), f1, f3 and f2 the three of depth 1
    assert read_pool(Path("p.jsonl")) == {"1": ["z1", "f1"], "2": ["f3"]}


@given(st.lists(st.integers(1, 200), min_size=1, max_size=12))
def test_a_fused_score_is_the_exact_sum_rounded_once(ranks: list[int]) -> None:
    lists = [[f"{at}-{other}" for other in range(1, rank)] + ["d"] for at, rank in enumerate(ranks)]
    exact = sum((Fraction(1 / (60 + rank)) for rank in ranks), Fraction())
    assert fuse(lists)["d"] == (min(ranks), float(exact))


def test_a_budget_for_a_language_of_no_document_is_an_error(
    multilingual: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (multilingual / "rus.ids").write_text("r1\n")
    told = ["--language", "zho=zho.ids", "--language", "fas=fas", "--language", "rus=rus.ids"]
    assert main(["mlir.run", *told, "--budget", "rus=2", "--out", "p.jsonl"]) == 1
    assert "budget: no pooled document is in rus; expected one of fas, zho" in capsys.readouterr().err


def test_languages_are_read_from_lists_documents_and_folders(tmp_path: Path) -> None:
    (tmp_path / "zho.txt.gz").write_bytes(gzip.compress(b"a\nb\n"))
    write_jsonl(tmp_path / "fas" / "one.jsonl", [{"_id": "c", "text": "-"}, {"doc_id": 4, "text": "-"}])
    given_files = [("zho", tmp_path / "zho.txt.gz"), ("fas", tmp_path / "fas")]
    assert document_languages(given_files, ["4", "c", "b"]) == {"b": "zho", "c": "fas", "4": "fas"}
    with pytest.raises(HeedError, match="2 of 3 documents of the runs are in none of the files: y, z; add the file"):
        document_languages(given_files, ["z", "a", "y"])
    (tmp_path / "rus").write_text("c\n")
    with pytest.raises(HeedError, match="document c: in the files of fas and of rus"):
        document_languages([*given_files, ("rus", tmp_path / "rus")], ["c"])
    write_jsonl(tmp_path / "bad.jsonl", [{"id": "a", "text": "-"}, {"text": "-"}])
    with pytest.raises(HeedError, match=r"bad.jsonl, line 2: found text, expected an id in id, _id"):
        document_languages([("zho", tmp_path / "bad.jsonl")], ["a"])
    with pytest.raises(HeedError, match="no such file or folder"):
        document_languages([("zho", tmp_path / "absent")], ["a"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected FIRST-LAST:SHARE"),
        ("1-10:1/0", "expected FIRST-LAST:SHARE"),
        ("2-10:1", "expected a stratum from rank 1"),
        ("1-10:1,10-20:.5", "expected a stratum from rank 11"),
        ("1-10:1,11-9:.5", "expected a stratum from rank 11"),
        ("1-10:0", "expected a share above 0"),
        ("1-10:1.5", "expected a share above 0 and up to 1"),
    ],
)
def test_wrong_strata_are_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_strata(text)


def test_a_sample_its_probabilities_and_what_is_estimated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lists(tmp_path, {"a": {"7": ["a", "b", "c"]}, "b": {"7": ["a", "c", "d"]}})
    # best ranks: a 1, b 2, c 2, d 3; of the three below rank 1, ceil(.5 · 3) = 2 are drawn, with probability 2/3
    assert main(["a.run", "b.run", "--sample", "1-1:1.0,2-3:0.5", "--out", "s.jsonl"]) == 0
    lines = [line.split(" ") for line in (tmp_path / "s.prels").read_text().splitlines()]
    assert lines[0] == ["7", "1", "a", "1.0"]
    assert [(line[0], line[1], line[3]) for line in lines[1:]] == [("7", "2", "0.6666666666666666")] * 2
    drawn = [line[2] for line in lines[1:]]
    assert set(drawn) < {"b", "c", "d"}
    assert sorted(read_pool(tmp_path / "s.jsonl")["7"]) == sorted(["a", *drawn])
    assert "1-1:1            1      1       0         0                   -" in capsys.readouterr().out
    # a and one of the two drawn are relevant: 1 / 1 and 1 / (2/3)
    (tmp_path / "q").write_text(f"7 0 a 1\n7 0 {drawn[0]} 0\n7 0 {drawn[1]} 3\n")
    again = ["--sample", "1-1:1.0,2-3:0.5", "--out", "s.jsonl", "--qrels", "q", "--json", "s.json"]
    assert main(["a.run", "b.run", *again]) == 0
    figures = json.loads((tmp_path / "s.json").read_text())["strata"]
    assert figures == [
        {"stratum": "1-1:1", "documents": 1, "drawn": 1, "judged": 1, "relevant": 1, "estimated": 1.0},
        {"stratum": "2-3:0.5", "documents": 3, "drawn": 2, "judged": 2, "relevant": 1, "estimated": 1.5},
    ]
    assert main(["a.run", "--out", "s.jsonl"]) == 0  # another pool: the probabilities beside it are not its own
    assert "s.prels: removed, it was of an earlier sample" in capsys.readouterr().err
    assert not (tmp_path / "s.prels").exists()
    assert main(["a.run", "--sample", "1-3:1", "--out", "s.prels"]) == 1


def test_a_documents_stratum_is_its_best_rank() -> None:
    # c is third of one list and second of the other: fused 1/63 + 1/62, before b's 1/62
    found = fuse([["a", "b", "c"], ["a", "c", "d"]])
    layers = draw_sample({"7": found}, parse_strata("1-1:1,2-2:1,3-3:1"), 0)["7"]
    assert [layer.documents for layer in layers] == [["a"], ["c", "b"], ["d"]]


STRATA = parse_strata("1-9:1,10-1000:0.1")
RANKED = fuse([[f"d{number:04}" for number in range(1000)]])


def test_a_sample_is_the_same_for_a_seed_and_grows_with_the_share() -> None:
    pools = {"1": RANKED, "2": RANKED}
    sample = draw_sample(pools, STRATA, 3)
    assert draw_sample(pools, STRATA, 3) == sample != draw_sample(pools, STRATA, 4)
    assert [len(layer.drawn) for layers in sample.values() for layer in layers] == [9, 100] * 2  # ceil(.1 · 991)
    assert set(sample["1"][1].drawn) != set(sample["2"][1].drawn)
    more = draw_sample(pools, [STRATA[0], STRATA[1]._replace(share=2 * STRATA[1].share)], 3)
    assert set(sample["1"][1].drawn) < set(more["1"][1].drawn)


def test_a_samples_hidden_order_does_not_show_the_stratum(tmp_path: Path) -> None:
    write_lists(tmp_path, {"a": {"1": list(RANKED)}})
    out = tmp_path / "s.jsonl"
    assert main([str(tmp_path / "a.run"), "--sample", "1-100:1,101-1000:0.11", "--out", str(out)]) == 0
    docids = read_pool(out)["1"]
    first = [at for at, docid in enumerate(docids) if docid < "d0100"]
    assert (len(docids), len(first)) == (199, 100)
    # the mean place of 100 of 199 has a standard deviation of 4.1 around 99
    assert abs(statistics.mean(first) - 99) < 16


def test_the_estimate_is_unbiased() -> None:
    # 10 documents, 4 relevant, ceil(.3 · 10) = 3 drawn: standard deviation of one estimate
    # 10 · sqrt(.4 · .6 / 3 · 7 / 9) = 2.5, of the mean of 2000 seeds .056
    found = fuse([[f"d{number}" for number in range(10)]])
    strata = parse_strata("1-10:0.3")
    grades = {"1": {f"d{number}": int(number < 4) for number in range(10)}}
    estimates = [
        count_strata(strata, draw_sample({"1": found}, strata, seed), grades)[0].estimated for seed in range(2000)
    ]
    assert statistics.mean(one for one in estimates if one is not None) == pytest.approx(4, abs=0.22)
