"""Collections by name: where their files are, how each is read, what can be fetched."""

import os
from pathlib import Path

IRDS_DOCUMENTS = {"neuclir": "docs.jsonl.gz", "hc4": "hc4_docs.jsonl"}


def sample_root() -> Path:
    """Return the folder with documents/, topics/ and qrels/ of the samples: in the package, or the checkout."""
    package = Path(__file__).parent.parent
    installed = package / "sample"
    return installed if installed.is_dir() else package.parent


def irds_home() -> Path:
    """Return where ir_datasets keeps its files: ``IR_DATASETS_HOME``, or ``~/.ir_datasets``."""
    return Path(os.environ.get("IR_DATASETS_HOME", Path.home() / ".ir_datasets"))


def documents_file(source: str, lang: str) -> Path:
    """Return where ir_datasets keeps, or expects, the documents of ``neuclir`` or ``hc4`` in ``lang``."""
    return irds_home() / ("neuclir/1" if source == "neuclir" else "hc4") / lang / IRDS_DOCUMENTS[source]
