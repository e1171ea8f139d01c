"""ReasonRank: its question, its passages and the orders of its answers against its authors' code."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from model_inputs import CPU
from tiny_language_models import with_tokens

from heed.models.registry.entries import Model, Registry
from heed.models.rerankers import listwise_prompt
from heed.models.rerankers.listwise import parse_tagged
from heed.models.rerankers.listwise_local import LocalChat, local_listwise
from heed.models.rerankers.listwise_prompt import PROMPTS, messages, passage
from heed.models.text.templates import query_text
from heed.types import Document, Query

NAMES = ("liuwenhan/reasonrank-7B", "liuwenhan/reasonrank-32B")
RECORDED = json.loads((ROOT / "tests" / "data" / "golden" / "reason_rank.json").read_text(encoding="utf-8"))
FORM = (  # that of Qwen's chat template
    "{%- for one in messages %}<|im_start|>{{ one.role }}\n{{ one.content }}<|im_end|>\n{%- endfor %}"
    "<|im_start|>assistant\n"
)
DOCUMENTS = [Document(str(at), one.get("title", ""), one["text"]) for at, one in enumerate(RECORDED["documents"])]
QUERY, INSTRUCTION = "a river?", "only [2] documents that name it"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights, with a tokenizer that merges: it is the one that was recorded with."""
    folder = with_tokens("Qwen2", tmp_path_factory.mktemp("reason-rank") / "tiny", (), merges=True)
    (folder / "chat_template.jinja").write_text(FORM, encoding="utf-8")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 32768}))
    return folder


def entry(folder: Path, name: str = NAMES[0], **settings: Any) -> Model:
    return Registry().find(name)._replace(source=str(folder), **settings)


@pytest.mark.golden(
    program="ReasonRank e6d3ab4", compared="the question, character for character, with cut passages", systems=NAMES
)
@pytest.mark.parametrize("name", NAMES)
def test_the_question_is_that_of_the_authors_code(folder: Path, name: str) -> None:
    assert Registry().find(name).document_length == 512
    model = entry(folder, name, document_length=RECORDED["length"])
    chat = LocalChat(model, CPU)
    shown = [passage(model, chat.shortened(document), 512) for document in DOCUMENTS]
    asked = messages(PROMPTS["reason_rank"], query_text(model, QUERY, INSTRUCTION), shown)
    assert asked == RECORDED["messages"]
    assert "(12)\nand  a second line" in asked[1]["content"]


@pytest.mark.golden(program="ReasonRank e6d3ab4", compared="orders", systems=NAMES)
@pytest.mark.parametrize(("answer", "order"), RECORDED["answers"].items())
def test_an_answer_gives_the_order_of_the_authors_code(answer: str, order: list[int]) -> None:
    assert parse_tagged(answer, len(order)).order == order


def test_it_answers_within_its_thought_and_two_instructions_are_two_questions(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PROMPTS["reason_rank"].thought == 3072 + 100  # reasoning_maxlen of run_rank_llm.sh
    monkeypatch.setitem(listwise_prompt.PROMPTS, "reason_rank", PROMPTS["reason_rank"]._replace(thought=8))
    reranker, chat = local_listwise(entry(folder), CPU), LocalChat(entry(folder), CPU, 8)
    asks = [messages(PROMPTS["reason_rank"], f"{QUERY} {one}", ["a", "b"]) for one in ("only a", "only b")]
    assert chat.question(asks[0]) != chat.question(asks[1])
    scores = reranker.score(Query("1", "", QUERY, INSTRUCTION), DOCUMENTS)
    order = parse_tagged(chat.answer(RECORDED["messages"], ""), len(DOCUMENTS)).order
    assert list(scores) == [1 / (order.index(number) + 1) for number in range(len(DOCUMENTS))]
