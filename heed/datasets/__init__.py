"""Collections by name: where their files are, how each is read, what can be fetched."""

from pathlib import Path


def sample_root() -> Path:
    """Return the folder with documents/, topics/ and qrels/ of the samples: in the package, or the checkout."""
    package = Path(__file__).parent.parent
    installed = package / "sample"
    return installed if installed.is_dir() else package.parent
