"""The orders in which assessors get a pool: worked by hand, and what the hidden one must not show."""

import statistics
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heed.addons.judging.pools.selection import ORDERS, TopicPool, hedge, hedge_weights, move_to_front, order_documents
from heed.ranking import fuse

THREE = [["a", "b", "c", "d"], ["e", "b", "f"], ["g", "h"]]
TWO = [["x", "y", "z"], ["y", "w"]]


def part(
    lists: Sequence[Sequence[str]], grades: Mapping[str, int] | None = None, topic: str = "1", cut: str = ""
) -> TopicPool:
    """A pool of all that ``lists`` hold, but what is judged and what ``cut`` names."""
    found, known = fuse(lists), grades or {}
    return TopicPool(topic, [docid for docid in found if docid not in {*known, *cut}], found, lists, known)


@pytest.mark.parametrize(
    ("grades", "order"),
    [
        # nobody is in front: each run in turn gives its next; b of the second run was met in the first
        ({}, "aegbfhcd"),
        # a is relevant, so the first run stays in front and gives b
        ({"a": 1}, "begcfhd"),
        # b is not, so the second run comes; e is relevant, so it gives f (b was met); then g; then by turns
        ({"a": 2, "b": 0, "e": 1}, "fgchd"),
        # the third run alone gave relevant documents, until it ends
        ({"a": 0, "e": 0, "g": 1, "h": 1}, "bfcd"),
    ],
)
def test_move_to_front_by_hand(grades: dict[str, int], order: str) -> None:
    assert "".join(move_to_front(part(THREE, grades))) == order
    assert "".join(order_documents("mtf", part(THREE, grades), 0)) == order


def test_move_to_front_leaves_out_documents_that_were_cut() -> None:
    # without a the first run gives b at its first turn, and the second f
    assert "".join(order_documents("mtf", part(THREE, cut="a"), 0)) == "begcfhd"


def test_hedge_by_hand() -> None:
    # Z = 4 documents. ln(4/r): 1.3863, .6931, .2877, 0. What a run lacks: the mean over the ranks below its
    # end: run 1 ln(4/4) = 0; run 2 (.2877 + 0) / 2 = .1438
    assert hedge_weights(part(TWO)) == [0.5, 0.5]
    # x ½·1.3863 + ½·.1438 = .7651; y ½·.6931 + ½·1.3863 = 1.0397; z ½·.2877 + ½·.1438 = .2158; w ½·0 + ½·.6931 = .3466
    assert hedge(part(TWO)) == ["y", "x", "w", "z"]
    # y relevant: losses −.3466 and −.6931; β^loss = 10^.3466 = 2.2212 and 10^.6931 = 4.9335; of their sum .3104, .6896
    assert hedge_weights(part(TWO, {"y": 1})) == [pytest.approx(0.3104, abs=1e-4), pytest.approx(0.6896, abs=1e-4)]
    # x .3104·1.3863 + .6896·.1438 = .5295; w .6896·.6931 = .4780; z .3104·.2877 + .6896·.1438 = .1885
    assert hedge(part(TWO, {"y": 1})) == ["x", "w", "z"]
    # y not relevant: the weights change places; z .6896·.2877 + .3104·.1438 = .2430; w .3104·.6931 = .2152
    assert hedge_weights(part(TWO, {"y": 0})) == [pytest.approx(0.6896, abs=1e-4), pytest.approx(0.3104, abs=1e-4)]
    assert hedge(part(TWO, {"y": 0})) == ["x", "z", "w"]


def test_many_judgements_do_not_underflow_hedges_weights() -> None:
    lists = [[f"d{number:04}" for number in range(1000)], [f"e{number:04}" for number in range(1000)]]
    weights = hedge_weights(part(lists, dict.fromkeys(lists[0], 0)))
    assert sum(weights) == pytest.approx(1)
    assert weights[1] == pytest.approx(1)
    assert hedge_weights(part(lists, dict.fromkeys(lists[0], 1)))[0] == pytest.approx(1)  # nor overflow them
    assert hedge(part(lists, dict.fromkeys(lists[0][:500], 0)))[:500] == lists[1][:500]


def test_hedge_orders_equal_documents_by_docid() -> None:
    # the same ranks in the other run: equal losses, docid descending
    assert hedge(part([["a", "b"], ["b", "a"]])) == ["b", "a"]


LISTS = st.lists(st.lists(st.sampled_from("abcdefghij"), unique=True, min_size=1, max_size=8), min_size=1, max_size=5)


@given(lists=LISTS, grades=st.dictionaries(st.sampled_from("abcdefghijk"), st.integers(0, 2)))
def test_every_order_holds_every_document_once(lists: list[list[str]], grades: dict[str, int]) -> None:
    one = part(lists, grades)
    for order in ORDERS:
        assert sorted(order_documents(order, one, 3)) == sorted(one.docids)


def test_documents_of_no_list_come_last() -> None:
    one = part(TWO)._replace(docids=["u", "x", "v"])
    for order in ("fused", "mtf", "hedge"):
        assert order_documents(order, one, 0) == ["x", "v", "u"]


LONG = [[f"{run}{number}" for number in range(1000)] for run in ("long-", "s")]


def test_the_hidden_order_is_the_same_whatever_ranks_and_runs_are() -> None:
    one = order_documents("hidden", part(LONG), 7)
    assert order_documents("hidden", part([docids[::-1] for docids in reversed(LONG)]), 7) == one
    assert order_documents("hidden", part([[*LONG[1], *LONG[0]]], {"elsewhere": 1}), 7) == one


def test_the_hidden_order_changes_with_seed_and_topic() -> None:
    one = order_documents("hidden", part(LONG), 7)
    assert order_documents("hidden", part(LONG), 8) != one
    assert order_documents("hidden", part(LONG, topic="2"), 7) != one


def test_the_hidden_order_shows_neither_rank_nor_run() -> None:
    place = {docid: at for at, docid in enumerate(order_documents("hidden", part(LONG), 0))}
    for docids in LONG:
        # 1000 documents: the correlation of two independent orders has a standard deviation of .032
        assert abs(statistics.correlation(range(1000), [place[docid] for docid in docids])) < 0.1
    # the mean place of a run's 1000 of 2000 documents has a standard deviation of 13 around 999.5
    assert abs(statistics.mean(place[docid] for docid in LONG[0]) - 999.5) < 52
