import gzip
import html
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_datasets.datasets.wapo import RM_TAGS  # of Core 2018
from ir_datasets.formats import TrecQueries, TrecXmlQueries
from properties import unhurried

from heed.errors import HeedError
from heed.formats.topics import read_topics
from heed.types import Topic

# the form of topics.301-450: unclosed tags, labels, text on the next line
CLASSIC = """
<top>

<num> Number: 051
<title> Coastal Dredging &amp; Silt

<desc> Description:
What does dredging do
to river mouths?

<narr> Narrative:
A relevant document names a river with depth < 5 m.
Costs alone are <b>not</b> relevant.

</top>

<top>
<num> Number: 302
<title>
Kelp

<desc> Description:
Where does kelp grow?
</top>
"""

# the form of the first tracks, with sections that are no field here, and a label before the title
EARLY = """<top>
<head> Tipster Topic Description
<num> Number:  001
<dom> Domain:  Science
<title> Topic:  Silt Traps
<desc> Description:
Document discusses silt traps.
<smry> Summary:
Of no use.
<narr> Narrative:
Traps in rivers.
<con> Concept(s):
1. silt
</top>
"""

# the form of later tracks, closed as in XML
CLOSED = """<?xml version="1.0" encoding="UTF-8"?>
<topics>
  <TOP lang="en">
    <NUM> Number: 936 </NUM>
    <docid>8aade470</docid>
    <title lang="en">Silt &lt;traps&gt; &#38; dams</title>
    <desc>What holds silt back?</desc>
    <narr>Dams and traps.
      <i>Rivers</i> only.</narr>
    <subtopics><sub num="1">Of no use.</sub></subtopics>
  </TOP>
</topics>
"""


def write(tmp_path: Path, text: str, name: str = "topics.txt", encoding: str = "utf-8") -> Path:
    path = tmp_path / name
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["topics.txt", "topics.txt.gz"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_classic_topics_are_read(tmp_path: Path, name: str, newline: str) -> None:
    first, second = read_topics(write(tmp_path, CLASSIC.replace("\n", newline), name), "eng", "title", "trec")
    narrative = "A relevant document names a river with depth < 5 m. Costs alone are <b>not</b> relevant."
    about = "What does dredging do to river mouths?"
    assert first == Topic("051", "eng", "Coastal Dredging & Silt", {"original": narrative}, description=about)
    assert second == Topic("302", "eng", "Kelp", {}, description="Where does kelp grow?")


def test_early_topics_are_read_without_their_other_sections(tmp_path: Path) -> None:
    [topic] = read_topics(write(tmp_path, EARLY), "eng", "both", "trec")
    assert topic == Topic("001", "eng", "Silt Traps Document discusses silt traps.", {"original": "Traps in rivers."})


def test_closed_topics_are_read(tmp_path: Path) -> None:
    [topic] = read_topics(write(tmp_path, CLOSED), "eng", "title", "trec")
    narrative = "Dams and traps. <i>Rivers</i> only."
    expected = Topic("936", "eng", "Silt <traps> & dams", {"original": narrative}, description="What holds silt back?")
    assert topic == expected


class Local:
    """A file as ir_datasets takes it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def stream(self) -> Iterator[IO[bytes]]:
        with self.path.open("rb") as stream:
            yield stream


# labels alone in their lines, without colons, as Core 2018 has that of narratives
BARE = CLASSIC.replace("Description:", "Description").replace("Narrative:", "Narrative ").replace("Number:", "Number")


@pytest.mark.parametrize("label", ["Narrative:", "Narrative", ""])
def test_the_classic_form_is_read_as_ir_datasets_reads_it(tmp_path: Path, label: str) -> None:
    # ir_datasets keeps entities, and takes no topic without a narrative
    first = CLASSIC.replace("&amp; ", "").replace("Narrative:", label).partition("</top>")[0] + "</top>\n"
    [ours] = read_topics(write(tmp_path, first), "eng", "both", "trec")
    [theirs] = TrecQueries(Local(tmp_path / "topics.txt"), remove_tags=RM_TAGS).queries_iter()
    assert theirs.query_id == ours.qid
    assert f"{theirs.title} {theirs.description}".split() == ours.query.split()
    assert theirs.narrative.split() == ours.instructions["original"].split()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_labels_need_no_colon_where_they_are_alone_in_a_line(tmp_path: Path, newline: str) -> None:
    plain = read_topics(write(tmp_path, CLASSIC), "eng", "title", "trec")
    assert read_topics(write(tmp_path, BARE.replace("\n", newline)), "eng", "title", "trec") == plain


def test_texts_may_begin_with_the_word_of_a_label(tmp_path: Path) -> None:
    text = "<top><num> 1 <title> Topic maps <desc> Description logics in use. <narr> Narrative accounts of it. </top>"
    [topic] = read_topics(write(tmp_path, text), "eng", "both", "trec")
    assert topic == Topic(
        "1", "eng", "Topic maps Description logics in use.", {"original": "Narrative accounts of it."}
    )
    [topic] = read_topics(
        write(tmp_path, "<top>\n<num> 1\n<title> a\n<narr> Narrative\n</top>"), "eng", "title", "trec"
    )
    assert topic.instructions == {}  # the label alone


# the form of TREC-COVID, then of the Web tracks
NUMBERED = """<?xml version="1.0" encoding="UTF-8"?>
<topics task="COVIDSEARCH" batch="1">
  <topic number="1">
    <query>silt traps</query>
    <question>what is the use of <i>silt</i> traps</question>
    <narrative>seeking traps &amp; dams,
    and no rivers; a &lt;topic&gt; too</narrative>
  </topic>
  <topic number="wt09-2" type="faceted">
    <query>kelp</query>
    <description>
      Where does kelp grow?
    </description>
    <subtopic number="1" type="inf">Of no use.</subtopic>
  </topic>
</topics>
"""


def test_topics_with_a_number_in_their_tag_are_read_as_ir_datasets_reads_them(tmp_path: Path) -> None:
    parts = {"query": "title", "question": "description", "description": "description", "narrative": "narrative"}
    ours = read_topics(write(tmp_path, NUMBERED.replace("<i>", "").replace("</i>", "")), "eng", "title", "trec")
    theirs = list(TrecXmlQueries(Local(tmp_path / "topics.txt"), qtype_map=parts).queries_iter())
    assert [topic.qid for topic in ours] == [query.query_id for query in theirs] == ["1", "wt09-2"]
    for topic, query in zip(ours, theirs, strict=True):
        texts = (topic.query, topic.description, topic.instructions.get("original", ""))
        expected = (query.title, query.description, query.narrative or "")
        assert [text.split() for text in texts] == [text.split() for text in expected]


@pytest.mark.parametrize("tag", ["top", "topic"])
def test_a_query_is_a_title(tmp_path: Path, tag: str) -> None:
    # Microblog's, and with <topic> the Podcasts track's
    parts = "<num> Number: MB001 </num>\n<query> BBC staff cuts </query>\n<querytime> Tue Feb </querytime>"
    text = f"<{tag}>\n{parts}\n</{tag}>"
    assert read_topics(write(tmp_path, text), "eng", "title", "trec") == [Topic("MB001", "eng", "BBC staff cuts", {})]
    with pytest.raises(HeedError, match="topic MB001 has <title> twice; keep one"):
        read_topics(write(tmp_path, text.replace("<query>", "<title> BBC\n<query>")), "eng", "title", "trec")


def test_latin_1_and_byte_order_marks_are_read(tmp_path: Path) -> None:
    text = "<top><num> 1 <title> Vänern <desc> Sjön </top>"
    for encoding in ("latin-1", "utf-8", "utf-8-sig"):
        assert read_topics(write(tmp_path, text, encoding=encoding), "swe", "title", "trec")[0].query == "Vänern"


def test_every_bad_topic_is_told_with_its_line(tmp_path: Path) -> None:
    text = (
        "<top>\n<title> no number\n</top>\n"
        "<top>\n<num> Number: 2\n<desc> no title\n</top>\n"
        "<top>\n<num> 3 4\n<title> two words\n</top>\n"
        "<top>\n<num> 5\n<title> a\n<title> b\n</top>\n"
        "<top>\n<num> 6\n<title> a\n<top>\n<num> 6\n<title> again, after an unclosed one\n"
    )
    with pytest.raises(HeedError) as caught:
        read_topics(write(tmp_path, text), "eng", "title", "trec")
    assert [line.removeprefix(f"{tmp_path}/topics.txt, ") for line in str(caught.value).splitlines()] == [
        "line 1: this <top> has no <num>",
        "line 4: topic 2 has no title (query)",
        "line 8: qid is '3 4', expected a word",
        "line 12: topic 5 has <title> twice; keep one",
        "line 20: topic 6 comes twice; keep one",
    ]


@pytest.mark.parametrize("text", ["", "1\tone\n", '{"qid": "1"}\n', "</top>", "<topics></topics>"])
def test_a_file_without_topics_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(HeedError, match=r"topics.txt: no <top>; expected TREC topics"):
        read_topics(write(tmp_path, text), "eng", "title", "trec")


def test_hostile_files_take_linear_time(tmp_path: Path) -> None:
    start = time.monotonic()
    parts = ("<", "<a", "<a ", "<top", "<top>", "&#", "&a", "<top><num>", "\n<x>", "</")
    for text in (*(part * 200_000 for part in parts), "<" + "a" * 2_000_000, "<a" + " " * 2_000_000):
        try:
            read_topics(write(tmp_path, "<top><num> 1 <title> " + text), "eng", "title", "trec")
        except HeedError as error:
            assert "topics.txt" in str(error)
    assert time.monotonic() - start < 60  # quadratic time would be hours


WORDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1)
TEXTS = st.lists(WORDS, min_size=1).map(" ".join).filter(lambda text: ":" not in text)


@unhurried
@given(
    st.dictionaries(WORDS.filter(lambda word: ":" not in word), st.tuples(TEXTS, TEXTS, TEXTS), min_size=1),
    st.booleans(),
)
def test_topics_survive_being_written_and_read(
    tmp_path_factory: pytest.TempPathFactory, topics: dict[str, tuple[str, str, str]], closed: bool
) -> None:
    end = "</{}>" if closed else "\n"
    text = ""
    for qid, texts in topics.items():
        text += f"<top>\n<num> Number: {html.escape(qid)}{end.format('num')}"
        for name, label, value in zip(
            ("title", "desc", "narr"), ("", "Description:\n", "Narrative:\n"), texts, strict=True
        ):
            text += f"<{name}> {label}{html.escape(value)}{end.format(name)}"
        text += "</top>\n"
    path = write(tmp_path_factory.mktemp("trec"), text)
    assert read_topics(path, "eng", "both", "trec") == [
        Topic(qid, "eng", f"{title} {description}", {"original": narrative})
        for qid, (title, description, narrative) in topics.items()
    ]
