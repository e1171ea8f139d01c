import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import tiny_language_models as tiny
import torch
from conftest import Heed, write_jsonl
from model_inputs import CPU
from yes_no_inputs import DOCIDS, TEXTS, TOPIC, adapter_of, documents, entry, prompt_ids, prompts

from heed.addons.architectures.vllm import VllmModel
from heed.compute import Compute
from heed.errors import HeedError
from heed.models.language_models import load_tokenizer
from heed.models.registry.entries import Model
from heed.models.rerankers import yes_no as reasoning
from heed.models.rerankers.listwise_local import LocalChat
from heed.models.rerankers.yes_no import ReasoningReranker, YesNoReranker, score_of
from heed.models.text import Prompts
from heed.reuse import recipe_version

HERE = find_spec("vllm") is not None
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
needs_vllm = pytest.mark.skipif(not HERE, reason="vllm is not installed")
WIDE = {"hidden_size": 128, "initializer_range": 0.2}  # vLLM's attention on CPUs takes heads of 32 and wider
ALL = [*DOCIDS, "long", "longer"]
VLLM = replace(CPU, inference="vllm")
THINK = "Is it relevant?\nQuery: {query}\nPassage: {document}\n<think>"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    made = {kind: tiny.causal(kind, root / kind, **WIDE) for kind in ("Llama", "Qwen2")}
    return made | {"T5": tiny.seq2seq(root / "T5")}


@pytest.fixture(autouse=True)
def not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")  # vLLM's sampler would be, which takes a minute


@pytest.fixture(autouse=True)
def closed_engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Engines that a test leaves open are closed after it: each takes most of the memory."""
    opened: list[VllmModel] = []
    start = VllmModel._start
    monkeypatch.setattr(VllmModel, "_start", lambda self: opened.append(self) or start(self))
    yield
    for engine in opened:
        engine.close()


# without vLLM too


@pytest.mark.skipif(HERE, reason="vllm is installed")
def test_the_error_without_vllm_names_the_package() -> None:
    expected = r"vllm is not installed; give inference=transformers, or pip install 'vllm==0.32.0'"
    with pytest.raises(HeedError, match=expected):
        VLLM.check()


def configs(folders: dict[str, Path], compute: Compute) -> dict[str, Any]:
    causal = entry(folders, "Qwen2")
    return {
        "causal": YesNoReranker(causal, compute).config,
        "reasoning": ReasoningReranker(causal._replace(family="reasoning"), compute).config,
        "listwise": LocalChat(causal._replace(family="listwise"), compute).config,
        "seq2seq": YesNoReranker(entry(folders, "T5"), compute).config,
    }


def test_the_config_says_what_runs_the_model(folders: dict[str, Path]) -> None:
    before = configs(folders, CPU)
    assert not any("inference" in one for one in before.values())
    after = configs(folders, VLLM)
    for family in ("causal", "reasoning", "listwise"):
        assert after[family] == before[family] | {"inference": ["vllm", recipe_version("vllm")]}
    assert after["seq2seq"] == before["seq2seq"]  # vLLM has no such models; transformers runs them as before


# with vLLM, against transformers


def ranks(model: Model, text: str) -> list[int]:
    """Where the two tokens stand among all next ones, by plain transformers."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, network = AutoTokenizer.from_pretrained(model.source), AutoModelForCausalLM.from_pretrained(model.source)
    with torch.no_grad():
        logits = network(**tokenizer(text, return_tensors="pt")).logits[0, -1]
    ids = tokenizer.convert_tokens_to_ids(list(model.tokens or ()))
    return [int((logits > logits[one]).sum()) for one in ids]


@pytest.mark.golden(
    program="transformers 5.23.0", compared="scores by vLLM, where it is installed", systems=("causal",)
)
@needs_vllm
@pytest.mark.parametrize("kind", ["Llama", "Qwen2"])
def test_scores_equal_transformers(folders: dict[str, Path], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = entry(folders, kind, max_length=256)  # all positions that the model has
    ours = YesNoReranker(model, CPU)
    expected = {
        condition: ours.score(TOPIC.under(condition), documents(ALL)) for condition in ("query", "original", "changed")
    }
    reranker = YesNoReranker(model, VLLM)
    read: list[list[int]] = []
    kept = VllmModel.logits
    monkeypatch.setattr(VllmModel, "logits", lambda *all: read.extend(all[1]) or kept(*all))
    for condition, scores in expected.items():
        found = reranker.score(TOPIC.under(condition), documents(ALL))
        assert all(type(score) is float for score in found)
        assert found == pytest.approx(scores, abs=1e-4)
        assert reranker.score(TOPIC.under(condition), documents(ALL[::-1])) == pytest.approx(scores[::-1], abs=1e-4)
    assert read[: len(ALL)] == prompt_ids(model, TOPIC.query, documents(ALL))
    assert 254 <= max(map(len, read)) <= 256
    assert len({round(score, 2) for score in expected["original"]}) == len(ALL)
    unlikely = [max(ranks(model, text)) for text in prompts(model, DOCIDS, TOPIC.query)]
    assert max(unlikely) > 20  # beyond what vLLM gives of the likeliest
    assert reranker.score(TOPIC.under("query"), []) == []


@needs_vllm
def test_two_models_in_turn(folders: dict[str, Path]) -> None:
    def scores(reranker: YesNoReranker) -> list[float]:
        found = reranker.score(TOPIC.under("original"), documents(DOCIDS))
        reranker.close()  # else there is no memory for the next
        return found

    first, second = (YesNoReranker(entry(folders, kind), VLLM) for kind in ("Llama", "Qwen2"))
    once = [scores(one) for one in (first, second)]
    again = [scores(one) for one in (first, second)]
    assert once[0] == pytest.approx(again[0], abs=1e-4) and once[1] == pytest.approx(again[1], abs=1e-4)


def differences(model: Model, length: int, prompts: list[list[int]], dtype: str = "float32") -> list[float]:
    engine = VllmModel(model, replace(CPU, dtype=dtype), length)
    found = list(map(score_of, engine.logits(prompts, (3, 4))))
    engine.close()
    return found


@needs_vllm
def test_half_precision_makes_no_ties(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(str(folders["Qwen2"]), "causal")
    sent = torch.randint(3, 400, (300, 8), generator=torch.Generator().manual_seed(0)).tolist()
    ours = differences(model, 20, sent, "bfloat16")
    monkeypatch.setattr(VllmModel, "_overrides", lambda self: {})  # as vLLM has it: logits of three digits
    rounded = differences(model, 20, sent, "bfloat16")
    assert len(set(ours)) == 300 > len(set(rounded))
    assert ours == pytest.approx(rounded, abs=0.1)


@needs_vllm
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")
def test_an_adapter(folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter_of(folders["Llama"], tmp_path / "adapter")
    model = entry(folders, "Llama")._replace(source=str(tmp_path / "adapter"))
    expected = YesNoReranker(model, CPU).score(TOPIC.under("original"), documents(ALL))
    bare = YesNoReranker(entry(folders, "Llama"), CPU).score(TOPIC.under("original"), documents(ALL))
    assert expected != pytest.approx(bare, abs=1e-2)
    reranker = YesNoReranker(model, VLLM)
    assert reranker.score(TOPIC.under("original"), documents(ALL)) == pytest.approx(expected, abs=1e-4)
    reranker.close()
    path = tmp_path / "adapter" / "adapter_config.json"
    plain = path.read_text()
    path.write_text(json.dumps(json.loads(plain) | {"use_dora": True}))
    with pytest.raises(HeedError, match="cannot be loaded as a model .*DoRA"):
        YesNoReranker(model, VLLM).load()
    path.write_text(json.dumps(json.loads(plain) | {"rank_pattern": {"q_proj": 600}}))
    with pytest.raises(HeedError, match="an adapter of rank 600, vLLM takes 512"):
        YesNoReranker(model, VLLM).load()
    (tmp_path / "adapter" / "adapter_model.safetensors").unlink()
    with pytest.raises(HeedError, match="no adapter_model.safetensors"):
        YesNoReranker(model, VLLM).load()


@pytest.mark.golden(
    program="transformers 5.23.0", compared="thoughts and scores by vLLM, where it is installed", systems=("reasoning",)
)
@needs_vllm
@pytest.mark.parametrize("tokens", [30, 4])
def test_thoughts_equal_transformers(tokens: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasoning, "THOUGHT", tokens)
    monkeypatch.setattr(reasoning, "LEAST", tokens)
    longer = tiny.causal("Qwen2", tmp_path / "thinker", max_position_embeddings=512, **WIDE)
    model = entry({"Qwen2": longer}, "Qwen2", family="reasoning", prompt=THINK, max_length=240)
    ours = ReasoningReranker(model, CPU)
    expected = ours.score(TOPIC.under("original"), documents(ALL))
    sent = Prompts(model, load_tokenizer(model), 240 - tokens).ids("", "中 国 a query? only a", documents(ALL))
    thoughts = ours.thoughts(sent)
    monkeypatch.setattr(reasoning, "END", thoughts[1][1:3])  # a random model writes no </think>
    ended = ours.thoughts(sent)
    theirs = ReasoningReranker(model, VLLM)
    assert theirs.thoughts(sent) == ended != thoughts
    monkeypatch.undo()
    monkeypatch.setattr(reasoning, "THOUGHT", tokens)
    monkeypatch.setattr(reasoning, "LEAST", tokens)
    assert theirs.thoughts(sent) == thoughts
    assert theirs.score(TOPIC.under("original"), documents(ALL)) == pytest.approx(expected, abs=1e-4)


@pytest.mark.golden(
    program="transformers 5.23.0", compared="rankings by vLLM, where it is installed", systems=("listwise",)
)
@needs_vllm
def test_rankings_equal_transformers(folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shutil.copytree(folders["Llama"], tmp_path / "chat")
    conversations = [
        [{"role": "system", "content": "s"}, {"role": "user", "content": text}] for text in ("query", "true a | b", "x")
    ]
    model = Model(str(folder), "listwise", max_length=200)
    plain, tokenizer = LocalChat(model, CPU), load_tokenizer(model)
    ids = [tokenizer(plain.answer(one, "[1]>[2]"), add_special_tokens=False)["input_ids"] for one in conversations]
    path = folder / "generation_config.json"
    told = {"eos_token_id": [2, ids[0][0], ids[0][-3]], "do_sample": True, "temperature": 0.7, "top_k": 3}
    path.write_text(json.dumps(json.loads(path.read_text()) | told))
    expected = [LocalChat(model, CPU).answer(one, "[1]>[2]") for one in conversations]
    chat = LocalChat(model, VLLM)
    assert [chat.answer(one, "[1]>[2]") for one in conversations] == expected
    assert expected[0] != tokenizer.decode(ids[0])


@needs_vllm
def test_weights_that_are_missing_are_an_error(folders: dict[str, Path], tmp_path: Path) -> None:
    from transformers import AutoModel

    folder = shutil.copytree(folders["Llama"], tmp_path / "headless")
    AutoModel.from_pretrained(folder).save_pretrained(folder)
    with pytest.raises(HeedError, match="cannot be loaded as a model"):
        YesNoReranker(entry({"Llama": folder}, "Llama"), VLLM).load()


@needs_vllm
@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=needs_ray)])
def test_workers_write_the_run_of_one_process(
    folders: dict[str, Path], tmp_path: Path, heed_process: Heed, engine: str
) -> None:
    records = [{"id": f"d{at}", "title": "T", "text": f"{TEXTS[at % len(TEXTS)]} {at}"} for at in range(6)]
    asked = [{"qid": str(at), "lang": "eng", "query": f"a {at}", "instructions": {"original": "b"}} for at in range(6)]
    write_jsonl(tmp_path / "docs.jsonl", records)
    write_jsonl(tmp_path / "topics.jsonl", asked)
    lines = [f"{topic} Q0 d{at} {at + 1} {300 - at} t\n" for topic in range(6) for at in range(6)]
    (tmp_path / "first.run").write_text("".join(lines))
    model = entry(folders, "Qwen2")
    told = {field: getattr(model, field) for field in ("source", "family", "prompt", "tokens", "max_length")}
    (tmp_path / "models.json").write_text(json.dumps({"tiny": told}))
    given = ("first.run", "--docs", "docs.jsonl", "--topics", "topics.jsonl", "--device", "cpu", "--reranker", "tiny")
    given += ("--models", "models.json", "--inference", "vllm")
    settings = {"TORCHDYNAMO_DISABLE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    one = heed_process("pipelines.rerank", *given, "--out", "one.run", **settings)
    assert one.returncode == 0, one.stderr
    two = heed_process("pipelines.rerank", *given, "--out", "two.run", "--engine", engine, "--workers", "2", **settings)
    assert two.returncode == 0 and "workers: peak memory" in two.stderr, two.stderr
    assert (tmp_path / "two.run").read_bytes() == (tmp_path / "one.run").read_bytes()
    assert len((tmp_path / "one.run").read_text().splitlines()) == 36


@needs_vllm
def test_a_prompt_beyond_the_engine_is_an_error(folders: dict[str, Path]) -> None:
    engine = VllmModel(Model(str(folders["Qwen2"]), "causal"), CPU, 20)
    assert len(engine.generate([[5] * 10], 3, [3], [])[0]) == 3
    with pytest.raises(HeedError, match=r"vLLM failed \(This model's maximum context length is 20 tokens"):
        engine.logits([[5] * 21], (3, 4))
    engine.close()
    whole = [5] * 256  # all positions that the model has
    assert len(differences(Model(str(folders["Qwen2"]), "causal"), 257, [whole])) == 1


@needs_vllm
@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_a_device_that_this_vllm_does_not_have_is_an_error(folders: dict[str, Path]) -> None:
    with pytest.raises(HeedError, match="device: found cuda, but the vLLM that is installed runs on cpu"):
        VllmModel(Model(str(folders["Qwen2"]), "causal"), replace(CPU, device="cuda"), 20)
