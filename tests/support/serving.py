"""What the tests of commands that serve a page share: the command running, requests."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

from conftest import ROOT, hear_interrupts


class Running:
    """The command, serving; ``address`` is the link that it printed."""

    def __init__(self, process: "subprocess.Popen[str]", address: str) -> None:
        self.process, self.address = process, address
        parts = urlsplit(address)
        self.port = int(parts.port or 0)
        self.token = parse_qs(parts.query)["token"][0]
        self.messages: list[str] = []
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self.process.stderr
        self.messages.extend(self.process.stderr)

    def request(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, str], str]:
        """Status, headers and text of the answer; with the token's cookie unless headers tell another."""
        sent = {"Host": f"127.0.0.1:{self.port}", "Cookie": f"heed-{self.port}={self.token}"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            sent.setdefault("Content-Type", "application/json")
            sent.setdefault("Content-Length", str(len(content)))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders(content)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()

    def get(self, path: str) -> dict:
        status, _, text = self.request("GET", path)
        assert status == 200, text
        data: dict = json.loads(text)
        return data

    def kill(self) -> None:
        """SIGKILL: nothing can be put in order any more."""
        self.process.kill()
        self.process.wait()

    def stop(self, number: int = signal.SIGINT) -> int:
        """SIGINT, as Ctrl-C sends it, or another signal; gives back the exit status."""
        self.process.send_signal(number)
        return self.process.wait(timeout=20)

    def waits_for(self, text: str) -> None:
        """Wait until the command has said ``text`` on stderr: a thread reads that."""
        end = time.monotonic() + 10
        while not any(text in line for line in self.messages):
            assert time.monotonic() < end, f"never said: {text}"
            time.sleep(0.02)


R = TypeVar("R", bound=Running)


@contextmanager
def serving(command: str, *arguments: object, kind: type[R]) -> Iterator[R]:
    """The command as a user starts it, without a browser."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"pipelines.{command}", "--no-browser", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    assert process.stdout and process.stderr
    running: R | None = None
    try:
        address = process.stdout.readline().strip()
        assert address, process.stderr.read()
        running = kind(process, address)
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if running:
            running.listener.join()  # or the thread would read a file that is closed
        process.stdout.close()
        process.stderr.close()


def raw(port: int, request: bytes) -> bytes:
    """The answer to bytes as they are: no client mends the path."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))
