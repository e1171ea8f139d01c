"""The first and the judged documents of a run's lists, as pages show them."""

from heed.addons.explorer.explored import first_and_judged


def test_the_first_and_the_judged_documents_of_a_list() -> None:
    scores = {"d": 0.5, "b": 2.0, "c": 1.0, "a": 3.0}
    assert first_and_judged(scores, 2, {"d", "zzz"}) == (4, ["a", "b", "d"], [1, 2, 4], [3.0, 2.0, 0.5])
    assert first_and_judged({"b": 1.0}, 2, set()) == (1, ["b"], [1], [1.0])
    assert first_and_judged({"a": 1.0, "b": 1.0}, 1, set()).docids == ["b"]  # of equal scores the greater docid
