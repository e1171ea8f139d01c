"""The system's Firefox, driven by WebDriver BiDi, which it speaks itself: no driver and no patched build is needed."""

import base64
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from window import PATIENCE, Window

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
NOT_INSTALLED = (
    "no Firefox" if not FIREFOX else "" if find_spec("websockets") else "no websockets: make test installs it"
)
LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


class Firefox(Window):
    """One window; ``complaints`` are the page's errors and the addresses beyond its own file that it asked for."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._numbers = socket, itertools.count(1)
        self.complaints: list[str] = []
        self._call("session.new", capabilities={})
        self._call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self._context = self._call("browsingContext.getTree")["contexts"][0]["context"]

    def _call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            told = json.loads(self._socket.recv(timeout=PATIENCE))
            if told.get("id") == number:
                assert told["type"] == "success", told
                return told["result"]
            self._note(told)

    def _note(self, event: dict[str, Any]) -> None:
        about = event.get("params", {})
        if event.get("method") == "log.entryAdded" and about["level"] in ("error", "warn"):
            self.complaints.append(about["text"])
        if event.get("method") == "network.beforeRequestSent" and not about["request"]["url"].startswith(
            ("file:", "data:")
        ):
            self.complaints.append(about["request"]["url"])

    def open(self, address: str) -> None:
        self._call("browsingContext.navigate", context=self._context, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        asked = {"expression": f"JSON.stringify({expression})", "target": {"context": self._context}}
        told = self._call("script.evaluate", awaitPromise=True, **asked)
        assert told["type"] == "success", told
        return json.loads(told["result"].get("value", "null"))

    def press(self, key: str) -> None:
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        pressed = [{"type": "key", "id": "keys", "actions": actions}]
        self._call("input.performActions", context=self._context, actions=pressed)

    def resize(self, width: int, height: int) -> None:
        viewport = {"width": width, "height": height}
        self._call("browsingContext.setViewport", context=self._context, viewport=viewport)

    def screenshot(self) -> bytes:
        return base64.b64decode(self._call("browsingContext.captureScreenshot", context=self._context)["data"])


@contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """A Firefox with an empty ``profile``, without a window."""
    from websockets.sync.client import connect

    command = [str(FIREFOX), "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    environment = {"HOME": str(profile), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        try:
            assert process.stderr
            address = next(found[1] for line in process.stderr if (found := LISTENING.search(line)))
            with connect(f"{address}/session", max_size=None) as socket:
                yield Firefox(socket)
        finally:
            process.kill()
