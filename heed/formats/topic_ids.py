"""Ids of topics: those that differ by a prefix or leading zeros alone, and endings that name a condition."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TypeVar

from heed.errors import UsageError, fail
from heed.progress import brief, counted, setting
from heed.types import Topic

Item = TypeVar("Item")
ENDINGS = {"original": "-og", "changed": "-changed", "reversed": "-reversed"}  # mteb's ids; one file may hold several
_numbered: ContextVar[bool] = ContextVar("numbered", default=False)


def numbered(topic_ids: str | None) -> AbstractContextManager[bool]:
    """Let readers inside the block give topics their numbers as ids, if ``topic_ids`` is ``number``."""
    fail([] if topic_ids in (None, "", "number") else [f"topic_ids: found {topic_ids!r}, expected number"], UsageError)
    return setting(_numbered, bool(topic_ids))


def number(qid: str) -> str:
    """Return a topic's id without prefix and leading zeros: 51 of ``051``, 26-og of ``AR26-og``."""
    return re.sub(r"^\D*0*(?=\d)", "", qid)


def topic_id(qid: str) -> str:
    """Return a topic's id, or only its number (51 of ``051``) inside a block of :func:`numbered`."""
    return number(qid) if _numbered.get() else qid


def with_ids(items: dict[str, Item], where: object) -> dict[str, Item]:
    """Return ``items`` by qid under the ids that :func:`numbered` wants; :class:`DataError` for two of one number."""
    if not _numbered.get():
        return items
    first = {number(qid): qid for qid in reversed(items)}
    both = ((first[number(qid)], qid) for qid in items if first[number(qid)] != qid)
    fail(f"{where}: topics {' and '.join(qids)} have one number, which is to be their id; rename one" for qids in both)
    return {number(qid): item for qid, item in items.items()}


def topics_with_ids(topics: Sequence[Topic], where: object) -> list[Topic]:
    """Return topics that were read, as :func:`with_ids` does."""
    by_id = with_ids({topic.qid: topic for topic in topics}, where)
    return [topic._replace(qid=qid, base=topic_id(topic.base)) for qid, topic in by_id.items()]


def number_hint(qids: Iterable[str], known: Collection[str]) -> str:
    """Return advice on those of ``qids`` that are ``known`` by their numbers alone; empty without any."""
    ids = {number(qid): qid for qid in known}
    pairs = [(qid, ids[number(qid)]) for qid in qids if qid not in known and number(qid) in ids]
    if not pairs:
        return ""
    differ = f"{len(pairs)} differ by leading zeros or a prefix ({brief([' and '.join(pair) for pair in pairs])})"
    if any(len({prefix for qid in pair if (prefix := _prefix(qid))}) > 1 for pair in pairs):  # dr01 and de01
        return f"; {differ}: is one file of another collection?"
    return f"; {differ}: give topic_ids=number if they are the same"


def _prefix(qid: str) -> str:
    return re.split(r"\d", qid, maxsplit=1)[0]


def by_ending(qid: str) -> tuple[str, str]:
    """Return the id without one of ``ENDINGS``, and the condition that this names; empty without one."""
    condition = next((condition for condition, ending in ENDINGS.items() if qid.endswith(ending)), "")
    return qid.removesuffix(ENDINGS.get(condition, "")), condition


def stem(qid: str) -> str:
    """Return the id without a trailing ``-og``, ``-changed`` or ``-reversed``."""
    return by_ending(qid)[0]


def lacking_topics(lacking: Sequence[str], run: str) -> str:
    """Return a warning of judged topics that a run lacks."""
    ends = "s" * (len(lacking) == 1)
    return f"{counted(len(lacking), 'judged topic')} not in {run} and count{ends} 0 in its means: {brief(lacking)}"


def renamed(values: Mapping[str, Item], pairs: Mapping[str, str]) -> dict[str, Item]:
    """Return the list, or judgements, of each base qid under its new qid, so that both sides have the same qids."""
    return {qid: values[partner] for qid, partner in pairs.items() if partner in values}
