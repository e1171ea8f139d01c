"""Shared pieces: the command run as a user runs it, real tiny models, real data where they are."""

import contextlib
import gc
import importlib
import io
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from filelock import FileLock
from hypothesis import settings

# read when torch is loaded; two workers of pytest, with a thread for each core each, would wait for one another
os.environ.setdefault("OMP_NUM_THREADS", "1")

if TYPE_CHECKING:
    from openai_server import Server
    from playwright.sync_api import Browser

ROOT = Path(__file__).parent.parent
SUPPORT = ROOT / "tests" / "support"
SAMPLED = ("eng", "zho", "fas", "rus")  # languages of the embedded sample
SHARED = ROOT.parent / "shared" / "data"
# packages that need neither Java nor models, and the fixtures of whole commands, browsers and real inputs
UNITS = {"formats", "instructions", "judging", "measures", "published", "report", "submission", "tables", "web"}
WHOLE = {"heed", "heed_process", "chromium", "shared"}
MESSAGES = logging.getLogger("heed")

settings.register_profile("heed", deadline=None)  # a property is right or wrong however busy the machine is
settings.load_profile("heed")

Heed = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # first, so that no worker of pytest steals half of a module whose tests share processes and a cluster
    items.sort(key=lambda item: item.path.name != "test_workers.py")
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if item.path.parent.name in UNITS and not fixtures & WHOLE:
            item.add_marker(pytest.mark.unit)
        if "shared" in fixtures and not SHARED.is_dir():
            item.add_marker(pytest.mark.skip(reason="the real inputs are not on this machine"))


@pytest.fixture
def server() -> Iterator["Server"]:
    """A real HTTP server that speaks OpenAI's protocol and rerank servers'."""
    from openai_server import Server  # tests start programs that import this file alone

    with Server().running() as running:
        yield running


@pytest.fixture(scope="session", autouse=True)
def unsynchronized() -> Iterator[None]:
    """Files of this process are not waited for until they are on the disk: no test cuts the power."""
    with mock.patch.object(os, "fsync", lambda descriptor: None):
        yield


@pytest.fixture(scope="session", autouse=True)
def aloud() -> Iterator[None]:
    """Messages go to stderr, to what it is at the time, as in a command."""
    from pipelines.command import logging_to_stderr

    with logging_to_stderr(quiet=False):
        yield


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    """What a test sets for this process must not reach the next test."""
    if torch := sys.modules.get("torch"):  # random weights and numbers are the same in every run
        torch.default_generator.manual_seed(0)  # torch.manual_seed also notes, for a GPU to come, who called it
    handlers, level = list(MESSAGES.handlers), MESSAGES.level
    yield
    MESSAGES.handlers = handlers
    if MESSAGES.level != level:  # setting it walks through all loggers, hundreds
        MESSAGES.setLevel(level)


@pytest.fixture(scope="module", autouse=True)
def frozen() -> Iterator[None]:
    """What a module of tests leaves, packages above all, is searched for garbage once, not again and again."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def shared() -> Path:
    return SHARED


def stranger(home: Path) -> dict[str, str]:
    """Return the variables of a stranger's machine: an empty home, no Java, no key, no hub; the same processor."""
    return {
        **{name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")},  # it rounds otherwise
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": os.environ["OMP_NUM_THREADS"],
    }


@contextlib.contextmanager
def hub_read_again() -> Iterator[None]:
    """Let the hub's client read HF_HOME, HF_ENDPOINT and HF_HUB_OFFLINE again, as it does when it is loaded."""
    from huggingface_hub import constants, hf_api

    from heed.datasets.fetchable import _info

    _info.cache_clear()  # what another hub said
    before = dict(vars(constants))
    importlib.reload(constants)
    try:
        with mock.patch.object(hf_api.api, "endpoint", constants.ENDPOINT):
            yield
    finally:
        vars(constants).update(before)


def call(
    command: str, folder: Path, variables: dict[str, str], *arguments: object
) -> "subprocess.CompletedProcess[str]":
    """Run ``python -m command`` in ``folder`` by a call, so that Java, torch and scikit-learn are loaded once a worker.

    The result is that of a process: its status, stdout and stderr.
    """
    line = list(map(str, arguments))
    stdout, stderr = io.StringIO(), io.StringIO()
    known = set(sys.modules)
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, variables, clear=True),
        hub_read_again(),
        mock.patch.object(sys, "path", [str(folder), *sys.path]),  # where python -m finds modules first
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
    ):
        try:
            status = importlib.import_module(command).main(line)
        except SystemExit as end:  # argparse's
            status = end.code
    for name in sys.modules.keys() - known:
        if Path(getattr(sys.modules[name], "__file__", None) or ROOT).parent == folder:
            del sys.modules[name]  # another folder may have one of this name
    return subprocess.CompletedProcess([command, *line], status, stdout.getvalue(), stderr.getvalue())


@pytest.fixture(scope="session")
def chromium() -> Iterator["Browser"]:
    """A real Chromium, one for all tests of a worker; tests skip where there is none (annotating_browser.CHROMIUM)."""
    from annotating_browser import launched

    with launched() as browser:
        yield browser


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return stranger(tmp_path / "home")


@pytest.fixture
def heed(tmp_path: Path, environment: dict[str, str]) -> Heed:
    """Run a command of ``pipelines`` in an empty folder by a call; the result carries returncode, stdout and stderr.

    What the process itself is tested for, and what libraries read when they are loaded (IR_DATASETS_HOME, JAVA_HOME),
    needs ``heed_process``.
    """

    def run(command: str, *arguments: object, **variables: str) -> "subprocess.CompletedProcess[str]":
        return call(command, tmp_path, environment | variables, *arguments)

    return run


@pytest.fixture
def heed_process(tmp_path: Path, environment: dict[str, str]) -> Heed:
    """Run ``python -m command`` in an empty folder, in a process of its own, as a user does."""
    return partial(in_process, tmp_path, environment, "-m")


def in_process(
    folder: Path, environment: dict[str, str], *line: object, **variables: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *map(str, line)],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="session")
def sample_runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder with the results of the NeuCLIR sample in one language; to be read only.

    Each is made once for all workers of pytest, beside whose folders it is, as deep as what the tests make themselves.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.with_name("sample") if "PYTEST_XDIST_WORKER" in os.environ else base
    shared.mkdir(exist_ok=True)

    @cache
    def results(lang: str) -> Path:
        folder, whole = shared / f"sample-{lang}", shared / f"sample-{lang}.whole"
        with FileLock(shared / f"sample-{lang}.lock"):
            if not whole.exists():
                folder.mkdir(exist_ok=True)
                options = ("--lang", lang)
                result = call("pipelines.neuclir", folder, stranger(folder / "home"), *options)
                assert result.returncode == 0, result.stderr
                whole.touch()
        return folder / "runs" / "neuclir-sample" / lang

    return results


def hear_interrupts() -> None:
    """Run in a child before its program: a shell lets its background jobs, and so their children, ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def write_jsonl(path: Path, records: Iterable[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records), encoding="utf-8")
    return path


def tiny_tokenizer(positions: int = 64) -> object:
    """A real fast tokenizer of BERT's form over single letters and a few words."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*special, *map(chr, range(33, 127)), *"的一是不了人在有我他这中大来上国"]
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    letters = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), letters])
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=positions,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def tiny_config(positions: int = 64, **settings: int) -> object:
    from transformers import BertConfig

    return BertConfig(
        vocab_size=200,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=positions,
        initializer_range=0.5,  # wide weights, so that different inputs give visibly different scores
        **settings,
    )


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real BERT of two layers with random weights, as a plain transformers folder."""
    import torch
    from transformers import BertModel

    folder = tmp_path_factory.mktemp("models") / "tiny-encoder"
    torch.manual_seed(0)
    BertModel(tiny_config()).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)  # type: ignore[attr-defined]
    return folder


@pytest.fixture(scope="session")
def tiny_cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a classification head of one label."""
    import torch
    from transformers import BertForSequenceClassification

    folder = tmp_path_factory.mktemp("models") / "tiny-cross"
    torch.manual_seed(1)
    BertForSequenceClassification(tiny_config(num_labels=1)).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)  # type: ignore[attr-defined]
    return folder


os.environ.setdefault("HF_HUB_OFFLINE", "1")
