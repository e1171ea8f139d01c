"""MaxP: windows by hand, and documents scored by their best passage with a real, tiny cross-encoder."""

import random
import string
from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from pathlib import Path

import pytest
from conftest import ROOT, Heed, write_jsonl
from hypothesis import given
from hypothesis import strategies as st

from heed.compute import Compute
from heed.errors import HeedError
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Files
from heed.formats.trec_files import read_run
from heed.models.registry.entries import Model
from heed.models.rerankers.cross_encoder import CrossEncoderReranker
from heed.reranking.maxp import Cut, MaxP, Passages, cut_documents, parse_cut, passages
from heed.types import Query, Topic
from pipelines import trec

CUTS = st.integers(1, 40).flatmap(lambda words: st.builds(Cut, st.just(words), st.integers(0, words - 1)))


def words(start: int, end: int) -> str:
    return " ".join(f"w{number}" for number in range(start, end))


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_a_document_without_words_is_one_empty_passage(text: str) -> None:
    assert passages(text, Cut()) == [""]


def test_a_passage_keeps_the_white_space_between_its_words() -> None:
    assert passages(" a\n\nb\t c  d ", Cut(2, 1)) == ["a\n\nb", "b\t c", "c  d"]


def han(start: int, end: int) -> str:
    return "".join(chr(0x4E00 + number) for number in range(start, end))


@pytest.mark.parametrize(
    ("count", "windows"),
    [
        # NeuCLIR 1's Chinese documents: 427.7 words in 743.1 characters, so 400 words are 400 · 743.1 / 427.7 = 694.97
        (695, [(0, 695)]),
        (696, [(0, 695), (348, 696)]),  # 200 words are 347.49 characters, the 348th of which belongs to both
        # from 0, 200 and 400 words (0, 347.49, 694.97) to 400, 600 and 800 (694.97, 1042.46, 1389.95)
        (1390, [(0, 695), (348, 1043), (695, 1390)]),
    ],
)
def test_chinese_characters_count_as_parts_of_words(count: int, windows: list[tuple[int, int]]) -> None:
    assert passages(han(0, count), Cut()) == [han(*window) for window in windows]


@pytest.mark.parametrize(
    ("count", "windows"),
    [
        (1600, [(0, 1600)]),  # 313 characters are 79 words, so four are one
        (1601, [(0, 1600), (800, 1601)]),
    ],
)
def test_four_thai_characters_count_as_a_word(count: int, windows: list[tuple[int, int]]) -> None:
    thai = "".join(chr(0x0E01 + at % 40) for at in range(count))
    assert passages(thai, Cut()) == [thai[begin:end] for begin, end in windows]


def test_a_thai_letter_keeps_its_marks() -> None:
    found = passages("ที่นี่คน" * 50, Cut(1, 0))  # eight characters, of which four are marks
    assert "".join(found) == "ที่นี่คน" * 50 and len(found) >= 80
    assert {part[0] for part in found} <= {*"ทนค"}


@pytest.mark.parametrize(
    ("text", "cut", "expected"),
    [
        # a word is 1, a Chinese character .58: the words end at 1, 1.58, 2.15 and 3.15
        ("ab 中国 cd", Cut(2, 0), ["ab 中国", "cd"]),
        ("ab 中国 cd", Cut(2, 1), ["ab 中国", "中国 cd"]),
        ("GPT模型", Cut(1, 0), ["GPT", "模型"]),  # a change of script is a boundary too
        ("模型GPT模型", Cut(1, 0), ["模型", "GPT", "模型"]),
        ("نشریه‌ها خوب", Cut(1, 0), ["نشریه‌ها", "خوب"]),  # a Persian half space is none
    ],
)
def test_mixed_text_by_hand(text: str, cut: Cut, expected: list[str]) -> None:
    assert passages(text, cut) == expected


@given(st.integers(1, 300), CUTS)
def test_words_between_spaces_are_cut_exactly(count: int, cut: Cut) -> None:
    found = [one.split() for one in passages(words(0, count), cut)]
    step = cut.words - cut.overlap
    assert len(found) == 1 + ceil(max(0, count - cut.words) / step)
    assert all(len(one) == cut.words for one in found[:-1]) and 1 <= len(found[-1]) <= cut.words
    assert all(one[step:] == following[: cut.overlap] for one, following in pairwise(found))
    whole = found[0] + [word for one in found[1:] for word in one[cut.overlap :]]
    assert whole == words(0, count).split()


@given(st.lists(st.sampled_from(["word", "han", "space"]), max_size=300), CUTS)
def test_mixed_text_loses_nothing_and_keeps_its_order(kinds: list[str], cut: Cut) -> None:
    parts = {"word": lambda at: f"w{at}", "han": lambda at: chr(0x4E00 + at), "space": lambda at: " \n"[at % 2]}
    text = "".join(parts[kind](at) for at, kind in enumerate(kinds))
    found = passages(text, cut)
    starts = [text.index(one) for one in found]  # no part comes twice
    ends = [start + len(one) for start, one in zip(starts, found, strict=True)]
    assert starts == sorted(set(starts)) and ends == sorted(set(ends))
    gaps = [text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True) if start > end]
    assert not "".join(gaps).strip()
    for one in found:
        characters = sum("一" <= letter <= "鿿" for letter in one)
        others = len("".join(" " if "一" <= letter <= "鿿" else letter for letter in one).split())
        assert others + characters * 427.7 / 743.1 < cut.words + 1  # boundaries are rounded to the next character


@pytest.mark.parametrize(
    "text", ["", "400", "400/", "/200", "400/400", "200/400", "0/0", "-4/2", "4.5/2", "400/-1", "a/b", "4/2/1", "4 / 2"]
)
def test_bad_cuts_are_errors(text: str) -> None:
    with pytest.raises(HeedError, match="maxp: found .*, expected words/overlap such as 400/200"):
        parse_cut(text)


def test_cuts_are_words_and_overlap_400_by_200_unless_told() -> None:
    assert parse_cut("40/20") == Cut(words=40, overlap=20)
    assert parse_cut("40/0") == Cut(words=40, overlap=0)
    assert parse_cut(trec.parser().parse_args(["--maxp"]).maxp) == Cut(400, 200)
    assert trec.parser().parse_args([]).maxp is None


def plain_scores(folder: Path, query: str, texts: Sequence[str]) -> list[float]:
    """The model's logits by plain transformers, one pair at a time, so without padding."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    bert = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    scores = []
    for text in texts:
        pair = tokenizer(query, text, truncation="only_second", max_length=64, return_tensors="pt")
        with torch.no_grad():
            scores.append(float(bert(**pair).logits[0, 0]))
    return scores


def letters(seed: int, count: int) -> list[str]:
    return random.Random(40 + seed).choices(string.ascii_lowercase, k=count)


# ids that end like those of passages: the second passage of a is a_1, the first of a_1 is a_1_0
LENGTHS = {"a": 45, "a_1": 25, "a_1_0": 8, "a_": 61, "1": 30, "_": 10, "b_10": 120, "b_9": 20, "_2": 0}


@pytest.fixture
def store(tmp_path: Path) -> DocumentStore:
    records = [
        {"id": docid, "title": f"T{seed}", "text": " ".join(letters(seed, count))}
        for seed, (docid, count) in enumerate(LENGTHS.items())
    ]
    return open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))


def over_passages(model: Path) -> MaxP:
    return MaxP(CrossEncoderReranker(Model(str(model)), Compute("cpu")), Cut(20, 10))


def test_a_documents_score_is_the_best_of_its_passages(store: DocumentStore, tiny_cross_encoder: Path) -> None:
    reranker = over_passages(tiny_cross_encoder)
    topic = Topic("1", "eng", "q", {"original": "only x"})
    asked = ["b_10", "a_1", "a", "_2", "1", "a_", "b_9", "_", "a_1_0"]
    found = reranker.score(topic.under("original"), store.get(asked))
    expected, counts, places = {}, {}, []
    for seed, (docid, count) in enumerate(LENGTHS.items()):
        text = letters(seed, count)
        windows = [text[start : start + 20] for start in range(0, max(1, count - 10), 10)]  # 20 words, 10 in common
        scores = plain_scores(tiny_cross_encoder, "q only x", [" ".join([f"T{seed}", *one]) for one in windows])
        expected[docid], counts[docid] = max(scores), len(windows)
        places.append(scores.index(max(scores)))
    assert len(set(places)) > 3  # the best passage is now the first, now a later one
    assert counts == {"a": 4, "a_1": 2, "a_1_0": 1, "a_": 6, "1": 2, "_": 1, "b_10": 11, "b_9": 1, "_2": 1}
    assert dict(zip(asked, found, strict=True)) == pytest.approx(expected, abs=1e-5)
    assert reranker.name == "tiny-cross+maxp"


def test_only_the_documents_asked_for_are_cut(store: DocumentStore, tiny_cross_encoder: Path) -> None:
    reranker = over_passages(tiny_cross_encoder)
    ids = [line.document.docid for line in Passages(store, ["a_1", "a"], Cut(20, 10)).lines() if line.document]
    assert ids == ["a_0", "a_1", "a_2", "a_3", "a_1_0", "a_1_1"]
    assert [passage.docid for passage in cut_documents(store.get(["a", "a_1"]), Cut(20, 10))] == ids
    query = Query("1", "q", "q")
    both = dict(zip(["a_1", "a"], reranker.score(query, store.get(["a_1", "a"])), strict=True))
    for docid, score in both.items():  # whatever else is asked for
        assert reranker.score(query, store.get([docid])) == pytest.approx([score], abs=1e-5)
    assert both["a"] != pytest.approx(both["a_1"], abs=1e-3)
    assert reranker.score(query, []) == []


def test_with_passages_as_long_as_any_document_nothing_changes(tmp_path: Path, heed: Heed) -> None:
    sample = ROOT / "documents" / "neuclir-sample" / "eng.jsonl"
    topics = ROOT / "topics" / "neuclir-sample" / "eng.jsonl"
    options = ("--docs", sample, "--topics", topics, "--retriever", "bm25", "--condition", "changed")
    for more in ((), ("--maxp", "900/0")):
        result = heed("pipelines.trec", *options, *more)
        assert result.returncode == 0, result.stderr
    folder = tmp_path / "runs" / "eng" / "eng"
    plain, cut = (read_run(folder / f"{name}.changed.run") for name in ("polarity", "polarity+maxp"))
    assert cut == {qid: pytest.approx(scores, abs=1e-6) for qid, scores in plain.items()}
