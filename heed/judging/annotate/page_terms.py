"""The terms of texts, by which the page marks words exactly as BM25 matches them, where Java is there."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from heed.errors import JavaError
from heed.progress import warn

# of each term its first character and the one after its last, in UTF-16 units, and itself
Places = Sequence[tuple[int, int, str]]
Analyse = Callable[[Sequence[str]], Sequence[Places]]


class Terms:
    """The documents' analyser in one thread, which starts Java at the first text."""

    def __init__(self, analyse: Analyse) -> None:
        """``analyse`` returns the terms of each text, and raises :class:`JavaError` where it cannot."""
        self._analyse = analyse
        self._thread = ThreadPoolExecutor(1, "analysis")  # threads that end would have to be detached from Java
        self._works = True

    def of_each(self, texts: Sequence[str]) -> Sequence[Places] | None:
        """Return the terms of each of ``texts`` with their places; None, after one warning, without Java."""
        return self._thread.submit(self._of_each, texts).result()

    def _of_each(self, texts: Sequence[str]) -> Sequence[Places] | None:
        if not self._works:
            return None
        try:
            return self._analyse(texts)
        except JavaError as error:
            self._works = False
            warn(f"words are marked by their endings, not as BM25 matches them: {error}")
            return None
