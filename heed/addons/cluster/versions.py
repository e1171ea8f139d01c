"""What two machines must have in common, so that the same task gives the same bytes on both."""

import platform
from collections.abc import Mapping
from pathlib import Path

from heed.errors import WorkerError, fail
from heed.extras import installed_version
from heed.files import digest, digest_json

PACKAGES = ("numpy", "torch", "transformers", "tokenizers", "sentence-transformers", "peft", "vllm")


def versions() -> dict[str, str]:
    """Return the versions of Python and of what computes vectors and scores, and a digest of Heed's own code."""
    return {
        "Python": platform.python_version(),
        **{name: installed_version(name) for name in PACKAGES},
        "Heed's code": _code(),
    }


def check_versions(worker: str, ours: Mapping[str, str], theirs: Mapping[str, str]) -> None:
    """Raise :class:`WorkerError` that lists the versions at ``worker`` which differ from ours."""
    problems = [
        f"{worker}: {name} is {theirs.get(name)}, here it is {here}; install the same on every machine"
        for name, here in ours.items()
        if theirs.get(name) != here
    ]
    fail(problems, WorkerError)


def _code() -> str:
    package = Path(__file__).parent.parent
    return digest_json({str(path.relative_to(package)): digest(path) for path in package.rglob("*.py")})[:12]
