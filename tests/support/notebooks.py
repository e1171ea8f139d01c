"""Notebooks executed in this process, without Jupyter: their cells in order, and what each of them shows."""

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]


def read_notebook(path: Path) -> Notebook:
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def executed(notebook: Notebook, folder: Path) -> Notebook:
    """Return ``notebook`` with the outputs that its cells have when they run in ``folder``."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    with contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                number += 1
                outputs = _run("".join(cell["source"]), names, number)
                cell = {**cell, "execution_count": number, "outputs": outputs}
            cells.append(cell)
    return {**notebook, "cells": cells}


def write_notebook(path: Path, notebook: Notebook) -> None:
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _run(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Return the outputs of a cell: what it prints, and the value of its last line, if that is an expression."""
    body, last = ast.parse(source).body, []
    if body and isinstance(body[-1], ast.Expr):
        last = [body.pop()]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), f"cell {number}", "exec"), names)  # noqa: S102 - our own notebook
        values = [eval(compile(ast.Expression(one.value), f"cell {number}", "eval"), names) for one in last]  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    shown = {"execution_count": number, "metadata": {}, "output_type": "execute_result"}
    return outputs + [{"data": _data(value), **shown} for value in values if value is not None]


def _data(value: Any) -> dict[str, list[str]]:
    if hasattr(value, "_repr_mimebundle_"):
        bundle = value._repr_mimebundle_(include=None, exclude=None)
        return {form: _lines(shown) for form, shown in bundle.items() if isinstance(shown, str)}  # no specification
    rich = {"text/html": _lines(value._repr_html_())} if hasattr(value, "_repr_html_") else {}
    return {**rich, "text/plain": _lines(repr(value))}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
