import json
import shutil
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import golden_models
import golden_texts
import numpy as np
import pytest
import torch
from conftest import ROOT, Heed
from model_inputs import CPU, queries
from safetensors.torch import save_file
from tiny_language_models import SIZES, qwen_tokenizer, save, t5_tokenizer

from heed.errors import HeedError
from heed.models import files as model_files
from heed.models.encoders import SentenceEncoder
from heed.models.registry.entries import Model, Registry
from heed.types import Document

LIMIT = 40
QUERIES = [("true", "only documents that name a river"), ("a much longer text with numbers 12", ""), ("x", "yes")]
TEXTS = ["no", "Relevant: document with numbers", "an instruction: only documents that name a river " * 8, "a"]
DOCUMENTS = [Document(str(at), "", text) for at, text in enumerate(TEXTS)]
GRIT = {"query": "<|user|>\n{instruction}\n<|embed|>\n{query}", "document": "<|embed|>\n{title} {text}"}
INSTRUCTOR = ("hkunlp/instructor-base", "hkunlp/instructor-xl")


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real Mistral without a head, as E5-Mistral is; its tokenizer puts ``<s>`` first and nothing last."""
    return golden_models.decoder(tmp_path_factory.mktemp("models") / "tiny-mistral")


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real T5 encoder, as INSTRUCTOR is; its tokenizer puts ``</s>`` last."""
    from transformers import T5Config, T5EncoderModel

    tokenizer = t5_tokenizer()
    torch.manual_seed(0)
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "initializer_factor": 3.0}
    network = T5EncoderModel(T5Config(vocab_size=len(tokenizer), **sizes))
    return save(tmp_path_factory.mktemp("models") / "tiny-t5", network, tokenizer)


@cache
def network_of(folder: Path, bidirectional: bool) -> Any:
    from transformers import AutoModel, T5EncoderModel

    kind = T5EncoderModel if "t5" in folder.name else AutoModel
    network = kind.from_pretrained(folder, dtype=torch.float32).eval()
    if bidirectional:
        network.config.is_causal = False
    return network


def hidden(folder: Path, ids: list[int], bidirectional: bool = False) -> torch.Tensor:
    """The last layer of plain transformers for one text, so without padding; shape ``(len(ids), 32)``."""
    with torch.no_grad():
        return network_of(folder, bidirectional)(input_ids=torch.tensor([ids])).last_hidden_state[0]


@cache
def tokenizer_of(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def ids_of(folder: Path, text: str, **cut: Any) -> list[int]:
    ids: list[int] = tokenizer_of(folder)(text, **cut)["input_ids"]
    return ids


def same(ours: np.ndarray, expected: np.ndarray) -> None:
    """Equal to 1e-5 of a vector's length: single precision, whose last digits depend on threads and batches."""
    length = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(ours / length, expected / length, atol=1e-5)


def unit(rows: list[torch.Tensor]) -> np.ndarray:
    return torch.nn.functional.normalize(torch.stack(rows), dim=1).numpy()


@pytest.mark.golden(
    program="transformers 5.23.0",
    compared="vectors of a decoder's last token, of truncated texts too",
    systems=("bi-encoder",),
)
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_appended_end_is_what_is_pooled_also_where_a_text_is_cut(decoder: Path, side: str) -> None:
    entry = Model(
        str(decoder), query="Instruct: {instruction}\nQuery: {query}", document="{text}", pooling="lasttoken",
        similarity="cos", append_eos=True, padding=side, max_length=LIMIT,
    )  # fmt: skip
    encoder = SentenceEncoder(entry, CPU)
    cut = [ids_of(decoder, text)[: LIMIT - 1] for text in TEXTS]
    assert len(ids_of(decoder, TEXTS[2])) > LIMIT and len(cut[0]) < 10  # one is cut, and lengths are mixed
    expected = unit([hidden(decoder, [*ids, 2])[-1] for ids in cut])
    same(encoder.encode_documents(DOCUMENTS), expected)
    asked = [f"Instruct: {instruction}\nQuery: {query}" for query, instruction in QUERIES]
    expected = unit([hidden(decoder, [*ids_of(decoder, text)[: LIMIT - 1], 2])[-1] for text in asked])
    same(encoder.encode_queries(queries(QUERIES)), expected)


def test_an_end_that_the_tokenizer_appends_itself_is_not_doubled(t5: Path) -> None:
    encoder = SentenceEncoder(
        Model(str(t5), similarity="dot", pooling="lasttoken", append_eos=True, max_length=LIMIT), CPU
    )
    cut = [ids_of(t5, text, truncation=True, max_length=LIMIT) for text in TEXTS]
    assert [ids.count(1) for ids in cut] == [1, 1, 1, 1]
    expected = torch.stack([hidden(t5, ids)[-1] for ids in cut]).numpy()
    same(encoder.encode_documents(DOCUMENTS), expected)


def test_a_tokenizer_without_an_end_is_refused(tiny_encoder: Path) -> None:
    with pytest.raises(HeedError, match="append_eos is set, but its tokenizer has no end-of-text token"):
        SentenceEncoder(Model(str(tiny_encoder), pooling="mean", append_eos=True), CPU).encode_queries(
            queries([("a", "")])
        )


@pytest.mark.golden(program="transformers 5.23.0", compared="vectors of each pooling", systems=("bi-encoder",))
@pytest.mark.parametrize("pooling", ["mean", "lasttoken", "max", "cls"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_pooling_sees_no_padding_on_either_side(tmp_path: Path, pooling: str, side: str) -> None:
    from transformers import Qwen3Config, Qwen3Model

    tokenizer = qwen_tokenizer()
    torch.manual_seed(0)
    folder = save(tmp_path / "tiny-qwen", Qwen3Model(Qwen3Config(vocab_size=len(tokenizer), **SIZES)), tokenizer)
    encoder = SentenceEncoder(
        Model(str(folder), similarity="dot", pooling=pooling, padding=side, max_length=LIMIT), CPU
    )
    states = [hidden(folder, ids_of(folder, text)[:LIMIT]) for text in TEXTS]
    pooled = {
        "mean": [one.mean(dim=0) for one in states],
        "lasttoken": [one[-1] for one in states],
        "max": [one.max(dim=0).values for one in states],
        "cls": [one[0] for one in states],
    }
    same(encoder.encode_documents(DOCUMENTS), torch.stack(pooled[pooling]).numpy())


SQUARES = """
import torch


class Squares(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, features):
        states, mask = features["token_embeddings"], features["attention_mask"][..., None]
        return {**features, "sentence_embedding": (states**2 * mask).sum(dim=1)}
"""


def test_a_pooling_of_ones_own_is_one_file_and_one_line(
    tiny_encoder: Path, tmp_path: Path, heed: Heed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum of squares of tokens' vectors, which no mode of sentence-transformers is."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_pooling.py").write_text(SQUARES)
    entries = {"mine": {"source": str(tiny_encoder), "pooling": "my_pooling:Squares", "normalize": False}}
    (tmp_path / "models.json").write_text(json.dumps(entries))
    mine = Registry([tmp_path / "models.json"]).find("mine")
    states = [hidden(tiny_encoder, ids_of(tiny_encoder, text)) for text in TEXTS[:2]]
    expected = torch.stack([(rows**2).sum(dim=0) for rows in states]).numpy()
    same(SentenceEncoder(mine, CPU).encode_documents(DOCUMENTS[:2]), expected)
    told = heed("pipelines.models", "mine", "--models", "models.json").stdout
    assert "pooling" in told and "my_pooling:Squares" in told
    for name, problem in (("my_pooling:Cubes", "my_pooling has no Cubes"), ("none_such:A", "cannot be imported")):
        with pytest.raises(HeedError, match=f"{name}: .*{problem}"):
            SentenceEncoder(mine._replace(pooling=name), CPU).load()
    trained = tmp_path / "trained"
    trained.mkdir()
    (trained / "training.json").write_text(json.dumps({"model": {"pooling": "my_pooling:Squares"}}))
    with pytest.raises(HeedError, match="training.json: not written by heed train"):
        Registry().find(str(trained))  # a stranger's folder names no code


@pytest.mark.parametrize(
    ("similarity", "normalize", "unit_length"),
    [("cos", None, True), ("cos", False, True), ("dot", None, False), ("dot", True, True), (None, True, True),
     (None, None, True), (None, False, False)],
)  # fmt: skip
def test_vectors_are_of_length_1_unless_the_entry_says_otherwise(
    tiny_encoder: Path, similarity: str | None, normalize: bool | None, unit_length: bool
) -> None:
    entry = Model(str(tiny_encoder), pooling="mean", similarity=similarity, normalize=normalize)
    rows = [hidden(tiny_encoder, ids_of(tiny_encoder, text)).mean(dim=0) for text in ("a", "b c")]
    expected = unit(rows) if unit_length else torch.stack(rows).numpy()
    same(SentenceEncoder(entry, CPU).encode_queries(queries([("a", ""), ("b", "c")])), expected)


def test_a_layer_norm_comes_between_pooling_and_length(decoder: Path) -> None:
    """As mteb's nomic_models.py: ``F.layer_norm`` without weights over the pooled vector, then ``F.normalize``."""
    rows = torch.stack([hidden(decoder, ids_of(decoder, text)).mean(dim=0) for text in ("a", "b c")])
    normed = (rows - rows.mean(dim=1, keepdim=True)) / (rows.var(dim=1, correction=0, keepdim=True) + 1e-5).sqrt()
    entry = Model(str(decoder), pooling="mean", layer_norm=True, normalize=True)
    found = SentenceEncoder(entry, CPU).encode_queries(queries([("a", ""), ("b", "c")]))
    same(found, unit(list(normed)))
    assert abs(found - unit(list(rows))).max() > 0.001


@pytest.mark.parametrize(
    ("saved", "with_module", "entry", "unit_length"),
    [
        ("cosine", False, {}, True),
        ("dot", False, {}, False),
        ("dot", True, {}, True),
        ("dot", True, {"normalize": False}, False),
        ("dot", False, {"normalize": True}, True),
        ("cosine", True, {"similarity": "dot", "normalize": False}, False),
        ("dot", False, {"similarity": "cos"}, True),
    ],
)
def test_the_entry_goes_before_the_models_own_files(
    tiny_encoder: Path, tmp_path: Path, saved: str, with_module: bool, entry: dict[str, Any], unit_length: bool
) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    parts = [Transformer(str(tiny_encoder)), Pooling(32, "cls"), *([Normalize()] if with_module else [])]
    SentenceTransformer(modules=parts, device="cpu", similarity_fn_name=saved).save(str(tmp_path / "own"))
    row = hidden(tiny_encoder, ids_of(tiny_encoder, "a b"))[0]
    expected = unit([row]) if unit_length else row[None].numpy()
    ours = SentenceEncoder(Model(str(tmp_path / "own"), **entry), CPU).encode_queries(queries([("a", "b")]))
    same(ours, expected)


@pytest.mark.golden(
    program="transformers 5.23.0",
    compared="vectors that leave the instruction out of the mean; bidirectional attention",
    systems=("bi-encoder",),
)
def test_a_prefix_that_is_not_pooled_is_read_all_the_same(decoder: Path) -> None:
    entry = Model(
        str(decoder), **GRIT, similarity="dot", pooling="mean", pool_prefix=False, bidirectional=True, max_length=80
    )
    encoder = SentenceEncoder(entry, CPU)
    asked = [("true", "name a river"), ("a much longer text", "only no"), ("true", "with numbers 12")]
    expected = []
    for query, instruction in asked:
        prefix = f"<|user|>\n{instruction}\n<|embed|>\n"
        states = hidden(decoder, ids_of(decoder, prefix + query), bidirectional=True)
        expected.append(states[len(ids_of(decoder, prefix)) :].mean(dim=0))
    ours = encoder.encode_queries(queries(asked))
    same(ours, torch.stack(expected).numpy())
    assert np.abs(ours[0] - ours[2]).max() > 1e-2  # the same query behind another instruction
    short = [document for document in DOCUMENTS if document.docid != "2"]
    rows = [hidden(decoder, ids_of(decoder, f"<|embed|>\n{one.text}"), bidirectional=True) for one in short]
    start = len(ids_of(decoder, "<|embed|>\n"))
    expected = [row[start:].mean(dim=0) for row in rows]
    same(encoder.encode_documents(short), torch.stack(expected).numpy())


def test_a_bidirectional_decoders_first_token_sees_the_last(decoder: Path) -> None:
    for bidirectional in (True, False):
        entry = Model(str(decoder), query="{query}", similarity="dot", pooling="cls", bidirectional=bidirectional)
        first, second = SentenceEncoder(entry, CPU).encode_queries(queries([("a b", ""), ("a c", "")]))
        assert np.allclose(first, second, atol=1e-6) is not bidirectional


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_end_after_the_text_is_pooled_with_it(t5: Path, side: str) -> None:
    entry = Model(
        str(t5), query="{instruction} {query}", similarity="dot", pooling="mean", pool_prefix=False, padding=side
    )
    expected = []
    for query, instruction in QUERIES:
        states = hidden(t5, ids_of(t5, f"{instruction} {query}".strip()))
        prefix = (
            len(ids_of(t5, instruction)) - 1 if instruction else 0
        )  # less its </s>; the query's token has the space
        expected.append(states[prefix:].mean(dim=0))
    ours = SentenceEncoder(entry, CPU).encode_queries(queries(QUERIES))
    same(ours, torch.stack(expected).numpy())


def test_an_instruction_that_leaves_no_room_for_the_query_is_refused(decoder: Path) -> None:
    entry = Model(str(decoder), **GRIT, pooling="mean", pool_prefix=False, max_length=16)
    with pytest.raises(
        HeedError, match="tiny-mistral: an instruction of .* tokens leaves no room for its query in .* 16"
    ):
        SentenceEncoder(entry, CPU).encode_queries(queries([("true", "name a river " * 5)]))


def test_queries_and_documents_have_lengths_of_their_own(decoder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = Model(
        str(decoder),
        document="{text}",
        similarity="dot",
        pooling="mean",
        query_length=6,
        document_length=30,
        max_length=50,
    )
    encoder = SentenceEncoder(entry, CPU)
    asked = [("an instruction", "only documents that name a river"), ("a", "")]
    texts = [" ".join(one).strip() for one in asked]
    expected = [hidden(decoder, ids_of(decoder, text)[:6]).mean(dim=0) for text in texts]
    same(encoder.encode_queries(queries(asked)), torch.stack(expected).numpy())
    assert "tiny-mistral: 1 of 2 queries are longer than 6 tokens: their end is cut" in capsys.readouterr().err
    expected = [hidden(decoder, ids_of(decoder, text)[:30]).mean(dim=0) for text in TEXTS]
    same(encoder.encode_documents(DOCUMENTS), torch.stack(expected).numpy())
    assert not capsys.readouterr().err  # documents are cut without a word


def test_a_table_is_cut_between_rows_and_keeps_the_end(decoder: Path) -> None:
    rows = ["cap", "| a | b |", *["| river | yes |"] * 20]
    entry = Model(
        str(decoder),
        document="passage: {text}",
        similarity="dot",
        pooling="lasttoken",
        append_eos=True,
        max_length=LIMIT,
    )
    table = Document("t", "", "\n".join(rows), caption="cap")
    fitting = [
        ids
        for count in range(1, len(rows))
        if len(ids := [*ids_of(decoder, "passage: " + "\n".join(rows[:count])), 2]) <= LIMIT
    ]
    assert 2 < len(fitting) < len(rows) - 2
    expected = hidden(decoder, fitting[-1])[-1:].numpy()
    same(SentenceEncoder(entry, CPU).encode_documents([table]), expected)


def test_half_precision_weights_are_widened_on_a_cpu(tiny_encoder: Path, tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    half = AutoModel.from_pretrained(tiny_encoder).to(torch.bfloat16)
    folder = save(tmp_path / "half", half, AutoTokenizer.from_pretrained(tiny_encoder))
    entry = Model(str(folder), similarity="dot", pooling="mean", dtype="bfloat16")
    expected = hidden(folder, ids_of(folder, "a b")).mean(dim=0)[None].numpy()
    encoder = SentenceEncoder(entry, CPU)
    same(encoder.encode_queries(queries([("a", "b")])), expected)
    assert encoder.config["precision"] == "float32"


def test_code_of_the_repository_runs_only_where_it_is_allowed(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "own-code"
    shutil.copytree(tiny_encoder, folder)
    (folder / "modeling_own.py").write_text(
        "from transformers import BertModel\n"
        "class OwnModel(BertModel):\n"
        "    def forward(self, *args, **kwargs):\n"
        "        found = super().forward(*args, **kwargs)\n"
        "        found.last_hidden_state = -found.last_hidden_state\n"
        "        return found\n"
    )
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModel": "modeling_own.OwnModel"}}))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    plain = hidden(tiny_encoder, ids_of(tiny_encoder, "a")).mean(dim=0)[None].numpy()
    own = Model(str(folder), similarity="dot", pooling="mean")
    same(SentenceEncoder(own, CPU).encode_queries(queries([("a", "")])), plain)  # not run
    own = own._replace(remote_code=True)
    with pytest.raises(HeedError, match="runs code of its own repository; .* trust_remote_code"):
        SentenceEncoder(own, CPU)
    own = own._replace(trusted=True)
    same(SentenceEncoder(own, CPU).encode_queries(queries([("a", "")])), -plain)
    (folder / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModel": "else/where--m.OwnModel"}}))
    with pytest.raises(HeedError, match="names code in the repository else/where, which the model's revision does not"):
        SentenceEncoder(own, CPU)


def test_code_is_fetched_only_where_it_may_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked: list[list[str] | None] = []

    def snapshot(_: str, revision: str, allow_patterns: list[str] | None = None, local_files_only: bool = False) -> str:
        asked.append(None if local_files_only else allow_patterns)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    monkeypatch.setattr(huggingface_hub, "model_info", lambda _, revision: SimpleNamespace(siblings=[]))
    save_file({"a": torch.ones(1)}, tmp_path / "model.safetensors")
    assert model_files.local_copy(Model("some/one", revision="0" * 40)) == tmp_path
    assert asked == [None]  # what is here is enough
    model_files.local_copy(Model("some/one", revision="0" * 40, remote_code=True, trusted=True))
    assert asked == [None, None, [*model_files.FETCHED, "*.py"]]  # fetched before, but without its code


def test_static_embeddings_run_and_refuse_what_they_cannot_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    tokenizer = t5_tokenizer().backend_tokenizer
    torch.manual_seed(0)
    module = StaticEmbedding(tokenizer, embedding_dim=8)
    SentenceTransformer(modules=[module], device="cpu", similarity_fn_name="dot").save(str(tmp_path / "static"))
    ids = tokenizer.encode("true yes", add_special_tokens=False).ids
    expected = module.embedding.weight[ids].mean(dim=0)[None].detach().numpy()
    table = Document("t", "", "true yes", caption="true")
    np.testing.assert_allclose(
        SentenceEncoder(Model(str(tmp_path / "static")), CPU).encode_documents([table]), expected
    )
    encoder = SentenceEncoder(Model(str(tmp_path / "static")), CPU)
    sizes: list[int] = []
    monkeypatch.setattr(encoder, "_read", lambda texts, task, batch: sizes.append(len(batch)) or [[0.0]] * len(batch))
    encoder.encode_documents([Document(str(number), "", "true " * 900) for number in range(200)])
    assert sizes == [200]  # nothing is padded, so characters and tokens bound no batch
    for field in ("append_eos", "max_length"):
        with pytest.raises(HeedError, match=f"begins with a StaticEmbedding, so it can have no {field}"):
            SentenceEncoder(Model(str(tmp_path / "static"), **{field: 1}), CPU).encode_documents([table])


def test_a_models_own_prompts_are_used_where_no_template_is_given(tiny_encoder: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    parts = [Transformer(str(tiny_encoder)), Pooling(32, "mean")]
    own = SentenceTransformer(modules=parts, device="cpu", prompts={"query": "ask: ", "document": "told: "})
    own.save(str(tmp_path / "own"))
    # saved models compare by cosine unless they say otherwise: the inner product of normalised vectors
    encoder = SentenceEncoder(Model(str(tmp_path / "own")), CPU)
    asked, told = (
        unit([hidden(tiny_encoder, ids_of(tiny_encoder, text)).mean(dim=0)]) for text in ("ask: q i", "told: T x")
    )
    same(encoder.encode_queries(queries([("q", "i")])), asked)
    same(encoder.encode_documents([Document("1", "T", "x")]), told)


@pytest.mark.golden(
    program="InstructorEmbedding 1.0.1",
    compared="vectors that leave the instruction out of the mean, of truncated texts too",
    systems=INSTRUCTOR,
)
def test_vectors_are_those_of_instructors_own_library(tmp_path: Path) -> None:
    golden = json.loads((ROOT / "tests" / "data" / "golden" / "instructor.json").read_text())
    folder = golden_models.instructor(tmp_path / "instructor")
    given = [Document(docid, title, text) for docid, (title, text) in golden_texts.DOCUMENTS.items()]
    for name in INSTRUCTOR:
        encoder = SentenceEncoder(Registry().find(name)._replace(source=str(folder)), CPU)
        np.testing.assert_allclose(encoder.encode_documents(given), golden["documents"], atol=2e-5)
        np.testing.assert_allclose(encoder.encode_queries(queries(golden_texts.ASKED)), golden["asked"], atol=2e-5)
        bare = queries([(query, "") for query, _ in golden_texts.ASKED])
        np.testing.assert_allclose(encoder.encode_queries(bare), golden["bare"], atol=2e-5)
