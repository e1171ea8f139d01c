"""Packages beside Heed: which of its extras they belong to and how they are installed, and objects of users' own."""

import re
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Any

from heed.errors import UsageError, in_one_line

OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")  # package.module:Class
REQUIREMENT = re.compile(r"([\w.-]+).*?(?:extra == ['\"]([\w-]+)['\"])?$")
BY_MAKE = ("models", "data")  # what `make models` installs
NOT_INSTALLED = "not installed"
EXTRAS = (*BY_MAKE, "plots", "papers", "ray", "vllm")  # those of users, the first that has a package is named


def advice(package: str) -> str:
    """Return that the imported ``package`` is missing, and how to install it: alone or with the extra that has it."""
    extra = _extra_of(package)
    if extra is None:
        return (
            f"the Python package {package} is not installed for {sys.executable}; start Heed with .venv/bin/python, "
            "which make demo sets up, or install its packages: uv pip install -c constraints.txt -e ."
        )
    by_make = "make models, or " if extra in BY_MAKE else ""
    return (
        f"the Python package {package} is not installed for {sys.executable}; it belongs to Heed's extra '{extra}': "
        f"{by_make}uv pip install -c constraints.txt -e '.[{extra}]' (docs/installation.md)"
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
        raise UsageError(f"{name}: module {module} cannot be imported ({error}); run from its folder") from error
    except Exception as error:
        raise UsageError(f"{name}: module {module} fails when it is imported, {in_one_line(error)}") from error
    for part in path.split("."):
        if not hasattr(value, part):
            raise UsageError(f"{name}: {module} has no {part}; expected package.module:Class")
        value = getattr(value, part)
    return value


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
