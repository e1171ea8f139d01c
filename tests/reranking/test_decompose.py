from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import write_jsonl
from readings import read_topic

from heed.compute import Compute
from heed.formats.document_store import Corpus, DocumentStore, StoredDocuments, open_store
from heed.formats.documents import Files
from heed.languages import language
from heed.models.encoders import SentenceEncoder
from heed.models.registry.entries import Model, Registry
from heed.reranking.fusion import WEIGHT, Fusion, scaled
from heed.reranking.polarity import Polarity
from heed.reranking.rank_bm25 import RankBm25
from heed.reranking.rescore import PoolDocuments, rescore
from heed.reranking.similarity import PREFIX, TABLE_WEIGHTS, TEXT_WEIGHTS, Decompose, PoolVectors, Similarity, Weights
from heed.retrieval.bm25.index import Bm25, Bm25Settings
from heed.systems.make import Place, make
from heed.tables.documents import Tables
from heed.types import Document, Encoder, Query, Reranker

TEXTS = {"both": "engine price", "engine": "engine speed", "car": "car", "none": "tree", "price": "price price"}
TOPIC = read_topic("car", original="Engines;{ leave out }[-prices.-]", changed="Prices.", reversed="{No }[-trees.-]")
DOCIDS = ["both", "engine", "car", "none", "price"]
CPU = Compute("cpu")


class Counting(Encoder):
    """Words counted, so that every similarity can be worked out by hand: engine, price, car, tree."""

    name, config = "counting", {"encoder": "counting"}
    words = ("engine", "price", "car", "tree")

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def encode_documents(self, documents: Sequence[Document]) -> np.ndarray:
        self.embedded += [document.docid for document in documents]
        return self._counts([document.text for document in documents])

    def encode_queries(self, queries: Sequence[Query]) -> np.ndarray:
        return self._counts([query.text for query in queries])

    def _counts(self, texts: list[str]) -> np.ndarray:
        return np.array([[text.lower().count(word) for word in self.words] for text in texts], dtype=np.float32)


@pytest.fixture
def store(tmp_path: Path) -> DocumentStore:
    records = [{"id": docid, "text": text} for docid, text in TEXTS.items()]
    return open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))


@pytest.fixture
def polarity(store: DocumentStore, tmp_path: Path) -> Polarity:
    return Polarity(Bm25("bm25", Corpus(tmp_path, store, language("eng")), Bm25Settings(), Compute()))


def score(reranker: Reranker, condition: str, docids: Sequence[str] = DOCIDS) -> list[float]:
    documents = [Document(docid, "", TEXTS[docid]) for docid in docids]
    return list(reranker.score(TOPIC.under(condition), documents))


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
def test_the_score_is_query_plus_asked_minus_excluded(condition: str, scores: list[float]) -> None:
    assert score(Decompose(Counting(), Weights(3, 5)), condition) == scores


def test_a_document_is_embedded_once_for_all_conditions() -> None:
    encoder = Counting()
    reranker = Decompose(encoder)
    for condition in ("query", "original", "changed"):
        score(reranker, condition, DOCIDS[:3])
    assert score(reranker, "query", ["price", "car"]) == [0, 1]  # in the order given
    assert encoder.embedded == ["both", "engine", "car", "price"]


def pool_scores(encoder: Counting, corpus: Corpus, docids: Sequence[str] = DOCIDS) -> list[float]:
    """What a reranker of a new process gives."""
    reranker, query = Decompose(encoder, corpus=corpus), TOPIC.under("original")
    reranker.begin([query], lambda _: StoredDocuments(corpus.documents, docids))
    return list(reranker.score(query, StoredDocuments(corpus.documents, docids)))


def test_vectors_are_kept_for_the_next_process_until_documents_or_settings_change(
    store: DocumentStore, tmp_path: Path
) -> None:
    first, second, third, other = Counting(), Counting(), Counting(), Counting()
    corpus = Corpus(tmp_path, store, language("eng"))
    before = pool_scores(first, corpus, DOCIDS[:3])
    assert pool_scores(second, corpus)[:3] == before and second.embedded == DOCIDS[3:]
    assert pool_scores(third, corpus)[:3] == before and third.embedded == []
    other.config = {"encoder": "counting", "pooling": "cls"}
    assert pool_scores(other, corpus)[:3] == before and other.embedded == DOCIDS
    assert len(list((tmp_path / "counting").iterdir())) == 1  # the folder of the earlier settings is gone
    changed = open_store(tmp_path / "changed", Files([write_jsonl(tmp_path / "c.jsonl", [{"id": "car", "text": "c"}])]))
    pool_scores(first, Corpus(tmp_path, changed, language("eng")), ["car"])
    assert first.embedded == [*DOCIDS[:3], "car"]
    passages = Decompose(third, corpus=corpus)  # of a docid that the collection has too
    assert passages.score(TOPIC.under("query"), [Document("car", "", "car car")]) == [2]
    assert Decompose(third, corpus=corpus).score(TOPIC.under("query"), [Document("car", "", "car car")]) == [2]
    assert third.embedded == ["car"]


def test_query_settings_alone_embed_nothing_again(store: DocumentStore, tmp_path: Path) -> None:
    corpus, first, second = Corpus(tmp_path, store, language("eng")), Counting(), Counting()
    second.config = {"encoder": "counting", "query": "q: {query}"}
    assert pool_scores(first, corpus) == pool_scores(second, corpus) and second.embedded == []


class Killed(Counting):
    def encode_documents(self, documents: Sequence[Document]) -> np.ndarray:
        if len(self.embedded) == 4:
            raise KeyboardInterrupt
        return super().encode_documents(documents)


def test_a_kill_costs_a_part_at_most_and_the_bytes_are_the_same(
    store: DocumentStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heed.reranking.similarity.PART", 2)
    whole = [Corpus(tmp_path / name, store, language("eng")) for name in ("killed", "whole")]
    with pytest.raises(KeyboardInterrupt):
        pool_scores(Killed(), whole[0])
    resumed = Counting()
    assert pool_scores(resumed, whole[0]) == pool_scores(Counting(), whole[1])
    assert resumed.embedded == DOCIDS[4:]
    kept = [
        {path.name: path.read_bytes() for path in corpus.folder.rglob("part-*.[nt]*")} for corpus in whole
    ]  # three parts, each with its docids
    assert kept[0] == kept[1] and len(kept[0]) == 6


def test_two_that_keep_vectors_at_once_mix_up_none(tmp_path: Path) -> None:
    folder = tmp_path / "counting" / f"{PREFIX}1"
    keys = {half: [f"{half}{number}" for number in range(60)] for half in "ab"}

    def add(half: str) -> None:
        kept = PoolVectors(folder)
        for number, key in enumerate(keys[half]):
            kept.add([key], np.float32([[number if half == "a" else -number]]))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(add, "ab"))
    numbers = [*range(60)]
    assert PoolVectors(folder).of(keys["a"] + keys["b"])[:, 0].tolist() == numbers + [-number for number in numbers]


def test_nothing_is_asked_of_an_encoder_without_documents() -> None:
    assert score(Decompose(Counting()), "original", []) == []


def test_tables_have_weights_of_their_own(tmp_path: Path) -> None:
    records = [{"id": "t", "text": "| engine |\n|---|\n| 1 |"}]
    tables = open_store(tmp_path / "tables", Tables([write_jsonl(tmp_path / "tables.jsonl", records)], "raw"))
    corpus = Corpus(tmp_path / "index", tables, language("eng"))
    assert Decompose(Counting(), corpus=corpus).config["decompose"][1:] == [*TABLE_WEIGHTS] == [5, 5]
    assert Decompose(Counting()).config["decompose"][1:] == [*TEXT_WEIGHTS] == [1, 1]


def test_a_real_encoder_reads_the_parts_as_queries(tiny_encoder: Path, store: DocumentStore) -> None:
    entry = Model(
        str(tiny_encoder), query="q: {query} {instruction}", document="{text}", pooling="mean", normalize=True
    )
    encoder = SentenceEncoder(entry, CPU)
    parts = [("car", ""), ("car", "Engines;"), ("prices.", "")]
    queries = [Query("1", f"{text} {instruction}".strip(), text, instruction) for text, instruction in parts]
    query, asked, excluded = encoder.encode_queries(queries)
    alpha, beta = TEXT_WEIGHTS
    expected = encoder.encode_documents(store.get(DOCIDS)) @ (query + alpha * asked - beta * excluded)
    reranker = Decompose(encoder)
    assert reranker.name == "decompose:tiny-encoder"
    assert score(reranker, "original") == pytest.approx(expected.tolist(), abs=1e-5)
    assert ranking(reranker, "original") != ranking(reranker, "changed")


def ranking(reranker: Reranker, condition: str) -> list[str]:
    scores = dict(zip(DOCIDS, score(reranker, condition), strict=True))
    return sorted(scores, key=lambda docid: -scores[docid])


def test_other_weights_are_another_config() -> None:
    assert Decompose(Counting()).config != Decompose(Counting(), Weights(9, 9)).config


def test_scores_are_brought_between_0_and_1() -> None:
    assert scaled([-10, 0, 5]) == [0, 10 / 15, 1]
    assert scaled([7, 7]) == [0, 0]
    assert scaled([]) == []


def test_polarity_and_another_are_added_after_scaling(polarity: Polarity) -> None:
    other = Decompose(Counting(), Weights(3, 5))
    fusion = Fusion(polarity, other)
    assert fusion.name == "polarity+decompose:counting"
    fusion.load()
    lexical = score(polarity, "original")
    spread = max(lexical) - min(lexical)
    # decompose gives −2, 3, 4, 0, −10: a spread of 14
    theirs = [8 / 14, 13 / 14, 14 / 14, 10 / 14, 0]
    expected = [(p - min(lexical)) / spread + WEIGHT * o for p, o in zip(lexical, theirs, strict=True)]
    assert score(fusion, "original") == pytest.approx(expected)
    assert score(fusion, "original", []) == []
    assert fusion.config["of"] == [polarity.config, other.config]


class Estimate(Reranker):
    """A reranker that logs what it costs, and what it repaired."""

    name, config = "estimate", {"estimate": 1}

    def __init__(self) -> None:
        self.calls: list[str] = []

    def load(self) -> None:
        self.calls.append("loaded")

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        [query] = queries
        self.calls.append(f"1 {query.condition} {[document.docid for document in documents(query)]}")

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        return [0.0 for _ in documents]

    def finish(self) -> None:
        self.calls.append("finished")


def test_in_a_fusion_the_other_reranker_logs_its_cost_too(
    polarity: Polarity, store: DocumentStore, tmp_path: Path
) -> None:
    other = Estimate()
    pool = PoolDocuments({"1": DOCIDS}, store)
    rescore(Fusion(polarity, other), [TOPIC.under("original")], pool, tmp_path / "journal", store.digest)
    assert other.calls == [f"1 original {DOCIDS}", "finished"]


def test_any_encoder_is_a_reranker_by_its_inner_products_and_embeds_a_document_once(store: DocumentStore) -> None:
    encoder = Counting()
    similarity, documents = Similarity(encoder), store.get(DOCIDS)
    # "car" and "car Engines; leave out prices.": engine, price, car are counted once each
    assert similarity.score(TOPIC.under("query"), documents) == [0, 0, 1, 0, 0]
    assert similarity.score(TOPIC.under("original"), documents) == [2, 1, 1, 0, 2]
    assert encoder.embedded == DOCIDS and similarity.name == "counting"
    assert similarity.score(TOPIC.under("query"), []) == []


def test_an_encoder_may_read_the_query_alone_and_weigh_more_in_a_fusion(polarity: Polarity, tmp_path: Path) -> None:
    encoder = Counting()
    assert Similarity(encoder).config == Similarity(encoder, None, "both").config
    alone = Similarity(encoder, None, "query")
    assert score(alone, "original") == score(alone, "query") == [0, 0, 1, 0, 0]
    assert alone.config == {**Similarity(encoder).config, "reads": "query"}
    place = Place(Registry(), Compute("cpu", fusion_weight=2.0, encoder_reads="query"), polarity._bm25.corpus)
    fusion = make("polarity+test_decompose:Counting", place, Reranker)
    fusion.load()
    lexical = scaled(score(polarity, "original"))
    assert score(fusion, "original") == pytest.approx([lexical[0], lexical[1], lexical[2] + 2, *lexical[3:]])


def test_all_queries_are_encoded_together_also_after_a_kill(store: DocumentStore, tmp_path: Path) -> None:
    class Watching(Counting):
        def encode_queries(self, queries: Sequence[Query]) -> np.ndarray:
            asked.append([query.qid for query in queries])
            return super().encode_queries(queries)

    class Killed(Similarity):
        def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
            if query.qid == "2":
                raise KeyboardInterrupt
            return super().score(query, documents)

    asked: list[list[str]] = []
    queries = [TOPIC._replace(qid=qid).under("original") for qid in "123"]
    pool = PoolDocuments(dict.fromkeys("123", DOCIDS), store)
    with pytest.raises(KeyboardInterrupt):
        rescore(Killed(Watching()), queries, pool, tmp_path / "journal", store.digest)
    rescore(Similarity(Watching()), queries, pool, tmp_path / "journal", store.digest)
    assert asked == [["1", "2", "3"]] * 2
    rescore(Similarity(Watching()), queries, pool, tmp_path / "journal", store.digest)  # all is there
    assert len(asked) == 2


def test_rank_bm25_scores_as_the_library_on_the_terms_that_followirs_code_makes() -> None:
    """Terms by hand after ``evaluate_bm25.py``: stop words and Porter on words between blanks, then no punctuation."""
    from rank_bm25 import BM25Okapi

    documents = [
        Document("a", "Cars", "The engines of cars, running well"),
        Document("b", "", "prices are falling; it's U.S. data"),
        Document("c", "", "..."),
    ]
    # "cars," and "falling;" keep their ends from the stemmer; "it's" is a stop word, "us" comes from "U.S."
    terms = [["car", "engin", "cars", "run", "well"], ["price", "falling", "us", "data"], []]
    query = Query("1", "Running cars? Only US prices", "Running cars?", "Only US prices", "eng", "original")
    asked = ["run", "cars", "us", "price"]  # "only" is a stop word, "cars?" is not stemmed
    reranker = RankBm25()
    assert [reranker.terms(f"{document.title} {document.text}".strip()) for document in documents] == terms
    assert reranker.score(query, documents) == BM25Okapi(terms).get_scores(asked).tolist()
    assert reranker.score(query, documents[2:]) == [0.0]


def test_rank_bm25_keeps_the_terms_of_words_and_not_of_texts_without_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    from nltk.stem import PorterStemmer

    stemmed, stem = list[str](), PorterStemmer.stem
    monkeypatch.setattr(PorterStemmer, "stem", lambda self, word: stemmed.append(word) or stem(self, word))
    reranker, chinese = RankBm25(), "渡轮在暴风雨中沉没。" * 9
    for text in ("Cars, cars run", chinese):
        assert reranker.terms(text) == reranker.terms(text)
    assert stemmed == ["cars,", "cars", "run", chinese, chinese]
