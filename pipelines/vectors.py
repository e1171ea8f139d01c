"""Document vectors in shards on disk: made once for all conditions, kept through a kill."""

import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pipelines.docstore import Docstore
from pipelines.documents import Document
from pipelines.files import finished, write_json
from pipelines.made import NOTE, Recipe, difference, sizes
from pipelines.progress import bar, say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

VERSION = 1  # raise when the shards change
SHARD = 4_096  # documents a shard: what a kill can cost
PLAN = "plan.json"


class Encoder(Protocol):
    """Turns texts into vectors of float32, one row each, compared by inner product."""

    @property
    def name(self) -> str:
        """What runs of this encoder are called."""

    @property
    def recipe(self) -> Recipe:
        """Everything that decides its vectors."""

    def documents(self, documents: Sequence[Document]) -> "Matrix":
        """Vectors of documents, shape ``(len(documents), d)``."""

    def queries(self, topics: Sequence[tuple[str, str]]) -> "Matrix":
        """Vectors of ``(query, instruction)`` pairs, shape ``(len(topics), d)``; the instruction may be empty."""


@runtime_checkable
class Announcing(Protocol):
    """An encoder that tells what a collection will cost before the first document is sent."""

    def begin(self, store: Docstore) -> None:
        """Called before the first document of ``store`` is encoded."""


class Vectors:
    """The vectors of a collection; row ``i`` belongs to the ``i``-th docid."""

    def __init__(self, folder: Path) -> None:
        """Open what :func:`embed` left in ``folder``."""
        self.docids = (folder / "docids.txt").read_text(encoding="utf-8").splitlines()
        self.shards = sorted(folder.glob("shard-*.npy"))

    def parts(self) -> Iterator["Matrix"]:
        """The shards in order, memory-mapped."""
        import numpy as np

        for shard in self.shards:
            yield np.load(shard, mmap_mode="r", allow_pickle=False)

    def rows(self, numbers: "NDArray[np.int64]") -> "Matrix":
        """The vectors of some rows, in that order."""
        import numpy as np

        parts = list(self.parts())
        picked = np.empty((len(numbers), parts[0].shape[1]), dtype=np.float32)
        for index, part in enumerate(parts):
            here = numbers // SHARD == index
            picked[here] = part[numbers[here] % SHARD]
        return picked


def embed(folder: Path, store: Docstore, encoder: Encoder) -> Vectors:
    """The vectors of every document of ``store`` in docid order, computed unless they are there.

    Shards that an earlier, killed process finished are kept if the encoder and the documents are
    the same; otherwise the folder is emptied first.
    """
    recipe: Recipe = {"vectors": VERSION, "shard": SHARD, "documents": store.digest, "encoder": encoder.recipe}
    reason = difference(folder / NOTE, recipe, lambda note: sizes(folder) == note["files"])
    if reason is None:
        say(f"{folder}: used again, inputs and settings are the same")
        return Vectors(folder)
    say(f"{folder}: {reason}")
    if difference(folder / PLAN, recipe, lambda _: True) is not None:
        shutil.rmtree(folder, ignore_errors=True)
        write_json(folder / PLAN, {"recipe": recipe})
    if isinstance(encoder, Announcing):
        encoder.begin(store)
    _write_shards(folder, store, encoder)
    write_json(folder / NOTE, {"recipe": recipe, "files": sizes(folder)})
    return Vectors(folder)


def _write_shards(folder: Path, store: Docstore, encoder: Encoder) -> None:
    import numpy as np

    docids: list[str] = []
    documents = bar(iter(store), store.count, f"{encoder.name} vectors", "documents")
    for number, batch in enumerate(iter(lambda: list(islice(documents, SHARD)), [])):
        docids += [document.docid for document in batch]
        shard = folder / f"shard-{number:05}.npy"
        if not shard.exists():
            with finished(shard) as stream:
                np.save(stream, encoder.documents(batch).astype(np.float32, copy=False), allow_pickle=False)
    with finished(folder / "docids.txt") as stream:
        stream.write("\n".join(docids).encode())
