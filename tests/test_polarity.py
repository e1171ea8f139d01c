import json
import math
import random
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, write_jsonl

from heed.errors import UsageError
from heed.io.document_store import open_store
from heed.io.documents import Files
from heed.languages import LANGUAGES, language, script_language
from heed.progress import gathering
from heed.ranking import ranked
from heed.reranking.clauses import split
from heed.reranking.cues import cues, cues_digest, warn_without_cues
from heed.reranking.demotion import demoted, first_kept
from heed.reranking.explain import explain
from heed.reranking.likeness import centroid, vector
from heed.reranking.parts import parts_of
from heed.reranking.polarity import TEXT_SETTINGS, Part, Polarity, Settings, evidence
from heed.retrieval.bm25 import Bm25, Lucene
from heed.retrieval.bm25_index import FIELD, Bm25Settings
from heed.retrieval.corpus import Corpus
from heed.types import Topic

CUED = ("eng", "zho", "rus", "fas", "deu", "fra", "spa", "ara", "jpn")
WRITTEN_APART = ROOT / "tests" / "data" / "clauses"  # its README says by whom and how


@pytest.mark.parametrize(
    ("instruction", "asked", "excluded"),
    [
        ("I want safety data; leave out recalls, prices and adverts.", ["safety"], ["recalls", "prices", "adverts"]),
        ("Do not leave out recalls.", ["recalls"], []),
        ("Recalls are not relevant unless somebody was hurt.", ["hurt"], ["Recalls"]),
        ("All incidents except recalls.", ["incidents"], ["recalls"]),
        ("Not relevant are recalls, except those that harmed people.", ["harmed"], ["recalls"]),
        ("If it does not name a victim, it should be excluded.", ["victim"], []),
        ("Cars rather than bikes, because bikes are noisy.", ["Cars"], ["bikes"]),
        ("Not cars but bikes.", ["bikes"], ["cars"]),
        ("Not only cars but also bikes.", ["cars", "bikes"], []),
        ("Countries that did not sign the treaty.", ["Countries", "sign", "treaty"], []),
        ("No prices, no adverts.", [], ["prices", "adverts"]),
        ("只要性能数据，价格和广告不算。", ["性能"], ["价格", "广告"]),
        ("除疫苗以外的药物都算。", ["药物"], ["疫苗"]),
        ("除了疫苗之外，其余药物一律不收。", ["疫苗"], ["药物"]),
        ("除了疫苗之外，还要说明药物。", ["疫苗", "药物"], []),
        ("幼儿园怎么选？小学先不考虑。", ["幼儿园"], ["小学"]),
        ("文章如果只谈疫苗，没有写到药物，则不算相关。", ["药物"], ["疫苗"]),
        ("疫苗不算，药物同理。", [], ["疫苗", "药物"]),
        ("文章须说明疫苗为何无效。", ["疫苗"], []),
        ("列出不接受疫苗的家庭、不需要签证的国家、特别提到药物的文章。", ["疫苗", "签证", "药物"], []),
        ("疫苗？免了，谢谢。药物我用不上，这类广告别给我了。", [], ["疫苗", "药物"]),
        ("请勿遗漏疫苗。", ["疫苗"], []),
        ("要的不是价格，而是产量。", ["产量"], ["价格"]),
        ("尚未签署条约的国家。", ["签署", "条约"], []),
        ("Нужны сообщения о спорте, кроме футбола.", ["спорте"], ["футбола"]),
        ("Документы о ценах не считаются релевантными.", [], ["ценах"]),
        ("Не о ценах, а о качестве.", ["качестве"], ["ценах"]),
        ("Страны, не подписавшие договор.", ["Страны", "договор"], []),
        ("اسنادی که درباره قیمت هستند مرتبط نیستند.", [], ["قیمت"]),
        ("قیمت؟ نه. رنگ لازم است، وزن را نمی‌خواهم، طول هم همین‌طور.", ["رنگ"], ["قیمت", "وزن", "طول"]),
        ("شرکت‌هایی که ارتباطی با دولت ندارند مرتبط‌اند.", ["شرکت", "دولت"], []),
        ("سند باید نام قربانی را ذکر کند، در غیر این صورت نامرتبط است.", ["قربانی"], []),
        ("قیمت مد نظر ما جداست، بحثش فرق می‌کند، حذف کنید.", [], ["قیمت"]),
        ("همه ورزش‌ها به جز فوتبال لازم است.", ["ورزش"], ["فوتبال"]),
        ("نه قیمت بلکه کیفیت.", ["کیفیت"], ["قیمت"]),
        ("", [], []),
        ("Exclude oil.", [], ["oil"]),
        ("Find fires, excluding gas.", ["fires"], ["gas"]),
        ("Exclude the UK and the US.", [], ["UK", "US"]),
        ("Исключите газ.", [], ["газ"]),
        ("Исключите США.", [], ["США"]),
        ("Leave out articles about the U.S. Senate and its members.", [], ["Senate", "members"]),
        ("Not relevant: recalls, e.g. of toys.", [], ["recalls", "toys"]),
        ("Reports regarding U.S. presidential elections are not relevant. I want polls.", ["polls"], ["Reports"]),
        ("I want polls. Leave out those of Acme Inc. and its clients.", ["polls"], ["Acme", "clients"]),
        ("Documents must not mention recalls.", [], ["recalls"]),
        ("Documents shouldn't discuss recalls.", [], ["recalls"]),
        ("Documents must not merely mention recalls.", ["mention", "recalls"], []),
        ("文档不得提到召回。", [], ["召回"]),
        ("Papers on trade, however long, should be left out.", [], ["Papers", "trade"]),
        ("Bridges that fell while still being built are not relevant.", [], ["Bridges", "built"]),
        ("I would like to ignore those and focus on engines.", ["engines"], []),
        ("Станции за пределами Москвы.", ["Станции"], ["Москвы"]),
        ("Сюда не относятся дела курьеров.", [], ["дела", "курьеров"]),
        ("以药物（包括针剂、药片）为主的文章不再相关。", [], ["药物", "针剂"]),
        ("数据出自企业的，即使充分也不相关。", [], ["企业"]),
        ("گزارش‌هایی که آمارشان رسمی نباشد، مرتبط نیست.", [], []),
        (
            "Rainfall (normals of older years are not accepted) in millimetres.",
            ["Rainfall", "millimetres"],
            ["normals"],
        ),
        ("Quarterly figures are no use, growth rates aren't either.", [], ["Quarterly", "growth"]),
        ("Engines; I don't need prices.", ["Engines"], ["prices"]),
        ("The club doesn't need to have a stadium.", ["stadium"], []),
        ("I do not want rankings: drop whatever has a number.", [], ["rankings", "number"]),
        ("I can't use recalls. Kelvin will not do. Useless: adverts.", [], ["recalls", "Kelvin", "adverts"]),
        ("Please nothing in Fahrenheit. Prices cannot be used.", [], ["Fahrenheit", "Prices"]),
        ("A price disqualifies a table. A date does not disqualify it.", ["date"], ["price"]),
    ],
)
def test_an_instruction_is_split(instruction: str, asked: list[str], excluded: list[str]) -> None:
    found = split(instruction)
    assert [word for word in asked if word not in found.asked] == []
    assert [word for word in excluded if word not in found.excluded] == []
    assert [word for word in asked if word in found.excluded] == []


@pytest.mark.parametrize(
    ("lang", "instruction", "asked", "excluded"),
    [
        ("deu", "Gesucht sind Unfälle, außer solchen mit Rädern. 价格不算。", ["Unfälle"], ["Rädern", "价格"]),
        ("deu", "Preise bitte weglassen.", [], ["Preise"]),
        ("fra", "Tous les sports sauf le football.", ["sports"], ["football"]),
        ("spa", "No precios, sino calidad.", ["calidad"], ["precios"]),
        ("ara", "الأسعار غير مطلوبة.", [], ["الأسعار"]),
        ("jpn", "さっかーはいらない。", [], ["さっかー"]),
        ("jpn", "价格不算。", [], []),
        ("ita", "Nessun prezzo; senza pubblicità.", ["prezzo", "pubblicità"], []),
        ("kor", "가격은 제외한다. Leave out prices.", ["가격"], ["prices"]),
        ("ukr", "Окрім цін.", ["цін"], []),
        ("ja", "価格は不要。", [], ["価格"]),
        ("unheard of", "Engines; leave out prices.", ["Engines"], ["prices"]),
        ("eng", "Preise bitte weglassen.", ["Preise"], []),
    ],
)
def test_an_instruction_is_split_by_the_cues_of_its_language(
    lang: str, instruction: str, asked: list[str], excluded: list[str]
) -> None:
    found = split(instruction, lang)
    assert [word for word in asked if word not in found.asked] == []
    assert [word for word in excluded if word not in found.excluded] == []


@pytest.mark.parametrize(
    ("name", "missed"),
    [
        *((lang, 0.12) for lang in CUED),
        *(("eng-a", 0.06), ("eng-b", 0.09), ("eng-c", 0.24)),
        *(("zho-a", 0.03), ("zho-c", 0.27)),
        *(("fas-a", 0.03), ("fas-c", 0.32)),
        *(("rus-a", 0.04), ("rus-c", 0.27)),
    ],
)
def test_instructions_written_apart_from_the_cues_are_mostly_split_right(name: str, missed: float) -> None:
    """Floors a little under what was measured when the cue lists were finished; see the README there."""
    wrong, total = {"asked": 0, "excluded": 0}, {"asked": 0, "excluded": 0}
    for line in (WRITTEN_APART / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        found = split(item["text"], name[:3])
        for word in item["asked"]:
            wrong["asked"] += _plain(word) in _plain(found.excluded)
            total["asked"] += 1
        for word in item["excluded"]:
            wrong["excluded"] += _plain(word) not in _plain(found.excluded)
            total["excluded"] += 1
    assert wrong["asked"] / total["asked"] < 0.05
    assert wrong["excluded"] / total["excluded"] < missed


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("’", "'").lower()


def test_each_sentence_is_read_in_its_own_language() -> None:
    found = split("只要性能。 Leave out prices. Кроме футбола.")
    assert (found.asked, found.excluded) == ("要性能。", "prices. футбола.")
    scripts = {"价格 price": "zho", "цена и price": "rus", "قیمت": "fas", "price": "eng", "123": "eng"}
    assert {text: script_language(text) for text in scripts} == scripts
    assert script_language("これは価格", "jpn") == "jpn" and script_language("price", "jpn") == "eng"


def test_characters_that_grow_in_lower_case_do_not_shift_the_split() -> None:
    assert split("İİİİ data; leave out prices.").excluded == "prices."


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_languages_cues_compile(lang: str) -> None:
    assert (cues(lang).before.pattern != "(?!)") is (lang in CUED)


def test_cues_of_other_languages_leave_a_systems_settings_as_they_are() -> None:
    """The digest names the cues in every run's settings; this one is of the last change of the first four."""
    assert (
        cues_digest("eng") == cues_digest("fas") == "861bbd3e4263938db4960f108b3c865f7477aca79ac96c35ca024f3ad3b7ec4a"
    )
    assert len({cues_digest(lang) for lang in ("eng", "deu", "jpn", "")}) == 4
    assert cues_digest("ita") == cues_digest("eng")


def test_a_language_without_cues_is_told(polarity: Polarity) -> None:
    topic = Topic("1", "ita", "car", {"original": "Senza price."})
    with gathering([]) as told:
        for condition in ("query", "original", "original"):
            scores(polarity, topic, condition, ["both", "price"])
    warn_without_cues("unheard of")
    [line] = told
    assert line.startswith("no cues for Italian: all of an instruction counts as asked for, nothing as excluded (there")
    assert line.endswith("are cues for eng, zho, rus, fas, deu, fra, spa, ara, jpn)")


@pytest.fixture
def polarity(tmp_path: Path) -> Polarity:
    texts = {"both": "engine price", "engine": "engine speed", "car": "car", "none": "tree", "price": "price price"}
    return reranker(tmp_path, texts)


def reranker(tmp_path: Path, texts: dict[str, str], settings: Settings = TEXT_SETTINGS) -> Polarity:
    records = [{"id": docid, "text": text} for docid, text in texts.items()]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    return Polarity(Bm25("bm25", Corpus(tmp_path, store, language("eng")), Bm25Settings(), Lucene()), settings)


def scores(polarity: Polarity, topic: Topic, condition: str, docids: list[str]) -> list[float]:
    return list(polarity.score(topic.under(condition), polarity._bm25.corpus.documents.get(docids)))


def test_the_score_is_query_plus_asked_minus_excluded_as_far_as_it_may_fall(polarity: Polarity) -> None:
    polarity = Polarity(polarity._bm25, NO_EXAMPLES)
    topic = Topic("1", "eng", "engine", {"original": "Speed; leave out prices and engines."})
    docids = ["both", "engine", "car", "none", "price"]
    searcher = polarity._bm25.searcher
    hits = {term: searcher.search({"q": term}, 10)["q"] for term in ("engine", "price")}
    share = {term: {docid: hits[term].get(docid, 0) / max(hits[term].values()) for docid in docids} for term in hits}
    excluded = 3.5 * share["price"]["both"]  # "engines" is in the query, of which "both" has all
    assert 1 - excluded < 0.2
    # from 0.2 less and less is taken
    # "price" has nothing of the query and of what is asked for, so that nothing can be taken from it
    expected = [0.2 * 0.2 / (2 * 0.2 - 1 + excluded), 1 + 1, 0, 0, 0]
    # Anserini's hits are rounded to 1e-4, and no best one is below 0.4: 0.00025 a share, in sums of 1 + α + β shares
    assert scores(polarity, topic, "original", docids) == pytest.approx(expected, abs=1e-3)
    alone = [share["engine"][docid] for docid in docids]
    assert scores(polarity, topic, "query", docids) == pytest.approx(alone, abs=3e-4)


def test_excluded_words_count_as_far_as_a_document_is_on_the_topic() -> None:
    query, excluded = np.array([1.0, 0.5, 0.0, 0.0]), np.array([1.0, 1.0, 1.0, 0.0])
    parts = [Part("query", 1.0, {}, 1.0, query), Part("excluded", -2.0, {}, 1.0, excluded)]
    assert evidence(parts)["excluded"].tolist() == [-2.0, -1.0, 0.0, 0.0]
    like = Part("like", 1.0, {}, 1.0, np.array([1.0, 0.0, 0.5, 0.0]))
    assert evidence([*parts, like])["excluded"].tolist() == [-2.0, -1.0, -1.0, 0.0]


def test_documents_like_the_best_rise_and_those_like_the_excluded_fall(tmp_path: Path) -> None:
    texts = {
        "best": "car engine turbine",
        "like_best": "car turbine blade",
        "plain": "car paint shade",
        "excluded": "car price discount",
        "like_excluded": "car discount coupon",
        **{f"other{number}": f"tree{number} leaf" for number in range(20)},
    }
    found = reranker(tmp_path, texts, Settings(examples=1))
    topic = Topic("1", "eng", "car", {"original": "Engines; leave out prices."})
    values = dict(zip(texts, scores(found, topic, "original", list(texts)), strict=True))
    best, like, plain, unlike, excluded = (
        values[docid] for docid in ("best", "like_best", "plain", "like_excluded", "excluded")
    )
    assert best > like > plain > unlike > excluded > values["other1"]


def test_the_order_of_documents_does_not_matter(tmp_path: Path) -> None:
    chooser = random.Random(5)
    words = ["car", "engine", "price", "tree", "road", "wheel", "speed", "paint"]
    texts = {f"d{number}": " ".join(chooser.choices(words, k=6)) for number in range(90)}
    texts |= {f"same{number}": "car paint tree leaf" for number in range(70)}  # some of them among the first hundred
    found = reranker(tmp_path, texts)
    topic = Topic("1", "eng", "car road", {"original": "Engines and wheels; leave out prices and paint."})
    docids = list(texts)
    first = dict(zip(docids, scores(found, topic, "original", docids), strict=True))
    unbounded = Polarity(found._bm25, TEXT_SETTINGS._replace(first=0))
    assert scores(unbounded, topic, "original", docids) != list(first.values())  # some are kept among the first
    for _ in range(3):
        chooser.shuffle(docids)
        assert dict(zip(docids, scores(found, topic, "original", docids), strict=True)) == first


def test_explained_contributions_add_up_to_the_score(polarity: Polarity) -> None:
    topic = Topic("1", "eng", "engine", {"original": "Old cars at speed. Leave out prices, though cheap."})
    documents = polarity._bm25.corpus.documents.get(["both", "engine", "price"])
    query = topic.under("original")
    for document, score in zip(documents, polarity.score(query, documents), strict=True):
        found = explain(polarity, query, documents, document.docid)
        wanted = sum(one.value for one in found.contributions if one.value > 0)
        unwanted = -sum(one.value for one in found.contributions if one.value < 0)
        expected = demoted(np.array([wanted]), np.array([unwanted]), floor=0.2)
        assert found.score == score == pytest.approx(expected[0])
    both = explain(polarity, query, documents, "both").contributions
    assert [(one.part, one.term, one.words, one.clauses) for one in both if one.part in ("query", "excluded")] == [
        ("excluded", "price", ("prices",), ("prices,",)),
        ("query", "engin", ("engine",), ("engine",)),
    ]
    with pytest.raises(UsageError, match="document x is not among the 3 documents of topic 1"):
        explain(polarity, query, documents, "x")


NO_EXAMPLES = Settings(like=0, unlike=0)
FULL = {  # 20 documents that have all that is asked for and what is excluded, 80 without it, and 50 with less of all
    **{f"priced{number:02}": "car car engine engine price price" for number in range(20)},
    **{f"wanted{number:02}": f"car engine tree{number}" for number in range(80)},
    **{f"weak{number:02}": f"car tree road wheel leaf paint{number}" for number in range(50)},
}
NO_PRICES = Topic("1", "eng", "car", {"original": "Engines; leave out prices."})


def ranking(found: Polarity, docids: list[str]) -> list[str]:
    return ranked(dict(zip(docids, scores(found, NO_PRICES, "original", docids), strict=True)))


def test_an_exclusion_takes_no_text_out_of_the_first_hundred_but_puts_it_at_their_end(tmp_path: Path) -> None:
    found, docids = reranker(tmp_path, FULL, NO_EXAMPLES), list(FULL)
    order = [docid.rstrip("0123456789") for docid in ranking(found, docids)]
    assert order == ["wanted"] * 80 + ["priced"] * 20 + ["weak"] * 50
    without = Polarity(found._bm25, NO_EXAMPLES._replace(first=0))
    order = [docid.rstrip("0123456789") for docid in ranking(without, docids)]
    assert order == ["wanted"] * 80 + ["weak"] * 50 + ["priced"] * 20
    few = [*docids[:40], *docids[-30:]]  # all of fewer than a hundred are the first hundred
    order = [docid.rstrip("0123456789") for docid in ranking(found, few)]
    assert order == ["wanted"] * 20 + ["weak"] * 30 + ["priced"] * 20


def test_a_document_that_is_kept_among_the_first_hundred_is_said_to_be_raised(tmp_path: Path) -> None:
    found = reranker(tmp_path, FULL, NO_EXAMPLES)
    query, documents = NO_PRICES.under("original"), found._bm25.corpus.documents.get(list(FULL))
    raised = {docid: explain(found, query, documents, docid).raised for docid in ("priced00", "wanted00", "weak00")}
    assert raised == {"priced00": True, "wanted00": False, "weak00": False}


def test_repeated_terms_of_a_query_count_as_bm25_counts_them(polarity: Polarity) -> None:
    topic = Topic("1", "eng", "price engine engine engine", {})
    found = polarity._bm25.search([topic.under("query")], 10)["1"]
    assert list(found) == ["both", "engine", "price"]  # once each, "price price" would be above "engine speed"
    shares = [score / found["both"] for score in found.values()]
    assert scores(polarity, topic, "query", list(found)) == pytest.approx(shares, abs=1e-3)


def test_words_about_the_task_are_no_terms(polarity: Polarity) -> None:
    found = parts_of(
        polarity._bm25.searcher.terms_of_each,
        "car",
        "Relevant documents must mention engines; leave out any document about trees.",
    )
    assert [part.keys() for part in found] == [{"car"}, {"engin"}, {"ani", "tree"}]


def test_a_term_weighs_as_many_sentences_as_ask_for_it_less_those_that_exclude_it(polarity: Polarity) -> None:
    instruction = "Engines, engines and brakes. Old engines. Leave out trees. Leave out engines, brakes and trees."
    found = parts_of(polarity._bm25.searcher.terms_of_each, "car", instruction)
    assert found.asked == {"engin": 2 - 1, "old": 1}  # brakes: once each
    assert found.excluded == {"tree": 2}


def test_two_instructions_give_two_rankings(polarity: Polarity) -> None:
    topic = Topic("1", "eng", "car", {"original": "Engines and prices.", "changed": "Engines; leave out prices."})
    docids = ["both", "engine", "price"]
    assert scores(polarity, topic, "original", docids) != scores(polarity, topic, "changed", docids)


def test_no_documents_give_no_scores(polarity: Polarity) -> None:
    assert scores(polarity, Topic("1", "eng", "car", {}), "query", []) == []


def test_evidence_against_a_document_counts_in_full_down_to_the_floor() -> None:
    found = demoted(np.array([1.0, 1.0, 1.0, 0.0, 0.0]), np.array([0.5, 0.8, 1.8, 3.0, 0.0]), floor=0.2)
    assert found == pytest.approx([0.5, 0.2, 0.2 * 0.2 / (0.4 + 0.8), 0.0, 0.0])
    falling = demoted(np.ones(60), np.arange(60) / 10, floor=0.2)
    assert (np.diff(falling) < 0).all() and falling[-1] > 0


def test_the_documents_with_the_most_wanted_are_raised_above_the_others_in_their_order() -> None:
    wanted, docids = np.array([9.0, 8.0, 7.0, 6.0, 5.0]), ["a", "b", "c", "d", "e"]
    # a, b and c are the first; the best of the others, d, has 5: a and b come between it and c, at a third of
    # the way and as far again as their share of 5
    kept = first_kept(np.array([0.5, 0.25, 6.0, 5.0, 1.0]), wanted, docids, 3)
    assert kept == pytest.approx([5 + 1.1 / 3, 5 + 1.05 / 3, 6.0, 5.0, 1.0])
    kept = first_kept(np.array([0.5, 0.25, 4.0, 5.0, 1.0]), wanted, docids, 3)  # none is above: up to 1 more than d
    assert kept == pytest.approx([5 + 1.1 / 3, 5 + 1.05 / 3, 5 + 1.8 / 3, 5.0, 1.0])
    order = np.array([0.5, 0.25, 0.75, 0.1, 0.2])  # the first are above already, whatever their order
    for same, count in ((order, 3), (order[::-1], 5), (order[::-1], 100), (order[::-1], 0)):
        assert first_kept(same, wanted, docids, count).tolist() == same.tolist()
    assert first_kept(order[:0], wanted[:0], [], 100).tolist() == []


def test_of_documents_with_as_much_wanted_those_are_first_that_a_run_has_first() -> None:
    wanted, scores = np.array([1.0, 1.0, 1.0]), np.array([0.5, 0.5, 0.75])
    # a run has equal scores in the order c, b, a: of a and c the first one is c
    assert first_kept(scores, wanted, ["c", "a", "b"], 1) == pytest.approx([0.75 + (1 + 2 / 3) / 3, 0.5, 0.75])
    assert first_kept(scores, wanted, ["a", "c", "b"], 1) == pytest.approx([0.5, 0.75 + (1 + 2 / 3) / 3, 0.75])
    equal = np.array([0.0, 0.0, 0.0])  # they are first in a run as they are
    assert first_kept(equal, equal, ["a", "b", "c"], 2).tolist() == [0.0, 0.0, 0.0]


def test_a_centroid_has_the_heaviest_terms_of_its_documents() -> None:
    idf = {"car": 3.0, "red": 4.0, "the": 0.0}
    # f / (f + 1): car 2/3 · 3 = 2, red 1/2 · 4 = 2, each 2 / √8 at length 1
    first = vector(["car", "car", "red", "the"], idf)
    assert first == pytest.approx({"car": 0.5**0.5, "red": 0.5**0.5, "the": 0.0})
    second = vector(["red"], idf)
    assert centroid([first, second], 1) == pytest.approx({"red": 0.5**0.5 + 1})
    assert list(centroid([first, second], 2)) == ["car", "red"]


def test_idf_is_lucenes_whether_the_matrix_or_lucene_is_asked(polarity: Polarity) -> None:
    searcher = polarity._bm25.searcher
    # 2 of 5 documents have "engin": ln(1 + (5 − 2 + 0.5) / (2 + 0.5)); none has "bike"
    expected = {"engin": math.log(1 + 3.5 / 2.5), "bike": math.log(1 + 5.5 / 0.5)}
    assert searcher.idf(expected) == pytest.approx(expected, rel=1e-6)
    assert searcher.lucene.idf(FIELD, expected) == searcher.idf(expected)
