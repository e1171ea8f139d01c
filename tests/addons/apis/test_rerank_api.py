import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Heed, write_jsonl
from model_inputs import CPU, queries
from openai_server import Reply, Server

from heed.addons.apis import client as api_client
from heed.addons.apis.client import RefusedError
from heed.addons.apis.cost import Bill
from heed.addons.apis.rerank import ApiReranker
from heed.errors import HeedError
from heed.formats.trec_files import read_run
from heed.models.listing import inputs, missing
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers.cross_encoder import CrossEncoderReranker
from heed.types import Document

KEY = "co-very-secret-0123456789"
OWN = Model("org/cross", family="api-rerank", status="api")
SHIPPED = Registry()
DOCUMENTS = [Document("1", "", "aa"), Document("2", "T", "bbbb"), Document("3", "", "c")]
TEXTS = ["aa", "T bbbb", "c"]
SERVICES = {"cohere": "COHERE_RERANK", "jina": "JINA", "voyage": "VOYAGE", "contextual": "CONTEXTUAL"}
[QUERY] = queries([("q", "only x")])


@pytest.fixture(autouse=True)
def machine(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for service, address in SERVICES.items():
        monkeypatch.setenv(f"{address}_BASE_URL", server.url)
        monkeypatch.setenv(f"{service.upper()}_API_KEY", KEY)
    monkeypatch.setenv("RERANK_BASE_URL", server.url)
    monkeypatch.delenv("RERANK_API_KEY", raising=False)
    monkeypatch.setattr(api_client, "FIRST_PAUSE", 0.0)
    monkeypatch.chdir(tmp_path)  # answers are kept in its indexes/api


def test_a_run_through_a_server_is_the_models_own(
    server: Server, tiny_cross_encoder: Path, tmp_path: Path, heed: Heed
) -> None:
    """The forms of all servers of one's own, one after another; the server runs the same model."""
    cross = CrossEncoderReranker(Model(str(tiny_cross_encoder), query="{query}"), CPU)

    def score(query: str, texts: list[str]) -> list[float]:
        # in batches as large as the direct run's: other batches move a float32 by up to 3e-6
        [asked] = queries([(query, "")])
        scores = dict(zip(everything, cross.score(asked, [Document(t, "", t) for t in everything]), strict=True))
        return [scores[text] for text in texts]

    server.score = score
    documents = [{"id": f"d{at}", "title": "", "text": "wind farms"[: 3 + at % 7] + f" {at}"} for at in range(70)]
    everything = [one["text"] for one in documents]
    topic = {"qid": "1", "lang": "eng", "query": "wind", "instructions": {"original": "only farms"}}
    data = ("--docs", write_jsonl(tmp_path / "docs.jsonl", documents), "--device", "cpu", "--quiet")
    data = (*data, "--topics", write_jsonl(tmp_path / "topics.jsonl", [topic]))
    pool = write_jsonl(tmp_path / "pool.jsonl", [{"qid": "1", "docids": [one["id"] for one in documents]}])
    result = heed("pipelines.rerank", pool, *data, "--reranker", tiny_cross_encoder, "--out", "direct.run")
    assert result.returncode == 0
    direct = read_run(tmp_path / "direct.run")["1"]
    assert len(set(direct.values())) > 20
    for form in (None, "vllm", "infinity", "tei"):
        entry = {"org/cross": {"family": "api-rerank", "status": "api", **({"api": form} if form else {})}}
        (tmp_path / "models.json").write_text(json.dumps(entry))
        options = ("--models", "models.json", "--reranker", "org/cross", "--out", f"{form}.run")
        result = heed("pipelines.rerank", pool, *data, *options, RERANK_BASE_URL=server.url)
        assert (result.returncode, result.stderr) == (0, "")
        assert read_run(tmp_path / f"{form}.run")["1"] == pytest.approx(direct, abs=1e-6)
    assert [len(body.get("texts", body.get("documents"))) for _, _, body in server.requests] == [70, 70, 70, 32, 32, 6]


@pytest.mark.parametrize(
    ("model", "key", "body"),
    [
        (SHIPPED.find("cohere/rerank-v3.5"), KEY, {}),  # docs.cohere.com/reference/rerank
        # api.jina.ai/docs: return_documents is true by default
        (SHIPPED.find("jina/jina-reranker-v3"), KEY, {"return_documents": False}),
        (SHIPPED.find("voyage/rerank-2.5"), KEY, {}),  # docs.voyageai.com/reference/reranker-api
        # docs.contextual.ai/api-reference/rerank/rerank
        (
            SHIPPED.find("contextual/ctxl-rerank-v2-instruct-multilingual"),
            KEY,
            {"query": "q", "instruction": "only x"},
        ),
        (OWN, None, {"model": "org/cross"}),
        # vllm/entrypoints/pooling/scoring/protocol.py
        (OWN._replace(api="vllm"), None, {"model": "org/cross", "use_activation": False}),
        # infinity_emb 0.0.78, fastapi_schemas/pymodels.py
        (OWN._replace(api="infinity"), None, {"model": "org/cross", "raw_scores": True}),
        # a template of the entry is preferred to the field
        (
            OWN._replace(api="contextual", query="{query}: {instruction}"),
            None,
            {"model": "org/cross", "query": "q: only x"},
        ),
    ],
)
def test_every_server_is_asked_in_its_own_form(
    server: Server, model: Model, key: str | None, body: dict[str, Any]
) -> None:
    name = model.source.partition("/")[2]
    check_request(server, model, key, {"model": name, "query": "q only x", "documents": TEXTS, **body})


def test_text_embeddings_inference_is_asked_for_texts_and_no_model(server: Server) -> None:
    """Its openapi.json, RerankRequest."""
    body = {"query": "q only x", "texts": TEXTS, "raw_scores": True, "truncate": True}
    check_request(server, OWN._replace(api="tei"), None, body)


def check_request(server: Server, model: Model, key: str | None, body: dict[str, Any]) -> None:
    """The server gets ``body`` and ``key``, and its scores arrive."""
    scores = ApiReranker(model).score(QUERY, DOCUMENTS)
    assert scores == pytest.approx([len(text) + len(body["query"]) / 1000 for text in TEXTS])
    [(path, headers, sent)] = server.requests
    assert (path, sent) == ("/v1/rerank", body)
    assert headers.get("Authorization") == (f"Bearer {key}" if key else None)


def test_the_condition_query_sends_no_instruction(server: Server) -> None:
    model = SHIPPED.find("contextual/ctxl-rerank-v2-instruct-multilingual")
    [bare] = queries([("q", "")])
    ApiReranker(model).score(bare, DOCUMENTS)
    ApiReranker(model._replace(task="find it")).score(bare, DOCUMENTS)
    assert [body.get("instruction") for _, _, body in server.requests] == [None, "find it"]


@pytest.mark.parametrize(
    ("results", "problem"),
    [
        ([(0, 1.0), (1, 2.0)], "ValueError: 2 scores for 3 documents"),
        ([], "ValueError: 0 scores for 3 documents"),
        ([(0, 1.0), (1, 2.0), (1, 2.0), (2, 0.0)], "ValueError: 4 scores for 3 documents"),
        ([(0, 1.0), (1, 2.0), (1, 2.0)], "ValueError: score None at index 2, expected a finite number"),
        ([(0, 1.0), (1, 2.0), (3, 0.0)], "score None at index 2"),
        ([(0, 1.0), (1, 2.0), ("2", 0.0)], "score None at index 2"),
        ([(0, 1.0), (1, float("nan")), (2, 0.0)], "score nan at index 1"),
        ([(0, 1.0), (1, float("inf")), (2, 0.0)], "score inf at index 1"),
        ([(0, 1.0), (1, "0.5"), (2, 0.0)], "score '0.5' at index 1"),
    ],
)
def test_an_answer_that_lacks_a_score_is_an_error_and_never_kept(
    server: Server, results: list[tuple[Any, Any]], problem: str
) -> None:
    rows = [{"index": index, "relevance_score": score} for index, score in results]
    server.script = [Reply(body=json.dumps({"results": rows}).encode())] * api_client.ATTEMPTS
    with pytest.raises(HeedError, match=rf"/v1/rerank: an answer that cannot be used \(.*{problem}.* attempt 6 of 6"):
        ApiReranker(OWN).score(QUERY, DOCUMENTS)
    assert ApiReranker(OWN).score(QUERY, DOCUMENTS)[0] == pytest.approx(2.008)  # asked again, and answered well
    assert server.calls == api_client.ATTEMPTS + 1


@pytest.mark.parametrize(
    "body",
    [
        b'{"results": [{"index": 0, "relevance_score": 1.0}, {"ind',  # cut off
        b'{"results": [{"index": 0, "score": 1.0}]}',
        b'{"results": {"0": 1.0}}',
        b'{"data": []}',
        b"null",
    ],
)
def test_an_answer_of_another_form_is_an_error(server: Server, body: bytes) -> None:
    server.script = [Reply(body=body)] * api_client.ATTEMPTS
    with pytest.raises(HeedError, match="an answer that (cannot be used|is no JSON)"):
        ApiReranker(OWN).score(QUERY, DOCUMENTS)


def test_what_a_server_refuses_is_told_without_the_key(server: Server) -> None:
    # text-embeddings-inference answers so to a batch that is too large
    server.script = [
        Reply(413, b'{"error": "batch size 32 > maximum allowed batch size 8", "error_type": "Validation"}')
    ]
    with pytest.raises(RefusedError, match="status 413 .*maximum allowed batch size 8.*; check the model's entry"):
        ApiReranker(OWN._replace(api="tei")).score(QUERY, DOCUMENTS)
    server.script = [Reply(401, b'{"message": "invalid api token %s"}' % KEY.encode())]
    with pytest.raises(RefusedError, match="check COHERE_API_KEY") as caught:
        ApiReranker(SHIPPED.find("cohere/rerank-v3.5")).score(QUERY, DOCUMENTS)
    assert KEY not in str(caught.value)


def test_addresses_and_forms_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RERANK_BASE_URL")
    with pytest.raises(HeedError, match=r"org/cross: no API is known by the name 'org' \(known: cohere, .*RERANK_BASE"):
        ApiReranker(OWN)
    for variable in ("VOYAGE_API_KEY", "VOYAGE_BASE_URL"):
        monkeypatch.delenv(variable)
    with pytest.raises(HeedError, match="voyage/rerank-2.5: VOYAGE_API_KEY is not set"):
        ApiReranker(SHIPPED.find("voyage/rerank-2.5"))
    with pytest.raises(HeedError, match="org/cross: api is 'tie', expected one of cohere, jina, .*, tei"):
        ApiReranker(OWN._replace(api="tie"))


def test_answers_are_paid_once_and_the_cost_is_told_before(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    model = SHIPPED.find("cohere/rerank-v3.5")
    for _ in range(2):
        reranker = ApiReranker(model)
        reranker.begin([QUERY], lambda _: DOCUMENTS)
        reranker.score(QUERY, DOCUMENTS)
    first, second = [line for line in capsys.readouterr().err.splitlines() if "rerank-v3.5" in line]
    # "q only x" has 8 letters, so 2 tokens with each document; the documents have 1, 2 and 1
    assert "rerank-v3.5.original: 1 call with about 10 tokens" in first
    assert first.endswith(", less than $0.01 for 1 searches; 0 answers are cached")
    assert second == "rerank-v3.5.original: all 1 answers are in the cache, nothing is paid"
    assert server.calls == 1
    ApiReranker(model).score(QUERY, DOCUMENTS[:2])  # another request: a model may read documents together
    assert server.calls == 2
    assert not [path for path in Path().rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_that_a_server_may_cut_instructions_is_told_before(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    for model, told in ((OWN, True), (OWN._replace(max_length=8192), False)):
        ApiReranker(model).begin([QUERY], lambda _: DOCUMENTS)
        assert ("cross: its entry has no max_length; what is too long is cut" in capsys.readouterr().err) is told


def test_searches_are_counted_as_cohere_counts_them() -> None:
    bill = Bill(None, 2.0)
    bill.add_search("q" * 40, ["d" * 1960] * 100)  # 10 and 490 tokens: 500, so 100 documents, one search
    assert (bill.searches, bill.input) == (1, 50_000)
    bill.add_search("q" * 40, ["d" * 1964] * 100)  # 501 tokens: each counts as two, so two searches
    bill.add_search("q", ["d"])
    assert (bill.calls, bill.searches, bill.dollars) == (3, 4, 0.008)
    assert Bill(None).dollars is None


def test_long_documents_are_cut_here_unless_the_server_does_it(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    long = [
        Document("1", "T", "w" * 400),
        Document("2", "", "short"),
        Document("3", "", "\n".join(["| row |"] * 50), "c"),
    ]
    reranker = ApiReranker(OWN._replace(max_length=40))
    reranker.score(QUERY, long)
    reranker.finish()
    plain, short, table = server.requests[0][2]["documents"]
    # three quarters of 40 tokens are 30, query and instruction take 2, "T " one of the rest: 27 tokens, 108 letters
    assert plain == "T " + "w" * 108
    assert short == "short"
    assert table == "\n".join(["| row |"] * 14)  # of 8 letters with its line break: 14 rows take 28 tokens
    assert "cross: 2 of 3 documents seem longer with their query than 40 tokens: their end was cut" in (
        capsys.readouterr().err
    )
    with pytest.raises(
        HeedError, match="cross: topic 0: query and instruction, by an estimate, take 2 of the model's 2 tokens"
    ):
        ApiReranker(OWN._replace(max_length=3)).score(QUERY, long)
    cohere = ApiReranker(SHIPPED.find("cohere/rerank-v3.5")._replace(max_length=40))
    cohere.score(QUERY, long)
    cohere.finish()
    assert server.requests[1][2]["documents"][0] == "T " + "w" * 400
    assert "2 of 3 documents seem longer with their query than 40 tokens: their end is cut there" in (
        capsys.readouterr().err
    )


def test_a_document_without_text_is_an_error_before_anything_is_sent(server: Server) -> None:
    empty = [*DOCUMENTS, Document("7", "", " \n"), Document("8", "", "")]
    with pytest.raises(HeedError, match="document 7: has no text, which cross cannot score") as caught:
        ApiReranker(OWN).score(QUERY, empty)
    assert "document 8" in str(caught.value)
    assert ApiReranker(OWN).score(QUERY, []) == []
    assert server.calls == 0


def test_large_pools_are_sent_in_parts(server: Server) -> None:
    documents = [Document(str(at), "", "x" * (at + 1)) for at in range(250)]
    scores = ApiReranker(OWN).score(QUERY, documents)
    assert scores == pytest.approx([at + 1.008 for at in range(250)])
    huge = [Document(str(at), "", str(at) * 480_000) for at in range(3)]  # 120,000 tokens each, 200,000 a request
    ApiReranker(OWN).score(QUERY, huge)
    assert [len(body["documents"]) for _, _, body in server.requests] == [100, 100, 50, 1, 1, 1]


def test_the_list_says_how_the_instruction_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    told = dict(inputs(SHIPPED.find("contextual/ctxl-rerank-v2-instruct-multilingual")))
    assert told["query"] == "solar power in the desert"
    assert told["original, instruction (a field of its own)"] == "Plants in Africa are relevant."
    cohere = dict(inputs(SHIPPED.find("cohere/rerank-v3.5")))
    assert cohere["original"] == "solar power in the desert Plants in Africa are relevant."
    assert missing(OWN) == missing(SHIPPED.find("jina/jina-reranker-v3")) == []
    for name in ("RERANK_BASE_URL", "JINA_BASE_URL", "JINA_API_KEY"):
        monkeypatch.delenv(name)
    assert missing(OWN._replace(status="runs")) == ["RERANK_BASE_URL"]
    assert missing(SHIPPED.find("jina/jina-reranker-v3")) == ["JINA_API_KEY"]
