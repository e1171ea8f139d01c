"""Packages beside Heed: which of its extras they belong to and how they are installed, and objects of users' own."""

import ast
import hashlib
import inspect
import re
import sys
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeGuard

from heed.errors import UsageError, did_you_mean, in_one_line
from heed.progress import brief

OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")  # package.module:Class
REQUIREMENT = re.compile(r"([\w.-]+).*?(?:extra == ['\"]([\w-]+)['\"])?$")
BY_MAKE = ("models", "data")  # what `make models` installs
NOT_INSTALLED = "not installed"
EXTRAS = (*BY_MAKE, "plots", "papers", "ray", "vllm")  # those of users, the first that has a package is named


def advice(package: str) -> str:
    """Return that the imported ``package`` is missing, and how to install it: alone or with the extra that has it."""
    extra, pip = _extra_of(package), "pip" if find_spec("pip") else "uv pip"
    if extra is None:
        return (
            f"the Python package {package} is not installed for {sys.executable}; start Heed with .venv/bin/python, "
            f"which make demo sets up, or install its packages: {pip} install -c constraints.txt -e ."
        )
    by_make = "make models, or " if extra in BY_MAKE else ""
    return (
        f"the Python package {package} is not installed for {sys.executable}; it belongs to Heed's extra '{extra}': "
        f"{by_make}{pip} install -c constraints.txt -e '.[{extra}]' (docs/installation.md)"
    )


def installed_version(package: str) -> str:
    """Return the version of a package, else ``NOT_INSTALLED``."""
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_INSTALLED


def require(package: str, purpose: str) -> None:
    """Raise :class:`UsageError` where the imported ``package``, which ``purpose`` needs, is not installed."""
    if find_spec(package) is None:
        raise UsageError(f"{purpose}: {advice(package)}")


def named_object(name: str) -> Any:
    """Return the class, function or other object called ``package.module:Class``.

    Raises :class:`UsageError` where there is no such module or name, and where the module fails.
    """
    module, _, path = name.partition(":")
    try:
        value: Any = import_module(module)
    except ModuleNotFoundError as error:
        meant = did_you_mean(module, [path.stem for path in Path().glob("*.py")], before="; ")
        raise UsageError(f"{name}: module {module} cannot be imported ({error}); run from its folder{meant}") from error
    except Exception as error:
        raise UsageError(f"{name}: module {module} fails when it is imported, {in_one_line(error)}") from error
    for part in path.split("."):
        if not hasattr(value, part):
            defined = [
                name
                for name, each in getattr(value, "__dict__", {}).items()
                if getattr(each, "__module__", "") == module
            ]
            raise UsageError(f"{name}: {module} has no {part}; it has {brief(defined) or 'no class and no function'}")
        value = getattr(value, part)
    return value


_digests: dict[tuple[int, ...], tuple[str | None, list[Any]]] = {}  # what was digested is held: its id is not reused


def source_digest(*parts: Any) -> str | None:
    """Return a digest of the source of the modules that define ``parts``, the user's classes and functions.

    It is one of their syntax trees, without docstrings and the block ``if __name__ == "__main__"``; modules that these
    import are not covered. None where a part has no source: in a notebook's cell, at the prompt, in a compiled module,
    and where a function was edited after its import. Code that goes on running after an edit keeps its digest.
    """
    parts = tuple(inspect.unwrap(part.func if isinstance(part, partial) else part) for part in parts)
    known = [part if isinstance(part, type) or hasattr(part, "__code__") else type(part) for part in parts]
    running = [getattr(part, "__code__", part) for part in known]
    key = tuple(map(id, running))
    if key not in _digests:
        try:
            sources = {part.__module__: inspect.getsource(sys.modules[part.__module__]) for part in known}
            has_all = all(_has(sources[part.__module__], code) for part, code in zip(known, running, strict=True))
            text = "\f".join(_plain(ast.parse(sources[module])) for module in sorted(sources))
            _digests[key] = hashlib.sha256(text.encode()).hexdigest() if has_all else None, running
        except (OSError, TypeError, KeyError, ValueError, SyntaxError, RecursionError):
            _digests[key] = None, running
    return _digests[key][0]


def _has(source: str, code: Any) -> bool:
    """Return whether ``code`` is a class, which is not looked for, or of a function as ``source`` has it."""
    codes = [compile(source, "", "exec", dont_inherit=True)]
    for each in codes:  # grows by the functions inside
        codes += filter(inspect.iscode, each.co_consts)
    return isinstance(code, type) or code in codes


def _plain(tree: ast.Module) -> str:
    """Return a module as text, without comments, docstrings and the block of a script's start."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = node.body[ast.get_docstring(node, clean=False) is not None :]
    tree.body = [part for node in tree.body for part in (node.orelse if _is_start(node) else [node])]
    return ast.unparse(tree)


def _is_start(node: ast.stmt) -> TypeGuard[ast.If]:
    tests = ("__name__ == '__main__'", "'__main__' == __name__")
    return isinstance(node, ast.If) and ast.unparse(node.test) in tests


def _extra_of(package: str) -> str | None:
    """Return the extra of Heed's own metadata that requires ``package``; None for what is always installed."""
    names = (package.replace("_", "-"), f"{package.replace('_', '-')}-python")
    try:
        lines = requires("heed-ir") or []
    except PackageNotFoundError:  # run from its sources
        return None
    matches = (REQUIREMENT.fullmatch(line) for line in lines)
    extras = {match[2] for match in matches if match and match[1].replace("_", "-") in names}
    return next((extra for extra in EXTRAS if extra in extras), None)
