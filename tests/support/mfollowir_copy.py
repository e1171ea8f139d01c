"""A small copy of mFollowIR's Chinese data as the hub lays them out."""

from pathlib import Path

from hub_copies import Files, Rows, published

FILES: Files = {
    "corpus-zho": [{"_id": f"u{n}", "title": "标题", "text": f"文本 内容 {n}"} for n in range(6)],
    "queries-zho": [{"_id": "12-og", "text": "内容"}, {"_id": "12-changed", "text": "内容"}],
    "instruction-zho": [
        {"query-id": "12-og", "instruction": "要文本"},
        {"query-id": "12-changed", "instruction": "要文本，不要标题"},
    ],
    "default-zho": [
        {"query-id": "12-og", "corpus-id": "u0", "score": 1},
        {"query-id": "12-og", "corpus-id": "u1", "score": 1},
        {"query-id": "12-changed", "corpus-id": "u0", "score": 0},
        {"query-id": "12-changed", "corpus-id": "u1", "score": 1},
    ],
    "top_ranked-zho": [
        {"query-id": "12-og", "corpus-ids": ["u0", "u1", "u2"]},
        {"query-id": "12-changed", "corpus-ids": ["u1", "u0", "gone"]},
    ],
}


def hub_copy(folder: Path, form: str, **changed: Rows) -> Path:
    """Write the files in Parquet or as JSON lines, some of them changed, and return the folder."""
    files = FILES | {name.replace("_zho", "-zho"): rows for name, rows in changed.items()}
    return published(folder, form, {f"{config}/test-00000-of-00001": rows for config, rows in files.items()})
