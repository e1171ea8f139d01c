"""A real Chromium with the annotation page open, as an assessor has it."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from annotating import Running
from conftest import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = Path("/usr/bin/chromium")
QUIET = ("background-networking", "component-update", "sync", "extensions", "default-apps")
# Playwright's own list, which this replaces; then the pop-ups of the search box and a process in reserve, which every
# new window starts and no page here uses: with them a window takes twice the processor
OFF = (
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "SpareRendererForSitePerProcess",
)
ELSEWHERE = "judging.example"  # another machine's name, to this browser
FLAGS = [
    f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-gpu-rasterization",  # Debian's launcher requests it, and without a GPU it is slower
    "--no-first-run",
    *(f"--disable-{name}" for name in QUIET),
    f"--disable-features={','.join(OFF)}",
]
PATIENCE = 8_000  # ms
# Run before a page's scripts, in this browser, what another does: WebKit's history throws at the 101st change in 10 s
WEBKITS_LIMIT = """{
    const times = [];
    for (const name of ["replaceState", "pushState"]) {
        const change = history[name].bind(history);
        history[name] = (...given) => {
            const now = performance.now();
            if (times.filter(time => now - time < 10_000).length >= 100)
                throw new DOMException("more than 100 times per 10 seconds", "SecurityError");
            times.push(now);
            change(...given);
        };
    }
}"""
SETTLING = "SETTLING = 150;"  # ms, of shown.js: a document is on screen for so long before its grade counts


@contextmanager
def launched() -> Iterator["Browser"]:
    """The system's Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


class Assessor:
    """A browser of its own with the page open; all that it asks for and complains of is kept."""

    def __init__(
        self,
        chromium: "Browser",
        server: Running | None,
        name: str,
        bypass_csp: bool = False,
        address: str = "",
        java: bool = False,
        settling: bool = False,
        reads: bool = False,
        drawn: str = "#document .facts",
    ) -> None:
        self.context = chromium.new_context(viewport={"width": 1400, "height": 900}, bypass_csp=bypass_csp)
        if not java:  # as from a server without it: starting it takes two seconds for each server of the tests
            self.context.route("**/api/terms", lambda route: route.fulfill(json={"terms": None}))
        if not reads:  # a server takes a second to open the reader
            self.context.route("**/api/reading", lambda route: route.fulfill(json={"spans": []}))
        if not settling:
            script = (ROOT / "heed/addons/judging/annotate/page/shown.js").read_text(encoding="utf-8")
            assert SETTLING in script
            sooner = script.replace(SETTLING, "SETTLING = 0;")
            self.context.route("**/shown.js", lambda route: route.fulfill(body=sooner, content_type="text/javascript"))
        self.context.set_default_timeout(PATIENCE)
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address or (server.address if server else ""))
        if name:  # else the address is a link of the person's own
            self.page.wait_for_selector("#ask[open]")
            self.page.keyboard.insert_text(name)
            self.page.keyboard.press("Enter")
        self.page.wait_for_selector(drawn)

    def press(self, *keys: str) -> None:
        """Press keys as a reader does: a grade once the document has been on screen for long enough."""
        for key in keys:
            if key.isdigit():
                self.until("document.querySelector('#document').dataset.shown")
            self.page.keyboard.press(key)

    def until(self, expression: str, patience: float = PATIENCE) -> None:
        """Wait until ``expression`` holds in the page (Playwright's own way needs eval, which the page forbids)."""
        end = time.monotonic() + patience / 1000
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            self.page.wait_for_timeout(20)

    def saved(self) -> None:
        self.until("document.querySelector('#saved').dataset.state === 'saved'")

    def look(self) -> None:
        """What the page does when its tab comes into view, and every few seconds."""
        self.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    def shown(self) -> str:
        """The docid in view, once its document is drawn."""
        self.page.wait_for_selector("#document .facts")
        current = self.page.locator("#strip [aria-current]").get_attribute("title").split(": ")[0].split(". ", 1)[1]
        self.until(f"document.querySelector('#document').dataset.docid === {json.dumps(current)}")
        return current

    def squares(self) -> list[str]:
        return self.page.locator("#strip button").all_inner_texts()

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)


@contextmanager
def assessor(
    chromium: "Browser",
    server: Running,
    name: str = "Ann",
    address: str = "",
    java: bool = False,
    settling: bool = False,
    reads: bool = False,
) -> Iterator[Assessor]:
    person = Assessor(chromium, server, name, address=address, java=java, settling=settling, reads=reads)
    try:
        yield person
    finally:
        person.context.close()
