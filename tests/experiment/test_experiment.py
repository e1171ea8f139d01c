"""Experiments from Python: objects beside names, the files of the commands, nothing shared between two of them."""

import inspect
import json
import math
import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import yaml
from conftest import ROOT, Heed
from hypothesis import given
from hypothesis import strategies as st
from readings import read_topic

import heed as library
from heed import (
    Bm25Settings,
    Cut,
    DataError,
    Document,
    Experiment,
    ModelError,
    Qrels,
    Query,
    Run,
    Search,
    UsageError,
    load,
)
from heed.compute import Compute
from heed.report.results import keep_baseline, read_summary
from heed.retrieval.bm25.index import Bm25

RESULTS = ("*.run", "pool.jsonl", "summary.json", "per_topic.json")


class Overlap:
    """The design's example."""

    name = "overlap"

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        wanted = set(query.text.split())
        return [len(wanted & set(document.text.split())) for document in documents]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for pattern in RESULTS for path in sorted(folder.glob(pattern))}


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """An experiment over the English sample in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return Experiment(load("neuclir-sample", lang="eng"))


def test_the_designs_example_writes_what_the_command_writes(tmp_path: Path, heed: Heed, small: Experiment) -> None:
    bm25 = small.retrieve("bm25")
    mine = small.rerank(Overlap(), [bm25], depth=100)
    results = small.evaluate([bm25, mine])
    frame = results.to_pandas()
    assert list(frame.columns) == ["system", "condition", "measure", "value", "n"]
    assert set(frame["system"]) == {"bm25", "overlap"} and set(frame["n"]) == {12}
    mine["changed"].write("overlap.changed.run")
    assert Path("overlap.changed.run").read_bytes() == (small.folder / "overlap.changed.run").read_bytes()
    names = "from collections.abc import Sequence\nfrom heed import Document, Query\n"
    (tmp_path / "design_example.py").write_text(names + inspect.getsource(Overlap))
    systems = ("--retriever", "bm25", "--reranker", "design_example:Overlap", "--rerank-depth", 100, "--out", "command")
    english = ("--lang", "zho", "--query-lang", "eng", "--docs-lang", "eng", "--quiet")
    assert heed("pipelines.neuclir", *english, *systems).returncode == 0
    theirs = contents(tmp_path / "command/neuclir-sample/eng-zho-mt")
    ours = contents(small.folder)
    for name in theirs.keys() | ours.keys():
        if name == "summary.json":
            summaries = [json.loads(found[name]) for found in (theirs, ours)]
            assert summaries[0]["rows"] == summaries[1]["rows"]
        else:
            assert theirs[name] == ours[name], name


TESTS = (ROOT / "tests", ROOT / "tests/support")
SETTINGS = (("zho", 0.9, 1000, 1), ("fas", 1.4, 50, 2))
PROGRAM = """
import sys
import threading
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from test_experiment import SETTINGS, run_bm25
run_bm25(Path(sys.argv[1]), *SETTINGS[int(sys.argv[2])])
"""


def run_bm25(root: Path, lang: str, k1: float, depth: int, threads: int) -> None:
    folder, search = root / lang, Search(bm25=Bm25Settings(k1=k1))
    news = load("neuclir-sample", lang=lang)
    with Experiment(
        news, indexes=folder / "indexes", out=folder / "runs", depth=depth, search=search, threads=threads
    ) as experiment:
        first = [experiment.retrieve("bm25"), experiment.retrieve("bm25+rm3")]
        experiment.evaluate([*first, experiment.rerank("polarity", first)])


class SameScores:
    """A reranker that changes nothing: ``runs`` are its scores by condition, -1 where they have none."""

    name = "same"
    config: ClassVar[dict[str, int]] = {}
    runs: Mapping[str, Mapping[str, Mapping[str, float]]]

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        return [self.runs[query.condition][query.qid].get(document.docid, -1.0) for document in documents]


class Configured:
    name = "configured"
    config = {"version": 1}  # noqa: RUF012 (nobody changes it)

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        return [float(len(document.text)) for document in documents]


@pytest.mark.parametrize(
    ("system", "reads"),
    [
        ("polarity", True),
        ("pol=polarity", True),
        ("decompose:letter_encoder:LetterCounts", True),
        ("polarity+test_experiment:Configured", True),
        ("test_experiment:Configured", False),
    ],
)
def test_instructions_that_exclude_something_are_counted_and_an_unknown_language_is_named(
    small: Experiment, system: str, reads: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    read = [read_topic("car", "swa", original=text) for text in ["Car{ or not}"] * 9 + ["[-Car-]"] * 3]
    topics = [each._replace(qid=topic.qid) for each, topic in zip(read, small.collection.topics, strict=True)]
    experiment = Experiment(replace(small.collection, topics=topics), depth=10)
    experiment.rerank(system, experiment.retrieve("bm25"))
    warning = "the reader of instructions was not trained on Swahili: what it takes for excluded there may be wrong"
    assert [each.startswith(warning) for each in experiment.warnings] == [True] * reads
    assert ("3 of 12 instructions exclude something" in capsys.readouterr().err) == reads


def test_two_experiments_in_threads_give_the_results_of_two_processes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, tmp_path / "processes", "1", Path(__file__).parent, *TESTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run_bm25(tmp_path / "processes", *SETTINGS[0])  # the other process is this one
    threads = [threading.Thread(target=run_bm25, args=(tmp_path / "threads", *setting)) for setting in SETTINGS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for lang in ("zho", "fas"):
        results = [contents(tmp_path / kind / lang / "runs/neuclir-sample" / lang) for kind in ("threads", "processes")]
        assert results[0] == results[1] and len(results[0]) == 12


def test_java_has_one_heap_a_process(small: Experiment) -> None:
    small.retrieve("bm25")
    with pytest.raises(UsageError, match="heap: Java runs already, with 768m"):
        Experiment(small.collection, compute=Compute(heap="1g"))
    with pytest.raises(UsageError, match="heap: found 'lots'"):
        Experiment(small.collection, compute=Compute(heap="lots"))


class Fixed:
    """A retriever with given results."""

    name = "fixed"

    def __init__(self, scores: Mapping[str, Any]) -> None:
        self._scores = scores

    def search(self, queries: Sequence[Query], depth: int) -> Any:
        return {query.qid: self._scores for query in queries}


def test_a_changed_topic_is_searched_alone(tmp_path: Path, small: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    search = Bm25.search

    def recorded(self: Bm25, queries: Sequence[Query], depth: int) -> Any:
        searched.extend(f"{query.qid}.{query.condition}" for query in queries)
        return search(self, queries, depth)

    monkeypatch.setattr(Bm25, "search", recorded)
    first, *rest = small.collection.topics
    edited = first._replace(instructions={**first.instructions, "changed": "Only coral reefs."})
    more = first._replace(qid="more", query="ferry accident")
    small.retrieve("bm25")
    assert len(searched) == 3 * len(small.collection.topics)
    for topics, new in (
        ([edited, *rest, more], [f"{first.qid}.changed", "more.query", "more.original", "more.changed"]),
        ([first, *rest], []),  # from the folder earlier/
    ):
        searched.clear()
        Experiment(replace(small.collection, topics=topics)).retrieve("bm25")
        assert sorted(searched) == sorted(new)
        fresh = Experiment(replace(small.collection, topics=topics), out=tmp_path / f"fresh{len(topics)}")
        fresh.retrieve("bm25")
        assert contents(small.folder) == contents(fresh.folder)


def test_a_measure_that_is_asked_for_is_printed_however_few_documents_there_are(small: Experiment) -> None:
    bm25 = small.retrieve("bm25")
    usual, requested = small.evaluate(bm25), small.evaluate(bm25, measures=["R@1000", "p-MRR kept"])
    assert len(usual.table().columns) + 2 == len(requested.table().columns)
    assert {"R@1000", "p-MRR kept"} <= {*requested.table().columns} - {*usual.table().columns}
    assert all(
        " R@1000 " in text and " p-MRR kept " in text for text in (str(requested), requested.table().to_string())
    )
    assert "R@1000" in requested._repr_html_() and "R@1000" not in usual._repr_html_()


def test_a_retriever_of_ones_own_is_cut_at_the_depth_by_the_one_order(small: Experiment) -> None:
    docids = list(small.documents.docids())[:5]
    small.depth = 3
    run = small.retrieve(Fixed(dict.fromkeys(docids, 1)))["query"]
    assert all(list(scores) == sorted(docids, reverse=True)[:3] for scores in run.values())


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ({"nowhere": 1.0}, "fixed: topic 01, document nowhere: not in the collection"),
        ({"DOC": float("nan")}, "score nan, expected a finite number"),
        ({"DOC": "high"}, "score 'high', expected a finite number"),
    ],
)
def test_wrong_results_of_a_retriever_are_an_error(small: Experiment, scores: Any, problem: str) -> None:
    docid = next(iter(small.documents.docids()))
    with pytest.raises(ModelError, match=problem):
        small.retrieve(Fixed({docid if name == "DOC" else name: score for name, score in scores.items()}))


class Short(Overlap):
    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        return [1.0]


class Worded(Overlap):
    def score(self, query: Query, documents: Sequence[Document]) -> Any:
        return ["high" for _ in documents]


@pytest.mark.parametrize(
    ("reranker", "problem"),
    [
        (Short(), "overlap: topic .*: 1 scores for .* documents"),
        (Worded(), "overlap: topic .*: score 'high', expected a finite number"),
    ],
)
def test_wrong_scores_of_a_reranker_are_an_error(small: Experiment, reranker: Any, problem: str) -> None:
    with pytest.raises(ModelError, match=problem):
        small.rerank(reranker, [small.retrieve("bm25")])


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nowhere:Class", "nowhere:Class: module nowhere cannot be imported"),
        ("json:Nothing", "json has no Nothing; it has "),
        ("json:JSONDecoder", "its name is None; give it an attribute name"),
        ("named:Needy", "named:Needy: cannot be called without arguments, TypeError"),
        ("broken:Thing", "module broken fails when it is imported, ZeroDivisionError"),
        ("named:Reserved", "its name is 'bm25'"),
        ("named:Odd", "its config is no JSON data"),
        ("named:Thing", "has no score"),
    ],
)
def test_a_class_that_is_no_reranker_is_an_error(
    small: Experiment, name: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("named.py").write_text(
        "class Thing:\n    name = 'thing'\n"
        "class Needy:\n    def __init__(self, path): pass\n"
        "class Reserved:\n    name = 'bm25'\n"
        "class Odd:\n    name, config = 'odd', {1, 2}\n"
    )
    Path("broken.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(".")
    with pytest.raises(UsageError, match=problem):
        small.reranker(name)


def test_the_public_names_are_there_and_importing_them_loads_nothing_heavy() -> None:
    assert 20 <= len(library.__all__) <= 32
    for name in library.__all__:
        assert getattr(library, name) is not None
    heavy = {"torch", "pandas", "numpy", "jnius", "transformers", "faiss", "argparse"}
    code = f"import sys, heed; dir(heed); print(*({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
    with pytest.raises(AttributeError, match="module 'heed' has no attribute 'experment'"):
        _ = library.experment  # type: ignore[attr-defined]


IDS = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=5)
SCORES = st.dictionaries(IDS, st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5)


@given(st.dictionaries(IDS, SCORES, max_size=4))
def test_a_run_survives_pandas(scores: dict[str, dict[str, float]]) -> None:
    run = Run(scores)
    frame = run.to_pandas()
    assert Run.from_pandas(frame.sample(frac=1, random_state=0)) == run
    renamed = frame.rename(columns={"qid": "query_id", "docid": "doc_id"})
    assert Run.from_pandas(renamed) == run


@given(st.dictionaries(IDS, st.dictionaries(IDS, st.integers(-2, 4), min_size=1, max_size=4), max_size=4))
def test_qrels_survive_pandas(grades: dict[str, dict[str, int]]) -> None:
    assert Qrels.from_pandas(Qrels(grades).to_pandas()) == grades


def test_ids_of_a_frame_stay_texts(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"qid": ["007", "007"], "docno": ["NA", "nan"], "score": [2, 1]})
    run = Run.from_pandas(frame, "mine")
    run.write(tmp_path / "mine.run.gz")
    assert Run.read(tmp_path / "mine.run.gz") == run == {"007": {"NA": 2.0, "nan": 1.0}}
    with pytest.raises(DataError, match=r"row 0: id 7\.0, expected a text"):
        Run.from_pandas(frame.assign(qid=[7.0, 7.0]))
    with pytest.raises(DataError, match="no column score; it has qid, docno"):
        Run.from_pandas(frame.drop(columns="score"))
    with pytest.raises(DataError, match="row 1: document NA is listed again for topic 007"):
        Run.from_pandas(frame.assign(docno="NA"))


MADE = Run({"1": {"a": 2.5, "b": 1.0}, "007": {"c": 0.25}})
JUDGED = Qrels({"1": {"a": 0, "b": 2}, "007": {"c": 1}})


def test_frames_have_the_names_of_ir_measures() -> None:
    """Topic 007: 1. Topic 1: the one relevant document is second, 1 / log2(3)."""
    import ir_measures

    run, qrels = MADE.to_pandas("ir_measures"), JUDGED.to_pandas("ir_measures")
    values = {one.query_id: one.value for one in ir_measures.iter_calc([ir_measures.nDCG @ 10], qrels, run)}
    assert values == pytest.approx({"007": 1, "1": 1 / math.log2(3)})
    assert (Run.from_pandas(run), Qrels.from_pandas(qrels)) == (MADE, JUDGED)
    with pytest.raises(UsageError, match="names: found 'trec', expected one of heed, ir_measures, pyterrier, ranx"):
        MADE.to_pandas("trec")


@pytest.mark.filterwarnings("ignore:unsafe cast")  # inside ranx
def test_frames_and_objects_of_ranx() -> None:
    ranx = pytest.importorskip("ranx", reason="ranx is installed by make bench")
    run, qrels = ranx.Run.from_df(MADE.to_pandas("ranx")), ranx.Qrels.from_df(JUDGED.to_pandas("ranx"))
    assert ranx.evaluate(qrels, run, "ndcg@10") == pytest.approx((1 + 1 / math.log2(3)) / 2)
    for theirs in (run, MADE.to_ranx()):
        assert Run.from_ranx(theirs) == Run.from_pandas(theirs.to_dataframe()) == MADE
    for theirs in (qrels, JUDGED.to_ranx()):
        assert Qrels.from_ranx(theirs) == Qrels.from_pandas(theirs.to_dataframe()) == JUDGED


def test_a_run_of_patapsco_is_read_without_a_doubt(caplog: pytest.LogCaptureFixture) -> None:
    """Its ranks begin at 0 and keep Lucene's order of ties; the file is its own writer's (patapsco_results.py)."""
    run = Run.read(ROOT / "tests/data/golden/patapsco_results.txt")
    assert run == {"1": {"a": 12.25, "b": 12.25, "c": 3.5}, "2": {"c": 0.1}}
    assert run.ranking("1") == ["b", "a", "c"]
    assert not caplog.records


def test_documents_are_read_once_and_by_polarity_only_its_examples(
    small: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    bm25, read = small.retrieve("bm25"), []
    get = type(small.documents).get
    monkeypatch.setattr(type(small.documents), "get", lambda store, docids: read.append(docids) or get(store, docids))
    small.rerank("polarity", [bm25])
    assert 0 < max(map(len, read)) <= 15  # examples of what fits best and worst, not the pool
    read.clear()
    small.rerank(Overlap(), [bm25])
    every = [docid for docids in read for docid in docids]
    assert len(read) <= 12 and 0 < len(every) == len({*every})  # each once, for all topics and conditions


class Words:
    """A reranker of its own for each document, that counts those it has scored."""

    name, config, independent = "words", {"version": 1}, True

    def __init__(self) -> None:
        self.scored = 0

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        self.scored += len(documents)
        return [len(query.text) / len(document.text) for document in documents]


def test_a_deeper_pool_takes_the_scores_of_an_earlier_one_where_that_is_said(
    small: Experiment, caplog: pytest.LogCaptureFixture
) -> None:
    bm25, first, second, whole = small.retrieve("bm25"), Words(), Words(), Words()
    small.rerank(first, [bm25], depth=20)
    deeper = small.rerank(second, [bm25], depth=50, reuse_scores=True)
    assert (first.scored, second.scored) == (12 * 3 * 20, 12 * 3 * 30)
    assert "words.original: 240 scores are those of its earlier run" in caplog.text
    note = json.loads((small.folder / ".made/words.original.run.json").read_text())
    assert note["scores of an earlier run"] == 240
    runs = {condition: dict(run) for condition, run in deeper.items()}
    again = small.rerank(whole, [bm25], depth=50)  # the recipe is the same
    assert whole.scored == 0 and {condition: dict(run) for condition, run in again.items()} == runs
    whole.name = "whole"
    assert {condition: dict(run) for condition, run in small.rerank(whole, [bm25], depth=50).items()} == runs
    small.rerank("polarity", [bm25], depth=50, reuse_scores=True)
    assert "polarity: a score depends on the other documents of the pool; all are computed again" in caplog.text
    changed = Words()
    changed.name, changed.config = "changed", None  # type: ignore[assignment]
    small.rerank(changed, [bm25], depth=20)
    small.rerank(changed, [bm25], depth=50, reuse_scores=True)
    assert changed.scored == 12 * 3 * (20 + 50)
    assert "changed: it has no config, so that it may be another system by now; all are computed" in caplog.text


class Vectors:
    """An encoder with given vectors."""

    name = "vectors"

    def __init__(self, make: Any, config: Any = None) -> None:
        self._make, self.calls = make, 0
        if config is not None:
            self.config = config

    def encode_documents(self, documents: Sequence[Document]) -> Any:
        self.calls += 1
        return self._make(len(documents))

    def encode_queries(self, queries: Sequence[Query]) -> Any:
        return np.ones((len(queries), 3))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (
            lambda count: np.ones((count - 1, 3)),
            r"have shape \(143, 3\), expected \(144, dimensions\)",
        ),
        (lambda count: np.ones(count), r"have shape \(144,\), expected"),
        (lambda count: np.full((count, 3), np.nan), "a vector of documents is not finite"),
        (lambda count: [["a"]] * count, "vectors of documents are no matrix"),
        (lambda count: np.ones((count, 4)), "vectors of queries have 3 numbers, others have 4"),
    ],
)
def test_vectors_that_cannot_be_are_an_error(small: Experiment, make: Any, problem: str) -> None:
    with pytest.raises(ModelError, match=f"vectors: .*{problem}"):
        small.retrieve(Vectors(make))


def test_vectors_are_kept_as_long_as_the_whole_config_is_the_same(small: Experiment) -> None:
    def ones(count: int) -> Any:
        return [[1.0, 0.5, 0.25]] * count  # a list will do

    first, same, other = (Vectors(ones, {"prompt": prompt}) for prompt in ("short", "short", "longer"))
    for encoder in (first, same, other):
        small.retrieve(encoder)
    assert (first.calls, same.calls, other.calls) == (1, 0, 1)


class Open:
    """Counts what is called."""

    name = "open"

    def __init__(self, fails: bool = False) -> None:
        self.calls: list[str] = []
        self._fails = fails

    def load(self) -> None:
        self.calls.append("load")

    def close(self) -> None:
        self.calls.append("close")

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        if self._fails:
            raise KeyboardInterrupt
        return np.arange(len(documents), dtype=np.float32)  # type: ignore[return-value]


def test_a_system_is_loaded_once_and_closed_also_after_an_error(small: Experiment) -> None:
    bm25 = small.retrieve("bm25")
    fine, failing = Open(), Open(fails=True)
    run = small.rerank(fine, bm25)["query"]
    assert fine.calls == ["load", "close"]
    assert {type(score) for scores in run.values() for score in scores.values()} == {float}
    with pytest.raises(KeyboardInterrupt):
        small.rerank(failing, bm25)
    assert failing.calls == ["load", "close"]


def test_a_wrong_number_of_scores_is_an_error_in_a_recipe_too(small: Experiment) -> None:
    bm25 = small.retrieve("bm25")
    with pytest.raises(ModelError, match=r"topic 01: 1 scores for \d+ documents; return one score for each"):
        small.rerank(Short(), bm25, maxp=Cut(20, 10))
    with pytest.raises(UsageError, match="expected an overlap from 0 and below the words"):
        small.rerank(Overlap(), bm25, maxp=Cut(1, 3))


def test_a_pool_is_of_documents_of_the_collection(small: Experiment) -> None:
    with pytest.raises(DataError, match="pool: 1 documents are not in the collection: zzz"):
        small.rerank("polarity", {"01": ["zzz"]})
    with pytest.raises(UsageError, match="depth beside a pool"):
        small.rerank("polarity", {"01": []}, depth=5)
    with pytest.raises(UsageError, match="depth: found 0"):
        small.rerank("polarity", small.retrieve("bm25"), depth=0)


def test_what_no_file_can_be_called_is_refused(small: Experiment) -> None:
    with pytest.raises(UsageError, match="expected letters, digits"):
        small.add("../mine", {"query": {"01": {"n001": 1.0}}})
    with pytest.raises(UsageError, match="unknown condition 'modified'"):
        small.add("mine", {"modified": {"01": {"n001": 1.0}}})
    with pytest.raises(UsageError, match="expected the name of a folder"):
        Experiment(replace(small.collection, name="../x"))


@pytest.mark.parametrize(
    ("topics", "problem"),
    [
        ([library.Topic("1", "eng", "a", {}), library.Topic("1", "eng", "b", {})], "topic 1: comes twice"),
        ([library.Topic("1", "eng", "a", {"modified": "b"})], "topic 1: instructions for modified, expected some of"),
        ([library.Topic("1 2", "eng", "a", {})], "topic '1 2': its id is no word"),
        ([library.Topic(1, "eng", "a", {})], "topic 1: its id is no word"),  # type: ignore[arg-type]
    ],
)
def test_topics_given_in_python_are_checked(small: Experiment, topics: list[library.Topic], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        Experiment(replace(small.collection, topics=topics))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"search": Search(faiss="flat")}, "faiss: found 'flat'"),
        ({"device": "gpu"}, "device: found 'gpu'"),
        ({"threads": 0}, "threads: found 0"),
        ({"threads": 2, "compute": Compute()}, "device and threads beside compute"),
        ({"conditions": "query"}, "conditions: found 'query', expected a list"),
    ],
)
def test_settings_that_cannot_be_are_refused(small: Experiment, settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        Experiment(small.collection, **settings)


def test_measures_are_of_lists_as_deep_as_they_look(small: Experiment) -> None:
    """Recall of 20 documents is none at rank 100 beside one of 144, nor does AP of 20 compare with that of 144."""
    docids = sorted(small.documents.docids())[:100]
    deep, small.depth = small.retrieve("bm25"), 20  # of 144 documents
    lists = small.retrieve(Fixed({docid: float(rank) for rank, docid in enumerate(docids)}))
    results = small.evaluate([deep, lists, small.rerank("polarity", deep, depth=50)], measures=["R@10"])
    assert {entry["system"]: entry["depth"] for entry in results.systems} == {"bm25": 144, "fixed": 20, "polarity": 50}
    by_measure = {name: {row["system"] for row in results.rows if row["measure"] == name} for name in ("R@100", "AP")}
    assert by_measure == {"R@100": {"bm25"}, "AP": {"bm25", "fixed", "polarity"}}
    assert re.search(r"\nfixed +query [^\n]* - ", str(results))
    [warning] = [warning for warning in results.warnings if "different depth" in warning]
    assert warning == (
        "lists of different depth (bm25 144, fixed 20, polarity 50): no R@100, R@1000 where lists end before, "
        "at 20 or 50; AP, p-MRR, selectivity: of whole lists, whose length alone can make a difference"
    )
    compared = results.compare("bm25")
    rows = {(row["system"], row["measure"]): row for row in compared.rows if row["condition"] == "original"}
    assert rows["fixed", "R@100"]["value"] is None and rows["fixed", "R@10"]["p"] is not None
    assert (rows["fixed", "AP"]["same_pool"], rows["fixed", "AP"]["p"]) == (False, None)
    assert rows["fixed", "AP"]["difference"] and rows["polarity", "AP"]["p"] is not None  # bm25 is its first stage
    assert any("AP" in line and "(bm25 144, fixed 20)" in line for line in compared.warnings)
    [sentence] = [line for line in compared.sentences if "p-MRR" in line]
    assert sentence.startswith("polarity ") and sentence.endswith("; of lists of 50 and 144 documents")
    across = results.compare("bm25", across_pools=True).rows
    assert all(row["p"] is not None for row in across if (row["system"], row["measure"]) == ("fixed", "AP"))
    manifest = yaml.safe_load((small.folder / "manifest.yml").read_text(encoding="utf-8"))
    assert [each["depth"] for each in manifest["method"]["retrieval"]] == [1000, 20, 50]


def test_a_reranker_of_short_lists_is_not_worse_for_their_length(small: Experiment) -> None:
    """BM25's own scores of its first ten: nDCG@20 has no value, and nDCG@10 is tested."""
    bm25, cut = small.retrieve("bm25"), SameScores()
    cut.runs = bm25.contents()
    same = small.rerank(cut, bm25, depth=10)
    small.depth = 10
    results = small.evaluate([bm25, same, small.retrieve("b10=bm25")], measures=["nDCG@10"])
    rows = {
        (row["system"], row["measure"]): row for row in results.compare("bm25").rows if row["condition"] == "original"
    }
    for name in ("same", "b10"):
        assert (
            rows[name, "nDCG@20"]["value"] is rows[name, "nDCG@20"]["p"] is rows[name, "nDCG@20"]["difference"] is None
        )
        assert rows[name, "nDCG@10"]["p"] is not None
    assert not any("ranks" in each for each in results.compare("bm25").sentences)
    sentences = results.compare("bm25", measures=["nDCG@20"]).sentences
    assert "same has no nDCG@20: its lists end at 10 documents" in sentences
    assert {each["system"] for each in results.against_query if each["measure"] == "nDCG@20"} == {"bm25", "b10", "same"}
    small.evaluate([bm25, small.rerank(cut, bm25, depth=20)]).value("same", "original", "nDCG@20")  # its lists reach 20


def test_an_earlier_object_of_a_name_is_not_measured_as_the_folders(small: Experiment) -> None:
    """As notebook cells that are run out of order: the folder has the runs of the other object."""
    bm25 = small.retrieve("bm25")
    pool = {qid: [*scores][:2] for qid, scores in bm25["original"].items()}
    second = SameScores()
    second.runs, second.config = bm25.contents(), {"step": 2}
    same = {"config": {"step": 1}, "score": lambda *_: [2.0, 1.0], "name": "same"}
    first = small.rerank(type("First", (), same)(), pool)
    value = small.evaluate([bm25, first]).value("same", "original", "AP")
    later = small.rerank(second, pool)
    rows = small.evaluate([bm25, later]).rows
    assert {row["system"] for row in rows if row["measure"] == "nDCG@20"} == {"bm25"}  # its pool has two documents
    told = "same: its runs were replaced by another system's of the same name; retrieve or rerank it again, or give"
    with pytest.raises(UsageError, match=told):
        small.evaluate([bm25, first])
    again = small.rerank(type("First", (), same)(), pool)
    assert small.evaluate([bm25, again]).value("same", "original", "AP") == value


def test_the_named_baseline_of_a_report_stays_while_its_system_does(small: Experiment) -> None:
    bm25, lsa = small.retrieve("bm25"), small.retrieve("lsa")
    assert small.evaluate([bm25, lsa]).compare().baseline == "bm25"  # the better one of the two
    keep_baseline(small.folder, "lsa")
    results = small.evaluate([bm25, lsa])
    assert results.compare().baseline == read_summary(small.folder).baseline == "lsa" and not results.compare().chosen
    assert results.compare("bm25").baseline == "bm25"
    for file in lsa.files.values():
        file.path.unlink()
    assert small.evaluate([bm25]).compare().baseline == "bm25" and not read_summary(small.folder).baseline


def test_figures_that_lack_their_judgements_now_are_named(small: Experiment, caplog: pytest.LogCaptureFixture) -> None:
    bm25 = small.retrieve("bm25")
    small.evaluate([bm25])
    judging = small.collection.judging
    small.collection = replace(
        small.collection, judging=judging._replace(qrels={"original": judging.qrels["original"]})
    )
    caplog.clear()
    small.evaluate([bm25])
    assert (
        "the figures under changed, original>changed are gone, also p-MRR, selectivity: no judgements of them "
        "were given; give them all in each command"
    ) in caplog.messages
    caplog.clear()
    small.evaluate([bm25])
    assert "are gone" not in caplog.text


def test_the_manifest_tells_documents_and_pool(small: Experiment) -> None:
    bm25 = small.retrieve("bm25")
    small.evaluate([bm25, small.rerank("polarity", bm25, depth=7)])
    text = (small.folder / "manifest.yml").read_text(encoding="utf-8")
    assert "null" not in text.split()  # it lists what is set
    manifest = yaml.safe_load(text)
    assert manifest["data"]["test collection"]["documents"] == small.documents.digest
    assert manifest["settings"]["pool"] == {"from": "runs", "depth": 7}
