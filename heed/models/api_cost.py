"""What a run through an API will cost, told before the first call: calls, tokens, and money where a price is known."""

import os
from collections.abc import Callable, Sequence

ASCII_A_TOKEN = 4  # OpenAI's rule of thumb for English; other scripts take about a token for a character
TIKTOKEN_FILES = "TIKTOKEN_CACHE_DIR"  # tiktoken's own: where it keeps its files, which it fetches otherwise
MILLION = 1_000_000

Count = Callable[[str], int]


def about(text: str) -> int:
    """About how many tokens ``text`` has: one for four ASCII characters, one for each other character.

    Too few for tables of numbers, too many for Russian. Not a tokenizer's count, because what is cut
    by it must not depend on what is installed: another cut would be another call, paid again.
    """
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // ASCII_A_TOKEN) + len(text) - plain


def counter(model: str) -> tuple[Count, str]:
    """How tokens are counted for the bill, and in words how.

    tiktoken counts where it is installed, knows the model and has its files at hand: it is not let
    loose on the network for an estimate.
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
    """Counts what will be asked, and what is in the cache and free."""

    def __init__(self, model: str, price: tuple[float, float] | None) -> None:
        """Count for the API's ``model``; ``price`` is in US dollars for a million tokens asked, and answered."""
        self._count, self._how = counter(model)
        self._price = price
        self.calls = self.free = self.asked = self.answered = 0

    def add(self, texts: Sequence[str], answer: str = "") -> None:
        """Count one call."""
        self.calls += 1
        self.asked += sum(map(self._count, texts))
        self.answered += self._count(answer)

    def told(self, label: str) -> str:
        """The bill in one line."""
        if not self.calls:
            return f"{label}: all {self.free} answers are in the cache, nothing is paid"
        tokens = f"about {self.asked:,} tokens"
        if self.answered:
            tokens += f" and {self.answered:,} of answers"
        cost = "price unknown"
        if self._price:
            paid = self.asked * self._price[0] + self.answered * self._price[1]
            cost = f"${paid / MILLION:,.2f}" if paid >= MILLION / 100 else "less than $0.01"
        return f"{label}: {self.calls:,} calls with {tokens} ({self._how}), {cost}; {self.free:,} answers are cached"
