"""Answers of paid APIs: what they will cost, before the first call, and the file that keeps them."""

import json
import math
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from heed.errors import ServiceError, fail
from heed.models.text import whole_rows
from heed.progress import number_of
from heed.types import Document

ASCII_A_TOKEN = 4  # OpenAI's rule of thumb for English; other scripts take about a token for a character
ESTIMATE = "an estimate: four ASCII characters or one other character a token"
MILLION = 1_000_000
SEARCHED, PIECE = 100, 500  # Cohere's search: a query with 100 documents of 500 tokens, the query's included

Item = TypeVar("Item")


def about(text: str) -> int:
    """Return about how many tokens ``text`` has: one for four ASCII characters, one for each other character.

    Too few for tables of numbers, too many for Russian. Not a tokenizer's count, because documents
    are cut by it, which must not depend on what is installed: another cut would be another call, paid again.
    """
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // ASCII_A_TOKEN) + len(text) - plain


def beginning(document: Document, room: int) -> str:
    """Return as much of a document's text as has about ``room`` tokens; a table is cut between rows."""
    text = whole_rows(document, room, about)
    if about(text) <= room:
        return text
    fitting = bisect_right(range(1, len(text)), room, key=lambda length: about(text[:length]))
    return text[:fitting].rstrip()


def check_texts(documents: Iterable[Document], purpose: str) -> None:
    """Raise :class:`DataError` naming the ``documents`` without text, which no server takes for its ``purpose``."""
    fail(
        f"document {document.docid}: has no text, which {purpose}; give it one or leave it out"
        for document in documents
        if not (document.title + document.text).strip()
    )


def in_requests(texts: Iterable[tuple[Item, int]], most: int, tokens: int) -> Iterator[list[Item]]:
    """Yield items, which come with their lengths in tokens, in parts of at most ``most`` items and ``tokens``.

    An item that is longer alone is a part of its own.
    """
    part: list[Item] = []
    total = 0
    for item, length in texts:
        if part and (len(part) == most or total + length > tokens):
            yield part
            part, total = [], 0
        part.append(item)
        total += length
    if part:
        yield part


class Bill:
    """Counts the calls to make, and the kept answers, which are free."""

    def __init__(self, price: tuple[float, float] | None, search_price: float | None = None) -> None:
        """Begin at zero.

        ``price`` is in US dollars for a million tokens of input, and of output; ``search_price`` for a thousand
        searches, which a rerank server may count instead.
        """
        self._price, self._search_price = price, search_price
        self.calls = self.free = self.input = self.output = self.searches = 0

    def add(self, texts: Sequence[str], answer: str = "") -> None:
        """Count one call."""
        self.calls += 1
        self.input += sum(map(about, texts))
        self.output += about(answer)

    def add_search(self, query: str, documents: Sequence[str]) -> None:
        """Count one call that reranks: the query is read with each document.

        A search is counted as Cohere does (docs.cohere.com/docs/how-does-cohere-pricing-work): longer documents
        count as several.
        """
        lengths = [about(query) + about(document) for document in documents]
        self.calls += 1
        self.input += sum(lengths)
        self.searches += math.ceil(sum(math.ceil(length / PIECE) for length in lengths) / SEARCHED)

    @property
    def dollars(self) -> float | None:
        """The price of all calls in US dollars; None where it is not known."""
        if self._search_price is not None:
            return self.searches * self._search_price / 1000
        if self._price is None:
            return None
        return (self.input * self._price[0] + self.output * self._price[1]) / MILLION

    def line(self, label: str, bound: str = "") -> str:
        """Return the bill as one line; ``bound`` stands before the calls, such as "at most "."""
        if not self.calls:
            return f"{label}: all {self.free} answers are in the cache, nothing is paid"
        tokens, cost = self._parts()
        calls, cached = ("calls", "call")[self.calls == 1], ("answers are", "answer is")[self.free == 1]
        return (
            f"{label}: {bound}{self.calls:,} {calls} with about {tokens} ({ESTIMATE}), {cost}; "
            f"{self.free:,} {cached} cached"
        )

    def used_line(self, label: str) -> str:
        """Return as one line what a server says that was used."""
        tokens, cost = self._parts()
        return f"{label}: used {number_of(self.calls, 'call')} with {tokens} by the server's count, {cost}"

    def _parts(self) -> tuple[str, str]:
        """Return the tokens and their price in words."""
        tokens, cost = f"{self.input:,} tokens", "price unknown"
        if self.output:
            tokens += f" and {self.output:,} of answers"
        if self.dollars is not None:
            cost = (
                f"${self.dollars:,.2f}" if self.dollars >= 0.01 else "less than $0.01" if self.dollars else "for free"
            )
        if self._search_price is not None:
            cost += f" for {self.searches:,} searches"
        return tokens, cost


FILE = "answers.sqlite"
BUSY = 60  # seconds to wait for another process that is writing


class Answers:
    """Answers by the digest of their request; they hold texts and vectors, never a key."""

    def __init__(self, folder: Path) -> None:
        """Keep them in ``folder``, which is created with the first answer."""
        self.path = folder / FILE

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the answers of those ``keys`` that have one."""
        if not self.path.exists():
            return {}
        query = "SELECT key, answer FROM answers WHERE key IN (SELECT value FROM json_each(?))"
        with self._open() as db:
            return dict(db.execute(query, [json.dumps(list(keys))]))

    def stored(self, key: str, is_answer: Callable[[str], bool] = bool) -> str | None:
        """Return the stored answer of ``key`` as text; None where there is none, or it is no answer."""
        stored = self.get([key]).get(key, b"").decode()
        return stored if is_answer(stored) else None

    def answer(self, key: str, request: Callable[[], str], is_answer: Callable[[str], bool] = bool) -> str:
        """Return the stored answer of ``key``; without one that of ``request``, which is stored if it is one."""
        answer = self.stored(key, is_answer)
        if answer is None:
            answer = request()
            self.put({key: answer.encode()} if is_answer(answer) else {})
        return answer

    def put(self, answers: Mapping[str, bytes]) -> None:
        """Keep answers; they are on disk, all or none, when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as db, db:
            db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", answers.items())

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
