"""Answers of paid APIs: what they will cost, before the first call, and the file that keeps them."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from heed.errors import ServiceError

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


FILE = "answers.sqlite"
BUSY = 60  # seconds to wait for another process that is writing
PART = 500  # keys of one SQLite query


class Answers:
    """Answers by the digest of their request; they hold texts and vectors, never a key."""

    def __init__(self, folder: Path) -> None:
        """Keep them in ``folder``, which is created with the first answer."""
        self.path = folder / FILE

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the answers of those ``keys`` that have one."""
        if not self.path.exists():
            return {}
        answers: dict[str, bytes] = {}
        with self._open() as db:
            for start in range(0, len(keys), PART):
                part = keys[start : start + PART]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, answer FROM answers WHERE key IN ({marks})"  # noqa: S608 (question marks)
                answers.update(db.execute(query, part))
        return answers

    def put(self, answers: Mapping[str, bytes]) -> None:
        """Keep answers; they are on disk, all or none, when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as db, db:
            db.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", answers.items())

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=BUSY)) as db:
                db.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer BLOB NOT NULL)")
                yield db
        except sqlite3.Error as error:
            raise ServiceError(
                f"{self.path}: the cache of API answers cannot be used ({error}); free some disk space, or move the "
                "file away, which means paying for its answers again"
            ) from error
