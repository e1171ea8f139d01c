"""The names of runs: the parts of NeuCLIR's, and the problems of a tag in its track."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from heed.addons.submission.run_report import ERROR, WARNING
from heed.addons.submission.tracks import SOURCES, RunDocuments, Track

# neuclir.github.io/2023, "Run Names"
LETTERS = {
    "1": "monolingual",
    "2": "reranking of the official run",
    "A": "automatic",
    "M": "manual",
    "T": "machine-translated documents",
    "N": "native documents",
    "E": "English queries",
    "C": "Chinese queries",
    "P": "Persian queries",
    "R": "Russian queries",
    "S": "sparse",
    "D": "dense",
    "L": "learned sparse",
    "H": "hybrid",
}
QUERIES = {"E": "eng", "C": "zho", "P": "fas", "R": "rus"}
BLOCK = re.compile(f"([{''.join(LETTERS)}]+)_")

Problem = tuple[str, str]  # severity, message


class RunName(NamedTuple):
    """The parts of ``zho-TEAM-ACN_text``; a missing part is empty."""

    source: str
    team: str
    letters: str
    rest: str

    @property
    def documents(self) -> RunDocuments | None:
        """The documents that were searched; None for an unknown first part."""
        return SOURCES.get(self.source)


def parse_name(tag: str, team: str = "") -> RunName:
    """Return the parts of a name; ``team`` is needed where the team's name holds a dash."""
    source, _, rest = tag.partition("-")
    if team and rest.startswith(f"{team}-"):
        second, rest = team, rest[len(team) + 1 :]
    else:
        second, _, rest = rest.partition("-")
    block = BLOCK.match(rest)
    return RunName(source, second, block[1] if block else "", rest)


def tag_problems(tag: str, track: Track, team: str) -> Iterator[Problem]:
    """Yield the problems of ``tag`` in ``track``; only that of its form where that is wrong."""
    if not re.fullmatch(track.tag.pattern, tag):
        yield ERROR, f"found tag {tag!r}, expected {track.tag.description}; rename the run (fixable with a new tag)"
        return
    if 0 < track.advised < len(tag):
        yield WARNING, f"found a tag of {len(tag)} characters, expected {track.advised} at most: {track.advice}"
    if team and track.team_first and not tag.startswith(team):
        yield ERROR, f"found tag {tag!r}, expected it to begin with the team's name, {team}; rename the run"
    if track.sources:
        yield from _name_problems(tag, track, team)


def _name_problems(tag: str, track: Track, team: str) -> Iterator[Problem]:
    name = parse_name(tag, team)
    expected = ", ".join(f"{source}-" for source in track.sources)
    if name.source not in track.sources or "-" not in tag:
        yield ERROR, f"found tag {tag!r}, expected it to begin with one of {expected}; rename the run"
        return
    if not name.team or not name.rest:
        yield ERROR, f"found tag {tag!r}, expected {name.source}-TEAM-NAME; add the team's name and a name of the run"
        return
    if team and name.team != team:
        yield ERROR, f"found team {name.team!r} in tag {tag!r}, expected {team!r}; rename the run"
    yield from _letter_problems(name)


def _letter_problems(name: RunName) -> Iterator[Problem]:
    letters = set(name.letters)
    if len(letters) < len(name.letters):
        yield WARNING, f"found letters {name.letters} with one twice; expected each once, before the first _"
    if {"A", "M"} <= letters:
        yield ERROR, f"found letters {name.letters}: A is automatic, M manual; expected one of them"
    queries = {letter: QUERIES[letter] for letter in name.letters if letter in QUERIES}
    documents = name.documents
    # with translated documents (T) English queries are in the documents' language too
    monolingual = "1" in name.letters and "T" not in name.letters
    if documents and monolingual and queries and not set(queries.values()) & set(documents.languages):
        languages = ", ".join(f"{letter} ({LETTERS[letter]})" for letter in queries)
        problem = f"found letters {name.letters}: {languages}, and 1 is monolingual"
        yield ERROR, f"{problem}, expected queries in {' or '.join(documents.languages)}; correct the name"
