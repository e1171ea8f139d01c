"""The systems of a results folder, loaded once, which rank the documents of a question as a command would.

Their answers: a ranking before and after a change, its reasons, and what a search finds.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NamedTuple

import msgspec

from heed.addons.explorer.explored import Explored
from heed.addons.explorer.views import View, corrected
from heed.compute import Compute
from heed.errors import DataError, HeedError, UsageError
from heed.files import locked
from heed.formats.document_store import Corpus, StoredDocuments, title_of
from heed.instructions.reader import InstructionPart
from heed.languages import language
from heed.models.registry.entries import Registry
from heed.progress import log
from heed.ranking import pooled, ranked
from heed.report.results import AGAIN, read_manifest
from heed.reranking.polarity import Explanation, Polarity, explain, topic_terms
from heed.reranking.rank_bm25 import RankBm25
from heed.reranking.rescore import score_alone
from heed.retrieval.bm25.feedback import Feedback
from heed.retrieval.bm25.index import (
    FIELD,
    FIELDS,
    FIELDS_IN,
    K1,
    TABLE_FIELDS,
    B,
    Bm25,
    Bm25Settings,
    Searcher,
    Subset,
)
from heed.systems.make import Place, Search, built_in, make, refuse_twins
from heed.types import JOIN, Query, Reranker, Retriever, Run, Span, Topic

REMEMBERED = 64  # lists of earlier questions


class Choice(NamedTuple):
    """Which systems answer beside those of the runs that need no model, and what runs them.

    ``rerank_depth`` is the number of documents in a pool, None for that of the runs.
    """

    retrievers: Sequence[str] = ()
    rerankers: Sequence[str] = ()
    rerank_depth: int | None = None
    compute: Compute = Compute()
    registry: Registry | None = None


class Question(NamedTuple):
    """A topic under one condition, with its query and that condition's instruction as they may have been changed.

    ``corrections`` are spans of the instruction as a person reads it; the reader reads the rest.
    """

    qid: str
    condition: str
    query: str
    instruction: str
    corrections: tuple[Span, ...] = ()


class RunSettings(NamedTuple):
    """``join`` is how query and instruction became one text; ``depth`` documents a topic in a run and in a pool.

    ``systems`` are the names of those that ran; ``foreign`` says that BM25 searched an index made elsewhere,
    ``published`` that rerankers got the candidates of a paper.
    """

    join: str = JOIN
    depth: int = 1000
    pool_depth: int = 1000
    bm25: Bm25Settings = Bm25Settings()
    systems: tuple[str, ...] = ()
    foreign: bool = False
    published: bool = False


class LiveSystems:
    """Retrievers and rerankers over the documents of a results folder; each answers one question at a time."""

    def __init__(self, explored: Explored, choice: Choice) -> None:
        """Build and load nothing yet; raises :class:`DataError` where the documents of ``explored`` are not here.

        Raises :class:`UsageError` for a system that is unknown, named twice, or cannot run here.
        """
        if explored.store is None:
            raise DataError(f"{explored.path}: {' '.join(explored.notes)}")
        self.explored, self.documents = explored, explored.store
        self.settings = read_run_settings(explored.path)
        if self.settings.foreign:
            raise DataError(f"{explored.path}: BM25 searched an index made elsewhere; only Heed's own is asked here")
        self._size = choice.rerank_depth
        self._depths = {entry["system"]: entry.get("depth") for entry in explored.results.systems}
        self._loaded, self._load_begun = set[str](), False
        self._opening, self._loading = Lock(), Lock()  # of indexes, and of models, one at a time
        self._corpus = Corpus(explored.stored.parent, self.documents, language(explored.language))
        search, registry = Search(self.settings.bm25), choice.registry or Registry()
        answers = explored.stored.parents[2] / "api"
        place = Place(registry, choice.compute, self._corpus, search, answers, instructed=True)
        self.reader = place.reader
        searching = self._names(built_in(Retriever), "bm25", choice.retrievers)
        rescoring = self._names(built_in(Reranker), "polarity", choice.rerankers)
        systems: list[Retriever | Reranker] = [make(name, place, Retriever) for name in searching]
        systems += [make(name, place, Reranker) for name in rescoring]
        self.names = [system.name for system in systems]
        refuse_twins(self.names, [*searching, *rescoring])
        self._answering = {name: Lock() for name in self.names}
        self._systems = {system.name: system for system in systems}
        self._retrievers = {system.name: system for system in systems if isinstance(system, Retriever)}
        self._bm25 = next((system for system in systems if isinstance(system, Bm25)), None) or place.bm25
        self._listed = lru_cache(REMEMBERED)(self._search)
        self._ranked = lru_cache(REMEMBERED)(self._rank)

    def _names(self, light: Sequence[str], otherwise: str, further: Sequence[str]) -> list[str]:
        """Return the ``light`` systems of the runs, or the one that is there for certain, and ``further`` ones."""
        ran = [name for name in light if name in self.settings.systems]
        return list(dict.fromkeys([*(ran or [otherwise]), *further]))

    def close(self) -> None:
        """Forget indexes and models."""
        for system in (*self._systems.values(), self._bm25):
            system.close()

    def load(self, names: Sequence[str] = ()) -> None:
        """Build and open what the systems ``names`` need, and the index of BM25 that searches go to."""
        self._load(self._bm25)
        for name in names:
            self.check(name)
            self._load(self._systems[name])

    def begin_loading(self) -> None:
        """Load all systems in another thread, once: somebody is looking at the folder."""
        if not self._load_begun:
            self._load_begun = True
            Thread(target=self._load_all, daemon=True).start()

    def _load_all(self) -> None:
        try:
            self.load(self.names)
        except HeedError as error:  # whoever asks a system gets it too
            log.info(f"{self.explored.path}: {error}")

    def check(self, name: str) -> None:
        """Raise :class:`DataError` for a system that is not here."""
        if name not in self.names:
            raise DataError(f"system {name!r}: not loaded here; expected one of {', '.join(self.names)}")

    def _load(self, system: Retriever | Reranker) -> None:
        if system.name in self._loaded:
            return
        of_index = isinstance(system, Polarity | RankBm25 | Retriever)
        with self._opening if of_index else self._loading:
            if system.name in self._loaded:
                return
            if of_index:
                self._open_index(system)
            else:  # a model, which takes minutes; the index stays free for commands and other systems meanwhile
                system.load()
            self._loaded.add(system.name)

    def _open_index(self, system: Retriever | Reranker) -> None:
        needed, folder = getattr(system, "index_name", ""), self._corpus.folder
        here = [name for name in FIELDS_IN if (folder / name).is_dir()]
        if not here or (needed and needed not in here):  # none is built while somebody waits
            raise DataError(f"{folder}: no index for {system.name} here; {AGAIN}")
        try:
            with locked(folder):
                system.load()
        except OSError as error:
            raise DataError(f"{folder}: cannot be opened ({error})") from error

    @property
    def searcher(self) -> Searcher:
        """The index of BM25 over the documents."""
        return self._bm25.searcher

    def search(self, text: str, depth: int) -> list[str]:
        """Return the docids that BM25 finds for ``text``, best first."""
        self.load()
        fields = self._bm25.config["fields"]  # where they are, the index has no whole texts
        return ranked(self.searcher.search({"": text}, depth, fields=fields)[""])

    def scores(self, name: str, question: Question) -> Mapping[str, float]:
        """Return the scores of the documents of system ``name``, as a command writes them into a run."""
        self._make_ready(name)
        return self._ranked(name, question)

    def _make_ready(self, name: str) -> None:
        """Load what system ``name`` needs; :class:`DataError` where these runs gave it other documents than a pool."""
        if self.settings.published and name not in self._retrievers:
            raise DataError(f"{name}: reranked a paper's candidates in these runs; here it would get other documents")
        self.load([name] if name in self._retrievers else [*self._retrievers, name])

    def explains(self, name: str) -> bool:
        """Return whether a system can say why a document has its score."""
        return isinstance(self._systems.get(name), Polarity)

    def explained(self, name: str, question: Question, docid: str) -> Explanation:
        """Return why a document has its score by system ``name``.

        Raises :class:`UsageError` for a system that cannot say so and for a document that it did not score.
        """
        self.check(name)
        if not isinstance(reranker := self._systems[name], Polarity):
            raise UsageError(f"{name}: gives no reasons; polarity does")
        self._make_ready(name)
        documents = StoredDocuments(self.documents, self._pool(name, self.topic(question)))
        with self._answering[name]:
            return explain(reranker, self.query(question), documents, docid)

    def topic(self, question: Question) -> Topic:
        """Return the topic with the question's query and instruction; :class:`DataError` for an unknown topic."""
        topic = self.explored.topics.get(question.qid)
        if topic is None:
            raise DataError(f"{self.explored.path}: no topic {question.qid!r}")
        if not topic.has(question.condition) and not (question.condition == "query" and topic.base):
            raise DataError(f"topic {question.qid}: it is not asked under {question.condition!r}")
        instructions, readings = topic.instructions, topic.readings | {question.condition: ()}
        if question.condition != "query":
            instructions = instructions | {question.condition: question.instruction}
        if question.corrections:
            read = self.reader.as_given(question.instruction)
            readings |= {question.condition: corrected(read, question.corrections)}
        return topic._replace(query=question.query, instructions=instructions, readings=readings)

    def query(self, question: Question) -> Query:
        """Return the question as systems get it."""
        return self.topic(question).under(question.condition, self.settings.join)

    def _rank(self, name: str, question: Question) -> Mapping[str, float]:
        query, reranker = self.query(question), self._systems[name]
        if isinstance(reranker, Retriever):
            return self._listed(name, query)
        docids = self._pool(name, self.topic(question))
        with self._answering[name]:
            scores = score_alone(reranker, query, StoredDocuments(self.documents, docids))
        return dict(zip(docids, scores, strict=True))

    def _pool(self, name: str, topic: Topic) -> list[str]:
        """Return the pool of the topic's query for a reranker: of the retrievers and conditions that its runs have.

        Where these are not known or not here, of all.
        """
        base, facts = topic.base or topic.qid, self.explored.pool_of(name)
        topics = [topic if other.qid == topic.qid else other for other in self.explored.topics.values()]
        known = {stage: under for stage, under in facts.get("conditions", {}).items() if stage in self._retrievers}
        lists: Iterator[Run] = (
            {base: self._listed(stage, each.under(condition, self.settings.join))}
            for stage, conditions in (known or dict.fromkeys(self._retrievers, self.explored.conditions)).items()
            for condition in conditions
            for each in topics
            if (each.base or each.qid) == base and each.has(condition)
        )
        size = self._size or facts.get("depth") or self.settings.pool_depth
        return pooled(lists, size, size).get(base, [])

    def _search(self, name: str, query: Query) -> dict[str, float]:
        with self._answering[name]:
            depth = self._depths.get(name) or self.settings.depth
            return {**self._retrievers[name].search([query], depth).get(query.qid, {})}


def read_run_settings(folder: Path) -> RunSettings:
    """Return the settings in the manifest of ``folder``, else the defaults; :class:`DataError` if it is broken."""
    try:
        return _settings_of(read_manifest(folder))
    except (AttributeError, KeyError, msgspec.ValidationError) as error:
        raise DataError(f"{folder / 'manifest.yml'}: {error}; run the collection again") from error


def _settings_of(manifest: dict[str, Any]) -> RunSettings:
    settings = manifest.get("settings", {})
    pool, depth = settings.get("pool", {}), settings.get("depth", RunSettings().depth)
    systems: dict[str, dict[str, Any]] = {}
    for system in manifest.get("method", {}).get("retrieval", []):
        parameters = system.get("parameters", {})
        kind = parameters.get("system")  # of BM25 as Heed calls it
        systems.setdefault(kind if isinstance(kind, str) else system["name"], parameters)
    bm25 = [parameters for name, parameters in systems.items() if name.startswith("bm25")]
    bm25 += [parameters["bm25"] for parameters in systems.values() if isinstance(parameters.get("bm25"), dict)]
    first = bm25[0] if bm25 else {}  # a retriever, or below a reranker such as polarity
    fields = systems.get(FIELDS, {}).get("fields") or {}
    weights = [fields.get(name, 0.0) for name in TABLE_FIELDS] if fields else []
    expanded: dict[str, Any] = next((parameters["feedback"] for parameters in bm25 if "feedback" in parameters), {})
    return RunSettings(
        join=manifest.get("data", {}).get("test collection", {}).get("query and instruction", JOIN),
        depth=depth,
        pool_depth=pool.get("depth") or depth,
        bm25=msgspec.convert([first.get("k1", K1), first.get("b", B), *weights], Bm25Settings)._replace(
            feedback=msgspec.convert([expanded.get(*field) for field in Feedback._field_defaults.items()], Feedback)
        ),
        systems=tuple(systems),
        foreign="index" in first,
        published=pool.get("from") == "published candidates",
    )


SHOWN = 50  # documents of a ranking, and all judged ones
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
KINDS = ("query", "asked", "excluded")  # of words, in the order of TopicTerms
MOST = 20  # topics, and documents, of a search
AROUND = 70  # characters before and after the first word that was found
Words = dict[str, list[str]]  # of a topic that a document holds, by kind


def answer(live: LiveSystems, system: str, question: Question, shown: int = SHOWN) -> View:
    """Return the ranking of ``system`` for ``question`` (``after``), and for the topic as it is (``before``), for JSON.

    ``titles`` and ``grades`` (null: unjudged) are parallel to ``docids``; both sides have the query, a ranking as in a
    topic's view, and the ``words`` of each of the ``docids``; ``seconds`` is how long both took. A system that
    ``explains`` can be asked why a document has its score. Raises :class:`DataError` for an unknown topic or system and
    a condition that the topic does not have.
    """
    started = time.perf_counter()
    explored = live.explored
    topic = live.topic(question)
    stored = explored.topics[question.qid]
    condition = question.condition
    instruction, reading = stored.instructions.get(condition, ""), stored.readings.get(condition, ())
    unchanged = Question(topic.qid, condition, stored.query, instruction, reading)
    before, after = live.scores(system, unchanged), live.scores(system, question)
    grades = explored.grades(topic, condition) or {}
    docids = [*dict.fromkeys([*ranked(after)[:shown], *ranked(before)[:shown], *sorted(grades)])]
    documents = live.documents.find(docids)
    return {
        "system": system,
        "explains": live.explains(system),
        "docids": docids,
        "titles": [title_of(documents[docid]) if docid in documents else "" for docid in docids],
        "grades": [grades.get(docid) for docid in docids],
        "before": _side(live, unchanged, before, docids),
        "after": _side(live, question, after, docids),
        "seconds": round(time.perf_counter() - started, 4),
    }


def _side(live: LiveSystems, question: Question, scores: Mapping[str, float], docids: Sequence[str]) -> View:
    """Return a question and its answer, with the ranks of those of ``docids`` that have a score."""
    query = live.query(question)
    index_of = {docid: index for index, docid in enumerate(docids)}
    rows = [(index_of[docid], rank) for rank, docid in enumerate(ranked(scores), 1) if docid in index_of]
    ranking = {
        "length": len(scores),
        "documents": [index for index, _ in rows],
        "ranks": [rank for _, rank in rows],
        "scores": [scores[docids[index]] for index, _ in rows],
    }
    words = matched_words(live.searcher, query, live.reader.parts(query), docids)
    return {"query": query.query, "ranking": ranking, "words": words}


def matched_words(
    searcher: Searcher, query: Query, parts: Sequence[InstructionPart], docids: Sequence[str]
) -> list[Words]:
    """Return for each of ``docids`` the words of the query, and of the ``parts`` of its instruction, that it holds.

    Words are those of the query, those asked for and those excluded, in their order, as the index has them.
    """
    subset = Subset(docids)
    words: list[Words] = [{kind: [] for kind in KINDS} for _ in docids]
    written = _written_terms(searcher, f"{query.query}\n{query.instruction}")
    position = {term: number for number, term in enumerate(written)}
    terms_of = topic_terms(searcher.terms_of_each, query.query, parts)
    for kind, terms in zip(KINDS, terms_of, strict=True):
        for term in sorted(terms, key=lambda term: position.get(term, len(position))):
            # an index of fields has no whole texts, others not all fields
            scores = searcher.score({(field, term): 1.0 for field in (FIELD, *TABLE_FIELDS)}, subset)
            for of_document, docid in zip(words, docids, strict=True):
                if scores[docid] > 0:
                    of_document[kind].append(written.get(term, term))
    return words


def _written_terms(searcher: Searcher, text: str) -> dict[str, str]:
    """Return terms of the index as ``text`` has them, in its order; one of several terms in a word is written alone."""
    written: dict[str, str] = {}
    for word in WORD.findall(text):
        terms = searcher.terms(word)
        for term in terms:
            written.setdefault(term, word if len(terms) == 1 else term)
    return written


def reason(live: LiveSystems, system: str, question: Question, docid: str) -> dict[str, object]:
    """Return the score of ``docid`` by ``system`` for ``question``, and the contributions to it, largest first.

    These are as in :class:`heed.reranking.polarity.Contribution`. Raises :class:`HeedError` for a system that
    gives no reasons, and a document that it did not rank.
    """
    explanation = live.explained(system, question, docid)
    contributions = [each._asdict() | {"value": round(each.value, 5)} for each in explanation.contributions]
    return {"score": explanation.score, "contributions": contributions}


def search(explored: Explored, by_bm25: Callable[[str, int], list[str]], text: str) -> dict[str, Any]:
    """Return the topics that hold all words of ``text``, and the documents that BM25 finds, best first, for JSON.

    ``topics`` have qid, query, excerpt and the condition of the instruction that holds the words, or an empty one;
    ``documents`` docid, title and excerpt; ``way`` says in a sentence how documents were searched. ``by_bm25``
    returns as many docids that BM25 finds as it is asked for; where it raises :class:`HeedError`, ``way`` says why.
    """
    words = text.casefold().split()
    topics = [match for topic in explored.topics.values() if (match := _in_topic(topic, words, text))][:MOST]
    if explored.store is None or not words:
        return {"topics": topics, "documents": [], "way": " ".join(explored.notes)}
    docids, way = [text.strip()], "Documents by BM25, best first."
    try:
        docids += by_bm25(text, MOST)
    except (HeedError, OSError) as error:  # no index of Heed's own, or a command is writing it
        way = f"Documents are not searched: {error}."
    by_docid = explored.store.find(docids)
    stored = [by_docid[docid] for docid in dict.fromkeys(docids) if docid in by_docid][:MOST]
    documents = [
        {"docid": each.docid, "title": title_of(each), "excerpt": _excerpt(each.text, words)} for each in stored
    ]
    return {"topics": topics, "documents": documents, "way": way}


def _in_topic(topic: Topic, words: Sequence[str], text: str) -> dict[str, str] | None:
    match = {"qid": topic.qid, "query": topic.query, "condition": "", "excerpt": ""}
    if topic.qid == text.strip():
        return match
    for condition, written in (("", topic.query), *topic.instructions.items()):
        together = f"{topic.query}\n{written}".casefold()
        if words and all(word in together for word in words):
            return match | {"condition": condition, "excerpt": _excerpt(written, words) if condition else ""}
    return None


def _excerpt(text: str, words: Sequence[str]) -> str:
    """Return ``text`` around the first of ``words`` in it, else its beginning."""
    low = text.casefold()
    positions: Iterator[int] = (low.find(word) for word in words) if len(low) == len(text) else iter(())
    start = max(min((position for position in positions if position >= 0), default=0) - AROUND, 0)
    end = start + 2 * AROUND + 60
    return f"{'…' if start else ''}{' '.join(text[start:end].split())}{'…' if end < len(text) else ''}"
