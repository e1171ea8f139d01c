"""Stratified samples of a pool by rank, from which what is left unjudged can be estimated."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from heed.io.files import write_bytes
from heed.pooling.budgets import Candidates
from heed.pooling.fusion import best
from heed.types import Qrels


class Stratum(NamedTuple):
    """The documents whose best rank over the runs is ``first`` … ``last``; ``share`` of them is drawn."""

    first: int
    last: int
    share: Fraction

    def __str__(self) -> str:
        """As the user writes it."""
        return f"{self.first}-{self.last}:{float(self.share):g}"


class Drawn(NamedTuple):
    """Of which stratum (from 1) a drawn document is, and with which probability it was drawn."""

    stratum: int
    probability: Fraction


Sample = dict[str, dict[str, Drawn]]  # topic -> docid -> how it was drawn


def strata(text: str) -> list[Stratum]:
    """Read ``1-10:1.0,11-100:0.3``; ValueError where ranks leave a gap or a share is not in (0, 1]."""
    found: list[Stratum] = []
    for part in text.split(","):
        ranks, _, share = part.strip().partition(":")
        first, _, last = ranks.partition("-")
        try:
            one = Stratum(int(first), int(last), Fraction(share))
        except (ValueError, ZeroDivisionError) as error:
            raise ValueError(f"found {part!r}, expected FIRST-LAST:SHARE, such as 11-100:0.3") from error
        after = found[-1].last + 1 if found else 1
        if one.first != after or one.last < one.first:
            raise ValueError(f"found {part!r}, expected a stratum from rank {after}, without gap or overlap")
        if not 0 < one.share <= 1:
            raise ValueError(f"found {part!r}, expected a share above 0 and up to 1")
        found.append(one)
    return found


def in_strata(candidates: Candidates, layers: Sequence[Stratum]) -> dict[str, list[list[str]]]:
    """``topic -> the documents of each stratum``, best first."""
    found = {}
    for topic, standings in candidates.items():
        parts: list[list[str]] = [[] for _ in layers]
        for docid in best(standings):
            parts[next(at for at, one in enumerate(layers) if standings[docid].rank <= one.last)].append(docid)
        found[topic] = parts
    return found


def draw(divided: Mapping[str, Sequence[Sequence[str]]], layers: Sequence[Stratum], seed: int) -> Sample:
    """Simple random samples without replacement, one of each topic's strata (of :func:`in_strata`).

    Of ``n`` documents ``m = ceil(share · n)`` are drawn, so that none has probability 0; every one of
    them has the probability ``m / n``. It is the stratified design of xinfAP (Yilmaz, Kanoulas and
    Aslam, SIGIR 2008). Chance is the SHA-256 of seed, topic and docid: the same for any order of the
    runs, and a larger share draws all that a smaller one drew and more.
    """
    sample: Sample = {}
    for topic, parts in divided.items():
        mine = sample.setdefault(topic, {})
        for number, (docids, one) in enumerate(zip(parts, layers, strict=True), 1):
            taken = math.ceil(one.share * len(docids))
            # "sample": with the key of the hidden order, drawn documents of thin strata would all come first in it
            for docid in sorted(docids, key=lambda docid: lot("sample", seed, topic, docid))[:taken]:
                mine[docid] = Drawn(number, Fraction(taken, len(docids)))
    return sample


def lot(use: str, seed: int, topic: str, docid: str) -> bytes:
    """The document's lot: 32 bytes that tell nothing of its rank or runs, the same on every machine.

    ``use`` keeps the lots of different uses apart. Ids hold no spaces, so no two inputs look alike.
    """
    return sha256(f"{use} {seed} {topic} {docid}".encode()).digest()


def write_probabilities(path: Path, sample: Sample) -> None:
    """Write a line for each drawn document: topic, stratum, docid, probability, with a space between.

    These are the columns of qrels with the stratum in the second, which qrels leave unused, and the
    probability where the grade will stand. TREC's Legal track put the probability after the grade
    (``qrelsL07.probs``); xinfAP's own program wants stratum and grade. Both files are joined from this
    one and the finished qrels. Probabilities are written so that they read back as the same double.
    """
    lines = [
        f"{topic} {how.stratum} {docid} {float(how.probability)!r}\n"
        for topic, drawn in sample.items()
        for docid, how in drawn.items()
    ]
    write_bytes(path, "".join(lines).encode())


class Layer(NamedTuple):
    """A stratum over all topics: its documents, how many were drawn and judged, and the relevant ones.

    ``estimated`` is the Horvitz–Thompson estimate of the stratum's relevant documents, the sum of
    ``1 / probability`` over the relevant ones that were drawn; None while a drawn one is unjudged.
    """

    stratum: str
    documents: int
    drawn: int
    judged: int
    relevant: int
    estimated: float | None


def layers_of(
    divided: Mapping[str, Sequence[Sequence[str]]], layers: Sequence[Stratum], sample: Sample, grades: Qrels
) -> list[Layer]:
    """The figures of each stratum; Horvitz and Thompson, JASA 1952, for the estimate."""
    found = []
    for number, one in enumerate(layers, 1):
        drawn = [
            (how.probability, grades.get(topic, {}).get(docid))
            for topic, mine in sample.items()
            for docid, how in mine.items()
            if how.stratum == number
        ]
        judged = [(probability, grade) for probability, grade in drawn if grade is not None]
        relevant = [probability for probability, grade in judged if grade > 0]
        total = float(sum((1 / probability for probability in relevant), Fraction()))
        documents = sum(len(parts[number - 1]) for parts in divided.values())
        complete = len(judged) == len(drawn)
        found.append(Layer(str(one), documents, len(drawn), len(judged), len(relevant), total if complete else None))
    return found
