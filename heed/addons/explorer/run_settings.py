"""The settings of the runs of a folder that decide the answer to a question, as ``manifest.yml`` has them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from heed.errors import DataError
from heed.report.results import read_manifest
from heed.retrieval.bm25.index import K1, TABLE_FIELDS, B, Bm25Settings
from heed.retrieval.bm25.retriever import FIELDS
from heed.types import JOIN


class RunSettings(NamedTuple):
    """``join`` is how query and instruction became one text; ``depth`` documents a topic in a run and in a pool.

    ``systems`` are the names of those that ran; ``foreign`` says that BM25 searched an index made elsewhere,
    ``published`` that rerankers got the candidates of a paper.
    """

    join: str = JOIN
    depth: int = 1000
    pool_depth: int = 1000
    bm25: Bm25Settings = Bm25Settings()
    systems: tuple[str, ...] = ()
    foreign: bool = False
    published: bool = False


def read_run_settings(folder: Path) -> RunSettings:
    """Return the settings in the manifest of ``folder``, else the defaults; :class:`DataError` if it is broken."""
    manifest = read_manifest(folder)
    try:
        return msgspec.convert(manifest, _Manifest).settings_of_runs() if manifest else RunSettings()
    except msgspec.ValidationError as error:
        raise DataError(f"{folder / 'manifest.yml'}: {error}; run the collection again") from error


class _Collection(msgspec.Struct):
    join: str = msgspec.field(default=JOIN, name="query and instruction")


class _Data(msgspec.Struct):
    collection: _Collection = msgspec.field(default_factory=_Collection, name="test collection")


class _Pool(msgspec.Struct):
    source: str = msgspec.field(default="", name="from")
    depth: int = 0


class _Settings(msgspec.Struct):
    depth: int = 1000
    pool: _Pool = msgspec.field(default_factory=_Pool)


class _System(msgspec.Struct):
    name: str
    parameters: dict[str, Any] = {}

    @property
    def kind(self) -> str:
        """What the user named: of BM25 as Heed calls it, else the system's name."""
        kind = self.parameters.get("system")
        return kind if isinstance(kind, str) else self.name


class _Method(msgspec.Struct):
    retrieval: list[_System] = []


class _Manifest(msgspec.Struct):
    data: _Data = msgspec.field(default_factory=_Data)
    settings: _Settings = msgspec.field(default_factory=_Settings)
    method: _Method = msgspec.field(default_factory=_Method)

    def settings_of_runs(self) -> RunSettings:
        parameters = next(self._of_bm25(), {})
        bm25 = msgspec.convert([parameters.get("k1", K1), parameters.get("b", B), *self._weights()], Bm25Settings)
        depth, pool_depth = self.settings.depth, self.settings.pool.depth or self.settings.depth
        systems = tuple(system.kind for system in self.method.retrieval)
        published = self.settings.pool.source == "published candidates"
        return RunSettings(
            self.data.collection.join, depth, pool_depth, bm25, systems, "index" in parameters, published
        )

    def _weights(self) -> list[Any]:
        """Return the weights of a table's fields; none where no system searched these."""
        parameters = (system.parameters for system in self.method.retrieval if system.kind == FIELDS)
        fields = next(parameters, {}).get("fields")
        return [fields.get(name, 0.0) for name in TABLE_FIELDS] if isinstance(fields, dict) else []

    def _of_bm25(self) -> Iterator[dict[str, Any]]:
        """Yield the parameters of BM25: of a retriever, or below a reranker such as polarity."""
        yield from (system.parameters for system in self.method.retrieval if system.kind.startswith("bm25"))
        below = (system.parameters.get("bm25") for system in self.method.retrieval)
        yield from (parameters for parameters in below if isinstance(parameters, dict))
