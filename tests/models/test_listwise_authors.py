"""List-wise rerankers ask, cut, slide and read answers as their authors' code does, whose results are recorded."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chats import ZEPHYR, Saying, Turned, decoded, greedy, tiny_llama
from conftest import ROOT
from model_inputs import CPU
from tiny_language_models import with_tokens

from heed.models.language_models import load_tokenizer
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers import listwise as listwise_prompt
from heed.models.rerankers.listwise import (
    MAX_POOL,
    PROMPTS,
    STRIDE,
    WINDOW,
    ListwiseReranker,
    Message,
    messages,
    most_words,
    parse_last_line,
    parse_numbers,
    parse_ranking,
    parse_tagged,
    passage,
    pieces,
    whole_ranking,
    windows,
)
from heed.models.rerankers.listwise_local import LocalChat, local_listwise
from heed.models.text import query_text
from heed.types import Document, Query

RECORDED = {
    name: json.loads((ROOT / "tests" / "data" / "golden" / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("rank_llm_2024", "rank_llm_2025", "rank_k", "reason_rank")
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


RANK_K = "hltcoe/Rank-K-32B"
REASON_RANK = ("liuwenhan/reasonrank-7B", "liuwenhan/reasonrank-32B")
FORM = (  # that of Qwen's chat template
    "{%- for one in messages %}<|im_start|>{{ one.role }}\n{{ one.content }}<|im_end|>\n{%- endfor %}"
    "<|im_start|>assistant\n"
)
PASSAGES = [Document(f"d{number}", "", text) for number, text in enumerate(RECORDED["rank_k"]["passages"])]
DOCUMENTS = [
    Document(str(at), one.get("title", ""), one["text"]) for at, one in enumerate(RECORDED["reason_rank"]["documents"])
]
QUERY = "a river?"
THOUGHT = 24  # tokens, of a tiny Rank-K


def thinker(folder: Path, form: str, tokens: tuple[str, ...], merges: bool) -> Path:
    """Random weights, which write anything, with a chat template and room for thoughts."""
    with_tokens("Qwen2", folder, tokens, merges=merges)
    (folder / "chat_template.jinja").write_text(form, encoding="utf-8")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 32768}))
    return folder


@pytest.fixture(scope="module")
def rank_k(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A digit is a token of its own, so some lines are rankings."""
    folder = tmp_path_factory.mktemp("rank-k") / "tiny"
    thinker(folder, f"{FORM}<think>\n", ("[1] > [2]", "[2] = [1]", "</think>"), merges=False)
    return Registry().find(RANK_K)._replace(source=str(folder))


@pytest.fixture(scope="module")
def reason_rank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its tokenizer merges: it is the one that was recorded with."""
    return thinker(tmp_path_factory.mktemp("reason-rank") / "tiny", FORM, (), merges=True)


def asked(name: str, year: int) -> list[Message]:
    """The conversation about the recorded documents as the entry ``name`` puts it."""
    model, recorded = Registry().find(name), RECORDED[f"rank_llm_{year}"]
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
        assert asked(name, 2025) == RECORDED["rank_llm_2025"]["prompts"][prompt]


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
    expected = RECORDED["rank_llm_2024"]["prompts"][prompt]
    for at, name in enumerate(SYSTEMS[prompt]):
        conversation: Any = asked(name, 2024)
        if prompt != "rank_gpt_2024":  # a text, in the model's chat form
            template = ZEPHYR if prompt == "rank_zephyr" else None
            chat = LocalChat(Model(str(tiny_llama(tmp_path / str(at), template))), CPU)
            conversation = chat.text(conversation).removeprefix("<s>")  # which its tokenizer puts first
        assert conversation == expected


@pytest.mark.golden(
    program="rank_llm 0.25.7, rank_llm 0.12.8",
    compared="how many words of each passage a window shows",
    systems=("listwise", "api-chat"),
)
@pytest.mark.parametrize("year", [2024, 2025])
def test_small_windows_show_more_words_of_each_passage(year: int) -> None:
    for prompt, counts in RECORDED[f"rank_llm_{year}"]["words"].items():
        texts = pieces(Model("m", prompt=prompt), "")
        assert {count: most_words(texts, int(count)) for count in counts} == counts, prompt


@pytest.mark.golden(
    program="rank_llm 0.25.7", compared="sliding windows; rankings read from answers", systems=("listwise", "api-chat")
)
def test_windows_slide_and_answers_are_read_as_rank_llm_does() -> None:
    reranker = ListwiseReranker(Model("m"), Turned(), "rank_zephyr")
    for count, slid in RECORDED["rank_llm_2025"]["slid"].items():
        assert [[window.start, window.stop] for window in windows(int(count))] == slid["windows"]
        scores = reranker.score(Query("1", "q", "q", ""), [Document(str(at), "", "a") for at in range(int(count))])
        assert sorted(range(int(count)), key=lambda at: -scores[at]) == slid["order"]
    for window, stride, count, slid in RECORDED["rank_llm_2025"]["sized"]:
        sized = ListwiseReranker(Model("m", window=window, stride=stride), Turned(), "rank_zephyr")
        scores = sized.score(Query("1", "q", "q", ""), [Document(str(at), "", "a") for at in range(count)])
        assert " ".join(map(str, sorted(range(count), key=lambda at: -scores[at]))) == slid, (window, stride, count)
    for answer, order in RECORDED["rank_llm_2025"]["answers"].items():
        assert parse_ranking(answer, 3).order == order
    assert whole_ranking(2) == "[1] > [2]"


@pytest.mark.golden(
    program="rank_llm 0.25.7",
    compared="rankings read from answers that mix `[1]` and `1`",
    systems=(
        "castorini/rank_zephyr_7b_v1_full@rank_llm",
        "castorini/rank_vicuna_7b_v1@rank_llm",
        "HuggingFaceH4/zephyr-7b-beta@rank_llm",
    ),
)
@pytest.mark.parametrize("name", SYSTEMS["rank_llm"])
def test_a_preset_reads_mixed_answers_as_rank_llm_does(name: str) -> None:
    model, documents = Registry().find(name), [Document(str(at), "", "a") for at in range(3)]
    for answer, order in (RECORDED["rank_llm_2025"]["mixed"] | RECORDED["rank_llm_2025"]["answers"]).items():
        scores = ListwiseReranker(model, Saying(answer), "rank_zephyr").score(Query("1", "q", "q", ""), documents)
        assert sorted(range(3), key=lambda at: -scores[at]) == order, answer
    assert parse_numbers("8=[5]", 9).order[:2] == [7, 4] and parse_ranking("8=[5]", 9).order[:2] == [4, 0]


def test_only_the_preset_that_reads_otherwise_has_another_recipe() -> None:
    plain, preset = (
        ListwiseReranker(Registry().find(name), Turned(), "rank_zephyr").config
        for name in (SYSTEMS["rank_zephyr"][0], SYSTEMS["rank_llm"][0])
    )
    assert "form" not in plain and preset["form"]["answer"] == "numbers" and set(plain["texts"]) == set(preset["texts"])


@pytest.mark.golden(program="rank-k rerank.py", compared="the prompt, character for character", systems=(RANK_K,))
def test_the_question_of_rank_k_is_that_of_the_authors_code() -> None:
    """Brackets and line breaks of query and passages included."""
    model = Registry().find(RANK_K)
    query = query_text(model, "a river?", "only documents\nthat name it [2]")
    shown = [passage(model, document, 450) for document in PASSAGES]
    assert messages(PROMPTS["rank_k"], query, shown) == RECORDED["rank_k"]["messages"]
    assert (WINDOW, STRIDE, MAX_POOL) == (20, 10, 100)  # its --rerank_window, --rerank_stride and --rerank_depth


@pytest.mark.golden(program="rank-k rerank.py", compared="windows, and the ranking of a pool", systems=(RANK_K,))
@pytest.mark.parametrize("count", [*RECORDED["rank_k"]["slid"]])
def test_windows_of_rank_k_lie_as_the_authors_code_has_them(count: str) -> None:
    """Those of none and of one document are left out: there is nothing to order."""
    slid = RECORDED["rank_k"]["slid"][count]
    sizes = [window.stop - window.start for window in windows(int(count), fixed=True)]
    assert sizes == [size for size in map(int, slid["windows"].split()) if size > 1]
    pool = [Document(str(number), "", "a") for number in range(int(count))]
    scores = ListwiseReranker(Registry().find(RANK_K), Turned(), "rank_k").score(Query("1", "", QUERY, ""), pool)
    order = sorted(range(len(pool)), key=lambda number: -scores[number])
    assert order == list(map(int, slid["order"].split()))


def test_a_number_of_no_document_is_passed_over() -> None:
    assert parse_last_line("[0] > [2] > [3]", 2).order == [1, 0]  # the authors' code takes 0 for the last passage


@pytest.mark.golden(program="rank-k rerank.py", compared="rankings read from answers", systems=(RANK_K,))
@pytest.mark.parametrize(
    ("answer", "order"), [*zip(*(RECORDED["rank_k"][part] for part in ("answers", "orders")), strict=True)]
)
def test_an_answer_of_rank_k_gives_the_order_of_the_authors_code(answer: str, order: list[int]) -> None:
    assert parse_last_line(answer, len(order)).order == order


def test_rank_k_thinks_greedily_and_its_last_line_is_the_order(rank_k: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(listwise_prompt.PROMPTS, "rank_k", replace(PROMPTS["rank_k"], thought=THOUGHT))
    reranker, folder = local_listwise(rank_k, CPU), Path(rank_k.source)
    for instruction in ("", "only documents that name it"):
        text = f"a river? {instruction}".strip()
        question = messages(PROMPTS["rank_k"], text, RECORDED["rank_k"]["passages"])[0]["content"]
        prompt = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n<think>\n"
        answer = decoded(folder, greedy(folder, prompt, 0, THOUGHT, load_tokenizer(rank_k).eos_token_id))
        assert len(answer) > 10
        order = parse_last_line(answer, len(PASSAGES)).order
        scores = list(reranker.score(Query("1", "", QUERY, instruction), PASSAGES))
        assert scores == [1 / (order.index(number) + 1) for number in range(len(PASSAGES))]
        assert list(reranker.score(Query("1", "", QUERY, instruction), PASSAGES)) == scores


def test_a_document_is_cut_to_tokens_and_the_thought_has_room(rank_k: Model) -> None:
    chat = LocalChat(rank_k, CPU, PROMPTS["rank_k"].thought)
    long = Document("d9", "T", "with numbers 12 " * 90)
    short = chat.shortened(long)
    assert passage(rank_k, short, 450) == f"T {long.text}"[:450].strip()  # a byte is a token here
    conversation = messages(PROMPTS["rank_k"], "q", ["x"])
    room = 24576 - len(chat.question(conversation)) - PROMPTS["rank_k"].thought
    assert room > 15000 and chat.fits(messages(PROMPTS["rank_k"], "q", ["x" * (room + 1)]), "")
    assert not chat.fits(messages(PROMPTS["rank_k"], "q", ["x" * (room + 2)]), "")


@pytest.mark.golden(
    program="ReasonRank e6d3ab4",
    compared="the prompt, character for character, with truncated passages",
    systems=REASON_RANK,
)
@pytest.mark.parametrize("name", REASON_RANK)
def test_the_question_of_reason_rank_is_that_of_the_authors_code(reason_rank: Path, name: str) -> None:
    assert Registry().find(name).document_length == 512
    length = RECORDED["reason_rank"]["length"]
    model = Registry().find(name)._replace(source=str(reason_rank), document_length=length)
    chat = LocalChat(model, CPU)
    shown = [passage(model, chat.shortened(document), 512) for document in DOCUMENTS]
    asked = messages(PROMPTS["reason_rank"], query_text(model, QUERY, "only [2] documents that name it"), shown)
    assert asked == RECORDED["reason_rank"]["messages"]
    assert "(12)\nand  a second line" in asked[1]["content"]


@pytest.mark.golden(program="ReasonRank e6d3ab4", compared="rankings read from answers", systems=REASON_RANK)
@pytest.mark.parametrize(("answer", "order"), RECORDED["reason_rank"]["answers"].items())
def test_an_answer_of_reason_rank_gives_the_order_of_the_authors_code(answer: str, order: list[int]) -> None:
    assert parse_tagged(answer, len(order)).order == order


def test_reason_rank_answers_within_its_thought_and_two_instructions_are_two_questions(
    reason_rank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PROMPTS["reason_rank"].thought == 3072 + 100  # reasoning_maxlen of run_rank_llm.sh
    monkeypatch.setitem(listwise_prompt.PROMPTS, "reason_rank", replace(PROMPTS["reason_rank"], thought=8))
    model = Registry().find(REASON_RANK[0])._replace(source=str(reason_rank))
    reranker, chat = local_listwise(model, CPU), LocalChat(model, CPU, 8)
    asks = [messages(PROMPTS["reason_rank"], f"{QUERY} {one}", ["a", "b"]) for one in ("only a", "only b")]
    assert chat.question(asks[0]) != chat.question(asks[1])
    scores = reranker.score(Query("1", "", QUERY, "only [2] documents that name it"), DOCUMENTS)
    order = parse_tagged(chat.answer(RECORDED["reason_rank"]["messages"], ""), len(DOCUMENTS)).order
    assert list(scores) == [1 / (order.index(number) + 1) for number in range(len(DOCUMENTS))]
