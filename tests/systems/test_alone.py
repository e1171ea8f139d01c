"""Models alone: the scores and vectors are those of an experiment over the same texts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from letter_encoder import LetterCounts
from model_inputs import queries

import heed
from heed import Document, Query
from heed.compute import Compute

TEXTS = ["a river in spring", "rivers of Persia", "no water at all"]
INSTRUCTION = "Only what is about Persia."


class Overlap:
    name = "overlap"
    closed = 0

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        words = set(query.text.lower().replace(".", "").split())
        return [float(len(words & set(document.text.lower().split()))) for document in documents]

    def close(self) -> None:
        self.closed += 1


def test_an_object_scores_texts_for_query_and_instruction() -> None:
    overlap = Overlap()
    with heed.reranker(overlap) as alone:
        assert alone.score("river", TEXTS) == [1, 0, 0]
        assert alone.score("river", TEXTS, instruction=INSTRUCTION) == [1, 1, 0]
        assert alone.score(Query("7", query="river", instruction="water"), [Document("d", "", "water")]) == [1]
        assert repr(alone) == "<TextReranker overlap>" and alone.config is None
        assert alone.score("river", []) == [] and overlap.closed == 0
    assert overlap.closed == 1


def test_a_folder_scores_as_sentence_transformers_does(tiny_cross_encoder: Path) -> None:
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    model = CrossEncoder(str(tiny_cross_encoder), device="cpu", local_files_only=True)
    pairs = [(f"river {INSTRUCTION}", text) for text in TEXTS]
    expected = model.predict(pairs, activation_fn=Identity(), show_progress_bar=False)
    with heed.reranker(str(tiny_cross_encoder), device="cpu") as alone:
        np.testing.assert_allclose(alone.score("river", TEXTS, INSTRUCTION), expected, atol=1e-5)
        assert alone.score("river", TEXTS) != alone.score("river", TEXTS, INSTRUCTION)
        by_query = alone.score(queries([("river", INSTRUCTION)])[0], [Document("", "", text) for text in TEXTS])
        assert by_query == alone.score("river", TEXTS, INSTRUCTION)


def test_an_encoder_compares_as_its_folder_says(tiny_encoder: Path) -> None:
    with heed.encoder(str(tiny_encoder), compute=Compute("cpu")) as encoder:
        asked = encoder.encode_queries(["river", "river"], INSTRUCTION)
        vectors = encoder.encode_documents(TEXTS)
        similarity = encoder.similarity(asked, vectors)
        assert asked.shape == (2, 32) and vectors.shape == (3, 32) and similarity.shape == (2, 3)
        assert encoder.cosine and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
        assert np.allclose(encoder.encode_queries(["river"]), encoder.encode_queries([Query("1", "river")]))
        assert not np.allclose(encoder.encode_queries(["river"]), asked[:1])
        with heed.reranker(encoder) as reranker:
            np.testing.assert_allclose(reranker.score("river", TEXTS, INSTRUCTION), similarity[0], atol=1e-6)


def test_models_alone_are_systems_of_an_experiment(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    documents = [Document(f"d{number}", "", text) for number, text in enumerate(TEXTS)]
    collection = heed.Collection(
        "rivers", "eng", heed.language("eng"), heed.Documents(documents), [heed.Topic("1", "eng", "river", {})],
        heed.Judging({}),
    )  # fmt: skip
    with (
        heed.encoder(str(tiny_encoder), device="cpu") as encoder,
        heed.reranker(Overlap()) as overlap,
        heed.Experiment(collection, device="cpu") as experiment,
    ):
        run = experiment.retrieve(encoder)["query"]["1"]
        assert experiment.rerank(overlap, {"1": ["d0", "d2"]})["query"] == {"1": {"d0": 1, "d2": 0}}
        [expected] = encoder.similarity(encoder.encode_queries(["river"]), encoder.encode_documents(documents))
        assert experiment.rerank(encoder, {"1": list(run)})["query"]["1"] == pytest.approx(run, abs=1e-6)
        letters = LetterCounts()  # of the user's own
        scores = experiment.rerank(letters, {"1": ["d0", "d2"]})["query"]["1"]
        assert list(scores.values()) == heed.reranker(letters).score("river", [TEXTS[0], TEXTS[2]])
        assert {docid: pytest.approx(score, abs=1e-6) for docid, score in run.items()} == dict(
            zip(("d0", "d1", "d2"), expected, strict=True)
        )


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda: heed.reranker("polarity"),
            "polarity: needs an index of documents; give the object that an experiment makes",
        ),
        (lambda: heed.reranker("no-such-model"), "no-such-model"),
        (lambda: heed.encoder(Overlap()), "test_alone:Overlap: has no encode_documents and encode_queries; it scores"),
        (lambda: heed.reranker(Overlap(), device="cpu", compute=Compute()), "device and threads beside compute"),
        (lambda: heed.reranker(Overlap()).score("q", "text"), "texts: found one text, expected a list of texts"),
        (lambda: heed.reranker(Overlap()).score(Query("1", "q"), TEXTS, "only"), "instruction beside a heed.Query"),
        (lambda: heed.reranker(Overlap()).score("q", TEXTS, lang="tlh"), "lang: found 'tlh'"),
        (lambda: heed.reranker(Overlap), "type: .*; give an object, such as Overlap"),
        (lambda: heed.encoder(LetterCounts()).encode_queries("q"), "queries: found one text, expected a list of texts"),
    ],
    ids=("polarity", "unknown", "no-encoder", "device", "one-text", "two-texts", "language", "class", "one-query"),
)
def test_what_cannot_be_is_an_error(call: object, problem: str) -> None:
    with pytest.raises(heed.UsageError, match=problem):
        call()  # type: ignore[operator]


def test_a_file_is_no_model_and_may_be_a_program(tmp_path: Path) -> None:
    (tmp_path / "score.py").touch()
    with pytest.raises(heed.UsageError, match=r"score.py: a file; a program that scores is given as command:"):
        heed.reranker(str(tmp_path / "score.py"))


def attribute(query: Query, documents: Sequence[Document]) -> list[float]:
    return [len(document.txt) for document in documents]  # type: ignore[attr-defined]


def library(query: Query, documents: Sequence[Document]) -> list[float]:
    return list(np.reshape([1.0] * len(documents), (2, 2)))


def narrow(query: Query) -> list[float]:
    return []


@pytest.mark.parametrize(
    ("score", "problem"),
    [
        (attribute, r"AttributeError: .*txt.* \(test_alone.py, line "),
        (library, r"ValueError: .* \(test_alone.py, line "),  # the line of the class, not of the library
        (narrow, r"TypeError: .*1 positional argument but 2 were given; debug"),  # no line of Heed's
    ],
)
def test_an_error_in_a_class_of_the_users_names_its_topic_and_line(score: Any, problem: str) -> None:
    overlap = Overlap()
    overlap.score = score  # type: ignore[method-assign]
    with pytest.raises(heed.ModelError, match=f"overlap: topic 7: score raised {problem}"):
        heed.reranker(overlap).score(Query("7", "q"), TEXTS)


def test_a_class_is_named_as_in_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_alone.py").write_text(
        "class Length:\n    name = 'length'\n    def score(self, query, documents):\n"
        "        return [len(document.text) for document in documents]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert heed.reranker("mine_alone:Length").score("q", ["ab", "a"]) == [2, 1]


def test_a_class_that_inherits_is_checked_as_others() -> None:
    class Heir(heed.Reranker):
        name, config = "heir", {"version": 1}

        def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
            return [1.0]

    alone = heed.reranker(Heir())
    assert alone.config and alone.config.keys() == {"version", "module's code"}
    with pytest.raises(heed.ModelError, match="heir: topic 1: 1 scores for 3 documents; return one score for each"):
        alone.score("river", TEXTS)


def test_what_a_class_that_inherits_overrides_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls: list[str] = []

    class Heir(heed.Reranker):
        name, at_once = "heir", 2

        def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
            calls.append(f"begin {[len(documents(query)) for query in queries]}")

        def score_all(self, pairs: Iterable[tuple[Query, Sequence[Document]]]) -> Iterator[list[float]]:
            queries = list(pairs)
            calls.append(f"all {len(queries)}")
            yield from ([float(len(queries))] * len(documents) for _, documents in queries)

        def finish(self) -> None:
            calls.append("finish")

    class Batches(LetterCounts):
        cosine = True

        def encode_batches(self, batches: Iterable[Sequence[Document]]) -> Iterator[np.ndarray]:
            for batch in batches:
                calls.append(f"batch {len(batch)}")
                yield self.encode_documents(batch)

    alone = heed.reranker(Heir())
    assert alone.system.at_once == 2 and heed.encoder(Batches()).cosine
    with heed.Experiment(heed.load("neuclir-sample", lang="eng"), device="cpu", conditions=["query"]) as experiment:
        docids = list(experiment.documents.docids())[:4]
        run = experiment.rerank(Heir(), {"01": docids[:2], "02": docids})["query"]
        assert run["01"] == dict.fromkeys(docids[:2], 12)  # topics, two with a pool
        experiment.retrieve(heed.encoder(Batches()))
        pool, polarity = {"01": list(experiment.documents.docids())}, heed.reranker(experiment.reranker("polarity"))
        of_passages = experiment.rerank(polarity, pool, maxp=heed.Cut(50, 20))["query"]["01"]
        assert any(of_passages.values())  # the passages have an index of their own
    assert calls == [f"begin {[2, 4] + 10 * [0]}", "all 12", "finish", f"batch {experiment.documents.count}"]

    class Short(Heir):
        def score_all(self, pairs: Iterable[tuple[Query, Sequence[Document]]]) -> Iterator[list[float]]:
            yield from ([1.0] for _ in pairs)

    with pytest.raises(heed.ModelError, match="heir: topic 1: 1 scores for 3 documents; return one score for each"):
        list(heed.reranker(Short()).system.score_all([(Query("1", "q"), [Document(text, "", text) for text in TEXTS])]))
