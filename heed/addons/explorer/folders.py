"""The results folders that a server shows, each opened when it is first asked for."""

from collections.abc import Iterable
from functools import cache
from threading import Lock

from starlette.exceptions import HTTPException

from heed.addons.explorer.explored import Explored
from heed.addons.explorer.live_systems import Choice, LiveSystems
from heed.errors import DataError, HeedError
from heed.report.results import ResultsFolder


class Folders:
    """The results folders of a tree, and their systems."""

    def __init__(self, results: Iterable[ResultsFolder], choice: Choice) -> None:
        """Open nothing yet."""
        self._results = {each.folder: each for each in results}
        self._choice = choice
        self._open = cache(lambda folder: Explored(self._results[folder]))
        self._lock, self._live = Lock(), dict[str, LiveSystems]()

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
        """Return the systems of a folder; :class:`DataError` where its documents are not here."""
        explored = self.explored(folder)
        with self._lock:
            if folder not in self._live:
                self._live[folder] = LiveSystems(explored, self._choice)
            return self._live[folder]

    def close(self) -> None:
        """Close all systems."""
        for live in self._live.values():
            live.close()
