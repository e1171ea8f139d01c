"""Rank-K: its question and the orders of its answers against its authors' code, and how it is decoded here."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from chats import Turned
from conftest import ROOT
from model_inputs import CPU
from tiny_language_models import with_tokens

from heed.models.registry.entries import Model, Registry
from heed.models.rerankers import listwise_prompt
from heed.models.rerankers.listwise import MAX_POOL, STRIDE, WINDOW, ListwiseReranker, parse_last_line, windows
from heed.models.rerankers.listwise_local import LocalChat, local_listwise
from heed.models.rerankers.listwise_prompt import PROMPTS, messages, passage
from heed.models.text.templates import query_text
from heed.types import Document, Query

NAME = "hltcoe/Rank-K-32B"
RECORDED = json.loads((ROOT / "tests" / "data" / "golden" / "rank_k.json").read_text(encoding="utf-8"))
FORM = (  # that of Qwen's chat template for one question
    "{%- for one in messages %}<|im_start|>{{ one.role }}\n{{ one.content }}<|im_end|>\n{%- endfor %}"
    "<|im_start|>assistant\n<think>\n"
)
DOCUMENTS = [Document(f"d{number}", "", text) for number, text in enumerate(RECORDED["passages"])]
LONG = Document("d9", "T", "with numbers 12 " * 90)
THOUGHT = 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights, which write anything; a digit is a token of its own, so some lines are rankings."""
    folder = with_tokens("Qwen2", tmp_path_factory.mktemp("rank-k") / "tiny", ("[1] > [2]", "[2] = [1]", "</think>"))
    (folder / "chat_template.jinja").write_text(FORM, encoding="utf-8")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 32768}))
    return folder


def entry(folder: Path, **settings: Any) -> Model:
    return Registry().find(NAME)._replace(source=str(folder), **settings)


def asked(instruction: str) -> Query:
    return Query("1", "", "a river?", instruction)


@pytest.mark.golden(program="rank-k rerank.py", compared="the question, character for character", systems=(NAME,))
def test_the_question_is_that_of_the_authors_code() -> None:
    """Brackets and line breaks of query and passages included."""
    model = Registry().find(NAME)
    query = query_text(model, "a river?", "only documents\nthat name it [2]")
    shown = [passage(model, document, 450) for document in DOCUMENTS]
    assert messages(PROMPTS["rank_k"], query, shown) == RECORDED["messages"]
    assert (WINDOW, STRIDE, MAX_POOL) == (20, 10, 100)  # its --rerank_window, --rerank_stride and --rerank_depth


@pytest.mark.golden(program="rank-k rerank.py", compared="windows and orders of pools", systems=(NAME,))
@pytest.mark.parametrize("count", [*RECORDED["slid"]])
def test_windows_lie_as_the_authors_code_has_them(count: str) -> None:
    """Those of none and of one document are left out: there is nothing to order."""
    slid = RECORDED["slid"][count]
    sizes = [window.stop - window.start for window in windows(int(count), fixed=True)]
    assert sizes == [size for size in map(int, slid["windows"].split()) if size > 1]
    pool = [Document(str(number), "", "a") for number in range(int(count))]
    scores = ListwiseReranker(Registry().find(NAME), Turned(), "rank_k").score(asked(""), pool)
    order = sorted(range(len(pool)), key=lambda number: -scores[number])
    assert order == list(map(int, slid["order"].split()))


def test_25_documents_have_three_windows() -> None:
    assert windows(25, fixed=True) == [slice(20, 25), slice(10, 25), slice(0, 20)]
    assert parse_last_line("[0] > [2]", 2).order == [1, 0]  # the authors' code takes 0 for the last passage


@pytest.mark.golden(program="rank-k rerank.py", compared="orders", systems=(NAME,))
@pytest.mark.parametrize(("answer", "order"), [*zip(RECORDED["answers"], RECORDED["orders"], strict=True)])
def test_an_answer_gives_the_order_of_the_authors_code(answer: str, order: list[int]) -> None:
    assert parse_last_line(answer, len(order)).order == order


def written(folder: Path, question: str) -> str:
    """What the model writes, the likeliest token each time, by plain transformers."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    ids: list[int] = tokenizer(question)["input_ids"]
    start = len(ids)
    with torch.no_grad():
        while len(ids) < start + THOUGHT and ids[-1] != tokenizer.eos_token_id:
            ids.append(int(network(torch.tensor([ids])).logits[0, -1].argmax()))
    return str(tokenizer.decode(ids[start:], skip_special_tokens=True))


def test_it_thinks_greedily_and_its_last_line_is_the_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(listwise_prompt.PROMPTS, "rank_k", PROMPTS["rank_k"]._replace(thought=THOUGHT))
    reranker = local_listwise(entry(folder), CPU)
    for instruction in ("", "only documents that name it"):
        text = f"a river? {instruction}".strip()
        question = messages(PROMPTS["rank_k"], text, RECORDED["passages"])[0]["content"]
        answer = written(folder, f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n<think>\n")
        assert len(answer) > 10
        order = parse_last_line(answer, len(DOCUMENTS)).order
        scores = list(reranker.score(asked(instruction), DOCUMENTS))
        assert scores == [1 / (order.index(number) + 1) for number in range(len(DOCUMENTS))]
        assert list(reranker.score(asked(instruction), DOCUMENTS)) == scores


def test_a_document_is_cut_to_tokens_and_the_thought_has_room(folder: Path) -> None:
    model = entry(folder)
    chat = LocalChat(model, CPU, PROMPTS["rank_k"].thought)
    short = chat.shortened(LONG)
    assert passage(model, short, 450) == f"T {LONG.text}"[:450].strip()  # a byte is a token here
    conversation = messages(PROMPTS["rank_k"], "q", ["x"])
    room = 24576 - len(chat.question(conversation)) - PROMPTS["rank_k"].thought
    assert room > 15000 and chat.fits(messages(PROMPTS["rank_k"], "q", ["x" * (room + 1)]), "")
    assert not chat.fits(messages(PROMPTS["rank_k"], "q", ["x" * (room + 2)]), "")
