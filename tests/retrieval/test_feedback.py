"""RM3 and Rocchio beside Anserini's, which read the terms of documents from an index made for it."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from anserini import anserini_hits, anserini_index
from conftest import ROOT, SAMPLED, Heed

from heed.errors import UsageError
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Files
from heed.languages import language
from heed.retrieval.bm25.feedback import Feedback
from heed.retrieval.bm25.index import Bm25Settings, Searcher, build_index

OTHER = Feedback(fb_docs=4, fb_terms=25, rm3_weight=0.8, rocchio_alpha=0.5, rocchio_beta=1.5)


class Indexes(NamedTuple):
    """A collection with its index, Anserini's with the terms of documents, and its queries."""

    lang: str
    store: DocumentStore
    ours: Path
    theirs: Path
    queries: dict[str, str]


@pytest.fixture(scope="module", params=SAMPLED)
def indexes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Indexes:
    lang, folder = request.param, tmp_path_factory.mktemp(request.param)
    store = open_store(folder / "store", Files([ROOT / "documents" / "neuclir-sample" / f"{lang}.jsonl"]))
    records = ({"id": document.docid, "contents": document.contents()} for document in store)
    theirs = anserini_index(folder / "theirs", records, lang, "-storeDocvectors")
    lines = (ROOT / "topics" / "neuclir-sample" / f"{lang}.jsonl").read_text(encoding="utf-8").splitlines()
    topics = map(json.loads, lines)
    queries = {topic["qid"]: f"{topic['query']} {topic['instructions']['original']}" for topic in topics}
    return Indexes(lang, store, build_index(folder / "bm25", store, language(lang), 2), theirs, queries)


def settings_of(method: str, feedback: Feedback) -> list[Any]:
    """As Anserini's searcher takes them, without a reader of raw documents; others are its defaults."""
    if method == "rm3":
        return [None, feedback.fb_terms, feedback.fb_docs, feedback.rm3_weight, False, True]
    return [None, *feedback[1::-1], 10, 10, *feedback[3:], 0.15, False, False]


@pytest.mark.golden(
    program="pyserini 1.6.0, pyserini 2.4.0 (Anserini)",
    compared="scores and rankings of RM3 and Rocchio, with other settings too",
    systems=("lexical",),
)
@pytest.mark.parametrize("feedback", [Feedback(), OTHER, Feedback(fb_docs=1, fb_terms=1)])
@pytest.mark.parametrize("method", ["rm3", "rocchio"])
def test_runs_are_anserinis(indexes: Indexes, method: str, feedback: Feedback) -> None:
    searcher = Searcher(indexes.ours, language(indexes.lang), Bm25Settings(feedback=feedback))
    runs = searcher.search_with_feedback(indexes.queries, 100, 2, method, indexes.store)
    for qid, text in indexes.queries.items():
        short, settings = language(indexes.lang).short, settings_of(method, feedback)
        theirs = anserini_hits(indexes.theirs, short, text, 100, method, settings)
        assert list(runs[qid].items()) == list(theirs.items()), qid
        assert len(theirs) > 5


def test_a_query_that_finds_nothing_has_an_empty_list(indexes: Indexes) -> None:
    searcher = Searcher(indexes.ours, language(indexes.lang), Bm25Settings())
    queries = {"none": "zzzzqqqq", "empty": "", "some": next(iter(indexes.queries.values()))}
    run = searcher.search_with_feedback(queries, 10, 2, "rm3", indexes.store)
    assert [len(hits) for hits in run.values()] == [0, 0, 10]


@pytest.mark.parametrize(
    ("feedback", "told"),
    [
        (Feedback(fb_docs=0), "fb_docs: found 0, expected 1 or more"),
        (Feedback(fb_terms=0), "fb_terms: found 0, expected 1 or more"),
        (Feedback(rm3_weight=1.5), "rm3_weight: found 1.5, expected a number from 0 to 1"),
        (Feedback(rocchio_beta=float("nan")), "rocchio_beta: found nan, expected 0 or more"),
    ],
)
def test_what_cannot_be_is_an_error(feedback: Feedback, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Searcher(Path("nowhere"), language("eng"), Bm25Settings(feedback=feedback))


def test_the_settings_are_options_and_decide_whether_a_run_is_used_again(heed: Heed, tmp_path: Path) -> None:
    command = ("pipelines.trec", "--retriever", "bm25+rm3", "--reranker", "none", "--quiet")
    runs = []
    for options in ((), ("--fb-docs", "3", "--fb-terms", "4", "--rm3-weight", "0.9")):
        assert heed(*command, *options).returncode == 0
        [run] = (path for path in tmp_path.rglob("bm25+rm3.original.run") if "earlier" not in path.parts)
        runs.append(run.read_bytes())
    assert runs[0] != runs[1]
    refused = heed(*command, "--fb-docs", "0")
    assert (refused.returncode, refused.stderr) == (1, "error: --fb-docs: found 0, expected 1 or more\n")
