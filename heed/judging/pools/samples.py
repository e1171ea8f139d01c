"""Stratified samples of a pool by rank, from which the relevant documents that are not judged can be estimated."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from heed.files import write_bytes
from heed.judging.pools.rank_fusion import Candidates, best
from heed.types import Qrels


class Stratum(NamedTuple):
    """The documents whose best rank over the runs is ``first`` … ``last``; ``share`` of them is drawn."""

    first: int
    last: int
    share: Fraction

    def __str__(self) -> str:
        """Return the stratum as in :func:`parse_strata`."""
        return f"{self.first}-{self.last}:{float(self.share):g}"


class Drawn(NamedTuple):
    """A drawn document's stratum (from 1), and the probability with which it was drawn."""

    stratum: int
    probability: Fraction


Sample = dict[str, dict[str, Drawn]]  # topic -> docid -> stratum and probability
ByStratum = Mapping[str, Sequence[Sequence[str]]]  # topic -> the documents of each stratum, best first


def parse_strata(text: str) -> tuple[Stratum, ...]:
    """Return the strata of ``1-10:1.0,11-100:0.3``; ValueError where ranks leave a gap or a share is not in (0, 1]."""
    strata: list[Stratum] = []
    for part in text.split(","):
        ranks, _, share = part.strip().partition(":")
        first, _, last = ranks.partition("-")
        try:
            stratum = Stratum(int(first), int(last), Fraction(share))
        except (ValueError, ZeroDivisionError) as error:
            raise ValueError(f"found {part!r}, expected FIRST-LAST:SHARE, such as 11-100:0.3") from error
        next_rank = strata[-1].last + 1 if strata else 1
        if stratum.first != next_rank or stratum.last < stratum.first:
            raise ValueError(f"found {part!r}, expected a stratum from rank {next_rank}, without gap or overlap")
        if not 0 < stratum.share <= 1:
            raise ValueError(f"found {part!r}, expected a share above 0 and up to 1")
        strata.append(stratum)
    return tuple(strata)


def split_by_stratum(candidates: Candidates, strata: Sequence[Stratum]) -> dict[str, list[list[str]]]:
    """Return ``topic -> the documents of each stratum``, best first."""
    by_stratum = {}
    stratum_of = [0, *(index for index, each in enumerate(strata) for _ in range(each.first, each.last + 1))]
    for topic, documents in candidates.items():
        parts: list[list[str]] = [[] for _ in strata]
        for docid in best(documents):
            parts[stratum_of[documents[docid].rank]].append(docid)
        by_stratum[topic] = parts
    return by_stratum


def draw_sample(by_stratum: ByStratum, strata: Sequence[Stratum], seed: int) -> Sample:
    """Return simple random samples without replacement, one of each topic's strata.

    Of ``n`` documents ``m = ceil(share · n)`` are drawn, so that none has probability 0; every one of
    them has the probability ``m / n``. It is the stratified design of xinfAP (Yilmaz, Kanoulas and
    Aslam, SIGIR 2008). Randomness is the SHA-256 of seed, topic and docid: the same for any order of the
    runs, and a larger share draws all that a smaller one drew and more.
    """
    sample: Sample = {}
    for topic, parts in by_stratum.items():
        drawn = sample.setdefault(topic, {})
        for number, (docids, stratum) in enumerate(zip(parts, strata, strict=True), 1):
            count = math.ceil(stratum.share * len(docids))
            # "sample": with the key of the hidden order, drawn documents of thin strata would all come first in it
            for docid in sorted(docids, key=lambda docid: random_key("sample", seed, topic, docid))[:count]:
                drawn[docid] = Drawn(number, Fraction(count, len(docids)))
    return sample


def random_key(use: str, seed: int, topic: str, docid: str) -> bytes:
    """Return 32 pseudo-random bytes for a document, independent of its rank and runs, the same on every machine.

    Different ``use`` gives independent keys. Ids hold no spaces, so no two inputs give the same text.
    """
    return sha256(f"{use} {seed} {topic} {docid}".encode()).digest()


def write_probabilities(path: Path, sample: Sample) -> None:
    """Write a line for each drawn document: topic, stratum, docid, probability, with a space between.

    These are the columns of qrels with the stratum in the second, which qrels leave unused, and the
    probability in the place of the grade. TREC's Legal track put the probability after the grade
    (``qrelsL07.probs``); xinfAP's program expects stratum and grade. Both files can be joined from this
    one and the finished qrels. Probabilities are written so that they read back as the same double.
    """
    lines = [
        f"{topic} {drawn.stratum} {docid} {float(drawn.probability)!r}\n"
        for topic, documents in sample.items()
        for docid, drawn in documents.items()
    ]
    write_bytes(path, "".join(lines).encode())


class StratumCounts(NamedTuple):
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


def count_strata(
    by_stratum: ByStratum, strata: Sequence[Stratum], sample: Sample, grades: Qrels
) -> list[StratumCounts]:
    """Return the counts of each stratum; Horvitz and Thompson, JASA 1952, for the estimate."""
    counts = []
    for number, stratum in enumerate(strata, 1):
        graded = [
            (drawn.probability, grades.get(topic, {}).get(docid))
            for topic, documents in sample.items()
            for docid, drawn in documents.items()
            if drawn.stratum == number
        ]
        judged = [(probability, grade) for probability, grade in graded if grade is not None]
        relevant = [probability for probability, grade in judged if grade > 0]
        total = float(sum((1 / probability for probability in relevant), Fraction()))
        size = sum(len(parts[number - 1]) for parts in by_stratum.values())
        estimated = total if len(judged) == len(graded) else None
        counts.append(StratumCounts(str(stratum), size, len(graded), len(judged), len(relevant), estimated))
    return counts
