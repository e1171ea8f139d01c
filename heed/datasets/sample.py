"""Where the embedded samples lie."""

from pathlib import Path


def sample_root() -> Path:
    """The folder with documents/, topics/ and qrels/ of the samples: the installed package's, or the checkout."""
    package = Path(__file__).parent.parent
    installed = package / "sample"
    return installed if installed.is_dir() else package.parent
