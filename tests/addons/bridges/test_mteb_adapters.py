"""MTEB's models in Heed, ``mteb:NAME``, and Heed's in MTEB; real mteb, tiny real models in its registry."""

import json
import math
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import golden_models
import numpy as np
import pytest
import tiny_language_models as tiny
from tiny_mteb import DOCUMENTS, TOPICS, experiment_in, registered, task

import heed
from heed.addons.bridges.mteb import as_mteb

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of mteb's own modules

CONDITIONS = ("original", "changed")
SHAPES = [((3,), (3,)), ((3,), (2, 3)), ((2, 3), (3,)), ((2, 3), (4, 3))]


@pytest.fixture(scope="module")
def monot5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.seq2seq(tmp_path_factory.mktemp("models") / "monot5")


@pytest.fixture(scope="module")
def cross(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT with one label, long enough for all texts whole."""
    return golden_models.pairs(tmp_path_factory.mktemp("models") / "cross")


@pytest.fixture(scope="module")
def registry(monot5: Path, tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> heed.Registry:
    entry = {"family": "seq2seq", "prompt": tiny.T5, "tokens": ["▁false", "▁true"]}
    path = tmp_path_factory.mktemp("registry") / "models.json"
    path.write_text(json.dumps({str(monot5): entry, str(tiny_encoder): {"similarity": "cos"}}))
    return heed.Registry([path])


@pytest.fixture(scope="module", autouse=True)
def models(monot5: Path, tiny_encoder: Path, cross: Path) -> Iterator[None]:
    from mteb.models.model_implementations.rerankers_monot5_based import MonoT5Reranker
    from mteb.models.search_wrappers import SearchEncoderWrapper
    from mteb.models.sentence_transformer_wrapper import CrossEncoderWrapper, SentenceTransformerEncoderWrapper

    def load_monot5(_: str, revision: str, **options: Any) -> Any:
        return MonoT5Reranker(str(monot5), token_false="▁false", token_true="▁true", **options)

    def load_encoder(_: str, revision: str, **options: Any) -> Any:
        return SentenceTransformerEncoderWrapper(str(tiny_encoder), **options)

    def load_cross(_: str, revision: str, **options: Any) -> Any:
        return CrossEncoderWrapper(str(cross), **options)

    def load_search(name: str, revision: str, **options: Any) -> Any:
        return SearchEncoderWrapper(load_encoder(name, revision, **options))

    with registered(
        monot5=("cross-encoder", load_monot5),
        encoder=("dense", load_encoder),
        cross=("cross-encoder", load_cross),
        search=("late-interaction", load_search),
    ):
        yield


@pytest.fixture
def experiment(tmp_path: Path, registry: heed.Registry) -> Iterator[heed.Experiment]:
    with experiment_in(tmp_path, len(DOCUMENTS), registry) as made:
        yield made


POOL = {topic.qid: [document.docid for document in DOCUMENTS] for topic in TOPICS}


def evaluated(model: Any, folder: Path) -> tuple[float, dict[str, dict[str, float]]]:
    """MTEB's p-MRR of a model on the task in memory, and its scores by qid."""
    import mteb

    result = mteb.evaluate(
        model, task(), cache=None, prediction_folder=folder, overwrite_strategy="always", show_progress_bar=False
    )
    [path] = folder.rglob("*_predictions.json")
    [scores] = result.task_results[0].scores["test"]
    return scores["p-MRR"], json.loads(path.read_text())["default"]["test"]


def test_mtebs_monot5_gets_no_instruction_from_mteb_and_heeds_does(
    monot5: Path, registry: heed.Registry, experiment: heed.Experiment, tmp_path: Path
) -> None:
    import mteb

    theirs, scores = evaluated(mteb.get_model("tiny/monot5"), tmp_path / "theirs")
    assert (theirs, scores["1-og"]) == (0, scores["1-changed"])
    ours, scores = evaluated(as_mteb(str(monot5), registry=registry, device="cpu"), tmp_path / "ours")
    runs = experiment.rerank(str(monot5), POOL)
    direct = experiment.evaluate(runs).value(runs.name, "original>changed", "p-MRR")
    assert ours == pytest.approx(direct, abs=1e-6)
    assert ours != 0  # of any size: the tokenizer is trained anew, and differs from process to process
    for condition, ending in (("original", "og"), ("changed", "changed")):
        for qid, found in runs[condition].items():
            assert scores[f"{qid}-{ending}"] == pytest.approx(found, abs=1e-6)


@pytest.mark.golden(program="mteb 2.26.24", compared="scores", systems=("seq2seq", "cross-encoder"))
@pytest.mark.parametrize("name", ["monot5", "cross"])
def test_a_reranker_by_mtebs_code_gets_the_instruction(
    experiment: heed.Experiment, monot5: Path, cross: Path, name: str
) -> None:
    """MTEB's score is a probability, Heed's its logit: log P(true) - log P(false), and before the sigmoid."""
    theirs = experiment.rerank(f"mteb:tiny/{name}", POOL)
    ours = experiment.rerank(str(monot5 if name == "monot5" else cross), POOL)
    assert theirs.name == f"mteb:{name}"
    for condition in ("query", *CONDITIONS):
        for qid, scores in ours[condition].items():
            probabilities = {docid: 1 / (1 + math.exp(-score)) for docid, score in scores.items()}
            assert theirs[condition][qid] == pytest.approx(probabilities, abs=1e-6)
            assert theirs[condition].ranking(qid) == ours[condition].ranking(qid)
    assert theirs["query"] != theirs["original"] != theirs["changed"]
    assert not experiment.warnings


@pytest.mark.golden(program="mteb 2.26.24", compared="scores", systems=("bi-encoder",))
@pytest.mark.parametrize("name", ["encoder", "search"])
def test_a_retriever_by_mtebs_code_finds_what_heeds_does(
    experiment: heed.Experiment, tiny_encoder: Path, name: str
) -> None:
    theirs, ours = experiment.retrieve(f"mteb:tiny/{name}"), experiment.retrieve(str(tiny_encoder))
    for condition in ("query", *CONDITIONS):
        for qid, scores in ours[condition].items():
            assert theirs[condition][qid] == pytest.approx(scores, abs=1e-6)
    assert theirs["original"] != theirs["changed"]
    assert not experiment.warnings


def test_an_encoder_in_mteb_scores_as_in_heed(
    experiment: heed.Experiment, tiny_encoder: Path, registry: heed.Registry, tmp_path: Path
) -> None:
    p_mrr, scores = evaluated(as_mteb(str(tiny_encoder), registry=registry, device="cpu"), tmp_path)
    runs = experiment.retrieve(str(tiny_encoder))
    for condition, ending in (("original", "og"), ("changed", "changed")):
        for qid, found in runs[condition].items():
            assert scores[f"{qid}-{ending}"] == pytest.approx(found, abs=1e-6)
    assert p_mrr == pytest.approx(experiment.evaluate(runs).value(runs.name, "original>changed", "p-MRR"), abs=1e-6)


def test_an_object_in_mteb_gets_query_instruction_and_the_documents_of_a_topic_together(tmp_path: Path) -> None:
    asked: list[tuple[heed.Query, list[heed.Document]]] = []

    class Own:
        name = "own"

        def score(self, query: heed.Query, documents: Any) -> list[float]:
            asked.append((query, list(documents)))
            return [float(len(document.text)) for document in documents]

    model = as_mteb(Own())
    assert model.mteb_model_meta.revision != as_mteb(Own()).mteb_model_meta.revision  # whose scores may be others
    evaluated(model, tmp_path)
    assert [query for query, _ in asked] == [topic.under(condition) for topic in TOPICS for condition in CONDITIONS]
    assert all(documents == DOCUMENTS for _, documents in asked)


@pytest.mark.parametrize("ending", ["-og", "-changed"])
def test_queries_whose_ids_differ_by_an_ending_alone_are_scored_apart(ending: str) -> None:
    """Of one text and without an instruction they are one query in Heed, and two in MTEB, each with its documents."""
    import mteb

    pools: list[list[str]] = []

    class Listwise:
        name = "listwise"

        def score(self, query: heed.Query, documents: Any) -> list[float]:
            pools.append([document.docid for document in documents])
            return [1 / rank for rank in range(1, len(documents) + 1)]

    qids = ["7", f"7{ending}"] * 3
    queries = [{"id": qids[:4], "text": ["a river"] * 4}, {"id": qids[4:], "text": ["a river"] * 2}]  # two batches
    documents = [{"id": list("aAbBcC"), "text": ["a text"] * 6}]
    where = {"task_metadata": mteb.get_task("NFCorpus").metadata, "hf_split": "test", "hf_subset": "default"}
    scores = as_mteb(Listwise()).predict(queries, documents, **where)
    assert pools == [["a", "b", "c"], ["A", "B", "C"]]
    assert scores.tolist() == [1, 1, 1 / 2, 1 / 2, 1 / 3, 1 / 3]


def test_an_encoder_runs_a_summarization_task_of_mteb(tiny_encoder: Path, registry: heed.Registry) -> None:
    import mteb
    from mteb.mocks.mock_tasks.summarization import MockSummarizationTask

    model: Any = as_mteb(str(tiny_encoder), registry=registry, device="cpu")
    result = mteb.evaluate(model, MockSummarizationTask(), cache=None, show_progress_bar=False)
    assert "cosine_spearman" in result.task_results[0].scores["test"][0]
    products = {shapes: model.similarity(np.ones(shapes[0]), np.ones(shapes[1])).shape for shapes in SHAPES}
    assert products == {((3,), (3,)): (), ((3,), (2, 3)): (1, 2), ((2, 3), (3,)): (2, 1), ((2, 3), (4, 3)): (2, 4)}
    assert float(model.similarity([1.0, 2.0], [3.0, 4.0])) == 11.0


def test_what_mteb_cannot_give_is_an_error_that_says_what_to_do(experiment: heed.Experiment) -> None:
    with pytest.raises(heed.ModelError, match=r"mteb:no/model: MTEB does not find this model"):
        experiment.reranker("mteb:no/model")
    with pytest.raises(heed.ModelError, match=r"revision 2 not found for model tiny/cross"):
        experiment.reranker("mteb:tiny/cross@2")
    with pytest.raises(
        heed.UsageError, match="mteb:tiny/cross: has neither search.*; it scores, so use it as a reranker"
    ):
        experiment.retriever("mteb:tiny/cross")
    with pytest.raises(
        heed.UsageError, match="mteb:tiny/search: has no score.*; it searches, so use it as a retriever"
    ):
        experiment.reranker("mteb:tiny/search")
    expected = "code of this model's repository; read it, then give trust_remote_code=True"
    with pytest.raises(heed.UsageError, match=expected):
        experiment.retriever("mteb:nvidia/NV-Embed-v2")
    with pytest.raises(
        heed.UsageError, match="polarity: needs an index of documents; give the object that an experiment makes of it"
    ):
        as_mteb("polarity")


def test_without_mteb_the_message_names_it(monkeypatch: pytest.MonkeyPatch, experiment: heed.Experiment) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("heed.extras.version", missing)
    message = r"needs mteb 2; install it with pip install 'mteb>=2'"
    with pytest.raises(heed.UsageError, match=f"mteb:tiny/cross: {message}"):
        experiment.reranker("mteb:tiny/cross")
    with pytest.raises(heed.UsageError, match=f"heed.addons.bridges.mteb: {message}"):
        as_mteb("polarity")
