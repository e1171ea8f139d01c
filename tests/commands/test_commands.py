"""What a user meets before and beside the work: lists, help, errors."""

import argparse
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
from conftest import ROOT, Heed, hear_interrupts, write_jsonl

from pipelines import COMMANDS
from pipelines.__main__ import main as list_or_run
from pipelines.command import with_options

COMMAND = "pipelines.neuclir"


def test_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    first = ("neuclir", "trec", "tables", "infosearch", "compare", "report", "pool", "check")
    assert list_or_run([]) == 0
    listed = capsys.readouterr().out
    assert re.findall(r"^  python -m pipelines\.(\w+) ", listed, re.MULTILINE) == list(first)
    [others] = (line for line in listed.splitlines() if line.startswith("Also: "))
    assert set(re.findall(r"\w+", others)) >= COMMANDS.keys() - {*first}
    assert list_or_run(["--help-all"]) == 0
    listed = capsys.readouterr().out
    assert all(f"python -m pipelines.{name} " in listed for name in COMMANDS) and "Also" not in listed


def test_messages_and_help_name_commands_as_the_process_was_started(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    script = tmp_path / "heed"  # as pip writes it
    script.write_text("import sys\nfrom pipelines.__main__ import main\nsys.exit(main())\n")
    for start, form in (([str(script), "tables"], "heed "), (["-m", "pipelines.tables"], "python -m pipelines.")):
        for arguments, texts in {
            ("--help",): ("usage: {}tables ", "examples:\n  {}tables\n"),
            ("--depth", "x"): ("found 'x', expected a whole number from 1; {}tables --help lists the options",),
            ("--subset", "WTR"): ("; {}fetch followtable says how to get it",),
        }.items():
            command = [sys.executable, *start, *arguments]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert all(text.format(form) in done.stdout + done.stderr for text in texts)
            assert form.startswith("python") or "python -m" not in done.stdout + done.stderr
    listed = subprocess.check_output(
        [sys.executable, str(script), "--help-all"], cwd=tmp_path, env=environment, text=True
    )
    assert all(f"  heed {name} " in listed for name in COMMANDS) and "python -m" not in listed


def test_an_ascii_terminal_gets_all_there_is_to_print(tmp_path: Path, environment: dict[str, str]) -> None:
    for command in (
        ["pipelines"],
        ["pipelines.neuclir", "--help"],
        ["pipelines.neuclir", "--lang", "zho", "--retriever", "bm25", "--reranker", "none", "--out", "runs"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=tmp_path,
            env={**environment, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""},
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout.isascii(), done.stderr.isascii()) == (0, True, True), done.stderr
    assert b"values ?100\nsystem  condition" in done.stdout


def test_java_takes_the_paths_that_python_takes(tmp_path: Path, environment: dict[str, str]) -> None:
    """Under LC_ALL=C Java would take ASCII alone; so it does where Python does too, and the remedy is named."""
    folder = tmp_path / "ö"
    write_jsonl(folder / "d.jsonl", [{"id": "1", "text": "trains collide"}])
    (folder / "t.tsv").write_text("1\ttrains\n")
    command = [
        "-m",
        "pipelines.trec",
        "--docs",
        "d.jsonl",
        "--topics",
        "t.tsv",
        "--retriever",
        "bm25",
    ]
    for utf8, status, said in (("1", 0, b""), ("0", 1, b"set LC_ALL=C.UTF-8")):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=folder,
            env={**environment, "LC_ALL": "C", "PYTHONUTF8": utf8},
            capture_output=True,
            check=False,
        )
        assert (done.returncode, said in done.stderr) == (status, True), done.stderr
        for made in ("indexes", "runs"):
            shutil.rmtree(folder / made)


def test_every_command_prints_the_version(heed: Heed, capsys: pytest.CaptureFixture[str]) -> None:
    from heed import __version__

    assert list_or_run(["--version"]) == 0
    assert capsys.readouterr().out == f"heed {__version__}\n"
    for name in COMMANDS:
        result = heed(f"pipelines.{name}", "--version")
        assert (result.returncode, result.stdout, result.stderr) == (0, f"heed {__version__}\n", "")


@pytest.mark.parametrize("way", [["-m", "pipelines.tables"], ["-m", "pipelines", "tables"]])
def test_a_missing_package_is_one_line_that_says_what_to_do(
    tmp_path: Path, environment: dict[str, str], way: list[str]
) -> None:
    """As with a Python that is not the environment's: lxml cannot be imported."""
    (tmp_path / "lxml.py").write_text("raise ModuleNotFoundError(\"No module named 'lxml'\", name='lxml')\n")
    environment["PYTHONPATH"] = f"{tmp_path}:{environment['PYTHONPATH']}"

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, *way, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    result = run("--quiet")
    assert (result.returncode, result.stdout) == (1, "")
    [line] = result.stderr.splitlines()
    assert line.startswith(f"error: the Python package lxml is not installed for {sys.executable}; ")
    assert ".venv/bin/python" in line and "pip install -c constraints.txt -e ." in line
    assert "Traceback" in run("--debug").stderr


def test_a_missing_module_of_heed_is_no_missing_package() -> None:
    from pipelines import missing_package

    assert missing_package(ModuleNotFoundError("", name="heed.absent")) is None
    assert missing_package(ModuleNotFoundError("")) is None
    assert "package yaml is" in str(missing_package(ModuleNotFoundError("", name="yaml.nodes")))


def test_an_unknown_command_gets_the_nearest_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert list_or_run(["neuclri"]) == 2
    assert capsys.readouterr().err == "error: no command 'neuclri'; did you mean neuclir or publish or explore?\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--lang", "chinese"), "lang: found 'chinese', expected zho, fas or rus; did you mean zho?"),
        (("--lang", "deu"), "zho, fas or rus; German documents are searched by python"),
        (("--lang", "zho", "--collection", "neuclir1"), "no documents of neuclir1; on a machine with a network"),
        (("--lang", "rus", "--collection", "hc4"), "no documents of hc4; make it with HC4's download_documents.py"),
        (("--lang", "zho", "--condition", "reversed"), "condition: found reversed, but none of the 12 topics carries"),
        (("--lang", "zho", "--docs", "absent.jsonl"), "absent.jsonl: no such file or folder"),
        (("--lang", "zho", "--docs", "docs.jsonl"), "topics: none are given for docs"),
        (("--lang", "zho", "--topics", "t.jsonl"), "--topics, --qrels: need --docs PATH, or the sample"),
        (("--lang", "zho", "--retriever", "bm52"), "bm52: no system, no folder and no hub id"),
        (("--lang", "zho", "--retriever", "bm25", "--retriever", "bm25"), "system bm25: named twice"),
        (("--lang", "zho", "--measure", "nDGC@20"), "measure 'nDGC@20': unknown; did you mean nDCG@20?"),
        (("--lang", "zho", "--measure", "steps@20"), "measure 'steps@20': unknown; expected such as nDCG@20"),
        (("--lang", "zho", "--measure", "nDCG@ten"), "measure 'nDCG@ten': its cutoff is no number from 1; expected"),
        (("--lang", "zho", "--retriever", "lsa", "--reranker", "polarty"), "polarty: no system, no folder"),
        (("--lang", "zho", "--measure", "ndgc@20"), "measure 'ndgc@20': unknown; did you mean nDCG@20?"),
        (("--lang", "zho", "--heap", "big"), "--heap: found 'big', expected a number with m or g"),
        (
            ("--lang", "zho", "--docs", "docs.jsonl", "--topics", "empty.jsonl"),
            "empty.jsonl: empty; expected one topic",
        ),
        (("--lang", "zho", "--docs", "empty.jsonl", "--topics", "t.jsonl"), "empty.jsonl: no document in it"),
        (
            ("--lang", "zho", "--qrels", "absent", "--docs", "docs.jsonl", "--topics", "t.jsonl"),
            "absent: no such file",
        ),
        (("--lang", "en"), "expected zho, fas or rus; English documents are searched by python -m pipelines.trec"),
        (("--lang", "eng"), "expected zho, fas or rus; English documents are searched by python -m pipelines.trec"),
        (("--lang", "zho", "--reranker", "bm25"), "bm25: a retriever, no reranker; it searches; rerankers of Heed"),
        (("--lang", "zho", "--retriever", "bm251"), "did you mean bm25 or bm25+rm3?"),
        (("--lang", "zho", "--pool", "published"), "these topics come without published candidate lists"),
    ],
)
def test_a_problem_is_told_in_one_line_with_status_1(
    tmp_path: Path, heed: Heed, arguments: tuple[str, ...], said: str
) -> None:
    write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": "文"}])
    write_jsonl(tmp_path / "t.jsonl", [{"qid": "1", "query": "文"}])
    (tmp_path / "empty.jsonl").write_text("")
    result = heed(COMMAND, *arguments, "--quiet")
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    assert line.startswith("error: ") and said in line
    assert result.stdout == ""


def test_a_command_names_its_option_where_the_library_names_a_field() -> None:
    parser = argparse.ArgumentParser()
    for option in ("--rerank-depth", "--data", "--subset", "--condition"):
        parser.add_argument(option)
    parser.add_argument("--keep-own-id", action="store_true")
    parser.add_argument("--b")
    parser.add_argument("--as", dest="names")
    parser.add_argument("pool")
    message = (
        "rerank_depth: found 0, expected at least 1\ndata, subset: not used here\nnames: two of one name\n"
        "conditions: none has topics\npool: no such file\ndata, depth: the second is no option\ndepth: found 0\n"
        "a: (keep_own_id=True keeps them); give data=DIR, names=a=b, 'data=1', x:data=1, bm25-2=bm25, b=b.run, depth=3"
    )
    assert with_options(message, parser).splitlines() == [
        "--rerank-depth: found 0, expected at least 1",
        "--data, --subset: not used here",
        "--as: two of one name",
        "--condition: none has topics",
        "pool: no such file",
        "data, depth: the second is no option",
        "depth: found 0",
        "a: (--keep-own-id keeps them); give --data DIR, --as a=b, 'data=1', x:data=1, bm25-2=bm25, b=b.run, depth=3",
    ]


def test_an_option_that_is_misspelt_is_named(heed: Heed) -> None:
    for given, meant in (("--retriver", "--retriever"), ("--measur=AP", "--measure"), ("-lang", "--lang")):
        result = heed(COMMAND, given, "bm25")  # also where --lang, which is required, is missing
        assert result.returncode == 2
        option = given.partition("=")[0]
        assert result.stderr.startswith(f"error: no option {option}; did you mean {meant}? python -m ")
    for command, wrong, known, meant in (
        ("tables", ("--subset", "WRT"), "WQT, WTR", "WTR"),
        ("infosearch", ("--dimension", "format", "audiense"), "audience, keyword", "audience"),
        ("check", ("a.run", "--track", "neuclir-2020"), "trec, neuclir-2022", "neuclir-2024"),
    ):
        result = heed(f"pipelines.{command}", *wrong)
        said = (
            f"{wrong[-2] if wrong[-2].startswith('-') else '--dimension'}: found '{wrong[-1]}', expected one of {known}"
        )
        assert result.returncode == 2 and result.stderr.startswith(f"error: {said}")
        assert f"; did you mean {meant}? python -m " in result.stderr


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(tmp_path: Path, heed: Heed) -> None:
    write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": "storm"}])
    topic = {"qid": "1", "query": "storm", "instructions": {"original": "at sea", "changed": "on land"}}
    write_jsonl(tmp_path / "topics.jsonl", [topic])
    (tmp_path / "my_systems.py").write_text("import json\nclass Careful:\n    name = 'careful'\n")
    given = {"--docs": "docs.jsonl", "--topics": "topics.jsonl", "--retriever": "bm25", "--reranker": "none"}
    for option, value, said in (
        (
            "--docs",
            "doc.jsonl",
            "doc.jsonl: no such file, and not an id that ir_datasets knows; did you mean docs.jsonl?",
        ),
        ("--docs", "wapo/v2/trec-new-2018", "not an id that ir_datasets knows; did you mean wapo/v2/trec-news-2018?"),
        ("--qrels", "topic.jsonl", "topic.jsonl: no such file; did you mean topics.jsonl?"),
        ("--qrels", "topics.jsonl", "topics.jsonl, line 1: found a topic, expected judgements: topic 0 docid grade"),
        ("--reranker", "my_systems:Carefull", "my_systems has no Carefull; it has Careful\n"),
        ("--reranker", "my_system:Careful", "run from its folder; did you mean my_systems?"),
        ("--condition", "reversed", "they carry query, original, changed; give one of these, or topics with that"),
    ):
        result = heed("pipelines.trec", *chain.from_iterable((given | {option: value}).items()))
        assert result.returncode == 1 and said in result.stderr, result.stderr
    result = heed("pipelines.trec", "--retriever", "intfloat/multilingual-e5-smal", "--reranker", "none")
    before, _, after = result.stderr.partition("error: ")  # the name is doubted before the hub is asked, and after it
    assert "fetching it from the hub; did you mean intfloat/multilingual-e5-small?" in before
    assert "did you mean intfloat/multilingual-e5-small? Else give the path of a local copy" in after
    result = heed("pipelines.annotate", "pool.jsonl")
    assert "pool.jsonl: no such file; python -m pipelines.pool RUN… --out pool.jsonl makes a pool" in result.stderr
    result = heed("pipelines.pool", "--depth", "10", "--out", "pool.jsonl")
    assert result.stderr == "error: no RUN given; name the run files, or --only-relevant QRELS\n"


def test_no_traceback_is_printed_where_nobody_reads_the_output(tmp_path: Path, environment: dict[str, str]) -> None:
    for command in (["pipelines"], ["pipelines.trec", "--help"], ["pipelines", "models"]):
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout and process.stderr
        process.stdout.close()  # before the process has begun
        assert "Traceback" not in process.stderr.read() and process.wait() == 0
        process.stderr.close()


def test_an_option_of_several_values_takes_them_at_once_and_again() -> None:
    from pipelines import infosearch, neuclir

    options = neuclir.parser().parse_args(
        shlex.split(
            "--lang zho --retriever bm25 lsa --retriever rrf:bm25,lsa --reranker polarity rank_bm25 --measure P@5 RR "
            "--condition query original --run a=a.run b=b.run --year 2022 2023"
        )
    )
    assert options.retriever == ["bm25", "lsa", "rrf:bm25,lsa"] and options.reranker == ["polarity", "rank_bm25"]
    assert (options.measure, options.condition) == (["P@5", "RR"], ["query", "original"])
    assert (options.run, options.years) == (["a=a.run", "b=b.run"], ["2022", "2023"])
    assert infosearch.parser().parse_args(["--dimension", "format", "length"]).dimension == ["format", "length"]
    assert neuclir.parser().parse_args(["--lang", "zho"]).measure == []


def test_the_stages_are_logged_where_they_are_asked_for(tmp_path: Path, heed: Heed) -> None:
    (tmp_path / "a.run").write_text("".join(f"1 Q0 d{rank} {rank} {-rank} t\n" for rank in range(1, 30_001)))
    assert "peak memory" not in heed("pipelines.check", "a.run", "--depth", "30000").stderr
    assert re.search(
        r"check +a.run .* 30000 lines", heed("pipelines.check", "a.run", "--depth", "30000", "--verbose").stderr
    )


def test_judgements_of_unknown_topics_and_documents_are_warnings_also_when_quiet(tmp_path: Path, heed: Heed) -> None:
    write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": "文"}])
    write_jsonl(tmp_path / "t.jsonl", [{"qid": "1", "query": "文"}, {"qid": "2", "query": "文"}])
    (tmp_path / "q").write_text("99 0 a 1\n1 0 a 1\n1 0 gone 1\n")
    common = ("--lang", "zho", "--docs", "docs.jsonl", "--topics", "t.jsonl", "--retriever", "bm25")
    warnings = [
        "qrels (original): 1 of 2 topics are not among the topics: 99",
        "qrels (original): 1 of 2 judged documents are not in the collection: gone",
    ]
    for _ in range(2):  # the second time with the runs and the index of the first
        result = heed(COMMAND, *common, "--qrels", "q", "--quiet", "--json", "summary.json")
        assert result.returncode == 0
        assert result.stderr.splitlines() == [f"warning: {warning}" for warning in warnings]
        assert json.loads((tmp_path / "summary.json").read_text())["warnings"] == warnings
    folder = tmp_path / "runs" / "docs" / "zho"
    assert json.loads((folder / "summary.json").read_text())["warnings"] == warnings
    report = heed("pipelines.report", folder, "--quiet", "--html")
    assert report.stderr.splitlines() == [f"warning: {folder}: {warning}" for warning in warnings]
    page = (folder / "report.html").read_text()
    assert all(f'<li dir="auto">{warning}</li>' in page for warning in warnings)
    unjudged = heed(COMMAND, *common)
    assert unjudged.returncode == 0
    assert "\nno judgements for any of the 2 topics" in unjudged.stderr
    (tmp_path / "q").write_text("99 0 a 1\n")
    (tmp_path / "c").write_text("1 0 gone 1\n2 0 gone-2 0\n")
    instructions = {"original": "文", "changed": "文章"}
    write_jsonl(tmp_path / "t.jsonl", [{"qid": qid, "query": "文", "instructions": instructions} for qid in "12"])
    foreign = heed(COMMAND, *common, "--qrels", "q", "--changed-qrels", "c", "--quiet")
    assert (foreign.returncode, foreign.stdout) == (1, "")
    assert foreign.stderr.splitlines() == [
        "error: qrels (original): none of 1 topics is among the topics: found 99, expected ids such as 1, 2; "
        "give judgements of this collection, or none",
        "error: qrels (changed): none of 2 judged documents is in the collection: found gone, gone-2, expected ids "
        "such as a; give judgements of this collection, or none",
    ]


def test_what_is_doubtful_about_the_files_stands_in_the_summary(tmp_path: Path, heed: Heed) -> None:
    write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": "文"}])
    texts = [{"lang": "zho", "source": "human translation", "topic_title": "文"}]
    write_jsonl(tmp_path / "t.jsonl", [{"topic_id": "1", "topics": texts}, {"topic_id": "2", "topics": []}])
    (tmp_path / "q").write_text("1 zho a 1\n1 zho a 1\n1 fas b 1\n")
    common = ("--topics", "t.jsonl", "--qrels", "q", "--retriever", "bm25", "--reranker", "none", "--quiet")
    warnings = [
        "q: 1 judgements are repeated with the same grade and count once",
        "t.jsonl: 1 topics have no such text and are left out: 2",
    ]
    result = heed(COMMAND, "--lang", "zho", "--docs", "docs.jsonl", *common, "--json", "s.json")
    assert result.stderr.splitlines() == [f"warning: {warning}" for warning in warnings]
    assert json.loads((tmp_path / "s.json").read_text())["warnings"] == warnings
    result = heed("pipelines.trec", "--lang", "zho", "--docs", "docs.jsonl", *common, "--json", "s.json")
    together = "q: judgements of zho, fas are taken together, as for multilingual runs"
    absent = "qrels (original): 1 of 2 judged documents are not in the collection: b"
    assert json.loads((tmp_path / "s.json").read_text())["warnings"] == [together, *warnings, absent]


def test_the_sample_can_be_searched_with_topics_of_ones_own(tmp_path: Path, heed: Heed) -> None:
    write_jsonl(tmp_path / "t.jsonl", [{"qid": 5, "query": "无人驾驶"}])
    result = heed(COMMAND, "--lang", "zho", "--collection", "sample", "--topics", "t.jsonl", "--retriever", "bm25")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "runs/neuclir-sample/zho/bm25.query.run").read_text().startswith("5 Q0 n")


def test_a_traceback_is_shown_with_debug_only(heed: Heed) -> None:
    assert "Traceback" not in heed(COMMAND, "--lang", "chinese").stderr
    assert "Traceback" in heed(COMMAND, "--lang", "chinese", "--debug").stderr


@pytest.mark.parametrize(
    "arguments", [(), ("--lang",), ("--lang", "zho", "--depth", "0"), ("--lang", "zho", "--colour")]
)
def test_wrong_arguments_have_status_2_and_one_line(heed: Heed, arguments: tuple[str, ...]) -> None:
    result = heed(COMMAND, *arguments)
    [line] = result.stderr.splitlines()
    assert result.returncode == 2
    assert line.startswith("error: ") and line.endswith(" python -m pipelines.neuclir --help lists the options")


def test_two_commands_do_not_write_to_one_folder(tmp_path: Path, heed: Heed) -> None:
    from heed.files import locked

    with locked(tmp_path / "runs" / "neuclir-sample" / "zho"):
        result = heed(COMMAND, "--lang", "zho", "--quiet")
    assert result.returncode == 1
    assert "another Heed process is writing here" in result.stderr


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_command_that_is_asked_to_stop_says_so(
    tmp_path: Path, environment: dict[str, str], number: signal.Signals, status: int
) -> None:
    command = [sys.executable, "-m", COMMAND, "--lang", "zho"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    assert process.stderr
    assert any("bm25: building" in line for line in process.stderr)  # read no further than that line
    process.send_signal(number)
    rest = process.communicate(timeout=60)[1].splitlines()
    assert process.returncode == status
    assert rest[-1] == "stopped; what was complete is kept and used again" and "Traceback" not in "".join(rest)
    assert {*remains(tmp_path)} <= {".bm25.part"}  # of the index, which goes on where it was
    subprocess.run([*command, "--quiet"], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert remains(tmp_path) == []


def remains(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.name.endswith((".part", ".old"))]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stop_that_comes_where_python_drops_exceptions_is_not_lost(
    tmp_path: Path, environment: dict[str, str], number: signal.Signals, status: int
) -> None:
    script = tmp_path / "dropping.py"
    script.write_text(
        "import os, sys, time\n"
        "from pipelines.command import run_command\n"
        "from pipelines.options.parser import command_parser\n"
        "class Dropping:\n"
        f"    def __del__(self): os.kill(os.getpid(), {int(number)}); time.sleep(0.01)\n"
        "def body(options):\n"
        "    Dropping()\n"
        "    try:\n"
        "        time.sleep(30)\n"
        "    finally:\n"
        "        time.sleep(1.2)\n"  # more than one repetition
        "        print('swept')\n"
        "sys.exit(run_command(command_parser('stopped', '', None, ()), body, []))\n"
    )
    process = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=25, preexec_fn=hear_interrupts,
    )  # fmt: skip
    assert process.returncode == status, process.stderr
    assert process.stdout == "swept\n"
    assert process.stderr == "stopped; what was complete is kept and used again\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("way", [["-m", "pipelines.check"], ["-m", "pipelines", "check"]])
def test_a_stop_after_the_end_changes_nothing(
    tmp_path: Path, environment: dict[str, str], number: signal.Signals, way: list[str]
) -> None:
    good = tmp_path / "good.run"
    good.write_text("".join(f"1 Q0 d{rank} {rank} {20 - rank} tag\n" for rank in range(1, 11)))
    (tmp_path / "sitecustomize.py").write_text(  # Python is at its end when it runs this
        f"import atexit, os, time\natexit.register(lambda: (os.kill(os.getpid(), {int(number)}), time.sleep(0.2)))\n"
    )
    environment["PYTHONPATH"] += f":{tmp_path}"
    process = subprocess.run(
        [sys.executable, *way, str(good)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=25, preexec_fn=hear_interrupts,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert ": no problem\n" in process.stdout and "Traceback" not in process.stderr


def test_peak_memory_is_the_commands_own(heed_process: Heed, tmp_path: Path) -> None:
    (tmp_path / "large.py").write_text(
        "import subprocess, sys\nheld = b'x' * (300 << 20)\n"
        "own = 'from heed.process import peak_mib; print(peak_mib())'\n"
        "subprocess.run([sys.executable, '-c', own], check=True)\n"
    )
    assert 5 < float(heed_process("large").stdout) < 100


@pytest.mark.disturbance
def test_a_full_disk_is_told_and_finished_work_is_kept(tmp_path: Path, heed: Heed, heed_process: Heed) -> None:
    assert heed(COMMAND, "--lang", "zho", "--retriever", "bm25").returncode == 0
    before = (tmp_path / "runs/neuclir-sample/zho/bm25.query.run").read_bytes()
    (tmp_path / "limited.py").write_text(
        "import resource, sys\nfrom pipelines.neuclir import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "sys.exit(main(['--lang', 'zho', '--retriever', 'bm25', '--retriever', 'lsa']))\n"
    )
    result = heed_process("limited")
    assert result.returncode == 1
    assert "File too large" in result.stderr and "Traceback" not in result.stderr
    assert (tmp_path / "runs/neuclir-sample/zho/bm25.query.run").read_bytes() == before
    assert heed(COMMAND, "--lang", "zho", "--retriever", "bm25", "--retriever", "lsa").returncode == 0


def test_the_sample_holds_what_it_promises() -> None:
    import json

    from heed.formats.trec_files import read_qrels

    original = read_qrels(ROOT / "qrels/neuclir-sample/original.qrels")
    changed = read_qrels(ROOT / "qrels/neuclir-sample/changed.qrels")
    assert len(original) >= 10 and original.keys() == changed.keys()
    for qid, grades in original.items():
        relevant = [docid for docid, grade in grades.items() if grade > 0]
        kept = [docid for docid in relevant if changed[qid][docid] > 0]
        assert set(grades.values()) <= {0, 1, 3}
        assert len(kept) * 2 == len(relevant) == 8
    for lang in ("zho", "fas", "rus", "eng"):
        lines = (ROOT / f"documents/neuclir-sample/{lang}.jsonl").read_text(encoding="utf-8").splitlines()
        documents = [json.loads(line) for line in lines]
        assert len(documents) >= 120
        assert {docid for grades in original.values() for docid in grades} == {one["id"] for one in documents}
        for one in documents:
            length = len(one["text"]) if lang == "zho" else len(one["text"].split())
            assert (150 if lang == "zho" else 80) <= length <= (400 if lang == "zho" else 150)
        topics = (ROOT / f"topics/neuclir-sample/{lang}.jsonl").read_text(encoding="utf-8").splitlines()
        for topic in map(json.loads, topics):
            assert topic["query"] and topic["description"]
            assert topic["instructions"]["original"] != topic["instructions"]["changed"]


def test_a_table_has_no_column_deeper_than_the_runs(tmp_path: Path, heed: Heed) -> None:
    runs = ("--lang", "zho", "--collection", "sample", "--retriever", "bm25", "--reranker", "none", "--depth", "20")
    standard = heed(COMMAND, *runs).stdout.splitlines()[1].split()
    assert standard[:5] == ["system", "condition", "nDCG@20", "Judged@20", "AP"] and "R@100" not in standard
    (summary,) = (tmp_path / "runs").rglob("summary.json")
    measures = {row["measure"] for row in json.loads(summary.read_text())["rows"]}
    assert {"R@100", "R@1000"} <= measures
    assert "R@1000" in heed(COMMAND, *runs, "--measure", "R@1000").stdout.splitlines()[1].split()
    by_another_name = heed(COMMAND, *runs, "--measure", "recall_1000").stderr
    assert "measure R@1000: looks deeper than lists of 20 documents" in by_another_name


def test_without_judgements_it_is_said_that_nothing_is_measured(tmp_path: Path, heed: Heed) -> None:
    write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": "storm"}, {"id": "b", "text": "sun"}])
    write_jsonl(tmp_path / "topics.jsonl", [{"qid": "1", "lang": "eng", "query": "storm"}])
    files = ("--docs", "docs.jsonl", "--topics", "topics.jsonl", "--retriever", "bm25", "--reranker", "none")
    quiet = heed("pipelines.trec", *files, "--quiet")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert quiet.stdout == "docs eng: 1 topic, none of them judged: runs are in runs/docs/eng, nothing is measured\n"
    (folder,) = {path.parent for path in (tmp_path / "runs").rglob("*.run")}
    named = heed("pipelines.trec", *files).stderr.splitlines()[-1].partition(": ")[2]
    assert "report.html" not in named
    assert all((folder / name).exists() for name in ("manifest.yml", *(["summary.json"] if "summary" in named else [])))
