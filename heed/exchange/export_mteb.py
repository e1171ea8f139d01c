"""A pool as a data set in the layout of MTEB's instruction reranking tasks and of FollowIR's data."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from heed.errors import HeedError
from heed.exchange.export_tasks import UNJUDGED, Material, new_folder, texts
from heed.io.files import digest, write_bytes

Row = dict[str, Any]

SPLIT = "test"
GROUP = 2000  # rows in memory
# which queries each condition gives, as FollowIR names them: its measure compares changed with original
ENDINGS = {
    "query": {"query": ""},
    "original": {"original": "-og"},
    "changed": {"original": "-og", "changed": "-changed"},
}
NOTE = """---
configs:
{configs}
---
A pool of {documents} documents for {topics} topics, exported by Heed (python -m pipelines.pool).
All judgements in `default` are {unjudged}, unjudged: once they are made, put a file with them in its place
and its name in the list above.
"""
CONFIG = """- config_name: {name}
  data_files:
  - split: {split}
    path: {name}/{file}"""


def write_mteb(path: Path, material: Material) -> None:
    """Write ``corpus``, ``queries``, ``top_ranked``, ``default`` (qrels) and ``instruction`` as Parquet in a folder.

    Under ``query`` there is no ``instruction`` and the query ids are the topics'. Under ``original``
    they end in ``-og``; ``changed`` gives the pair, ``-og`` and ``-changed``, as FollowIR has it (of
    a topic without an original instruction only ``-changed``). Every document of the pool has
    grade -1 in the qrels, unjudged: MTEB drops topics without any. Raises :class:`HeedError` for
    other conditions, which the layout does not have.
    """
    endings = ENDINGS.get(material.condition)
    if endings is None:
        raise HeedError(f"condition {material.condition}: not in MTEB's layout; export {', '.join(ENDINGS)}")
    asked = {
        qid + ending: (qid, condition)
        for qid in material.pool
        for condition, ending in endings.items()
        if condition == "query" or condition in material.topics[qid].instructions
    }
    with new_folder(path) as part:
        files = {config: _write(part / config, rows) for config, rows in _configs(material, asked).items()}
        write_bytes(part / "README.md", _note(files, material).encode())


def _configs(material: Material, asked: dict[str, tuple[str, str]]) -> dict[str, Iterator[Row]]:
    """The rows of each config; ``asked`` holds topic and condition by query id."""
    topics, pool = material.topics, material.pool
    listed = {full: pool[qid] for full, (qid, _) in asked.items()}
    configs: dict[str, Iterator[Row]] = {
        "corpus": _corpus(material),
        "queries": ({"_id": full, "text": topics[qid].query} for full, (qid, _) in asked.items()),
        "top_ranked": ({"query-id": full, "corpus-ids": docids} for full, docids in listed.items()),
        "default": (
            {"query-id": full, "corpus-id": docid, "score": UNJUDGED}
            for full, docids in listed.items()
            for docid in docids
        ),
    }
    if material.condition != "query":
        told = ((full, topics[qid].instructions[condition]) for full, (qid, condition) in asked.items())
        configs["instruction"] = ({"query-id": full, "instruction": text} for full, text in told)
    return configs


def _corpus(material: Material) -> Iterator[Row]:
    docids = dict.fromkeys(docid for docids in material.pool.values() for docid in docids)
    return ({"_id": docid, "title": title, "text": text} for docid, title, text in texts(material, list(docids)))


def _write(folder: Path, rows: Iterator[Row]) -> str:
    """Write one config and give back its file's name; its columns have MTEB's types, so that no id becomes a number."""
    import pyarrow
    import pyarrow.parquet

    types = {"corpus-ids": pyarrow.list_(pyarrow.string()), "score": pyarrow.int32()}
    group = list(islice(rows, GROUP))
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in group[0]])
    folder.mkdir()
    draft = folder / "draft.parquet"
    with pyarrow.parquet.ParquetWriter(draft, schema) as writer:
        while group:
            writer.write_table(pyarrow.Table.from_pylist(group, schema))
            group = list(islice(rows, GROUP))
    # the digest, as in hub repositories: the datasets library knows a local folder by the names in its
    # README alone, and would give what an earlier export to the same place held
    return draft.rename(folder / f"{SPLIT}-00000-of-00001-{digest(draft)[:16]}.parquet").name


def _note(files: dict[str, str], material: Material) -> str:
    configs = "\n".join(CONFIG.format(name=name, split=SPLIT, file=file) for name, file in files.items())
    count = len({docid for docids in material.pool.values() for docid in docids})
    return NOTE.format(configs=configs, documents=count, topics=len(material.pool), unjudged=UNJUDGED)
