"""The tutorials are followed word by word: their commands print what the pages show, or what a line of "…" stands for.

``PYTHONPATH=. python tests/test_tutorials.py`` writes what they print now into the pages.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from conftest import ROOT, call, stranger

PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r'^```(console|python title="([\w./-]+)")\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SHOWN = 40  # lines of an output that a page shows whole


class Step(NamedTuple):
    """A command of a page and the lines that it shows below it."""

    command: str
    shown: list[str]


def steps(block: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *rest = re.sub(r"\\\n\s*", "", part).splitlines()
        yield Step(command, rest)


def run(step: Step, folder: Path) -> str:
    """Return what a command prints on stdout."""
    program, *arguments = shlex.split(step.command, comments=True)
    variables = stranger(folder.parent / "home")
    expanded = [one for argument in arguments for one in _expanded(argument, folder)]
    if program == "heed":
        name, *options = expanded
        done = call(f"pipelines.{name}", folder, variables, *options)
    else:
        command = [sys.executable, *expanded] if program == "python" else [program, *expanded]
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1 if "# errors" in step.command else 0), done.stderr
    return done.stdout


def _expanded(argument: str, folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.glob(argument)) if "*" in argument else [argument]


def follow(page: Path, folder: Path) -> Iterator[tuple[Step, str]]:
    """Yield each command of a page, and what it prints; ``folder`` stands for the repository's."""
    (folder / "qrels").symlink_to(ROOT / "qrels")
    for _, title, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if title:
            (folder / title).write_text(text, encoding="utf-8")
            continue
        for step in steps(text):
            yield step, run(step, folder)


def fits(shown: list[str], printed: str) -> bool:
    """Return whether the output is as shown; a line "…" stands for any number of lines."""
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line.rstrip()) + r" *\n" for line in shown)
    return re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n") is not None


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the pages show the figures of Anserini 1.7, of Python 3.11")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_tutorial_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "place"
    folder.mkdir()
    for step, printed in follow(page, folder):
        assert fits(step.shown, printed), f"{step.command}\nprinted:\n{printed}\nshown:\n" + "\n".join(step.shown)


def rewrite(page: Path) -> None:
    """Write what the commands of a page print into it, where it does not fit; long outputs keep their last lines."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "place"
        folder.mkdir()
        printed = [(step, output) for step, output in follow(page, folder)]
    text = page.read_text(encoding="utf-8")
    for step, output in printed:
        if not fits(step.shown, output):
            lines = [line.rstrip() for line in output.splitlines()]
            lines = lines if len(lines) <= SHOWN else ["…", *lines[-SHOWN:]]
            before = "".join(f"{line}\n" for line in step.shown)
            first = shlex.split(step.command)[0]
            start = text.index(f"$ {first}", _place(text, step.command))
            end = text.index("\n", _end_of_command(text, start)) + 1
            text = text[:end] + "".join(f"{line}\n" for line in lines) + text[end + len(before) :]
    page.write_text(text, encoding="utf-8")


def _place(text: str, command: str) -> int:
    """Return where a command stands in a page, which may have it on several lines."""
    pattern = r"\$ " + r"(?:\s|\\\n\s*)+".join(map(re.escape, command.split()))
    found = re.search(pattern + r"[ \t]*$", text, re.MULTILINE)
    assert found, command
    return found.start()


def _end_of_command(text: str, start: int) -> int:
    end = text.index("\n", start)
    while text[end - 1] == "\\":
        end = text.index("\n", end + 1)
    return end


if __name__ == "__main__":
    for page in PAGES:
        rewrite(page)
