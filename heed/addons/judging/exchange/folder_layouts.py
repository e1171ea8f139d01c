"""A pool as a folder in the layout of MTEB and FollowIR's data."""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from heed.addons.judging.exchange.exported_pool import ExportedPool, documents, new_folder
from heed.errors import UsageError
from heed.files import digest, write_bytes
from heed.types import UNJUDGED

Row = dict[str, Any]

SPLIT = "test"
GROUP = 2000  # rows in memory
# the queries of each condition with FollowIR's endings: its measure compares changed with original
ENDINGS = {
    "query": {"query": ""},
    "original": {"original": "-og"},
    "changed": {"original": "-og", "changed": "-changed"},
}
README = """---
configs:
{configs}
---
A pool of {documents} documents for {topics} topics, exported by Heed (python -m pipelines.pool).
All judgements in `default` are {unjudged}, unjudged: once they are made, put a file with them in its place
and its name in the list above.
"""
README_CONFIG = """- config_name: {name}
  data_files:
  - split: {split}
    path: {name}/{file}"""


def write_mteb(path: Path, exported: ExportedPool) -> None:
    """Write ``corpus``, ``queries``, ``top_ranked``, ``default`` (qrels) and ``instruction`` as Parquet in a folder.

    Under ``query`` there is no ``instruction`` and the query ids are the topics'. Under ``original``
    they end in ``-og``; ``changed`` gives the pair, ``-og`` and ``-changed``, as FollowIR has it (of
    a topic without an original instruction only ``-changed``). Every document of the pool has
    grade -1 in the qrels, unjudged: MTEB drops topics without any. Raises :class:`UsageError` for
    other conditions, which the layout does not have.
    """
    if exported.condition not in ENDINGS:
        raise UsageError(f"condition {exported.condition}: not in MTEB's layout; export {', '.join(ENDINGS)}")
    queries = {
        qid + ending: (qid, condition)
        for qid in exported.pool
        for condition, ending in ENDINGS[exported.condition].items()
        if condition == "query" or condition in exported.topics[qid].instructions
    }
    with new_folder(path) as part:
        files = {config: _write_parquet(part / config, rows) for config, rows in _configs(exported, queries).items()}
        write_bytes(part / "README.md", _readme(files, exported).encode())


def _configs(exported: ExportedPool, queries: dict[str, tuple[str, str]]) -> dict[str, Iterator[Row]]:
    """Return the rows of each config; ``queries`` holds topic and condition by query id."""
    topics, pool = exported.topics, exported.pool
    listed = {full: pool[qid] for full, (qid, _) in queries.items()}
    corpus = documents(exported, list(dict.fromkeys(chain.from_iterable(pool.values()))))
    configs: dict[str, Iterator[Row]] = {
        "corpus": ({"_id": docid, "title": title, "text": text} for docid, title, text, *_ in corpus),
        "queries": ({"_id": full, "text": topics[qid].query} for full, (qid, _) in queries.items()),
        "top_ranked": ({"query-id": full, "corpus-ids": docids} for full, docids in listed.items()),
        "default": (
            {"query-id": full, "corpus-id": docid, "score": UNJUDGED}
            for full, docids in listed.items()
            for docid in docids
        ),
    }
    if exported.condition != "query":
        texts_of = ((full, topics[qid].instructions[condition]) for full, (qid, condition) in queries.items())
        configs["instruction"] = ({"query-id": full, "instruction": text} for full, text in texts_of)
    return configs


def _write_parquet(folder: Path, rows: Iterator[Row]) -> str:
    """Write one config and return its file's name; its columns have MTEB's types, so that no id becomes a number."""
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
    # the digest, as in hub repositories: the datasets library caches a local folder by the names in its
    # README alone, and would return the data of an earlier export to the same place
    return draft.rename(folder / f"{SPLIT}-00000-of-00001-{digest(draft)[:16]}.parquet").name


def _readme(files: dict[str, str], exported: ExportedPool) -> str:
    configs = "\n".join(README_CONFIG.format(name=name, split=SPLIT, file=file) for name, file in files.items())
    count = len(set(chain.from_iterable(exported.pool.values())))
    return README.format(configs=configs, documents=count, topics=len(exported.pool), unjudged=UNJUDGED)
