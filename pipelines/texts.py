"""The texts of a pool: its topics under a condition, and its documents."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from heed.addons.judging.exchange.exports import ExportedPool
from heed.datasets.own_files import given_files
from heed.files import locked
from heed.formats.documents import Source
from heed.formats.origin import open_documents
from heed.formats.pools import Pool
from heed.languages import Language, language
from heed.types import Topic


def usual_condition(topics: Sequence[Topic]) -> str:
    """Return the condition of a command that runs one: original where a topic carries that instruction, else query."""
    return "original" if any("original" in topic.instructions for topic in topics) else "query"


def named_texts(options: argparse.Namespace) -> tuple[Path, Language, Source, list[Topic]]:
    """Return the folder of indexes, the language, documents and topics that the options name."""
    reading = {name: getattr(options, name) for name in ("lang", "fields", "topics_format", "encoding")}
    name, code, source, topics = given_files(options.docs, options.topics, **reading)
    return options.indexes / (options.name or name) / code, language(code), source, topics


def exported_pool(options: argparse.Namespace, pool: Pool) -> ExportedPool:
    """Return the pool with the topics and documents that the options name."""
    indexes, _, source, topics = named_texts(options)
    with locked(indexes):
        store = open_documents(source, indexes)
    condition = options.condition or usual_condition(topics)
    return ExportedPool(pool, {topic.qid: topic for topic in topics}, condition, store)
