"""IRS, NFR, WISE, SICR, Robustness@k by hand and by the published programs; p-MRR by MTEB's."""

import itertools
import math
import random

import pytest
from comparing import order
from hypothesis import given
from hypothesis import strategies as st

from heed.errors import HeedError
from heed.measures import irs, mean, mean_rank, nfr, p_mrr, sicr, still_relevant, wise
from heed.measures.per_topic import Inputs
from heed.measures.two_runs import compare

# w(r) = 1 / log2(r + 1), to six places, from a table of logarithms
W = {1: 1.0, 2: 0.630930, 3: 0.5, 4: 0.430677, 5: 0.386853, 6: 0.356207, 7: 1 / 3}


def at(rank: int, score: float = 0.0, length: int = 40) -> dict[str, float]:
    """A list with the document ``gold`` at ``rank`` and ``score``."""
    others = {f"x{place:02}": score + (rank - place - 1.5) for place in range(length)}
    return {"gold": score} | others


@pytest.mark.golden(program="mteb 2.26.24", compared="p-MRR", systems=())
def test_p_mrr_equals_mtebs_on_200_random_cases() -> None:
    """mteb 2.26.24, ``calculate_pmrr``: ties, missing documents and topics that one run lacks."""
    from mteb._evaluators.retrieval_metrics import calculate_pmrr

    chooser = random.Random(20261121)
    for _ in range(200):
        documents = [f"d{number}" for number in range(chooser.randint(3, 30))]
        changed = {str(qid): chooser.sample(documents, chooser.randint(1, 3)) for qid in range(chooser.randint(2, 6))}

        def run(
            documents: list[str] = documents, changed: dict[str, list[str]] = changed
        ) -> dict[str, dict[str, float]]:
            kept = [qid for qid in changed if qid == "0" or chooser.random() > 0.1]
            some = {qid: chooser.sample(documents, chooser.randint(1, len(documents))) for qid in kept}
            return {
                qid: {docid: chooser.choice([0.1, 0.5, 0.5, 2.0]) for docid in docids} for qid, docids in some.items()
            }

        base, new = run(), run()
        og = {f"{qid}-og": scores for qid, scores in base.items()}
        theirs = calculate_pmrr(og, {f"{qid}-changed": scores for qid, scores in new.items()}, changed)
        assert mean(p_mrr(base, new, changed)) == pytest.approx(theirs, abs=1e-12)


def test_irs_worked_by_hand() -> None:
    base = {"q": order("p1", "n1", "o1", "p2", "n2", "o2")}  # Σ = (w1 + w4) − (w2 + w5)
    new = {"q": order("p1", "o1", "p2", "o2", "n1", "n2")}  # Σ = (w1 + w3) − (w5 + w6)
    before, after = W[1] + W[4] - W[2] - W[5], W[1] + W[3] - W[5] - W[6]
    ideal = W[1] + W[2] - W[5] - W[6]
    wanted, unwanted = {"q": ["p1", "p2"]}, {"q": ["n1", "n2"]}
    expected = (after - before) / (ideal - before)
    assert expected == pytest.approx(0.7244, abs=1e-4)
    assert irs(base, new, wanted, unwanted, 6)["q"] == pytest.approx(expected, abs=1e-5)
    # the other way: S is negative and the worst has the mirrored sum
    assert irs(new, base, wanted, unwanted, 6)["q"] == pytest.approx((before - after) / (ideal + after), abs=1e-5)


FIGURE_7 = (
    "p1 p2 o1 o2 n1 n2",
    "p1 o1 p2 o2 n1 n2",
    "p1 o1 p2 n1 o2 n2",
    "o1 p1 n1 p2 o2 n2",
    "n1 o1 p1 n2 o2 p2",
    "n1 n2 o1 o2 p1 p2",
)


@pytest.mark.parametrize("base", ["p1 n1 o1 p2 n2 o2", "p1 p2 o1 o2 n1 n2"], ids=["random", "ideal"])
@pytest.mark.parametrize("variant", ["paper", "released"])
def test_irs_falls_with_every_step_of_figure_7(base: str, variant: str) -> None:
    wanted, unwanted = {"q": ["p1", "p2"]}, {"q": ["n1", "n2"]}
    runs = [{"q": order(*step.split())} for step in FIGURE_7]
    values = [irs({"q": order(*base.split())}, run, wanted, unwanted, 6, variant)["q"] for run in runs]
    assert all(first > second for first, second in itertools.pairwise(values))
    ideal_kept = base == FIGURE_7[0]
    assert values[0] == (1 if variant == "paper" or not ideal_kept else 0)
    assert values[-1] == pytest.approx(-1)


@pytest.mark.parametrize("variant", ["paper", "released"])
def test_irs_without_judged_documents_is_0_and_counts(variant: str) -> None:
    """FollowTable, below equation 4, and the first lines of ``irs`` in ``eval/irs.py``: 0 where both sets are empty."""
    run = {"1": order("a", "b"), "2": order("a", "b"), "3": order("a")}
    new = {"1": order("b", "a"), "2": order("b", "a")}
    wanted: dict[str, list[str]] = {"1": ["b"], "2": [], "3": []}
    assert irs(run, new, wanted, {"2": []}, 2, variant) == {"1": 1.0, "2": 0.0}  # topic 3 is in one run only
    assert irs(run, new, {"2": []}, {}, 2, variant) == {"2": 0.0}


def test_irs_counts_a_judged_topic_without_relevant_documents() -> None:
    runs = {"1": order("a", "b"), "2": order("a", "b")}, {"1": order("b", "a"), "2": order("b", "a")}
    qrels = {"1": {"a": 1, "b": 1}, "2": {"a": 0}}, {"1": {"a": 0, "b": 1}, "2": {"a": 0}}
    values = compare(Inputs(*runs, *qrels, {"1": "1", "2": "2"}, corpus_size=2), [])
    assert (values["IRS"], values["p-MRR"]) == ({"1": 1.0, "2": 0.0}, {"1": 0.5})


@pytest.mark.parametrize("variant", ["paper", "released"])
@pytest.mark.parametrize(("size", "good", "bad"), [(74, 12, 49), (180, 29, 144), (570, 33, 261)])
def test_irs_a_base_that_becomes_ideal_scores_exactly_1(size: int, good: int, bad: int, variant: str) -> None:
    documents = [f"d{number:03}" for number in range(size)]
    base = {"q": order(*random.Random(size).sample(documents, size))}
    ideal = {"q": order(*documents)}
    sets = {"q": documents[:good]}, {"q": documents[size - bad :]}
    assert irs(base, ideal, *sets, size, variant) == {"q": 1.0}
    assert irs(ideal, ideal, *sets, size, variant) == {"q": 1.0 if variant == "paper" else 0.0}


def test_irs_a_missing_document_passes_1_in_the_code_only() -> None:
    base, new = {"q": order("n1", "p1", "o1")}, {"q": order("p1", "o1")}
    # code: n1 at rank N + 1 = 4; paper: n1 alone at the bottom rank 3, which is the ideal
    gain = (W[1] - W[2]) - (W[4] - W[1])
    ideal = (W[1] - W[3]) - (W[2] - W[1])
    assert irs(base, new, {"q": ["p1"]}, {"q": ["n1"]}, 3, "released")["q"] == pytest.approx(gain / ideal, abs=1e-5)
    assert gain / ideal > 1
    assert irs(base, new, {"q": ["p1"]}, {"q": ["n1"]}, 3)["q"] == pytest.approx(1)


def test_irs_of_a_worst_base_that_loses_its_document_is_0_in_the_code() -> None:
    """``eval/irs.py``: 0 where the worst ranking is the base's own, though a missing document has a rank below it."""
    base, new = {"q": order("b", "c", "a")}, {"q": order("b", "c")}
    assert irs(base, new, {"q": ["a"]}, {}, 3, "released") == {"q": 0.0}
    assert irs(base, new, {"q": ["a"]}, {}, 3) == {"q": 0.0}


def test_irs_documents_missing_together_share_the_bottom_ranks() -> None:
    # base lacks n1 and n2: each weighs (w5 + w6) / 2 of six documents; new lacks n2 alone: w6
    base, new = {"q": order("o1", "o2", "p1")}, {"q": order("p1", "n1")}
    before, after = W[3] - (W[5] + W[6]), W[1] - (W[2] + W[6])
    expected = (after - before) / (W[1] - W[5] - W[6] - before)
    assert expected == pytest.approx(0.512, abs=1e-3)
    assert irs(base, new, {"q": ["p1"]}, {"q": ["n1", "n2"]}, 6)["q"] == pytest.approx(expected, abs=1e-5)


IDS = [f"d{number}" for number in range(9)]
LISTS = st.dictionaries(st.sampled_from(IDS), st.sampled_from([0.0, 1.0, 2.0]))
SETS = st.sets(st.sampled_from(IDS[:6]), min_size=1, max_size=4)


@given(LISTS, LISTS, SETS, SETS)
def test_irs_stays_between_minus_1_and_1(
    base: dict[str, float], new: dict[str, float], wanted: set[str], unwanted: set[str]
) -> None:
    value = irs({"q": base}, {"q": new}, {"q": wanted}, {"q": unwanted - wanted}, len(IDS))["q"]
    assert -1 - 1e-12 <= value <= 1 + 1e-12


@given(LISTS, SETS, SETS)
def test_identical_runs_have_irs_0_unless_they_are_ideal(
    run: dict[str, float], wanted: set[str], unwanted: set[str]
) -> None:
    value = irs({"q": run}, {"q": dict(reversed(run.items()))}, {"q": wanted}, {"q": unwanted - wanted}, 9)["q"]
    assert value in (0.0, 1.0)
    assert p_mrr({"q": run}, {"q": run}, {"q": wanted}) == {"q": 0.0}


def test_irs_refuses_a_corpus_that_is_too_small() -> None:
    with pytest.raises(HeedError, match="fit into a corpus of 2"):
        irs({"q": order("a", "b")}, {"q": order("a", "b")}, {"q": ["c"]}, {"q": ["a"]}, 2)


def test_nfr_is_the_share_of_traps_that_rose() -> None:
    base, new = {"q": order("a", "b", "c", "d")}, {"q": order("b", "a", "c")}
    assert nfr(base, new, {"q": ["a", "b", "c", "d"]}) == {"q": 0.25}  # b rose, c stayed, a and d fell (d: 4 to 4)


@pytest.mark.parametrize(
    ("original", "instructed", "reverse", "paper", "released"),
    [
        (3, 1, 4, 1.0, 1 - math.sqrt(2) / 20),  # full reward at o = n: in the paper only
        (2, 1, 4, 1.0, 1.0),
        (10, 4, 11, 0.35, (1 - math.sqrt(6) / 20) / 2),  # the step under a root in the released program only
        (1, 1, 2, 1.0, 1.0),
        (4, 4, 9, 0.5, 0.5),  # no reaction to the instruction still earns 1/√i
        (25, 3, 30, 0.01, 0.01),
        (4, 8, 2, -1.0, -1.0),
        (4, 8, 9, -0.5, -0.5),
        (8, 2, 4, -0.5, -0.5),
        (8, 2, 8, 0.0, 0.0),  # reversed stays where the original was
        (5, 5, 2, 0.0, 0.0),  # two clauses of equation 8 hold, (o − i) / i stands above (r − o) / o = −0.6
        (5, 8, 5, -0.375, -0.375),  # the same: (o − i) / i, not 0
    ],
)
def test_wise_by_hand_in_both_variants(
    original: int, instructed: int, reverse: int, paper: float, released: float
) -> None:
    runs = tuple({"q": at(rank)} for rank in (original, instructed, reverse))
    for variant, expected in (("paper", paper), ("released", released)):
        assert wise(runs, {"q": ["gold"]}, {"q": 3}, variant=variant)["q"] == pytest.approx(expected, abs=1e-12), (
            variant
        )


def test_wise_takes_k_and_averages_over_gold_documents() -> None:
    runs = ({"q": order("a", "x", "gold")}, {"q": order("a", "gold", "x")}, {"q": order("x", "y", "gold", "a")})
    # gold: 3, 2, 3 -> reversed not worse: 0; a: 1, 1, 4 -> 1
    assert wise(runs, {"q": ["gold", "a"]}, {"q": 1})["q"] == pytest.approx(0.5)
    graded = tuple({"q": at(rank)} for rank in (10, 4, 11))
    assert wise(graded, {"q": ["gold"]}, {"q": 3}, k=10)["q"] == pytest.approx((1 - 6 / 10) / 2)


def test_sicr_by_hand_in_both_variants() -> None:
    falls = {"q": at(9, score=0.1)}
    complying = ({"q": at(5, score=0.5)}, {"q": at(2, score=0.9)}, falls)
    assert sicr(complying, {"q": ["gold"]}) == {"q": 1.0}
    lower_score = ({"q": at(5, score=0.5)}, {"q": at(2, score=0.5)}, falls)
    assert sicr(lower_score, {"q": ["gold"]}) == {"q": 0.0}
    first_already = ({"q": at(1, score=0.5)}, {"q": at(1, score=0.5)}, falls)
    assert sicr(first_already, {"q": ["gold"]}) == {"q": 0.0}
    assert sicr(first_already, {"q": ["gold"]}, "released") == {"q": 1.0}
    # a document that only the instructed run finds, with a negative score: the code compares it with 0
    found = ({"q": order("a", "b")}, {"q": {"gold": -1.0, "a": -2.0, "b": -3.0}}, {"q": order("a", "b", "c", "d")})
    assert sicr(found, {"q": ["gold"]}) == {"q": 0.0}  # original and reversed both miss it: not better than reversed
    listed = ({"q": {"a": 5.0, "gold": -2.0}}, {"q": {"gold": -1.0}}, {"q": order("a", "b")})
    assert sicr(listed, {"q": ["gold"]}) == {"q": 1.0}
    assert sicr(listed, {"q": ["gold"]}, "released") == {"q": 0.0}  # −2 is not above the made-up 0


def test_sicr_of_several_gold_documents_counts_only_the_last_in_the_code() -> None:
    runs = (
        {"q": {"a": 0.5, "x": 0.9, "b": 0.1}},
        {"q": {"a": 0.95, "x": 0.9, "b": 0.05}},
        {"q": {"x": 0.9, "y": 0.8, "a": 0.2, "b": 0.0}},
    )
    assert sicr(runs, {"q": ["a", "b"]}) == {"q": 0.5}
    assert sicr(runs, {"q": ["a", "b"]}, "released") == {"q": 0.0}
    assert sicr(runs, {"q": ["b", "a"]}, "released") == {"q": 0.5}


def test_mean_gold_rank() -> None:
    assert mean_rank({"q": order("a", "b", "c")}, {"q": ["b", "c", "absent"]}) == {"q": pytest.approx((2 + 3 + 4) / 3)}


def test_documents_that_stay_relevant() -> None:
    assert still_relevant({"1": {"a": 3, "b": 1}, "2": {"a": 1}}, {"1": {"a": 1, "b": 0}}) == {"1": {"a"}}
