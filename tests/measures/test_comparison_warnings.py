"""What makes a pairwise figure meaningless or weak: each said in one line, and in the JSON."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import pytrec_eval
from conftest import Heed, write_jsonl

from heed.formats.run_formats import read_any_run
from heed.measures.comparison import warn_of_depths, warn_of_single_precision
from heed.progress import gathering

ORDER = "abcdefghij"
QRELS = "".join(f"{qid} 0 {docid} 1\n" for qid in "123" for docid in "abc")
NEW_QRELS = "".join(f"{qid} 0 {docid} {docid == 'b':d}\n" for qid in "123" for docid in "abc")


def write(path: str, lists: Mapping[str, Sequence[str]], scores: Sequence[float] = ()) -> None:
    scores = scores or [-float(rank) for rank in range(20)]
    Path(path).write_text(
        "".join(
            f"{qid} Q0 {docid} {rank} {scores[rank - 1]!r} t\n"
            for qid, docids in lists.items()
            for rank, docid in enumerate(docids, 1)
        )
    )


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("base.run", dict.fromkeys("123", ORDER))
    write("new.run", dict.fromkeys("123", ORDER[::-1]))
    Path("q").write_text(QRELS)
    Path("n").write_text(NEW_QRELS)
    return tmp_path


def compared(heed: Heed, *arguments: object) -> list[str]:
    """Return the warnings of the command, which are on stderr and in its JSON."""
    result = heed("pipelines.compare", *arguments, "--json", "c.json", "--quiet")
    assert result.returncode == 0, result.stderr
    warnings = json.loads(Path("c.json").read_text())["warnings"]
    assert result.stderr.splitlines() == [f"warning: {one}" for one in warnings]
    return warnings


PAIR = ("--qrels", "q", "--new-qrels", "n")
NOT_SEEN = "in neither list, and what happens to them is not seen; deeper lists would show it"


def one_sided(alone: int, documents: int) -> str:
    counted = f"{alone} of its {documents} documents ({alone / documents:.0%}) are in one of the two lists only"
    return f"p-MRR: {counted}: are both lists deep enough, and their ids written in the same way?"


def test_a_sound_comparison_has_no_warnings(heed: Heed) -> None:
    assert compared(heed, "base.run", "new.run", *PAIR) == []


def test_ranks_that_contradict_the_scores(heed: Heed) -> None:
    write("distances.run", dict.fromkeys("123", ORDER), [float(rank) for rank in range(20)])
    write("constant.run", dict.fromkeys("123", ORDER), [1.0] * 20)
    decide = "the scores decide, highest first, as in trec_eval; distances must be negated"
    lost = "their order is lost, the docids decide, as in trec_eval"
    assert compared(heed, "distances.run", "constant.run", *PAIR) == [
        f"distances.run: ranks contradict scores in 3 of 3 topics (1, 2, 3): {decide}",
        f"constant.run: one score for all documents in 3 of 3 topics (1, 2, 3): {lost}",
    ]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n", ""),
        ("1 Q0 b 2 1 t\n2 Q0 a 1 1 t\n1 Q0 a 1 2 t\n", ""),  # shuffled lines
        ("1 Q0 b 2 2 t\n2 Q0 a 1 1 t\n1 Q0 a 1 1 t\n", "in 1 of 2 topics (1)"),
        ("1 Q0 a 0 2 t\n1 Q0 b 0 3 t\n", ""),  # ranks that are all alike say nothing
        ("1 Q0 a x 2 t\n1 Q0 b y 3 t\n", ""),
        ("1 Q0 a 1 2 t\n1 Q0 b 2 2 t\n1 Q0 c 3 1 t\n", ""),  # a tie is no contradiction
        ("1 Q0 a 1 2 t\n1 Q0 b 1 3 t\n1 Q0 c 2 2.5 t\n", "in 1 of 1 topics (1)"),  # a before c, with less
        ("1 Q0 a 1 2 t\n", ""),
    ],
)
def test_when_ranks_contradict_scores(lines: str, said: str) -> None:
    Path("a.run").write_text(lines)
    with gathering([]) as warnings:
        read_any_run(Path("a.run"))
    assert [said] == [one.partition("scores ")[2].partition(":")[0] for one in warnings] if said else not warnings


def test_the_order_of_rank_llm_results_is_a_ranking() -> None:
    candidates = [{"docid": "a", "score": 1.0}, {"docid": "b", "score": 2.0}]
    Path("r.json").write_text(json.dumps([{"query": {"qid": "1"}, "candidates": candidates}]))
    with gathering([]) as warnings:
        read_any_run(Path("r.json"))
    assert warnings[0].startswith("r.json: ranks contradict scores in 1 of 1 topics (1)")


def test_documents_that_the_new_condition_leaves_open_are_counted_by_topic(heed: Heed) -> None:
    # topic 1 has no line of c, 2 has it with -1, 3 judges all
    lines = NEW_QRELS.replace("1 0 c 0\n", "").replace("2 0 c 0\n", "2 0 c -1\n")
    Path("n").write_text(lines)
    said = "2 relevant documents are not judged under the new condition (topic 1: 1, 2: 1): neither ruled out nor kept"
    assert compared(heed, "base.run", "new.run", *PAIR) == [said]
    assert json.loads(Path("c.json").read_text())["not_judged"] == {"1": 1, "2": 1}
    # a falls from 1 to 10, c from 3 to 8
    values = json.loads(Path("c.json").read_text())["per_topic"]["p-MRR"]
    assert values == pytest.approx({"1": 1 - 1 / 10, "2": 1 - 1 / 10, "3": (1 - 1 / 10 + 1 - 3 / 8) / 2})
    told = heed("pipelines.compare", "base.run", "new.run", *PAIR).stderr
    assert "n: negative grades (-1) are not judged, as in trec_eval" in told
    assert compared(heed, "base.run", "new.run", *PAIR, "--variant", "released") == []
    write_jsonl(Path("d"), [{"query-id": qid, "corpus-ids": ["a"]} for qid in "123"])
    assert compared(heed, "base.run", "new.run", *PAIR, "--qrel-diff", "d") == []
    Path("n").write_text("1 0 b -1\n2 0 b 1\n2 0 a -1\n2 0 c -1\n")
    assert compared(heed, "base.run", "new.run", *PAIR)[:2] == [
        "5 relevant documents are not judged under the new condition (topic 1: 3, 2: 2): neither ruled out nor kept",
        "no p-MRR: no document is known to have lost its relevance",
    ]


def test_judgements_that_are_exchanged_or_the_same(heed: Heed) -> None:
    exchanged = ("base.run", "new.run", "--qrels", "n", "--new-qrels", "q")
    # of a b c in three topics only b was relevant before
    said = "no p-MRR: no document lost its relevance, 6 gained it: are the judgements exchanged?"
    assert compared(heed, *exchanged) == [said]
    same = ("base.run", "new.run", "--qrels", "q", "--new-qrels", "q")
    assert compared(heed, *same) == [
        "no p-MRR: the judgements for both runs are the same; give those under the new instruction"
    ]
    Path("n").write_text("".join(f"{qid} 0 {docid} 2\n" for qid in "123" for docid in "abc"))
    assert compared(heed, "base.run", "new.run", *PAIR) == ["no p-MRR: no document is known to have lost its relevance"]


def test_ids_of_another_collection(heed: Heed) -> None:
    said = "none of the 3 judged documents is in any list{}: are its ids those of another collection?"
    write("foreign.run", dict.fromkeys("123", "qrstuvwxyz"))
    write("foreign2.run", dict.fromkeys("123", "zyxwvutsrq"))
    assert compared(heed, "base.run", "foreign.run", *PAIR) == [said.format(" of the new run"), one_sided(6, 6)]
    unseen = "p-MRR: 6 of its 6 documents (100%) are in neither list, and what happens to them is not seen"
    assert compared(heed, "foreign.run", "foreign2.run", *PAIR) == [
        said.format(""),
        f"{unseen}; deeper lists would show it",
        f"p-MRR kept: 3 of its 3 documents (100%) are {NOT_SEEN}",
    ]


def test_lists_of_different_depth(heed: Heed) -> None:
    write("short.run", dict.fromkeys("123", "bdefg"))
    warnings = compared(heed, "base.run", "short.run", *PAIR)
    assert warnings == [
        "lists of different depth: 10 in the base run, 5 in the new run (median documents a topic)",
        one_sided(6, 6),
    ]


@pytest.mark.parametrize(
    ("base", "new", "said"),
    [
        ([10, 10, 10], [5, 5, 5], True),
        ([9, 7, 10], [5, 5, 5], True),
        ([10, 10, 10], [10, 10, 10], False),
        ([10, 10, 10], [4, 7, 2], False),  # the query found no more
        ([10, 10, 4], [10, 10, 7], False),
        ([10], [5], False),
        ([10, 10, 3, 3], [5, 5, 5, 5], False),
    ],
)
def test_lists_that_end_by_themselves_are_not_cut(base: list[int], new: list[int], said: bool) -> None:
    runs = {
        name: {str(qid): dict.fromkeys(ORDER[:length], 1.0) for qid, length in enumerate(lengths)}
        for name, lengths in (("base", base), ("new", new))
    }
    with gathering([]) as warnings:
        warn_of_depths(runs)
    assert bool(warnings) is said


def near_run(step: float) -> None:
    """Write base.run with scores of 1 and a little more; the first document is the last by docid."""
    lines = [f"{qid} Q0 {docid} 1 {1 + step * (10 - rank)!r} t\n" for qid in "123" for rank, docid in enumerate(ORDER)]
    Path("base.run").write_text("".join(lines))


def test_scores_that_differ_beyond_single_precision(heed: Heed) -> None:
    near_run(1e-9)
    said = "decide in 3 of 3 topics of base: trec_eval takes them for ties, and its figures differ"
    assert any(warning.endswith(said) for warning in compared(heed, "base.run", "new.run", *PAIR))
    near_run(1e-6)  # 2**-23 is 1.2e-7
    assert not any("precision" in warning for warning in compared(heed, "base.run", "new.run", *PAIR))


def test_scores_beyond_single_precision_matter_where_grades_change_places() -> None:
    run = {
        "1": {"a": 1 + 2e-9, "b": 1 + 1e-9, "c": 0.5},
        "2": {"b": 1 + 2e-9, "a": 1 + 1e-9},
        "3": {"a": 1e300, "b": 1.0},
    }
    qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1}, "3": {"a": 1}}
    with gathering([]) as warnings:
        warn_of_single_precision({"mine.query": (run, qrels)})
        warn_of_single_precision({"mine.query": (run, {"1": {"a": 1, "b": 1}, "2": {}})})  # one grade, or none
    assert warnings == [
        "scores that differ only beyond single precision decide in 1 of 3 topics of mine.query: trec_eval takes "
        "them for ties, and its figures differ"
    ]
    by_double = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
    assert {qid: values["recip_rank"] for qid, values in by_double.items()} == {"1": 0.5, "2": 0.5, "3": 1.0}


def test_the_same_run_twice(heed: Heed) -> None:
    Path("copy.run").write_bytes(Path("base.run").read_bytes())
    said = "both runs hold the same lists and scores: the same run twice, or a system that reads no instruction"
    assert compared(heed, "base.run", "copy.run", *PAIR) == [said]
    said = "runs base.run and copy.run hold the same lists and scores"
    few = "so few topics can show no difference of so many systems: p is 0.50 at least"
    assert compared(heed, "copy.run", "new.run", "--qrels", "q", "--baseline", "base.run") == [said, few]


def test_topics_that_only_one_run_has(heed: Heed) -> None:
    write("few.run", {"1": ORDER[::-1]})
    said = "2 judged topics are not in the new run and count 0 in its means: 2, 3"
    assert compared(heed, "base.run", "few.run", *PAIR) == [said]


def test_the_share_of_documents_in_neither_list_stands_beside_the_figure(heed: Heed) -> None:
    # a and c are lost. Topic 1: a is in the base list, c in neither; 2: each in one list; 3: both in neither
    write("base.run", {"1": "axy", "2": "axy", "3": "xyv"})
    write("new.run", {"1": "bxy", "2": "ycb", "3": "yvb"})
    warnings = compared(heed, "base.run", "new.run", *PAIR, "--corpus-size", 9)
    found = json.loads(Path("c.json").read_text())["measures"]
    assert found["p-MRR"]["in_neither"] == pytest.approx((1 / 2 + 0 + 1) / 3)
    # with b, which stays relevant and is in every new list: 1 of 3, 0 of 3, 2 of 3
    assert found["IRS"]["in_neither"] == pytest.approx((1 / 3 + 0 + 2 / 3) / 3)
    assert "in_neither" not in found["AP new"]
    # topic 1: a of a and c; 2: both; 3: none
    assert found["p-MRR"]["in_one_only"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert warnings == [
        one_sided(3, 6),
        f"p-MRR: 3 of its 6 documents (50%) are {NOT_SEEN}",
        f"IRS: 3 of its 9 documents (33%) are {NOT_SEEN}",
    ]


def test_wise_and_sicr_count_documents_that_are_in_none_of_three_lists(heed: Heed) -> None:
    write("base.run", dict.fromkeys("123", "axy"))
    write("new.run", {"1": "bxy", "2": "ycx", "3": "yva"})
    write("reversed.run", {"1": "yxa", "2": "ybx", "3": "yav"})
    warnings = compared(heed, "base.run", "new.run", "reversed.run", *PAIR)
    found = json.loads(Path("c.json").read_text())["measures"]
    # b stays relevant: in the new list of topic 1, in the reversed of 2, in none of 3
    assert found["WISE"]["in_neither"] == found["SICR"]["in_neither"] == pytest.approx(1 / 3)
    assert "SICR: 1 of its 3 documents (33%) are in none of the three lists" in warnings[-1]


def tagged(path: str, tag: str) -> str:
    """Write the base list, or its reverse where ``path`` is of the new run, with ``tag``."""
    docids = ORDER if path.startswith("base") else ORDER[::-1]
    Path(path).write_text("".join(f"{qid} Q0 {d} {n} {-n} {tag}\n" for qid in "123" for n, d in enumerate(docids, 1)))
    return path


EXCHANGED = "by their tags, …{} and …{}, the base run and the new one look exchanged"
TWO = "by their tags, runs of two systems, {} and {}"


@pytest.mark.parametrize(
    ("base", "new", "said"),
    [
        ("bm25-original", "bm25-changed", []),
        ("bm25-query", "bm25-original", []),
        ("bm25-changed", "bm25-original", [EXCHANGED.format("changed", "original")]),
        ("bm25.new", "bm25.og", [EXCHANGED.format("new", "og")]),
        ("bm25-original", "mm-changed", [TWO.format("bm25", "mm")]),
        ("mm_changed", "bm25_og", [EXCHANGED.format("changed", "og"), TWO.format("mm", "bm25")]),
        ("bm25", "mm", []),  # no condition in their names: other tools tag a run as they like
        ("bm25-original", "anserini", []),
    ],
)
def test_runs_that_are_exchanged_or_of_two_systems_by_their_tags(
    heed: Heed, base: str, new: str, said: list[str]
) -> None:
    files = tagged("base.run", base), tagged("new.run", new)
    assert compared(heed, *files, *PAIR) == [f"base.run and new.run: {one}" for one in said]


def test_renamed_documents_are_no_progress(heed: Heed) -> None:
    """Every second docid of the new run renamed: p-MRR rises, since these documents seem to fall behind the list."""
    docids = [docid if place % 2 else f"x{docid}" for place, docid in enumerate("abcdefghij")]
    write("same.run", dict.fromkeys("123", ORDER), [-float(rank) / 2 for rank in range(20)])
    write("renamed.run", dict.fromkeys("123", docids))
    assert compared(heed, "base.run", "same.run", *PAIR) == []
    assert json.loads(Path("c.json").read_text())["measures"]["p-MRR"]["mean"] == 0
    # a and c, which nobody needs any longer, are xa and xc in the new run
    assert compared(heed, "base.run", "renamed.run", *PAIR) == [one_sided(6, 6)]
    found = json.loads(Path("c.json").read_text())["measures"]["p-MRR"]
    assert found["mean"] == pytest.approx((1 - 1 / 11 + 1 - 3 / 11) / 2)
    assert (found["in_neither"], found["in_one_only"]) == (0, 1)


def test_the_judgements_that_p_mrr_and_selectivity_need_are_named(heed: Heed) -> None:
    need = "no p-MRR and no selectivity: they need judgements for both runs; give"
    advice = "of two systems, give --baseline base.run; of two instructions, give --new-qrels"
    assert compared(heed, "base.run", "new.run", "--qrels", "q") == [
        f"2 runs, and no difference between them: {advice}"
    ]
    found = json.loads(Path("c.json").read_text())["measures"]  # of both runs
    assert [*found][:2] == ["nDCG@20 base.run", "Judged@20 base.run"] and "AP new.run" in found
    assert compared(heed, "base.run", "new.run", "--new-qrels", "n") == [f"{need} --qrels"]
    Path("diff").write_text('{"query-id": "1", "corpus-ids": ["a"]}\n')
    said = "no selectivity: it needs judgements for both runs; give --qrels and --new-qrels"
    assert compared(heed, "base.run", "new.run", "--qrel-diff", "diff") == [said]


def test_a_changed_instruction_that_is_the_original_one(heed: Heed) -> None:
    changed = {"1": "Only ferries.", "2": "No ferries.", "3": "Only\nferries."}
    instructions = {qid: {"original": "Only  ferries.", "changed": text} for qid, text in changed.items()}
    topics = [{"qid": qid, "lang": "eng", "query": "ferry", "instructions": instructions[qid]} for qid in changed]
    documents = [{"id": docid, "text": f"ferry {docid}"} for docid in ORDER]
    given = ("--docs", write_jsonl(Path("docs.jsonl"), documents), "--topics", write_jsonl(Path("t.jsonl"), topics))
    said = "the changed instruction is the original one in 2 of 3 topics: 1, 3"
    judged = ("--qrels", "q", "--changed-qrels", "n", "--retriever", "bm25", "--reranker", "none")
    result = heed("pipelines.trec", *given, *judged, "--quiet", "--json", "s.json")
    assert result.stderr.splitlines().count(f"warning: {said}") == 1, result.stderr
    assert said in json.loads(Path("s.json").read_text())["warnings"]
    result = heed("pipelines.rerank", "base.run", *given, "--reranker", "polarity", "--out", "o.run", "--quiet")
    assert result.stderr == f"warning: {said}\n"
