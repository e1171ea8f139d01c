"""What is allowed in a run: the rules of each track, as data, and the rules to check a run against."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from heed.validation.collection_ids import CollectionIds


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

    ``depth`` is documents a topic; where ``cut`` is true NIST cuts a deeper list, otherwise it
    refuses the run. A tag longer than ``advised`` gives a warning (0: never). ``sources`` are the first
    parts of names, empty where names have none. ``team_first``: the tag begins with the team's name.
    ``form``: NeuCLIR's submission form is needed for a run.
    """

    about: str
    depth: int
    tag: Shape
    docid: Shape
    topic: Shape
    cut: bool = False
    advised: int = 0
    sources: tuple[str, ...] = ()
    team_first: bool = False
    form: bool = False


# A document's id is that of its WARC record, a UUID of 36 characters (neuclir.github.io/neuclir1)
UUID = Shape(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "NeuCLIR's 36 characters: 8-4-4-4-12 hexadecimal digits")
CSL = Shape(r"csl-\w+", "CSL's csl- and a number")
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
OLDER = 25


def _neuclir_2023(about: str, *sources: str) -> Track:
    """Return the rules of neuclir.github.io/2023: 1000 documents, deeper lists are cut, names begin with a source."""
    docid = SOURCES[sources[0]].docid
    return Track(about, 1000, TAG_150, docid, NUMBER, cut=True, sources=sources, form=True)


TRACKS = {
    "trec": Track("any other track", 1000, TAG_150, WORD, NUMBERED, advised=OLDER),
    # neuclir.github.io/2022: over 1000 documents a run is refused; its tag begins with the team's name
    "neuclir-2022": Track("NeuCLIR 2022", 1000, TAG_2022, UUID, NUMBER, team_first=True, form=True),
    "neuclir-2023": _neuclir_2023("NeuCLIR 2023, all five tasks", *SOURCES),
    "mlir": _neuclir_2023("NeuCLIR 2023's multilingual task", "mlir"),
    "technical": _neuclir_2023("NeuCLIR 2023's technical documents", "tech"),
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
