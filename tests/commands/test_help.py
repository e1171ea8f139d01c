"""What ``--help`` of every command shows, soon: options once, and command lines that can be tried."""

import argparse
import ast
import importlib
import re
import shlex
import subprocess
import sys

import pytest
from conftest import ROOT, Heed

from pipelines import COMMANDS
from pipelines.__main__ import main as list_or_run

HEAVY = {"torch", "faiss", "sklearn", "scipy", "transformers", "sentence_transformers", "pandas", "jnius"}
# made of torch, scipy or ir_datasets alone; themselves imported only where they are used
ALONE = {
    "heed.models.engine",
    "heed.addons.architectures.nv_embed",
    "heed.addons.architectures.table_encoder",
    "heed.addons.judging.publishing.ir_datasets_definition",
}
HEAVY |= {"ir_datasets", "ir_measures", "huggingface_hub", "pyarrow", "yaml", "tqdm"}
HELPS = f"""
import importlib, sys
from pipelines import COMMANDS
from pipelines.__main__ import main as list_or_run
for name in COMMANDS:
    importlib.import_module(f"pipelines.{{name}}").parser().format_help()
    print(name, *({HEAVY | {"uvicorn", "starlette"}!r} & set(sys.modules)))
"""
# options of several commands, and the commands whose option of this name is another one
SHARED: dict[str, set[str]] = {
    "--lang": {"neuclir", "fetch", "compare"},  # languages of a collection, or of judgements
    "--indexes": set(),
    "--max-length": {"train"},  # of training prompts
    "--subset": {"tables", "compare", "published", "reproduce"},  # of a collection, or of figures
    **{
        name: set()
        for name in ("--fields", "--name", "--topics-format", "--query-lang", "--translation", "--catalogue")
    },
    **{name: set() for name in ("--device", "--threads", "--heap", "--dtype", "--workers")},
    **{name: set() for name in ("--models", "--trust-remote-code", "--maxp", "--json", "--quiet", "--allow-host")},
}


def parser(name: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = importlib.import_module(f"pipelines.{name}").parser()
    return made


def options_in(text: str) -> list[str]:
    return re.findall(r"^  (?:-h, )?(--[a-z][a-z0-9-]*)", text, re.MULTILINE)


def examples(name: str) -> list[list[str]]:
    """Return the arguments of the command lines at the end of a help."""
    text = parser(name).format_help().partition("\nexamples:\n")[2].replace("\\\n", "")
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    assert all(line[:3] == ["python", "-m", f"pipelines.{name}"] for line in lines)  # as this process was started
    return [line[3:] for line in lines]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_ends_with_command_lines_that_the_command_takes(name: str) -> None:
    lines = examples(name)
    assert 2 <= len(lines) <= 5
    for line in lines:
        parser(name).parse_args(line)  # exits for an option or a choice that there is not


@pytest.mark.parametrize("name", ["fetch", "models", "published", "reproduce"])
def test_examples_that_need_no_files_run(name: str, heed: Heed) -> None:
    for line in examples(name):
        if not any(part.startswith("./") or "/data" in part for part in line):
            dry = ["--dry-run"] if name in ("fetch", "reproduce") and line and "--dry-run" not in line else []
            result = heed(f"pipelines.{name}", *line, *dry, "--quiet")
            assert (result.returncode, result.stderr) == (0, ""), line
            assert result.stdout


def test_everyday_options_come_first() -> None:
    options = options_in(parser("neuclir").format_help())
    everyday = ["--lang", "--docs", "--topics", "--qrels", "--retriever", "--reranker", "--measure", "--out"]
    assert [option for option in options if option in everyday] == everyday
    rare = ("--k1", "--faiss", "--dtype", "--engine", "--name", "--condition")
    assert options.index("--out") < min(map(options.index, rare))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_the_everyday_options_and_help_all_has_all(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for option in ("--help", "--help-all"):
        with pytest.raises(SystemExit, match="^0$"):
            list_or_run([name, option])
        shown.append(capsys.readouterr().out)
    everyday, everything = map(options_in, shown)
    known = [action.option_strings[-1] for action in parser(name)._actions if action.option_strings]
    assert sorted(everything) == sorted(known)
    assert len(everyday) <= 25 and set(everyday) <= set(everything)
    last = f"python -m pipelines.{name} --help-all shows all options."
    assert (shown[0].splitlines()[-1] == last) == (len(everyday) < len(everything))
    if name in ("neuclir", "trec", "tables", "infosearch"):
        assert set(everyday).isdisjoint(("--models", "--condition", "--workers", "--engine", "--family"))


@pytest.mark.parametrize("option", SHARED)
def test_an_option_of_several_commands_has_one_meaning(option: str) -> None:
    entry = re.compile(rf"^  ({option} .*?)(?=^  -|^\S|\Z)", re.MULTILINE | re.DOTALL)
    texts = [entry.search(parser(name).format_help()) for name in COMMANDS.keys() - SHARED[option]]
    assert len({" ".join(text[1].split()) for text in texts if text}) == 1


def test_every_command_answers_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        with pytest.raises(SystemExit, match="^0$"):
            list_or_run([name, "--help"])
        assert capsys.readouterr().out.startswith(f"usage: python -m pipelines.{name} ")


def test_no_help_imports_what_is_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", HELPS], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(COMMANDS)


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    for path in sorted([*(ROOT / "heed").rglob("*.py"), *(ROOT / "pipelines").rglob("*.py")]):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            heavy = {name.split(".")[0] for name in names} & HEAVY | ALONE.intersection(names)
            assert not heavy or path.stem in {name.rpartition(".")[2] for name in ALONE}, path.name
