import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Heed, write_jsonl
from model_inputs import CPU, queries
from tiny_published_models import PIECES, TAPAS, tapas, tapas_weights

from heed.addons.architectures.table_encoder import TableEncoder
from heed.errors import HeedError
from heed.models.registry.entries import Model, Registry
from heed.tables.markup import Table, as_fields, serialise
from heed.types import Document

GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "golden" / "tapas_dtr.json").read_text(encoding="utf-8"))
RIVERS = Table("longest rivers", [["river", "length km"]], [["nile", "6650"], ["amazon", "6400"], ["congo", ""]])
WORDS = {word: at for at, word in enumerate(PIECES.split())}
WEIGHTS = {name: one.astype(np.float64) for name, one in tapas_weights().items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tapas(tmp_path_factory.mktemp("models") / "Tapas-DTR")


def entry(folder: Path, **changed: Any) -> Model:
    return Registry().find("Tapas-DTR")._replace(source=str(folder), **changed)


@pytest.fixture(scope="module")
def encoder(folder: Path) -> TableEncoder:
    return TableEncoder(entry(folder), CPU)


def document(table: Table, form: str = "markdown", docid: str = "d") -> Document:
    return Document(docid, "", serialise(table, form), **as_fields(table))


def by_hand(tower: str, projection: str, tokens: Sequence[tuple[str, Sequence[int]]]) -> np.ndarray:
    """Google's table_retriever_model.py in numpy, in its own names: BERT with seven types a token, pooler, projection.

    ``tokens`` are words with their types. Kernels are inputs by outputs, GELU is the one by tanh, and projections are
    multiplied transposed.
    """

    def norm(rows: np.ndarray, name: str) -> np.ndarray:
        rest = rows - rows.mean(axis=1, keepdims=True)
        scaled = rest / np.sqrt((rest**2).mean(axis=1, keepdims=True) + 1e-12)
        return np.asarray(scaled * WEIGHTS[f"{name}/LayerNorm/gamma"] + WEIGHTS[f"{name}/LayerNorm/beta"])

    def dense(rows: np.ndarray, name: str) -> np.ndarray:
        return np.asarray(rows @ WEIGHTS[f"{name}/kernel"] + WEIGHTS[f"{name}/bias"])

    inputs = f"{tower}/embeddings"
    states = np.array([WEIGHTS[f"{inputs}/word_embeddings"][WORDS[word]] for word, _ in tokens])
    states += WEIGHTS[f"{inputs}/position_embeddings"][: len(tokens)]
    for kind in range(7):
        states += WEIGHTS[f"{inputs}/token_type_embeddings_{kind}"][[types[kind] for _, types in tokens]]
    states = norm(states, inputs)
    for number in range(TAPAS["num_hidden_layers"]):
        layer, width = f"{tower}/encoder/layer_{number}", TAPAS["hidden_size"] // TAPAS["num_attention_heads"]
        asked, keys, values = (dense(states, f"{layer}/attention/self/{part}") for part in ("query", "key", "value"))
        answers = []
        for head in range(TAPAS["num_attention_heads"]):
            part = slice(head * width, (head + 1) * width)
            chances = np.exp(asked[:, part] @ keys[:, part].T / np.sqrt(width))
            answers.append(chances @ values[:, part] / chances.sum(axis=1, keepdims=True))
        attended = dense(np.concatenate(answers, axis=1), f"{layer}/attention/output/dense")
        states = norm(attended + states, f"{layer}/attention/output")
        inner = dense(states, f"{layer}/intermediate/dense")
        inner *= 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        states = norm(dense(inner, f"{layer}/output/dense") + states, f"{layer}/output")
    pooled = np.tanh(dense(states[:1], f"{tower}/pooler/dense"))[0]
    return np.asarray(WEIGHTS[projection] @ pooled)


TEXT = [0] * 7
RIVERS_READ = [  # [CLS] caption [SEP] header, rows: segment, column, row, 0, rank, inverse rank, 0
    *((word, TEXT) for word in ("[CLS]", "longest", "river", "##s", "[SEP]")),
    *(("river", [1, 1, 0, 0, 0, 0, 0]), ("length", [1, 2, 0, 0, 0, 0, 0]), ("km", [1, 2, 0, 0, 0, 0, 0])),
    *(("nile", [1, 1, 1, 0, 0, 0, 0]), ("6650", [1, 2, 1, 0, 2, 1, 0])),
    *(("amazon", [1, 1, 2, 0, 0, 0, 0]), ("6400", [1, 2, 2, 0, 1, 2, 0])),
]


def test_a_table_is_its_caption_and_cells_with_their_places_and_ranks(encoder: TableEncoder) -> None:
    whole = RIVERS._replace(body=RIVERS.body[:2])
    expected = by_hand("bert", "table_projection", RIVERS_READ)
    np.testing.assert_allclose(encoder.encode_documents([document(whole)])[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.golden(
    program="google-research/tapas's table_bert.py, tensorflow 2.15.1", compared="vectors", systems=("Tapas-DTR",)
)
def test_vectors_are_those_of_googles_networks(encoder: TableEncoder) -> None:
    whole = RIVERS._replace(body=RIVERS.body[:2])
    np.testing.assert_allclose(encoder.encode_documents([document(whole)])[0], GOLDEN["table"], rtol=1e-4, atol=1e-4)
    [query] = encoder.encode_queries(queries([("longest river", "in km")]))
    np.testing.assert_allclose(query, GOLDEN["query"], rtol=1e-4, atol=1e-4)


def test_an_empty_cell_has_its_token_and_an_empty_caption_too(encoder: TableEncoder) -> None:
    table = Table("", [["river", ""]], [["nile", ""]])
    read = [("[CLS]", TEXT), ("[EMPTY]", TEXT), ("[SEP]", TEXT), ("river", [1, 1, 0, 0, 0, 0, 0])]
    read += [("[EMPTY]", [1, 2, 0, 0, 0, 0, 0]), ("nile", [1, 1, 1, 0, 0, 0, 0]), ("[EMPTY]", [1, 2, 1, 0, 0, 0, 0])]
    expected = by_hand("bert", "table_projection", read)
    np.testing.assert_allclose(encoder.encode_documents([document(table)])[0], expected, rtol=1e-4, atol=1e-4)


def test_a_query_has_a_network_and_a_projection_of_its_own(encoder: TableEncoder) -> None:
    ours = encoder.encode_queries(queries([("longest river", ""), ("longest river", "in km")]))
    for vector, words in zip(ours, ("longest river", "longest river in km"), strict=True):
        read = [(word, TEXT) for word in ("[CLS]", *words.split(), "[SEP]")]
        np.testing.assert_allclose(vector, by_hand("bert_1", "text_projection", read), rtol=1e-4, atol=1e-4)
    assert np.abs(ours[0] - ours[1]).max() > 1e-2


def test_a_table_is_cut_between_rows(encoder: TableEncoder, folder: Path) -> None:
    """13 tokens are room for caption, header and two rows: [CLS] longest river ##s [SEP] + 3 + 2 + 2 = 12."""
    short = TableEncoder(entry(folder, max_length=13), CPU)
    long = RIVERS._replace(body=[*RIVERS.body[:2], ["congo", "4700"]])
    expected = by_hand("bert", "table_projection", RIVERS_READ)
    np.testing.assert_allclose(short.encode_documents([document(long)])[0], expected, rtol=1e-4, atol=1e-4)
    assert np.abs(encoder.encode_documents([document(long)])[0] - expected).max() > 1e-2


@pytest.mark.parametrize(
    "table",
    [
        Table("longest " * 200, [["river"] * 3], [["nile"] * 3] * 100),  # all too long
        Table(
            "", [[" ".join(["the"] * 80), "km"]], [[" ".join(["nile"] * 80), "6650"]]
        ),  # cells longer than everything
        Table("", [["river"] * 100], [["nile"] * 100]),  # more columns than there are types
        Table("", [], [["nile"]] * 60),  # more rows
        Table("", [["river", "km"]], []),
        Table("longest " * 200, [], []),
    ],
)
def test_any_table_fits(encoder: TableEncoder, table: Table) -> None:
    """More tokens, columns or rows than the network has embeddings of would be an error."""
    assert np.isfinite(encoder.encode_documents([document(table)])).all()


def test_a_vector_is_the_same_in_every_batch_and_form(encoder: TableEncoder) -> None:
    documents = [document(RIVERS, form, form) for form in ("markdown", "html", "csv")]
    plain = Document("plain", "longest", "river in km")
    together = encoder.encode_documents([*documents, plain])
    alone = np.concatenate([encoder.encode_documents([one]) for one in (*documents, plain)])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(together[1:3], together[:1].repeat(2, axis=0), atol=1e-6)
    read = [(word, TEXT) for word in ("[CLS]", "longest", "river", "in", "km", "[SEP]")]
    np.testing.assert_allclose(together[3], by_hand("bert", "table_projection", read), rtol=1e-4, atol=1e-4)


def test_a_form_without_cells_is_refused(encoder: TableEncoder) -> None:
    with pytest.raises(HeedError) as error:
        encoder.encode_documents([document(RIVERS, form, form) for form in ("rows", "header", "csv")])
    assert str(error.value).startswith("document rows: ") and "; the same in document header" in str(error.value)
    assert "in the form raw, markdown, html or csv" in str(error.value)


def test_the_entry_runs_from_its_folder_and_says_how_to_make_one(heed: Heed, tmp_path: Path) -> None:
    for docid, names in (("rivers", ["nile", "amazon"]), ("towns", ["congo"])):
        table = Table(docid, [["name", "length"]], [[name, "6650"] for name in names])
        write_jsonl(tmp_path / f"{docid}.jsonl", [{"id": docid, "text": serialise(table, "html")}])
    told = {"original": "the longest in km"}
    topic = {"qid": "1", "lang": "eng", "query": "nile", "instructions": told}
    write_jsonl(tmp_path / "topics.jsonl", [topic])
    (tmp_path / "qrels").write_text("1 0 rivers 1\n")
    data = ["--docs", "rivers.jsonl", "towns.jsonl", "--topics", "topics.jsonl", "--qrels", "qrels", "--device", "cpu"]
    result = heed("pipelines.tables", *data, "--retriever", "Tapas-DTR", "--reranker", "none")
    assert result.returncode == 1
    assert "error: Tapas-DTR: there is no folder Tapas-DTR here; Google's weights are a Tensor" in result.stderr
    tapas(tmp_path / "Tapas-DTR")
    told_of = heed("pipelines.models", "Tapas-DTR").stdout
    assert (
        "of a table the caption, then every cell with its column" in told_of and "tf.train.load_checkpoint(" in told_of
    )
    result = heed("pipelines.tables", *data, "--retriever", "Tapas-DTR", "--reranker", "decompose:Tapas-DTR")
    assert result.returncode == 0, result.stderr
    runs = [next(tmp_path.glob(f"runs/*/*/Tapas-DTR.{condition}.run")) for condition in ("query", "original")]
    first, second = ([line.split()[4] for line in run.read_text().splitlines()] for run in runs)
    assert len(first) == 2 and first != second
