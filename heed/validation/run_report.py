"""The problems of one run: told with their lines, so many of each kind, the others counted."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

ERROR, WARNING = "error", "warning"
LONGEST = 600  # characters of a message: an id in a damaged file can be a megabyte


class Problem(NamedTuple):
    """One problem; ``line`` is 0 where the file as a whole is meant."""

    line: int
    kind: str
    severity: str
    message: str


class Report:
    """Collects the problems of the run ``path``; keeps ``limit`` of each kind and counts them all."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.counts: Counter[tuple[str, str]] = Counter()  # by severity and kind
        self._limit = limit
        self._kept: list[Problem] = []

    def add(self, severity: str, line: int, kind: str, message: str) -> None:
        """Take note of a problem."""
        self.counts[severity, kind] += 1
        if self.counts[severity, kind] <= self._limit:
            told = message if len(message) <= LONGEST else f"{message[: LONGEST // 2]} … {message[-LONGEST // 2 :]}"
            self._kept.append(Problem(line, kind, severity, told))

    def error(self, line: int, kind: str, message: str) -> None:
        """What makes a run invalid."""
        self.add(ERROR, line, kind, message)

    def warning(self, line: int, kind: str, message: str) -> None:
        """What a track takes, and the user should know."""
        self.add(WARNING, line, kind, message)

    def count(self, severity: str) -> int:
        """How many problems there are of ``severity``."""
        return sum(times for (one, _), times in self.counts.items() if one == severity)

    def kinds(self, severity: str) -> dict[str, int]:
        """How often each kind of problem occurs, by name."""
        return {kind: times for (one, kind), times in sorted(self.counts.items()) if one == severity}

    def problems(self) -> list[Problem]:
        """The problems that were kept, by line."""
        return sorted(self._kept)

    def told(self, severity: str) -> list[str]:
        """``FILE, line N: …`` for each problem that was kept, and how many more there are of a kind."""
        lines = [f"{self._place(one.line)}: {one.message}" for one in self.problems() if one.severity == severity]
        for kind, times in self.kinds(severity).items():
            if times > self._limit:
                lines.append(f"{self.path}: … and {times - self._limit} more of the kind {kind}; --limit shows more")
        return lines

    def as_data(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {
            "errors": self.kinds(ERROR),
            "warnings": self.kinds(WARNING),
            "problems": [one._asdict() for one in self.problems()],
        }

    def _place(self, line: int) -> str:
        return f"{self.path}, line {line}" if line else str(self.path)
