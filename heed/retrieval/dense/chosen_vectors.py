"""Vectors of chosen documents on disk: computed once, whatever pools they come in, kept when the process is killed."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heed.files import digest, digest_json, write_bytes
from heed.progress import log
from heed.retrieval.dense.vectors import write_matrix
from heed.reuse import Note, note_of, read_note, write_note
from heed.types import Matrix

Vector = NDArray[np.float32]

PREFIX = "pool-"
OLD_JOURNAL = "shards.txt"  # of version 0.2.0, in place of notes


class KeptVectors:
    """Vectors by key, of one encoder and collection; what is added is kept in a folder, or in memory alone.

    The folder holds parts of vectors, each with a file of their keys, and a note with the digests of both: a part
    that a kill left unfinished, or that was damaged, is as if it had never been added.
    """

    def __init__(self, folder: Path | None) -> None:
        """Open what earlier processes kept in ``folder``, None for memory alone."""
        self._folder = folder
        self._rows: dict[str, Vector] = {}
        if folder is None:
            return
        if (folder / OLD_JOURNAL).exists():
            log.info(f"{folder}: an older version of Heed noted these vectors in another form; they are computed again")
            shutil.rmtree(folder)
        for path in sorted(folder.glob("part-*.npy")):
            note = read_note(note_of(path))
            if note and note.files == _digests(path):
                keys = _keys_of(path).read_text(encoding="utf-8").split("\n")
                rows = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
                self._rows.update(zip(keys, rows, strict=True))

    def __contains__(self, key: object) -> bool:
        """Whether there is a vector of this key."""
        return key in self._rows

    def of(self, keys: Sequence[str]) -> Matrix:
        """Return the vectors of ``keys``, in that order; raises :class:`KeyError` for one that is not there."""
        return np.stack([self._rows[key] for key in keys])

    def add(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Keep ``vectors``, one a row; they are on disk, all or none, when this returns."""
        self._rows.update(zip(keys, vectors, strict=True))
        if self._folder is None:
            return
        if not self._folder.exists():
            for earlier in self._folder.parent.glob(f"{PREFIX}*"):  # of other documents or settings
                if earlier != self._folder:  # it may have come since, by another system or process
                    shutil.rmtree(earlier)
        # named by its keys: whoever writes the same file at the same time writes the same vectors
        path = self._folder / f"part-{digest_json([*keys])[:16]}.npy"
        write_matrix(path, vectors)
        write_bytes(_keys_of(path), "\n".join(keys).encode())
        write_note(note_of(path), Note({}, _digests(path)))


def _keys_of(path: Path) -> Path:
    return path.with_suffix(".txt")


def _digests(path: Path) -> dict[str, str]:
    return {each.name: digest(each) for each in (path, _keys_of(path)) if each.exists()}
