"""Copies of FollowTable in its two published layouts, of a few tables."""

import json
from pathlib import Path
from typing import Any

from conftest import write_jsonl

# data/FollowTable/<subset>/: the text of queries.jsonl is instruction, " [SEP] ", query
QUERIES: list[dict[str, Any]] = [
    {
        "_id": "0_0",
        "text": "Only build. [SEP] running shoes",
        "metadata": {"origin_query": "running shoes", "instruction": "Only build.", "instruction_type": "2.1"},
    },
    {
        "_id": "0_1",
        "text": "No prices. [SEP] running shoes",
        "metadata": {"origin_query": "running shoes", "instruction": "No prices.", "instruction_type": "1.2"},
    },
    {
        "_id": "2_0",
        "text": "By month. [SEP] moon phases",
        "metadata": {"origin_query": "moon phases", "instruction": "By month.", "instruction_type": "2.3.1"},
    },
]
ONLY = [
    {"_id": "0", "text": "running shoes", "metadata": {"origin_query": "running shoes"}},
    {"_id": "2", "text": "moon phases", "metadata": {"origin_query": "moon phases"}},
]
HEADER = "query-id\tcorpus-id\tscore\n"
FOR_QUERY = HEADER + "0\t9111\t1\n0\t12\t1\n0\t7\t1\n2\t7\t1\n2\t8\t1\n"
FOR_BOTH = HEADER + "0_0\t12\t1\n0_1\t9111\t1\n0_1\t12\t1\n2_0\t8\t1\n"

# data/<subset>/: query 1 was released without instructions, and its number is not given to the next
ENTRIES: list[dict[str, Any]] = [
    {
        "query": "running shoes",
        "query_positive": ["9111.txt", "12.txt", "7.txt"],
        "outs": [
            {
                "instruction": "Only build.",
                "instruction_type": "2.1",
                "query_positive": ["9111.txt", "12.txt", "7.txt"],
                "instruction_positive": ["12.txt"],
                "all_tables": ["9111.txt", "12.txt", "7.txt", "8.txt"],
            },
            {"instruction": "No prices.", "instruction_type": "1.2", "instruction_positive": ["9111.txt", "12.txt"]},
        ],
    },
    {"query": "tides", "query_positive": ["8.txt"], "outs": []},
    {
        "query": "moon phases",
        "query_positive": ["7.txt", "8.txt"],
        "outs": [{"instruction": "By month.", "instruction_type": "2.3.1", "instruction_positive": ["8.txt"]}],
    },
]

TABLES = {
    name: f"# Table {name} of the {caption}\n\n| Model | Build |\n| --- | --- |\n| {cell} | full |"
    for name, caption, cell in (
        ("7", "moon", "shoes"),
        ("8", "moon", "phases"),
        ("12", "shoes", "a"),
        ("9111", "shoes", "Sep"),
    )
}


def beir(folder: Path, queries: list[dict[str, Any]] = QUERIES, **changed: str) -> Path:
    records = [
        {"_id": name, "text": text, "title": text.partition("\n")[0][2:], "metadata": {}}
        for name, text in TABLES.items()
    ]
    write_jsonl(folder / "corpus.jsonl", records)
    write_jsonl(folder / "queries.jsonl", queries)
    write_jsonl(folder / "only_queries.jsonl", ONLY)
    (folder / "qrels").mkdir()
    (folder / "qrels" / "for_only_query_test.tsv").write_text(changed.get("for_query", FOR_QUERY))
    (folder / "qrels" / "test.tsv").write_text(changed.get("for_both", FOR_BOTH))
    return folder


def raw(folder: Path, entries: object = ENTRIES) -> Path:
    (folder / "tables").mkdir(parents=True)
    for name, text in TABLES.items():
        (folder / "tables" / f"{name}.txt").write_text(text)
    (folder / "query_instruction.json").write_text(json.dumps(entries))
    return folder
