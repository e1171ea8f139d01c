"""Programs as rerankers: real programs that answer, die, hang, print too much; none of them outlives Heed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from copy import copy
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from processes import running, until

import heed as library
from heed import Document, Experiment, ModelError, Query, Registry, UsageError, load
from heed.addons.bridges.programs import Program
from heed.addons.cluster.shared import SharedReranker
from heed.addons.cluster.workers import Processes, SystemMaker
from heed.compute import Compute
from heed.formats.trec_files import read_run
from heed.systems.make import Place, make
from heed.types import Reranker, closed

# scores are lengths of texts; each program writes its process and the topics that it read into files
SCRIPT = f"""#!{sys.executable} -IS
import json, os, subprocess, sys, time
open("processes", "a").write(f"{{os.getpid()}}\\n")
for line in sys.stdin:
    topic = json.loads(line)
    qid, documents = topic["qid"], topic["documents"]
    open("topics", "a").write(line)
    scores = [len(document["text"]) for document in documents]
    FAULT
    print(json.dumps({{"qid": qid, "scores": scores}}), flush=True)
"""
TWO = [Document("a", "A title", "one"), Document("b", "", "three")]
FIRST, SECOND = Query("1", "ferry no trains", "ferry", "no trains", "deu", "changed"), Query("2", "bus", "bus")

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a program with a fault into the working directory, and return its path."""
    monkeypatch.chdir(tmp_path)

    def script(fault: str = "", name: str = "score", text: str = SCRIPT) -> Path:
        path = tmp_path / name
        path.write_text(text.replace("FAULT", fault))
        path.chmod(0o755)
        return path

    return script


def reranker(program: Program | str = "command:./score") -> Reranker:
    return make(program, Place(Registry(), Compute("cpu")), Reranker)


def started() -> list[int]:
    return [int(line) for line in Path("processes").read_text().split()]


def test_a_program_is_started_once_reads_a_line_a_topic_and_ends_with_its_input(write: Write) -> None:
    write('if "--double" in sys.argv: scores = [2.5 * score for score in scores]')
    system = reranker("mine=command:./score '--double' \"a b\"")
    assert system.name == "mine"
    with closed(system):
        assert system.score(FIRST, TWO) == [7.5, 12.5]
        assert system.score(SECOND, TWO[:1]) == [7.5]
        assert system.score(SECOND, []) == []  # nothing to be asked
        [process] = started()
    until(lambda: not running(process))
    first, second = map(json.loads, Path("topics").read_text().splitlines())
    assert list(first.items()) == [
        ("qid", "1"),
        ("query", "ferry"),
        ("instruction", "no trains"),
        ("text", "ferry no trains"),
        ("lang", "deu"),
        ("condition", "changed"),
        (
            "documents",
            [{"docid": "a", "title": "A title", "text": "one"}, {"docid": "b", "title": "", "text": "three"}],
        ),
    ]
    assert (second["condition"], second["instruction"]) == ("query", "")


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("sys.exit('no model here')", "topic 1: ended with status 1 without an answer; .*stderr:\n  no model here"),
        (
            "sys.exit()",
            "topic 1: ended with status 0 without an answer; .*reads topics until its input ends; it printed",
        ),
        ("os.kill(os.getpid(), 9)", "topic 1: ended by signal SIGKILL"),
        ("sys.stdout.write('half'); sys.exit(2)", "ended with status 2 and printed 'half' without the end of a line"),
        (
            "print('Loading the model')",
            "printed 'Loading the model', expected a line of JSON with qid \"1\" and a list of scores; remarks",
        ),
        ("sys.stdout.buffer.write(bytes([255, 254, 10]))", r"printed '\\\\xff\\\\xfe', expected a line of JSON"),
        ("print('[' * 100_000)", "printed '\\[+', expected a line of JSON"),
        ("print(json.dumps(scores))", r"printed '\[3, 5\]', expected a line of JSON"),
        ("qid = int(qid)", r'printed .{"qid": 1, "scores": \[3, 5\]}., expected a line of JSON with qid "1"'),
        ("scores = 'high'", '"scores": "high"}., expected a line of JSON'),
        ("scores = scores[:1]", "topic 1: 1 scores for 2 documents"),
        ("scores.append(0)", "topic 1: 3 scores for 2 documents"),
        ("scores[1] = float('nan')", "topic 1, document b: score nan, expected a finite number"),
        ("scores[1] = None", "topic 1, document b: score None, expected a finite number"),
        ("print(json.dumps({'qid': qid, 'scores': scores}) + '\\n')", "topic 2: printed more than one line for the"),
        (
            "if qid == '2': raise ValueError('odd topic')",
            "topic 2: ended with status 1 .*(?s:.*)ValueError: odd topic$",
        ),
        ("for _ in range(9): sys.stderr.write('x' * 1000)\n    sys.exit()", "the end of its stderr:\n  x{2000}$"),
        ("while True: print(' ' * 2**20, end='')", "printed more than 16 MiB: ' "),
    ],
)
def test_what_is_no_answer_is_an_error_and_the_program_is_stopped(write: Write, fault: str, problem: str) -> None:
    write(fault)
    with closed(system := reranker()), pytest.raises(ModelError, match=rf"^score\.?\w*: .*{problem}"):
        system.score(FIRST, TWO)
        system.score(SECOND, TWO)
    until(lambda: not any(map(running, started())))


def test_a_program_that_answers_too_late_is_stopped_with_what_it_started(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    write("open('processes', 'a').write(f\"{subprocess.Popen(['sleep', '60']).pid}\\n\"); time.sleep(60)")
    system = reranker(Program("./score", seconds=1.0))
    with pytest.raises(
        ModelError, match=r"^score.changed: topic 1: no answer within 1 s, so it was stopped; it printed nothing"
    ):
        system.score(FIRST, TWO)
    both = started()
    assert len(both) == 2
    until(lambda: not any(map(running, both)))
    assert "score: no answer yet; a program must flush its output after each answer" in capsys.readouterr().err


def test_long_topics_and_long_output_never_wait_for_one_another(write: Write) -> None:
    write("sys.stderr.write('e' * 300_000); sys.stdout.write(' ' * 300_000)")
    early = (
        "sys.stdout.write(' ' * 300_000); sys.stderr.write('e' * 300_000); sys.stdout.flush()\nfor line in sys.stdin:"
    )
    write("", text=SCRIPT.replace("for line in sys.stdin:", early))  # it writes before it reads
    documents = [Document(str(number), "", "x" * 1_000_000) for number in range(5)]
    with closed(system := reranker(Program("./score", seconds=60.0))):
        assert system.score(FIRST, documents) == [1_000_000] * 5


def test_a_program_alone_scores_texts(write: Write) -> None:
    write("scores = [len(topic['instruction']) for document in documents]")
    with library.reranker("command:./score") as alone:
        assert alone.score("ferry", ["one", "two"], instruction="no trains") == [9, 9]
    assert alone.name == "score"
    until(lambda: not any(map(running, started())))
    assert alone.manifest_entry == {"command": ["./score"]}


def test_any_character_of_a_text_arrives(write: Write) -> None:
    write("scores = [sum(map(ord, document['text'])) for document in documents]")
    texts = ["\u2028\u2029\x85\x0b\x1c", "\ud800", "\0", "\n\r\n", "車😀"]
    with closed(system := reranker()):
        scores = system.score(FIRST, [Document(str(number), "", text) for number, text in enumerate(texts)])
    assert scores == [sum(map(ord, text)) for text in texts]


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        ("sys.exit('no space')", "score: ended with status 1 after its last topic: no space"),
        ("print('bye')", "score: printed more than one line for the last topic: 'bye\\n'"),
    ],
)
def test_a_program_that_fails_after_its_last_topic_is_a_warning(
    write: Write, end: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("", text=f"{SCRIPT}{end}\n")
    with closed(system := reranker()):
        assert system.score(FIRST, TWO) == [3, 5]
    assert f"warning: {problem}" in capsys.readouterr().err.replace("\\\\n", "\\n")


@pytest.mark.parametrize(
    ("system", "problem"),
    [
        ("command:./nothing", "command:./nothing: no program that can be executed; one in the working directory is"),
        ("command:nothing-of-this-name", "is called ./nothing-of-this-name, and needs chmod"),
        ("command:./plain", "command:./plain: no program that can be executed; .* needs chmod \\+x plain"),
        ("command:", "names no program; expected such as command:./score"),
        ("command:./score 'open", "No closing quotation; it is split as a shell would"),
        ("bm25=command:./score", "its name is 'bm25'; in NAME=SYSTEM a name is of"),
        ("a/b=command:./score", "no file or folder, and its name is 'a/b'"),
    ],
)
def test_a_program_that_cannot_be_is_an_error_before_anything_runs(write: Write, system: str, problem: str) -> None:
    write(name="plain").chmod(0o644)
    write()
    with pytest.raises(UsageError, match=problem):
        reranker(system)


def test_a_script_without_an_interpreter_is_an_error_that_says_so(write: Write) -> None:
    write(text="print('no line with #!')\n")
    with pytest.raises(
        ModelError, match=r"score: /.*/score cannot be started in /.*Exec format error.*a script begins"
    ):
        reranker().load()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_program_ends_with_the_process_that_started_it(write: Write, number: signal.Signals) -> None:
    wait = "time.sleep(60)" if number != signal.SIGKILL else "print(open('go').read(), flush=True)"
    os.mkfifo("go")  # after SIGKILL nobody can stop the program: it ends where it prints, or reads the end of its input
    write(wait)
    code = (
        "from pipelines.stopping import stoppable; from heed import *\n"
        "from heed.addons.bridges.programs import Program\n"
        "with stoppable(last=True): Program('./score').score(Query('1', 'q', 'q'), [Document('a', '', 'b')])"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    until(lambda: Path("topics").is_file() and bool(Path("topics").read_text()))
    parent.send_signal(number)
    parent.communicate(timeout=30)
    if number == signal.SIGKILL:
        Path("go").write_text("x" * 100)
    until(lambda: not any(map(running, started())))


def topics_read() -> list[str]:
    """Return the topics that the programs read since they were asked last, as qid.condition."""
    path = Path("topics")
    topics = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    path.unlink(missing_ok=True)
    return [f"{topic['qid']}.{topic['condition']}" for topic in topics]


def test_runs_of_a_program_with_a_version_are_used_again_and_survive_a_kill(write: Write) -> None:
    news = load("neuclir-sample", lang="eng")
    write("if qid == '05' and topic['condition'] == 'original' and not os.path.exists('go'): sys.exit('killed')")

    def scored(config: str | None, command: str = "./score") -> list[str]:
        with Experiment(news, depth=5, device="cpu") as experiment:
            bm25 = experiment.retrieve("bm25")
            experiment.rerank(Program(command, config=config), [bm25])
        return topics_read()

    with pytest.raises(ModelError, match=r"score\.\w+: topic 05: ended with status 1 .*\n  killed"):
        scored("1")
    before = topics_read()
    assert before[-1] == "05.original" and len(before) == 12 + 5
    Path("go").touch()
    rest = scored("1")
    assert rest == [f"{number:02}.original" for number in range(5, 13)] + [f"{n:02}.changed" for n in range(1, 13)]
    assert len(started()) == 2  # once a run of the system, whatever its conditions
    assert scored("1") == [] and len(started()) == 2
    assert len(scored("2")) == len(scored("2", "./score --fast")) == 3 * 12
    assert len(scored(None)) == len(scored(None)) == 3 * 12
    assert len(started()) == 6
    until(lambda: not any(map(running, started())))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ("--reranker", "command:./score", "--reranker", "command:./score --fast"),
            "system score: named twice (command:./score, command:./score --fast); name one, as in "
            "'score-2=command:./score --fast'",
        ),
        (
            ("--reranker", "polarity", "--config", "1"),
            "--config: is the version of a program, and --reranker names none",
        ),
        (
            ("--retriever", "command:./score"),
            "command:./score: a reranker, no retriever; give --reranker command:./score",
        ),
    ],
)
def test_programs_of_one_name_and_a_version_of_nothing_are_refused(
    write: Write, heed: Heed, options: tuple[str, ...], problem: str
) -> None:
    write()
    result = heed("pipelines.neuclir", "--lang", "zho", *options)
    assert result.returncode == 1 and f"error: {problem}" in result.stderr
    assert not list(Path().rglob("*.run"))


def test_each_worker_starts_the_program_and_the_run_has_the_same_bytes(write: Write, heed: Heed) -> None:
    write("if os.path.exists('fault'): sys.exit('not today')")
    write_jsonl(Path("docs.jsonl"), [{"id": f"d{number}", "text": "x" * number} for number in range(9)])
    topics = [{"qid": str(number), "query": "a", "instructions": {"original": "b"}} for number in range(8)]
    write_jsonl(Path("topics.jsonl"), topics)
    Path("base.run").write_text("".join(f"{n} Q0 d{d} {d + 1} {9 - d} base\n" for n in range(8) for d in range(9)))
    system = ("--reranker", "long=command:./score", "--topics", "topics.jsonl", "--docs", "docs.jsonl")

    def rerank(*options: object) -> "subprocess.CompletedProcess[str]":
        return heed("pipelines.rerank", "base.run", *system, "--device", "cpu", *options)

    result = rerank("--out", "one.run")
    assert result.returncode == 0, result.stderr
    assert list(read_run(Path("one.run"))["3"]) == [f"d{number}" for number in reversed(range(9))]
    assert len(started()) == 1
    assert rerank("--out", "two.run", "--workers", "2").returncode == 0
    assert Path("two.run").read_bytes() == Path("one.run").read_bytes()
    assert len(started()) == 3
    Path("fault").touch()
    failed = rerank("--out", "three.run", "--workers", "2", "--config", "1")
    assert "error: long.original: topic 0: ended with status 1 without an answer" in failed.stderr
    assert "error:   not today" in failed.stderr and failed.returncode == 1
    until(lambda: not any(map(running, started())))


def test_a_program_that_runs_here_is_started_by_a_worker_too(write: Write) -> None:
    write()
    with closed(program := Program("./score")):
        assert program.score(FIRST, TWO) == [3, 5]
        by_worker = SharedReranker(program, SystemMaker(copy, (program,)), Processes(1, "cpu"))
        with closed(by_worker):
            assert by_worker.score(SECOND, TWO) == [3, 5]
        assert len(started()) == 2


def test_a_manifest_has_the_command_and_its_version(write: Write) -> None:
    write()
    fast = reranker("fast=command:./score --fast")
    assert fast.name == "fast" and fast.manifest_entry == {"command": ["./score", "--fast"]}
    fast = reranker(Program("./score --fast", name="fast", config="v3"))
    assert fast.name == "fast" and fast.manifest_entry == {"command": ["./score", "--fast"], "version": "v3"}


def test_a_program_has_a_name_that_a_file_can_have_and_none_of_heeds(write: Write) -> None:
    write(name="my score")
    write(name="polarity")
    assert reranker("command:'./my score'").name == "my-score"
    with pytest.raises(UsageError, match="command:./polarity: polarity is a system of Heed's own"):
        reranker("command:./polarity")
    with pytest.raises(UsageError, match="system 'a b': expected letters"):
        Program("./polarity", name="a b")
