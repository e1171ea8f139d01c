import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_late_models as tiny
import torch
from model_inputs import CPU
from tiny_late_models import CONDITIONS, DOCIDS, DOCUMENT, LEAST, MOST, TOPIC, asked, entry, plain, reranker_of

from heed.models.encoders import late_interaction
from heed.models.encoders.late_interaction import LateEncoder, maxsim, packed
from heed.types import Document

DOCUMENTS = tiny.documents(DOCIDS)
KINDS = [
    ("bert", {}),
    ("bert", {"attend_to_mask_tokens": True}),
    ("bert", {"mask_punctuation": False}),
    ("xlmr", {}),
    ("xlmr", {"saves_markers": False}),
]


@pytest.mark.golden(program="transformers 5.23.0", compared="scores", systems=("late-interaction",))
@pytest.mark.parametrize(("kind", "told"), KINDS)
def test_scores_equal_colberts_own_reading_in_plain_transformers(
    tmp_path: Path, kind: str, told: dict[str, Any]
) -> None:
    """Against PLAID-X 0.3.3's own Checkpoint these checkpoints' scores were equal to 2e-6, its vectors to the bit."""
    made = getattr(tiny, kind)(tmp_path, **told)
    reranker = reranker_of(made.folder)
    lengths = [len(tiny.query(made, asked(one), 0, MOST)) for one in CONDITIONS]
    assert lengths[0] < LEAST < lengths[2]  # the first has mask tokens, the last is longer than the checkpoint's own
    for condition in CONDITIONS:
        assert reranker.score(TOPIC.under(condition), DOCUMENTS) == pytest.approx(plain(made, condition), abs=1e-5)
    alone = reranker_of(made.folder)  # no padding
    scores = [alone.score(TOPIC.under("original"), tiny.documents([docid]))[0] for docid in DOCIDS]
    assert scores == pytest.approx(plain(made, "original"), abs=1e-5)
    assert reranker.score(TOPIC.under("query"), []) == []


def test_what_the_checkpoints_settings_change(tmp_path: Path) -> None:
    """Were a setting not read, the expected scores above would differ from ours; here that they are not all one."""
    found = [plain(tiny.bert(tmp_path), "original")]
    for told in ({"attend_to_mask_tokens": True}, {"mask_punctuation": False}):
        shutil.rmtree(tmp_path / "tiny-bert")
        found.append(plain(tiny.bert(tmp_path, **told), "original"))
    assert len({tuple(round(one, 3) for one in scores) for scores in found}) == 3


def test_two_instructions_give_two_scores_where_they_are_not_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tiny.xlmr(tmp_path)
    whole, cut = (reranker_of(made.folder, query_length=most) for most in (MOST, 16))
    capsys.readouterr()
    assert len({tuple(whole.score(TOPIC.under(condition), DOCUMENTS)) for condition in CONDITIONS}) == 3
    assert not capsys.readouterr().err
    cut.begin([topic.under("changed") for topic in (TOPIC, TOPIC._replace(qid="2", query="x"))], lambda query: [])
    assert "tiny-xlmr: 2 of 2 queries are longer than 16 tokens: their end is cut" in capsys.readouterr().err
    scores = cut.score(TOPIC.under("changed"), DOCUMENTS)
    assert not capsys.readouterr().err  # told once
    assert scores == pytest.approx(plain(made, "changed", most=16), abs=1e-5)
    other = TOPIC._replace(instructions={"changed": "only africa, and none of those in 大 中 上"})
    assert cut.score(other.under("changed"), DOCUMENTS) == scores != whole.score(other.under("changed"), DOCUMENTS)


@pytest.mark.golden(program="sentence-transformers 6.2.0", compared="MaxSim", systems=("late-interaction",))
def test_maxsim_of_ragged_texts_is_that_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    from sentence_transformers.util import maxsim as library

    # by hand: 0.8 + 0.6, and 1 + 0, and the negative one is the best there is
    asked = packed([np.array([[1, 0], [0, 1]], dtype=np.float32)])
    found = packed([np.array(rows, dtype=np.float32) for rows in ([[0.8, 0.6]], [[1, 0], [-1, 0]], [[-1, -0.5]])])
    assert maxsim(asked, found)[0].tolist() == pytest.approx([1.4, 1.0, -1.5])
    chooser = np.random.default_rng(0)
    queries, documents = (
        [chooser.standard_normal((size, 8), dtype=np.float32) for size in sizes]
        for sizes in ([1, 30, 4], [1, 2, 50, 3, 1, 7, 20])
    )
    expected = library([torch.tensor(one) for one in queries], [torch.tensor(one) for one in documents]).numpy()
    for block in (2**24, 35 * 9, 1):  # all at once, few documents at a time, one at a time
        monkeypatch.setattr(late_interaction, "BLOCK", block)
        np.testing.assert_allclose(maxsim(packed(queries), packed(documents)), expected, atol=1e-5)


def test_sums_of_many_tokens_do_not_tie_falsely() -> None:
    query = packed([np.array([[1, 0]] * 511 + [[0, 1]], dtype=np.float32)])
    near = [np.array([[1, 0], [0, last]], dtype=np.float32) for last in (0.5, 0.5 + 2**-20)]
    first, second = maxsim(query, packed(near))[0]
    assert second - first == 2**-20
    assert np.float32(first) == np.float32(second)  # floats of single precision near 511.5 are 2**-15 apart


def test_vectors_of_documents_that_do_not_fit_into_memory_change_no_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tiny.bert(tmp_path)
    scores = reranker_of(made.folder).score(TOPIC.under("original"), DOCUMENTS)
    monkeypatch.setattr(late_interaction, "KEPT", 600)  # room for a short one, of 17 numbers a token
    small = reranker_of(made.folder)
    for _ in range(2):
        assert small.score(TOPIC.under("original"), DOCUMENTS) == pytest.approx(scores, abs=1e-5)


def test_a_table_is_cut_between_rows(tmp_path: Path) -> None:
    made = tiny.bert(tmp_path)
    rows = ["cap", "| a | b |", *["| river | x |"] * 20]
    encoder = LateEncoder(entry(made.folder), CPU)
    ours = encoder.encode_documents([Document("t", "", "\n".join(rows), caption="cap")])
    fits = max(n for n in range(1, 23) if len(made.tokenizer(". " + "\n".join(rows[:n]))["input_ids"]) <= DOCUMENT)
    assert 2 < fits < 22
    expected = tiny.document(made, "\n".join(rows[:fits]), DOCUMENT).numpy()
    np.testing.assert_allclose(ours[:, 1:], expected, atol=1e-5)
