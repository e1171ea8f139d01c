"""Ranks counted by hand in the printed tables that ``heed published`` shows."""

from dataclasses import replace
from pathlib import Path

import pytest
from report_folders import write_results

from heed.addons.published.standings import comparable, explanations, near_text, published_text
from heed.measures.summary import Row
from heed.report.page import page
from heed.report.plots import plots
from heed.report.results import ResultsFolder, read_tree


def row(system: str, condition: str, measure: str, value: float) -> Row:
    return Row(system=system, condition=condition, measure=measure, value=value, n=1)


@pytest.mark.parametrize(
    ("setting", "column", "ours", "place"),
    [
        # Table 4: mT5-13B 4.5 and two more above, Jina 4.4 equal, of 18
        (
            "mfollowir zho",
            "original>changed p-MRR",
            0.044,
            "4 of 19 mT5-13B-mmarco-100k 4.5 Jina-reranker-v2-multi 4.4",
        ),
        # Table 5: INSTRUCTOR-XL 30.4 above, TART 25.5 below, of 7
        ("followir robust04-full", "query AP", 0.26, "2 of 8 INSTRUCTOR-XL 30.4 TART-Contriever 25.5"),
        # Table 2: GPT-4o 33.5 alone above, of 18; WISE of three runs stands under the first two
        ("infosearch average", "query>original WISE", 0.2, "2 of 19 GPT-4o 33.5 RankZephyr-v1 14.5"),
        # Table 3: GPT-4o, Llama-3.1, FollowIR, list-wise Mistral and BM25's doubtful 1.97 above
        ("infosearch source", "query>original WISE", 0.0196, "6 of 19 BM25 1.97* RankZephyr-v1 -0.3"),
    ],
)
def test_a_figure_stands_between_its_neighbours(setting: str, column: str, ours: float, place: str) -> None:
    (collection, subset), (condition, measure) = setting.split(), column.split()
    text = near_text(collection, subset, [row("a", condition, measure, ours)])
    assert f"{100 * ours:.1f} {place}" in " ".join(text.splitlines()[2].split())


def test_the_same_language_and_english_queries_are_apart() -> None:
    ours = [row("a", "original>changed", "p-MRR", 0.05)]
    assert "mFollowIR's Table 4, zho" in near_text("mfollowir", "zho", ours)
    assert "mFollowIR's Table 3, eng-zho" in near_text("mfollowir", "eng-zho", ours)


@pytest.mark.parametrize(("collection", "subset"), [("followtable", "WTR-rows"), ("followir", "robust05")])
def test_nothing_stands_beside_what_no_paper_ran(collection: str, subset: str) -> None:
    assert comparable(collection, subset) == {}
    assert near_text(collection, subset, [row("a", "query", "nDCG@10", 0.5)]) == ""


@pytest.mark.parametrize("collection", ["neuclir-sample", "mfollowir-mine"])
def test_of_a_collection_that_no_paper_has_there_are_no_figures(collection: str) -> None:
    results = ResultsFolder(collection, "zho", [])
    assert results.of_papers("published rows") is None
    assert results.published(("original", "nDCG@20")) == {}
    assert replace(results, collection="mfollowir").of_papers("published rows") is published_text


def test_a_measure_or_condition_that_a_paper_lacks_is_left_out() -> None:
    assert near_text("followtable", "WTR", [row("a", "changed", "nDCG@10", 0.5), row("a", "query", "AP", 0.5)]) == ""


def test_the_whole_column_is_in_order_with_ones_own_marked() -> None:
    ours = [row("mine", "query>original", "NFR", 0.5), row("mine", "query", "nDCG@10", 0.8)]
    lines = published_text("followtable", "IndusTR", ours, every=True)[0].splitlines()
    assert lines[1].split() == ["system", "nDCG@10", "query"]
    values = [float(line.split()[-1].rstrip("*")) for line in lines[2:]]
    assert values == sorted(values, reverse=True) and len(values) == 15 + 1
    assert "→ mine" in lines[2 + values.index(80.0)]


def test_a_systems_name_in_two_groups_is_told_apart() -> None:
    text, _ = published_text("infosearch", "average", [row("mine", "query>original", "SICR", 0.5)], every=True)
    assert [line.split("  ")[0] for line in text.splitlines() if line.startswith("Mistral")] == [
        "Mistral-ins-v0.2 (List-wise Reranking)",
        "Mistral-ins-v0.2 (Point-wise Reranking)",
        "Mistral-ins-v0.2 (Dense Retrieval)",
    ]


def test_what_explains_a_difference_is_said_where_it_belongs() -> None:
    assert len(explanations("followtable", "WTR", ["bm25", "lsa"])) == 1
    [chosen] = explanations("followtable", "WTR", ["polarity"])
    assert "chosen on these topics" in chosen and "held out" in chosen
    assert explanations("followtable", "WQT", ["bm25"]) == explanations("followtable", "WTR", ["lsa"]) == []


def test_the_report_says_it_beside_the_published_systems(tmp_path: Path) -> None:
    rows = [row("polarity", "original", "nDCG@10", 0.7), row("polarity", "query>original", "IRS", 0.32)]
    [chosen] = explanations("followtable", "WTR", ["polarity"])
    for subset, count in (("WTR", 1), ("WQT", 0)):
        folder = write_results(tmp_path / subset, rows, "followtable", subset)
        assert page(read_tree(folder), folder).count(chosen) == count


def test_a_chart_has_the_systems_of_papers_in_grey(tmp_path: Path) -> None:
    rows = [row("a", "original", "nDCG@10", 0.164), row("a", "query>original", "IRS", 0.032)]
    [plane] = plots(read_tree(write_results(tmp_path, rows, "followtable", "WTR")))
    assert "Grey: systems of papers" in plane.note
    assert any("published system: Promptriever" in str(layer["data"]) for layer in plane.spec["layer"])
