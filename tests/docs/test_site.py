"""The pages of docs/ link to what exists, in the repository and on the site that is made of them."""

import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import ROOT

PAGES = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "examples/README.md")
] + sorted((ROOT / "docs").rglob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
GENERATED = {"reference/commands.md", "reference/python.md", "tutorials/notebook.md"}  # by docs/pages.py


def prose(page: Path) -> str:
    """Return a page without its code, where brackets are no links and # begins no heading."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^ {4}\S.*$|`[^`\n]*`(?!\])", "", text, flags=re.MULTILINE)


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as mkdocs makes them; GitHub's are the same but for rare signs."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = [re.sub(r"[^\w\s-]", "", title, flags=re.ASCII) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
    return {re.sub(r"[-\s]+", "-", title.strip().lower()) for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    dead = []
    for link in LINK.findall(prose(page)):
        if re.match(r"https?:|mailto:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        if target.is_relative_to(ROOT / "docs") and str(target.relative_to(ROOT / "docs")) in GENERATED:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_every_page_is_in_the_navigation_and_the_other_way_round() -> None:
    nav = re.search(r"^nav:\n.*", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert nav
    named = set(re.findall(r"[\w/-]+\.md", nav[0]))
    assert named - GENERATED == {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="mkdocs is not installed (make docs installs it)")
def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--site-dir",
        str(tmp_path / "site"),
    ]  # --quiet hides warnings from --strict
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    written = {str(path.relative_to(tmp_path / "site")) for path in (tmp_path / "site").rglob("*.html")}
    assert {
        "index.html",
        "collections.html",
        "reference/commands.html",
        "reference/python.html",
        "tutorials/notebook.html",
    } <= written
