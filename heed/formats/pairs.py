"""Pairs of topics of two runs: from a file, or by the form of their ids."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from heed.errors import DataError, fail
from heed.files import read_lines
from heed.formats.topic_ids import number_hint, topic_id
from heed.progress import brief, log, warn
from heed.types import Qrels, Run

Item = TypeVar("Item")

ENDINGS = {"base": "-og", "new": "-changed", "reversed": "-reversed"}  # mteb's ids; one file may hold several


def select(run: Run, role: str) -> Run:
    """Return the topics of ``run`` that have ``role`` by the endings of their ids, or all if none has it."""
    selected = {qid: scores for qid, scores in run.items() if _role(qid) in (None, role)}
    return selected or run


def _role(qid: str) -> str | None:
    return next((role for role, ending in ENDINGS.items() if qid.endswith(ending)), None)


def stem(qid: str) -> str:
    """Return the id without a trailing ``-og``, ``-changed`` or ``-reversed``."""
    role = _role(qid)
    return qid.removesuffix(ENDINGS[role]) if role else qid


def pair(
    base: Collection[str], new: Collection[str], path: Path | None = None, judged: Sequence[Collection[str]] = ((), ())
) -> dict[str, str]:
    """Return ``new qid -> base qid``, from a file of ``new<TAB>base`` lines or by the ids.

    Without a file: ids with the same stem belong together, else a new id belongs to the base id
    that is its part before the last ``_``. Topics that are ``judged``, for the base run and for the new one, are
    paired where a run lacks them too, since they count 0 in its means. Warns of them, and of ids without a partner.
    Raises :class:`DataError` if nothing can be paired, or for a bad line of the file.
    """
    bases, news = _with_judged(base, judged[0], "base"), _with_judged(new, judged[1], "new")
    pairs = _read(path, bases, news) if path else _by_ids(bases, news)
    hint = number_hint(new, base)
    for kind, run, paired in (("new", new, set(pairs)), ("base", base, set(pairs.values()))):
        if pairs and (alone := sorted(set(run) - paired)):
            warn(f"{len(alone)} topics of the {kind} run have no partner and are left out: {brief(alone)}{hint}")
        if lacking := sorted(paired.difference(run)):
            said = f"judged topics are not in the {kind} run and count 0 in its means: {brief(lacking)}"
            warn(f"{len(lacking)} {said}{number_hint(lacking, run)}")
    if not pairs:
        raise DataError(
            f"no topic of the new run ({brief(sorted(new))}) belongs to one of the base run ({brief(sorted(base))}); "
            f"name them in a file, pairs=TSV, lines of new qid, tab, base qid{hint}"
        )
    return pairs


def _with_judged(qids: Collection[str], judged: Collection[str], role: str) -> list[str]:
    """Return a run's topics, and those judged for its role that it lacks."""
    by_stem = {stem(qid): qid for qid in judged if _role(qid) in (None, role)}
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
    """Return ``qid -> grades``, where ``pairs`` gives the id of a topic in the qrels, or one with the same stem.

    Judged topics without a pair are logged: they are in no mean.
    """
    known = {qid: name for qid, partner in pairs.items() for name in (stem(partner), partner) if name in qrels}
    stems = {stem(partner) for partner in pairs.values()}
    alone = sorted(qid for qid in qrels.keys() - known.values() if stem(qid) not in stems)
    if alone:
        log.info(f"qrels: {len(alone)} of {len(qrels)} judged topics have no pair and are in no mean: {brief(alone)}")
    return {qid: qrels[name] for qid, name in known.items()}
