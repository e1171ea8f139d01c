"""The rules of each track, as data: a track is a row of ``TRACKS``, and shapes of ids are shared; the names of runs."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from heed.addons.submission.run_report import ERROR, WARNING

OLDER, LONGEST_2023 = 25, 47
OF_2020 = "whether 2019's tags and depth are 2020's, which are checked"
OF_2022 = "whether the tags and the depth are those of 2022, which are checked"
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


class Shape(NamedTuple):
    """The form of an id: a regular expression for the whole id, and the same in words."""

    pattern: str
    description: str


class RunDocuments(NamedTuple):
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

    @property
    def names_team(self) -> bool:
        """Whether the track has a rule on the team's name in a tag."""
        return bool(self.sources) or self.team_first


# A document's id is that of its WARC record, a UUID of 36 characters (neuclir.github.io/neuclir1)
UUID = Shape(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "NeuCLIR's 36 characters: 8-4-4-4-12 hexadecimal digits")
CSL = Shape(r"csl-\w+", "CSL's csl- and a number")
MARCO = Shape(r"msmarco_(?:doc|passage)_\d\d_\d+", "msmarco_doc_ or msmarco_passage_, two digits, _, digits")
MARCO_1_DOC = Shape(r"D\d+", "MS MARCO's D and a number")
MARCO_1_PASSAGE = Shape(r"\d+", "MS MARCO's number of a passage")
SEGMENT = Shape(r"msmarco_v2\.1_doc_\d\d_\d+#\d+_\d+", "a segment of MS MARCO V2.1, as msmarco_v2.1_doc_02_123#4_567")
DISKS_4_5 = Shape(
    r"(?:FBIS[34]|FT9\d\d)-\d+|FR94\d{4}-\d-\d{5}|LA\d{6}-\d{4}",
    "an id of TREC disks 4 and 5, as FT911-1, FBIS3-1, FR940104-0-00001 or LA010189-0001; no Congressional Record",
)
WORD = Shape(r"\S+", "one word")
NUMBER = Shape(r"\d+", "a number")
NUMBERED = Shape(r"\d\S*", "something that begins with a digit")  # the default of Evalbase's check-stdtrec

SOURCES = {
    "zho": RunDocuments("single-language news", "zho", ("zho",), UUID),
    "fas": RunDocuments("single-language news", "fas", ("fas",), UUID),
    "rus": RunDocuments("single-language news", "rus", ("rus",), UUID),
    "mlir": RunDocuments("multilingual news", "fas+rus+zho", ("fas", "rus", "zho"), UUID),
    "tech": RunDocuments("single-language technical", "csl", ("zho",), CSL),
}

# NIST's script for Deep Learning 2022; a leading dash is refused too: programs take such a file name for an option
TAG_25 = Shape(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,24}", "1 to 25 letters, digits, _ and -, not beginning with -")
# trec.nist.gov/data/robust/04.guidelines.html: letters and numbers, no punctuation
TAG_12 = Shape(r"[A-Za-z0-9]{1,12}", "1 to 12 letters and digits")
TAG_15 = Shape(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,14}", "1 to 15 letters, digits, _ and -, not beginning with -")
# NIST's list of 2022's NeuCLIR runs: dots occur, and the longest of 230 names have 25 characters
TAG_2022 = Shape(
    r"[A-Za-z0-9_][A-Za-z0-9._-]{0,24}", "1 to 25 letters, digits, dots, _ and -, not beginning with . or -"
)
# Evalbase, where runs are uploaded since 2023, keeps 150 characters; the longest name of 2023 has 47
TAG_150 = Shape(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,149}", "1 to 150 letters, digits, _ and -, not beginning with -")


# neuclir.github.io/2023: 1000 documents, deeper lists are cut, names begin with a source
NEUCLIR_2023 = Track(
    "NeuCLIR 2023, all five tasks",
    1000,
    TAG_150,
    UUID,
    NUMBER,
    deeper="cut",
    advised=LONGEST_2023,
    advice=f"the longest that NIST took in 2023 has {LONGEST_2023}, and its limit is not public",
    sources=tuple(SOURCES),
    form=True,
    unknown="how long a tag may be",
)
OTHER = Track(
    "any other track",
    1000,
    TAG_150,
    WORD,
    NUMBERED,
    advised=OLDER,
    advice=f"many tracks take {OLDER} at most",
    unknown="your track's own depth and forms of tags, topics and docids",
)
# trec-core.github.io gives the topics; 10,000 is the depth of the runs that its participants tell how they made
CORE = OTHER._replace(
    depth=10_000, topic=NUMBER, deeper="unknown", topics=50, unknown="the depth (runs have 10,000) and the form of tags"
)
# NIST's script for Deep Learning 2020: 100 documents or 1000 passages
DL_2020 = Track("Deep Learning 2020, documents", 100, TAG_15, MARCO_1_DOC, NUMBER, topics=200)
DL_2022 = Track("Deep Learning 2022, as NIST's script has it", 100, TAG_25, MARCO, NUMBER, topics=500)
PASSAGES = DL_2020._replace(about="Deep Learning 2020, passages", depth=1000, docid=MARCO_1_PASSAGE)
TRACKS = {
    "trec": OTHER,
    # neuclir.github.io/2022: over 1000 documents a run is refused; its tag begins with the team's name
    "neuclir-2022": Track("NeuCLIR 2022", 1000, TAG_2022, UUID, NUMBER, team_first=True, form=True),
    "neuclir-2023": NEUCLIR_2023,
    "mlir": NEUCLIR_2023._replace(about="NeuCLIR 2023's multilingual task", sources=("mlir",)),
    "technical": NEUCLIR_2023._replace(about="NeuCLIR 2023's technical documents", docid=CSL, sources=("tech",)),
    # neuclir.github.io, index.md and 2024.md: the tasks and collections of 2023, "very similar to the 2023 track";
    # the guidelines themselves are in a document that is not public
    "neuclir-2024": OTHER._replace(
        about="NeuCLIR 2024: news, multilingual, technical",
        docid=Shape(f"{UUID.pattern}|{CSL.pattern}", f"{UUID.description}, or {CSL.description}"),
        deeper="unknown",
        advised=LONGEST_2023,
        advice=f"the longest that NIST took in 2023 has {LONGEST_2023}, and 2024's limit is not known",
        unknown="2024's depth (1000 is 2023's), form and length of tags, and submission form; reports are not runs",
    ),
    # trec.nist.gov/data/robust/04.guidelines.html
    "robust-2004": Track(
        "Robust 2004",
        1000,
        TAG_12,
        DISKS_4_5,
        NUMBER,
        topics=250,
        unknown="the second part of a run, a line for each topic with its predicted place: send it along",
    ),
    "core-2017": CORE._replace(about="Common Core 2017", docid=Shape(r"\d+", "a number of the New York Times corpus")),
    "core-2018": CORE._replace(
        about="Common Core 2018",
        docid=Shape(r"[0-9a-f-]{26,36}", "an id of the Washington Post, of hexadecimal digits"),
    ),
    "dl-2019": DL_2020._replace(about="Deep Learning 2019, documents", unknown=OF_2020),
    "dl-2019-passages": PASSAGES._replace(about="Deep Learning 2019, passages", unknown=OF_2020),
    "dl-2020": DL_2020,
    "dl-2020-passages": PASSAGES,
    "dl-2021": DL_2022._replace(about="Deep Learning 2021", topics=477, unknown=OF_2022),
    "dl-2022": DL_2022,
    "dl-2023": DL_2022._replace(about="Deep Learning 2023", topics=700, unknown=OF_2022),
    # trec-rag.github.io, track guidelines of 2024 and 2025: the best 100 segments
    "rag-2024": OTHER._replace(
        about="RAG 2024, retrieval",
        depth=100,
        docid=SEGMENT,
        topics=301,
        unknown="the form of tags; answers are not runs",
    ),
    "rag-2025": OTHER._replace(
        about="RAG 2025, retrieval",
        depth=100,
        docid=SEGMENT,
        unknown="the form of tags, the number of topics; answers are not runs",
    ),
    "ragtime-2025": OTHER._replace(
        about="RAGTIME 2025, retrieval",
        topic=NUMBER,
        deeper="unknown",
        unknown="the depth (1000 is NeuCLIR's), forms of tags and docids, number of topics; reports are not runs",
    ),
}


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
