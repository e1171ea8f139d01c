"""A measure of the user's own in a module."""

from collections.abc import Mapping


def length(run: Mapping[str, Mapping[str, float]], qrels: object) -> dict[str, float]:
    return {qid: len(scores) for qid, scores in run.items()}
