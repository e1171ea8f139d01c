"""Local copies of data sets of the hub, in Parquet, JSONL, packed or not, or TSV."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
from conftest import write_jsonl

Rows = list[dict[str, Any]]
Files = dict[str, Rows]


def parquet(path: Path, rows: Rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def packed(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


def published(folder: Path, form: str, files: Files) -> Path:
    for name, records in files.items():
        path = folder / f"{name}.{form}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if form == "parquet":
            parquet(path, records)
        elif form == "tsv":
            lines = [records[0].keys(), *(record.values() for record in records)]
            path.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))
        else:
            write_jsonl(path, records)
    return folder
