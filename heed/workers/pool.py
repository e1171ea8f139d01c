"""Workers as a crew: each does one unit at a time; what a lost one was at is done again by another."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from threading import Condition
from typing import Any, Protocol

from heed.errors import HeedError
from heed.progress import log
from heed.workers.work import Answer, Unit

ATTEMPTS = 3  # times that a unit is begun before it is told to be what kills workers


class LostError(Exception):
    """A worker ended, or cannot be reached or started; says why."""


class Worker(Protocol):
    """A process somewhere that does units, one at a time."""

    name: str  # what it is called when it is lost
    kept: set[tuple[str, int]]  # collections and numbers of the shards that it has; none when it is begun

    def begin(self) -> None:
        """Start it; :class:`LostError` if it cannot be started."""

    def do(self, unit: Unit) -> Answer:
        """What came of ``unit``; :class:`LostError` if the worker ended on the way."""

    def end(self) -> None:
        """Stop it at once, whatever it does; nothing where it does not run."""


class Place(Protocol):
    """Where workers run."""

    @property
    def far(self) -> bool:
        """Whether they may run on other machines."""

    def device(self, asked: str) -> str:
        """The device that models get there where the user asked for ``asked``."""

    def workers(self) -> list[Worker]:
        """The workers, none of them started; none where this process does the work itself."""

    def end(self) -> None:
        """Let go of the place."""


Ask = Callable[[Worker], Unit]  # a unit for the worker that is to do it


class Crew:
    """The workers of a command; they are started when there is work for them."""

    def __init__(self, place: Place, asked: bool) -> None:
        """Work at ``place``; ``asked`` tells that the user asked for workers."""
        self._place, self._asked = place, asked
        self._changed = Condition()
        self._idle: list[Worker] = []  # started or not
        self._lost: dict[str, str] = {}  # why workers that cannot be started again were lost
        self._begun: set[Worker] = set()
        self._closed = False
        self._peak = 0.0
        self._alone: set[str] = set()

    @cached_property
    def workers(self) -> list[Worker]:
        """The workers; empty where this process does the work itself."""
        self._idle = self._place.workers()
        return list(self._idle)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(len(self.workers), thread_name_prefix="heed-crew")

    @property
    def far(self) -> bool:
        """Whether the work is done by workers that may be on other machines."""
        return self._place.far and bool(self.workers)

    def device(self, asked: str) -> str:
        """The device of models that the workers run where the user asked for ``asked``."""
        return self._place.device(asked)

    def alone(self, name: str, why: str) -> None:
        """Tell that system ``name`` runs without the workers that the user asked for."""
        if self._asked and name not in self._alone:
            self._alone.add(name)
            log.info(f"{name}: runs in this process, not by workers: {why}")

    def submit(self, ask: Ask, home: Worker | None = None) -> "Future[Answer]":
        """Have a unit done by any worker, or by ``home`` as long as that one is there."""
        return self._threads.submit(self._done, ask, home)

    def results(self, asks: Iterable[Ask]) -> Iterator[Any]:
        """What came of each unit, in their order; twice as many as there are workers are asked for ahead."""
        ahead: deque[Future[Answer]] = deque()
        for ask in asks:
            ahead.append(self.submit(ask))
            if len(ahead) >= 2 * len(self.workers):
                yield found(ahead.popleft())
        while ahead:
            yield found(ahead.popleft())

    def everyone(self, unit: Unit) -> None:
        """Have ``unit`` done by each worker."""
        for future in [self.submit(lambda _: unit, home) for home in self.workers]:
            found(future)

    def close(self) -> None:
        """Stop all workers at once."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if "_threads" in self.__dict__:
            self._end_workers()
            self._threads.shutdown(cancel_futures=True)
        if "workers" in self.__dict__:
            self._end_workers()  # one that was started in the meantime too
        if self._peak:
            log.info(f"workers: peak memory {self._peak:.0f} MiB each at most")
        self._place.end()

    def _end_workers(self) -> None:
        for worker in self.workers:
            worker.end()

    def _done(self, ask: Ask, home: Worker | None) -> Answer:
        losses = 0
        while losses < ATTEMPTS:
            worker = self._take(home)
            try:
                answer = self._answer(worker, ask)
            except LostError as lost:
                losses += worker in self._begun
                self._replace(worker, lost, losses)
            except BaseException:
                self._give(worker)
                raise
            else:
                self._peak = max(self._peak, answer.peak)
                self._give(worker)
                return answer
        raise HeedError(
            f"{ATTEMPTS} workers were lost at the same piece of work; they may lack memory: use fewer workers, or none"
        )

    def _answer(self, worker: Worker, ask: Ask) -> Answer:
        if worker not in self._begun:
            worker.begin()
            self._begun.add(worker)
        return worker.do(ask(worker))

    def _take(self, home: Worker | None) -> Worker:
        """``home`` when it is idle, or any idle worker if there is no such home; waits for it."""
        with self._changed:
            while not self._closed:
                if len(self._lost) == len(self.workers):
                    reasons = ", ".join(sorted(set(self._lost.values())))
                    raise HeedError(f"no worker is left, and none can be started: {reasons}")
                settled = home if home and home.name not in self._lost else None
                if settled in self._idle or (settled is None and self._idle):
                    worker = settled or self._idle[0]
                    self._idle.remove(worker)
                    return worker
                self._changed.wait()
        raise HeedError("stopped")

    def _give(self, worker: Worker) -> None:
        with self._changed:
            self._idle.append(worker)
            self._changed.notify_all()

    def _replace(self, worker: Worker, lost: LostError, losses: int) -> None:
        """Let a lost worker be started again when its turn comes; do without one that could not be started."""
        worker.end()
        if self._closed:
            return
        if worker in self._begun:
            self._begun.discard(worker)
            after = f"its work is done again, attempt {losses + 1} of {ATTEMPTS}" if losses < ATTEMPTS else "given up"
            log.info(f"{worker.name}: lost ({lost}); {after}")
            self._give(worker)
            return
        log.info(f"{worker.name}: cannot be started ({lost})")
        with self._changed:
            self._lost[worker.name] = str(lost)
            self._changed.notify_all()


def found(future: "Future[Answer]") -> Any:
    """What came of a unit; tells what the worker told, and raises what it raised."""
    answer = future.result()
    for level, message in answer.told:
        log.log(level, message)
    if answer.problem:
        raise HeedError(answer.problem)
    if answer.trace:
        raise RuntimeError(answer.trace.splitlines()[-1]) from RuntimeError(f"of a worker:\n{answer.trace}")
    return answer.found
