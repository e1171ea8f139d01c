"""What a run is held against, and what came of it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from heed.validation.collection_ids import Members
from heed.validation.run_report import Report
from heed.validation.track_rules import Shape, Track


@dataclass(frozen=True)
class Rules:
    """What a run is held against; what is None or empty is not tested.

    ``topics`` gives the languages that each topic is written in, ``candidates`` the documents that
    may be reranked. ``file_name`` is the severity of a file that is not named as its tag, empty for
    none. ``limit`` problems of each kind are kept.
    """

    track: Track
    depth: int
    limit: int = 20
    team: str = ""
    tag: str = ""
    docid: Shape | None = None
    topics: Mapping[str, frozenset[str]] | None = None
    members: Members | None = None
    candidates: Mapping[str, Collection[str]] | None = None
    file_name: str = ""


class Checked(NamedTuple):
    """A run that was tested: its tag, its documents by topic and by language, and what was found."""

    path: Path
    report: Report
    lines: int
    tag: str
    topics: dict[str, int]
    languages: dict[str, int]

    def as_data(self) -> dict[str, Any]:
        """The result as JSON data."""
        facts = {"file": str(self.path), "tag": self.tag, "lines": self.lines, "topics": len(self.topics)}
        return {**facts, "documents": sum(self.topics.values()), "languages": self.languages, **self.report.as_data()}
