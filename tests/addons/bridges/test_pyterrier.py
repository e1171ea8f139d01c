"""Heed's systems in PyTerrier's pipelines and PyTerrier's transformers in Heed; real PyTerrier, in one process."""

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import pyterrier as pt
import pytest
from conftest import stranger
from tiny_mteb import DOCUMENTS, QRELS, TOPICS, experiment_in

import heed
from heed.addons.bridges import pyterrier as adapter

# PyTerrier's own frames under pandas 3
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.drop is deprecated")

CONDITIONS = ("query", "original", "changed")


class Overlap:
    """Words of query and instruction in title and text, with many ties."""

    name = "overlap"

    def score(self, query: heed.Query, documents: Sequence[heed.Document]) -> list[float]:
        wanted = set(query.text.split())
        return [float(len(wanted & set(f"{one.title} {one.text}".split()))) for one in documents]


@pytest.fixture
def experiment(tmp_path: Path) -> Iterator[heed.Experiment]:
    with experiment_in(tmp_path, 8) as made:
        yield made


def asked(condition: str) -> pd.DataFrame:
    """The topics under a condition as PyTerrier has them; without an instruction the column is missing."""
    frame = pd.DataFrame([{"qid": topic.qid, "query": topic.query} for topic in TOPICS])
    if condition == "query":
        return frame
    return frame.assign(instruction=[topic.instructions[condition] for topic in TOPICS])


def texts() -> pt.Transformer:
    by_docid = {one.docid: one for one in DOCUMENTS}
    return pt.apply.title(lambda row: by_docid[row["docno"]].title) >> pt.apply.text(
        lambda row: by_docid[row["docno"]].text
    )


def same_file(frame: pd.DataFrame, run: heed.Run, folder: Path) -> bool:
    heed.Run.from_pandas(frame).write(folder / "pyterrier.run", "tag")
    run.write(folder / "heed.run", "tag")
    return (folder / "pyterrier.run").read_bytes() == (folder / "heed.run").read_bytes()


def test_a_pipeline_of_heeds_systems_gives_heeds_runs(experiment: heed.Experiment, tmp_path: Path) -> None:
    bm25 = experiment.retrieve("bm25")
    pool = {topic.qid: [document.docid for document in DOCUMENTS] for topic in TOPICS}
    overlap, polarity = experiment.rerank(Overlap(), pool), experiment.rerank("polarity", pool)
    everything = pd.DataFrame([{"docno": document.docid} for document in DOCUMENTS])
    for condition in CONDITIONS:
        found = adapter.retriever(experiment.retriever("bm25"), depth=8)(asked(condition))
        assert same_file(found, bm25[condition], tmp_path)
        given = asked(condition).merge(everything, how="cross")
        assert same_file((texts() >> adapter.reranker(Overlap()))(given), overlap[condition], tmp_path)
        own = texts() >> adapter.reranker(experiment.reranker("polarity"))
        assert same_file(own(given), polarity[condition], tmp_path)
    assert overlap["original"] != overlap["changed"] != overlap["query"]


def test_a_reranker_gets_documents_by_rank_and_the_topics_language() -> None:
    seen: list[tuple[str, list[str]]] = []

    class Seen(Overlap):
        def score(self, query: heed.Query, documents: Sequence[heed.Document]) -> list[float]:
            seen.append((query.lang, [one.docid for one in documents]))
            return super().score(query, documents)

    rows = pd.DataFrame({"docno": list("abc"), "text": "x", "score": [1.0, 3.0, 3.0], "rank": [2, 1, 0]})
    given = asked("query").head(1).merge(rows, how="cross")
    adapter.reranker(Seen(), lang="de")(given)
    adapter.reranker(Seen())(given.drop(columns="rank"))
    adapter.reranker(Seen())(given.drop(columns=["rank", "score"]))
    assert seen == [("deu", ["c", "b", "a"]), ("eng", ["c", "b", "a"]), ("eng", ["a", "b", "c"])]


def test_ties_are_ordered_by_docid_descending_also_in_rank() -> None:
    given = asked("query").head(1).merge(pd.DataFrame([{"docno": name, "text": "x"} for name in "bca"]), how="cross")
    found = adapter.reranker(Overlap())(given)
    assert found[["docno", "score", "rank"]].values.tolist() == [["c", 0.0, 0], ["b", 0.0, 1], ["a", 0.0, 2]]
    assert pt.model.add_ranks(found.copy())["rank"].tolist() == [0, 1, 2]  # PyTerrier's own ranks of these rows


def test_an_experiment_of_pyterrier_measures_what_heed_measures(experiment: heed.Experiment) -> None:
    results = experiment.evaluate(experiment.retrieve("bm25"), measures=["nDCG@8"])
    qrels = heed.Qrels(QRELS["changed"]).to_pandas().rename(columns={"docid": "docno", "grade": "label"})
    bm25 = adapter.retriever(experiment.retriever("bm25"), depth=8)
    table = pt.Experiment([bm25], asked("changed"), qrels, ["ndcg_cut_8", "map"], names=["bm25"])
    ours = [results.value("bm25", "changed", measure) for measure in ("nDCG@8", "AP")]
    assert table.set_index("name").loc["bm25", ["ndcg_cut_8", "map"]].tolist() == pytest.approx(ours, abs=1e-6)


def test_a_transformer_is_a_system_with_the_runs_of_its_model(experiment: heed.Experiment, tmp_path: Path) -> None:
    bm25, overlap = experiment.retrieve("bm25"), Overlap()
    direct = experiment.rerank(overlap, bm25)
    around = adapter.system(adapter.reranker(overlap), "around", joined=False)
    through = experiment.rerank(around, bm25)
    found = experiment.retrieve(
        adapter.system(adapter.retriever(experiment.retriever("bm25"), 8), "bm25-pt", joined=False)
    )
    for condition in CONDITIONS:
        assert (through[condition], found[condition]) == (direct[condition], bm25[condition])
        kept = (tmp_path / f"runs/tiny/eng/around.{condition}.run").read_text()
        assert kept.replace("around-", "overlap-") == (tmp_path / f"runs/tiny/eng/overlap.{condition}.run").read_text()


def test_a_transformer_that_knows_no_instruction_reads_it_in_the_query(experiment: heed.Experiment) -> None:
    seen = []

    def words(row: pd.Series) -> float:
        seen.append((row["query"], row["text"]))
        return float(len(set(row["query"].split()) & set(row["text"].split())))

    experiment.rerank(adapter.system(pt.apply.doc_score(words), "words"), {"1": ["d00", "d01"], "2": []})
    [(_, plain), (_, titled)] = seen[:2]
    configs = [
        adapter.system(pt.apply.doc_score(words), "x", joined=one, config={"v": 1}).config for one in (True, False)
    ]
    assert configs[0] != configs[1]  # so that runs of one are not taken for the other's
    with pytest.raises(heed.UsageError, match="bm25"):
        experiment.rerank(adapter.system(pt.apply.doc_score(words), "bm25"), {"1": ["d00"], "2": []})
    assert (plain, titled) == (DOCUMENTS[0].text, f"a text\n{DOCUMENTS[1].text}")
    assert [query for query, _ in seen[::2]] == ["a query", *(TOPICS[0].under(one).text for one in CONDITIONS[1:])]


def test_what_a_transformer_cannot_give_is_an_error(experiment: heed.Experiment) -> None:
    pool = {"1": ["d00", "d01"], "2": []}
    with pytest.raises(heed.ModelError, match="cut: topic 1: no score for d01; a reranker drops none"):
        experiment.rerank(adapter.system(adapter.reranker(Overlap()) % 1, "cut"), pool)
    with pytest.raises(heed.ModelError, match="queries: frame: no column docid or doc_id or docno; it has qid, query"):
        experiment.retrieve(adapter.system(pt.Transformer.identity(), "queries"))
    with pytest.raises(heed.DataError, match="topic 1: comes twice in the frame; keep one"):
        adapter.retriever(experiment.retriever("bm25"))(pd.concat([asked("query")] * 2))
    twice = asked("query").head(1).assign(docno="d00", text="a")
    with pytest.raises(heed.DataError, match="topic 1: a document comes twice in the frame; keep one"):
        adapter.reranker(Overlap())(pd.concat([twice] * 2))
    with pytest.raises(pt.validate.InputValidationError, match="text"):
        adapter.reranker(Overlap())(pd.DataFrame({"qid": ["1"], "query": ["a"], "docno": ["d00"]}))
    with pytest.raises(
        heed.UsageError, match="polarity: needs an index of documents; give the object that an experiment makes of it"
    ):
        adapter.reranker("polarity")


def test_without_pyterrier_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyterrier", None)
    monkeypatch.delitem(sys.modules, "heed.addons.bridges.pyterrier")
    with pytest.raises(heed.UsageError, match="needs PyTerrier; install it with pip install pyterrier"):
        importlib.import_module("heed.addons.bridges.pyterrier")


BOTH = """
import sys
from unittest import mock
import pyterrier as pt
from pyterrier.java import CoreJavaInit
from heed.addons.bridges import pyterrier as adapter
from heed.retrieval.lucene import jvm

order = sys.argv[1]
# what needs Terrier's jars, which come from Maven, is left out: fetching them, and setting the level of its log
own = [one for one in pt.utils.entry_points("pyterrier.java.init") if one.name == "pyterrier.java"]
with mock.patch.object(pt.utils, "entry_points", lambda _: own), mock.patch.object(CoreJavaInit, "post_init"):
    if order == "heed":
        jvm.start("512m")
    if order == "pyterrier":
        pt.java.init()
        jvm.start("512m")
    adapter.start_java("512m")
assert pt.java.started()
assert pt.java.autoclass("java.lang.Runtime").getRuntime().maxMemory() == 512 << 20
print(jvm.java("io.anserini.index.IndexCollection"))
"""


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("both", "io.anserini.index.IndexCollection"),
        ("heed", "Java runs already, without Terrier; call start_java before anything else uses Java"),
        ("pyterrier", "start it for both by heed.addons.bridges.pyterrier.start_java()"),
    ],
)
def test_one_java_serves_pyterrier_and_heed(tmp_path: Path, first: str, said: str) -> None:
    variables = stranger(tmp_path) | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", BOTH, first], env=variables, capture_output=True, text=True, timeout=120
    )
    assert said in (done.stdout if first == "both" else done.stderr), done.stderr
    assert done.returncode == (0 if first == "both" else 1)
