"""Work by several processes and by a Ray cluster: the bytes of one process, also where workers are killed."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import SUPPORT, Heed, write_jsonl
from processes import command_line, running, until
from tiny_language_models import LLAMA, causal
from worker_checks import (
    CPU,
    TOPICS,
    check_encoding,
    check_reranking,
    encoder,
    pool_of,
    queries,
    records,
)
from worker_tasks import DEADLY, FAILING, SEEN

from heed.addons.cluster import Workers
from heed.addons.cluster.ray_cluster import Cluster, check_answer, faults_left_to_java
from heed.addons.cluster.shared import SharedEncoder, SharedReranker, shared, shared_model
from heed.addons.cluster.workers import VISIBLE, Process, Processes, WorkerPool, check_versions, versions, visible_gpus
from heed.errors import HeedError, UsageError, WorkerError
from heed.formats.document_store import Corpus, DocumentStore, open_store
from heed.formats.documents import Files
from heed.formats.trec_files import as_tag, write_run
from heed.languages import language
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers.cross_encoder import CrossEncoderReranker
from heed.models.rerankers.yes_no import YesNoReranker
from heed.reranking.maxp import Cut, MaxP
from heed.reranking.rescore import PoolDocuments, rescore
from heed.reranking.similarity import Decompose
from heed.retrieval.dense import vectors
from heed.systems.make import Place
from heed.types import Query, Reranker, Retriever

LEAN = Path(__file__).parents[2] / "support" / "lean"
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
STORE = 100 * 2**20  # bytes of shared memory of a node


@pytest.mark.skipif(torch.accelerator.is_available(), reason="has a GPU")
@pytest.mark.parametrize("device", ["cuda", "mps"])
@pytest.mark.parametrize("command", ["pipelines.neuclir --lang zho", "pipelines.train x.jsonl --base b --out o"])
def test_a_gpu_that_is_not_there_is_told_before_any_work(heed: Heed, tmp_path: Path, command: str, device: str) -> None:
    result = heed(*command.split(), "--device", device)
    assert result.returncode == 1 and f"finds no GPU for {device} here; give --device cpu" in result.stderr
    assert "internal error" not in result.stderr and not list(tmp_path.rglob("*.sqlite"))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DocumentStore:
    monkeypatch.setattr(vectors, "SHARD", 40)
    return open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records())]))


TWO = Workers(number=2)


def reranker_of(folder: Path, workers: Workers = TWO, **fields: Any) -> SharedReranker:
    made = shared_model(Model(str(folder), **fields), CPU, workers)
    assert isinstance(made, SharedReranker)
    return made


@pytest.mark.disturbance
def test_two_processes_encode_as_one(
    store: DocumentStore, tmp_path: Path, tiny_encoder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_encoding(store, tmp_path, tiny_encoder, TWO)
    told = capsys.readouterr().err
    assert "worker 1: lost (process " in told
    assert "ended by signal SIGKILL); its task is retried, attempt 2 of 3" in told


def test_decompose_leaves_the_files_and_runs_of_one_process(
    store: DocumentStore, tmp_path: Path, tiny_encoder: Path
) -> None:
    encoders = (encoder(tiny_encoder), encoder(tiny_encoder, TWO))
    corpora = [Corpus(tmp_path / name, store, language("eng")) for name in ("one", "two")]
    rerankers = [Decompose(each, corpus=corpus) for each, corpus in zip(encoders, corpora, strict=True)]
    check_reranking(*rerankers, store, tmp_path, None)
    rerankers[1].close()
    files = [
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*.*")
            if path.is_file()
        }
        for name in ("one", "two")
    ]
    assert files[0] == files[1] and files[0]


def test_two_processes_rerank_as_one(
    store: DocumentStore, tmp_path: Path, tiny_cross_encoder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Model(str(tiny_cross_encoder), family="cross-encoder")
    plain, parallel = CrossEncoderReranker(model, CPU), reranker_of(tiny_cross_encoder, family="cross-encoder")
    assert (parallel.name, parallel.config, parallel.at_once) == (plain.name, plain.config, 2)
    pool = pool_of(parallel)
    check_reranking(plain, parallel, store, tmp_path, pool.workers[1].pid)
    told = capsys.readouterr().err
    assert (
        "tiny-cross: its work is shared by workers (processes 2, GPUs 0)" in told and "worker 2: lost (process " in told
    )
    documents = store.get(["d001", "d002"])
    scores = [list(each.score(queries("original")[0], documents)) for each in (plain, parallel)]
    parallel.close()
    assert scores[0] == scores[1] and not any(map(running, (worker.pid for worker in pool.workers)))
    assert "tiny-cross: workers: peak memory" in capsys.readouterr().err


def test_causal_models_and_passages_are_spread_too(store: DocumentStore, tmp_path: Path) -> None:
    folder = causal("Llama", tmp_path / "llama")
    fields: dict[str, Any] = {"family": "causal", "prompt": LLAMA, "tokens": ("false", "true")}
    plain, parallel = YesNoReranker(Model(str(folder), **fields), CPU), reranker_of(folder, **fields)
    check_reranking(MaxP(plain, Cut(10, 2)), MaxP(parallel, Cut(10, 2)), store, tmp_path, None)
    parallel.close()


def test_a_system_is_shared_by_its_name(
    tiny_cross_encoder: Path,
    tiny_encoder: Path,
    store: DocumentStore,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tiny_cross_encoder.parent)  # a worker may run elsewhere
    place = Place(Registry(), CPU)
    made = shared(f"mine=./{tiny_cross_encoder.name}", place, Reranker, Workers(number=1))
    monkeypatch.chdir("/")
    assert isinstance(made, SharedReranker) and made.name == "mine"
    documents = store.get(["d001", "d002"])
    alone = CrossEncoderReranker(Model(str(tiny_cross_encoder)), CPU)
    assert made.score(queries("original")[0], documents) == alone.score(queries("original")[0], documents)
    made.close()
    program = shared("command:cat", place, Reranker, TWO, version="1")
    assert isinstance(program, SharedReranker) and program.config == {"command": ["cat"], "version": "1"}
    encoder = shared(str(tiny_encoder), place, Retriever, TWO)
    assert isinstance(encoder, SharedEncoder) and encoder.name == "tiny-encoder"
    assert shared(str(tiny_encoder), place, Retriever, Workers()) is None
    capsys.readouterr()
    assert shared("bm25", place, Retriever, Workers()) is None and capsys.readouterr().err == ""
    assert shared("rank_bm25", place, Reranker, TWO) is None
    reason = "rank_bm25: runs in this process, not by workers: workers run models and programs alone"
    assert capsys.readouterr().err.splitlines() == [reason]


def test_messages_and_errors_of_a_worker_reach_the_user(tiny_encoder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [Query("1", "short", "short"), Query("2", "q …", "q", "a long instruction " * 9)]
    parallel = encoder(tiny_encoder, Workers(number=1))
    parallel.encode_queries(asked)
    assert "tiny-encoder: 1 of 2 queries are longer than 64 tokens" in capsys.readouterr().err
    parallel.close()
    parallel._maker = parallel._maker._replace(key="another")
    with pytest.raises(WorkerError, match="a worker has other files of this model, or another precision"):
        parallel.encode_queries(asked[:1])
    parallel.close()
    pool = WorkerPool(Processes(2, "cpu").workers())
    with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
        list(pool.results([FAILING]))
    with pytest.raises(WorkerError, match="3 workers were lost at the same task"):
        list(pool.results([DEADLY]))
    assert list(pool.results([SEEN] * 3)) == [(os.environ.get(VISIBLE), False)] * 3  # both work again
    pool.close()


def test_a_process_sees_its_gpu_before_torch_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv(VISIBLE, raising=False)
    assert visible_gpus() == ["0", "1"]
    monkeypatch.setenv(VISIBLE, "GPU-a, GPU-b")
    assert [worker.gpu for worker in Processes(None, "auto").workers()] == ["GPU-a", "GPU-b"]  # type: ignore[attr-defined]
    assert len(Processes(3, "cuda").workers()) == 3 and not Processes(None, "cpu").workers()
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert not Processes(None, "auto").workers()
    worker = Process(0, "GPU-b")
    worker.start()
    try:
        assert worker.run(SEEN).value == ("GPU-b", False)
    finally:
        worker.stop()


def test_options_that_cannot_be_followed_are_refused(monkeypatch: pytest.MonkeyPatch, heed: Heed) -> None:
    alone = heed("pipelines.neuclir", "--lang", "zho", "--ray-address", "10.0.0.1:6379")
    assert alone.stderr.splitlines()[-1] == "error: --ray-address: used with --engine ray alone"
    with (
        pytest.raises(UsageError, match="run on a machine of the cluster"),
    ):
        Cluster(1, "ray://10.0.0.1:10001", "cpu")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(UsageError, match="ray_address: none is given; begin a cluster"):
        Cluster(1, None, "cpu")
    monkeypatch.setitem(sys.modules, "ray", None)  # as where it is not installed
    with (
        pytest.raises(WorkerError, match=r"install it with pip install 'ray>=2.60,<2.61'"),
    ):
        Cluster(1, "auto", "cpu")


def test_an_address_where_nobody_answers_is_told_at_once() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nobody listens; Ray itself would try for minutes
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(WorkerError, match=f"Ray cluster {address}: nobody answers there .*; expected HOST:PORT of"):
            check_answer(address)
        closed.listen()
        check_answer(address)
    check_answer("auto")


def test_a_machine_with_other_software_is_refused() -> None:
    ours = versions()
    check_versions("worker 1", ours, dict(ours))
    with pytest.raises(HeedError, match="worker 1: torch is 1.0, here it is") as raised:
        check_versions("worker 1", ours, {**ours, "torch": "1.0"})
    assert len(str(raised.value).splitlines()) == 1


@pytest.fixture
def files(tmp_path: Path) -> tuple[object, ...]:
    """A run to be rescored by command."""
    write_jsonl(tmp_path / "docs.jsonl", records())
    told = [{"qid": one.qid, "lang": "eng", "query": one.query, "instructions": one.instructions} for one in TOPICS]
    write_jsonl(tmp_path / "topics.jsonl", told)
    lines = [f"{one.qid} Q0 d{at:03} {at + 1} {300 - at} t\n" for one in TOPICS for at in range(300)]
    (tmp_path / "first.run").write_text("".join(lines))
    return ("first.run", "--docs", "docs.jsonl", "--topics", "topics.jsonl", "--device", "cpu")


def descendants(pid: int) -> set[int]:
    """The processes that ``pid`` started, and those that they started."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found |= {child} | descendants(child)
    return found


def working(pids: set[int]) -> set[int]:
    """Those that still run, but for two agents of Ray's, which seek their dead cluster for a minute before they end."""
    agents = ("ray::Dashboard", "ray::RuntimeEnv")
    return {pid for pid in pids if running(pid) and not command_line(pid).startswith(agents)}


@pytest.mark.disturbance
def test_a_killed_command_leaves_no_process_and_goes_on_without_workers(
    heed: Heed,
    tmp_path: Path,
    environment: dict[str, str],
    files: tuple[object, ...],
    store: DocumentStore,
    tiny_cross_encoder: Path,
) -> None:
    told = (*files, "--reranker", tiny_cross_encoder, "--out", "new.run")
    with killed(tmp_path, environment, *told, "--workers", 1) as process:
        until(lambda: process.poll() is not None or lines_of(tmp_path / ".made/new") >= 3)
    assert not (tmp_path / "new.run").exists()
    again = heed("pipelines.rerank", *told)
    assert again.returncode == 0 and "of 8 topics are done already" in again.stderr, again.stderr
    plain = CrossEncoderReranker(Model(str(tiny_cross_encoder)), CPU)
    docids = {topic.qid: list(store.docids()) for topic in TOPICS}
    documents = PoolDocuments(docids, store)
    whole = rescore(plain, queries("original"), documents, tmp_path / "whole.partial", store.digest)
    write_run(tmp_path / "whole.run", whole, as_tag(f"{plain.name}.original"))
    assert (tmp_path / "new.run").read_bytes() == (tmp_path / "whole.run").read_bytes()


def lines_of(folder: Path) -> int:
    """Return how many lines the unfinished run below a folder has; 0 without one."""
    return sum(journal.read_bytes().count(b"\n") for journal in folder.rglob("new.run.partial"))


@contextmanager
def killed(folder: Path, environment: dict[str, str], *arguments: object) -> Iterator["subprocess.Popen[bytes]"]:
    """Start ``rerank``, kill it after the block, and see that the processes that it started end."""
    command = [sys.executable, "-m", "pipelines.rerank", *map(str, arguments)]
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE)
    yield process
    started = descendants(process.pid)
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate()
    assert started, said
    until(lambda: not working(started))


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    return environment | {"PYTHONPATH": f"{LEAN}:{environment['PYTHONPATH']}"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two machines of a Ray cluster, as far as two sets of Ray's processes are two machines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(LEAN), prepend=":")
        patch.syspath_prepend(LEAN)
        yield from started_cluster()


def started_cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    node = {"object_store_memory": STORE, "include_dashboard": False}
    with faults_left_to_java():  # the Java machine of this process is used by other tests too
        # workers of Ray's own niceness, 15, starve beside the other tests
        made = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 2, "_system_config": {"worker_niceness": 0}, **node}
        )
        made.add_node(num_cpus=1, **node)
        made.wait_for_nodes()
    yield made
    with faults_left_to_java():
        made.shutdown()


@pytest.mark.disturbance
@needs_ray
def test_java_survives_ray(heed_process: Heed, tmp_path: Path, cluster: Any) -> None:
    """Ray sets handlers of SIGSEGV when it starts, and takes all away when it ends."""
    (tmp_path / "start.py").write_text(
        f"import sys\nsys.path.append({str(SUPPORT)!r})\nfrom java_churn import churn\n"
        "from heed.retrieval.lucene.jvm import java\nfrom heed.addons.cluster.ray_cluster import Cluster\n"
        f"java('java.lang.Object')()\ncluster = Cluster(1, {cluster.address!r}, 'cpu')\n"
        "churn()\ncluster.close()\nchurn()\n"
    )
    assert heed_process("start").returncode == 0


@pytest.mark.disturbance
@needs_ray
def test_a_cluster_of_two_machines_works_as_one_process(
    store: DocumentStore,
    tmp_path: Path,
    tiny_encoder: Path,
    tiny_cross_encoder: Path,
    cluster: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    workers = Workers(2, True, cluster.address)
    parallel = encoder(tiny_encoder, workers)
    pids = {worker.pid for worker in pool_of(parallel).workers}
    assert "shared by workers (Ray, workers 2, machines 2, GPUs 0)" in capsys.readouterr().err
    cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
    until(lambda: len(working(pids)) < 2)  # its worker sees only later that it is alone
    documents = list(store)[:60]
    shards = [documents[:20], documents[20:40], documents[40:]]
    made, alone = (np.concatenate(list(each.encode_batches(shards))) for each in (parallel, encoder(tiny_encoder)))
    assert made.tobytes() == alone.tobytes()
    out, told = capsys.readouterr()
    assert out == "" and ": lost (process " in told and "its task is retried, attempt 2 of 3" in told
    model = Model(str(tiny_cross_encoder), family="cross-encoder")
    reranker = reranker_of(tiny_cross_encoder, workers, family="cross-encoder")
    parallel.close()  # the other one's connection stays
    check_reranking(CrossEncoderReranker(model, CPU), reranker, store, tmp_path, None)
    reranker.close()
    check_encoding(store, tmp_path, tiny_encoder, workers)
    assert "worker 1: lost (process " in capsys.readouterr().err
