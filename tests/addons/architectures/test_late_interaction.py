"""Late interaction: MaxSim, and checkpoints of ColBERT, sentence-transformers and pylate."""

import json
import shutil
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import golden_models
import golden_texts
import numpy as np
import pytest
import tiny_late_models as tiny
import torch
from conftest import ROOT
from model_inputs import CPU, queries
from safetensors.torch import save_file
from tiny_late_models import (
    CONDITIONS,
    DOCIDS,
    DOCUMENT,
    LEAST,
    MOST,
    TEXTS,
    TOPIC,
    Made,
    asked,
    entry,
    plain,
    reranker_of,
)

from heed.addons.architectures import late_interaction
from heed.addons.architectures.late_interaction import LateEncoder, LateReranker, maxsim, packed
from heed.errors import HeedError
from heed.models.registry.entries import Model, Registry
from heed.retrieval.dense.vectors import split
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


def test_without_lengths_in_the_entry_the_checkpoints_own_hold(tmp_path: Path) -> None:
    made = tiny.bert(tmp_path)
    for condition in CONDITIONS:
        ours = LateReranker(Model(str(made.folder)), CPU).score(TOPIC.under(condition), DOCUMENTS)
        assert ours == pytest.approx(plain(made, condition, most=LEAST, documents=24), abs=1e-5)
    short = reranker_of(made.folder, query_length=8).score(TOPIC.under("query"), DOCUMENTS)
    assert short == pytest.approx(plain(made, "query", most=8), abs=1e-5)


def saved_by_sentence_transformers(made: Made, folder: Path, similarity: str, strategy: str) -> Path:
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    expansion = {"strategy": strategy, "length": LEAST, "attend": True}
    parts = [
        Transformer(str(made.folder), query_expansion=expansion, document_length=DOCUMENT),
        Dense(32, tiny.WIDTH, bias=False, activation_function=torch.nn.Identity(), init_weight=made.linear,
              module_input_name="token_embeddings"),
        MultiVectorMask(skiplist_words=list(string.punctuation)),
        Normalize(module_input_name="token_embeddings"),
    ]  # fmt: skip
    encoder = MultiVectorEncoder(modules=parts, device="cpu", similarity_fn_name=similarity)
    encoder.prompts = {"query": "x: ", "document": "y: "}
    encoder.save(str(folder))
    return folder


@pytest.mark.parametrize("similarity", ["maxsim", "meanmaxsim"])
@pytest.mark.parametrize("strategy", ["fixed", "min"])
def test_a_saved_multi_vector_encoder_keeps_its_own_prompts_and_settings(
    tmp_path: Path, similarity: str, strategy: str
) -> None:
    made = tiny.bert(tmp_path)
    folder = saved_by_sentence_transformers(made, tmp_path / "own", similarity, strategy)

    def ids(text: str, most: int) -> list[int]:
        found: list[int] = made.tokenizer(text, truncation=True, max_length=most)["input_ids"]
        return found

    expected = []
    query = ids(f"x: {asked('query')}", 64)
    query += [made.tokenizer.mask_token_id] * (LEAST - len(query))
    rows = tiny.vectors(made, query, [1] * len(query))
    for docid in DOCIDS:
        read = ids(f"y: T {TEXTS[int(docid[1:])]}", DOCUMENT)
        kept = [at for at, one in enumerate(read) if one not in made.skips]
        found = tiny.score(rows, tiny.vectors(made, read, [1] * len(read))[kept])
        expected.append(found / (len(rows) if similarity == "meanmaxsim" else 1))
    ours = LateReranker(Model(str(folder)), CPU)
    assert ours.score(TOPIC.under("query"), DOCUMENTS) == pytest.approx(expected, abs=1e-5)
    for length, expected_length in ((MOST, MOST), (None, LEAST if strategy == "fixed" else 64)):
        encoder = LateEncoder(Model(str(folder), query_length=length), CPU)
        assert len(split(encoder.encode_queries(queries([("a river", "a" * 60)])))[0]) == expected_length


def test_what_pylate_saves_is_read_as_pylate_reads_it(tmp_path: Path) -> None:
    """Pylate 1.6.0 left such a folder of this checkpoint; its own scores and ours were equal to 2e-6."""
    made = tiny.bert(tmp_path)
    folder = tmp_path / "pylate"
    shutil.copytree(made.folder, folder)
    (folder / "artifact.metadata").unlink()
    (folder / "1_Dense").mkdir()
    save_file({"linear.weight": made.linear}, folder / "1_Dense" / "model.safetensors", metadata={"format": "pt"})
    dense = {"in_features": 32, "out_features": tiny.WIDTH, "bias": False}
    files = {
        "1_Dense/config.json": {**dense, "activation_function": "torch.nn.modules.linear.Identity"},
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
        ],
        "config_sentence_transformers.json": {
            "model_type": "ColBERT", "similarity_fn_name": "MaxSim", "prompts": {"query": "", "document": ""},
            "query_prefix": "[unused0]", "document_prefix": "[unused1]", "query_length": LEAST,
            "document_length": DOCUMENT, "attend_to_expansion_tokens": False, "do_query_expansion": True,
            "skiplist_words": list(string.punctuation),
        },
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    for condition in CONDITIONS:
        ours = reranker_of(folder).score(TOPIC.under(condition), DOCUMENTS)
        assert ours == pytest.approx(plain(made, condition), abs=1e-5)


@pytest.mark.golden(
    program="pylate 1.6.0",
    compared="scores with and without attention to mask tokens",
    systems=("late-interaction", "colbert-ir/colbertv2.0"),
)
@pytest.mark.parametrize("kind", ["mask", "attend"])
def test_scores_are_those_of_pylate(tmp_path: Path, kind: str) -> None:
    golden = json.loads((ROOT / "tests" / "data" / "golden" / "colbert_of_pylate.json").read_text())
    folder = golden_models.colbert(tmp_path / "colbert")
    metadata = folder / "artifact.metadata"
    metadata.write_text(json.dumps(json.loads(metadata.read_text()) | {"attend_to_mask_tokens": kind == "attend"}))
    model = Registry().find("colbert-ir/colbertv2.0")._replace(source=str(folder), revision=None)
    ours = LateReranker(model._replace(query_length=golden["query_length"]), CPU)
    given = [Document(docid, title, text) for docid, (title, text) in golden_texts.DOCUMENTS.items()]
    found = [ours.score(query, given) for query in queries(golden_texts.ASKED)]
    np.testing.assert_allclose(found, golden[kind]["scores"], atol=1e-4)


def no_metadata(made: Made) -> None:
    (made.folder / "artifact.metadata").unlink()


def odd_marker(made: Made) -> None:
    (made.folder / "artifact.metadata").write_text('{"query_token_id": {"root": "x"}}')


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_metadata, "artifact.metadata: is missing, but it says how HF_ColBERT reads texts; copy the whole model"),
        (odd_marker, "query_token_id is {'root': 'x'}, expected the marker's token, mostly '.unused0.'"),
    ],
)
def test_a_checkpoint_that_is_not_whole_is_refused(tmp_path: Path, spoil: Callable[[Made], None], message: str) -> None:
    made = tiny.bert(tmp_path)
    spoil(made)
    with pytest.raises(HeedError, match=message):
        LateEncoder(entry(made.folder), CPU).load()


def test_markers_without_an_embedding_are_refused(tmp_path: Path) -> None:
    made = tiny.xlmr(tmp_path, saves_markers=False, rows=1)
    size = len(made.tokenizer) - 2
    with pytest.raises(HeedError, match=rf"no embedding for the markers \[unused0\] and .* at {size} and {size + 1};"):
        LateEncoder(entry(made.folder), CPU).load()


def test_a_length_that_the_model_cannot_read_is_refused(tmp_path: Path) -> None:
    made = tiny.xlmr(tmp_path)
    with pytest.raises(HeedError, match="tiny-xlmr: query_length 63, but the model reads 62 tokens at most"):
        LateEncoder(entry(made.folder, query_length=63), CPU).load()
    config = made.folder / "tokenizer_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "model_max_length": 512}))
    with pytest.raises(HeedError, match="document_length 63, but the model reads 62 tokens at most"):
        LateEncoder(entry(made.folder, document_length=63), CPU).load()
    with pytest.raises(HeedError, match="padding left, but HF_ColBERT has its marker as a text's second token"):
        LateEncoder(entry(made.folder, padding="left"), CPU).load()


def test_what_is_no_late_interaction_model_is_refused(tiny_encoder: Path) -> None:
    with pytest.raises(HeedError, match="tiny-encoder: no late-interaction model; expected the class HF_ColBERT"):
        LateEncoder(Model(str(tiny_encoder)), CPU).load()
