"""Write heed/addons/bridges/prebuilt.json from the lists of prebuilt indexes in the installed pyserini 1.6.0.

Both lists are only read: JSON inside Anserini's jar, which comes first, and a Python file of Pyserini.

    python -m benchmarks.prebuilt_indexes
"""

import ast
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heed.addons.bridges.prebuilt import DATA, Prebuilt
from heed.files import write_json
from heed.retrieval.lucene.jvm import anserini_version, jar

IN_JAR = "prebuilt-indexes/"
IN_WHEEL = "prebuilt_index_info.py"
PREFIX = "TF_INDEX_INFO_"  # Pyserini's indexes for BM25; the others are of learned weights and vectors


def listed() -> dict[str, Prebuilt]:
    """Return the indexes for BM25 in both lists."""
    archive = jar()
    indexes = [*_of_pyserini(archive.parents[2] / IN_WHEEL), *_of_anserini(archive)]
    return {index.name: index for index in indexes}


def _of_anserini(archive: Path) -> Iterator[Prebuilt]:
    with zipfile.ZipFile(archive) as content:
        for member in content.namelist():
            if member.startswith(IN_JAR) and member.endswith(".json"):
                for entry in json.loads(content.read(member)):
                    if entry["type"] == "inverted":
                        yield _prebuilt(entry["name"], entry, entry["compressed_size"])


def _of_pyserini(path: Path) -> Iterator[Prebuilt]:
    """Yield what a Python file says in plain dictionaries; it is parsed, not run. Calls read Anserini's list."""
    named: dict[tuple[str, str], Prebuilt] = {}
    for table, key, value in _entries(path):
        if isinstance(value, ast.Dict):
            entry = ast.literal_eval(value)
            named[table, key] = _prebuilt(key, entry, entry["size compressed (bytes)"])
        elif isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):  # another name of an index
            other = named.get((value.value.id, ast.literal_eval(value.slice)))
            if other:
                named[table, key] = other._replace(name=key)
    yield from named.values()


def _entries(path: Path) -> Iterator[tuple[str, str, ast.expr]]:
    if not path.is_file():
        return
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Dict):
            table = node.targets[0].id
            if table.startswith(PREFIX):
                for key, value in zip(node.value.keys, node.value.values, strict=True):
                    if key is not None:
                        yield table, ast.literal_eval(key), value


def _prebuilt(name: str, entry: dict[str, Any], size: int) -> Prebuilt:
    return Prebuilt(name, entry["filename"], size, entry["md5"], entry["urls"])


def main() -> None:
    """Write the file."""
    indexes = {name: index._asdict() for name, index in sorted(listed().items())}
    for entry in indexes.values():
        del entry["name"]
    write_json(DATA, {"source": f"pyserini 1.6.0, Anserini {anserini_version()}", "indexes": indexes})


if __name__ == "__main__":
    main()
