import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tiny_language_models as tiny
import torch
from model_inputs import CPU

from heed.errors import HeedError
from heed.models.engine import padded
from heed.models.language_models import load_tokenizer
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers import yes_no as reasoning
from heed.models.rerankers.yes_no import ReasoningReranker
from heed.models.text import Prompts
from heed.types import Document, Topic

TEXTS = ["a short one", "a longer text with 12 numbers", "true or", "only documents that name a river " * 20]
DOCIDS = ["d2", "d0", "d3", "d1"]
TOPIC = Topic("1", "eng", "a query", {"original": "only a", "changed": "only b"})
PROMPT = "Is it relevant?\nQuery: {query}\nPassage: {document}\n<think>"
RANK1 = (
    "jhu-clsp/rank1-0.5b", "jhu-clsp/rank1-1.5b", "jhu-clsp/rank1-3b", "jhu-clsp/rank1-7b", "jhu-clsp/rank1-14b",
    "jhu-clsp/rank1-32b", "jhu-clsp/rank1-llama3-8b", "jhu-clsp/rank1-mistral-2501-24b",
)  # fmt: skip
LEARNT = " it is. so </think> true"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Qwen2 of two layers that has learnt to write one thought about the short documents."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tiny.causal("Qwen2", tmp_path_factory.mktemp("models") / "thinker", initializer_range=0.1)
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    lines = [PROMPT.format(query="a query only a", document=text) + LEARNT for text in TEXTS[:3]]
    ids, mask = padded(tokenizer(lines)["input_ids"], "right", "cpu")
    labels = ids.masked_fill(mask == 0, -100)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(40):
        optimiser.zero_grad()
        network(ids, attention_mask=mask, labels=labels).loss.backward()
        optimiser.step()
    network.save_pretrained(folder)
    return folder


def documents(docids: list[str]) -> list[Document]:
    return [Document(docid, "", TEXTS[int(docid[1:])]) for docid in docids]


@pytest.fixture(autouse=True)
def short_thoughts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasoning, "THOUGHT", 30)
    monkeypatch.setattr(reasoning, "LEAST", 10)


def model(folder: Path, **settings: Any) -> Model:
    entry = Model(str(folder), "reasoning", prompt=PROMPT, tokens=("Ġfalse", "Ġtrue"), max_length=240)
    return entry._replace(**settings)


@cache
def loaded(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()


def plain(folder: Path, text: str, tokens: int) -> tuple[str, float]:
    """A thought written token by token, and the log-odds after it, by plain transformers."""
    tokenizer, network = loaded(folder)
    ids = tokenizer(text)["input_ids"]
    start = len(ids)
    with torch.no_grad():
        while len(ids) < start + tokens and "</think>" not in tokenizer.decode(ids[start:]):
            ids.append(int(network(torch.tensor([ids])).logits[0, -1].argmax()))
        written = thought = tokenizer.decode(ids[start:])
        if "</think>" not in thought:  # as rank1.py, _fix_incomplete_responses
            thought = "\n" + thought[: max(map(thought.rfind, ".!?")) + 1 or None].strip() + "\n</think>"
        logits = network(**tokenizer(text + thought, return_tensors="pt")).logits[0, -1]
    no, yes = logits[tokenizer.convert_tokens_to_ids(["Ġfalse", "Ġtrue"])].log_softmax(dim=0)
    return written, float(yes - no)


@pytest.mark.golden(program="transformers 5.23.0", compared="thoughts and scores", systems=("reasoning",))
@pytest.mark.parametrize("tokens", [30, 4])
def test_scores_equal_a_thought_written_by_hand(
    folder: Path, tokens: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reasoning, "THOUGHT", tokens)
    scores = ReasoningReranker(model(folder), CPU).score(TOPIC.under("original"), documents(DOCIDS))
    texts = [PROMPT.format(query="a query only a", document=one.text.strip()) for one in documents(DOCIDS)]
    expected = [plain(folder, text, tokens) for text in texts]
    if tokens == 30:
        assert [written for written, _ in expected].count(" it is. so </think>") == 3
    else:
        assert not any("</think>" in written for written, _ in expected)
    assert scores == pytest.approx([score for _, score in expected], abs=1e-5)
    assert len(set(scores)) == len(DOCIDS)
    endless = sum("</think>" not in written for written, _ in expected)
    told = f"thinker: topic 1: {endless} of 4 thoughts had no end and were ended after a sentence"
    assert (told in capsys.readouterr().err) == (endless > 0)


@pytest.mark.golden(program="transformers 5.23.0", compared="log-odds after a thought", systems=RANK1)
@pytest.mark.parametrize("name", RANK1)
def test_every_size_of_rank1_scores_by_its_authors_prompt(folder: Path, name: str) -> None:
    """The prompt of rank1.py and of the models' cards; a thought written token by token."""
    entry = Registry().find(name)._replace(source=str(folder), max_length=240)
    text = (
        "Determine if the following passage is relevant to the query. Answer only with 'true' or 'false'.\n"
        "Query: a query{}\nPassage: true or\n<think>"
    )
    for condition, instruction in (("query", ""), ("original", " only a"), ("changed", " only b")):
        [score] = ReasoningReranker(entry, CPU).score(TOPIC.under(condition), documents(["d2"]))
        assert score == pytest.approx(plain(folder, text.format(instruction), 30)[1], abs=1e-5)


def test_what_the_models_files_say_of_generation_changes_no_thought(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder, tmp_path / "thinker")
    path = other / "generation_config.json"
    told = {"repetition_penalty": 5.0, "do_sample": True, "temperature": 2.0, "num_beams": 3, "no_repeat_ngram_size": 1}
    path.write_text(json.dumps(json.loads(path.read_text()) | told))
    first, second = (ReasoningReranker(model(one), CPU) for one in (folder, other))
    assert second.score(TOPIC.under("original"), documents(DOCIDS)) == first.score(
        TOPIC.under("original"), documents(DOCIDS)
    )


def test_a_long_document_leaves_room_for_the_thought(folder: Path) -> None:
    reranker = ReasoningReranker(model(folder, max_length=120), CPU)
    tokenizer = load_tokenizer(model(folder))
    [read] = Prompts(model(folder), tokenizer, 120 - reasoning.LEAST).ids("", "a query only a", documents(["d3"]))
    text = tokenizer.decode(read)
    assert 105 <= len(read) <= 110 and text.endswith("\n<think>") and text.startswith("Is it relevant?\nQuery: a query")
    scores = [
        reranker.score(TOPIC.under(condition), documents(["d3"]))[0] for condition in ("query", "original", "changed")
    ]
    assert len(set(scores)) == 3
    assert reranker.score(TOPIC.under("query"), []) == []


def test_a_limit_below_a_thought_is_an_error_before_weights_are_read(folder: Path) -> None:
    with pytest.raises(HeedError, match="max_length 10, expected more than the 10 tokens that are left for a thought"):
        ReasoningReranker(model(folder, max_length=10), CPU).load()


def test_a_thought_is_as_long_as_its_prompt_leaves_room(folder: Path) -> None:
    """As vLLM has it: 16,000 tokens of prompt and thought, whatever else is read at the same time."""
    reranker, tokenizer = ReasoningReranker(model(folder, max_length=60), CPU), load_tokenizer(model(folder))
    prompts = [tokenizer("true false yes no " * count)["input_ids"] for count in (3, 12)]
    long, short = (min(30, 60 - len(prompt)) for prompt in prompts)
    assert (long, short) == (30, 60 - len(prompts[1])) and 10 <= short < 30
    alone = [
        plain(folder, tokenizer.decode(prompt), most)[0] for prompt, most in zip(prompts, (long, short), strict=True)
    ]
    assert reranker.thoughts(prompts) == alone


def test_a_thought_without_an_end_is_cut_after_its_last_sentence() -> None:
    assert reasoning.whole_sentences(" One. Two!\nthree") == "One. Two!"
    assert reasoning.whole_sentences(" no sentence\n") == "no sentence"


def test_an_unfinished_thought_follows_its_prompt_as_in_the_authors_code(tmp_path: Path) -> None:
    """rank1.py: f"{prompt}\\n{thought}\\n</think>", one text, whose tokens merge where <think> ends."""
    tokens = ("Ġfalse", "Ġtrue")
    folder = tiny.with_tokens("Qwen2", tmp_path / "merging", tokens, merges=True)
    reranker, tokenizer = ReasoningReranker(model(folder), CPU), load_tokenizer(model(folder))
    prompt = PROMPT.format(query="a river?", document="names it.")
    ids = tokenizer(prompt)["input_ids"]
    unfinished = reranker.with_thought(ids, " it names it. but then")
    assert unfinished == tokenizer(f"{prompt}\nit names it.\n</think>")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(unfinished)[len(ids) - 1].endswith("Ċ")
    assert reranker.with_thought(ids, " so.</think> true and") == [*ids, *tokenizer(" so.</think>")["input_ids"]]
