"""A run's tag: its shape, and the parts of a NeuCLIR name and what they say of the run."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from heed.validation.run_report import ERROR, WARNING
from heed.validation.track_rules import SOURCES, Source, Track

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
BLOCK = re.compile(f"([{''.join(LETTERS)}]+)(_|-|$)")

Found = tuple[str, str]  # severity, message


class RunName(NamedTuple):
    """The parts of ``zho-TEAM-ACN_text``; a part that is not there is empty."""

    source: str
    team: str
    letters: str
    rest: str

    @property
    def over(self) -> Source | None:
        """What the run is made over, None for an unknown first part."""
        return SOURCES.get(self.source)


def parse_name(tag: str, team: str = "") -> RunName:
    """The parts of a name; ``team`` helps where the team's own name has a dash in it."""
    source, _, rest = tag.partition("-")
    if team and rest.startswith(f"{team}-"):
        second, rest = team, rest[len(team) + 1 :]
    else:
        second, _, rest = rest.partition("-")
    block = BLOCK.match(rest)
    letters = block[1] if block and block[2] == "_" else ""
    return RunName(source, second, letters, rest)


def tag_problems(tag: str, track: Track, team: str, topic_languages: frozenset[str]) -> Iterator[Found]:
    """What is wrong with ``tag`` in ``track``; no more than its shape where that is wrong already.

    ``topic_languages`` are those that the topics are written in, empty if that is not known.
    """
    if not re.fullmatch(track.tag.pattern, tag):
        yield ERROR, f"found tag {tag!r}, expected {track.tag.told}; rename the run (--fix with --tag NAME)"
        return
    if 0 < track.advised < len(tag):
        yield WARNING, f"found a tag of {len(tag)} characters; many tracks take {track.advised} at most"
    if team and track.team_first and not tag.startswith(team):
        yield ERROR, f"found tag {tag!r}, expected it to begin with the team's name, {team}; rename the run"
    if track.sources:
        yield from _name_problems(tag, track, team, topic_languages)


def _name_problems(tag: str, track: Track, team: str, topic_languages: frozenset[str]) -> Iterator[Found]:
    name = parse_name(tag, team)
    expected = ", ".join(f"{one}-" for one in track.sources)
    if name.source not in track.sources or "-" not in tag:
        yield ERROR, f"found tag {tag!r}, expected it to begin with one of {expected}; rename the run"
        return
    if not name.team or not name.rest:
        yield ERROR, f"found tag {tag!r}, expected {name.source}-TEAM-NAME; add the team's name and a name of the run"
        return
    if team and name.team != team:
        yield ERROR, f"found team {name.team!r} in tag {tag!r}, expected {team!r}; rename the run"
    yield from _letter_problems(name, topic_languages)


def _letter_problems(name: RunName, topic_languages: frozenset[str]) -> Iterator[Found]:
    letters = set(name.letters)
    block = BLOCK.match(name.rest)
    if block and block[2] == "-" and len(block[1]) > 1:
        yield WARNING, f"found letters {block[1]} closed by '-', which the track takes as text; expected {block[1]}_"
    if len(letters) < len(name.letters):
        yield WARNING, f"found letters {name.letters} with one twice; expected each once, before the first _"
    if {"A", "M"} <= letters:
        yield ERROR, f"found letters {name.letters}: A is automatic, M manual; expected one of them"
    kinds = [one for one in name.letters if one in "SDL"]
    if len(kinds) > 1 and "H" not in letters:
        told = ", ".join(f"{one} ({LETTERS[one]})" for one in kinds)
        yield WARNING, f"found letters {name.letters}: {told}; if that is a word of yours, put something before it"
    yield from _language_problems(name, topic_languages)


def _language_problems(name: RunName, topic_languages: frozenset[str]) -> Iterator[Found]:
    asked = {one: QUERIES[one] for one in name.letters if one in QUERIES}
    over = name.over
    # with translated documents (T) English queries are in the documents' language too
    alone = "1" in name.letters and "T" not in name.letters
    if over and alone and asked and not set(asked.values()) & set(over.languages):
        found = f"found letters {name.letters}: {_say(asked)}, and 1 is monolingual"
        yield ERROR, f"{found}, expected queries in {' or '.join(over.languages)}; mend the name"
    strange = {one: code for one, code in asked.items() if topic_languages and code not in topic_languages}
    if strange:
        found = f"found letters {name.letters}: {_say(strange)}, and the topics are in"
        yield ERROR, f"{found} {', '.join(sorted(topic_languages))}; mend the name or give the right --topics"


def _say(letters: dict[str, str]) -> str:
    return ", ".join(f"{one} ({LETTERS[one]})" for one in letters)
