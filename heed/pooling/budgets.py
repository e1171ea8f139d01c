"""How many documents are judged: for a topic, for a language, in all."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from heed.errors import HeedError
from heed.pooling.fusion import Standing, best
from heed.progress import log

Candidates = dict[str, dict[str, Standing]]  # topic -> docid -> standing
ALL = ""  # the key of a quota without one


def quota(text: str) -> tuple[str, int]:
    """``N`` or ``KEY=N`` as key and number; ValueError for another form or a number below 1."""
    key, equals, number = text.rpartition("=")
    if not number.isdecimal() or int(number) < 1 or (equals and not key):
        raise ValueError(f"found {text!r}, expected a whole number from 1, alone or after a name and =")
    return key, int(number)


def quotas(option: str, given: list[tuple[str, int]]) -> dict[str, int]:
    """The numbers by key; :class:`HeedError` for a key that comes twice."""
    found: dict[str, int] = {}
    for key, number in given:
        if key in found:
            raise HeedError(f"{option}: given twice{f' for {key}' if key else ''}; keep one")
        found[key] = number
    return found


def cut(candidates: Candidates, sizes: Mapping[str, int]) -> Candidates:
    """Each topic's ``sizes[topic]`` (else ``sizes[""]``, else all) documents of the highest fused scores."""
    return {
        topic: {docid: found[docid] for docid in best(found, sizes.get(topic, sizes.get(ALL)))}
        for topic, found in candidates.items()
    }


def spend(candidates: Candidates, budget: int) -> Candidates:
    """``budget`` documents over all topics: every topic pooled to the same depth, the deepest that fits.

    That is depth-k pooling with ``k`` found by the budget. What remains of it goes to those documents
    of depth ``k + 1`` that have the highest fused scores, whatever their topic. A topic whose runs
    agree gets fewer documents than one whose runs differ: what is equal is how far each run is read.
    """
    # within a topic best first, docids descending on ties; sorting by depth and score keeps that order
    queue = sorted(_flat(candidates), key=lambda one: (one[2].rank, -one[2].score))
    chosen: Candidates = {topic: {} for topic in candidates}
    for topic, docid, standing in islice(queue, budget):
        chosen[topic][docid] = standing
    return chosen


def _flat(candidates: Candidates) -> Iterator[tuple[str, str, Standing]]:
    for topic, found in candidates.items():
        for docid in best(found):
            yield topic, docid, found[docid]


def spend_all(candidates: Candidates, budgets: Mapping[str, int], language_of: Callable[[str, str], str]) -> Candidates:
    """The same for each language that has a budget of its own, then for what is left by the one for all.

    ``language_of`` gives the language of a topic's document. Raises :class:`HeedError` for a
    language in which no document is; a language without a budget is not cut.
    """
    parts: dict[str, Candidates] = {}
    for topic, found in candidates.items():
        for docid, standing in found.items():
            language = language_of(topic, docid) if set(budgets) - {ALL} else ALL
            parts.setdefault(language, {}).setdefault(topic, {})[docid] = standing
    unknown = sorted(set(budgets) - {ALL} - set(parts))
    if unknown:
        raise HeedError(
            f"--budget {unknown[0]}: no pooled document is in it; expected one of {', '.join(sorted(parts))}"
        )
    for language in sorted(set(budgets) - {ALL}):
        parts[language] = _told(parts[language], budgets[language], f" in {language}")
    whole = {
        topic: {docid: standing for part in parts.values() for docid, standing in part.get(topic, {}).items()}
        for topic in candidates
    }
    return _told(whole, budgets[ALL], "") if ALL in budgets else whole


def _told(candidates: Candidates, budget: int, where: str) -> Candidates:
    total = sum(map(len, candidates.values()))
    if total < budget:
        log.info(f"budget of {budget}{where}: only {total} documents to choose from; a greater --depth gives more")
        return candidates
    chosen = spend(candidates, budget)
    empty = sum(not found for found in chosen.values())
    if empty:
        log.info(f"budget of {budget}{where}: too small for {empty} of {len(chosen)} topics, which get none")
    return chosen
