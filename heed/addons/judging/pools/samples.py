"""Stratified samples of a pool by rank, from which the relevant documents that are not judged can be estimated."""

import math
from collections.abc import Sequence
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from heed.addons.judging.pools.rank_fusion import Candidates
from heed.files import write_bytes
from heed.ranking import best
from heed.types import Qrels


class Stratum(NamedTuple):
    """The documents whose best rank over the runs is ``first`` … ``last``; ``share`` of them is drawn."""

    first: int
    last: int
    share: Fraction

    def __str__(self) -> str:
        """Return the stratum as in :func:`parse_strata`."""
        return f"{self.first}-{self.last}:{float(self.share):g}"


class Layer(NamedTuple):
    """A topic's documents in a stratum, best first, and those that were drawn, each with the same probability."""

    documents: list[str]
    drawn: list[str]

    @property
    def probability(self) -> Fraction:
        """The probability with which each document was drawn."""
        return Fraction(len(self.drawn), len(self.documents))


Sample = dict[str, list[Layer]]  # topic -> a layer for each stratum


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


def draw_sample(candidates: Candidates, strata: Sequence[Stratum], seed: int) -> Sample:
    """Return simple random samples without replacement, one of each topic's strata.

    Of ``n`` documents ``m = ceil(share · n)`` are drawn, so that none has probability 0; every one of
    them has the probability ``m / n``. It is the stratified design of xinfAP (Yilmaz, Kanoulas and
    Aslam, SIGIR 2008). Randomness is the SHA-256 of seed, topic and docid: the same for any order of the
    runs, and a larger share draws all that a smaller one drew and more.
    """
    sample: Sample = {}
    for topic, documents in candidates.items():
        layers = sample.setdefault(topic, [])
        ordered = best(documents)
        for stratum in strata:
            docids = [docid for docid in ordered if stratum.first <= documents[docid].rank <= stratum.last]
            # "sample": with the key of the hidden order, drawn documents of thin strata would all come first in it
            shuffled = sorted(docids, key=lambda docid: random_key("sample", seed, topic, docid))
            layers.append(Layer(docids, shuffled[: math.ceil(stratum.share * len(docids))]))
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
        f"{topic} {number} {docid} {float(layer.probability)!r}\n"
        for topic, layers in sample.items()
        for number, layer in enumerate(layers, 1)
        for docid in layer.drawn
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


def count_strata(strata: Sequence[Stratum], sample: Sample, grades: Qrels) -> list[StratumCounts]:
    """Return the counts of each stratum; Horvitz and Thompson, JASA 1952, for the estimate."""
    counts = []
    for number, stratum in enumerate(strata):
        of_topics = {topic: layers[number] for topic, layers in sample.items()}
        graded = [
            (layer.probability, grades.get(topic, {}).get(docid))
            for topic, layer in of_topics.items()
            for docid in layer.drawn
        ]
        judged = [(probability, grade) for probability, grade in graded if grade is not None]
        relevant = [probability for probability, grade in judged if grade > 0]
        total = float(sum((1 / probability for probability in relevant), Fraction()))
        size = sum(len(layer.documents) for layer in of_topics.values())
        estimated = total if len(judged) == len(graded) else None
        counts.append(StratumCounts(str(stratum), size, len(graded), len(judged), len(relevant), estimated))
    return counts
