"""A real HTTP server on this machine that speaks OpenAI's protocol and rerank servers', and misbehaves when told."""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

DIMENSION = 8


class Reply(NamedTuple):
    """What the server says instead of a proper answer."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    silent: bool = False  # no answer until the client has gone


class Server:
    """``requests`` holds (path, headers, body) of all that came, ``answered`` the bodies that were answered well."""

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.answered: list[str] = []
        self.rank: Callable[[dict[int, str]], str | None] = by_weight
        self.score: Callable[[str, list[str]], list[float]] = by_length
        self.say: Callable[[list[dict[str, str]]], str | None] = lambda messages: self.rank(passages(messages))
        self.usage: dict[str, int] = {}
        self.seen: Callable[[], None] = lambda: None
        self.silent_from = -1  # the number of requests after which none is answered
        self.at_once = 1000  # requests; more than these are answered with 429
        self.in_flight = self.most_in_flight = 0
        self.gone = threading.Event()
        self.lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def calls(self) -> int:
        return len(self.requests)

    @contextmanager
    def running(self) -> Iterator["Server"]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.gone.set()
            self._http.shutdown()
            self._http.server_close()
            thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else a body waits 40 ms for the client to acknowledge the headers

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers["Content-Length"]))
                with server.lock:
                    server.seen()
                    body = json.loads(text)
                    server.requests.append((self.path, dict(self.headers), body))
                    late = 0 <= server.silent_from < len(server.requests)
                    reply = Reply(silent=True) if late else server.script.pop(0) if server.script else None
                    if reply is None and server.in_flight == server.at_once:
                        reply = Reply(429, headers=(("Retry-After", "0"),))
                    server.in_flight += reply is None
                    server.most_in_flight = max(server.in_flight, server.most_in_flight)
                if reply is None:
                    reply = Reply(body=json.dumps(server._answer(self.path, body)).encode())
                    with server.lock:
                        server.in_flight -= 1
                        server.answered.append(json.dumps(body, sort_keys=True))
                if reply.silent:
                    server.gone.wait(20)
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name, value in reply.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

        return Handler

    def _answer(self, path: str, body: dict[str, Any]) -> Any:
        if path.endswith("/embeddings"):
            rows = [{"index": at, "embedding": vector(text)} for at, text in enumerate(body["input"])]
            return {"data": rows[::-1]}  # the order of rows is not promised
        if path.endswith("/rerank"):
            return self._reranked(body)
        said = self.say(body["messages"])
        usage = {"usage": self.usage} if self.usage else {}
        return {"choices": [{"message": {"role": "assistant", "content": said}}], **usage}

    def _reranked(self, body: dict[str, Any]) -> Any:
        """Return the answer in the form that the request is in, best document first, as the servers document it."""
        texts = body.get("texts", body.get("documents"))
        scores = sorted(enumerate(self.score(body["query"], texts)), key=lambda item: -item[1])
        if "texts" in body:  # text-embeddings-inference, RerankResponse
            return [{"index": index, "score": score} for index, score in scores]
        results = [{"index": index, "relevance_score": score} for index, score in scores]
        if body["model"] == "rerank-2.5":  # Voyage
            return {"object": "list", "data": results, "model": body["model"], "usage": {"total_tokens": 26}}
        return {"id": "1", "results": results}  # Cohere, Jina, Contextual, vLLM, Infinity: more fields beside


def passages(messages: list[dict[str, str]]) -> dict[int, str]:
    """The passages that a model was shown, by identifier, in either form of prompt."""
    asked = "\n".join(message["content"] for message in messages if message["role"] == "user")
    return {int(number): text for number, text in re.findall(r"^\[(\d+)\] (.*)$", asked, re.MULTILINE)}


def by_weight(shown: dict[int, str]) -> str:
    """The ranking of a model that looks for ``weight 12`` in each passage."""
    weight = {
        number: int(found[1]) if (found := re.search(r"weight (\d+)", text)) else 0 for number, text in shown.items()
    }
    return " > ".join(f"[{number}]" for number in sorted(weight, key=lambda number: -weight[number]))


def vector(text: str) -> list[float]:
    """Numbers that only this text has."""
    return [(byte - 128) / 128 for byte in hashlib.sha256(text.encode()).digest()[:DIMENSION]]


def by_length(query: str, texts: list[str]) -> list[float]:
    """Scores that every pair can be told by."""
    return [len(text) + len(query) / 1000 for text in texts]
