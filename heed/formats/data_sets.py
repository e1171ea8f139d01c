"""Data sets in BEIR's layout (``corpus.jsonl``, ``queries.jsonl``, ``qrels/``) or MTEB's: which files are what.

A *config* is a part of a data set: ``corpus``, ``queries``, ``qrels``. Its files are ``qrels.jsonl``, or in
``qrels/``, where the name of a file or of a folder begins with the *split* (``test.tsv``,
``test-00000-of-00001.parquet``, ``test/0000.parquet``).
"""

import re
from collections.abc import Sequence
from pathlib import Path

from heed.errors import UsageError
from heed.files import unpacked_name

# FollowIR and InfoSearch publish the same qrels as test.jsonl and test.tsv side by side: one form is read
SUFFIXES = (".parquet", ".jsonl", ".tsv")
QRELS = ("qrels", "default", "data")  # data: where push_to_hub puts the config that it calls default
PART = re.compile(r"-\d{5}-of-\d{5}")


def config_files(folder: Path, config: str) -> list[Path]:
    """Return the files of one config, sorted: ``config/…``, ``config/<split>/…`` or ``config.jsonl`` itself.

    Where they come in several forms, Parquet is read rather than JSONL, JSONL rather than TSV, and TSV rather than CSV,
    in which qrels may be; a file that is there gzipped too is read as it is.
    """
    inside = (folder / config).rglob("*") if (folder / config).is_dir() else ()
    accepted = (*SUFFIXES, ".csv") if config == "qrels" else SUFFIXES
    named = (path for path in folder.glob("*") if unpacked_name(path).removeprefix(config) in accepted)
    paths = sorted(path for path in (*inside, *named) if path.is_file())
    forms = ([path for path in paths if unpacked_name(path).endswith(suffix)] for suffix in accepted)
    files = next((files for files in forms if files), [])
    return [path for path in files if path.name == unpacked_name(path) or path.with_suffix("") not in files]


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


def qrels_files(folder: Path) -> dict[str, list[Path]]:
    """Return the files of judgements of a data set by split; empty without any."""
    files = next((files for config in QRELS if (files := config_files(folder, config))), [])
    splits: dict[str, list[Path]] = {}
    for path in files:
        parts = path.relative_to(folder).parts  # qrels, test, 0000.parquet
        splits.setdefault(parts[1] if len(parts) > 2 else _split(path.name), []).append(path)
    return splits


def _split(name: str) -> str:
    return PART.split(name)[0].partition(".")[0]


def split_files(folder: Path, config: str, split: str) -> list[Path]:
    """Return the files of one split of a config, or of all for an empty ``split``; see :func:`config_files`."""
    files = config_files(folder, config)
    return [path for path in files if not split or split in (path.parent.name, _split(path.name))]


def test_qrels(folder: Path) -> list[Path]:
    """Return the files of the split ``test``, else those of the only split; empty without judgements.

    Raises :class:`UsageError` naming the splits where there are several, none of them ``test``.
    """
    splits = qrels_files(folder)
    if len(splits) > 1 and "test" not in splits:
        names = ", ".join(str(path) for files in splits.values() for path in files[:1])
        raise UsageError(
            f"{folder}: judgements of {' and '.join(splits)}, none of test; give one as qrels=PATH: {names}"
        )
    return splits.get("test") or next(iter(splits.values()), [])
