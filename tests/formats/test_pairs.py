"""Which topics of two runs belong together."""

from pathlib import Path

import pytest
from mteb_predictions import RUN

from heed.errors import HeedError
from heed.formats.topic_ids import stem
from heed.measures.two_runs import pair, qrels_for, select


@pytest.mark.parametrize(
    ("base", "new", "pairs"),
    [
        (["12-og", "13-og"], ["12-changed", "13-changed"], {"12-changed": "12-og", "13-changed": "13-og"}),
        (["12", "13"], ["12", "13"], {"12": "12", "13": "13"}),
        (["0", "1"], ["0_0", "0_1", "1_0"], {"0_0": "0", "0_1": "0", "1_0": "1"}),
        (["a_b"], ["a_b", "a_b_1"], {"a_b": "a_b", "a_b_1": "a_b"}),
        (["12"], ["12-reversed"], {"12-reversed": "12"}),
    ],
)
def test_pairs_are_found_by_the_ids(base: list[str], new: list[str], pairs: dict[str, str]) -> None:
    assert pair(base, new) == pairs


def test_a_file_of_both_conditions_plays_both_roles() -> None:
    assert select(RUN, "original").keys() == {"1-og"}
    assert select(RUN, "changed").keys() == {"1-changed"}
    assert select({"1-og": {}}, "changed").keys() == {"1-og"}  # one condition alone is taken as it is
    assert [stem(qid) for qid in ("1-og", "1-changed", "1-reversed", "og")] == ["1", "1", "1", "og"]


def test_pairs_can_be_given_and_topics_without_a_partner_are_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pairs.tsv").write_text("x\t1\n")
    assert pair(["1", "2"], ["x", "y"], tmp_path / "pairs.tsv") == {"x": "1"}
    logged = capsys.readouterr().err
    assert "1 topics of the new run have no partner and are left out: y" in logged
    assert "1 topics of the base run have no partner and are left out: 2" in logged
    with pytest.raises(HeedError, match="name them in a file, pairs=TSV"):
        pair(["1"], ["x"])
    (tmp_path / "pairs.tsv").write_text("x 1\nx\t1\nx\t2\nx2\t1\ny\t9\n")
    with pytest.raises(HeedError) as caught:
        pair(["1", "2"], ["x", "y"], tmp_path / "pairs.tsv")
    assert [line.split("pairs.tsv, ")[1] for line in str(caught.value).splitlines()] == [
        "line 1: 1 columns, expected new qid, tab, base qid",
        "line 3: topic x has a partner already",
        "line 4: topic x2 is not in the new run",
        "line 5: topic 9 is not in the base run",
    ]


def test_judged_topics_outside_the_pairs_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    assert qrels_for({"1": {"a": 1}, "9": {"a": 1}}, {"1-changed": "1-og"}) == {"1-changed": {"a": 1}}
    assert "1 of 2 judged topics have no pair and are in no mean: 9" in capsys.readouterr().err
