"""A browser's window, with the few actions of a reader that tests need in every browser."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 60.0  # seconds
ENTER, ESCAPE = "\ue007", "\ue00c"  # WebDriver's own names of keys


def until(value: Callable[[], Any], what: str) -> Any:
    """The value once it is true."""
    end = time.monotonic() + PATIENCE
    while not (found := value()):
        assert time.monotonic() < end, f"never true: {what}"
        time.sleep(0.1)
    return found


class Window(ABC):
    """A window with a page."""

    @abstractmethod
    def open(self, address: str) -> None:
        """Go to an address."""

    @abstractmethod
    def evaluate(self, expression: str) -> Any:
        """The value of an expression, as JSON has it."""

    @abstractmethod
    def press(self, key: str) -> None:
        """Press one key, a character or one of the above."""

    def type(self, text: str) -> None:
        """Press the key of each character."""
        for character in text:
            self.press(character)

    def wait(self, expression: str) -> Any:
        """The expression's value once it is true."""
        return until(lambda: self.evaluate(expression), expression)


class Chromium(Window):
    """A page of Playwright's."""

    def __init__(self, page: "Page") -> None:
        self._page = page

    def open(self, address: str) -> None:
        self._page.goto(address)

    def evaluate(self, expression: str) -> Any:
        return self._page.evaluate(f"JSON.parse(JSON.stringify({expression}) ?? 'null')")

    def press(self, key: str) -> None:
        self._page.keyboard.press({ENTER: "Enter", ESCAPE: "Escape", " ": "Space"}.get(key, key))
