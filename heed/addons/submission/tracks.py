"""The rules of each track and the names of runs; a track is an entry of ``tracks.json``, as are the forms of ids."""

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from msgspec import Struct, convert, json

from heed.addons.submission.run_report import ERROR, WARNING


class Shape(Struct, frozen=True, forbid_unknown_fields=True):
    """The form of an id: a regular expression for the whole id, and the same in words."""

    pattern: str
    description: str
    source: str = ""


class RunDocuments(Struct, frozen=True, forbid_unknown_fields=True):
    """The documents of a run, by the first part of its name: its task, the documents and their languages."""

    task: str
    documents: str
    languages: tuple[str, ...]
    docid: Shape


class Track(Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of one track; ``source`` says where they are published.

    ``depth`` is documents a topic; a ``deeper`` list is cut or makes NIST refuse the run, or that is unknown.
    A tag longer than ``advised`` gives a warning, with the reason ``advice`` (0: never). ``sources`` are the
    first parts of names, empty where names have none. ``team_first``: the tag begins with the team's name.
    ``form``: NeuCLIR's submission form is needed for a run. ``topics`` are a run's topics (0: not known).
    ``unknown`` says in words which of the track's rules are not public, so that nothing is checked or a
    neighbour's rule is; empty where all are known.
    """

    about: str
    depth: int
    tag: Shape
    docid: Shape
    topic: Shape
    deeper: Literal["cut", "refused", "unknown"] = "refused"
    advised: int = 0
    advice: str = ""
    sources: tuple[str, ...] = ()
    team_first: bool = False
    form: bool = False
    topics: int = 0
    unknown: str = ""
    source: str = ""

    @property
    def names_team(self) -> bool:
        """Whether the track has a rule on the team's name in a tag."""
        return bool(self.sources) or self.team_first


class TrackData(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of ``tracks.json``.

    ``letters`` of names (neuclir.github.io/2023, "Run Names"), those of ``queries`` with their languages; NeuCLIR's
    submission form, each of its ``questions`` with the answers, and ``optional`` ones; the forms of ids, the documents
    by the first part of a name, and the tracks; the last two name forms of ids.
    """

    letters: dict[str, str]
    queries: dict[str, str]
    questions: dict[str, tuple[str, tuple[str, ...]]]
    optional: dict[str, str]
    shapes: dict[str, Shape]
    documents: dict[str, dict[str, Any]]
    tracks: dict[str, dict[str, Any]]

    def shaped(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Return ``entry`` with the forms of ids that it names."""
        return entry | {field: self.shapes[entry[field]] for field in ("tag", "docid", "topic") if field in entry}


DATA = json.decode((files("heed.addons.submission") / "tracks.json").read_bytes(), type=TrackData)
LETTERS, QUERIES = DATA.letters, DATA.queries
SOURCES = {name: convert(DATA.shaped(entry), RunDocuments) for name, entry in DATA.documents.items()}
TRACKS = {name: convert(DATA.shaped(entry), Track) for name, entry in DATA.tracks.items()}
BLOCK = re.compile(f"([{''.join(LETTERS)}]+)_")


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


def tag_problems(tag: str, track: Track, team: str) -> Iterator[tuple[str, str]]:
    """Yield severity and text of each problem of ``tag`` in ``track``; only that of its form where that is wrong."""
    if not re.fullmatch(track.tag.pattern, tag):
        yield ERROR, f"found tag {tag!r}, expected {track.tag.description}; rename the run (fixable with a new tag)"
        return
    if 0 < track.advised < len(tag):
        yield WARNING, f"found a tag of {len(tag)} characters, expected {track.advised} at most: {track.advice}"
    if team and track.team_first and not tag.startswith(team):
        yield ERROR, f"found tag {tag!r}, expected it to begin with the team's name, {team}; rename the run"
    if track.sources:
        yield from _name_problems(tag, track, team)


def _name_problems(tag: str, track: Track, team: str) -> Iterator[tuple[str, str]]:
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


def _letter_problems(name: RunName) -> Iterator[tuple[str, str]]:
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
