"""What is allowed in a run: the rules of each track, as data, the rules to check a run against, and its name."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from heed.submission.run_report import ERROR, WARNING

if TYPE_CHECKING:
    from heed.submission.expected import CollectionIds

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

Problem = tuple[str, str]  # severity, message


class Shape(NamedTuple):
    """The form of an id: a regular expression for the whole id, and the same in words."""

    pattern: str
    description: str


class Source(NamedTuple):
    """The documents of a run, by the first part of its name: its task, the documents and their languages."""

    task: str
    documents: str
    languages: tuple[str, ...]
    docid: Shape


class Track(NamedTuple):
    """The rules of one track.

    ``depth`` is documents a topic; a ``deeper`` list is cut or makes NIST refuse the run, or that is unknown.
    A tag longer than ``advised`` gives a warning, with the reason ``advice`` (0: never). ``sources`` are the
    first parts of names, empty where names have none. ``team_first``: the tag begins with the team's name.
    ``form``: NeuCLIR's submission form is needed for a run. ``unknown`` says in words which of the track's
    rules are not public, so that nothing is checked or a neighbour's rule is; empty where all are known.
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
    unknown: str = ""


# A document's id is that of its WARC record, a UUID of 36 characters (neuclir.github.io/neuclir1)
UUID = Shape(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "NeuCLIR's 36 characters: 8-4-4-4-12 hexadecimal digits")
CSL = Shape(r"csl-\w+", "CSL's csl- and a number")
NEWS_OR_CSL = Shape(f"{UUID.pattern}|{CSL.pattern}", f"{UUID.description}, or {CSL.description}")
MARCO = Shape(r"msmarco_(?:doc|passage)_\d\d_\d+", "msmarco_doc_ or msmarco_passage_, two digits, _, digits")
WORD = Shape(r"\S+", "one word")
NUMBER = Shape(r"\d+", "a number")
NUMBERED = Shape(r"\d\S*", "something that begins with a digit")  # the default of Evalbase's check-stdtrec

SOURCES = {
    "zho": Source("single-language news", "zho", ("zho",), UUID),
    "fas": Source("single-language news", "fas", ("fas",), UUID),
    "rus": Source("single-language news", "rus", ("rus",), UUID),
    "mlir": Source("multilingual news", "fas+rus+zho", ("fas", "rus", "zho"), UUID),
    "tech": Source("single-language technical", "csl", ("zho",), CSL),
}

# NIST's script for Deep Learning 2022; a leading dash is refused too: programs take such a file name for an option
TAG_25 = Shape(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,24}", "1 to 25 letters, digits, _ and -, not beginning with -")
# NIST's list of 2022's NeuCLIR runs: dots occur, and the longest of 230 names have 25 characters
TAG_2022 = Shape(
    r"[A-Za-z0-9_][A-Za-z0-9._-]{0,24}", "1 to 25 letters, digits, dots, _ and -, not beginning with . or -"
)
# Evalbase, where runs are uploaded since 2023, keeps 150 characters; the longest name of 2023 has 47
TAG_150 = Shape(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,149}", "1 to 150 letters, digits, _ and -, not beginning with -")
OLDER, LONGEST_2023 = 25, 47


def _neuclir_2023(about: str, *sources: str) -> Track:
    """Return the rules of neuclir.github.io/2023: 1000 documents, deeper lists are cut, names begin with a source."""
    docid = SOURCES[sources[0]].docid
    return Track(
        about,
        1000,
        TAG_150,
        docid,
        NUMBER,
        deeper="cut",
        advised=LONGEST_2023,
        advice=f"the longest that NIST took in 2023 has {LONGEST_2023}, and its limit is not public",
        sources=sources,
        form=True,
        unknown="how long a tag may be",
    )


TRACKS = {
    "trec": Track(
        "any other track",
        1000,
        TAG_150,
        WORD,
        NUMBERED,
        advised=OLDER,
        advice=f"many tracks take {OLDER} at most",
        unknown="your track's own depth and forms of tags, topics and docids",
    ),
    # neuclir.github.io/2022: over 1000 documents a run is refused; its tag begins with the team's name
    "neuclir-2022": Track("NeuCLIR 2022", 1000, TAG_2022, UUID, NUMBER, team_first=True, form=True),
    "neuclir-2023": _neuclir_2023("NeuCLIR 2023, all five tasks", *SOURCES),
    "mlir": _neuclir_2023("NeuCLIR 2023's multilingual task", "mlir"),
    "technical": _neuclir_2023("NeuCLIR 2023's technical documents", "tech"),
    # neuclir.github.io, index.md and 2024.md: the tasks and collections of 2023, "very similar to the 2023 track";
    # the guidelines themselves are in a document that is not public
    "neuclir-2024": Track(
        "NeuCLIR 2024: news, multilingual, technical",
        1000,
        TAG_150,
        NEWS_OR_CSL,
        NUMBERED,
        deeper="unknown",
        advised=LONGEST_2023,
        advice=f"the longest that NIST took in 2023 has {LONGEST_2023}, and 2024's limit is not known",
        unknown="2024's depth (1000 is 2023's), form and length of tags, and submission form; reports are not runs",
    ),
    "dl-2022": Track("Deep Learning 2022, as NIST's script has it", 100, TAG_25, MARCO, NUMBER),
}


@dataclass(frozen=True)
class Rules:
    """The rules to check a run against; what is None or empty is not checked.

    ``topics`` gives the languages in which each topic is written, ``candidates`` the documents that
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
    collection: "CollectionIds | None" = None
    candidates: Mapping[str, Collection[str]] | None = None
    file_name: str = ""


class RunName(NamedTuple):
    """The parts of ``zho-TEAM-ACN_text``; a missing part is empty."""

    source: str
    team: str
    letters: str
    rest: str

    @property
    def documents(self) -> Source | None:
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
    letters = block[1] if block and block[2] == "_" else ""
    return RunName(source, second, letters, rest)


def tag_problems(tag: str, track: Track, team: str, topic_languages: frozenset[str]) -> Iterator[Problem]:
    """Yield the problems of ``tag`` in ``track``; only that of its form where that is wrong.

    ``topic_languages`` are the languages of the topics, empty if unknown.
    """
    if not re.fullmatch(track.tag.pattern, tag):
        yield ERROR, f"found tag {tag!r}, expected {track.tag.description}; rename the run (--fix with --tag NAME)"
        return
    if 0 < track.advised < len(tag):
        yield WARNING, f"found a tag of {len(tag)} characters, expected {track.advised} at most: {track.advice}"
    if team and track.team_first and not tag.startswith(team):
        yield ERROR, f"found tag {tag!r}, expected it to begin with the team's name, {team}; rename the run"
    if track.sources:
        yield from _name_problems(tag, track, team, topic_languages)


def _name_problems(tag: str, track: Track, team: str, topic_languages: frozenset[str]) -> Iterator[Problem]:
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
    yield from _letter_problems(name, topic_languages)


def _letter_problems(name: RunName, topic_languages: frozenset[str]) -> Iterator[Problem]:
    letters = set(name.letters)
    block = BLOCK.match(name.rest)
    if block and block[2] == "-" and len(block[1]) > 1:
        yield WARNING, f"found letters {block[1]} closed by '-', which the track takes as text; expected {block[1]}_"
    if len(letters) < len(name.letters):
        yield WARNING, f"found letters {name.letters} with one twice; expected each once, before the first _"
    if {"A", "M"} <= letters:
        yield ERROR, f"found letters {name.letters}: A is automatic, M manual; expected one of them"
    kinds = [letter for letter in name.letters if letter in "SDL"]
    if len(kinds) > 1 and "H" not in letters:
        problem = f"found letters {name.letters}: {_describe(kinds)}"
        yield WARNING, f"{problem}; if they are not meant as letters, put another word before them"
    yield from _language_problems(name, topic_languages)


def _language_problems(name: RunName, topic_languages: frozenset[str]) -> Iterator[Problem]:
    queries = {letter: QUERIES[letter] for letter in name.letters if letter in QUERIES}
    documents = name.documents
    # with translated documents (T) English queries are in the documents' language too
    monolingual = "1" in name.letters and "T" not in name.letters
    if documents and monolingual and queries and not set(queries.values()) & set(documents.languages):
        problem = f"found letters {name.letters}: {_describe(queries)}, and 1 is monolingual"
        yield ERROR, f"{problem}, expected queries in {' or '.join(documents.languages)}; correct the name"
    unknown = [letter for letter, code in queries.items() if topic_languages and code not in topic_languages]
    if unknown:
        problem = f"found letters {name.letters}: {_describe(unknown)}, and the topics are in"
        yield ERROR, f"{problem} {', '.join(sorted(topic_languages))}; correct the name or give the right --topics"


def _describe(letters: Iterable[str]) -> str:
    return ", ".join(f"{letter} ({LETTERS[letter]})" for letter in letters)
