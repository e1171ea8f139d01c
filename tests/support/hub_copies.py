"""Local copies of data sets of the hub, in Parquet, JSONL or TSV."""

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
from conftest import write_jsonl

Files = dict[str, list[dict[str, Any]]]


def published(folder: Path, form: str, files: Files) -> Path:
    for name, records in files.items():
        path = folder / f"{name}.{form}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if form == "parquet":
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), path)
        elif form == "tsv":
            lines = [records[0].keys(), *(record.values() for record in records)]
            path.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))
        else:
            write_jsonl(path, records)
    return folder
