"""The results folders that a server shows, each opened when it is first asked for; the last ones stay open."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from threading import Lock, Thread

from starlette.exceptions import HTTPException

from heed.errors import DataError, HeedError
from heed.report.results import Results
from heed.report.topics.explored import Explored
from heed.web.playground.loaded_systems import Choice, LiveSystems

OPENED = 16  # folders whose topics and judgements stay in memory
LOADED = 2  # folders whose indexes and models do


class Folders:
    """The results folders of a tree, and their systems."""

    def __init__(self, results: Iterable[Results], indexes: Path | None, choice: Choice) -> None:
        """``indexes`` is where the folder of indexes was moved to, if it was."""
        self._results = {each.folder: each for each in results}
        self._choice = choice
        self._open = lru_cache(OPENED)(lambda folder: Explored(self._results[folder], indexes))
        self._lock, self._live = Lock(), dict[str, LiveSystems]()  # the folder that was asked for last is the last one

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
        return self._open(folder)

    def live(self, folder: str) -> LiveSystems:
        """Return the systems of a folder; :class:`DataError` where its documents are not here.

        Those of the folder that was not asked for longest are released once they have answered.
        """
        explored = self.explored(folder)
        with self._lock:
            live = self._live.pop(folder, None) or LiveSystems(explored, self._choice)
            self._live[folder] = live
            if len(self._live) > LOADED:
                oldest = self._live.pop(next(iter(self._live)))
                Thread(target=oldest.release, daemon=True).start()
            return live

    def close(self) -> None:
        """Close all systems."""
        for live in self._live.values():
            live.close()
