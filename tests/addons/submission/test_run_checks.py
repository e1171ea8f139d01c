"""One planted fault is one problem, at its line; clean runs have none; what runs are held against."""

import gzip
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, write_jsonl
from hypothesis import given
from hypothesis import strategies as st
from planted_faults import (
    FAULTS,
    OF_2022,
    OF_MLIR,
    QIDS,
    RERANK,
    RULES,
    TAG,
    Fault,
    clean,
    collection,
    everywhere,
    problems,
    put,
    uuid,
)

from heed.addons.submission.expected import CollectionIds, Rules, expected_topics, read_collection_ids
from heed.addons.submission.run_checks import check_run
from heed.addons.submission.tracks import TRACKS, parse_name, tag_problems
from heed.errors import HeedError
from pipelines.check import main


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_one_planted_fault_is_one_problem_at_its_line(tmp_path: Path, fault: Fault) -> None:
    checked = check_run(fault.write(tmp_path), fault.rules)
    assert problems(checked) == [(fault.line, fault.kind, fault.severity)]
    (told,) = checked.report.messages(fault.severity)
    place = f", line {fault.line}: " if fault.line else ": "
    assert told.startswith(f"{checked.path}{place}")
    assert fault.said in told


def test_each_kind_of_fault_is_planted() -> None:
    source = "".join(
        (ROOT / "heed/addons/submission" / f"{name}.py").read_text() for name in ("run_checks", "run_report")
    )
    kinds = set(re.findall(r'report\.(?:error|warning|add)\([^"]*"([a-z0-9-]+)",', source))
    assert {fault.kind for fault in FAULTS} == kinds - {"same-tag"}  # which takes two runs
    assert len(kinds) == 38


@pytest.mark.parametrize(
    ("rules", "tag"),
    [
        (RULES, TAG),
        (RULES, "zho-TEAM3-1ET_translated"),
        (RULES, "zho-TEAM3-ESDH_fused"),
        (replace(RULES, topics=None, team="", file_name=""), "mlir-TEAM3-DEAT_MyAmazingRun"),  # the guidelines' own
        (OF_MLIR, "mlir-TEAM3-x"),
        (OF_2022, "TEAM3_bm25.zh"),
        (replace(RULES, track=TRACKS["trec"], topics=None), "bm25-original"),
        (replace(RULES, collection=collection("zho", "zho", "zho")), TAG),
        (RERANK, "zho-TEAM3-2A_x"),
    ],
)
def test_the_clean_run_has_no_problem(tmp_path: Path, rules: Rules, tag: str) -> None:
    (tmp_path / tag).write_text("".join(clean(tag=tag)))
    checked = check_run(tmp_path / tag, rules)
    assert problems(checked) == []
    assert (checked.tag, checked.lines, checked.topics) == (tag, 12, dict.fromkeys(QIDS, 4))


def test_tabs_and_gzip_are_no_faults(tmp_path: Path) -> None:
    lines = [line.replace(" ", "\t ") for line in clean()]
    (tmp_path / f"{TAG}.gz").write_bytes(gzip.compress("".join(lines).encode()))
    checked = check_run(tmp_path / f"{TAG}.gz", RULES)
    assert problems(checked) == []


# Names that NIST took in 2023, by its list of that year's runs (pages.nist.gov/trec-browser, NeuCLIR 2023)
TAKEN = [
    "fas-CIIR-ANEH-NativeFuisonTrec23",
    "tech-AI2-1DEAT-Specter2Title",
    "fas-h2oloo-A1NETHP_BM25sSplades",
    "fas-h2oloo-A_frgpt4",
    "mlir-h2oloo-A_RERANKBM25sSplades",
    "tech-h2oloo-A1CNL_SpladeNeuclirqt",
    "zho-h2oloo-A1NETSC_BM25s",
    "fas-hltcoe-MNED-PLAID_shard_by_date_1bit_v1_tt",
    "rus-hltcoe-HEMN2-mT5gt-td",
    "tech-hltcoe-2MNEH-rerank_mt5gt_td",
    "zho-ISI_SEARCHER-ANE_run1",
    "tech-ISI_SEARCHER-ANE_run_tech_rr_combine_td",
    "fas-umd_hcil-AELN_blade",
    "mlir-CIIR-LATE-SPLADE",
    "tech-h2oloo-A_EverythingRun_fRR",
    "zho-hltcoe-MNCS-patapscoBM25noRM3title",
    "rus-h2oloo-A1RNL_spladeqt",
]


@pytest.mark.parametrize("tag", TAKEN)
def test_names_that_nist_took_are_no_errors(tag: str) -> None:
    found = [*tag_problems(tag, TRACKS["neuclir-2023"], tag.split("-")[1])]
    assert [message for severity, message in found if severity == "error"] == []


def test_a_name_has_its_parts() -> None:
    assert parse_name("tech-ISI_SEARCHER-ANE_run_1") == ("tech", "ISI_SEARCHER", "ANE", "ANE_run_1")
    assert parse_name("zho-a-b-1C_x", team="a-b") == ("zho", "a-b", "1C", "1C_x")
    assert parse_name("fas-hltcoe-MNED-plaid_v1").letters == ""
    assert parse_name("rus-TEAM3-MyOutrageousRun").letters == ""


def test_a_damaged_line_hides_no_later_fault(tmp_path: Path) -> None:
    lines = put(12, 4, "9")(put(7, 5, "8")(put(2, 3, "")(clean())))
    (tmp_path / TAG).write_text("".join(lines))
    found = [(2, "fields", "error"), (7, "score-order", "error"), (12, "rank-order", "error")]
    assert problems(check_run(tmp_path / TAG, RULES)) == found


def test_problems_beyond_the_limit_are_counted(tmp_path: Path) -> None:
    lines = everywhere(2, "0")(put(7, 3, "doc")(clean()))
    (tmp_path / TAG).write_text("".join(lines))
    report = check_run(tmp_path / TAG, replace(RULES, limit=3)).report
    assert report.kinds("error") == {"docid": 1, "q0": 12}
    told = report.messages("error")
    assert [line.split(":")[0].removeprefix(f"{tmp_path / TAG}, ") for line in told[:4]] == [
        "line 1",
        "line 2",
        "line 3",
        "line 7",
    ]
    assert told[4:] == [f"{tmp_path / TAG}: … and 9 more of the kind q0; a greater limit shows more"]


def test_a_message_stays_short(tmp_path: Path) -> None:
    (tmp_path / TAG).write_text("".join(put(4, 3, "x" * 100_000)(clean())))
    (told,) = check_run(tmp_path / TAG, RULES).report.messages("error")
    assert len(told) < 800
    assert told.endswith("write the collection's own ids")


def test_a_run_sorted_by_rank_is_read_to_its_end(tmp_path: Path) -> None:
    lines = sorted(clean(), key=lambda line: int(line.split()[3]))
    lines[-1] = lines[-1].replace(uuid(75), uuid(78))
    (tmp_path / TAG).write_text("".join(lines))
    checked = check_run(tmp_path / TAG, RULES)
    assert checked.report.kinds("error") == {"contiguity": 9, "duplicate": 1}
    assert "again in topic 202, first at line 3" in "".join(checked.report.messages("error"))


def test_topics_come_in_every_form(tmp_path: Path) -> None:
    heed = [
        {"qid": "1", "lang": "zho", "query": "a", "instructions": {"changed": "b"}},
        {"qid": "2", "lang": "eng", "query": "c"},
    ]
    write_jsonl(tmp_path / "heed.jsonl", heed)
    texts = [{"lang": "eng"}, {"lang": "fas"}]
    write_jsonl(tmp_path / "neuclir.jsonl", [{"topic_id": qid, "topics": texts} for qid in "12"])
    (tmp_path / "topics.tsv").write_text("1\ta\n2\tb c\n")
    (tmp_path / "topics.xml").write_text("<top>\n<num> 1\n<title> a\n</top>\n<top>\n<num> 2\n<title> b\n</top>\n")
    (tmp_path / "ids.txt").write_text("1\n2\n")
    write_jsonl(tmp_path / "rag.jsonl", [{"id": qid, "title": "a"} for qid in "12"])
    (tmp_path / "web").write_text("1:a\n2:b c\n")
    found = {path.name: expected_topics(path) for path in tmp_path.iterdir()}
    assert {name: sorted(topics) for name, topics in found.items()} == {name: ["1", "2"] for name in found}
    assert expected_topics(tmp_path / "heed.jsonl", "changed") == {"1"}
    with pytest.raises(HeedError, match="no topic under condition reversed"):
        expected_topics(tmp_path / "heed.jsonl", "reversed")
    with pytest.raises(HeedError, match="a list of topics, which has no conditions"):
        expected_topics(tmp_path / "ids.txt", "changed")
    write_jsonl(tmp_path / "neuclir.jsonl", [{"topic_id": "1"}, {"topic_id": None}])
    with pytest.raises(HeedError, match="line 2: topic_id is None, expected a word"):
        expected_topics(tmp_path / "neuclir.jsonl")


def test_the_form_of_topics_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "topics").write_text("one\tq\ntwo\tr\n")
    (tmp_path / "a.run").write_text("one Q0 a 1 1.0 t\ntwo Q0 a 1 1.0 t\n")
    given = [str(tmp_path / "a.run"), "--topics", str(tmp_path / "topics"), "--topics-format"]
    assert main([*given, "tsv"]) == 0
    assert main([*given, "trec"]) == 1 and "no <top>; expected TREC topics" in capsys.readouterr().err


def test_the_bare_queries_of_tables_are_topics_of_their_own() -> None:
    path = ROOT / "topics" / "tables-sample" / "eng.jsonl"
    bare, asked = expected_topics(path, "query"), expected_topics(path, "original")
    assert "1" in bare and "1_0" in asked
    assert not bare & asked
    assert bare | asked == expected_topics(path)


def test_topics_of_all_languages_are_expected(tmp_path: Path) -> None:
    codes = ["zho", "zh", "zh-CN", "rus", "de-AT"]
    path = write_jsonl(tmp_path / "t.jsonl", [{"qid": code, "lang": code, "query": "q"} for code in codes])
    assert expected_topics(path) == {*codes}
    both = write_jsonl(tmp_path / "two.jsonl", [{"qid": "1", "lang": lang, "query": "q"} for lang in ("zho", "rus")])
    assert expected_topics(both) == {"1"}, "one topic in two languages"


def test_hc4_topics_are_read(shared: Path) -> None:
    assert len(expected_topics(shared / "hc4" / "dev.topics.v1-0.jsonl")) == 15  # HC4's README: 15 topics in dev


def test_a_collection_is_known_by_language(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "zho.jsonl", [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}])
    (tmp_path / "rus.txt").write_text("c\nd\n\nc\n")
    found = read_collection_ids([f"zho={tmp_path / 'zho.jsonl'}", f"rus={tmp_path / 'rus.txt'}"])
    assert len(found) == 4
    assert [found.language(docid) for docid in "abcde"] == ["zho", "zho", "rus", "rus", None]
    assert read_collection_ids([str(tmp_path / "zho.jsonl")]).language("a") == ""
    write_jsonl(tmp_path / "zho.json", [{"id": "a", "text": "x"}])  # documents, whatever the suffix
    assert read_collection_ids([str(tmp_path / "zho.json")]).language("a") == ""
    for text, said in (("a b\n", "line 1: found 'a b', expected one docid a line"), ("\n", "no document in it")):
        (tmp_path / "bad.txt").write_text(text)
        with pytest.raises(HeedError, match=said):
            read_collection_ids([str(tmp_path / "bad.txt")])


@given(st.sets(st.text(min_size=1, max_size=6)), st.sets(st.text(min_size=1, max_size=6)))
def test_members_are_those_and_no_others(inside: set[str], outside: set[str]) -> None:
    found = CollectionIds()
    found.add(inside, "zho")
    assert all(found.language(docid) == "zho" for docid in inside)
    assert all(found.language(docid) is None for docid in outside - inside)


def many(path: Path, topics: int) -> None:
    """Topics of 1000 documents each."""
    docids = [[uuid(topic * 1000 - rank) for rank in range(1, 1001)] for topic in range(1, topics + 1)]
    with path.open("w") as stream:
        for topic, listed in enumerate(docids, 1):
            stream.writelines(
                f"{topic} Q0 {one} {rank} {-rank / 8} {path.name}\n" for rank, one in enumerate(listed, 1)
            )


def test_fifty_thousand_lines_take_less_than_a_second(tmp_path: Path) -> None:
    many(tmp_path / "zho-TEAM3-a", 50)
    started = time.process_time()
    assert check_run(tmp_path / "zho-TEAM3-a", replace(RULES, topics=None)).lines == 50_000
    assert time.process_time() - started < 1
