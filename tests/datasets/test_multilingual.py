"""One ranked list over documents in several languages: merged by hand, from files of one's own, on the sample."""

import json
import math
import random
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from hypothesis import given
from hypothesis import strategies as st

from heed.data import Data
from heed.datasets.collection import Collection
from heed.datasets.loading import find_collections
from heed.errors import UsageError
from heed.experiment.merged_runs import merge
from heed.formats.trec_files import read_run
from heed.ranking import ranked
from heed.types import subtopics_of

OTHERS = {"zho": "明天下雨", "fas": "بازار نفت", "rus": "футбольный матч"}
TEXTS = {"zho": "火山 爆发", "fas": "فوران آتشفشان", "rus": "извержение вулкана"}
LISTS = st.dictionaries(st.sampled_from([f"d{number}" for number in range(6)]), st.floats(-1e6, 1e6), max_size=6)


def test_lists_are_merged_by_scores_of_one_range() -> None:
    # the first list becomes 1, 1/4, 0, the second 1, 0; at 1 and at 0 docids decide, descending
    zho, fas = {"1": {"z1": 9.0, "z2": 6.0, "z3": 5.0}}, {"1": {"f1": 0.2, "f2": 0.1}, "2": {"f3": 7.0}}
    merged = merge([zho, fas], "score", 10)
    assert merged == {"1": {"z1": 1.0, "f1": 1.0, "z2": 0.25, "z3": 0.0, "f2": 0.0}, "2": {"f3": 1.0}}
    assert list(merged["1"]) == ["z1", "f1", "z2", "z3", "f2"]
    assert list(merge([zho, fas], "score", 3)["1"]) == ["z1", "f1", "z2"]


def test_lists_are_merged_by_rank() -> None:
    zho, fas = {"1": {"z1": 9.0, "z2": 6.0, "a3": 5.0}}, {"1": {"f1": 0.2, "f2": 0.1}}
    merged = merge([zho, fas], "rank", 10)["1"]
    assert merged == {"z1": 1.0, "f1": 1.0, "z2": 1 / 2, "f2": 1 / 2, "a3": 1 / 3}
    assert ranked(merged) == ["z1", "f1", "z2", "f2", "a3"]
    with pytest.raises(UsageError, match="merge: found 'sum', expected one of score, rank"):
        merge([zho], "sum", 10)


@given(LISTS, LISTS, st.sampled_from(["score", "rank"]), st.randoms())
def test_the_order_of_lists_and_lines_changes_nothing(
    first: dict[str, float], second: dict[str, float], rule: str, chooser: random.Random
) -> None:
    one, other = {f"z-{docid}": score for docid, score in first.items()}, {f"r-{d}": s for d, s in second.items()}
    shuffled = list(one.items())
    chooser.shuffle(shuffled)
    merged = merge([{"1": one}, {"1": other}], rule, 100)["1"]
    again = merge([{"1": other}, {"1": dict(shuffled)}], rule, 100)["1"]
    assert list(merged.items()) == list(again.items())
    assert all(-1e-300 <= score <= 1 for score in merged.values())
    # each list keeps its order; only equal scores, and none but them, are equal in the whole
    assert [docid for docid in ranked(merged) if docid in other] == ranked(other)
    assert len({merged[docid] for docid in other}) == len(set(other.values()) if rule == "score" else other)


def uuid(lang: str, number: int) -> str:
    """Return a docid of NeuCLIR's form."""
    return f"{['zho', 'fas', 'rus'].index(lang):08d}-0000-0000-0000-{number:012d}"


@pytest.fixture
def news(tmp_path: Path) -> Path:
    """Two documents in each language, a topic in all, NeuCLIR's judgements of all three."""
    lines = []
    for lang, text in TEXTS.items():
        documents = [{"id": uuid(lang, 1), "text": text}, {"id": uuid(lang, 2), "text": f"{text} {OTHERS[lang]}"}]
        write_jsonl(tmp_path / f"{lang}.jsonl", documents)
        lines += [f"7 {lang} {uuid(lang, 1)} 3\n", f"7 {lang} {uuid(lang, 2)} 0\n"]
    (tmp_path / "q").write_text("".join(lines))
    texts = [
        {"lang": lang, "source": "human translation", "topic_title": text, "topic_narrative": text}
        for lang, text in {"eng": "volcanic eruption", **TEXTS}.items()
    ]
    write_jsonl(tmp_path / "topics.jsonl", [{"topic_id": "7", "topics": texts}])
    return tmp_path


def files(news: Path, qrels: str = "q") -> Data:
    docs = tuple(f"{lang}={news / lang}.jsonl" for lang in TEXTS)
    return Data(docs, str(news / "topics.jsonl"), qrels=news / qrels, lang="mlir", name="mine")


def whole_of(files: Data) -> Collection:
    [whole] = find_collections("neuclir1", files, {"or_sample": True})
    return whole


def test_the_whole_has_all_documents_and_judgements_by_language(news: Path) -> None:
    whole = whole_of(files(news))
    assert [(lang, part.name, part.subset) for lang, part in whole.parts.items()] == [
        (lang, "mine", lang) for lang in TEXTS
    ]
    assert [part.topics[0].query for part in whole.parts.values()] == list(TEXTS.values())
    assert whole.parts["fas"].judging.qrels == {"original": {"7": {uuid("fas", 1): 3, uuid("fas", 2): 0}}}
    assert (whole.name, whole.subset) == ("mine", "mlir")
    assert {line.document.docid for line in whole.source.lines() if line.document} == {
        uuid(lang, number) for lang in TEXTS for number in (1, 2)
    }
    assert subtopics_of(whole.judging.qrels["original"]["7"]).keys() == set(TEXTS)


def test_judgements_that_name_no_language_are_taken_as_they_are(news: Path) -> None:
    lines = (news / "q").read_text().splitlines()
    (news / "flat").write_text("".join(f"7 0 {line.split()[2]} {line.split()[3]}\n" for line in lines))
    whole = whole_of(files(news, "flat"))
    assert subtopics_of(whole.judging.qrels["original"]["7"]) == {}
    assert len(whole.judging.qrels["original"]["7"]) == 6
    assert all(not part.judging.qrels for part in whole.parts.values())


def test_the_best_document_of_each_language_is_first_in_the_merged_run(news: Path, heed: Heed) -> None:
    documents = [f"{lang}={lang}.jsonl" for lang in TEXTS]
    arguments = ("--docs", *documents, "--topics", "topics.jsonl", "--qrels", "q", "--name", "mine")
    systems = ("--retriever", "bm25", "--reranker", "none", "--condition", "original", "--measure", "StRecall@3")
    result = heed("pipelines.neuclir", "--lang", "mlir", *arguments, *systems, "--json", "s.json", "--quiet")
    assert result.returncode == 0, result.stderr
    folder = news / "runs" / "mine" / "mlir"
    merged = read_run(folder / "bm25.original.run")["7"]
    # each language's better document has 1, its other one 0; of equal scores the highest docid is first
    assert ranked(merged)[:3] == [uuid(lang, 1) for lang in ("rus", "fas", "zho")]
    assert [merged[uuid(lang, 1)] for lang in TEXTS] == [1.0, 1.0, 1.0]
    rows = {
        (row["condition"], row["measure"]): row["value"] for row in json.loads((news / "s.json").read_text())["rows"]
    }
    assert (rows["original", "StRecall@3"], rows["original", "AP"], rows["original fas", "AP"]) == (1.0, 1.0, 0.5)


def test_a_multilingual_run_made_elsewhere_is_measured(news: Path, heed: Heed) -> None:
    lines = [f"7 Q0 {uuid(lang, 1)} 0 {3 - place} t\n" for place, lang in enumerate(["rus", "zho"])]
    (news / "mine.run").write_text("".join(lines))
    arguments = ("--docs", *(f"{lang}={lang}.jsonl" for lang in TEXTS), "--topics", "topics.jsonl", "--qrels", "q")
    measures = ("--measure", "StRecall@20", "--measure", "alpha_nDCG@20", "--json", "s.json")
    runs = ("--retriever", "none", "--run", "mine.original=mine.run")
    result = heed("pipelines.neuclir", "--lang", "mlir", *arguments, *runs, *measures)
    assert result.returncode == 0, result.stderr
    rows = {
        (row["condition"], row["measure"]): row["value"] for row in json.loads((news / "s.json").read_text())["rows"]
    }
    assert rows["original", "StRecall@20"] == pytest.approx(2 / 3)
    # of three relevant documents, each alone in its language, the first two: 1 + 1/log2(3) of 1 + 1/log2(3) + 1/2
    found = 1 + 1 / math.log2(3)
    assert rows["original", "alpha_nDCG@20"] == pytest.approx(found / (found + 0.5))
    assert (rows["original rus", "AP"], rows["original zho", "AP"], rows["original fas", "AP"]) == (1.0, 0.5, 0.0)


def test_conditions_that_one_language_lacks_are_not_lost(news: Path, heed: Heed) -> None:
    rows = [
        {"qid": "7", "lang": lang, "query": text, "instructions": {"original": text, **more}}
        for (lang, text), more in zip(TEXTS.items(), ({}, {"changed": "x"}, {"changed": "x"}), strict=True)
    ]
    write_jsonl(news / "own.jsonl", rows)
    arguments = ("--docs", *(f"{lang}={lang}.jsonl" for lang in TEXTS), "--topics", "own.jsonl", "--qrels", "q")
    given = ("--lang", "mlir", *arguments, "--retriever", "bm25", "--reranker", "none", "--quiet")
    result = heed("pipelines.neuclir", *given)
    assert result.returncode == 1
    assert "other conditions in each language (zho: query, original; fas: query, original, changed" in result.stderr
    assert heed("pipelines.neuclir", *given, "--condition", "original").returncode == 0


def test_a_document_in_two_languages_is_reported_before_the_search(news: Path, heed: Heed) -> None:
    (news / "fas.jsonl").write_text((news / "zho.jsonl").read_text())
    arguments = ("--docs", *(f"{lang}={lang}.jsonl" for lang in TEXTS), "--topics", "topics.jsonl")
    result = heed("pipelines.neuclir", "--lang", "mlir", *arguments, "--quiet")
    assert result.returncode == 1
    assert f"document {uuid('zho', 1)} was already at zho.jsonl, line 1; keep one of them" in result.stderr
    assert not list(news.glob("runs/**/*.run"))


def test_the_samples_documents_are_each_in_one_language_and_reranked_together(tmp_path: Path, heed: Heed) -> None:
    english = ("--query-lang", "eng", "--docs-lang", "eng", "--merge", "reranker")
    result = heed("pipelines.neuclir", "--lang", "mlir", *english, "--retriever", "lsa", "--condition", "original")
    assert result.returncode == 0, result.stderr
    whole = whole_of(Data(lang="mlir"))
    language_of = {
        line.document.docid: lang for lang, part in whole.parts.items() for line in part.source.lines() if line.document
    }
    assert len(language_of) == 144
    run = read_run(tmp_path / "runs" / "neuclir-sample" / "eng-mlir-mt" / "polarity.original.run")
    assert len(run) == 12
    assert all({language_of[docid] for docid in ranked(scores)[:30]} == set(TEXTS) for scores in run.values())
    # one reranker over one pool: a score is not of its list's range alone
    assert all(len(scores) == 144 for scores in run.values())
    assert not (tmp_path / "runs" / "neuclir-sample" / "mlir-eng-zho-mt" / "polarity.original.run").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--lang", "mlir", "--merge", "reranker"), "--merge reranker: one query for documents in all languages"),
        (
            ("--lang", "mlir", "--merge", "reranker", "--query-lang", "eng"),
            "--merge reranker: name a reranker of documents in all languages",
        ),
        (
            ("--lang", "mlir", "--merge", "reranker", "--query-lang", "eng", "--reranker", "polarity"),
            "--merge reranker --reranker polarity: compares words, and the documents' are of several languages",
        ),
        (
            ("--lang", "mlir", "--docs", "a.jsonl"),
            "a.jsonl: documents in several languages need each file's: expected zho=",
        ),
        (("--lang", "mlir", "--docs", "zho=a.jsonl"), "documents in zho alone"),
        (("--lang", "mlir", "--retriever", "none", "--merge", "rank"), "there is nothing to merge or to rerank"),
        (("--lang", "mlir", "--index", "anserini"), "--index and --vectors: are of one language"),
        (("--lang", "mlir", "--measure", "nDGC@20"), "measure 'nDGC@20': unknown"),
        (("--lang", "zho", "--merge", "rank"), "--merge: not used here; it makes one list of the languages"),
        (("--lang", "mlir", "--collection", "hc4"), "no documents of hc4"),
    ],
)
def test_what_does_not_go_together_is_an_error(heed: Heed, arguments: tuple[str, ...], said: str) -> None:
    result = heed("pipelines.neuclir", *arguments, "--quiet")
    assert result.returncode == 1
    assert said in result.stderr
