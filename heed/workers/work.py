"""What a worker is asked: a unit of work that holds all it needs, for another machine has none of our folders."""

import logging
import os
import platform
import sqlite3
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from heed.errors import HeedError
from heed.io.document_store import COLUMNS, DocumentStore
from heed.io.files import digest_json
from heed.models.registry import Model
from heed.models.vllm import close_engine
from heed.progress import log, peak_mib
from heed.release import free_memory
from heed.types import Document
from heed.workers.versions import likeness

if TYPE_CHECKING:
    from heed.reranking.rescoring import Reranker
    from heed.retrieval.vectors import Encoder, Matrix

System = TypeVar("System", "Encoder", "Reranker")


class Job(NamedTuple):
    """A model and how it is run: what a worker builds an encoder or a reranker from.

    ``key`` is the digest of the system's recipe, so that a worker whose copy of the model is
    another one refuses the work. ``threads`` is how many torch has in the process that asks: on a
    CPU they decide which texts are read together, and so the last bits of the scores. ``inference``
    is that of ``vllm_models``, ``folder`` where relative paths begin; ``documents`` and ``tabular``
    are what the store tells of itself.
    """

    key: str
    model: Model
    device: str
    threads: int
    inference: str
    folder: str
    documents: str = ""
    tabular: bool = False


def job(model: Model, recipe: dict[str, Any], device: str, store: DocumentStore | None = None) -> Job:
    """The job of the system that has ``recipe`` and runs ``model`` on ``device``, over documents of ``store``."""
    import torch

    from heed.models.vllm import INFERENCE, by_vllm

    told = model._replace(names={}, presets={})  # facts for people, which cannot be sent
    inference = INFERENCE[by_vllm(model)]
    made = Job(digest_json(recipe), told, device, torch.get_num_threads(), inference, str(Path.cwd()))
    return made._replace(documents=store.digest, tabular=store.tabular) if store else made


class Answer(NamedTuple):
    """What came of a unit: ``found``, or a ``problem`` that the user can mend, or the ``trace`` of another error.

    ``told`` are the lines that were written to stderr on the way, ``peak`` the worker's peak memory in MiB.
    """

    found: Any = None
    told: tuple[tuple[int, str], ...] = ()
    problem: str = ""
    trace: str = ""
    peak: float = 0.0


class _Messages(logging.Handler):
    """Collects what is logged, to be logged again by the process that asked."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append((record.levelno, record.getMessage()))

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Collect what is logged inside the block."""
        log.addHandler(self)
        log.setLevel(logging.INFO)
        try:
            yield
        finally:
            log.removeHandler(self)


class Unit(Protocol):
    """Work that can be sent, done anywhere, and done again."""

    def done(self, bench: "Bench") -> Any:
        """Do it with what ``bench`` has; what it gives can be sent back."""


class Sent(DocumentStore):
    """The documents that came with a unit, in the place of the whole store."""

    def __init__(self, digest: str, tabular: bool) -> None:
        """Be empty; ``digest`` and ``tabular`` are the whole store's."""
        self.digest, self.tabular, self.count = digest, tabular, 0
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.execute(f"CREATE TABLE documents (place INTEGER PRIMARY KEY, {COLUMNS})")
        self._db.execute("CREATE INDEX docids ON documents (docid)")

    def put(self, documents: Sequence[Document]) -> None:
        """Hold ``documents`` and no others."""
        marks = ", ".join("?" * len(Document._fields))
        self._db.execute("DELETE FROM documents")
        insert = f"INSERT INTO documents ({COLUMNS}) VALUES ({marks})"  # noqa: S608 (our own names)
        self._db.executemany(insert, sorted(set(documents)))
        self.count = len(set(documents))


class Bench:
    """What one worker has built, kept for the units to come; one model at a time."""

    def __init__(self) -> None:
        """Build nothing yet."""
        self._encoders: dict[str, Encoder] = {}
        self._rerankers: dict[str, tuple[Reranker, Sent]] = {}
        self._collection, self._shards = "", dict[int, "Matrix"]()

    def here(self) -> tuple[str, int, dict[str, str]]:
        """The machine, the process, and what of both must be the same everywhere."""
        return platform.node(), os.getpid(), likeness()

    def do(self, unit: Unit) -> Answer:
        """What came of ``unit``."""
        messages = _Messages()
        answer = Answer()
        try:
            with messages.collected():
                answer = Answer(unit.done(self))
        except HeedError as error:
            answer = Answer(problem=str(error))
        except Exception:
            answer = Answer(trace=traceback.format_exc())
        return answer._replace(told=tuple(messages.records), peak=peak_mib())

    def encoder(self, job: Job) -> "Encoder":
        """The encoder of ``job``, built the first time."""
        _settle(job)
        if job.key not in self._encoders:
            self._let_go()
            from heed.retrieval.retrievers import ENCODERS

            self._encoders[job.key] = _checked(job, ENCODERS[job.model.family](job.model, job.device))
        return self._encoders[job.key]

    def reranker(self, job: Job) -> "tuple[Reranker, Sent]":
        """The reranker of ``job`` and the store that it reads, built the first time."""
        _settle(job)
        if job.key not in self._rerankers:
            self._let_go()
            from heed.reranking.rerankers import FAMILIES

            store = Sent(job.documents, job.tabular)
            self._rerankers[job.key] = (
                _checked(job, FAMILIES[job.model.family](job.model, store, job.device)),
                store,
            )
        return self._rerankers[job.key]

    def _let_go(self) -> None:
        """Make room for another model: a command runs one system after the other."""
        close_engine()
        self._encoders.clear()
        self._rerankers.clear()
        free_memory()

    def shard(self, collection: str, number: int, sent: "Matrix | None") -> "Matrix":
        """The vectors of a shard, which are ``sent`` the first time; those of one collection are kept."""
        if collection != self._collection:
            self._collection, self._shards = collection, {}
        if sent is not None:
            self._shards[number] = sent
        return self._shards[number]


def _settle(job: Job) -> None:
    """Set what holds for the whole process."""
    import torch

    from heed.models.model_files import allow_remote_code
    from heed.models.vllm import set_inference

    set_inference(job.inference)
    if job.model.remote_code:  # the process that asks has made sure that the user allows it
        allow_remote_code()
    if Path(job.folder).is_dir():
        os.chdir(job.folder)
    torch.set_num_threads(job.threads)


def _checked(job: Job, system: System) -> System:
    if digest_json(system.recipe) != job.key:
        raise HeedError(
            f"{job.model.source}: a worker has other files of this model, or another precision, than the machine where "
            "the command runs; give every machine the same files, or pin the revision"
        )
    return system
