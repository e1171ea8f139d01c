"""Texts as the terms that an index holds: Anserini's analysers, with few calls to Java for many texts."""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from heed.languages import Language
from heed.retrieval.lucene.jvm import cast, java, java_errors

# No token of Lucene's StandardTokenizer (Unicode's word boundaries, UAX #29) holds one of these, and no filter of the
# four languages joins tokens across them: Chinese bigrams are of adjacent characters. What is left out can be in a
# token: a quotation mark in Hebrew, # and * in emoji, other spaces and the low line between letters.
WORD = re.compile(r"[^ \t\n\r\f\v!$%&()+/<=>?@\[\\\]^`{|}~-]+")
BETWEEN = ".,:;"  # in a token only between letters or digits
MARK = "7319480265000"  # stands between words that are analysed together: every analyser gives a number back as it is


class Analysis:
    """The analyser of a language. It remembers the terms of every word, since texts repeat theirs."""

    def __init__(self, language: Language) -> None:
        """Java is not started before the first text."""
        self._language = language
        self._known: dict[str, tuple[str, ...]] = {}

    def terms(self, text: str) -> list[str]:
        """The terms of ``text`` in their order, repeats included."""
        return self.of_each([text])[0]

    def of_each(self, texts: Iterable[str]) -> list[list[str]]:
        """The terms of each of ``texts``."""
        words = [[word.strip(BETWEEN) for word in WORD.findall(text)] for text in texts]
        self._learn({word: None for found in words for word in found if word not in self._known})
        return [[term for word in found for term in self._known[word]] for found in words]

    @cached_property
    def analyzer(self) -> Any:
        """Anserini's analyser for the language."""
        if self._language.short == "en":
            return java("io.anserini.analysis.DefaultEnglishAnalyzer").newDefaultInstance()
        return java("io.anserini.analysis.AnalyzerMap").getLanguageSpecificAnalyzer(self._language.short)

    def _learn(self, words: Iterable[str]) -> None:
        together = []
        for word in words:
            if MARK in word:
                self._known[word] = tuple(self._analyse(word))
            else:
                together.append(word)
        found: list[list[str]] = []
        for term in self._analyse(" ".join(f"{MARK} {word}" for word in together)):
            if term == MARK:
                found.append([])
            else:
                found[-1].append(term)
        self._known.update(zip(together, map(tuple, found), strict=True))

    def _analyse(self, text: str) -> list[str]:
        if not text:
            return []
        with java_errors("analysing a query"):
            terms = java("io.anserini.analysis.AnalyzerUtils").analyze(self.analyzer, text)
            # handed over as one string: term by term each would cost a call
            string = java("java.lang.String")
            joined = string.join(cast("java.lang.CharSequence", string("\n")), cast("java.lang.Iterable", terms))
        return joined.split("\n") if joined else []
