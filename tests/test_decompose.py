from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from conftest import write_jsonl
from heed.reranking.rescoring import Reranker, rerank
from heed.retrieval.retrievers import Bm25, Shelf

from heed.io.document_store import DocumentStore, open_store
from heed.io.documents import Files
from heed.languages import language
from heed.models.cross_encoder import CrossEncoderReranker
from heed.models.encoders import SentenceEncoder
from heed.models.registry import Model
from heed.reranking.decompose import WEIGHTS, Decompose, Weights
from heed.reranking.fusion import WEIGHT, Fusion, scaled
from heed.reranking.polarity import Polarity
from heed.retrieval.bm25 import Weights as Bm25Weights
from heed.types import JOIN, Document, Topic

TEXTS = {"both": "engine price", "engine": "engine speed", "car": "car", "none": "tree", "price": "price price"}
TOPIC = Topic(
    "1", "eng", "car", {"original": "Engines; leave out prices.", "changed": "Prices.", "reversed": "No trees."}
)
DOCIDS = ["both", "engine", "car", "none", "price"]


class Counting:
    """Words counted, so that every similarity can be worked out by hand: engine, price, car, tree."""

    name, recipe = "counting", {"encoder": "counting"}
    words = ("engine", "price", "car", "tree")

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def documents(self, documents: Sequence[Document]) -> np.ndarray:
        self.embedded += [document.docid for document in documents]
        return self._counts([document.text for document in documents])

    def queries(self, topics: Sequence[tuple[str, str]]) -> np.ndarray:
        return self._counts([" ".join(one) for one in topics])

    def _counts(self, texts: list[str]) -> np.ndarray:
        return np.array([[text.lower().count(word) for word in self.words] for text in texts], dtype=np.float32)


@pytest.fixture
def store(tmp_path: Path) -> DocumentStore:
    records = [{"id": docid, "text": text} for docid, text in TEXTS.items()]
    return open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))


@pytest.fixture
def polarity(store: DocumentStore, tmp_path: Path) -> Polarity:
    return Polarity(Bm25("bm25", Shelf(tmp_path, store, language("eng"), JOIN, Bm25Weights(), "exact", "cpu", 1)))


@pytest.mark.parametrize(
    ("condition", "scores"),
    [
        # the query is "car"; α = 3, β = 5
        ("query", [0, 0, 1, 0, 0]),
        # d·q + 3 d·(car engines) − 5 d·(prices): both 0 + 3·1 − 5·1, engine 0 + 3·1, car 1 + 3·1, price −5·2
        ("original", [-2, 3, 4, 0, -10]),
        # nothing excluded: both 3·1, car 1 + 3·1, price 3·2
        ("changed", [3, 0, 4, 0, 6]),
        # nothing asked: none −5·1
        ("reversed", [0, 0, 1, -5, 0]),
    ],
)
def test_the_score_is_query_plus_asked_minus_excluded(
    store: DocumentStore, condition: str, scores: list[float]
) -> None:
    assert Decompose(Counting(), store, Weights(3, 5)).score(TOPIC, condition, DOCIDS) == scores


def test_a_document_is_embedded_once_for_all_conditions(store: DocumentStore) -> None:
    encoder = Counting()
    reranker = Decompose(encoder, store)
    for condition in ("query", "original", "changed"):
        reranker.score(TOPIC, condition, DOCIDS[:3])
    assert reranker.score(TOPIC, "query", ["price", "car"]) == [0, 1]  # in the order that is asked for
    assert encoder.embedded == ["both", "engine", "car", "price"]


def test_nothing_is_asked_of_an_encoder_without_documents(store: DocumentStore) -> None:
    assert list(Decompose(Counting(), store).score(TOPIC, "original", [])) == []


def test_a_real_encoder_reads_the_parts_as_queries(tiny_encoder: Path, store: DocumentStore) -> None:
    entry = Model(
        str(tiny_encoder), query="q: {query} {instruction}", document="{text}", pooling="mean", normalize=True
    )
    encoder = SentenceEncoder(entry, "cpu")
    query, asked, excluded = encoder.queries([("car", ""), ("car", "Engines;"), ("prices.", "")])
    expected = encoder.documents(store.get(DOCIDS)) @ (query + WEIGHTS.alpha * asked - WEIGHTS.beta * excluded)
    reranker = Decompose(encoder, store)
    assert reranker.name == "decompose:tiny-encoder"
    assert reranker.score(TOPIC, "original", DOCIDS) == pytest.approx(expected.tolist(), abs=1e-5)
    assert ranking(reranker, "original") != ranking(reranker, "changed")


def ranking(reranker: Reranker, condition: str) -> list[str]:
    scores = dict(zip(DOCIDS, reranker.score(TOPIC, condition, DOCIDS), strict=True))
    return sorted(scores, key=lambda docid: -scores[docid])


def test_other_weights_are_another_recipe(store: DocumentStore) -> None:
    assert Decompose(Counting(), store).recipe != Decompose(Counting(), store, Weights(9, 9)).recipe


def test_scores_are_brought_between_0_and_1() -> None:
    assert scaled([-10, 0, 5]) == [0, 10 / 15, 1]
    assert scaled([7, 7]) == [0, 0]
    assert scaled([]) == []


def test_polarity_and_another_are_added_after_scaling(store: DocumentStore, polarity: Polarity) -> None:
    other = Decompose(Counting(), store, Weights(3, 5))
    fusion = Fusion(polarity, other, weight=2)
    assert fusion.name == "polarity+decompose:counting"
    fusion.prepare()
    lexical = polarity.score(TOPIC, "original", DOCIDS)
    spread = max(lexical) - min(lexical)
    # decompose gives −2, 3, 4, 0, −10: a spread of 14
    theirs = [8 / 14, 13 / 14, 14 / 14, 10 / 14, 0]
    expected = [(p - min(lexical)) / spread + 2 * o for p, o in zip(lexical, theirs, strict=True)]
    assert fusion.score(TOPIC, "original", DOCIDS) == pytest.approx(expected)
    assert list(fusion.score(TOPIC, "original", [])) == []


def test_a_cross_encoder_can_be_added_too(tiny_cross_encoder: Path, store: DocumentStore, polarity: Polarity) -> None:
    other = CrossEncoderReranker(Model(str(tiny_cross_encoder)), store, "cpu")
    fusion = Fusion(polarity, other)
    ours, theirs = (scaled(one.score(TOPIC, "changed", DOCIDS)) for one in (polarity, other))
    assert fusion.score(TOPIC, "changed", DOCIDS) == [p + WEIGHT * o for p, o in zip(ours, theirs, strict=True)]
    assert ranking(fusion, "original") != ranking(fusion, "changed")
    assert fusion.recipe["of"] == [polarity.recipe, other.recipe]


class Telling:
    """A reranker that tells what it costs, and what it mended."""

    name, recipe = "telling", {"telling": 1}

    def __init__(self) -> None:
        self.told: list[str] = []

    def prepare(self) -> None:
        self.told.append("prepared")

    def begin(self, topics: Sequence[Topic], condition: str, pooled: Mapping[str, list[str]]) -> None:
        self.told.append(f"{len(topics)} {condition} {pooled}")

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> list[float]:
        return [0.0 for _ in docids]

    def finish(self) -> None:
        self.told.append("finished")


def test_in_a_fusion_the_other_reranker_tells_its_cost_too(polarity: Polarity, tmp_path: Path) -> None:
    telling = Telling()
    rerank(Fusion(polarity, telling), [TOPIC], "original", {"1": DOCIDS}, tmp_path / "journal")
    assert telling.told == [f"1 original {{'1': {DOCIDS}}}", "finished"]
