"""Topics with an original and a changed instruction, in all forms in which FollowIR and mFollowIR are published.

The newer form has one query a condition (``305-og``, ``305-changed``): configs ``queries``, ``instruction`` (in MTEB's
mirrors a column of ``queries``), ``default`` or ``qrels``, and ``top_ranked``. The older form has one query a topic,
with both instructions and two shorter ones as columns, and the configs ``qrels_og``, ``qrels_changed`` and
``top_ranked``. mFollowIR has the newer form, with the language in the configs' names.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError, fail
from heed.formats.data_set_folders import config_files
from heed.formats.data_set_rows import Columns, grades_of, read_candidates, read_queries, rows, topics_of, warn_blank
from heed.types import Qrels, Topic

Naming = Callable[[str], str]  # a config's name in a folder: queries → queries-zho

ENDINGS = {"-og": "original", "-changed": "changed"}
QRELS = {"original": "qrels_og", "changed": "qrels_changed"}
COLUMNS = Columns(
    instructions={
        "keywords": ("keywords",),
        "short": ("short_query",),
        "original": ("instruction_og",),
        "changed": ("instruction_changed",),
    }
)


class PairedTopics(NamedTuple):
    """Topics and qrels by condition; ``candidates`` are the published lists, by condition-free qid."""

    topics: list[Topic]
    qrels: dict[str, Qrels]
    candidates: dict[str, list[str]]
    corpus: list[Path]


def read_pairs(folder: Path, named: Naming, lang: str, encoding: str | None = None) -> PairedTopics:
    """Read topics in language ``lang`` with both instructions from configs that are called as ``named`` says.

    Raises :class:`DataError` for a missing config, bad rows, a query without its instruction, or an id of the newer
    form that ends neither ``-og`` nor ``-changed``. Blank instructions are warnings. Without ``top_ranked`` there are
    no candidates.
    """
    if config_files(folder, named(QRELS["original"])):
        topics = topics_of(rows(folder, named("queries"), encoding=encoding), lang, COLUMNS)
        parts = {condition: rows(folder, named(config), encoding=encoding) for condition, config in QRELS.items()}
        qrels = {condition: grades_of(part) for condition, part in parts.items()}
    else:
        topics, qrels = _read_newer(folder, named, lang, encoding)
    warn_blank(folder, topics, QRELS)
    corpus = config_files(folder, named("corpus"))
    fail([] if corpus else [f"{folder}: no {named('corpus')}; expected Parquet or JSONL files of that name"])
    return PairedTopics(topics, qrels, read_candidates(folder, named("top_ranked")), corpus)


def is_paired(folder: Path, encoding: str | None = None) -> bool:
    """Return whether the queries of ``folder`` come with an original and a changed instruction each, in either form."""
    if config_files(folder, QRELS["original"]):
        return not config_files(folder, "qrels_reversed")  # InfoSearch's
    qids = [row.word("_id", "id") for row in rows(folder, "queries", encoding=encoding)]
    return bool(qids) and all(qid.endswith(tuple(ENDINGS)) for qid in qids)


def _read_newer(folder: Path, named: Naming, lang: str, encoding: str | None) -> tuple[list[Topic], dict[str, Qrels]]:
    topics: dict[str, Topic] = {}
    for query in read_queries(folder, lang, named, encoding, all_instructed=True):
        qid, condition = _split(folder, query.qid)
        topic = topics.setdefault(qid, query._replace(qid=qid, instructions={}))
        if instruction := query.instructions.get("original"):
            topic.instructions[condition] = instruction
    qrels: dict[str, Qrels] = {condition: {} for condition in QRELS}
    # data: where push_to_hub puts the config that it calls default
    judged = rows(folder, named("default"), named("qrels"), named("data"), encoding=encoding)
    for full, grades in grades_of(judged).items():
        qid, condition = _split(folder, full)
        qrels[condition][qid] = grades
    return list(topics.values()), qrels


def _split(folder: Path, full: str) -> tuple[str, str]:
    for ending, condition in ENDINGS.items():
        if full.endswith(ending):
            return full.removesuffix(ending), condition
    raise DataError(f"{folder}: query id {full!r} ends neither -og nor -changed")
