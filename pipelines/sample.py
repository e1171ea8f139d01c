"""Where the embedded samples lie."""

from pathlib import Path


def sample_root() -> Path:
    """The folder with documents/, topics/ and qrels/ of the samples: the installed package's, or the checkout."""
    installed = Path(__file__).parent / "sample"
    return installed if installed.is_dir() else Path(__file__).parent.parent
