"""List-wise rerankers ask, cut, slide and read answers as two versions of rank_llm do, whose results are recorded."""

import json
from pathlib import Path
from typing import Any

import pytest
from chats import ZEPHYR, Saying, Turned, tiny_llama
from conftest import ROOT
from model_inputs import CPU

from heed.models.registry.entries import Model, Registry
from heed.models.rerankers.listwise import ListwiseReranker, parse_numbers, parse_ranking, whole_ranking
from heed.models.rerankers.listwise_local import LocalChat
from heed.models.rerankers.listwise_prompt import Message, messages, most_words, passage, pieces
from heed.types import Document, Query

GOLDEN = {
    year: json.loads((ROOT / "tests" / "data" / "golden" / f"rank_llm_{year}.json").read_text())
    for year in (2024, 2025)
}
SYSTEMS = {  # whose prompts they are
    "rank_zephyr": ("castorini/rank_zephyr_7b_v1_full", "HuggingFaceH4/zephyr-7b-beta"),
    "rank_vicuna": ("castorini/rank_vicuna_7b_v1",),
    "rank_gpt_2024": ("openai/gpt-4o@infosearch",),
    "rank_gpt": ("openai/gpt-4o",),
    "rank_gemini": ("google/gemini-3-pro-preview",),
    "rank_llm": tuple(
        f"{name}@rank_llm"
        for name in ("castorini/rank_zephyr_7b_v1_full", "castorini/rank_vicuna_7b_v1", "HuggingFaceH4/zephyr-7b-beta")
    ),
}


def asked(name: str, year: int) -> list[Message]:
    """The conversation about the recorded documents as the entry ``name`` puts it."""
    model, recorded = Registry().find(name), GOLDEN[year]
    given = [Document("1", one.get("title", ""), one["text"]) for one in recorded["documents"]]
    shown = [passage(model, one, 300) for one in given]
    return messages(pieces(model, ""), recorded["query"], shown)


@pytest.mark.golden(
    program="rank_llm 0.25.7",
    compared="prompts",
    systems=(
        "openai/gpt-4o",
        "google/gemini-3-pro-preview",
        "castorini/rank_zephyr_7b_v1_full@rank_llm",
        "castorini/rank_vicuna_7b_v1@rank_llm",
        "HuggingFaceH4/zephyr-7b-beta@rank_llm",
    ),
)
@pytest.mark.parametrize("prompt", ["rank_llm", "rank_gpt", "rank_gemini"])
def test_questions_are_those_of_rank_llm(prompt: str) -> None:
    for name in SYSTEMS[prompt]:
        assert asked(name, 2025) == GOLDEN[2025]["prompts"][prompt]


@pytest.mark.golden(
    program="rank_llm 0.12.8, fschat 0.2.36",
    compared="prompts",
    systems=(
        "castorini/rank_zephyr_7b_v1_full",
        "HuggingFaceH4/zephyr-7b-beta",
        "castorini/rank_vicuna_7b_v1",
        "openai/gpt-4o@infosearch",
    ),
)
@pytest.mark.parametrize("prompt", ["rank_zephyr", "rank_vicuna", "rank_gpt_2024"])
def test_questions_are_those_of_rank_llm_in_2024(tmp_path: Path, prompt: str) -> None:
    expected = GOLDEN[2024]["prompts"][prompt]
    for at, name in enumerate(SYSTEMS[prompt]):
        conversation: Any = asked(name, 2024)
        if prompt != "rank_gpt_2024":  # a text, in the model's chat form
            template = ZEPHYR if prompt == "rank_zephyr" else None
            chat = LocalChat(Model(str(tiny_llama(tmp_path / str(at), template))), CPU)
            conversation = chat.text(conversation).removeprefix("<s>")  # which its tokenizer puts first
        assert conversation == expected


@pytest.mark.golden(
    program="rank_llm 0.25.7, rank_llm 0.12.8", compared="words of a passage", systems=("listwise", "api-chat")
)
@pytest.mark.parametrize("year", GOLDEN)
def test_small_windows_show_more_words_of_each_passage(year: int) -> None:
    for prompt, counts in GOLDEN[year]["words"].items():
        texts = pieces(Model("m", prompt=prompt), "")
        assert {count: most_words(texts, int(count)) for count in counts} == counts, prompt


@pytest.mark.golden(
    program="rank_llm 0.25.7", compared="orders of sliding windows, and of answers", systems=("listwise", "api-chat")
)
def test_windows_slide_and_answers_are_read_as_rank_llm_does() -> None:
    reranker = ListwiseReranker(Model("m"), Turned(), "rank_zephyr")
    for count, slid in GOLDEN[2025]["slid"].items():
        scores = reranker.score(Query("1", "q", "q", ""), [Document(str(at), "", "a") for at in range(int(count))])
        assert sorted(range(int(count)), key=lambda at: -scores[at]) == slid["order"]
    for answer, order in GOLDEN[2025]["answers"].items():
        assert parse_ranking(answer, 3).order == order
    assert whole_ranking(2) == "[1] > [2]"


@pytest.mark.golden(
    program="rank_llm 0.25.7",
    compared="orders of answers with numbers in brackets and without",
    systems=(
        "castorini/rank_zephyr_7b_v1_full@rank_llm",
        "castorini/rank_vicuna_7b_v1@rank_llm",
        "HuggingFaceH4/zephyr-7b-beta@rank_llm",
    ),
)
@pytest.mark.parametrize("name", SYSTEMS["rank_llm"])
def test_a_preset_reads_mixed_answers_as_rank_llm_does(name: str) -> None:
    model, documents = Registry().find(name), [Document(str(at), "", "a") for at in range(3)]
    for answer, order in (GOLDEN[2025]["mixed"] | GOLDEN[2025]["answers"]).items():
        scores = ListwiseReranker(model, Saying(answer), "rank_zephyr").score(Query("1", "q", "q", ""), documents)
        assert sorted(range(3), key=lambda at: -scores[at]) == order, answer
    assert parse_numbers("8=[5]", 9).order[:2] == [7, 4] and parse_ranking("8=[5]", 9).order[:2] == [4, 0]


def test_only_the_preset_that_reads_otherwise_has_another_recipe() -> None:
    plain, preset = (
        ListwiseReranker(Registry().find(name), Turned(), "rank_zephyr").config
        for name in (SYSTEMS["rank_zephyr"][0], SYSTEMS["rank_llm"][0])
    )
    assert "form" not in plain and preset["form"]["answer"] == "numbers" and set(plain["texts"]) == set(preset["texts"])
