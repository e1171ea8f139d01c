"""Training on the sample with tiny models of real architectures: they can memorise, and that is what is shown."""

import json
import math
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import ROOT, Heed, write_jsonl

import heed
from heed.addons.training import lora as trainer
from heed.addons.training.lora import encode, read_examples
from heed.compute import Compute
from heed.formats.document_store import DocumentStore, open_store
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers.yes_no import YesNoReranker
from pipelines.train import main, parser

FOLLOWIR = "jhu-clsp/FollowIR-7B"
NAME = "infosearch-sample/audience"
CONDITIONS = ("original", "reversed")
PROMPT = "Query: {query}\nDocument: {document}\nRelevant (true or false): "
SHORT = ("--prompt-template", PROMPT, "--max-length", "96", "--device", "cpu")
QUICK = (*SHORT, "--lr", "0.01", "--epochs", "3", "--batch", "8")
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj"]


# asked of transformers by PEFT 0.21, in the plain computations below
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Sums are added in the same order here and in a process of its own, whatever ran before."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def collection() -> heed.Collection:
    return heed.load("infosearch-sample", dimension="audience")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, collection: heed.Collection) -> DocumentStore:
    return open_store(tmp_path_factory.mktemp("store"), collection.source)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, collection: heed.Collection, store: DocumentStore) -> Path:
    """Every judgement as an example: 32, each document once wanted and once not, by the instruction."""
    records = []
    for condition in CONDITIONS:
        for topic in collection.topics:
            for docid, grade in collection.judging.qrels[condition][topic.qid].items():
                [document] = store.get([docid])
                texts = {"query": topic.query, "instruction": topic.instructions[condition]}
                records.append(
                    {**texts, "document": f"{document.title} {document.text}", "label": grade > 0, "more": docid}
                )
    assert len(records) == 32 and sum(record["label"] for record in records) == 16
    return write_jsonl(tmp_path_factory.mktemp("data") / "train.jsonl", records)


def words() -> Any:
    """A real fast tokenizer of the sample's own words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    texts = [(ROOT / f"{kind}/{NAME}.jsonl").read_text(encoding="utf-8") for kind in ("documents", "topics")]
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["<unk>", "<s>", "</s>"]
    trainer = trainers.WordLevelTrainer(vocab_size=2000, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator([*texts, f"{PROMPT} [INST] [/INST] truefalse", "false true " * 3], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", model_max_length=256
    )


def tiny(folder: Path, kind: str = "LlamaForCausalLM") -> Path:
    import transformers

    tokenizer = words()
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 256}
    config = getattr(transformers, kind).config_class(
        vocab_size=len(tokenizer), hidden_size=32, initializer_range=0.3, bos_token_id=1, eos_token_id=2, **sizes
    )
    torch.manual_seed(0)
    getattr(transformers, kind)(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(tmp_path_factory.mktemp("models") / "base")


def train(data: Path, base: Path, out: Path, *options: str) -> Path:
    assert main([str(data), "--base", str(base), "--out", str(out), "--debug", *options]) == 0
    return out


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, data: Path, base: Path) -> Path:
    return train(data, base, tmp_path_factory.mktemp("out") / "made", *SHORT, "--lr", "0.02", "--epochs", "30")


def note(folder: Path) -> Any:
    return json.loads((folder / "training.json").read_text(encoding="utf-8"))


def as_trained(folder: Path) -> Model:
    return Model(str(folder), **note(folder)["model"])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def framed(base: Path) -> Model:
    return Registry().find(FOLLOWIR)._replace(source=str(base), prompt=PROMPT)


def prompts(data: Path, base: Path, limit: int = 96) -> list[tuple[list[int], int]]:
    return [(list(row.ids), row.answer) for row in encode(read_examples(data), framed(base), words(), limit)]


def test_the_folder_runs_as_a_reranker_and_beats_its_untrained_self(
    trained: Path, base: Path, heed: Heed, tmp_path: Path
) -> None:
    """By command: prompt, tokens and lengths of the adapter come from the note that training left."""
    untrained = {**note(trained)["model"], "source": str(base), "base": None}
    (tmp_path / "models.json").write_text(json.dumps({"untrained": untrained}))
    systems = ("--retriever", "bm25", "--reranker", trained, "--reranker", "untrained", "--models", "models.json")
    options = ("--collection", "sample", "--dimension", "audience", "--device", "cpu", "--json", "s.json")
    result = heed("pipelines.infosearch", *options, *systems)
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "s.json").read_text())["rows"]
    values = {(row["system"], row["condition"]): row["value"] for row in rows if row["measure"] == "nDCG@10"}
    for condition in CONDITIONS:
        assert values[trained.name, condition] > values["untrained", condition] + 0.1


def test_what_is_left_is_an_adapter_as_peft_reads_it_and_how_it_was_made(trained: Path, base: Path, data: Path) -> None:
    assert sorted(contents(trained)) == ["adapter_config.json", "adapter_model.safetensors", "training.json"]
    assert [path.name for path in trained.parent.iterdir()] == ["made"]
    config = json.loads((trained / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(base) and config["revision"] is None
    assert (config["r"], config["lora_alpha"], config["lora_dropout"]) == (8, 16, 0.0)
    assert config["target_modules"] == sorted(PROJECTIONS)
    written = note(trained)
    assert written["examples"] == 32 and len(written["loss"]) == 30
    assert written["loss"][-1] < written["loss"][0] / 10
    assert written["recipe"]["settings"]["lr"] == 0.02 and set(written["recipe"]["versions"]) >= {"torch", "peft"}
    assert written["model"] == {
        "family": "causal", "query": "{query} {instruction}", "document": "{title} {text}", "prompt": PROMPT,
        "tokens": ["false", "true"], "max_length": 96, "base": str(base),
    }  # fmt: skip


def test_its_scores_are_those_of_plain_peft_on_the_prompts_it_learned(
    trained: Path, base: Path, data: Path, collection: heed.Collection, store: DocumentStore
) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    network = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), trained).eval()
    no, yes = (words().get_vocab()[token] for token in ("false", "true"))
    expected = []
    read = prompts(data, base)
    assert max(len(ids) for ids, _ in read) == 96  # some documents are cut
    for ids, _ in read:
        with torch.no_grad():
            logits = network(input_ids=torch.tensor([ids])).logits[0, -1]
        expected.append(float(logits[yes] - logits[no]))
    reranker = YesNoReranker(as_trained(trained), Compute(device="cpu"))
    ours = [
        score
        for condition in CONDITIONS
        for topic in collection.topics
        for score in reranker.score(
            topic.under(condition), store.get(list(collection.judging.qrels[condition][topic.qid]))
        )
    ]
    assert ours == pytest.approx(expected, abs=1e-4, rel=1e-4)


@pytest.mark.parametrize(("batch", "budget"), [(32, 100), (12, 500), (12, 8192)])
def test_training_equals_a_loop_of_plain_peft(
    tmp_path: Path, base: Path, data: Path, batch: int, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One example at a time, so without padding; the order is the one of the seed."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(3 << 16)
    plain = get_peft_model(
        AutoModelForCausalLM.from_pretrained(base),
        LoraConfig(r=4, lora_alpha=6, target_modules=PROJECTIONS, task_type="CAUSAL_LM"),
    )
    weights = {name: weight for name, weight in plain.named_parameters() if weight.requires_grad}
    optimiser = torch.optim.AdamW(weights.values(), weight_decay=0)
    data_rows, steps, losses = prompts(data, base, 120), math.ceil(32 / batch), []
    for epoch in range(2):
        torch.manual_seed((3 << 16) + epoch + 1)
        order, lost = torch.randperm(32).tolist(), 0.0
        for step in range(steps):
            chosen = order[step * batch : (step + 1) * batch]
            optimiser.zero_grad()
            for i in chosen:
                ids, answer = data_rows[i]
                loss = -plain(input_ids=torch.tensor([ids])).logits[0, -1].log_softmax(0)[answer]
                (loss / len(chosen)).backward()
                lost += loss.item()
            torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
            done = (epoch * steps + step) / (2 * steps)
            optimiser.param_groups[0]["lr"] = 1e-3 * (1 + math.cos(math.pi * done)) / 2
            optimiser.step()
        losses.append(lost / 32)
    monkeypatch.setattr(trainer, "NEXT_WORD_TOKENS", budget)
    options = ("--lr", "1e-3", "--rank", "4", "--alpha", "6", "--seed", "3", "--epochs", "2", "--batch", str(batch))
    out = train(data, base, tmp_path / "out", *SHORT, "--max-length", "120", *options)
    assert note(out)["loss"] == pytest.approx(losses, abs=1e-4)
    from safetensors.torch import load_file

    ours = load_file(out / "adapter_model.safetensors")
    assert len(ours) == len(weights) == 16
    for name, weight in weights.items():
        torch.testing.assert_close(ours[name.replace(".default", "")], weight.detach(), atol=2e-5, rtol=1e-3)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, base: Path, data: Path, heed: Heed) -> None:
    here = train(data, base, tmp_path / "here", *QUICK)
    done = heed("pipelines.train", data, "--base", base, "--out", "there", "--quiet", *QUICK)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert contents(tmp_path / "there") == contents(here)
    other = train(data, base, tmp_path / "other", *QUICK, "--seed", "1")
    assert contents(other)["adapter_model.safetensors"] != contents(here)["adapter_model.safetensors"]


@pytest.mark.disturbance
def test_a_run_killed_in_another_process_goes_on_and_ends_with_the_same_bytes(
    tmp_path: Path, base: Path, data: Path, environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = (*QUICK, "--epochs", "12")
    whole = train(data, base, tmp_path / "whole", *options)
    command = [sys.executable, "-m", "pipelines.train", data, "--base", base, "--out", tmp_path / "cut", *options]
    with subprocess.Popen(
        list(map(str, command)),
        env=environment | {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "7"},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        for line in process.stderr:
            if line.startswith("epoch 2"):
                process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "cut").exists()
    capsys.readouterr()
    train(data, base, tmp_path / "cut", *options)
    log = capsys.readouterr().err
    assert "resuming after epoch " in log
    assert "epoch 1 of 12" not in log and "epoch 12 of 12" in log
    assert contents(tmp_path / "cut") == contents(whole)


def test_a_checkpoint_of_other_settings_is_not_gone_on_from(
    tmp_path: Path, base: Path, data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer.Trainer, "save", lambda *all: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main([str(data), "--base", str(base), "--out", str(tmp_path / "out"), *QUICK]) == 130
    assert [path.name for path in tmp_path.iterdir()] == [".out.training"]
    monkeypatch.undo()
    capsys.readouterr()
    train(data, base, tmp_path / "out", *QUICK, "--rank", "2")
    assert "resuming" not in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_was_made_is_used_again_and_other_settings_make_it_anew(
    tmp_path: Path, base: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = train(data, base, tmp_path / "out", *QUICK, "--steps", "2")
    before = contents(out)
    assert "epoch 1 of 1" in capsys.readouterr().err and len(note(out)["loss"]) == 1
    train(data, base, out, *QUICK, "--steps", "2")
    assert "used again" in capsys.readouterr().err and contents(out) == before
    train(data, base, out, *QUICK, "--steps", "5")
    assert "steps was 2 and is now 5" in capsys.readouterr().err
    assert contents(out) != before and len(note(out)["loss"]) == 2
    written = contents(out)
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        (out / name).write_bytes(written[name][:-2])
        train(data, base, out, *QUICK, "--steps", "5")
        assert "not as it was left" in capsys.readouterr().err and contents(out) == written


def test_a_folder_of_something_else_is_kept(
    tmp_path: Path, base: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    for out in (tmp_path / "mine", tmp_path / "mine" / "thesis.tex"):
        assert main([str(data), "--base", str(base), "--out", str(out)]) == 1
        assert f"{out}: exists without training.json" in capsys.readouterr().err
    assert contents(tmp_path / "mine") == {"thesis.tex": b"x"}


GOOD = {"query": "q", "instruction": "", "document": "d", "label": "True"}


def test_labels_are_read_as_they_come(tmp_path: Path) -> None:
    lines = [GOOD, *({**GOOD, "label": label} for label in (True, 1, "1", "true", False, 0, "0", "FALSE"))]
    path = write_jsonl(tmp_path / "d.jsonl", lines)
    assert [example.label for example in read_examples(path)] == [True] * 5 + [False] * 4
    path.write_text(json.dumps(GOOD) + "\n\n \n" + json.dumps(GOOD))
    assert [example.origin for example in read_examples(path)] == [f"{path}, line 1", f"{path}, line 4"]


def test_bad_lines_are_told_together(tmp_path: Path, base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = [
        {"label": "maybe"}, {"label": None}, {"label": 1.0}, {"label": 2},
        {"document": " "}, {"instruction": None}, {"query": ["q"]},
    ]  # fmt: skip
    lines = [GOOD, {"query": "q", "document": "d"}, *({**GOOD, **change} for change in changes)]
    path = write_jsonl(tmp_path / "d.jsonl", lines)
    assert main([str(path), "--base", str(base), "--out", str(tmp_path / "out")]) == 1
    problems = capsys.readouterr().err.splitlines()
    assert [line.partition(", ")[2] for line in problems] == [
        "line 2: no instruction, label; expected query, instruction, document and label",
        "line 3: label is 'maybe', expected true or false, 1 or 0",
        "line 4: label is None, expected true or false, 1 or 0",
        "line 5: label is 1.0, expected true or false, 1 or 0",
        "line 6: label is 2, expected true or false, 1 or 0",
        "line 7: document is ' ', expected text",
        "line 8: instruction is None, expected text",
        "line 9: query is ['q'], expected text",
    ]
    path.write_text("\n\n")
    assert main([str(path), "--base", str(base), "--out", str(tmp_path / "out")]) == 1
    assert "no examples; expected JSON lines with query" in capsys.readouterr().err


def test_a_prompt_that_leaves_no_room_is_told_with_its_line(
    tmp_path: Path, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", [GOOD, {**GOOD, "instruction": "a " * 90}])
    assert main([str(path), "--base", str(base), "--out", str(tmp_path / "out"), *SHORT]) == 1
    assert f"{path}, line 2: prompt, query and instruction take" in capsys.readouterr().err


def test_defaults_are_followirs(data: Path, base: Path) -> None:
    given = vars(parser().parse_args([str(data), "--base", str(base), "--out", "x"]))
    paper = {"epochs": 8, "lr": 3e-5, "batch": 32, "max_length": 2048, "rank": 8, "alpha": 16}
    assert given.items() >= {**paper, "steps": None, "seed": 0, "like": FOLLOWIR}.items()
    assert sorted(trainer.PROJECTIONS) == sorted(PROJECTIONS)
    assert "(true/false)" in (Registry().find(FOLLOWIR).prompt or "")


def broken(folder: Path, how: str, base: Path, trained: Path, tiny_encoder: Path) -> Path:
    if how == "encoder":
        return tiny_encoder
    if how == "adapter":
        return trained
    if how == "gpt2":
        return tiny(folder / how, "GPT2LMHeadModel")
    if how == "headless":
        return tiny(folder / how, "LlamaModel")
    from safetensors.torch import load_file, save_file

    shutil.copytree(base, folder / how)
    weights = load_file(folder / how / "model.safetensors")
    weights["model.norm.weight"][:] = math.nan
    save_file(weights, folder / how / "model.safetensors", {"format": "pt"})
    return folder / how


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("encoder", "is a bert (BertModel), expected a causal language model"),
        ("headless", "is a llama (LlamaModel), expected a causal language model with its output layer"),
        ("adapter", "is an adapter; give its base"),
        ("gpt2", "a GPT2LMHeadModel has no layers called k_proj, o_proj, q_proj, v_proj"),
        ("nan", "the loss is nan: training diverged"),
    ],
)
def test_a_base_that_cannot_be_trained_is_an_error(
    tmp_path: Path, data: Path, base: Path, trained: Path, tiny_encoder: Path,
    how: str, message: str, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = broken(tmp_path, how, base, trained, tiny_encoder)
    assert main([str(data), "--base", str(path), "--out", str(tmp_path / "out"), *QUICK]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tokens", "fals", "true"), "token 'fals' is not one entry of its vocabulary; it has none like it"),
        (("--tokens", "true", "true"), "are the same token"),
        (("--like", "zeroentropy/zerank-2"), "tokens ('Yes',), expected two to train with, for no and yes"),
        (("--prompt-template", "{query}?"), "expected a text with {query} and one {document}"),
        (("--like", "castorini/monot5-base-msmarco-10k"), "its family is seq2seq, expected causal"),
        (("--like", "jhu-clsp/FollowIR-7"), "did you mean jhu-clsp/FollowIR-7B"),
    ],
)
def test_answers_and_prompts_that_do_not_fit_are_errors(
    tmp_path: Path, data: Path, base: Path, options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(data), "--base", str(base), "--out", str(tmp_path / "out"), *QUICK, *options]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--lr", "0"), "error: --lr: found 0.0, expected a number between 0 and 1"),
        (("--epochs", "0"), "--epochs: found '0', expected a whole number from 1"),
        (("--seed", "-1"), "error: --seed: found -1, expected 0 to 4294967295"),
        (("--rank", "x"), "--rank: found 'x', expected a whole number from 1"),
    ],
)
def test_numbers_out_of_range_are_errors(
    data: Path, base: Path, heed: Heed, option: tuple[str, str], said: str
) -> None:
    result = heed("pipelines.train", data, "--base", base, "--out", "x", *option)
    assert result.returncode and said in result.stderr


def test_a_base_of_the_hub_keeps_its_revision(tmp_path: Path, data: Path, base: Path, heed: Heed) -> None:
    """The hub is a folder here, laid out as its client does."""
    commit = "3ad372fc79158a2148299e3318516c786aeded6c"
    home = tmp_path / "hub" / "models--mistralai--Mistral-7B-Instruct-v0.2"
    shutil.copytree(base, home / "snapshots" / commit)
    hub = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    options = ("--base", "mistralai/Mistral-7B-Instruct-v0.2", "--out", "out", *QUICK, "--steps", "1")
    result = heed("pipelines.train", data, *options, **hub)
    assert result.returncode == 0, result.stderr
    out = tmp_path / "out"
    config = json.loads((out / "adapter_config.json").read_text())
    assert (config["base_model_name_or_path"], config["revision"]) == ("mistralai/Mistral-7B-Instruct-v0.2", commit)
    model = as_trained(out)
    assert (model.base, model.base_revision, model.dtype) == (config["base_model_name_or_path"], commit, "bfloat16")
