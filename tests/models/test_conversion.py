"""Pickled weights: converted once, by a process of its own, to what gives the same scores; hostile ones are refused."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_language_models as language
import torch
from conftest import ROOT
from hostile_pickles import Bomb
from model_inputs import CPU
from safetensors import safe_open
from safetensors.torch import load_file

from heed.errors import ModelError
from heed.files import digest
from heed.models import pickles as unpickling
from heed.models.encoders import PeftEncoder, SentenceEncoder
from heed.models.files import fingerprint, local_copy
from heed.models.listing import missing
from heed.models.pickles import convert, converted, has_weights, lacks_safetensors, pickles_of
from heed.models.registry.entries import Model
from heed.models.rerankers.yes_no import YesNoReranker
from heed.types import Document, Query

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft's
DOCUMENTS = [Document(str(at), "", text) for at, text in enumerate(["a short one", "a river " * 9, "true 12 中"])]
ASKED = Query("1", "a river? only a", "a river?", "only a", condition="original")


@pytest.fixture(scope="module", autouse=True)
def assets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where converted weights go, in place of the user's own."""
    import huggingface_hub.constants

    folder = tmp_path_factory.mktemp("assets")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(huggingface_hub.constants, "HF_ASSETS_CACHE", str(folder))
        yield folder


def pickle_weights(folder: Path) -> Path:
    """Replace every safetensors file in ``folder``, and its index, by what torch.save makes of the same tensors."""
    for path in folder.rglob("*.safetensors"):
        name = path.name.replace(".safetensors", ".bin")
        name = name if name.startswith("adapter") else f"pytorch_{name}"
        torch.save(load_file(path), path.with_name(name))
        path.unlink()
    for index in folder.rglob("model.safetensors.index.json"):
        text = index.read_text().replace("model-", "pytorch_model-").replace(".safetensors", ".bin")
        index.with_name("pytorch_model.bin.index.json").write_text(text)
        index.unlink()
    return folder


def both(folder: Path, parent: Path) -> tuple[Path, Path]:
    """The model in ``folder`` as it is and pickled."""
    return folder, pickle_weights(shutil.copytree(folder, parent / f"{folder.name}-pickled"))


@pytest.fixture(scope="module")
def bi(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model of sentence-transformers with mean pooling and a dense layer, so in two folders."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    parent = tmp_path_factory.mktemp("bi")
    torch.manual_seed(0)
    parts = [Transformer(str(tiny_encoder)), Pooling(32, "mean"), Dense(32, 8)]
    SentenceTransformer(modules=parts, device="cpu").save(str(parent / "bi"))
    return both(parent / "bi", parent)


def test_a_bi_encoder_of_several_modules_gives_the_same_vectors_and_is_converted_once(
    bi: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    pickled = bi[1]
    assert pickles_of(pickled) == ["2_Dense/pytorch_model.bin", "pytorch_model.bin"]
    assert missing(Model(str(pickled))) == []
    before = sorted(path.name for path in pickled.rglob("*"))
    with caplog.at_level("INFO", "heed"):
        one, two = (SentenceEncoder(Model(str(folder)), CPU) for folder in bi)
    assert caplog.text.count("converting its pickled weights to safetensors, once") == 1
    np.testing.assert_array_equal(one.encode_documents(DOCUMENTS), two.encode_documents(DOCUMENTS))
    np.testing.assert_array_equal(one.encode_queries([ASKED]), two.encode_queries([ASKED]))
    folder = converted(pickled)
    assert caplog.text.count("converting") == 1
    assert sorted(path.name for path in pickled.rglob("*")) == before  # the user's folder is as it was
    assert not list(folder.rglob("*.bin")) and (folder / "tokenizer.json").samefile(pickled / "tokenizer.json")
    # its config has the digests of the files that came, so that another version of torch is not another model
    assert two.config["files"]["pytorch_model.bin"] == digest(pickled / "pytorch_model.bin")
    assert fingerprint(Model(str(pickled))) == fingerprint(Model(str(pickled)))
    (pickled / "further.txt").write_text("x")
    assert (converted(pickled) / "further.txt").read_text() == "x"
    (pickled / "further.txt").unlink()
    again = converted(pickled)
    assert not (again / "further.txt").is_symlink()
    assert [path for path in again.parent.iterdir() if path.is_dir()] == [again]  # no earlier state stays on the disk


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A T5, pickled as old versions of transformers saved it: each name of tied weights, sharing memory."""
    from transformers import AutoModelForSeq2SeqLM

    parent = tmp_path_factory.mktemp("t5")
    whole, pickled = both(language.seq2seq(parent / "t5"), parent)
    torch.save(AutoModelForSeq2SeqLM.from_pretrained(whole).state_dict(), pickled / "pytorch_model.bin")
    return whole, pickled


def test_tied_weights_are_converted_under_each_name_and_changed_pickles_anew(t5: tuple[Path, Path]) -> None:
    model = Model(str(t5[0]), "seq2seq", prompt=language.T5, tokens=("▁false", "▁true"))
    one, two = (YesNoReranker(model._replace(source=str(folder)), CPU).score(ASKED, DOCUMENTS) for folder in t5)
    assert one == two
    path = converted(t5[1]) / "model.safetensors"
    with safe_open(path, "pt") as weights:
        assert weights.metadata() == {"format": "pt"}
        names = [name for name in weights.keys() if "embed_tokens" in name or "shared" in name]  # noqa: SIM118
        assert len(names) == 3
        assert all(torch.equal(weights.get_tensor(name), weights.get_tensor(names[0])) for name in names)
    state = torch.load(t5[1] / "pytorch_model.bin", weights_only=True)
    changed = {name: weight * 1.5 for name, weight in state.items()}
    torch.save(changed, t5[1] / "pytorch_model.bin")
    found = load_file(converted(t5[1]) / "model.safetensors")
    assert found.keys() == changed.keys() and all(torch.equal(found[name], changed[name]) for name in found)


def test_an_adapter_and_its_base_in_shards_are_converted(tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModel

    base = language.causal("Llama", tmp_path / "base")
    AutoModel.from_pretrained(base).save_pretrained(base, max_shard_size="60KB")
    (base / "model.safetensors").unlink()
    torch.manual_seed(1)
    settings = LoraConfig(r=4, lora_alpha=8, init_lora_weights=False, target_modules=["q_proj", "down_proj"])
    get_peft_model(AutoModel.from_pretrained(base), settings).save_pretrained(tmp_path / "adapter")
    vectors = []
    for adapter, under in zip(both(tmp_path / "adapter", tmp_path), both(base, tmp_path), strict=True):
        encoder = PeftEncoder(Model(str(adapter), "peft", base=str(under), pooling="lasttoken"), CPU)
        vectors.append(encoder.encode_documents(DOCUMENTS))
    np.testing.assert_array_equal(*vectors)
    folder = converted(tmp_path / "base-pickled")
    shards = sorted(path.name for path in folder.glob("*.safetensors"))
    assert len(shards) > 2 and shards == sorted(path.name for path in base.glob("*.safetensors"))
    index = "model.safetensors.index.json"
    assert json.loads((folder / index).read_text()) == json.loads((base / index).read_text())
    for shard in (tmp_path / "base-pickled").glob("pytorch_model-00002*"):
        shard.unlink()
    with pytest.raises(ModelError, match=r"index.json: names 'pytorch_model-00002-of-\d+.bin', expected a file"):
        converted(tmp_path / "base-pickled")
    (tmp_path / "base-pickled" / "pytorch_model.bin.index.json").unlink()
    with pytest.raises(ModelError, match=r"pytorch_model.bin.index.json: is missing, but pickled weights beside it"):
        converted(tmp_path / "base-pickled")
    assert not has_weights(tmp_path / "base-pickled")


def test_a_checkpoint_of_colberts_own_code_gives_the_same_scores(tmp_path: Path) -> None:
    late = pytest.importorskip("tiny_late_models")  # of an add-on
    made = late.bert(tmp_path)
    documents = late.documents(late.DOCIDS)
    one, two = (
        late.reranker_of(folder).score(late.TOPIC.under("original"), documents)
        for folder in both(made.folder, tmp_path)
    )
    assert one == two


def problem_of(pickled: Path) -> str:
    """What is wrong with a pickle of weights, as the process that reads it finds."""
    return convert("weights", str(pickled), [str(pickled.with_suffix(".safetensors"))])


def test_a_pickle_that_would_run_code_stays_refused(tmp_path: Path, assets: Path) -> None:
    folder = tmp_path / "hostile"
    folder.mkdir()
    bomb = {"a": torch.zeros(2), "b": Bomb(tmp_path / "ran")}
    torch.save(bomb, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"hostile/pytorch_model.bin: the pickle holds more than .* stays refused"):
        local_copy(Model(str(folder)))
    (folder / "plain").write_bytes(pickle.dumps(bomb, protocol=2))
    assert "so it stays refused (Unsupported global: GLOBAL torch.storage._load_from_bytes" in problem_of(
        folder / "plain"
    )
    assert not (tmp_path / "ran").exists()
    assert not [path for path in assets.rglob("*hostile*/*") if path.is_dir()]


def plain(path: Path, content: Any) -> None:
    torch.save(content, path)


def cut(path: Path, old: bool) -> None:
    torch.save({"a": torch.ones(5000)}, path, _use_new_zipfile_serialization=not old)
    path.write_bytes(path.read_bytes()[:9000])


@pytest.mark.filterwarnings("ignore:Validating sparse tensor invariants")  # torch 2.15 reads them with a warning
@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (lambda path: cut(path, old=False), "not whole pickled weights ("),
        (lambda path: cut(path, old=True), "not whole pickled weights (unexpected EOF"),
        (lambda path: path.write_bytes(b""), "not whole pickled weights (EOFError"),
        (
            lambda path: plain(path, torch.nn.Linear(2, 2)),
            "could run code, so it stays refused (Unsupported global: GLOBAL torch.nn.modules",
        ),
        (lambda path: plain(path, {"a": 1}), "no weights by name ('a' is of type int)"),
        (lambda path: plain(path, {}), "no weights by name (found dict)"),
        (lambda path: plain(path, [torch.ones(1)]), "no weights by name (found list)"),
        (lambda path: plain(path, {"a": torch.eye(2).to_sparse()}), "not whole pickled weights ("),
    ],
)
def test_what_is_no_whole_file_of_weights_is_an_error(
    write: Callable[[Path], None], problem: str, tmp_path: Path
) -> None:
    write(tmp_path / "a.bin")
    assert problem in problem_of(tmp_path / "a.bin")
    assert not (tmp_path / "a.safetensors").exists()


@pytest.mark.parametrize("old", [False, True])
def test_weights_of_every_layout_are_converted(old: bool, tmp_path: Path) -> None:
    base = torch.arange(12.0).reshape(3, 4)
    weights = {
        "turned": base.T,
        "part": base[1:, 1:],
        "half": base.bfloat16(),
        "one": torch.tensor(7),
        "empty": base[:0],
    }
    torch.save(weights, tmp_path / "a.bin", _use_new_zipfile_serialization=not old)
    assert problem_of(tmp_path / "a.bin") == ""
    found = load_file(tmp_path / "a.safetensors")
    assert found.keys() == weights.keys()
    for name, weight in weights.items():
        assert found[name].dtype == weight.dtype and torch.equal(found[name], weight)


def test_the_process_that_reads_pickles_gets_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shown.py").write_text("import json, os; print(json.dumps(' '.join(os.environ)))")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(unpickling, "__name__", "shown")  # what the process runs; its answer is a problem
    monkeypatch.setenv("COHERE_API_KEY", "secret")
    with pytest.raises(ModelError) as told:
        unpickling.unpickle("weights", [(tmp_path / "shown.py", tmp_path / "out")], ModelError)
    assert {"PATH", "PYTHONPATH", "HOME", "COHERE_API_KEY"} & {*str(told.value).split()} == {"PATH", "PYTHONPATH"}


def test_a_pickle_that_is_never_read_to_its_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpickling, "LEAST", 1)  # else it takes five minutes
    os.mkfifo(tmp_path / "a.bin")  # nobody writes to it
    with pytest.raises(ModelError, match=r"a.bin: not read within 1 s; fetch it again"):
        unpickling.unpickle("weights", [(tmp_path / "a.bin", tmp_path / "a.safetensors")], ModelError)


@pytest.mark.disturbance
def test_a_killed_conversion_leaves_nothing_and_the_next_start_converts(tmp_path: Path, assets: Path) -> None:
    folder = tmp_path / "killed"
    folder.mkdir()
    torch.save({"a": torch.ones(1000)}, folder / "pytorch_model.bin")
    program = f"from heed.models.pickles import converted; from pathlib import Path; converted(Path({str(folder)!r}))"
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "HF_ASSETS_CACHE": str(assets)}
    process = subprocess.Popen([sys.executable, "-c", program], env=variables)
    while not list(assets.rglob(".*.part")):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    target = converted(folder)
    assert torch.equal(load_file(target / "model.safetensors")["a"], torch.ones(1000))
    assert not list(target.parent.glob(".*.part"))


def test_only_pickles_without_safetensors_beside_them_are_fetched() -> None:
    shards = [f"pytorch_model-{at:05}-of-00002.bin" for at in (1, 2)]
    assert lacks_safetensors(["config.json", "pytorch_model.bin.index.json", *shards, "optimizer.bin"]) == shards
    assert lacks_safetensors(["model.safetensors", "pytorch_model.bin", "2_Dense/pytorch_model.bin"]) == [
        "2_Dense/pytorch_model.bin"
    ]
    assert lacks_safetensors(["adapter_model.bin", "checkpoint-9/pytorch_model.bin", "training_args.bin"]) == [
        "adapter_model.bin"
    ]
    assert lacks_safetensors(["model-00001-of-00002.safetensors", "model.safetensors.index.json", *shards]) == []
