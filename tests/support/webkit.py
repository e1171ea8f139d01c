"""Debian's WebKitGTK, driven by its own WebDriver, in a screen of its own."""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import urllib3
from window import PATIENCE, Window, until

DRIVER, SCREEN = shutil.which("WebKitWebDriver"), shutil.which("Xvfb")
BROWSER = next(Path("/usr/lib").glob("*/webkit2gtk-4*/MiniBrowser"), None)


class WebKit(Window):
    """One window, opened by the driver at ``port``."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}/session"
        options = {"binary": str(BROWSER), "args": ["--automation"]}
        wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        self._base += "/" + self._call("", capabilities=wanted)["sessionId"]

    def _call(self, path: str, **parameters: Any) -> Any:
        answer = urllib3.request("POST", f"{self._base}{path}", json=parameters, timeout=PATIENCE)
        value = answer.json()["value"]
        assert answer.status == 200, value
        return value

    def open(self, address: str) -> None:
        self._call("/url", url=address)

    def evaluate(self, expression: str) -> Any:
        value = self._call("/execute/sync", script=f"return JSON.stringify({expression})", args=[])
        return json.loads(value or "null")

    def press(self, key: str) -> None:
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._call("/actions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def close(self) -> None:
        urllib3.request("DELETE", self._base, timeout=PATIENCE)


def is_served(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def webkit(profile: Path) -> Iterator[WebKit]:
    """A WebKitGTK with an empty ``profile``."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    screen = subprocess.Popen(
        [str(SCREEN), "-displayfd", "1", "-screen", "0", "1400x900x24"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert screen.stdout
    with screen.stdout as numbers:
        display = f":{numbers.readline().decode().strip()}"
    environment = {"HOME": str(profile), "PATH": "/usr/bin:/bin", "DISPLAY": display, "NO_AT_BRIDGE": "1"}
    driver = subprocess.Popen([str(DRIVER), f"--port={port}"], env=environment, stderr=subprocess.DEVNULL)
    try:
        until(lambda: is_served(port), "the driver listens")
        with closing(WebKit(port)) as window:
            yield window
    finally:
        for process in (driver, screen):
            process.kill()
            process.wait()
