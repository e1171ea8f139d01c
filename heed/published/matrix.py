"""Reproduced figures as one page: a matrix of systems and columns for each table, coloured by verdict."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from heed.published.figures import Paper
from heed.published.verdicts import Cell


def page(paper: Paper, cells: Sequence[Cell]) -> str:
    """Return the HTML page of ``cells``, which needs no other file and no network."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    template = environment.from_string((files("heed.published") / "matrix.html.jinja").read_text("utf-8"))
    captions = {table.table: table.caption for table in paper.tables}
    names = dict.fromkeys(cell["table"] for cell in cells)
    tables = [_table(name, captions[name], [cell for cell in cells if cell["table"] == name]) for name in names]
    return template.render(title=paper.paper.title, tables=tables)


def _table(name: str, caption: str, cells: Sequence[Cell]) -> dict[str, Any]:
    heads = list(dict.fromkeys(map(_head, cells)))
    by_system: dict[str, dict[str, Cell]] = {}
    commands = {}
    for cell in cells:
        by_system.setdefault(cell["system"], {})[_head(cell)] = cell
        label = " ".join(filter(None, (cell["system"], cell["subset"], cell["setting"])))
        commands[label] = {"name": label, "command": cell["command"], "missing": cell["missing"]}
    lines = [{"system": system, "cells": [line.get(head) for head in heads]} for system, line in by_system.items()]
    return {"name": name, "caption": caption, "heads": heads, "lines": lines, "commands": list(commands.values())}


def _head(cell: Cell) -> str:
    return " ".join(filter(None, (cell["subset"], cell["setting"], cell["condition"], cell["measure"])))
