"""Which documents are a data set in BEIR's or MTEB's layout, whose queries and judgements lie beside its corpus."""

from collections.abc import Sequence
from pathlib import Path

from heed.formats.data_sets import QRELS, config_files


def is_data_set(folder: Path) -> bool:
    """Return whether ``folder`` holds a corpus beside queries or judgements, as BEIR and MTEB lay them out."""
    if not folder.is_dir() or not config_files(folder, "corpus"):
        return False
    return any(config_files(folder, config) for config in ("queries", *QRELS))


def data_set_of(path: Path) -> Path | None:
    """Return the folder of the data set that ``path``, a folder or a corpus file, is documents of; None for others."""
    if is_data_set(path):
        return path
    is_corpus_file = path.is_file() and path in config_files(path.parent, "corpus") and is_data_set(path.parent)
    return path.parent if is_corpus_file else None


def data_set_in(docs: Sequence[str]) -> Path | None:
    """Return the one folder of ``docs``, if it is a data set; None for other documents."""
    folder = Path(docs[0]) if len(docs) == 1 else None
    return folder if folder and is_data_set(folder) else None


def collection_name(path: Path) -> str:
    """Return the name of a collection after its documents: as the folder, or the file up to its first dot.

    BEIR calls every corpus ``corpus.jsonl``: one beside its queries or judgements is called as their folder.
    """
    resolved = path.resolve()
    named = data_set_of(resolved) or resolved
    return named.name.partition(".")[0] or "docs"
