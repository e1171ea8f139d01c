import json
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec
import pytest
from conftest import write_jsonl
from hypothesis import given
from hypothesis import strategies as st
from ir_datasets.formats import TrecQuery
from ir_datasets.formats.trec import TrecColonQueries

from heed.datasets.irds import _topic
from heed.errors import HeedError
from heed.formats.topics import (
    instruction_of_levels,
    read_neuclir_topics,
    read_topics,
    readings_of,
    recognised,
)
from heed.progress import gathering
from heed.report.topics_file import StoredTopic
from heed.types import KINDS, UNSEEN, Query, Span, Topic, conditions_of, paragraphs, under

SOURCES = {
    "en": ("eng", "original"),
    "ht": ("zho", "human translation"),
    "mt": ("zho", "20220114-scale21"),
    "old": ("zho", "20210101-older"),
}
NEUCLIR_2022 = {
    "topic_id": "3",
    "languages_with_qrels": ["zho"],
    "topics": [
        {"lang": lang, "source": source}
        | {f"topic_{name}": f"{name[0].upper()} {mark}" for name in ("title", "description", "narrative")}
        for mark, (lang, source) in SOURCES.items()
    ],
}


def neuclir(
    tmp_path: Path, record: dict, lang: str = "zho", translation: str = "any", fields: str = "title"
) -> list[Topic]:
    path = write_jsonl(tmp_path / "topics.jsonl", [record])
    return read_neuclir_topics(path, lang, fields, collection="zho", translation=translation)


@pytest.mark.parametrize(
    ("lang", "translation", "fields", "query", "instruction"),
    [
        ("zho", "human", "title", "T ht", "N ht"),
        ("zho", "machine", "title", "T mt", "N mt"),
        ("zho", "any", "both", "T ht D ht", "N ht"),
        ("zho", "machine", "description", "D mt", "N mt"),
        ("eng", "any", "title", "T en", "N en"),
    ],
)
def test_originals_and_translations_are_kept_apart(
    tmp_path: Path, lang: str, translation: str, fields: str, query: str, instruction: str
) -> None:
    [topic] = neuclir(tmp_path, NEUCLIR_2022, lang, translation, fields)
    description = query.replace("T", "D") if fields == "title" else ""
    assert topic == Topic("3", lang, query, {"original": instruction}, description=description)


def test_a_missing_human_narrative_is_taken_from_the_machine_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # NeuCLIR 2023: human title and description, no human narrative
    record = NEUCLIR_2022 | {"topics": [dict(one) for one in NEUCLIR_2022["topics"]]}
    del record["topics"][1]["topic_narrative"]
    [topic] = neuclir(tmp_path, record)
    assert (topic.query, topic.instructions) == ("T ht", {"original": "N mt"})
    assert "1 topic as human translations, with the instruction as machine translations" in capsys.readouterr().err


def test_topics_without_a_narrative_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = NEUCLIR_2022 | {"topics": [dict(one, topic_narrative=None) for one in NEUCLIR_2022["topics"]]}
    [topic] = neuclir(tmp_path, record)
    assert topic.instructions == {}
    assert "1 topic as human translations, without an instruction" in capsys.readouterr().err


def test_topics_without_the_text_asked_for_are_left_out_and_told(tmp_path: Path) -> None:
    with pytest.raises(HeedError, match="no topic in rus, translation human, with title"):
        neuclir(tmp_path, NEUCLIR_2022, "rus", "human")


def test_hc4s_four_levels_become_one_instruction() -> None:
    levels = {
        "very_valuable": "Names of asteroids.\nRisks",
        "somewhat_valuable": "N/A",
        "not_that_valuable": "Old impacts",
        "non_relevant": "",
    }
    assert instruction_of_levels(levels) == "Highly relevant: Names of asteroids. Risks. Not relevant: Old impacts."


def test_instructions_in_english_beside_other_queries_are_a_warning(tmp_path: Path) -> None:
    record = NEUCLIR_2022 | {"topics": [dict(one, topic_narrative=None) for one in NEUCLIR_2022["topics"]]}
    with gathering([]) as warnings:
        [topic] = neuclir(tmp_path, record | {"narratives": {"zho": {"very_valuable": "Risks"}}})
    assert topic.instructions == {"original": "Highly relevant: Risks."}
    [said] = warnings
    assert said.endswith("instructions of 1 topic are in English, the queries in zho")


def test_the_real_hc4_topics_are_read(shared: Path) -> None:
    counts = {}
    for lang in ("zho", "fas", "rus"):
        topics = read_neuclir_topics(shared / "hc4" / "dev.topics.v1-0.jsonl", lang, translation="human")
        counts[lang] = len(topics)
        assert all("original" in topic.instructions for topic in topics)
    assert counts == {"zho": 10, "fas": 10, "rus": 4}  # dev topics with qrels, HC4's README
    topics = read_neuclir_topics(shared / "hc4" / "dev.topics.v1-0.jsonl", "zho", translation="human")
    assert topics[0].query == "小行星危害地球"


def test_heeds_own_topics_are_read_for_one_language(tmp_path: Path) -> None:
    instructions = {"original": "要", "changed": "不要"}
    chinese = {"qid": "007", "lang": "zho", "query": "一", "description": "二", "instructions": instructions}
    russian = {"qid": "NA", "lang": "rus", "query": "x", "instructions": {}}
    path = write_jsonl(tmp_path / "t.jsonl", [chinese, russian])
    assert read_topics(path, "zho", "both", "heed") == [Topic("007", "zho", "一 二", instructions)]
    assert read_topics(path, "rus", "title", "heed") == [Topic("NA", "rus", "x", {})]


def test_topics_are_chosen_by_their_language_whatever_its_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = ["zho", "zh", "zh-CN", "cmn", "zho-Hans", "rus", "de-AT"]
    path = write_jsonl(tmp_path / "t.jsonl", [{"qid": code, "lang": code, "query": "q"} for code in codes])
    assert [topic.qid for topic in read_topics(path, "zho", "title")] == codes[:5]
    assert f"{path}: 2 topics are in rus, de-AT, not in zho, and left out" in capsys.readouterr().err
    lines = ["qid\tlang\tquery", *(f"{code}\t{code}\tq" for code in codes)]
    (tmp_path / "t.tsv").write_text("\n".join(lines))
    assert [topic.qid for topic in read_topics(tmp_path / "t.tsv", "zho", "title")] == codes[:5]
    assert "t.tsv: 2 topics are in rus, de-AT, not in zho, and left out" in capsys.readouterr().err


def test_translations_of_neuclir_are_chosen_by_their_language_whatever_its_code(tmp_path: Path) -> None:
    entries = [{"lang": "zh-CN", "source": "human translation", "topic_title": "一", "topic_narrative": "二"}]
    record = {"topic_id": "3", "languages_with_qrels": ["zho"], "topics": entries, "narratives": None}
    assert neuclir(tmp_path, record) == [Topic("3", "zho", "一", {"original": "二"})]


def test_topics_in_another_language_are_an_error_that_names_theirs(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "t.jsonl", [{"qid": "1", "lang": lang, "query": "a"} for lang in ("zho", "fas")])
    with pytest.raises(HeedError, match="no topic in eng; 2 topics are in zho, fas; give lang=zho"):
        read_topics(path, "eng", "title")
    write_jsonl(path, [{"qid": "1", "lang": "chinese", "query": "a"}])
    with pytest.raises(HeedError, match="1 topic is in chinese; chinese is no code of a language; did you mean zho"):
        read_topics(path, "eng", "title")
    (tmp_path / "t.tsv").write_text("")
    with pytest.raises(HeedError, match="no topic in eng; there is none"):
        read_topics(tmp_path / "t.tsv", "eng", "title")


def test_every_bad_topic_is_told(tmp_path: Path) -> None:
    records = [{"qid": "7 8", "query": "x"}, {"qid": "a", "query": "x"}, {"qid": "a", "query": "x"}, {"qid": "b"}]
    instructions = {"c": {"reverse": "x"}, "d": {"original": ["x"]}, "e": "x"}
    records += [{"qid": qid, "query": "x", "instructions": text} for qid, text in instructions.items()]
    with pytest.raises(HeedError) as caught:
        read_topics(write_jsonl(tmp_path / "t.jsonl", records), "zho", "title", "heed")
    told = str(caught.value).splitlines()
    lines = [line.split(", line ")[1].partition(":")[0] for line in told]
    assert lines == ["1", "3", "4", "5", "6", "7"]


def test_real_tsv_topics_are_read(shared: Path) -> None:
    topics = read_topics(shared / "neuclir22" / "topics.neuclir22-zh.ht-title.txt", "zho", "title", "tsv")
    assert len(topics) == 114
    assert topics[0] == Topic("0", "zho", "伊朗女运动员难民", {})


def test_tsv_lines_without_a_query_or_repeated_are_told(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("1\tone\n2\n1\tagain\n")
    with pytest.raises(HeedError) as caught:
        read_topics(tmp_path / "t.tsv", "eng", "title", "tsv")
    assert [line.split(":")[0].split(", ")[1] for line in str(caught.value).splitlines()] == ["line 2", "line 3"]


@pytest.mark.parametrize("header", ["qid\tquery", "query_id\ttext", "query-id\tTitle", "id\ttext", "_id\tquery\ttype"])
def test_the_header_of_a_tsv_is_no_topic(tmp_path: Path, header: str) -> None:
    more = "\t" * header.count("\ttype")
    (tmp_path / "t.tsv").write_text(f"\ufeff{header}\n7\tone two{more}\n\n8\tthree{more}\n")
    topics = [Topic("7", "eng", "one two", {}), Topic("8", "eng", "three", {})]
    assert read_topics(tmp_path / "t.tsv", "eng", "title") == topics


def test_columns_of_a_tsv_are_read_by_name_or_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("qid\tdescription\tquery\tinstruction\n1\tabout\tq\tonly x\n2\tof\tr\t \n")
    first = Topic("1", "eng", "q", {"original": "only x"}, description="about")
    assert read_topics(path, "eng", "title") == [first, Topic("2", "eng", "r", {}, description="of")]
    assert [topic.query for topic in read_topics(path, "eng", "both")] == ["q about", "r of"]
    path.write_text("1\tq\n2\tr\tdropped before\n")
    with pytest.raises(
        HeedError, match=r"line 2: expected qid, a tab, and the query, or a first line that names the col"
    ):
        read_topics(path, "eng", "title")
    path.write_text("qid\tquery\tnotes\n1\tq\tn\n")
    with pytest.raises(HeedError, match="line 1: key 'notes' of the topic is not known; known are _id, text, title"):
        read_topics(path, "eng", "title")


def test_topics_of_the_web_tracks_are_read_as_ir_datasets_reads_them(tmp_path: Path) -> None:
    (tmp_path / "wt.topics").write_text("51:horse hooves\nwt09-2:map: of a river 2:1\n")

    class Local:
        @contextmanager
        def stream(self) -> Iterator[IO[bytes]]:
            with (tmp_path / "wt.topics").open("rb") as stream:
                yield stream

    theirs = [Topic(query.query_id, "eng", query.text, {}) for query in TrecColonQueries(Local()).queries_iter()]
    assert read_topics(tmp_path / "wt.topics", "eng", "title") == theirs and len(theirs) == 2
    (tmp_path / "mq.txt").write_text(
        "20001:1:obama family tree\n"
    )  # the Million Query track's second column: a priority
    with pytest.raises(HeedError, match="line 1: expected qid, a tab, and the query"):
        read_topics(tmp_path / "mq.txt", "eng", "title")


TREC = "<top>\n<num> 1\n<title> q\n</top>\n"
FORMED = {  # by the beginning, then by the name
    "t.tsv": ("1\tmap<topic_id, x>\n2\tthe <topic> tag\n3\t<top> hat\n", "tsv"),
    "queries": ("1\tmap<topic_id, x>\n", "tsv"),
    "51-100": ("51:horse hooves\n", "tsv"),
    "topics.txt": (f"Topics of 1992\n\n{TREC.upper()}", "trec"),
    "topics.xml": ('<topics><topic number="1"><query>q</query></topic></topics>', "trec"),
    "topics.gz.txt": ("\ufeff  <top><num> 1 <title> q </top>", "trec"),
    "lines.txt": ('\n{"qid": "1", "query": "a <top> b"}\n', "heed"),
    "neuclir": ('{"topic_id": "1", "topics": []}\n', "neuclir"),
}


@pytest.mark.parametrize("name", FORMED)
def test_the_form_is_known_by_beginning_and_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FORMED[name][0])
    assert recognised(tmp_path / name) == FORMED[name][1]


TEXTS_BY_QID = {"7": "solar, wind", "8": 'the "grid"'}
TABLE = 'qid,query\n7,"solar, wind"\n8,"the ""grid"""\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("queries.json", json.dumps(TEXTS_BY_QID)),  # as BEIR and MTEB have them in memory
        ("queries.json", json.dumps(TEXTS_BY_QID, indent=1)),
        ("list.json", json.dumps([{"qid": qid, "query": text} for qid, text in TEXTS_BY_QID.items()], indent=1)),
        ("lines.json", "".join(json.dumps({"qid": qid, "query": text}) + "\n" for qid, text in TEXTS_BY_QID.items())),
        ("topics.csv", TABLE),
        ("topics.csv", TABLE.partition("\n")[2]),  # without a header
    ],
)
def test_topics_as_one_object_as_a_list_and_as_csv_are_read(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    topics = read_topics(tmp_path / name, "eng", "title")
    assert {topic.qid: topic.query for topic in topics} == TEXTS_BY_QID


def test_what_is_wrong_with_such_topics_is_told(tmp_path: Path) -> None:
    for name, content, said in (
        ("a.json", '{"7": 8}', "a.json, line 1: topic 7 has no title (query)"),
        ("b.json", '{"qid": "7",\n "query": 8', "b.json, line 1: not JSON"),
        ("c.csv", "7,solar,wind\n", "c.csv, line 1: expected qid, a"),
        ("d.csv", "qid,query,instruction\n7,solar\n", "d.csv, line 2: expected qid, a"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(HeedError, match=re.escape(said)):
            read_topics(tmp_path / name, "eng", "title")


def test_a_list_in_a_cell_of_csv_keeps_its_lines(tmp_path: Path) -> None:
    narrative = "Relevant are:\n- solar plants\n- wind farms"
    (tmp_path / "t.csv").write_text(f'qid,query,instruction\n7,power,"{narrative}"\n')
    [topic] = read_topics(tmp_path / "t.csv", "eng", "title")
    assert topic.instructions == {"original": narrative}


def test_an_unknown_form_is_an_error_that_names_the_option(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 d1 1\n")
    with pytest.raises(
        HeedError,
        match="qrels: begins '1 0 d1 1', as judgements do; expected TREC's <top>, JSON lines, or .*topics_form",
    ):
        read_topics(tmp_path / "qrels", "eng", "title")
    with pytest.raises(HeedError, match="no <top>; expected TREC topics.*, or another topics_format=FORM"):
        read_topics(tmp_path / "qrels", "eng", "title", "trec")


def test_topics_of_the_rag_tracks_are_read_and_documents_are_not(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "t.jsonl", [{"id": "464", "title": "ferry accidents"}, {"id": 7, "title": "b"}])
    assert read_topics(path, "eng", "title") == [Topic("464", "eng", "ferry accidents", {}), Topic("7", "eng", "b", {})]
    with pytest.raises(HeedError, match="key 'text' of the topic is not known"):
        read_topics(write_jsonl(tmp_path / "d.jsonl", [{"id": "d1", "title": "T", "text": "x"}]), "eng", "title")


def test_a_blank_instruction_is_none(tmp_path: Path) -> None:
    blank = {"qid": "1", "query": "q", "instructions": {"original": " \n", "changed": "c", "reversed": "\u3000"}}
    mteb = {"_id": "2", "text": "q", "instruction": "\t"}
    read = read_topics(write_jsonl(tmp_path / "t.jsonl", [blank, mteb]), "eng", "title", "heed")
    assert [topic.instructions for topic in read] == [{"changed": "c"}, {}]
    record = NEUCLIR_2022 | {"topics": [dict(one) for one in NEUCLIR_2022["topics"]]}
    record["topics"][1]["topic_narrative"] = " \n"
    [topic] = neuclir(tmp_path, record)
    assert topic.instructions == {"original": "N mt"}  # as where the human narrative is missing


def test_a_condition_that_no_topic_carries_is_an_error() -> None:
    topics = [Topic("1", "zho", "q", {"original": "i"}), Topic("2", "zho", "q", {})]
    assert conditions_of(topics, []) == ["query", "original"]
    assert [topic.qid for topic in under(topics, "original")] == ["1"]
    assert [topic.qid for topic in under(topics, "query")] == ["1", "2"]
    with pytest.raises(HeedError, match="condition: found changed, but none of the 2 topics"):
        conditions_of(topics, ["changed"])


def test_query_and_instruction_are_joined_by_a_space() -> None:
    topic = Topic("1", "zho", "q", {"changed": "i"})
    assert (topic.under("query").text, topic.under("changed").text) == ("q", "q i")


def test_a_key_that_no_form_has_is_an_error_with_the_nearest_one(tmp_path: Path) -> None:
    slips = [
        {"qid": "1", "query": "q", "instruction": {"original": "o"}},
        {"qid": "3", "query": "q", "instructions": {"orginal": "o"}},
        {"qid": "4", "query": "q", "notes": ""},
        {"ids": "5", "query": "q", "lang": "fas"},  # its text is in another language, the slip is the file's
    ]
    with pytest.raises(HeedError) as error:
        read_topics(write_jsonl(tmp_path / "t.jsonl", slips), "eng", "title", "heed")
    assert [line.removeprefix(f"{tmp_path}/t.jsonl, line ") for line in str(error.value).splitlines()] == [
        "1: key 'instruction' of the topic is not known; did you mean instructions?",
        "2: key 'orginal' of instructions is not known; did you mean original?",
        "3: key 'notes' of the topic is not known; known are qid, lang, query, description, instructions, "
        "readings, type",
        "4: key 'ids' of the topic is not known; did you mean qid?",
    ]


def test_lines_of_beir_and_mteb_have_keys_of_their_own(tmp_path: Path) -> None:
    beir = {"_id": "1", "text": "q", "metadata": {"url": "u"}}
    mteb = {"_id": "2", "text": "q", "title": "", "language": "eng", "instruction": "o"}
    topics = read_topics(write_jsonl(tmp_path / "t.jsonl", [beir, mteb]), "eng", "title", "heed")
    assert topics == [Topic("1", "eng", "q", {}), Topic("2", "eng", "q", {"original": "o"})]
    slip = write_jsonl(tmp_path / "t.jsonl", [beir | {"instruction_changed": "c"}])
    with pytest.raises(HeedError, match="key 'instruction_changed' of the topic is not known; did you mean instruct"):
        read_topics(slip, "eng", "title", "heed")


def trec(path: Path, narrative: str) -> list[Topic]:
    path.write_text(f"<top>\n<num> Number: 1\n<title> T\n<narr> Narrative:\n{narrative}\n\n</top>\n", encoding="utf-8")
    return read_topics(path, "eng", "title")


def beir(path: Path, narrative: str) -> list[Topic]:
    write_jsonl(path / "queries.jsonl", [{"_id": "1", "text": "T", "instruction": narrative}])
    write_jsonl(path / "corpus.jsonl", [{"_id": "d", "text": "T"}])
    return read_topics(path, "eng", "title")


def jsonl(path: Path, narrative: str) -> list[Topic]:
    return read_topics(
        write_jsonl(path, [{"qid": "1", "query": "T", "instructions": {"original": narrative}}]), "eng", "title"
    )


def neuclir_or_hc4(path: Path, narrative: str) -> list[Topic]:
    texts = {"lang": "eng", "source": "original", "topic_title": "T", "topic_narrative": narrative}
    return read_topics(write_jsonl(path, [{"topic_id": "1", "topics": [texts]}]), "eng", "title")


@pytest.mark.parametrize(
    "read",
    [
        trec,
        beir,
        jsonl,
        neuclir_or_hc4,
        lambda _, narrative: [_topic(TrecQuery("1", "T", "", narrative), "eng", "title", TrecQuery._fields[1:])],
        lambda _, narrative: [Topic("1", "eng", "T", {"original": narrative})],
    ],
    ids=["trec", "beir", "jsonl", "neuclir", "ir_datasets", "python"],
)
def test_a_wrapped_narrative_is_put_to_systems_as_the_plain_one(
    tmp_path: Path, read: Callable[[Path, str], list[Topic]]
) -> None:
    """White space is one blank, but for empty lines and lists."""
    plain = "Cargo ships that sank in port are not relevant, nor are ferries that were late by less than an hour."
    wrapped = "\r\n  ".join(textwrap.wrap(plain, 30)).replace("sank in", "sank  in\u200b")
    [topic] = read(tmp_path / "topics", wrapped + "\n \n\nRelevant are:\n- tugs\n- rafts")
    query = topic.under("original")
    assert query.instruction == f"{plain}\n\nRelevant are:\n- tugs\n- rafts"
    assert query.text == f"T {query.instruction}"
    assert Query("1", query="T", instruction=wrapped) == Query("1", query="T", instruction=plain)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ships:\n1. tugs\nand boats\n2. rafts", "Ships:\n1. tugs and boats\n2. rafts"),
        ("Ships older than\n50. Rafts", "Ships older than 50. Rafts"),  # a number that a line happens to begin with
        ("Суда,\n— без людей,\n— не нужны.", "Суда, — без людей, — не нужны."),  # a dash within a sentence
        ("• tugs\n• rafts\nof wood", "• tugs\n• rafts of wood"),
        ("不相\n关的船，\n“大”\n船 GPS\n船", "不相关的船，“大”船 GPS 船"),
        ("烧毁的\n,一律\n不相关 ships\n, too", "烧毁的,一律不相关 ships , too"),
        ("（一）\n船\n（二）筏", "（一）船\n（二）筏"),
        ("\u2028 \x0bA\u00ad\tb\u3000c\u00a0\ufeff", "A b c"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # a half space is a letter's
        ("", ""),
    ],
)
def test_line_breaks_are_blanks_but_at_empty_lines_and_items(text: str, expected: str) -> None:
    assert paragraphs(text) == paragraphs(paragraphs(text)) == expected


TEXT = "Ferries. Leave out tugs."
READ = [[0, 7, "asked"], [19, 23, "excluded"]]


def read_with(tmp_path: Path, *readings: object) -> list[Topic]:
    records = [
        {"qid": str(number), "query": "q", "instructions": {"original": TEXT}, "readings": each}
        for number, each in enumerate(readings, 1)
    ]
    return read_topics(write_jsonl(tmp_path / "t.jsonl", records), "eng", "title")


def test_a_reading_covers_its_instruction_and_reaches_the_query(tmp_path: Path) -> None:
    read, unread, nothing = read_with(tmp_path, {"original": READ}, {}, {"original": []})
    spans = (Span(0, 7, "asked"), Span(7, 19, "neutral"), Span(19, 23, "excluded"), Span(23, 24, "neutral"))
    assert read.readings == {"original": spans}
    assert read.under("original").reading[:3:2] == spans[:3:2] and read.under("query").reading == ()
    assert unread.readings == {} and unread.under("original").reading == ()
    assert nothing.under("original").reading == (Span(0, 24, "neutral"),)  # a person found nothing in it
    assert read.instructed({"original": TEXT, "changed": TEXT}).readings == read.readings
    assert read.instructed({"original": TEXT + " Now."}).readings == {}


def test_every_fault_of_readings_is_named_with_its_line(tmp_path: Path) -> None:
    expected = "expected [start, end, kind] with {} ≤ start < end ≤ 24 and kind one of asked, excluded, neutral"
    faults = [
        (
            ["asked"],
            "topic 1: readings are ['asked'], expected an object with keywords, short, original, changed, reversed",
        ),
        ({"originl": READ}, "key 'originl' of readings is not known; did you mean original?"),
        ({"changed": READ}, "topic 3: a reading of changed, but no instruction for it"),
        ({"original": "asked"}, "topic 4: reading of original: is 'asked', expected a list of [start, end, kind]"),
        ({"original": [[0, 25, "asked"]]}, f"found [0, 25, 'asked'], {expected.format(0)}"),
        ({"original": [[3, 3, "asked"]]}, f"found [3, 3, 'asked'], {expected.format(0)}"),
        ({"original": [[0, 3, "wanted"]]}, f"found [0, 3, 'wanted'], {expected.format(0)}"),
        ({"original": [[0, 3]]}, f"found [0, 3], {expected.format(0)}"),
        ({"original": [[0, 9, "asked"], [8, 12, "asked"]]}, f"found [8, 12, 'asked'], {expected.format(9)}"),
        ({"original": [[9, 12, "asked"], [0, 3, "asked"]]}, f"found [0, 3, 'asked'], {expected.format(12)}"),
        ({"original": [[0.0, 3, "asked"]]}, f"found [0.0, 3, 'asked'], {expected.format(0)}"),
    ]
    with pytest.raises(HeedError) as error:
        read_with(tmp_path, *(readings for readings, _ in faults))
    lines = str(error.value).splitlines()
    assert len(lines) == len(faults)
    for number, ((_, message), line) in enumerate(zip(faults, sorted(lines, key=line_number), strict=True), 1):
        assert line.startswith(f"{tmp_path}/t.jsonl, line {number}: ")
        assert message in line


def line_number(line: str) -> int:
    return int(line.partition(", line ")[2].partition(":")[0])


@st.composite
def topics_read_by_people(draw: st.DrawFn) -> Topic:
    instructions, readings = {}, {}
    for condition in draw(st.sets(st.sampled_from(["original", "changed", "reversed"]))):
        text = draw(st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip))
        ends = sorted({*draw(st.sets(st.integers(1, len(text)))), len(text)})
        instructions[condition] = text
        readings[condition] = tuple(
            Span(start, end, draw(st.sampled_from(KINDS))) for start, end in zip([0, *ends], ends, strict=False)
        )
    return Topic("1", "eng", "query", instructions, readings=readings)


@given(topic=topics_read_by_people())
def test_readings_are_the_same_after_writing(tmp_path_factory: pytest.TempPathFactory, topic: Topic) -> None:
    record = {"qid": "1", "query": "query", "instructions": topic.instructions, "readings": readings_of(topic)}
    assert read_topics(write_jsonl(tmp_path_factory.getbasetemp() / "t.jsonl", [record]), "eng", "title") == [topic]
    stored = StoredTopic(*topic[:6], topic.readings)
    assert msgspec.json.decode(msgspec.json.encode(stored), type=StoredTopic).topic() == topic


@given(topic=topics_read_by_people())
def test_readings_are_of_the_same_letters_whatever_the_white_space(topic: Topic) -> None:
    for condition, spans in topic.readings.items():
        text = topic.instructions[condition]
        query = topic.under(condition)
        for kind in KINDS:
            before = "".join(text[span.start : span.end] for span in spans if span.kind == kind)
            after = "".join(query.instruction[span.start : span.end] for span in query.reading if span.kind == kind)
            assert "".join(UNSEEN.sub("", before).split()) == "".join(after.split())


def test_documents_in_place_of_topics_are_one_problem(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", [{"id": f"d{number}", "title": "a", "body": "b"} for number in range(9)])
    with pytest.raises(HeedError, match="; the same in 9 lines: 1, 2, 3, 4, 5, …") as caught:
        read_topics(tmp_path / "t.jsonl", "eng", "title")
    assert "key 'body' of the topic is not known" in str(caught.value) and "\n" not in str(caught.value)
