"""Check names, docstrings and the library's texts: ``python -m hardening.words [FOLDER …]``, part of ``make check``.

A name says what a value holds: participles and bare pronouns are refused as names of variables, parameters, functions
and modules. The first line of a docstring says what is returned or done; "Return what …" says neither. The library does
not know the command line: its errors, advice and docstrings name a field (``depth: found 0``) or say it in words; a
command puts its own option's name before a field. In the library a class's name is of one class only, and a package of
the core has at most a dozen modules.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

FOLDERS = ("heed", "pipelines", "examples")
LIBRARY, ADDONS = Path("heed"), Path("heed/addons")
MODULES = 12  # in a package of the core, __init__.py not counted; the ground, heed/ itself, may have more
# of what? a noun of the field is missing, such as documents, grades, position, path
PARTICIPLES = {"asked", "found", "given", "held", "kept", "made", "noted", "told", "wanted"}
NAMES = PARTICIPLES | {"at", "beside", "one", "own", "tell", "what"}
OPENINGS = re.compile(r"Return (what|how it is) |What (comes?|came) of ")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
# options of other programs, which texts of the library may name or give them
OTHERS = {
    "--enable-native-access": "Java",
    "--sun-misc-unsafe-memory-access": "Java",
    "--install": "wsl",
    "--head": "ray start",
    "--repo-type": "hf download",
    "--revision": "hf download",
    "--include": "hf download",
    "--local-dir": "hf download",
    "--to-faiss": "pyserini.encode",
    "--fast": "an example of a user's own program",
}
# files that may name Heed's own options, each with its reason
COMMAND_LINES = {
    "heed/addons/published/settings.py": "its rows are command lines, which heed reproduce runs",
}
# folders and files that are still to be written again: remove a line when it is done, and the tuple with the last one
OPEN = (
    "heed/addons/architectures",
    "heed/addons/bridges",
    "heed/addons/cluster",
    "heed/addons/judging",
    "heed/addons/published",
    "heed/addons/training",
    "heed/datasets",
    "heed/experiment/merged_runs.py",
    "heed/formats",
    "heed/models",
    "heed/report",
    "heed/reranking",
    "heed/retrieval",
    "heed/systems",
    "heed/tables",
    "heed/types.py",
    "heed/web.py",
)
WORDS = re.compile(r"\b(told|mended|mend|what came of|let go)\b")


def main(folders: Sequence[str]) -> int:
    """Print each fault with its file and line; return the exit status."""
    paths = sorted(path for folder in folders or FOLDERS for path in Path(folder).rglob("*.py"))
    faults = [f"{path}:{line}: {text}" for path in paths for line, text in faults_of(path)]
    library = [path for path in paths if path.is_relative_to(LIBRARY)]
    faults += [*_names_of_two_classes(library), *_large_packages(library)]
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
        if path.parts[0] == "heed" and not str(path).startswith((*COMMAND_LINES, *OPEN)):
            yield from _options(node)


def _options(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each of Heed's own options that a text names."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        for option in OPTION.findall(node.value):
            if option not in OTHERS:
                yield node.lineno, f"{option}: the library knows no command line; name the field, or say it in words"


def _names_of_two_classes(paths: Sequence[Path]) -> Iterator[str]:
    """Yield a line for each name that several classes of ``paths`` have."""
    places = defaultdict(list)
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name.strip("_")].append(f"{path}:{node.lineno}")
    for name, classes in sorted(places.items()):
        if len(classes) > 1:
            yield f"{classes[0]}: class {name} is also at {', '.join(classes[1:])}: give each a name of its own"


def _large_packages(paths: Sequence[Path]) -> Iterator[str]:
    """Yield a line for each package of the core that has too many modules."""
    modules = defaultdict(list)
    for path in paths:
        if path.stem != "__init__" and path.parent != LIBRARY and not path.is_relative_to(ADDONS):
            modules[path.parent].append(path.stem)
    for folder, names in modules.items():
        if len(names) > MODULES:
            yield f"{folder}: {len(names)} modules, expected at most {MODULES}; join those that are read together"


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
