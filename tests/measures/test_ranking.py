import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heed.measures.per_topic import RankedRun, ranks_of
from heed.ranking import ranked, ranks, top

SCORES = st.dictionaries(
    st.text("ab7é中", min_size=1, max_size=4), st.sampled_from([0.0, -1.5, 1 / 3, 2.0]), max_size=12
)


def test_ties_fall_by_docid_descending() -> None:
    assert ranked({"a": 1.0, "c": 1.0, "b": 2.0}) == ["b", "c", "a"]


@given(SCORES, st.randoms())
def test_insertion_order_never_matters(scores: dict[str, float], chooser: random.Random) -> None:
    items = list(scores.items())
    chooser.shuffle(items)
    assert ranked(dict(items)) == ranked(scores)


@given(SCORES, st.integers(0, 15))
def test_top_is_the_head_of_the_order(scores: dict[str, float], depth: int) -> None:
    assert list(top(scores, depth)) == ranked(scores)[:depth]


@given(SCORES, st.lists(st.text("ab7é中", min_size=1, max_size=2)))
def test_ranks_are_places_in_the_order(scores: dict[str, float], docids: list[str]) -> None:
    order = ranked(scores)
    assert ranks(scores, docids) == [1 + (order.index(one) if one in order else len(order)) for one in docids]


@given(SCORES, st.lists(st.lists(st.text("ab7é中", min_size=1, max_size=2))))
def test_documents_asked_for_one_after_the_other_have_the_ranks_of_a_whole_list(
    scores: dict[str, float], requests: list[list[str]]
) -> None:
    run = RankedRun({"q": scores})
    for docids in requests:
        assert ranks_of([run], {"q": docids}).values.ravel().tolist() == ranks(scores, docids)


@pytest.mark.golden(program="pytrec-eval-terrier 0.5.11", compared="the order of a ranking", systems=())
@given(SCORES.filter(bool), st.randoms())
def test_the_order_is_that_of_pytrec_eval(scores: dict[str, float], chooser: random.Random) -> None:
    import pytrec_eval

    relevant = chooser.choice(sorted(scores))
    items = list(scores.items())
    chooser.shuffle(items)
    evaluator = pytrec_eval.RelevanceEvaluator({"q": {relevant: 1}}, {"recip_rank"})
    theirs = evaluator.evaluate({"q": dict(items)})["q"]["recip_rank"]
    assert theirs == pytest.approx(1 / ranks(scores, [relevant])[0])
