"""Systems of the user's own: objects, or classes named as ``package.module:Class``."""

import importlib
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeGuard

from heed.errors import ModelError, UsageError, fail
from heed.io.document_store import DocumentStore
from heed.ranking import top
from heed.types import Encoder, Query, Reranker, Run, close, config_of, load

OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")  # package.module:Class
FILE_NAME = re.compile(r"[\w+@:][\w.+@:-]*")  # what a run's file may be called


class OwnRetriever:
    """A retriever of the user's own, whose results are checked."""

    def __init__(self, retriever: Any, name: str, documents: DocumentStore) -> None:
        """Let ``retriever``, which the user called ``name``, search ``documents``."""
        if not callable(getattr(retriever, "search", None)):
            raise UsageError(f"{name}: has neither search(queries, depth) nor encode_documents and encode_queries")
        self.name: str = retriever.name
        self._retriever, self._documents = retriever, documents
        self._indexed = False
        if config_of(retriever) is not None:
            self.config = retriever.config

    def load(self) -> None:
        """Call the retriever's ``index(documents)``, if it has one, and its ``load()``."""
        index = getattr(self._retriever, "index", None)
        if callable(index) and not self._indexed:
            index(self._documents)
            self._indexed = True
        load(self._retriever)

    def close(self) -> None:
        """Close the retriever."""
        close(self._retriever)

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the ``depth`` best documents of each query.

        Raises :class:`ModelError` for queries and documents that do not exist, and scores that are no finite numbers.
        """
        given = self._retriever.search(queries, depth)
        unknown = set(given) - {query.qid for query in queries}
        problems = [f"{self.name}: topic {qid} was not asked" for qid in sorted(unknown)]
        run: Run = {}
        for qid, scores in given.items():
            missing = self._documents.missing(list(scores))
            problems += [f"{self.name}: topic {qid}, document {docid}: not in the collection" for docid in missing]
            problems += [
                f"{self.name}: topic {qid}, document {docid}: score {score!r}, expected a finite number"
                for docid, score in scores.items()
                if not _is_finite(score)
            ]
            fail(problems, ModelError)
            run[qid] = top({docid: float(score) for docid, score in scores.items()}, depth)
        fail(problems, ModelError)
        return run


def _is_finite(score: Any) -> bool:
    try:
        return math.isfinite(score)
    except TypeError:
        return False


def is_encoder(system: Any) -> TypeGuard[Encoder]:
    """Whether ``system`` has the two methods of an encoder."""
    return all(callable(getattr(system, name, None)) for name in ("encode_documents", "encode_queries"))


def load_object(name: str) -> Any:
    """Return what ``package.module:Class`` names, a class being called without arguments.

    Modules of the working directory are found too. Raises :class:`UsageError` where there is no such module or name.
    """
    module, _, path = name.partition(":")
    added = str(Path.cwd())
    known = added in sys.path
    if not known:
        sys.path.insert(0, added)
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"{name}: module {module} cannot be imported ({error}); run from its folder") from error
    finally:
        if not known:
            sys.path.remove(added)
    for part in path.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{name}: {module} has no {part}; expected package.module:Class")
        found = getattr(found, part)
    return found() if isinstance(found, type) else found


def own_reranker(system: Any, name: str) -> Reranker:
    """Return ``system`` as a reranker; :class:`UsageError` if it is none."""
    check_name(system, name)
    if not callable(getattr(system, "score", None)):
        raise UsageError(f"{name}: has no score(query, documents); expected a reranker")
    reranker: Reranker = system
    return reranker


def check_name(system: Any, name: str) -> None:
    """Raise :class:`UsageError` where the ``name`` of a system cannot be that of its run files."""
    own = getattr(system, "name", None)
    if not isinstance(own, str) or not FILE_NAME.fullmatch(own):
        raise UsageError(f"{name}: its name is {own!r}; expected letters, digits and . + @ : _ -, for its run files")
