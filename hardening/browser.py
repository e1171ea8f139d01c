"""An assessor in a real Chromium, beside those that are connections: the time from a key to the next document."""

import time
from contextlib import closing
from typing import TYPE_CHECKING

from hardening.judging import PAUSE, SECONDS, Server
from hardening.sessions import GRADES, Sent, Session, spread

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = "/usr/bin/chromium"
LOOK = 0.02  # seconds between two looks at the page
DOCUMENT = "document.querySelector('#document').dataset"
# milliseconds from the next key to the frame in which another document is drawn
WATCH = """() => {
    const place = document.querySelector("#document"), before = place.dataset.docid;
    window.took = new Promise((resolve) => {
        let begun;
        addEventListener("keydown", () => { begun = performance.now(); }, { once: true, capture: true });
        const drawn = new MutationObserver(() => {
            if ([before, undefined, ""].includes(place.dataset.docid)) return;
            drawn.disconnect();
            requestAnimationFrame(() => resolve(performance.now() - begun));
        });
        drawn.observe(place, { attributes: true });
    });
}"""


class BrowserSession(Session):
    """Judges the first topic by keys, but for its last document."""

    def __init__(self, server: Server, name: str, number: int) -> None:
        """Judge in an order of the page's own; ``number`` makes the pauses other ones than those of other sessions."""
        super().__init__(server, name, number, [])
        self._drawn: list[float] = []

    def line(self) -> str:
        """What was measured."""
        took = f": the next document is drawn after {spread(self._drawn)}" if self._drawn else ""
        return f"{self.name}, {len(self._drawn)} keys{took}"

    def judge(self, count: int, think: float) -> None:
        """Judge so many documents, or the topic's, with ``think`` seconds before each, on average."""
        from playwright.sync_api import Error, sync_playwright

        flags = ["--no-sandbox", "--disable-gpu"]
        try:
            with (
                sync_playwright() as playwright,
                closing(playwright.chromium.launch(executable_path=CHROMIUM, args=flags)) as browser,
            ):
                self._judge_topic(browser.new_page(), count, think)
        except (Error, TimeoutError) as error:
            self.problems.append(f"{self.name}: {error}")

    def _judge_topic(self, page: "Page", count: int, think: float) -> None:
        self._enter(page)
        documents = page.locator("#strip button").count()
        for at in range(min(count, documents - 1)):
            time.sleep(self._chooser.uniform(0, 2 * think))
            self._judge_shown(page, at % GRADES)
        self._wait(page, "document.querySelector('#saved').dataset.state === 'saved'")

    def _enter(self, page: "Page") -> None:
        """Open the page, again while the server is killed, and give the name."""
        from playwright.sync_api import Error

        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                if served := self._server.served:
                    page.goto(f"http://127.0.0.1:{served.port}/?token={served.cookie.partition('=')[2]}")
                page.wait_for_selector("#ask[open]")
                page.keyboard.insert_text(self.name)
                page.keyboard.press("Enter")
                page.wait_for_selector("#document .facts")
                return
            except Error:
                time.sleep(PAUSE)
        raise TimeoutError(f"{self.name}: no page within {SECONDS} s")

    def _judge_shown(self, page: "Page", grade: int) -> None:
        docid = str(self._wait(page, f"{DOCUMENT}.shown"))
        qid = page.inner_text("#qid")
        page.evaluate(WATCH)
        page.keyboard.press(str(grade))
        self._drawn.append(float(page.evaluate("window.took")))
        self.sent.append(Sent(self.name, qid, docid, grade))

    @staticmethod
    def _wait(page: "Page", expression: str) -> object:
        end = time.monotonic() + SECONDS
        while not (value := page.evaluate(expression)):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(LOOK)
        return value
