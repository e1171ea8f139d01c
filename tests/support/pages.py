"""README and pages of docs/ as their readers follow them: the commands, run in order in one folder."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from conftest import ROOT, call, stranger

README = ROOT / "README.md"
PAGES = [README, *(ROOT / "docs" / f"{name}.md" for name in ("index", "is-mine-better"))]
PAGES += sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r'^```(console|python title="([\w./-]+)")\n(.*?)^```$', re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# every indented line is a command; in a sentence these are, when they have arguments
PROGRAMS = r"heed|make|pip|python|source|bash|docs/\w+\.sh|\.venv/bin/\w+"
BESIDE = re.compile(rf"^ {{4}}(\S.*?)(?: +#.*)?$|`((?:{PROGRAMS}) [^`\n]+)`", re.MULTILINE)
# of each figure of lsa, whose last digits may differ on another processor
TOLERANCE = 1.0


class Step(NamedTuple):
    """A command of a page and the lines that it shows below it."""

    command: str
    shown: list[str]


def steps(block: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *rest = re.sub(r"\\\n\s*", "", part).splitlines()
        yield Step(command, rest)


def shown_steps(page: Path) -> list[Step]:
    """Return the commands whose output a page shows."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [step for _, title, text in blocks if not title for step in steps(text)]


def beside(page: Path) -> list[str]:
    """Return the other commands of a page, each once: of its indented lines and its sentences.

    A name alone, as `heed compare`, is no command.
    """
    text = re.sub(r"\\\n\s*", "", FENCED.sub("", page.read_text(encoding="utf-8")))
    found = [indented or within for indented, within in BESIDE.findall(text)]
    return list(dict.fromkeys(one for one in found if not re.fullmatch(r"heed [a-z]+", one)))


def run(command: str, folder: Path) -> str:
    """Return what a command prints on stdout."""
    program, *arguments = shlex.split(command.removeprefix(".venv/bin/"), comments=True)
    variables = stranger(folder.parent / "home")
    expanded = [one for argument in arguments for one in _expanded(argument, folder)]
    if program == "heed":
        name, *options = expanded
        done = call(f"pipelines.{name}", folder, variables, *options)
    else:
        line = [sys.executable, *expanded] if program == "python" else [program, *expanded]
        done = subprocess.run(line, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if "# exit status 1" in command else 0), f"{command}\n{done.stderr}"
    return done.stdout


def _expanded(argument: str, folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.glob(argument)) if "*" in argument else [argument]


def follow(page: Path, folder: Path) -> Iterator[tuple[Step, str]]:
    """Yield each command of a page, and what it prints; ``folder`` stands for the repository's."""
    for name in ("documents", "qrels", "topics"):
        (folder / name).symlink_to(ROOT / name)
    for _, title, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if title:
            (folder / title).write_text(text, encoding="utf-8")
            continue
        for step in steps(text):
            yield step, run(step.command, folder)


def fits(shown: list[str], printed: str) -> bool:
    """Return whether the output is as shown; a line "…" stands for any number of lines."""
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "…" else _pattern(line.rstrip()) for line in shown)
    found = re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n")
    figures = [one for line in shown if line.startswith("lsa ") for one in re.findall(r"-?\d+\.\d", line)]
    return found is not None and all(
        abs(float(one) - float(now)) <= TOLERANCE for one, now in zip(figures, found.groups(), strict=True)
    )


def _pattern(line: str) -> str:
    escaped = re.escape(line)
    if line.startswith("lsa "):
        escaped = re.sub(r"(?:\\ )*(?:\\-)?\d+\\\.\d", r" *(-?\\d+\\.\\d)", escaped)
    return escaped + r" *\n"
