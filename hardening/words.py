"""Check names and first lines of docstrings: ``python -m hardening.words [FOLDER …]``, part of ``make check``.

A name says what a value holds: participles and bare pronouns are refused as names of variables, parameters, functions
and modules. The first line of a docstring says what is returned or done; "Return what …" says neither.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

FOLDERS = ("heed", "pipelines", "examples")
# of what? a noun of the field is missing, such as documents, grades, position, path
PARTICIPLES = {"asked", "found", "given", "held", "kept", "made", "noted", "told", "wanted"}
NAMES = PARTICIPLES | {"at", "beside", "one", "own", "tell", "what"}
OPENINGS = re.compile(r"Return (what|how it is) |What (comes?|came) of ")
WORDS = re.compile(r"\b(told|mended|mend|what came of|let go)\b")


def main(folders: Sequence[str]) -> int:
    """Print each fault with its file and line; return the exit status."""
    paths = sorted(path for folder in folders or FOLDERS for path in Path(folder).rglob("*.py"))
    faults = [f"{path}:{line}: {text}" for path in paths for line, text in faults_of(path)]
    print("\n".join(faults) or f"names and docstrings of {len(paths)} files: no fault")
    return 1 if faults else 0


def faults_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each fault of a Python file."""
    if path.stem in NAMES:
        yield 1, f"module {path.stem}: name what is in it"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for name, line in _names(node):
            if name in NAMES:
                yield line, f"name {name}: say what it holds"
        yield from _faults_of_docstring(node)


def _names(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that ``node`` itself defines."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, node.lineno
    elif isinstance(node, ast.arg):
        yield node.arg, node.lineno
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name.strip("_"), node.lineno


def _faults_of_docstring(node: ast.AST) -> Iterator[tuple[int, str]]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
        return
    line = (ast.get_docstring(node) or "").partition("\n")[0]
    number = getattr(node, "lineno", 1)
    if OPENINGS.match(line):
        yield number, f'docstring "{line}": name what is returned'
    if word := WORDS.search(line):
        yield number, f'docstring "{line}": write plain words instead of "{word[0]}"'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
