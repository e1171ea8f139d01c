"""What mkdocs adds to the pages of this folder: the reference of the commands and of the Python API.

Links to files outside the folder, which the pages on the web do not have, become the files' names.
"""

import argparse
import html
import importlib
import json
import posixpath
import re
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import heed
from pipelines import COMMANDS

NOTEBOOK = "tutorials/first-hour.ipynb"
LINK = re.compile(r"\[([^\]]+)\]\(((?!https?:|#|mailto:)[^)#\s]+)(#[^)\s]*)?\)")
API = {
    "Data": (
        "load",
        "load_files",
        "Collection",
        "Topic",
        "Query",
        "Document",
        "Documents",
        "Qrels",
        "Run",
        "language",
        "read_instruction",
        "Span",
    ),
    "Experiments": ("Experiment", "SystemRuns", "Results", "Judging", "Pair", "measure", "Cut"),
    "Systems": ("reranker", "encoder", "Retriever", "Reranker", "Encoder", "Registry"),
    "Settings": ("Compute", "Search", "Bm25Settings"),
    "Errors": ("HeedError", "UsageError", "DataError", "ModelError"),
}


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    pages = {
        "reference/python.md": _python(),
        "reference/commands.md": _commands(),
        "tutorials/notebook.md": "\n\n".join(_notebook(Path(config["docs_dir"]) / NOTEBOOK)),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Return the page with links to files outside the folder as plain names."""
    folder = posixpath.dirname(page.file.src_uri)

    def kept(match: "re.Match[str]") -> str:
        path = posixpath.normpath(posixpath.join(folder, match[2]))
        return match[1] if path.startswith("..") else match[0]

    return LINK.sub(kept, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Return the page with each table in a region that is scrolled by keys, too."""
    region = '<div class="wide" role="region" aria-label="table" tabindex="0">'
    return html.replace("<table>", f"{region}<table>").replace("</table>", "</table></div>")


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Return the page with a name for the theme's search."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def _python() -> str:
    known = {name for names in API.values() for name in names}
    if known != set(heed.__all__):
        raise ValueError(f"docs/pages.py: the names of heed and of its reference differ: {known ^ set(heed.__all__)}")
    lines = [
        "# Python",
        "",
        "The names of `import heed`. [Extending Heed](../extending.md) has examples with their output.",
        "",
    ]
    for title, names in API.items():
        lines += [f"## {title}", ""]
        for name in names:
            thing = getattr(heed, name)
            lines += [f"::: {thing.__module__}.{getattr(thing, '__qualname__', name)}", ""]
    return "\n".join(lines)


def _notebook(path: Path) -> Iterator[str]:
    """Yield the cells of a notebook as Markdown, with the outputs that are stored in it."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield source
            continue
        yield f"```python\n{source}\n```"
        for output in cell["outputs"]:
            forms = {
                form: "".join(text) for form, text in output.get("data", {"text/plain": output.get("text")}).items()
            }
            if "text/html" in forms:
                yield f"<div>\n{forms['text/html']}\n</div>"
            elif "image/svg+xml" in forms:
                image = b64encode(forms["image/svg+xml"].encode()).decode()
                title = html.escape(forms["text/plain"])
                yield f'<img alt="{title}" src="data:image/svg+xml;base64,{image}">'
            else:
                yield f"```text\n{forms['text/plain']}\n```"


def _commands() -> str:
    lines = ["# Commands", "", "`heed NAME` and `python -m pipelines.NAME` are the same.", ""]
    for name in COMMANDS:
        lines += _command(name, importlib.import_module(f"pipelines.{name}").parser())
    return "\n".join(lines)


def _command(name: str, parser: argparse.ArgumentParser) -> list[str]:
    lines = [f"## {name}", "", _cell(parser.description or ""), ""]
    for group in parser._action_groups:
        rows = [_row(action) for action in group._group_actions if action.help != argparse.SUPPRESS]
        if rows:
            title = "" if group.title in ("options", "positional arguments") else f"**{group.title}**"
            lines += [title, "", "| | |", "|---|---|", *rows, ""]
    return [*lines, "```text", parser.epilog or "", "```", ""]


def _row(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else None
    if action.choices is not None and value is None:
        value = "|".join(map(str, action.choices))
    names = list(action.option_strings) or [value or action.dest]
    shown = value or action.dest.upper()
    argument = f" {shown}" if action.option_strings and action.nargs != 0 else ""
    text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    shown_names = ", ".join(f"`{one}{argument}`".replace("|", chr(92) + "|") for one in names)
    return f"| {shown_names} | {'<br>'.join(map(_cell, text.splitlines()))} |"


def _cell(text: str) -> str:
    return re.sub(r"([|<*_\[\]])", r"\\\1", " ".join(text.split()))
