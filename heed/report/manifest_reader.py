"""How results were made, as ``manifest.yml`` beside them says: names and values for a page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from heed.files import read_bytes
from heed.progress import warn


class Settings(NamedTuple):
    """Names and values that hold for a folder, and those of each system; the names of nested ones have dots."""

    folder: list[tuple[str, str]]
    systems: dict[str, list[tuple[str, str]]]


def read_settings(folder: Path) -> Settings:
    """Return the settings of the results in ``folder``; warn of a manifest that cannot be read."""
    import yaml

    path = folder / "manifest.yml"
    if not path.exists():
        return Settings([], {})
    try:
        manifest = yaml.load(read_bytes(path), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        warn(f"{path}: not YAML, its settings are left out ({' '.join(str(error).split())[:200]})")
        return Settings([], {})
    if not isinstance(manifest, dict):
        warn(f"{path}: found {type(manifest).__name__}, expected names and values; its settings are left out")
        return Settings([], {})
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
        for place, item in enumerate(value):
            yield from _pairs(item, f"{name}[{place}]")
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value))
    else:
        yield name, "" if value is None else str(value)
