"""Work by several processes and by a Ray cluster: the bytes of one process, also where workers are killed."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import SUPPORT, Heed, write_jsonl
from processes import command_line, running, until
from tiny_language_models import LLAMA, causal
from worker_checks import (
    CPU,
    TOPICS,
    check_candidates,
    check_encoding,
    check_index,
    check_lsa,
    check_reranking,
    encoder,
    queries,
    records,
)
from worker_tasks import Deadly, Failing, Seen

from heed.addons.cluster import Workers, processes
from heed.addons.cluster.parallel import ParallelEncoder, ParallelReranker
from heed.addons.cluster.pool import WorkerPool, open_pool, result_of
from heed.addons.cluster.processes import Process, Processes
from heed.addons.cluster.ray_cluster import check_answer
from heed.addons.cluster.tasks import WorkerState, system_of
from heed.addons.cluster.versions import check_versions, versions
from heed.errors import HeedError, UsageError, WorkerError
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Files
from heed.formats.trec_files import as_tag, write_run
from heed.languages import language
from heed.models.encoders import SentenceEncoder
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers.cross_encoder import CrossEncoderReranker
from heed.models.rerankers.yes_no import YesNoReranker
from heed.process import faults_left_to_java
from heed.reranking.maxp import Cut, MaxP
from heed.reranking.rescore import PoolDocuments, rescore
from heed.retrieval.corpus import Corpus
from heed.retrieval.dense import vectors
from heed.retrieval.dense.exact_scan import Scan
from heed.retrieval.dense.vectors import embed
from heed.systems.by_name import Systems
from heed.systems.settings import Machine, Search
from heed.types import Query

LEAN = Path(__file__).parents[2] / "support" / "lean"
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
STORE = 100 * 2**20  # bytes of shared memory of a node


@pytest.mark.skipif(torch.accelerator.is_available(), reason="has a GPU")
@pytest.mark.parametrize("device", ["cuda", "mps"])
@pytest.mark.parametrize("command", ["pipelines.neuclir --lang zho", "pipelines.train x.jsonl --base b --out o"])
def test_a_gpu_that_is_not_there_is_told_before_any_work(heed: Heed, tmp_path: Path, command: str, device: str) -> None:
    result = heed(*command.split(), "--device", device)
    assert result.returncode == 1 and f"finds no GPU for {device} here; use cpu" in result.stderr
    assert "internal error" not in result.stderr and not list(tmp_path.rglob("*.sqlite"))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DocumentStore:
    monkeypatch.setattr(vectors, "SHARD", 40)
    return open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records())]))


@pytest.fixture(scope="module")
def two() -> Iterator[WorkerPool]:
    """Two processes, which the tests share as a command's steps do."""
    with open_pool(Workers(number=2), "cpu") as pool:
        assert len(pool.workers) == 2  # what is logged of them is logged before any test, whichever comes first
        yield pool


def systems(folder: Path, store: DocumentStore, pool: WorkerPool) -> Systems:
    corpus = Corpus(folder, store, language("eng"))
    return Systems(corpus, Registry(), Search(), Machine("cpu"), pool, folder)


def parallel_of(make: Any, model: Model, pool: WorkerPool) -> ParallelReranker:
    plain = make(model, CPU)
    return ParallelReranker(plain, system_of(plain.config, make, model, CPU), pool)


@pytest.mark.disturbance
def test_two_processes_encode_as_one(
    store: DocumentStore, tmp_path: Path, tiny_encoder: Path, two: WorkerPool, capsys: pytest.CaptureFixture[str]
) -> None:
    check_encoding(store, tmp_path, tiny_encoder, two)
    told = capsys.readouterr().err
    assert "worker 1: lost (process " in told
    assert "ended by signal SIGKILL); its task is retried, attempt 2 of 3" in told


def test_lsa_and_decompose_leave_the_files_and_runs_of_one_process(
    store: DocumentStore,
    tmp_path: Path,
    tiny_encoder: Path,
    two: WorkerPool,
) -> None:
    with open_pool(Workers(), "cpu") as nobody:
        one, several = (systems(tmp_path / name, store, pool) for name, pool in (("one", nobody), ("two", two)))
        runs = [made.retriever("lsa").search(queries("original"), 20) for made in (one, several)]
        assert runs[0] == runs[1]
        rerankers = [made.reranker(f"decompose:{tiny_encoder}") for made in (one, several)]
        check_reranking(*rerankers, store, tmp_path, None)
    files = [
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*.*")
            if path.is_file()
        }
        for name in ("one", "two")
    ]
    assert files[0] == files[1] and len(files[0]) == 15


def test_a_worker_holds_one_model_at_a_time(tiny_encoder: Path, tiny_cross_encoder: Path) -> None:
    state, (first, second) = WorkerState(), (Model(str(path)) for path in (tiny_encoder, tiny_cross_encoder))
    wanted = system_of(SentenceEncoder(first, CPU).config, SentenceEncoder, first, CPU)
    held = state.build(wanted)
    assert state.build(wanted) is held
    state.build(system_of(CrossEncoderReranker(second, CPU).config, CrossEncoderReranker, second, CPU))
    assert state.build(wanted) is not held


def test_two_processes_rerank_as_one(
    store: DocumentStore, tmp_path: Path, tiny_cross_encoder: Path, two: WorkerPool, capsys: pytest.CaptureFixture[str]
) -> None:
    result_of(two.submit(lambda _: Seen(), two.workers[1]))
    model = Model(str(tiny_cross_encoder))
    parallel = parallel_of(CrossEncoderReranker, model, two)
    check_reranking(CrossEncoderReranker(model, CPU), parallel, store, tmp_path, two.workers[1].pid)
    assert "worker 2: lost (process " in capsys.readouterr().err
    assert parallel.at_once == 2


def test_causal_models_and_passages_are_spread_too(store: DocumentStore, tmp_path: Path, two: WorkerPool) -> None:
    folder = causal("Llama", tmp_path / "llama")
    model = Model(str(folder), family="causal", prompt=LLAMA, tokens=("false", "true"))
    plain, parallel = YesNoReranker(model, CPU), parallel_of(YesNoReranker, model, two)
    check_reranking(MaxP(plain, Cut(10, 2)), MaxP(parallel, Cut(10, 2)), store, tmp_path, None)


def test_a_worker_in_another_folder_finds_a_model_of_a_relative_path(
    tiny_cross_encoder: Path, store: DocumentStore, tmp_path: Path, two: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_cross_encoder.parent)  # the workers run elsewhere
    reranker: Any = systems(tmp_path, store, two).reranker(f"./{tiny_cross_encoder.name}")
    documents = store.get(["d001", "d002"])
    scores = reranker.score(queries("original")[0], documents)
    assert scores == CrossEncoderReranker(Model(str(tiny_cross_encoder)), CPU).score(queries("original")[0], documents)


def test_messages_and_errors_of_a_worker_reach_the_user(
    tiny_encoder: Path, two: WorkerPool, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [Query("1", "short", "short"), Query("2", "q …", "q", "a long instruction " * 9)]
    encoder(tiny_encoder, two).encode_queries(asked)
    assert "tiny-encoder: 1 of 2 queries are longer than 64 tokens" in capsys.readouterr().err
    model = Model(str(tiny_encoder), pooling="mean", max_length=64)
    plain = SentenceEncoder(model, CPU)
    other = system_of(plain.config | {"pooling": "cls"}, SentenceEncoder, model, CPU)
    parallel = ParallelEncoder(plain, other, two)
    with pytest.raises(WorkerError, match="a worker has other files of this model, or another precision"):
        parallel.encode_queries(asked[:1])
    with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
        result_of(two.submit(lambda _: Failing()))
    with pytest.raises(WorkerError, match="3 workers were lost at the same task"):
        result_of(two.submit(lambda _: Deadly()))
    for worker in two.workers:  # both work again
        assert result_of(two.submit(lambda _: Seen(), worker))


def test_a_process_sees_its_gpu_before_torch_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv(processes.VISIBLE, raising=False)
    assert processes.visible_gpus() == ["0", "1"]
    monkeypatch.setenv(processes.VISIBLE, "GPU-a, GPU-b")
    assert [worker.gpu for worker in Processes(None, "auto").workers()] == ["GPU-a", "GPU-b"]  # type: ignore[attr-defined]
    assert len(Processes(3, "cuda").workers()) == 3 and not Processes(None, "cpu").workers()
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert not Processes(None, "auto").workers()
    worker = Process(0, "GPU-b")
    worker.start()
    try:
        assert worker.run(Seen()).value == ("GPU-b", False)
    finally:
        worker.stop()


def test_systems_that_run_in_this_process_are_logged_where_workers_were_requested(
    store: DocumentStore, tmp_path: Path, capsys: pytest.CaptureFixture[str], tiny_cross_encoder: Path
) -> None:
    with open_pool(Workers(number=1), "cpu") as pool:
        made = systems(tmp_path, store, pool)
        made.reranker("rank_bm25"), made.reranker("rank_bm25")
        assert isinstance(made.reranker(str(tiny_cross_encoder)), ParallelReranker)
    lines = [line for line in capsys.readouterr().err.splitlines() if "runs in" in line]
    assert lines == ["rank_bm25: runs in this process, not by workers: it reads a pool's documents together"]
    with open_pool(Workers(), "cpu") as nobody:
        systems(tmp_path, store, nobody).reranker("rank_bm25")
        assert not nobody.workers and capsys.readouterr().err == ""


def test_options_that_cannot_be_followed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="--ray-address: used with --engine ray alone"):
        Workers(address="10.0.0.1:6379").check()
    with (
        pytest.raises(UsageError, match="run the command on a machine of the cluster"),
        open_pool(Workers("ray", address="ray://10.0.0.1:10001"), "cpu"),
    ):
        pass
    monkeypatch.setitem(sys.modules, "ray", None)  # as where it is not installed
    with (
        pytest.raises(WorkerError, match=r"install it with pip install 'ray>=2.60,<2.61'"),
        open_pool(Workers("ray"), "cpu"),
    ):
        pass


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
    journal = tmp_path / ".made/new.run.partial"
    with killed(tmp_path, environment, *told, "--workers", 1) as process:
        until(lambda: process.poll() is not None or (journal.exists() and journal.read_bytes().count(b"\n") >= 3))
    assert not (tmp_path / "new.run").exists()
    again = heed("pipelines.rerank", *told)
    assert again.returncode == 0 and "of 8 topics are done already" in again.stderr, again.stderr
    plain = CrossEncoderReranker(Model(str(tiny_cross_encoder)), CPU)
    docids = {topic.qid: list(store.docids()) for topic in TOPICS}
    documents = PoolDocuments(docids, store)
    whole = rescore(plain, queries("original"), documents, tmp_path / "whole.partial", store.digest)
    write_run(tmp_path / "whole.run", whole, as_tag(f"{plain.name}.original"))
    assert (tmp_path / "new.run").read_bytes() == (tmp_path / "whole.run").read_bytes()


@pytest.mark.disturbance
@needs_ray
def test_a_killed_command_leaves_no_process_of_ray(
    tmp_path: Path, environment: dict[str, str], files: tuple[object, ...], tiny_cross_encoder: Path
) -> None:
    told = (*files, "--reranker", tiny_cross_encoder, "--out", "new.run", "--engine", "ray", "--workers", 1)
    with killed(tmp_path, environment, *told) as process:
        until(
            lambda: (
                process.poll() is not None
                or any(command_line(pid).startswith("ray::WorkerState") for pid in descendants(process.pid))
            )
        )


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
    for agent in started:
        with suppress(OSError):
            if command_line(agent).startswith("ray::"):
                os.kill(agent, signal.SIGKILL)


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
def test_java_survives_ray(heed_process: Heed, tmp_path: Path) -> None:
    """Ray sets handlers of SIGSEGV when it starts, and takes all away when it ends."""
    (tmp_path / "start.py").write_text(
        f"import sys\nsys.path.append({str(SUPPORT)!r})\nfrom java_churn import churn\n"
        "from heed.retrieval.lucene.jvm import java\nfrom heed.addons.cluster.ray_cluster import Cluster\n"
        "java('java.lang.Object')()\ncluster = Cluster(1, None, 'cpu')\ncluster.workers()\n"
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
    with open_pool(Workers("ray", 2, cluster.address), "cpu") as pool:
        made = embed(tmp_path / "local", store, encoder(tiny_encoder))
        vectors = encoder(tiny_encoder).encode_queries(queries("query"))
        parallel, plain = Scan(made, pool), Scan(made)
        check_candidates(parallel, plain, vectors)
        assert [len(worker.shards) for worker in pool.workers] == [4, 4]  # each shard went to one worker
        told = capsys.readouterr().err
        assert "models run on a Ray cluster: workers 2, machines 2, GPUs 0" in told
        pids = {worker.pid for worker in pool.workers}
        cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
        until(lambda: len(working(pids)) < 2)  # its worker sees only later that it is alone
        check_candidates(parallel, plain, vectors[:3])  # those that it had are sent again
        out, told = capsys.readouterr()
        assert out == "" and ": lost (process " in told and "its task is retried, attempt 2 of 3" in told
        check_index(store, tmp_path, pool)  # kills a worker
        assert "worker 2: lost (process " in capsys.readouterr().err
        check_lsa(store, tmp_path, pool)  # kills the other, and so does
        check_encoding(store, tmp_path, tiny_encoder, pool)
        assert "worker 1: lost (process " in capsys.readouterr().err
        model = Model(str(tiny_cross_encoder))
        plain_reranker = CrossEncoderReranker(model, CPU)
        check_reranking(plain_reranker, parallel_of(CrossEncoderReranker, model, pool), store, tmp_path, None)
