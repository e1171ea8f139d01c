"""Costs of API calls, before the first is made: calls, tokens, and money where a price is known."""

import os
from collections.abc import Callable, Sequence

ASCII_A_TOKEN = 4  # OpenAI's rule of thumb for English; other scripts take about a token for a character
TIKTOKEN_FILES = "TIKTOKEN_CACHE_DIR"  # tiktoken's own variable: the folder of its files
MILLION = 1_000_000

Count = Callable[[str], int]


def about(text: str) -> int:
    """Return about how many tokens ``text`` has: one for four ASCII characters, one for each other character.

    Too few for tables of numbers, too many for Russian. Not a tokenizer's count, because documents
    are cut by it, which must not depend on what is installed: another cut would be another call, paid again.
    """
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // ASCII_A_TOKEN) + len(text) - plain


def counter(model: str) -> tuple[Count, str]:
    """Return how tokens are counted for the bill, and the name of that method.

    tiktoken counts where it is installed, knows the model and has its files: for an estimate it is not
    allowed to fetch them.
    """
    try:
        if os.environ.get(TIKTOKEN_FILES):
            import tiktoken

            encoding = tiktoken.encoding_for_model(model)
            return (lambda text: len(encoding.encode_ordinary(text))), f"tiktoken's {encoding.name}"
    except (ImportError, KeyError, OSError, ValueError):  # not installed, an unknown model, no file, a broken one
        pass
    return about, "an estimate: four ASCII characters or one other character a token"


class Bill:
    """Counts the calls to make, and the kept answers, which are free."""

    def __init__(self, model: str, price: tuple[float, float] | None) -> None:
        """Count for the API's ``model``; ``price`` is in US dollars for a million tokens of input, and of output."""
        self._count, self._how = counter(model)
        self._price = price
        self.calls = self.free = self.input = self.output = 0

    def add(self, texts: Sequence[str], answer: str = "") -> None:
        """Count one call."""
        self.calls += 1
        self.input += sum(map(self._count, texts))
        self.output += self._count(answer)

    def line(self, label: str) -> str:
        """Return the bill as one line."""
        if not self.calls:
            return f"{label}: all {self.free} answers are in the cache, nothing is paid"
        tokens = f"about {self.input:,} tokens"
        if self.output:
            tokens += f" and {self.output:,} of answers"
        cost = "price unknown"
        if self._price:
            paid = self.input * self._price[0] + self.output * self._price[1]
            cost = f"${paid / MILLION:,.2f}" if paid >= MILLION / 100 else "less than $0.01"
        return f"{label}: {self.calls:,} calls with {tokens} ({self._how}), {cost}; {self.free:,} answers are cached"
