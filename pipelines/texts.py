"""The texts of a pool: its topics under a condition, and its documents."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from heed.datasets.own_files import pool_texts
from heed.files import locked, remembering
from heed.formats.document_store import open_documents
from heed.formats.documents import Source
from heed.formats.trec_files import Pool
from heed.languages import Language
from heed.types import Topic
from pipelines.options.data import data_of

if TYPE_CHECKING:
    from heed.addons.judging.exchange.exports import ExportedPool


def usual_condition(topics: Sequence[Topic]) -> str:
    """Return the condition of a command that runs one: original where a topic carries that instruction, else query."""
    return "original" if any("original" in topic.instructions for topic in topics) else "query"


def named_texts(options: argparse.Namespace) -> tuple[Path, Language, Source, list[Topic]]:
    """Return the folder of indexes, the language, documents and topics that the options name."""
    texts = pool_texts(replace(data_of(options), qrels=None))  # what people judged is compared with, not read along
    return options.indexes / texts.name / texts.subset, texts.language, texts.source, texts.topics


def exported_pool(options: argparse.Namespace, pool: Pool) -> "ExportedPool":
    """Return the pool with the topics and documents that the options name."""
    from heed.addons.judging.exchange.exports import ExportedPool

    indexes, _, source, topics = named_texts(options)
    with locked(indexes), remembering(indexes, options.verify):
        store = open_documents(source, indexes)
    condition = options.condition or usual_condition(topics)
    return ExportedPool(pool, {topic.qid: topic for topic in topics}, condition, store)
