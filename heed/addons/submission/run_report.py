"""The result of checking a run: problems with their lines, some of each kind, the others counted."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

ERROR, WARNING = "error", "warning"
LONGEST = 600  # characters of a message: an id in a damaged file can have a million


class Problem(NamedTuple):
    """A problem; ``line`` is 0 for the file as a whole."""

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
        """Add a problem."""
        self.counts[severity, kind] += 1
        if self.counts[severity, kind] <= self._limit:
            if len(message) > LONGEST:
                message = f"{message[: LONGEST // 2]} … {message[-LONGEST // 2 :]}"
            self._kept.append(Problem(line, kind, severity, message))

    def drop(self, kind: str) -> None:
        """Forget the problems of one kind, which another problem explains."""
        for severity in (ERROR, WARNING):
            self.counts.pop((severity, kind), None)
        self._kept = [problem for problem in self._kept if problem.kind != kind]

    def error(self, line: int, kind: str, message: str) -> None:
        """Add a problem that makes the run invalid."""
        self.add(ERROR, line, kind, message)

    def warning(self, line: int, kind: str, message: str) -> None:
        """Add a problem that the track accepts."""
        self.add(WARNING, line, kind, message)

    def count(self, severity: str) -> int:
        """Return the number of problems of ``severity``."""
        return sum(times for (of_kind, _), times in self.counts.items() if of_kind == severity)

    def kinds(self, severity: str) -> dict[str, int]:
        """Return how often each kind of problem occurs, by name."""
        return {kind: times for (of_kind, kind), times in sorted(self.counts.items()) if of_kind == severity}

    def problems(self) -> list[Problem]:
        """Return the problems that were kept, by line."""
        return sorted(self._kept)

    def messages(self, severity: str) -> list[str]:
        """Return ``FILE, line N: …`` for each problem that was kept, and how many more there are of a kind."""
        lines = [
            f"{self.path}{f', line {line}' if line else ''}: {message}"
            for line, _, of_severity, message in self.problems()
            if of_severity == severity
        ]
        for kind, times in self.kinds(severity).items():
            if times > self._limit:
                lines.append(
                    f"{self.path}: … and {times - self._limit} more of the kind {kind}; a greater limit shows more"
                )
        return lines

    def as_data(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "errors": self.kinds(ERROR),
            "warnings": self.kinds(WARNING),
            "problems": [problem._asdict() for problem in self.problems()],
        }


class CheckedRun(NamedTuple):
    """A run that was checked: its tag, its documents by topic and by language, and its problems."""

    path: Path
    report: Report
    lines: int
    tag: str
    topics: dict[str, int]
    languages: dict[str, int]

    @property
    def unread(self) -> str:
        """What of the file could not be checked; empty for a file that was read to its end."""
        if self.lines and not self.report.counts[ERROR, "unreadable"]:
            return ""
        return f"{self.path} after line {self.lines}" if self.lines else str(self.path)

    def as_data(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        facts = {"file": str(self.path), "tag": self.tag, "lines": self.lines, "topics": len(self.topics)}
        return {**facts, "documents": sum(self.topics.values()), "languages": self.languages, **self.report.as_data()}

    def as_text(self) -> str:
        """Return the result in one line."""
        languages = ", ".join(f"{code} {times}" for code, times in self.languages.items() if code)
        by_language = f"; documents by language: {languages}" if languages else ""
        problems = []
        for severity in (ERROR, WARNING):
            times, kinds = self.report.count(severity), ", ".join(self.report.kinds(severity))
            if times:
                problems.append(f"{times} {severity}{'s' if times > 1 else ''} ({kinds})")
        least, most = min(self.topics.values(), default=0), max(self.topics.values(), default=0)
        depth = f"{least} a topic" if least == most else f"{least} to {most} a topic"
        counts = f"{len(self.topics)} topics, {sum(self.topics.values())} documents, {depth}{by_language}"
        return f"{self.path}: tag {self.tag or '-'}, {counts}: {'; '.join(problems) or 'no problem'}"
