"""The results folders of a tree, each opened when it is first asked for; the last ones that were asked stay open."""

from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock, Thread
from typing import Generic, TypeVar
from weakref import WeakSet

from starlette.exceptions import HTTPException

from heed.errors import DataError, HeedError
from heed.progress import log
from heed.report.results import Results
from heed.report.topics.explored import Explored
from heed.web.playground.loaded_systems import Choice, LiveSystems

OPENED = 16  # folders whose topics and judgements stay in memory
LOADED = 2  # folders whose indexes and models do

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The values of the ``most`` keys that were asked for last; ``release`` gets each that is dropped."""

    def __init__(self, most: int, release: Callable[[Value], object]) -> None:
        """Hold nothing yet."""
        self._most, self._release, self._lock = most, release, Lock()
        self._values: dict[str, Value] = {}

    def get(self, key: str, make: Callable[[], Value]) -> Value:
        """Return the value of ``key``, made unless it is held."""
        with self._lock:
            value = self._values.pop(key, None)
            self._values[key] = make() if value is None else value  # the last one now
            if len(self._values) > self._most:
                self._release(self._values.pop(next(iter(self._values))))
            return self._values[key]

    def values(self) -> list[Value]:
        """Return what is held."""
        return [*self._values.values()]


class Tree:
    """The results folders, and their systems."""

    def __init__(self, results: Iterable[Results], indexes: Path | None, choice: Choice) -> None:
        """``indexes`` is where the folder of indexes was moved to, if it was."""
        self._results = {each.folder: each for each in results}
        self._indexes, self._choice = indexes, choice
        self._explored = Recent[Explored](OPENED, lambda _: None)
        self._live = Recent[LiveSystems](LOADED, _release)
        self._warm = WeakSet[LiveSystems]()

    def check(self) -> None:
        """Raise :class:`HeedError` where the chosen systems can answer in no folder whose documents are here."""
        refusals = list[HeedError]()
        for folder in self._results:
            try:
                self.live(folder)
                return
            except DataError:  # its view says why
                continue
            except HeedError as error:
                refusals.append(error)
        if refusals:
            raise refusals[0]

    def explored(self, folder: str) -> Explored:
        """Return a folder; 404 for a name that is none of the tree's: names are never taken as paths."""
        if folder not in self._results:
            raise HTTPException(404)
        return self._explored.get(folder, lambda: Explored(self._results[folder], self._indexes))

    def live(self, folder: str) -> LiveSystems:
        """Return the systems of a folder; :class:`DataError` where its documents are not here."""
        explored = self.explored(folder)
        return self._live.get(folder, lambda: LiveSystems(explored, self._choice))

    def warm(self, folder: str) -> LiveSystems:
        """Return the systems of a folder, and begin to load them: somebody is looking at it."""
        live = self.live(folder)
        if live not in self._warm:
            self._warm.add(live)
            Thread(target=_load, args=(live,), daemon=True).start()
        return live

    def close(self) -> None:
        """Close all systems."""
        for live in self._live.values():
            live.close()


def _load(live: LiveSystems) -> None:
    try:
        live.load(live.names)
    except HeedError as error:  # whoever asks a system gets it too
        log.info(f"{live.explored.path}: {error}")


def _release(live: LiveSystems) -> None:
    """Close systems once they have answered what they are asked now."""
    Thread(target=live.release, daemon=True).start()
