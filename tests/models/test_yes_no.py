import json
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tiny_language_models as tiny
import torch
from conftest import write_jsonl
from model_inputs import CPU
from yes_no_inputs import DOCIDS, TOPIC, adapter_of, documents, entry, prompt_ids, prompts

from heed.compute import Compute
from heed.errors import HeedError
from heed.formats.document_store import open_store
from heed.models import engine, language_models
from heed.models.engine import AnswerRows, shares_prefixes
from heed.models.listing import scoring_facts
from heed.models.local import batches, precision
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers.yes_no import YesNoReranker
from heed.models.text import Prompts
from heed.progress import gathering
from heed.tables.documents import Tables
from heed.types import Topic

CAUSAL = ("Llama", "Mistral", "Qwen2", "Qwen3", "GPT2")  # the last has absolute positions


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {kind: tiny.causal(kind, root / kind) for kind in CAUSAL} | {"T5": tiny.seq2seq(root / "T5")}


@cache
def loaded(source: str, family: str) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    kind = AutoModelForSeq2SeqLM if family == "seq2seq" else AutoModelForCausalLM
    return AutoTokenizer.from_pretrained(source), kind.from_pretrained(source).eval()


def plain(model: Model, text: str, network: Any = None) -> float:
    """log P(yes) − log P(no) by plain transformers, one text alone; by ``network`` where it is given."""
    tokenizer, whole = loaded(model.source, model.family)
    made = tokenizer(text, return_tensors="pt")
    no, yes = (tokenizer.convert_tokens_to_ids(token) for token in model.tokens or ())
    with torch.no_grad():
        if model.family == "seq2seq":
            logits = whole(**made, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
        else:
            logits = (network or whole)(**made).logits[0, -1]
    chance = logits[[no, yes]].log_softmax(dim=0)
    return float(chance[1] - chance[0])


@pytest.mark.golden(program="transformers 5.23.0", compared="scores", systems=("causal", "seq2seq"))
@pytest.mark.parametrize("kind", [*CAUSAL, "T5"])
def test_scores_equal_plain_transformers(folders: dict[str, Path], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = entry(folders, kind, max_length=250)
    expected = [plain(model, text) for text in prompts(model, DOCIDS, "中 国 a query? only a")]
    assert max(expected) - min(expected) > 0.1
    for padding in (None, "left", "right"):
        if padding:  # beside a prefix that is read once there is none
            monkeypatch.setattr(engine, "shares_prefixes", lambda _: False)
        reranker = YesNoReranker(model._replace(padding=padding), CPU)
        scores = reranker.score(TOPIC.under("original"), documents(DOCIDS))
        assert all(type(score) is float for score in scores)
        assert scores == pytest.approx(expected, abs=2e-5)
    reranker = YesNoReranker(model, replace(CPU, batch_size=1))  # so no padding
    assert reranker.score(TOPIC.under("original"), documents(DOCIDS)) == pytest.approx(expected, abs=2e-5)


@pytest.mark.golden(
    program="transformers 5.23.0", compared="scores of prompts truncated at their end", systems=("causal", "seq2seq")
)
@pytest.mark.parametrize("kind", ["Llama", "T5"])
def test_a_whole_prompt_can_be_cut_at_its_end(folders: dict[str, Path], kind: str) -> None:
    """As FollowIR's and mteb's rerankers do it: ``tokenizer(prompt, truncation=True, max_length=…)``."""
    model, two = entry(folders, kind, max_length=130, cut_prompt=True), ["d0", "long"]
    tokenizer, network = loaded(model.source, model.family)
    scores = YesNoReranker(model, CPU).score(TOPIC.under("changed"), documents(two))
    short, long = prompts(model, two, "中 国 a query? only b, not a")
    made = tokenizer(long, truncation=True, max_length=130, return_tensors="pt")
    no, yes = (tokenizer.convert_tokens_to_ids(token) for token in model.tokens or ())
    with torch.no_grad():
        more = {"decoder_input_ids": torch.tensor([[0]])} if kind == "T5" else {}
        logits = network(**made, **more).logits[0, -1]
    assert made["input_ids"].shape == (1, 130)
    assert scores == pytest.approx([plain(model, short), float(logits[yes] - logits[no])], abs=1e-5)
    kept = YesNoReranker(model._replace(cut_prompt=False), CPU).score(TOPIC.under("changed"), documents(two))
    assert abs(kept[1] - scores[1]) > 0.01


@pytest.mark.parametrize("kind", ["Llama", "Qwen3", "T5"])
@pytest.mark.parametrize("padding", ["left", "right"])
def test_a_long_document_is_cut_and_the_cue_stays(folders: dict[str, Path], kind: str, padding: str) -> None:
    model = entry(folders, kind, padding=padding, max_length=130)
    scores = YesNoReranker(model, CPU).score(TOPIC.under("changed"), documents(["d0", "long", "longer"]))
    read = prompt_ids(model, "中 国 a query? only b, not a", documents(["d0", "long", "longer"]))
    tokenizer, _ = loaded(model.source, model.family)
    before, after = (model.prompt or "").replace("{query}", "中 国 a query? only b, not a").split("{document}")
    for docid, ids, score in zip(("long", "longer"), read[1:], scores[1:], strict=True):
        [one] = documents([docid])
        whole = f"{one.title} {one.text}".strip()
        cuts = [whole[:end] for end in range(400) if tokenizer(before + whole[:end] + after)["input_ids"] == ids]
        assert cuts, tokenizer.decode(ids)
        assert 127 <= len(ids) <= 130
        assert plain(model, before + cuts[0] + after) == pytest.approx(score, abs=1e-5)
    assert len({tuple(ids) for ids in read}) == 3


@pytest.mark.parametrize("kind", ["Llama", "Qwen3", "T5"])
def test_a_document_that_just_fits_is_whole(folders: dict[str, Path], kind: str) -> None:
    model = entry(
        folders, kind, prompt="Query: {query} Document:{document}er truefalse"
    )  # whose ends join other tokens
    tokenizer, _ = loaded(model.source, model.family)
    docids = ["d1", "d3"]
    for docid, text in zip(docids, prompts(model, docids, "q"), strict=True):
        whole = tokenizer(text)["input_ids"]
        tight = Prompts(model, tokenizer, len(whole))
        tight.ids("", "q only a", documents([docid]))  # does not fit beside this query
        assert tight.ids("", "q", documents([docid])) == [whole]


def test_query_and_instruction_that_leave_no_room_are_an_error(folders: dict[str, Path]) -> None:
    reranker = YesNoReranker(entry(folders, "Llama"), CPU)
    with pytest.raises(HeedError, match=r"topic 9: prompt, query and instruction take \d+ of the model's 128 tokens"):
        reranker.score(Topic("9", "eng", "q" * 200, {}).under("query"), documents(["d0"]))


def test_a_token_that_is_not_in_the_vocabulary_is_an_error(folders: dict[str, Path]) -> None:
    for tokens, message in {
        ("Ġfalse", "true"): r"token 'Ġfalse' is not one entry of its vocabulary; it has \['false', '▁false'\]",
        ("false", "nothing"): "token 'nothing' is not one entry of its vocabulary; it has none like it",
        ("true", "true"): "are the same token",
    }.items():
        with pytest.raises(HeedError, match=message):
            YesNoReranker(entry(folders, "Llama", tokens=tokens), CPU).load()


def test_a_model_without_prompt_and_tokens_gets_an_entry_to_begin_with(folders: dict[str, Path]) -> None:
    with pytest.raises(HeedError, match="prompt and tokens missing, which a causal reranker needs") as caught:
        YesNoReranker(entry(folders, "Llama", prompt=None, tokens=None), CPU)
    skeleton = json.loads(str(caught.value).partition("such as ")[2])
    [(_, fields)] = skeleton.items()
    assert YesNoReranker(entry(folders, "Llama", prompt=fields["prompt"], tokens=tuple(fields["tokens"])), CPU)


@pytest.mark.parametrize("prompt", ["{query}", "{document}", "{query} {document} {document}", "{query} {text}"])
def test_a_prompt_without_query_and_document_is_an_error(folders: dict[str, Path], prompt: str | None) -> None:
    with pytest.raises(HeedError, match=r"expected a text with \{query\} and one \{document\}"):
        YesNoReranker(entry(folders, "Llama", prompt=prompt), CPU).load()


def test_a_literal_bos_stays_beside_the_tokenizers_own(folders: dict[str, Path]) -> None:
    [ids] = prompt_ids(entry(folders, "Llama"), "q", documents(["d0"]))
    assert ids[:2] == [1, 1]


def test_a_table_is_cut_between_rows(folders: dict[str, Path], tmp_path: Path) -> None:
    rows = "\n".join(f"| {'abcd'[number % 4] * 6} |" for number in range(60))
    tables = [{"id": "t", "title": "A title", "text": f"# cap\n\n| header |\n| --- |\n{rows}"}]
    table = open_store(tmp_path / "t", Tables([write_jsonl(tmp_path / "tables.jsonl", tables)], "markdown"))
    for kind in ("Llama", "Qwen2", "T5"):
        model = entry(folders, kind)
        tokenizer, _ = loaded(model.source, model.family)
        for query in ("q", "a longer query"):
            [ids] = prompt_ids(model, query, table.get(["t"]))
            [document] = table.get(["t"])
            before, after = (model.prompt or "").replace("{query}", query).split("{document}")
            lines = f"{document.title} {document.text}".strip().split("\n")
            made = [tokenizer(before + "\n".join(lines[:end]) + after)["input_ids"] for end in range(len(lines))]
            [kept] = [end for end, one in enumerate(made) if one == ids]
            assert kept > 4 and len(made[kept]) <= 128 < len(made[kept + 2])


@pytest.mark.parametrize("kind", ["Llama", "Mistral"])
def test_a_prefix_that_is_longer_than_a_sliding_window_is_shared_too(
    folders: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    from transformers import AutoConfig

    folder = tmp_path / "sliding"
    shutil.copytree(folders[kind], folder)
    config = json.loads((folder / "config.json").read_text())
    if kind == "Mistral":
        config["sliding_window"] = 8
    else:
        config["rope_parameters"] = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    (folder / "config.json").write_text(json.dumps(config))
    model = entry({kind: folder}, kind, max_length=250)
    expected = [plain(model, text) for text in prompts(model, DOCIDS, "中 国 a query? only a")]
    reranker = YesNoReranker(model, CPU)
    assert reranker.score(TOPIC.under("original"), documents(DOCIDS)) == pytest.approx(expected, abs=1e-5)
    assert shares_prefixes(AutoConfig.from_pretrained(folder)) == (kind == "Mistral")
    assert expected != pytest.approx([plain(entry(folders, kind), text) for text in prompts(model, DOCIDS, "")])


def test_models_that_keep_other_states_share_no_prefix() -> None:
    from transformers import FalconMambaConfig, LlamaConfig, Qwen3NextConfig

    assert shares_prefixes(LlamaConfig())
    assert not shares_prefixes(Qwen3NextConfig())
    assert not shares_prefixes(FalconMambaConfig())


def test_half_precision_makes_no_ties() -> None:
    torch.manual_seed(0)
    head = torch.nn.Linear(32, 50, bias=True).bfloat16()
    hidden = torch.randn(300, 32).bfloat16()
    wide = torch.nn.functional.linear(hidden.float(), head.weight.float(), head.bias.float())[:, [7, 3]]
    ours = AnswerRows(head, (7, 3))(hidden)
    torch.testing.assert_close(ours, wide)
    rounded = head(hidden)[:, [7, 3]].float()
    assert len(set((ours[:, 1] - ours[:, 0]).tolist())) == 300 > len(set((rounded[:, 1] - rounded[:, 0]).tolist()))


def test_precision_follows_the_device() -> None:
    assert precision(Model("m", dtype="bfloat16"), CPU) == "float32"
    assert precision(Model("m", dtype="bfloat16"), Compute("cuda")) == "bfloat16"
    assert precision(Model("m"), Compute("cuda")) == "auto"
    assert precision(Model("m", dtype="bfloat16"), Compute("cuda", dtype="float16")) == "float16"
    assert precision(Model("m"), Compute("cpu", dtype="bfloat16")) == "bfloat16"


@pytest.mark.golden(program="peft 0.21.2", compared="scores of a LoRA adapter", systems=("causal",))
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")  # peft asks for it when it adapts
def test_an_adapter_runs_on_its_base(folders: dict[str, Path], tmp_path: Path) -> None:
    adapted = adapter_of(folders["Llama"], tmp_path / "adapter")
    base = entry(folders, "Llama")
    model = base._replace(source=str(tmp_path / "adapter"))
    reranker = YesNoReranker(model, CPU)
    scores = reranker.score(TOPIC.under("original"), documents(DOCIDS[:3]))
    texts = prompts(base, DOCIDS[:3], "中 国 a query? only a")
    assert scores == pytest.approx([plain(base, text, adapted) for text in texts], abs=1e-4)
    assert scores != pytest.approx([plain(base, text) for text in texts], abs=1e-2)
    assert reranker.config["base"]["files"]["model.safetensors"]
    moved = model._replace(base=str(shutil.copytree(folders["Llama"], tmp_path / "moved")))
    path = tmp_path / "adapter" / "adapter_config.json"
    path.write_text(path.read_text().replace(json.dumps(str(folders["Llama"])), "null"))
    assert YesNoReranker(moved, CPU).score(TOPIC.under("original"), documents(DOCIDS[:3])) == scores
    with pytest.raises(HeedError, match="base_model_name_or_path is None; give the base in an entry"):
        YesNoReranker(model, CPU)
    (tmp_path / "adapter" / "adapter_model.safetensors").unlink()
    with pytest.raises(HeedError, match="no adapter_model.safetensors"):
        YesNoReranker(moved, CPU).load()


def test_a_base_without_an_adapter_is_an_error(folders: dict[str, Path]) -> None:
    with pytest.raises(HeedError, match="so base x has no use"):
        YesNoReranker(entry(folders, "Llama", base="x"), CPU)


def test_batches_are_longest_first_and_within_the_budget() -> None:
    assert list(batches([3, 9, 4, 4, 30], 12)) == [[4], [1], [2, 3, 0]]
    assert list(batches([3, 9, 4, 4, 30], 12, 1)) == [[4], [1], [2], [3], [0]]
    assert list(batches([], 12)) == []


ASKED = "Query: {query} Document: {document} Relevant:"


@pytest.mark.parametrize(
    ("kind", "prompt", "tokens", "warned"),
    [
        ("Qwen3", ASKED, ["no", "yes"], "Ġno or Ġyes"),
        ("Qwen3", ASKED, ["no", "Ġyes"], "Ġno"),
        ("Qwen3", "Relevant (yes/no)? {query} {document}", ["yes"], "Ġyes"),
        ("Qwen3", ASKED, ["Ġno", "Ġyes"], ""),
        ("Qwen3", f"{ASKED} ", ["no", "yes"], ""),
        ("Qwen3", f"{ASKED}\n", ["no", "yes"], ""),
        ("Qwen3", f"{ASKED}<|im_start|>", ["no", "yes"], ""),  # a token of its own, which no space follows
        ("Llama", ASKED, ["false", "true"], ""),  # SentencePiece
    ],
)
def test_words_that_the_vocabulary_has_with_a_space_too_are_warned_of(
    folders: dict[str, Path], tmp_path: Path, kind: str, prompt: str, tokens: list[str], warned: str
) -> None:
    entry = {"source": str(folders[kind]), "family": "causal", "prompt": prompt, "tokens": tokens}
    (tmp_path / "m.json").write_text(json.dumps({"mine": entry}))
    model = Registry([tmp_path / "m.json"]).find("mine")
    with gathering([]) as warnings:
        YesNoReranker(model, CPU)  # before it is loaded: also where its runs are used again
    expected = f"{folders[kind]}: its prompt ends without a space, so the answer is rather {warned} of its vocabulary "
    assert [warning[: len(expected)] for warning in warnings] == ([expected] if warned else [])
    with gathering([]) as shown:
        assert scoring_facts(model, CPU, here=True)["problem"] is None  # of heed models
    assert shown == warnings


def test_no_shipped_recipe_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pair of prompt and tokens over a vocabulary that has every word with a space too."""

    class Vocabulary:
        def get_vocab(self) -> dict[str, int]:
            return {token: at for at, token in enumerate(f"{mark}{word}" for mark in ("", "Ġ") for word in words)}

    shipped = [each for model in Registry().entries.values() for each in (model, *map(model.preset, model.presets))]
    answering = [model for model in shipped if model.tokens and model.family in ("causal", "seq2seq", "reasoning")]
    words = sorted({token for model in answering for token in model.tokens or ()})
    assert len(answering) > 40
    monkeypatch.setattr(language_models, "load_tokenizer", lambda model: Vocabulary())
    with gathering([]) as warnings:
        for model in answering:
            language_models.check_entry(model._replace(entry="as if in a file of the user's"))
    assert not warnings
