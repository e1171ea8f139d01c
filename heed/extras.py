"""The parts of Heed that are installed on request: which package belongs to which, and how it is installed."""

import re
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

from heed.errors import UsageError

REQUIREMENT = re.compile(r"([\w.-]+).*?(?:extra == ['\"]([\w-]+)['\"])?$")
BY_MAKE = ("models", "data")  # what `make models` installs
EXTRAS = (*BY_MAKE, "papers", "ray", "vllm")  # those of users, the first that has a package is named


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


def require(package: str, purpose: str) -> None:
    """Raise :class:`UsageError` where the imported ``package``, which ``purpose`` needs, is not installed."""
    if find_spec(package) is None:
        raise UsageError(f"{purpose}: {advice(package)}")


def _extra_of(package: str) -> str | None:
    """Return the extra of Heed's own metadata that requires ``package``; None for what is always installed."""
    name = package.replace("_", "-")
    try:
        lines = requires("heed-ir") or []
    except PackageNotFoundError:  # run from its sources
        return None
    matches = (REQUIREMENT.fullmatch(line) for line in lines)
    found = {match[2] for match in matches if match and match[1].replace("_", "-") == name}
    return next((extra for extra in EXTRAS if extra in found), None)
