"""Entries of rerankers newer than the four papers: what each reads, and its scores, as its authors' code has them."""

import json
import math
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import ROOT
from model_inputs import CPU
from tiny_language_models import with_tokens

from heed.errors import HeedError
from heed.models.language_models import load_tokenizer
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers.yes_no import YesNoReranker
from heed.models.text import Prompts, document_text, prompt_text, query_text
from heed.types import Document, Query

SHIPPED = Registry()
GOLDEN = ROOT / "tests" / "data" / "golden"
QUERY, TASK = "a river", "Given a web search query, retrieve relevant passages that answer the query"
INSTRUCTIONS = ("", "only documents that name it", "no documents that name it.")
DOCUMENTS = [
    Document("d1", "T", "a short one"),
    Document("d2", "", "with numbers 12 and 中国."),
    Document("d3", "T", "true or false, yes or no, " * 10),
]
LONG = Document("d4", "T", "with numbers 12 and " * 400)
QWEN = ("Qwen/Qwen3-Reranker-0.6B", "Qwen/Qwen3-Reranker-4B", "Qwen/Qwen3-Reranker-8B")
MXBAI = ("mixedbread-ai/mxbai-rerank-base-v2", "mixedbread-ai/mxbai-rerank-large-v2")
ONE_ROW = (
    "ContextualAI/ctxl-rerank-v2-instruct-multilingual-1b", "ContextualAI/ctxl-rerank-v2-instruct-multilingual-2b",
    "ContextualAI/ctxl-rerank-v2-instruct-multilingual-6b", "zeroentropy/zerank-2",
)  # fmt: skip
CTXL, ZERANK = ONE_ROW[:3], ONE_ROW[3]
KINDS = {QWEN[0]: "Qwen3", MXBAI[0]: "Qwen2", CTXL[0]: "Qwen3", CTXL[2]: "Mistral", ZERANK: "Qwen3"}
ALIKE = (QWEN, MXBAI, CTXL[:2], CTXL[2:], (ZERANK,))  # models of one form, which differ in size alone

# the prompts of the authors' code; Q, I and D stand for query, instruction and document
PROMPTS = {
    # QwenLM/Qwen3-Embedding, examples/qwen3_reranker_transformers.py: prefix, format_instruction, suffix
    QWEN[0]: (
        "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
        'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
        "<Instruct>: I\n<Query>: Q\n<Document>: D<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    ),
    # the model's card: format_prompts
    CTXL[0]: (
        "Check whether a given document contains information helpful to answer the query.\n<Document> D\n<Query> Q I ??"
    ),
    # the model's chat template: query as the system's message, document as the user's; the query's marks are those of
    # zeroentropy.dev/articles/prompting-best-practices-for-instruction-following-rerankers
    ZERANK: (
        '<|im_start|>system\n<query> "Q" </query>\n<instruction> I </instruction><|im_end|>\n'
        "<|im_start|>user\nD<|im_end|>\n<|im_start|>assistant\n"
    ),
}
BARE = {  # the same without an instruction
    CTXL[0]: PROMPTS[CTXL[0]].replace(" I", ""),
    ZERANK: "<|im_start|>system\nQ<|im_end|>\n<|im_start|>user\nD<|im_end|>\n<|im_start|>assistant\n",
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("entries")
    return {
        name: with_tokens(kind, root / str(number), SHIPPED.find(name).tokens or ())
        for number, (name, kind) in enumerate(KINDS.items())
    }


@pytest.fixture(scope="module")
def merging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose tokenizer merges as Qwen's does."""
    return with_tokens("Qwen2", tmp_path_factory.mktemp("merging") / "tiny", ("0", "1", "no", "yes"), merges=True)


def tiny(folders: dict[str, Path], name: str, **settings: Any) -> Model:
    """The entry, with tiny weights."""
    [first] = [models[0] for models in ALIKE if name in models]
    return SHIPPED.find(name)._replace(source=str(folders[first]), **settings)


def asked(instruction: str, query: str = QUERY) -> Query:
    return Query("1", "", query, instruction)


def text_of(document: Document) -> str:
    return f"{document.title} {document.text}".strip()


def prompt(model: Model, query: str, instruction: str, document: str) -> str:
    return prompt_text(model.prompt or "", query_text(model, query, instruction), document_text(model, "", document))


def filled(form: str, query: str, instruction: str, document: str) -> str:
    """``form``, one of PROMPTS, with these for Q, I and D."""
    parts = {"Q": query, "I": instruction, "D": document}
    return re.sub(r"\b[QID]\b", lambda place: parts[place[0]], form)


@pytest.mark.parametrize("models", ALIKE)
def test_models_of_one_form_differ_in_size_alone(models: tuple[str, ...]) -> None:
    entries = [SHIPPED.find(name) for name in models]
    assert len({one.revision for one in entries}) == len(models)
    first, *others = [one._replace(source="", revision="", licence="") for one in entries]
    assert all(one == first for one in others)


def test_the_three_sizes_of_contextual_ai_read_alike() -> None:
    small, _, large = (SHIPPED.find(name) for name in CTXL)
    assert large.prompt == small.prompt and (small.tokens, large.tokens) == (("!",), ("<unk>",))


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_that_of_the_authors_code(name: str) -> None:
    assert prompt(SHIPPED.find(name), "Q", "I", "D") == PROMPTS[name]


@pytest.mark.parametrize("name", BARE)
def test_without_an_instruction_nothing_takes_its_place(name: str) -> None:
    assert prompt(SHIPPED.find(name), "Q", "", "D") == BARE[name]


@pytest.mark.golden(program="mteb 2.26.24", compared="probabilities of yes", systems=QWEN)
@pytest.mark.parametrize("name", QWEN)
def test_qwen3_rerankers_score_as_mteb_does(folders: dict[str, Path], name: str) -> None:
    from mteb.models.model_implementations.qwen3_reranker import Qwen3RerankerWrapper

    model = tiny(folders, name)
    peer = Qwen3RerankerWrapper(model.source, device="cpu")
    for instruction in INSTRUCTIONS:
        pairs = [peer.format_instruction(instruction or TASK, QUERY, text_of(one)) for one in DOCUMENTS]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="`max_length` is ignored when `padding`")  # mteb's own padding
            expected = peer.compute_logits(peer.process_inputs(pairs))
        scores = YesNoReranker(model, CPU).score(asked(instruction), DOCUMENTS)
        assert [1 / (1 + math.exp(-score)) for score in scores] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("limit", [8192, 150])
@pytest.mark.parametrize("name", QWEN)
def test_the_evaluation_of_qwen3_rerankers_reads_as_its_authors_code(merging: Path, name: str, limit: int) -> None:
    """QwenLM/Qwen3-Embedding, evaluation/qwen3_reranker_model.py: the chat template's ids[:8192] and a suffix's."""
    preset = SHIPPED.find(f"{name}@evaluation")
    assert (preset.pair_length, preset.tokens) == (8192, ("no", "yes"))
    model = preset._replace(source=str(merging), pair_length=limit)
    tokenizer = load_tokenizer(model)
    prompts = Prompts(model, tokenizer, 10000)
    for instruction in INSTRUCTIONS:
        text = (
            "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
            'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n<Instruct>: '
            f"{instruction or 'Given the user query, retrieval the relevant passages'}\n\n<Query>: {QUERY}?\n\n"
            "<Document>: {}<|im_end|>\n"
        )
        suffix = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
        read = [tokenizer(text.format(text_of(one)))["input_ids"] for one in (*DOCUMENTS, LONG)]
        expected = [ids[:limit] + tokenizer(suffix)["input_ids"] for ids in read]
        assert prompts.ids("", query_text(model, f"{QUERY}?", instruction), [*DOCUMENTS, LONG]) == expected
        assert max(map(len, read)) > 150


@pytest.mark.golden(program="mxbai-rerank 0.1.6", compared="scores", systems=MXBAI)
@pytest.mark.parametrize("name", MXBAI)
def test_mxbai_rerankers_score_as_their_authors_package_does(folders: dict[str, Path], name: str) -> None:
    recorded = json.loads((GOLDEN / "mxbai.json").read_text(encoding="utf-8"))
    model = tiny(folders, name)
    documents = [Document(str(number), "", text) for number, text in enumerate(recorded["documents"])]
    text = prompt(model, recorded["query"], recorded["instructions"][1], recorded["documents"][0])
    assert text == recorded["text"]
    for instruction, expected in zip(recorded["instructions"], recorded["scores"], strict=True):
        scores = YesNoReranker(model, CPU).score(asked(instruction, recorded["query"]), documents)
        assert scores == pytest.approx(expected, abs=1e-4)


@pytest.mark.golden(
    program="mxbai-rerank 0.1.6", compared="tokens, where a punctuation mark meets a line break", systems=MXBAI
)
@pytest.mark.parametrize("pair", range(4))
@pytest.mark.parametrize("name", MXBAI)
def test_mxbai_rerankers_read_parts_apart_as_their_authors_package_does(merging: Path, name: str, pair: int) -> None:
    """Query and document have 60 tokens there, without the rest of the prompt."""
    recorded = json.loads((GOLDEN / "mxbai.json").read_text(encoding="utf-8"))
    assert SHIPPED.find(name).pair_length == 8192  # the package's max_length
    model, one = SHIPPED.find(name)._replace(source=str(merging), pair_length=60), recorded["tokens"][pair]
    tokenizer = load_tokenizer(model)
    prompts = Prompts(model, tokenizer, 32768)
    query = query_text(model, recorded["query"], one["instruction"])
    [ids] = prompts.ids("", query, [Document("1", "", one["document"])])
    assert " ".join(tokenizer.convert_ids_to_tokens(ids)) == one["tokens"]
    joined = tokenizer(prompt_text(model.prompt or "", query, one["document"]))["input_ids"]
    assert ("Ġit .Ċ" in one["tokens"]) == bool(one["instruction"]) and joined != ids  # in a part they merge


def test_a_query_that_fills_a_pair_leaves_no_room(merging: Path) -> None:
    model = SHIPPED.find(MXBAI[0])._replace(source=str(merging), pair_length=60)
    with pytest.raises(HeedError, match=r"m: prompt, query and instruction take \d+ of the model's \d+ tokens"):
        Prompts(model, load_tokenizer(model), 32768).ids("m", "query: " + "true " * 60, DOCUMENTS)


@pytest.mark.golden(
    program="the cards' code, transformers 5.23.0", compared="logit of the single output row", systems=ONE_ROW
)
@pytest.mark.parametrize("name", ONE_ROW)
def test_models_of_one_row_score_by_its_logit(folders: dict[str, Path], name: str) -> None:
    """As Contextual AI's card has it, ``out.logits[:, -1, 0]``; zerank-2's row is that of Yes."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = tiny(folders, name)
    tokenizer, network = AutoTokenizer.from_pretrained(model.source), AutoModelForCausalLM.from_pretrained(model.source)
    [row] = tokenizer.convert_tokens_to_ids(list(model.tokens or ()))
    assert (row == 0) == (name in CTXL)
    first = ZERANK if name == ZERANK else CTXL[0]
    for instruction in INSTRUCTIONS:
        form = PROMPTS[first] if instruction else BARE[first]
        texts = [filled(form, QUERY, instruction, text_of(document)) for document in DOCUMENTS]
        with torch.no_grad():
            expected = [float(network(**tokenizer(text, return_tensors="pt")).logits[0, -1, row]) for text in texts]
        scores = YesNoReranker(model, CPU).score(asked(instruction), DOCUMENTS)
        assert scores == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", [CTXL[0], CTXL[2], MXBAI[0]])
def test_a_long_document_costs_nothing_of_what_follows_it(folders: dict[str, Path], name: str) -> None:
    model = tiny(folders, name, max_length=800)
    tokenizer = load_tokenizer(model)
    [ids] = Prompts(model, tokenizer, 800).ids("", query_text(model, QUERY, INSTRUCTIONS[1]), [LONG])
    after = prompt(model, QUERY, INSTRUCTIONS[1], "…").partition("…\n")[2]
    assert 797 <= len(ids) <= 800
    kept = tokenizer(after, add_special_tokens=False)["input_ids"][2:]  # the first may join what precedes it
    assert ids[-len(kept) :] == kept
