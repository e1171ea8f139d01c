"""Models from a real server that speaks the hub's protocol: fetched once, whole, and then used without a network."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from served_hub import served_hub

from hardening.hub import Hub, online
from heed.formats.trec_files import read_run

NAME = "somebody/tiny-cross"
ASKED = {"qid": "1", "lang": "eng", "query": "a", "instructions": {"original": "b"}}
AGAIN = ("pipelines.rerank", "first.run", "--docs", "docs.jsonl", "--topics", "topics.jsonl", "--device", "cpu")


@pytest.fixture
def hub(tiny_cross_encoder: Path) -> Iterator[Hub]:
    """A hub with a model, and beside it what nobody wants to fetch."""
    with served_hub() as server:
        files = {path.name: path.read_bytes() for path in tiny_cross_encoder.iterdir()}
        server.data[NAME] = files | {
            "README.md": b"# tiny",
            "pytorch_model.bin": b"pickled",
            "onnx/model.onnx": b"onnx",
        }
        yield server


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "docs.jsonl", [{"id": f"d{at}", "title": "", "text": "abc"[at] * 3} for at in range(3)])
    write_jsonl(tmp_path / "topics.jsonl", [ASKED])
    (tmp_path / "first.run").write_text("".join(f"1 Q0 d{at} {at + 1} {9 - at} t\n" for at in range(3)))


def test_a_model_is_fetched_once_without_its_pickles_and_works_offline(hub: Hub, heed: Heed, tmp_path: Path) -> None:
    told = (*AGAIN, "--reranker", NAME)
    first = heed(*told, "--out", "one.run", **online(hub.url, tmp_path / "hf"))
    assert first.returncode == 0 and f"{NAME}: fetching it from the hub" in first.stderr, first.stderr
    assert len(read_run(tmp_path / "one.run")["1"]) == 3
    assert not {"pytorch_model.bin", "onnx/model.onnx"} & set(hub.got())
    hub.asked.clear()
    again = heed(*told, "--out", "again.run", **online(hub.url, tmp_path / "hf"))
    assert again.returncode == 0 and "fetching" not in again.stderr, again.stderr
    assert (tmp_path / "again.run").read_bytes() == (tmp_path / "one.run").read_bytes()
    assert hub.asked == []  # so it works without a network too


def test_a_model_that_is_pickled_is_fetched_converted_once_and_works_offline(
    hub: Hub, heed: Heed, tmp_path: Path
) -> None:
    import torch
    from safetensors.torch import load

    files = hub.data[NAME]
    torch.save(load(files.pop("model.safetensors")), tmp_path / "a.bin")
    files |= {
        "pytorch_model.bin": (tmp_path / "a.bin").read_bytes(),
        "optimizer.bin": b"o",
        "a/pytorch_model.bin": b"a",
    }
    told = (*AGAIN, "--reranker", NAME)
    first = heed(*told, "--out", "one.run", **online(hub.url, tmp_path / "hf"))
    assert first.returncode == 0 and first.stderr.count("converting its pickled weights") == 1, first.stderr
    assert not {"optimizer.bin", "a/pytorch_model.bin"} & set(hub.got())
    [weights] = (tmp_path / "hf" / "assets" / "heed").rglob("model.safetensors")
    assert weights.parents[2].name == "models--somebody--tiny-cross"  # the commit is below it
    again = heed(*told, "--out", "again.run", **online("http://127.0.0.1:9", tmp_path / "hf"))
    assert again.returncode == 0 and "convert" not in again.stderr + again.stdout, again.stderr
    assert (tmp_path / "again.run").read_bytes() == (tmp_path / "one.run").read_bytes()


def test_a_repository_of_llama_cpps_weights_is_refused_before_a_download(hub: Hub, heed: Heed, tmp_path: Path) -> None:
    hub.data[NAME]["model-Q4_K_M.gguf"] = hub.data[NAME].pop("model.safetensors")
    del hub.data[NAME]["pytorch_model.bin"]
    result = heed(*AGAIN, "--reranker", NAME, "--out", "one.run", **online(hub.url, tmp_path / "hf"))
    assert result.returncode == 1 and f"error: {NAME}: GGUF, llama.cpp's form of weights" in result.stderr
    assert hub.got() == []


def test_a_model_whose_download_was_killed_is_fetched_to_its_end(
    hub: Hub, heed: Heed, tmp_path: Path, environment: dict[str, str]
) -> None:
    told, settings = (*AGAIN, "--reranker", NAME, "--out", "one.run"), online(hub.url, tmp_path / "hf")
    hub.open.clear()
    hub.open_for = {"config.json", "modules.json"}
    process = subprocess.Popen([sys.executable, "-m", *told], cwd=tmp_path, env=environment | settings)
    while not any((tmp_path / "hf").rglob("snapshots/*/config.json")):
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    hub.open.set()
    offline = heed(*told, **online("http://127.0.0.1:9", tmp_path / "hf"))
    assert offline.returncode == 1 and "cannot be" in offline.stderr and "internal error" not in offline.stderr
    assert heed(*told, **settings).returncode == 0
    assert len(read_run(tmp_path / "one.run")["1"]) == 3
    assert not list((tmp_path / "hf").rglob("*.incomplete"))
