import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import write_jsonl
from model_inputs import CPU, queries

from heed.errors import HeedError
from heed.formats.document_store import DocumentStore, open_store
from heed.models.encoders.bi_encoder import SentenceEncoder
from heed.models.local.runtime import Runtime
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers.cross_encoder import CrossEncoderReranker
from heed.models.text.templates import query_text, warn_unread
from heed.progress import gathering
from heed.tables.documents import Tables
from heed.templates import fill
from heed.types import Document, Topic

TEXTS = ["a short one", "a much longer text, with 12 numbers and 大 中 国 in it", "x", "y" * 40]
TOPIC = Topic("1", "zho", "中 国", {"original": "only a", "changed": "only b"})


def plain_vectors(folder: Path, texts: list[str], pooling: str, normalize: bool) -> np.ndarray:
    """The same by plain transformers, one text at a time, so without padding."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer, bert = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    rows = []
    for text in texts:
        with torch.no_grad():
            hidden = bert(**tokenizer(text, return_tensors="pt", truncation=True, max_length=64)).last_hidden_state[0]
        row = hidden.mean(dim=0) if pooling == "mean" else hidden[0]
        rows.append(torch.nn.functional.normalize(row, dim=0) if normalize else row)
    return torch.stack(rows).numpy()


def test_a_models_own_prompts_are_used_where_no_template_is_given(tiny_encoder: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    from heed.models.local.sentence_models import modules

    own = SentenceTransformer(
        modules=modules(Model(str(tiny_encoder), pooling="mean"), tiny_encoder, Runtime("cpu")), device="cpu"
    )
    own.prompts = {"query": "ask: ", "document": "told: "}
    own.save(str(tmp_path / "own"))
    # saved models compare by cosine unless they say otherwise: the inner product of normalised vectors
    encoder = SentenceEncoder(Model(str(tmp_path / "own")), CPU)
    np.testing.assert_allclose(
        encoder.encode_queries(queries([("q", "i")])),
        plain_vectors(tiny_encoder, ["ask: q i"], "mean", True),
        atol=1e-5,
    )
    np.testing.assert_allclose(
        encoder.encode_documents([Document("1", "T", "x")]),
        plain_vectors(tiny_encoder, ["told: T x"], "mean", True),
        atol=1e-5,
    )


def test_queries_that_the_model_must_cut_are_told(tiny_encoder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    encoder = SentenceEncoder(Model(str(tiny_encoder), pooling="mean", max_length=16), CPU)
    encoder.encode_queries(queries([("short", ""), ("q", "a long instruction " * 5)]))
    assert "tiny-encoder: 1 of 2 queries are longer than 16 tokens" in capsys.readouterr().err


def documents(docids: list[str]) -> list[Document]:
    return [Document(docid, "T", [*TEXTS, "z" * 500][int(docid[1:])]) for docid in docids]


def test_a_long_document_is_cut_and_never_the_instruction(tiny_cross_encoder: Path) -> None:
    reranker = CrossEncoderReranker(Model(str(tiny_cross_encoder)), CPU)
    long = "an instruction of almost fifty letters, no more"
    scores = [
        reranker.score(Topic("1", "eng", "q", {"original": f"{long} {end}"}).under("original"), documents(["d4"]))[0]
        for end in "abc"
    ]
    assert len(set(scores)) == 3


def test_an_instruction_that_leaves_no_room_is_an_error(tiny_cross_encoder: Path) -> None:
    reranker = CrossEncoderReranker(Model(str(tiny_cross_encoder)), CPU)
    with pytest.raises(HeedError, match="topic 9: query and instruction take .* of the model's 64 tokens"):
        reranker.score(Topic("9", "eng", "q" * 80, {}).under("query"), documents(["d0"]))


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(HeedError, match=r"polarty: no system, .* did you mean polarity\?"):
        Registry().resolve("polarty", ["polarity"])


def test_templates_leave_braces_in_texts_alone() -> None:
    assert fill("query: {query} {instruction}", query="{text}", instruction="{0}") == "query: {text} {0}"
    assert fill("{query} {instruction}", query="q", instruction="") == "q"


@pytest.mark.parametrize(
    ("field", "template", "wrong"),
    [
        ("query", "{instruction}", "{query} is missing"),
        ("query", "{query} {narrative}", "nothing fills {narrative}"),
        ("bare", "{title}", "{query} is missing; nothing fills {title}"),
        ("document", "{title}", "{text} is missing"),
        ("prompt", "{query} {instruction}", "{document} is missing; nothing fills {instruction}"),
    ],
)
def test_a_template_with_wrong_places_is_refused(tmp_path: Path, field: str, template: str, wrong: str) -> None:
    (tmp_path / "mine.json").write_text(json.dumps({"mine": {field: template}}))
    with pytest.raises(HeedError, match=rf"mine: {field} .*: {re.escape(wrong)}; expected {{(query|text)}}"):
        Registry([tmp_path / "mine.json"])
    if field != "bare":
        with pytest.raises(HeedError, match=re.escape(wrong)):
            Registry(defaults={field: template}).find("somebody/encoder")


def test_a_template_that_an_instruction_never_passes_is_a_warning_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    deaf = Model("somebody/deaf", query="query: {query}")
    assert query_text(deaf, "q", "only a") == query_text(deaf, "q", "only b") == "query: q"
    hearing = Model("somebody/hearing", query="{query} {instruction}")
    assert query_text(hearing, "q", "only a") == "q only a"
    told = "somebody/deaf: no instruction reaches it, its query template has no {instruction}: query: {query}"
    with gathering([]) as warnings:
        for model in (deaf, hearing, deaf):
            warn_unread(model)
    assert warnings == [told]
    assert capsys.readouterr().err == f"warning: {told}\n"


def test_models_can_be_added_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"mine": {"source": "/models/mine", "query": "Q: {query}", "pooling": "cls"}}))
    assert Registry([path]).find("mine") == Model("/models/mine", query="Q: {query}", pooling="cls")
    path.write_text(json.dumps({"bad": {"poling": "cls"}}))
    with pytest.raises(HeedError, match=r"bad: unknown fields \['poling'\]"):
        Registry([path])
    path.write_text(json.dumps({"bad": {"pooling": "average"}}))
    with pytest.raises(HeedError, match="pooling 'average', expected one of"):
        Registry([path])


@pytest.fixture
def table(tmp_path: Path) -> DocumentStore:
    """A table of 30 rows of eight letters each; the tiny models' tokens are letters."""
    rows = "\n".join(f"| {'abcd'[number % 4] * 6} |" for number in range(30))
    tables = [{"id": "t", "title": "", "text": f"# cap\n\n| header |\n| --- |\n{rows}"}]
    source = Tables([write_jsonl(tmp_path / "tables.jsonl", tables)], "markdown")
    return open_store(tmp_path / "tables", source)


def test_a_cross_encoder_reads_caption_header_and_whole_rows(tiny_cross_encoder: Path, table: DocumentStore) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    [document] = table.get(["t"])
    # 64 tokens: [CLS] q q [SEP] … [SEP] leave 59; "# cap", "| header |", "| --- |" are 4 + 8 + 5, so 5 rows of 8
    lines = document.text.split("\n")
    kept = "\n".join(lines[: next(at for at, line in enumerate(lines) if "aaaaaa" in line) + 5])
    tokenizer = AutoTokenizer.from_pretrained(tiny_cross_encoder)
    assert len(tokenizer("qq", kept)["input_ids"]) <= 64 < len(tokenizer("qq", f"{kept}\n| bbbbbb |")["input_ids"])
    bert = AutoModelForSequenceClassification.from_pretrained(tiny_cross_encoder).eval()
    with torch.no_grad():
        expected = float(bert(**tokenizer("qq", kept, return_tensors="pt")).logits[0, 0])
    reranker = CrossEncoderReranker(Model(str(tiny_cross_encoder)), CPU)
    assert reranker.score(Topic("1", "eng", "qq", {}).under("query"), [document]) == pytest.approx([expected], abs=1e-5)


def test_an_encoder_reads_whole_rows_too(tiny_encoder: Path, table: DocumentStore) -> None:
    [document] = table.get(["t"])
    encoder = SentenceEncoder(Model(str(tiny_encoder), pooling="mean", max_length=40), CPU)
    lines = document.text.split("\n")
    # 40 tokens: two special, 17 of caption and header, so 2 rows of 8
    kept = document._replace(text="\n".join(lines[: next(at for at, line in enumerate(lines) if "aaaa" in line) + 2]))
    assert np.allclose(encoder.encode_documents([document]), encoder.encode_documents([kept]), atol=1e-6)
    plain = document._replace(caption="", header="", cells="")
    assert not np.allclose(encoder.encode_documents([document]), encoder.encode_documents([plain]), atol=1e-3)
