"""A server that speaks the hub's protocol, on this machine: what ``fetch`` is tried on."""

import hashlib
import json
import threading
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

CORE17, MAIN = "mteb/Core17InstructionRetrieval", "f" * 40
PART = 1 << 16  # bytes


@cache
def slow_hub() -> "Hub":
    """A hub with FollowIR's Core17, as far as it is one, that takes about a second for it, until this process ends."""
    hub = Hub()
    hub.data[CORE17] = {
        "README.md": b"# Core17\n",
        "corpus/test.parquet": bytes(range(256)) * 4000,
        "queries/test.parquet": b"queries" * 100_000,
    }
    hub.pause = 0.05
    threading.Thread(target=hub.serve_forever, args=(0.05,), daemon=True).start()
    return hub


def online(url: str, home: Path) -> dict[str, str]:
    """The variables that let the hub's client ask ``url`` and keep what it gets under ``home``."""
    return {
        "HF_HUB_OFFLINE": "0",
        "HF_ENDPOINT": url,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HOME": str(home),
    }


class Hub(ThreadingHTTPServer):
    """As much of the hub as its client needs; ``data`` are the files of data sets and models by repository.

    ``asked`` holds (method, file, Range) of what was asked for; of files by name, ``wrong`` are sent instead,
    ``sizes`` told instead, ``cut`` sent by half; ``pause`` is in seconds after each ``PART``.
    While ``open`` is not set, only the files ``open_for`` are sent.
    """

    daemon_threads = True

    def __init__(self) -> None:
        """Listen at a free port of this machine."""
        super().__init__(("127.0.0.1", 0), Answer)
        self.data: dict[str, dict[str, bytes]] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.wrong: dict[str, bytes] = {}
        self.sizes: dict[str, int] = {}
        self.cut: set[str] = set()
        self.ranges = True
        self.pause = 0.0
        self.open_for: set[str] = set()
        self.open = threading.Event()
        self.open.set()

    @property
    def url(self) -> str:
        """What ``HF_ENDPOINT`` is to name."""
        return f"http://127.0.0.1:{self.server_port}"

    def got(self) -> list[str]:
        """The files of which bytes were asked for."""
        return [name for method, name, _ in self.asked if method == "GET"]

    def handle_error(self, request: object, address: object) -> None:
        """A cut connection is meant."""


class Answer(BaseHTTPRequestHandler):
    """One connection's requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms for the client to acknowledge the headers
    server: Hub

    def do_HEAD(self) -> None:
        """Sizes and digests."""
        self.answer()

    def do_GET(self) -> None:
        """What a repository holds, or a file."""
        self.answer()

    def log_message(self, *_: object) -> None:
        """Say nothing: tests read ``asked``."""

    def answer(self) -> None:
        """Find out what is asked for."""
        parts = unquote(urlsplit(self.path).path).strip("/").split("/")
        if parts[0] == "api":
            self.describe("/".join(parts[2:4]), parts[4], parts[5])
        elif parts[0] == "datasets":
            self.send_file("/".join(parts[1:3]), parts[4], "/".join(parts[5:]))
        elif parts[2:3] == ["resolve"]:
            self.send_file("/".join(parts[:2]), parts[3], "/".join(parts[4:]))
        else:
            self.send_file(parts[0], MAIN, "/".join(parts[1:]))

    def describe(self, repository: str, what: str, revision: str) -> None:
        """Send the list of a repository's files."""
        if repository not in self.server.data:
            return self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        files = self.server.data[repository].items()
        told: Any = [self.described(name, content, what == "tree") for name, content in files]
        if what == "revision":
            told = {"id": repository, "sha": commit(revision), "siblings": told}
        return self.send(200, json.dumps(told).encode(), {"Content-Type": "application/json"})

    def described(self, name: str, content: bytes, in_tree: bool) -> dict[str, Any]:
        """A file's line in that list, in the words of either of the hub's two lists."""
        size, sha = self.server.sizes.get(name, len(content)), hashlib.sha256(content).hexdigest()
        lfs = {"oid" if in_tree else "sha256": sha, "size": size, "pointerSize": 130}
        known = {"path": name, "type": "file"} if in_tree else {"rfilename": name}
        blob = {"size": size, "oid" if in_tree else "blobId": git_id(content)}
        return {**known, **blob, **({"lfs": lfs} if name.endswith(".parquet") else {})}

    def send_file(self, repository: str, revision: str, name: str) -> None:
        """Send a file, or the part of it that is asked for."""
        content = self.server.data.get(repository, {}).get(name)
        if content is None:
            return self.send(404, b"", {"X-Error-Code": "EntryNotFound"})
        wanted = self.headers.get("Range", "")
        self.server.asked.append((self.command, name, wanted))
        tag = hashlib.sha256(content).hexdigest() if name.endswith(".parquet") else git_id(content)
        headers = {"ETag": f'"{tag}"', "X-Repo-Commit": commit(revision), "Accept-Ranges": "bytes"}
        if self.command == "GET" and name not in self.server.open_for:
            self.server.open.wait(60)
        sent = self.server.wrong.get(name, content)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.server.ranges else 0
        if self.command == "GET" and name in self.server.cut and (start or wanted):
            return self.hang_up()
        if start >= len(content) > 0:
            return self.send(416, b"", headers)
        return self.send(206 if start else 200, sent[start:], headers, cut=name in self.server.cut)

    def send(self, status: int, body: bytes, headers: dict[str, str], cut: bool = False) -> None:
        """Send an answer; ``cut`` by half, and the connection ends."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            sent = body[: len(body) // 2] if cut else body
            for begin in range(0, len(sent), PART):
                self.wfile.write(sent[begin : begin + PART])
                time.sleep(self.server.pause)
            if cut:
                self.hang_up()

    def hang_up(self) -> None:
        """End the connection."""
        self.wfile.flush()
        self.close_connection = True


def commit(revision: str) -> str:
    """The commit of a revision, which is one already or ``main``."""
    return revision if len(revision) == 40 else MAIN


def git_id(content: bytes) -> str:
    """The digest by which git knows a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
