import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import write_jsonl
from model_inputs import queries
from openai_server import DIMENSION, Reply, Server, vector

from heed.addons.apis import client as api
from heed.addons.apis.client import ATTEMPTS, Client, RefusedError, endpoint
from heed.addons.apis.cost import Answers, Bill, about
from heed.addons.apis.encoder import TEXTS, ApiEncoder
from heed.errors import HeedError
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Files
from heed.models.registry.entries import Model
from heed.retrieval.dense.vectors import embed
from heed.types import Document

KEY = "sk-very-secret-0123456789"
CHAT = Model("openai/gpt-tiny", family="api-chat", status="api")
COHERE = Model("cohere/embed-english-v3.0", family="api-embedding", status="api")
EMBEDDING = Model("openai/embedding-tiny", family="api-embedding", status="api")


@pytest.fixture(autouse=True)
def machine(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GEMINI_BASE_URL", "COHERE_API_KEY", "COHERE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)  # answers are kept in its indexes/api


def ask(pauses: list[float] | None = None) -> Any:
    """One chat call; ``pauses`` collects what would have been waited."""
    client = Client(endpoint(CHAT), (pauses if pauses is not None else []).append)
    return client.post("chat/completions", {"messages": []}, lambda answer: answer["choices"][0]["message"]["content"])


def test_a_call_carries_the_key_and_nothing_else_of_the_machine(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password mine")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert ask() == ""
    [(path, headers, body)] = server.requests
    assert (path, body) == ("/v1/chat/completions", {"messages": []})
    assert headers["Authorization"] == f"Bearer {KEY}"  # not ~/.netrc's, which requests would prefer


def test_a_429_is_asked_again_after_the_pause_that_it_asks_for(server: Server) -> None:
    date = formatdate(time.time() + 60, usegmt=True)
    ages = "Fri, 31 Dec 99999 23:59:59 GMT"
    server.script = [Reply(429, headers=(("Retry-After", after),)) for after in ("7", "0", date, "soon", ages)]
    pauses: list[float] = []
    ask(pauses)
    assert pauses[:2] == [7.0, 0.0]
    assert 50 < pauses[2] <= 60
    # what is no time is no demand: the pauses after a fourth and a fifth failure, 1 s * 2 ** n and up to 1 s more
    assert 8 <= pauses[3] <= 9 and 16 <= pauses[4] <= 17
    assert server.calls == 6


def test_a_short_pause_that_is_demanded_again_and_again_grows(server: Server) -> None:
    server.script = [Reply(429, headers=(("Retry-After", "1"),))] * (ATTEMPTS - 1)
    pauses: list[float] = []
    ask(pauses)
    assert [low <= pause <= low + 1 for pause, low in zip(pauses, (1, 2, 4, 8, 16), strict=True)] == [True] * 5


def test_a_pause_that_a_server_demands_is_that_of_all_threads(server: Server) -> None:
    server.script = [Reply(429, headers=(("Retry-After", "7"),))]
    paused, over = threading.Event(), threading.Event()

    def sleep(seconds: float) -> None:
        paused.set()
        over.wait(60)

    client = Client(endpoint(CHAT), sleep)

    def post() -> object:
        return client.post("chat/completions", {"messages": []}, lambda answer: answer)

    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(post)
        assert paused.wait(60)
        others = [threads.submit(post) for _ in range(2)]
        time.sleep(0.3)  # enough for a request that does not wait
        assert server.calls == 1
        over.set()
        assert all(future.result(60) for future in (first, *others))
    assert server.calls == 4


def test_a_server_that_takes_one_request_at_a_time_answers_all_threads_in_the_end(server: Server) -> None:
    """Of ten at once one is answered and nine are refused, so that the last is refused nine times, not five."""
    server.at_once = 1
    server.say = lambda _: time.sleep(0.03)
    client = Client(endpoint(CHAT), lambda _: time.sleep(0.05))

    def post(number: int) -> object:
        return client.post("chat/completions", {"messages": []}, lambda answer: number)

    with ThreadPoolExecutor(10) as threads:
        assert list(threads.map(post, range(10))) == [*range(10)]
    assert server.most_in_flight == 1 and server.calls > 10 + ATTEMPTS


def test_errors_of_the_server_are_asked_again_with_growing_pauses(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.script = [Reply(500), Reply(502, b"<html>bad gateway"), Reply(200, b"<p>Not  here</p>"), Reply(200, b"{}")]
    pauses: list[float] = []
    with caplog.at_level("INFO", "heed"):
        ask(pauses)
    assert [low <= pause <= low + 1 for pause, low in zip(pauses, (1, 2, 4, 8), strict=True)] == [True] * 4
    assert server.calls == 5
    lines = [record.getMessage() for record in caplog.records]
    assert lines[1] == f"{server.url}: status 502 (<html>bad gateway); retry in {pauses[1]:.1f} s"
    assert "an answer that is no JSON (<p>Not here</p>); retry in" in lines[2]
    assert len(lines) == 4 and "an answer that cannot be used (it lacks 'choices'); retry in" in lines[3]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Reply(503, b'{"error": {"message": "overloaded"}}'), r"status 503 \(overloaded\)"),
        (Reply(200, b"\xff\xfe"), "an answer that is no JSON"),
        (Reply(200), r"an answer that is no JSON \(empty\)"),
        (Reply(200, b'{"choices": []}'), "an answer that cannot be used"),
        (Reply(200, b"[" * 100_000), "an answer that is no JSON"),
    ],
)
def test_attempts_are_bounded(server: Server, reply: Reply, problem: str) -> None:
    server.script = [reply] * (ATTEMPTS + 1)
    with pytest.raises(HeedError, match=f"{server.url}/chat/completions: .*{problem}.* attempt 6 of 6; .* run again"):
        ask()
    assert server.calls == ATTEMPTS


def test_a_very_long_pause_is_left_to_the_user(server: Server) -> None:
    server.script = [Reply(429, headers=(("Retry-After", "86400"),))]
    with pytest.raises(
        HeedError, match=r"attempt 1 of 6, which demands a pause of more than 300 s; what was answered is kept"
    ):
        ask()
    assert server.calls == 1


@pytest.mark.parametrize(
    ("reply", "hint"),
    [
        (Reply(401, b'{"error": {"message": "Incorrect API key: %s"}}' % KEY.encode()), "check OPENAI_API_KEY"),
        (Reply(404, b'{"error": {"message": "no such model"}}'), "check the model's name, 'gpt-tiny'"),
        (Reply(400, b"too long: " + b"x" * 5000), "check the model's entry"),
        (Reply(307, headers=(("Location", "http://127.0.0.1:9/"),)), "check the model's entry"),
        (Reply(429, b'{"error": {"code": "insufficient_quota"}}'), "no credit left"),
    ],
)
def test_what_will_not_pass_is_not_asked_again(server: Server, reply: Reply, hint: str) -> None:
    server.script = [reply]
    with pytest.raises(RefusedError, match=hint) as caught:
        ask()
    assert f"{server.url}/chat/completions: status {reply.status}" in str(caught.value)
    assert KEY not in str(caught.value) and len(str(caught.value)) < 400
    assert server.calls == 1


def test_a_server_that_does_not_answer_in_time_is_asked_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEED_API_TIMEOUT", "0.2")
    server.script = [Reply(silent=True)]
    pauses: list[float] = []
    assert ask(pauses) == ""
    assert (len(pauses), server.calls) == (1, 2)


def test_a_server_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:hidden@127.0.0.1:9/v1?token=hidden")
    with pytest.raises(HeedError, match=r"http://127.0.0.1:9/v1/chat/completions: no connection \(.*refused") as caught:
        ask()
    assert "hidden" not in str(caught.value)


def test_requests_keep_to_the_rate(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEED_API_RPM", "30")
    pauses: list[float] = []
    client = Client(endpoint(CHAT), pauses.append)
    for _ in range(3):
        client.post("chat/completions", {"messages": []}, lambda answer: answer)
    assert [round(pause) for pause in pauses] == [2, 4]  # not slept, so the third waits for both intervals


@pytest.mark.parametrize(("name", "value"), [("HEED_API_RPM", "many"), ("HEED_API_TIMEOUT", "-1")])
def test_limits_that_are_no_numbers_are_told(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(HeedError, match=f"{name}: found '{value}', expected a number above 0"):
        Client(endpoint(CHAT))


def test_where_models_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    own = endpoint(Model("org/model"))
    assert (own.model, own.key) == ("org/model", KEY)  # any model of the server at OPENAI_BASE_URL
    assert endpoint(Model("google/gemma")).model == "google/gemma"  # also one whose owner has an API too
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert endpoint(CHAT).url("embeddings") == "https://api.openai.com/v1/embeddings"
    assert endpoint(Model("openai/gpt-new")).model == "gpt-new"
    with pytest.raises(HeedError, match="org/model: no API is known by the name 'org' .*set OPENAI_BASE_URL"):
        endpoint(Model("org/model"))
    with pytest.raises(HeedError, match="google/gemini: GEMINI_API_KEY is not set"):
        endpoint(Model("google/gemini"))
    monkeypatch.setenv("COHERE_API_KEY", f" {KEY}\n")
    cohere = endpoint(COHERE)
    assert (cohere.model, cohere.key, cohere.shown) == (
        "embed-english-v3.0",
        KEY,
        "https://api.cohere.ai/compatibility/v1",
    )
    monkeypatch.setenv("COHERE_API_KEY", "a b")
    with pytest.raises(HeedError, match="COHERE_API_KEY: holds a space"):
        endpoint(COHERE)
    monkeypatch.setenv("COHERE_BASE_URL", "api.cohere.ai")
    monkeypatch.setenv("COHERE_API_KEY", KEY)
    with pytest.raises(HeedError, match="COHERE_BASE_URL: not an address"):
        endpoint(COHERE)


def test_secrets_of_an_address_are_used_and_never_told(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url.replace("//", "//user:hidden@") + "/?api-version=hidden2")
    where = endpoint(CHAT)
    assert where.shown == server.url
    assert "hidden" not in repr(where) + json.dumps(where.config) and KEY not in repr(where) + json.dumps(where.config)
    ask()
    assert server.requests[0][0] == "/v1/chat/completions?api-version=hidden2"


def test_answers_are_kept(tmp_path: Path) -> None:
    assert Answers(tmp_path / "api").get(["a"]) == {}
    Answers(tmp_path / "api").put({"a": b"1", "b": b"\0"})
    Answers(tmp_path / "api").put({"a": b"another"})
    assert Answers(tmp_path / "api").get([*map(str, range(1000)), "b", "a"]) == {"a": b"another", "b": b"\0"}
    assert Answers(tmp_path / "other").get(["a"]) == {}


def test_a_cache_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    answers.path.write_bytes(b"something else entirely" * 100)
    with pytest.raises(HeedError, match=r"answers.sqlite: .*not a database.* move the file away"):
        answers.get(["a"])


def test_two_folders_keep_their_answers_apart(server: Server, tmp_path: Path) -> None:
    asked = queries([("q", "")])
    for folder in ("one", "two", "one"):
        ApiEncoder(EMBEDDING, tmp_path / folder).encode_queries(asked)
    assert server.calls == 2


def test_the_bill() -> None:
    assert about("four letters") == 3
    assert about("中国") == 2
    bill = Bill((2.0, 8.0))
    bill.add(["a" * 4_000_000, "b" * 400_000], "c" * 40_000)
    bill.free = 3
    assert bill.line("x") == (
        "x: 1 call with about 1,100,000 tokens and 10,000 of answers "
        "(an estimate: four ASCII characters or one other character a token), $2.28; 3 answers are cached"
    )
    bill = Bill((2.0, 8.0))
    bill.add(["abc"])
    assert ", less than $0.01;" in bill.line("x")
    unpriced = Bill(None)
    unpriced.add(["abc"])
    assert ", price unknown;" in unpriced.line("x")
    assert Bill(None).line("x") == "x: all 0 answers are in the cache, nothing is paid"


def store_of(folder: Path, texts: list[str]) -> DocumentStore:
    records = [{"id": f"d{at:03}", "title": "", "text": text} for at, text in enumerate(texts)]
    return open_store(folder / "store", Files([write_jsonl(folder / "docs.jsonl", records)]))


def test_vectors_are_the_servers_and_paid_once(server: Server, tmp_path: Path) -> None:
    texts = [f"text {at}" for at in range(150)] + ["text 3"]
    documents = [Document(str(at), "", text) for at, text in enumerate(texts)]
    found = ApiEncoder(EMBEDDING).encode_documents(documents)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [vector(text) for text in texts], atol=1e-6)
    assert [len(body["input"]) for _, _, body in server.requests] == [TEXTS, TEXTS, 150 - 2 * TEXTS]
    assert {key: server.requests[0][2][key] for key in ("model", "encoding_format")} == {
        "model": "embedding-tiny",
        "encoding_format": "float",
    }
    again = ApiEncoder(EMBEDDING).encode_documents([*reversed(documents), Document("new", "", "new")])
    np.testing.assert_array_equal(again[:-1], found[::-1])
    assert server.requests[3:][0][2]["input"] == ["new"] and server.calls == 4


def test_the_instruction_reaches_the_query_and_templates_apply(server: Server) -> None:
    encoder = ApiEncoder(EMBEDDING._replace(query="Q: {query} / {instruction}", document="D: {title} {text}"))
    one, two = encoder.encode_queries(queries([("q", "only a"), ("q", "only b")]))
    assert not np.allclose(one, two)
    np.testing.assert_allclose(one, vector("Q: q / only a"), atol=1e-6)
    encoder.encode_documents([Document("1", "T", "{query}")])
    assert server.requests[-1][2]["input"] == ["D: T {query}"]


def test_cohere_is_told_what_a_text_is(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COHERE_BASE_URL", server.url)
    encoder = ApiEncoder(COHERE)
    encoder.encode_documents([Document("1", "", "same")])
    encoder.encode_queries(queries([("same", "")]))
    assert [body["input_type"] for _, _, body in server.requests] == ["search_document", "search_query"]


def test_vectors_are_normalised_where_the_entry_says_so(server: Server) -> None:
    [found] = ApiEncoder(EMBEDDING._replace(normalize=True)).encode_queries(queries([("q", "")]))
    expected = np.array(vector("q"))
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-6)
    server.script = [Reply(body=json.dumps({"data": [{"index": 0, "embedding": [0.0] * DIMENSION}]}).encode())]
    with pytest.raises(HeedError, match="gave a vector of zeros"):
        ApiEncoder(EMBEDDING._replace(normalize=True)).encode_queries(queries([("zero", "")]))


def test_a_document_without_text_is_an_error_before_anything_is_paid(server: Server, tmp_path: Path) -> None:
    encoder = ApiEncoder(EMBEDDING._replace(document="passage: {title} {text}"))
    with pytest.raises(HeedError, match="document d001: has no text, which embedding-tiny cannot embed"):
        encoder.begin(store_of(tmp_path, ["full", " \n"]))
    with pytest.raises(HeedError, match="document 7: has no text"):
        encoder.encode_documents([Document("7", "", "")])
    assert server.calls == 0


def test_another_number_of_dimensions_is_another_model(server: Server) -> None:
    encoder = ApiEncoder(EMBEDDING)
    encoder.encode_queries(queries([("one", "")]))
    server.script = [Reply(body=json.dumps({"data": [{"index": 0, "embedding": [1.0, 2.0]}]}).encode())]
    with pytest.raises(HeedError, match="gave vectors of 2 and of 8 numbers: another model answers now; move .*sqlite"):
        encoder.encode_queries(queries([("two", "")]))


@pytest.mark.parametrize(
    "data",
    [
        [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 1, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [float("nan")]}],
        [{"index": 0, "embedding": "AACAPw=="}, {"index": 1, "embedding": "AACAPw=="}],
    ],
)
def test_what_is_no_matrix_is_asked_again_and_never_kept(
    server: Server, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "FIRST_PAUSE", 0.0)
    server.script = [Reply(body=json.dumps({"data": data}).encode())]
    found = ApiEncoder(EMBEDDING).encode_queries(queries([("one", ""), ("two", "")]))
    np.testing.assert_allclose(found, [vector("one"), vector("two")], atol=1e-6)
    assert server.calls == 2


def test_long_documents_are_cut_and_queries_told(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    encoder = ApiEncoder(EMBEDDING._replace(max_length=40))
    rows = "\n".join(f"| row {at:02} |" for at in range(50))
    encoder.encode_documents(
        [Document("1", "T", "word " * 100), Document("2", "", "中" * 100), Document("3", "", rows, "cap")]
    )
    plain, chinese, table = server.requests[0][2]["input"]
    # 30 tokens of 40, which leaves room for an estimate that is too low: 116 letters beside "T", 30 characters
    assert plain == ("T " + "word " * 100)[:118].strip()
    assert chinese == "中" * 30
    assert table == "\n".join(rows.split("\n")[:11])  # 11 rows are 120 letters, 30 tokens
    encoder.encode_queries(queries([("short", ""), ("long " * 100, "and all of it")]))
    assert server.requests[1][2]["input"][1].endswith("and all of it")
    assert "1 of 2 queries seem longer than 40 tokens" in capsys.readouterr().err


def test_the_cost_is_told_before_the_first_call(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.seen = lambda: print("CALL", file=sys.stderr)
    encoder, store = ApiEncoder(EMBEDDING), store_of(tmp_path, [f"text {at:03}" for at in range(100)])
    embed(tmp_path / "vectors", store, encoder)
    said = capsys.readouterr().err
    assert "embedding-tiny, documents: 2 calls with about 200 tokens" in said.partition("CALL")[0]
    assert said.count("calls with") == 1  # told once
    fresh = ApiEncoder(EMBEDDING)
    fresh.encode_documents([*store, Document("new", "", "text")])  # without begin, each part is told
    said = capsys.readouterr().err
    assert "embedding-tiny, 101 documents: 1 call with about 1 tokens" in said and "; 100 answers are cached" in said
    assert server.calls == 3


def test_the_key_is_in_no_file(server: Server, tmp_path: Path) -> None:
    encoder = ApiEncoder(EMBEDDING)
    embed(tmp_path / "vectors", store_of(tmp_path, ["a", "b"]), encoder)
    assert KEY not in json.dumps(encoder.config)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "answers.sqlite" for path in files)
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
