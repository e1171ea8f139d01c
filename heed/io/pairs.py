"""Which topic of one run belongs to which topic of another: by file, or by the form of their ids."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeVar

from heed.errors import HeedError, fail
from heed.io.files import read_lines
from heed.progress import brief, log
from heed.types import Qrels, Run

Item = TypeVar("Item")

ENDINGS = {"base": "-og", "new": "-changed", "reversed": "-reversed"}  # mteb's ids; one file may hold several


def select(run: Run, role: str) -> Run:
    """The topics of ``run`` that play ``role`` where it holds several roles by the endings of its ids."""
    mine = {qid: scores for qid, scores in run.items() if _role(qid) in (None, role)}
    return mine or run


def _role(qid: str) -> str | None:
    return next((role for role, ending in ENDINGS.items() if qid.endswith(ending)), None)


def stem(qid: str) -> str:
    """The id without a trailing ``-og``, ``-changed`` or ``-reversed``."""
    role = _role(qid)
    return qid.removesuffix(ENDINGS[role]) if role else qid


def pair(base: Collection[str], new: Collection[str], given: Path | None = None) -> dict[str, str]:
    """``new qid -> base qid``, from a file of ``new<TAB>base`` lines or by the ids.

    Without a file: ids with the same stem belong together, else a new id belongs to the base id
    that is its part before the last ``_``. Ids that stay alone are counted on stderr. Raises
    :class:`HeedError` if nothing can be paired, or for a bad line of the file.
    """
    found = _read(given, base, new) if given else _by_ids(base, new)
    alone = [qid for qid in new if qid not in found]
    lost = [qid for qid in base if qid not in set(found.values())]
    for kind, qids in (("new", alone), ("base", lost)):
        if qids and found:
            log.info(f"{len(qids)} topics of the {kind} run have no partner and are left out: {brief(sorted(qids))}")
    if not found:
        raise HeedError(
            f"no topic of the new run ({brief(sorted(new))}) belongs to one of the base run ({brief(sorted(base))}); "
            "name the pairs with --pairs, lines of new qid, tab, base qid"
        )
    return found


def _by_ids(base: Collection[str], new: Collection[str]) -> dict[str, str]:
    by_stem = {stem(qid): qid for qid in base}
    found = {}
    for qid in new:
        partner = by_stem.get(stem(qid)) or by_stem.get(stem(qid).rpartition("_")[0])
        if partner:
            found[qid] = partner
    return found


def _read(path: Path, base: Collection[str], new: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    problems = []
    for line_no, line in read_lines(path):
        fields = line.split("\t")
        if not line.strip():
            continue
        if len(fields) != 2:
            problems.append(f"{path}, line {line_no}: {len(fields)} columns, expected new qid, tab, base qid")
        elif fields[0] in found:
            problems.append(f"{path}, line {line_no}: topic {fields[0]} has a partner already")
        elif fields[0] not in new or fields[1] not in base:
            side, qid = ("new", fields[0]) if fields[0] not in new else ("base", fields[1])
            problems.append(f"{path}, line {line_no}: topic {qid} is not in the {side} run")
        else:
            found[fields[0]] = fields[1]
    fail(problems)
    return found


def renamed(values: Mapping[str, Item], pairs: Mapping[str, str]) -> dict[str, Item]:
    """The partner's list, or judgements, under each new qid, so that both sides speak of the same topics."""
    return {qid: values[partner] for qid, partner in pairs.items() if partner in values}


def qrels_for(qrels: Qrels, pairs: Mapping[str, str]) -> Qrels:
    """``qid -> grades`` where ``pairs`` says under which id (or its stem) the qrels know the topic.

    Judged topics that no pair stands for are counted on stderr: they are in no mean.
    """
    known = {qid: name for qid, at in pairs.items() for name in (stem(at), at) if name in qrels}
    stems = {stem(at) for at in pairs.values()}
    lost = sorted(qid for qid in qrels.keys() - known.values() if stem(qid) not in stems)
    if lost:
        log.info(f"qrels: {len(lost)} of {len(qrels)} judged topics have no pair and are in no mean: {brief(lost)}")
    return {qid: qrels[name] for qid, name in known.items()}
