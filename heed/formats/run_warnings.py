"""Warnings of run files: whose order is not that of their scores, which alone decide, or whose tags do not fit."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import ge
from pathlib import Path

from heed.files import read_raw_lines, unpacked_name
from heed.progress import brief, warn
from heed.types import Run

CONDITION_STEPS = {"query": 0, "original": 1, "og": 1, "changed": 2, "new": 2, "reversed": 2}
TAG = re.compile(rf"(.+)[-_.+]({'|'.join(CONDITION_STEPS)})", re.IGNORECASE)


def warn_of_order(path: Path, run: Run, ranks: Mapping[str, Sequence[str]]) -> None:
    """Warn where the file's ``ranks``, one for each document of ``run`` in its order, contradict the scores.

    Also where a topic has one score for all its documents. Ranks that are no numbers say nothing.
    """
    several = {qid: list(scores.values()) for qid, scores in run.items() if len(scores) > 1}
    expected = list(map(str, range(1, max(map(len, run.values()), default=0) + 1)))
    contrary = []
    for qid, scores in several.items():
        falling = all(map(ge, scores, scores[1:]))
        if not (falling and ranks.get(qid) == expected[: len(scores)]) and _contradict(ranks.get(qid, ()), scores):
            contrary.append(qid)
    if contrary:
        warn(
            f"{path}: ranks contradict scores in {len(contrary)} of {len(run)} topics ({brief(sorted(contrary))}): "
            "the scores decide, highest first, as in trec_eval; distances must be negated"
        )
    for warning in one_score(str(path), run):
        warn(warning)


def one_score(source: str, run: Run) -> list[str]:
    """Return a warning of topics that have one score for all their documents, if there are such."""
    constant = sorted(qid for qid, scores in run.items() if len(scores) > 1 and len({*scores.values()}) == 1)
    hint = "; a lexical system gives it to a query of stop words alone" if len(constant) < len(run) else ""
    line = (
        f"{source}: one score for all documents in {len(constant)} of {len(run)} topics ({brief(constant)}): "
        f"their order is lost, the docids decide, as in trec_eval{hint}"
    )
    return [line] if constant else []


def _contradict(ranks: Sequence[str], scores: Sequence[float]) -> bool:
    """Whether a document of a greater rank has a higher score than one before it."""
    try:
        lines = sorted((int(rank), -score) for rank, score in zip(ranks, scores, strict=False))
    except ValueError:
        return False
    return any(rank < following and score > next_score for (rank, score), (following, next_score) in pairwise(lines))


def warn_of_tags(paths: Sequence[Path]) -> None:
    """Warn of runs that look exchanged, or of two systems, by their tags, such as ``bm25-original``, ``mm-changed``.

    ``paths`` are in the order of the conditions that are compared. Tags without the name of a condition say nothing.
    """
    tagged = [(path, match[1], match[2]) for path in paths if (match := TAG.fullmatch(_tag(path)))]
    for (base, system, condition), (new, other, later) in pairwise(tagged):
        tags = f"{base} and {new}: by their tags, …{condition} and …{later},"
        if CONDITION_STEPS[condition.lower()] > CONDITION_STEPS[later.lower()]:
            warn(f"{tags} the base run and the new one look exchanged")
        if system != other:
            warn(f"{base} and {new}: by their tags, runs of two systems, {system} and {other}")


def _tag(path: Path) -> str:
    """Return the sixth column of a TREC file's first line; empty for other files."""
    if unpacked_name(path).endswith((".json", ".jsonl")):
        return ""
    lines = (
        line.decode(errors="replace").split() for _, line in read_raw_lines(path) if not line.lstrip().startswith(b"#")
    )
    return next((fields[5] for fields in lines if len(fields) == 6), "")
