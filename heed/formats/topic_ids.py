"""Ids of topics: those that differ by a prefix or leading zeros alone, and those of two runs that belong together."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from heed.errors import DataError, UsageError, fail
from heed.files import read_lines
from heed.progress import brief, counted, log, setting, warn
from heed.types import Qrels, Run, Topic

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


def select(run: Run, condition: str) -> Run:
    """Return the topics of ``run`` under ``condition`` by the endings of their ids, or all if none is."""
    selected = {qid: scores for qid, scores in run.items() if by_ending(qid)[1] in ("", condition)}
    return selected or run


def pair(
    base: Collection[str], new: Collection[str], path: Path | None = None, judged: Sequence[Collection[str]] = ((), ())
) -> dict[str, str]:
    """Return ``new qid -> base qid``, from a file of ``new<TAB>base`` lines or by the ids.

    Without a file: ids with the same stem belong together, else a new id belongs to the base id
    that is its part before the last ``_``. Topics that are ``judged``, for the base run and for the new one, are
    paired where a run lacks them too, since they count 0 in its means. Warns of them, and of ids without a partner.
    Raises :class:`DataError` if nothing can be paired, or for a bad line of the file.
    """
    bases, news = _with_judged(base, judged[0], "original"), _with_judged(new, judged[1], "changed")
    pairs = _read(path, bases, news) if path else _by_ids(bases, news)
    hint = number_hint(new, base)
    for kind, run, paired in (("new", new, set(pairs)), ("base", base, set(pairs.values()))):
        if pairs and (alone := sorted(set(run) - paired)):
            warn(f"{len(alone)} topics of the {kind} run have no partner and are left out: {brief(alone)}{hint}")
        if lacking := sorted(paired.difference(run)):
            warn(f"{lacking_topics(lacking, f'the {kind} run')}{number_hint(lacking, run)}")
    if not pairs:
        raise DataError(
            f"no topic of the new run ({brief(sorted(new))}) belongs to one of the base run ({brief(sorted(base))}); "
            f"name them in a file, pairs=TSV, lines of new qid, tab, base qid{hint}"
        )
    return pairs


def lacking_topics(lacking: Sequence[str], run: str) -> str:
    """Return a warning of judged topics that a run lacks."""
    ends = "s" * (len(lacking) == 1)
    return f"{counted(len(lacking), 'judged topic')} not in {run} and count{ends} 0 in its means: {brief(lacking)}"


def _with_judged(qids: Collection[str], judged: Collection[str], condition: str) -> list[str]:
    """Return a run's topics, and those judged under its condition that it lacks."""
    by_stem = {stem(qid): qid for qid in judged if by_ending(qid)[1] in ("", condition)}
    return [*qids, *(by_stem[name] for name in sorted(by_stem.keys() - set(map(stem, qids))))]


def _by_ids(base: Collection[str], new: Collection[str]) -> dict[str, str]:
    by_stem = {stem(qid): qid for qid in base}
    partners = {qid: by_stem.get(stem(qid)) or by_stem.get(stem(qid).rpartition("_")[0]) for qid in new}
    return {qid: partner for qid, partner in partners.items() if partner}


def _read(path: Path, base: Collection[str], new: Collection[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    problems = []
    for line_no, line in read_lines(path):
        fields = [*map(topic_id, line.split("\t"))]
        if not line.strip():
            continue
        if len(fields) != 2:
            problems.append(f"{path}, line {line_no}: {len(fields)} columns, expected new qid, tab, base qid")
        elif fields[0] in pairs:
            problems.append(f"{path}, line {line_no}: topic {fields[0]} has a partner already")
        elif fields[0] not in new or fields[1] not in base:
            side, qid = ("new", fields[0]) if fields[0] not in new else ("base", fields[1])
            problems.append(f"{path}, line {line_no}: topic {qid} is not in the {side} run")
        else:
            pairs[fields[0]] = fields[1]
    fail(problems)
    return pairs


def renamed(values: Mapping[str, Item], pairs: Mapping[str, str]) -> dict[str, Item]:
    """Return the list, or judgements, of each base qid under its new qid, so that both sides have the same qids."""
    return {qid: values[partner] for qid, partner in pairs.items() if partner in values}


def qrels_for(qrels: Qrels, pairs: Mapping[str, str]) -> Qrels:
    """Return ``qid -> grades``, where ``pairs`` gives the id of a topic in the qrels, or one with the same stem."""
    known = {qid: name for qid, partner in pairs.items() for name in (stem(partner), partner) if name in qrels}
    stems = {stem(partner) for partner in pairs.values()}
    alone = sorted(qid for qid in qrels.keys() - known.values() if stem(qid) not in stems)
    if alone:
        log.info(f"qrels: {len(alone)} of {len(qrels)} judged topics have no pair and are in no mean: {brief(alone)}")
    return {qid: qrels[name] for qid, name in known.items()}
