"""The settings of the runs of a folder that decide the answer to a question, as ``manifest.yml`` has them."""

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
    try:
        return _settings_of(read_manifest(folder))
    except (AttributeError, KeyError, msgspec.ValidationError) as error:
        raise DataError(f"{folder / 'manifest.yml'}: {error}; run the collection again") from error


def _settings_of(manifest: dict[str, Any]) -> RunSettings:
    settings = manifest.get("settings", {})
    pool, depth = settings.get("pool", {}), settings.get("depth", RunSettings().depth)
    systems: dict[str, dict[str, Any]] = {}
    for system in manifest.get("method", {}).get("retrieval", []):
        parameters = system.get("parameters", {})
        kind = parameters.get("system")  # of BM25 as Heed calls it
        systems.setdefault(kind if isinstance(kind, str) else system["name"], parameters)
    bm25 = [parameters for name, parameters in systems.items() if name.startswith("bm25")]
    bm25 += [parameters["bm25"] for parameters in systems.values() if isinstance(parameters.get("bm25"), dict)]
    first = bm25[0] if bm25 else {}  # a retriever, or below a reranker such as polarity
    fields = systems.get(FIELDS, {}).get("fields") or {}
    weights = [fields.get(name, 0.0) for name in TABLE_FIELDS] if fields else []
    return RunSettings(
        join=manifest.get("data", {}).get("test collection", {}).get("query and instruction", JOIN),
        depth=depth,
        pool_depth=pool.get("depth") or depth,
        bm25=msgspec.convert([first.get("k1", K1), first.get("b", B), *weights], Bm25Settings),
        systems=tuple(systems),
        foreign="index" in first,
        published=pool.get("from") == "published candidates",
    )
