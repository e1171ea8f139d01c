"""Systems of the user's own: objects, or classes named as ``package.module:Class``.

Each is wrapped once, by :func:`wrapped`, in what checks its results, so that an error says whose it is.
"""

import inspect
import json
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import tee
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np

from heed.errors import HeedError, ModelError, UsageError, fail, in_one_line
from heed.extras import named_object, source_digest
from heed.formats.document_store import Corpus, DocumentStore, docids_of
from heed.process import free_memory
from heed.progress import log
from heed.ranking import top
from heed.reranking.rescore import Pair, Wrapper, checked
from heed.types import Config, Document, Encoder, Matrix, Query, Reranker, Retriever, Run, System, finite, of_heed

S = TypeVar("S", bound=System)

FILE_NAME = re.compile(r"[\w+@:][\w.+@:-]{0,99}")  # what a run's file may be called
METHODS = ("score", "search", "encode_documents", "encode_queries")
CODE = "module's code"  # the key of its digest in a config


def check_name(name: str) -> None:
    """Raise :class:`UsageError` for the name of a system that no run file can have."""
    if not FILE_NAME.fullmatch(name):
        raise UsageError(f"system {name!r}: expected letters, digits and . + @ : _ -, for its run files")


class Alone(System, Generic[S]):
    """A ``system`` used without an experiment, loaded at its first use; an experiment runs the system itself."""

    def __init__(self, system: S) -> None:
        self.system = system
        self.name, self.config, self.made_by = system.name, system.config, system.made_by

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def load(self) -> None:
        """Load the system."""
        self.system.load()

    def close(self) -> None:
        """Free the system's memory; a later use loads it again."""
        self.system.close()


class OwnSystem(System):
    """What every system of the user's own has: a name, an optional config, and loading once."""

    def __init__(self, system: Any, name: str) -> None:
        """Take ``system``, which the user calls ``name``; :class:`UsageError` for a wrong name or config."""
        label = getattr(system, "name", None)
        if isinstance(system, type):
            raise UsageError(f"{name}: is a class; give an object, such as {system.__name__}()")
        if not isinstance(label, str) or not FILE_NAME.fullmatch(label):
            raise UsageError(
                f"{name}: its name is {label!r}; give it an attribute name of letters, digits and . + @ : _ -, for its "
                "run files"
            )
        self.name, self._system, self._loaded = label, system, False
        self.made_by = {"class": class_name(system)}
        if getattr(system, "config", None) is not None:
            config = plain_json(system.config, label)
            self.config = config if of_heed(system) else self._with_code(config)

    def _with_code(self, config: Config) -> Config | None:
        """Return ``config`` with the digest of the system's source; None without one, as a change cannot be seen."""
        methods = filter(callable, (getattr(self._system, method, None) for method in METHODS))
        code = source_digest(type(self._system), *methods)
        if code is None:
            log.info(f"{self.name}: the source of its code cannot be read, so its runs are made anew each time")
        return None if code is None else {**config, CODE: code}

    def load(self) -> None:
        """Call ``load()`` of the system, if it has one, before the first use and after :meth:`close`."""
        if not self._loaded:
            self._call_if_there("load")
            self._loaded = True

    def close(self) -> None:
        """Call ``close()`` of the system, if it has one, and give the memory of what it dropped back."""
        self._call_if_there("close")
        self._loaded = False
        free_memory()

    def _call_if_there(self, method: str) -> None:
        if callable(call := getattr(self._system, method, None)):
            call()

    def _error(self, problem: str) -> ModelError:
        return ModelError(f"{self.name}: {problem}")

    @contextmanager
    def _calling(self, method: str) -> Iterator[None]:
        """Raise what the user's code raises inside the block as a :class:`ModelError` with its file and line."""
        try:
            yield
        except HeedError:
            raise
        except Exception as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
            in_file = [frame for frame in frames if frame.filename == frames[0].filename]  # not in a library it calls
            line = f" ({Path(in_file[-1].filename).name}, line {in_file[-1].lineno})" if in_file else ""
            raise self._error(f"{method} raised {in_one_line(error)}{line}; debug=True shows the traceback") from error


class _Scorer(Reranker):
    """An object with the one method, as what inherits from :class:`heed.types.Reranker` and overrides nothing else."""

    def __init__(self, system: Any) -> None:
        self._system, self.independent = system, bool(getattr(system, "independent", False))

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        scores: Sequence[float] = self._system.score(query, documents)
        return scores


class OwnReranker(OwnSystem, Wrapper):
    """A reranker of the user's own; what one that inherits from :class:`heed.types.Reranker` overrides is called."""

    def __init__(self, system: Any, name: str) -> None:
        """Take ``system``; :class:`UsageError` if it has no ``score``."""
        super().__init__(system, name)
        if not callable(getattr(system, "score", None)):
            hint = "it searches, so use it as a retriever" if hasattr(system, "search") else "expected a reranker"
            raise UsageError(f"{name}: has no score(query, documents); {hint}")
        Wrapper.__init__(self, system if isinstance(system, Reranker) else _Scorer(system))

    def over(self, corpus: Callable[[], Corpus]) -> Reranker:
        """Return it over other documents: itself where it reads no index."""
        other = self._inner.over(corpus)
        return self if other is self._inner else OwnReranker(other, self.name)

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return one score for each document; :class:`ModelError` for another number, and for what is no number."""
        with self._calling(f"topic {query.qid}: score"):
            scores = self._inner.score(query, documents)
        return checked(self.name, query.qid, docids_of(documents), scores)

    def score_all(self, pairs: Iterable[Pair]) -> Iterator[Sequence[float]]:
        """Yield the scores of each query's documents, in their order; errors are those of :meth:`score`."""
        if type(self._inner).score_all is Reranker.score_all:
            yield from (self.score(query, documents) for query, documents in pairs)
            return
        lent, pairs = tee(pairs)
        with self._calling("score_all"):
            scored = iter(self._inner.score_all(lent))
            for query, documents in pairs:
                yield checked(self.name, query.qid, docids_of(documents), next(scored, ()))


class OwnRetriever(OwnSystem, Retriever):
    """A retriever of the user's own."""

    def __init__(self, system: Any, name: str, documents: DocumentStore) -> None:
        """Let ``system`` search ``documents``; :class:`UsageError` if it has no ``search``."""
        super().__init__(system, name)
        if not callable(getattr(system, "search", None)):
            hint = "it scores, so use it as a reranker" if hasattr(system, "score") else "expected a retriever"
            raise UsageError(
                f"{name}: has neither search(queries, depth) nor encode_documents and encode_queries; {hint}"
            )
        self._documents, self._indexed = documents, False

    def load(self) -> None:
        """Call ``index(documents)`` of the retriever, if it has one, and its ``load()``."""
        if not self._indexed and callable(index := getattr(self._system, "index", None)):
            index(self._documents)
        self._indexed = True
        super().load()

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the ``depth`` best documents of each query.

        Raises :class:`ModelError` for unknown queries and documents, and scores that are no finite numbers.
        """
        with self._calling("search"):
            returned = self._system.search(queries, depth)
        if not isinstance(returned, Mapping) or not all(isinstance(scores, Mapping) for scores in returned.values()):
            raise self._error("search returned no dictionary of dictionaries, qid -> docid -> score")
        unknown = returned.keys() - {query.qid for query in queries}
        problems = [f"{self.name}: topic {qid} is not among the queries" for qid in sorted(map(str, unknown))]
        run: Run = {}
        for qid, scores in returned.items():
            docids = [docid if isinstance(docid, str) else repr(docid) for docid in scores]
            missing = self._documents.missing(docids)
            problems += [f"{self.name}: topic {qid}, document {docid}: not in the collection" for docid in missing]
            numbers = {docid: finite(score) for docid, score in scores.items()}
            problems += [
                f"{self.name}: topic {qid}, document {docid}: score {scores[docid]!r:.60}, expected a finite number"
                for docid, number in numbers.items()
                if number is None
            ]
            run[qid] = {docid: number for docid, number in numbers.items() if number is not None}
        fail(problems, ModelError)
        return {qid: top(scores, depth) for qid, scores in run.items()}


class OwnEncoder(OwnSystem, Encoder):
    """An encoder of the user's own."""

    def __init__(self, system: Any, name: str) -> None:
        """Take ``system``; :class:`UsageError` if it lacks one of an encoder's two methods."""
        super().__init__(system, name)
        if not _encodes(system):
            hint = "it scores, so use it as a reranker" if hasattr(system, "score") else "expected an encoder"
            raise UsageError(f"{name}: has no encode_documents and encode_queries; {hint}")
        if self.config is not None:
            self.config = {"own": self.config}  # whole: its keys have meanings of their own
        self.cosine = getattr(system, "cosine", False)
        self._width: int | None = None

    def begin(self, collection: Any) -> None:
        """Let one that inherits from :class:`heed.types.Encoder` log what its work will cost."""
        if isinstance(self._system, Encoder):
            self._system.begin(collection)

    def encode_batches(self, batches: Iterable[Sequence[Document]]) -> Iterator[Matrix]:
        """Yield the vectors of each batch of documents, in their order; errors are those of the next method."""
        if not isinstance(self._system, Encoder) or type(self._system).encode_batches is Encoder.encode_batches:
            yield from map(self.encode_documents, batches)
            return
        self.load()
        lent, batches = tee(batches)
        with self._calling("encode_batches"):
            matrices = iter(self._system.encode_batches(lent))
            for batch in batches:
                yield self._checked(next(matrices, ()), len(batch), "documents")

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        """Return one vector a document; :class:`ModelError` for a wrong shape and for numbers that are not finite."""
        return self._encoded("documents", documents)

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """Return one vector a query; :class:`ModelError` for a wrong shape and for numbers that are not finite."""
        return self._encoded("queries", queries)

    def _encoded(self, kind: str, texts: Sequence[Document] | Sequence[Query]) -> Matrix:
        self.load()
        with self._calling(method := f"encode_{kind}"):
            vectors = getattr(self._system, method)(texts)
        return self._checked(vectors, len(texts), kind)

    def _checked(self, returned: Any, count: int, kind: str) -> Matrix:
        try:
            vectors = np.asarray(returned, dtype=np.float32)
        except (TypeError, ValueError, RuntimeError) as error:
            raise self._error(f"vectors of {kind} are no matrix ({error}); return an array of float32") from error
        if vectors.ndim != 2 or len(vectors) != count:
            raise self._error(f"vectors of {kind} have shape {vectors.shape}, expected ({count}, dimensions)")
        if not np.isfinite(vectors).all():
            raise self._error(f"a vector of {kind} is not finite; expected numbers")
        if self._width not in (None, vectors.shape[1]):
            raise self._error(f"vectors of {kind} have {vectors.shape[1]} numbers, others have {self._width}")
        self._width = vectors.shape[1]
        return vectors


def plain_json(config: Any, name: str) -> Config:
    """Return ``config`` as plain JSON data, in a dictionary; :class:`UsageError` for what is none."""
    try:
        data = json.loads(json.dumps(config))
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name}: its config is no JSON data ({error}); use texts, numbers, lists, dicts") from error
    return data if isinstance(data, dict) else {"config": data}


def wrapped(system: Any, name: str, role: type[System], corpus: Corpus | None) -> System:
    """Return an object as a system whose results are checked, of the kind that ``role`` asks for.

    The user calls the object ``name``; a retriever searches ``corpus``.
    Raises :class:`UsageError` for an object that lacks a name or a method.
    """
    if role is Reranker and (hasattr(system, "score") or not _encodes(system)):
        return OwnReranker(system, name)
    if role is Retriever and corpus and not _encodes(system):
        return OwnRetriever(system, name, corpus.documents)
    return OwnEncoder(system, name)


def _encodes(system: Any) -> bool:
    return all(callable(getattr(system, name, None)) for name in ("encode_documents", "encode_queries"))


def class_name(system: object) -> str:
    """Return ``package.module:Class`` of an object."""
    return f"{type(system).__module__}:{type(system).__qualname__}"


def load_object(name: str) -> Any:
    """Return the object of ``package.module:Class``; a class or function is called without arguments.

    Raises :class:`UsageError` where there is no such module or name, and where the user's code fails.
    """
    named = named_object(name)
    if not isinstance(named, type) and not inspect.isfunction(named):
        return named
    try:
        return named()
    except Exception as error:
        raise UsageError(
            f"{name}: cannot be called without arguments, {in_one_line(error)}; name an object that the module made"
        ) from error
