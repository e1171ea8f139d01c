"""A subset of FollowTable in BEIR's form, with its corpus unpacked: copied where it is, else generated."""

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from heed.files import read_bytes

TABLES, TOPICS, WORDS = 10_000, 200, 5_000


def write_subset(source: Path, folder: Path) -> str:
    """Write the subset to ``folder``; return its name, or ``generated tables`` where ``source`` does not exist."""
    if not source.is_dir():
        _generate(folder)
        return "generated tables"
    shutil.copytree(source, folder, copy_function=shutil.copyfile)
    for path in (folder, folder / "qrels"):
        path.chmod(0o755)
    packed = folder / "corpus.jsonl.gz"
    if packed.exists():
        (folder / "corpus.jsonl").write_bytes(read_bytes(packed))
        packed.unlink()
    return f"FollowTable's {source.name}"


def _generate(folder: Path) -> None:
    """Write tables and topics of words that are as frequent as words of a language, the same every time."""
    chooser = random.Random(0)
    words = [f"w{number}" for number in range(WORDS)]
    weights = [1 / (rank + 1) for rank in range(WORDS)]

    def text(count: int, joint: str = " ") -> str:
        return joint.join(chooser.choices(words, weights, k=count))

    def row() -> str:
        return f"| {text(5, ' | ')} |"

    texts = ["\n".join([row(), "|---|---|---|---|---|", *(row() for _ in range(20))]) for _ in range(TABLES)]
    queries = [(str(number), text(5), text(40)) for number in range(TOPICS)]
    (folder / "qrels").mkdir(parents=True)
    _write(
        folder / "corpus.jsonl", [{"_id": str(number), "title": "", "text": text} for number, text in enumerate(texts)]
    )
    _write(folder / "only_queries.jsonl", [{"_id": number, "text": query} for number, query, _ in queries])
    topics = [
        {
            "_id": f"{number}_0",
            "text": f"{instruction} [SEP] {query}",
            "metadata": {"origin_query": query, "instruction": instruction},
        }
        for number, query, instruction in queries
    ]
    _write(folder / "queries.jsonl", topics)
    for name, suffix in (("for_only_query_test.tsv", ""), ("test.tsv", "_0")):
        grades = [f"{number}{suffix}\t{chooser.randrange(TABLES)}\t1\n" for number, _, _ in queries]
        (folder / "qrels" / name).write_text("query-id\tcorpus-id\tscore\n" + "".join(grades))


def _write(path: Path, records: Sequence[object]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
