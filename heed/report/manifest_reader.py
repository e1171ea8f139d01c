"""The reader of ``manifest.yml`` beside the runs, and its settings as names and values for a page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import DataError
from heed.files import read_bytes


class Settings(NamedTuple):
    """Names and values that hold for a folder, and those of each system; the names of nested ones have dots."""

    folder: list[tuple[str, str]]
    systems: dict[str, list[tuple[str, str]]]


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the content of the manifest in ``folder``, empty without one; :class:`DataError` for another form."""
    import yaml

    path = folder / "manifest.yml"
    if not path.exists():
        return {}
    try:
        manifest = yaml.load(read_bytes(path), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not YAML ({' '.join(str(error).split())[:200]}); run the collection again") from error
    if not isinstance(manifest, dict):
        raise DataError(f"{path}: {type(manifest).__name__}, expected names and values; run the collection again")
    return manifest


def read_settings(folder: Path) -> Settings:
    """Return the settings of the results in ``folder``; :class:`DataError` as :func:`read_manifest`."""
    manifest = read_manifest(folder)
    method = manifest.get("method")
    entries = method.pop("retrieval", None) if isinstance(method, dict) else None
    systems = {}
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            systems[str(entry.get("name"))] = list(_pairs(entry.get("parameters"), ""))
    return Settings(list(_pairs(manifest, "")), systems)


def _pairs(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the values inside ``value`` by their names, those of inner ones after a dot."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _pairs(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for number, item in enumerate(value):
            yield from _pairs(item, f"{name}[{number}]")
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value))
    else:
        yield name, "" if value is None else str(value)
