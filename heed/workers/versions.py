"""What two machines must have in common, so that the same work gives the same bytes on both."""

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from heed.errors import fail

PACKAGES = ("numpy", "torch", "transformers", "tokenizers", "sentence-transformers", "peft", "vllm")


def likeness() -> dict[str, str]:
    """Versions of Python and of what computes vectors and scores, and a digest of Heed's own code."""
    return {"Python": platform.python_version(), **{name: _version(name) for name in PACKAGES}, "Heed's code": _code()}


def check_likeness(place: str, ours: dict[str, str], theirs: dict[str, str]) -> None:
    """Raise :class:`heed.errors.HeedError` that tells what is another version at ``place``."""
    fail(
        f"{place}: {name} is {theirs.get(name)}, here it is {here}; install the same on every machine"
        for name, here in ours.items()
        if theirs.get(name) != here
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not there"


def _code() -> str:
    package = Path(__file__).parent.parent
    found = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        found.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:12]
